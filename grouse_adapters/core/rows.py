"""Judgements as rows of JSON lines: the form that runs and live sinks write and reports read."""

from __future__ import annotations

import json
from typing import Final

from pydantic import ValidationError

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Judgement

_START: Final = b'{"schema_version":'


def to_line(judgement: Judgement) -> bytes:
    """One line of UTF-8 JSON with its line break.

    Half of a surrogate pair, which a model can write and UTF-8 cannot hold, becomes ``?``.

    Raises:
        ConfigurationError: the sample's metadata holds what JSON cannot say.
    """
    try:
        return judgement.model_dump_json().encode("utf-8") + b"\n"
    except ValueError:  # half a surrogate pair, or odd metadata
        pass
    try:
        text = json.dumps(judgement.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ConfigurationError(
            f"The judgement of sample {judgement.id!r} cannot be written as JSON ({error}): "
            "simplify the sample's metadata."
        ) from None
    return text.encode("utf-8", errors="replace") + b"\n"


def read_line(line: bytes) -> Judgement | None:
    """The judgement in ``line``; None when it holds none."""
    try:
        return Judgement.model_validate_json(line)
    except ValidationError:
        return None


def is_torn(line: bytes) -> bool:
    """Whether ``line`` begins like a row and does not end like one.

    That is what a killed process or a full disk leaves of the row it was writing.
    """
    if not (line.startswith(_START) or _START.startswith(line.rstrip(b"\n"))):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False
