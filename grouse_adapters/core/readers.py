"""Reading samples from JSON-lines files, one at a time, with the line number in every error."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.sample import Sample, sample_from_row


@dataclass(frozen=True, slots=True)
class Line:
    """A sample and the 1-based number of the line it came from."""

    number: int
    sample: Sample


def read_samples(path: str | Path) -> Iterator[Sample]:
    """Samples of a JSON-lines file (UTF-8 with or without BOM, plain or gzip), streamed.

    Raises:
        InputError: the file cannot be read, holds no sample, or a line is not a sample.
    """
    for line in read_lines(path):
        yield line.sample


def read_lines(path: str | Path) -> Iterator[Line]:
    """Like ``read_samples``, with line numbers. Blank lines are passed over."""
    path = Path(path)
    empty = True
    for number, row in read_json_lines(path):
        empty = False
        try:
            sample = sample_from_row(row)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        yield Line(number, sample)
    if empty:
        raise InputError(f"{path} holds no samples: write one JSON object per line.")


def read_json_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """(line number, parsed value) of every non-blank line.

    Raises:
        InputError: the file cannot be opened or decoded, or a line is not JSON.
    """
    path = Path(path)
    number = 0
    with _opened(path) as stream:
        while True:
            try:
                raw = stream.readline()
            except (EOFError, OSError) as error:  # a gzip stream that is cut off or damaged
                raise InputError(
                    f"{path} cannot be read past line {number}: {error}. Is the copy complete?"
                ) from None
            if not raw:
                return
            number += 1
            line = _decoded(raw, path, number)
            if line:
                yield number, _parsed(line, path, number)


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise InputError(
            f"{path}, line {number} is not UTF-8: save the file with UTF-8 encoding."
        ) from None


def _parsed(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        if number == 1 and line.startswith(("[", "{")) and line in ("[", "{"):
            raise InputError(
                f"{path} is one large JSON document: write one JSON object per line instead."
            ) from None
        raise InputError(
            f"{path}, line {number} is not valid JSON: {error.msg} at column {error.colno}."
        ) from None
    except ValueError:  # a whole number of more digits than Python reads
        raise InputError(f"{path}, line {number} holds a number that is too long.") from None
    except RecursionError:
        raise InputError(f"{path}, line {number} is nested too deeply to be a sample.") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        stream: IO[bytes] = path.open("rb")
    except OSError as error:
        _fail_to_open(path, error)
    with stream:
        gzipped = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if not gzipped:
            yield stream
            return
        with gzip.open(stream, "rb") as unpacked:
            yield unpacked  # type: ignore[misc]  # GzipFile reads bytes like any binary file


def _fail_to_open(path: Path, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise InputError(f"{path} does not exist: check the path.") from None
    if isinstance(error, IsADirectoryError):
        raise InputError(f"{path} is a folder: name a JSON-lines file in it.") from None
    raise InputError(f"{path} cannot be opened: {error.strerror}.") from None
