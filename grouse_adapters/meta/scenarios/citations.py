"""Citations by key: ``[gates]``, ``[gates][wheel]`` or ``[gates, wheel]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

# Brackets without a letter or digit, such as "[...]", are text.
_BRACKETS: Final = re.compile(r"\[(?=[^\[\]]*\w)([^\[\]]*)\]")
_GROUP: Final = re.compile(rf"{_BRACKETS.pattern}(?:\s*{_BRACKETS.pattern})*")
_SPACED: Final = re.compile(rf"\s*{_GROUP.pattern}")
_BETWEEN: Final = re.compile(r"[,;]")
_AFTER_THE_STOP: Final = re.compile(rf"[.!?。]\s*{_GROUP.pattern}$")


def cited_keys(text: str) -> tuple[str, ...]:
    """The keys that ``text`` cites, in order, each once."""
    return tuple(dict.fromkeys(_keys(text)))


def numbered(text: str, numbers: Mapping[str, int]) -> str:
    """``text`` with numbers in place of keys; those that stand together are put in order.

    Raises:
        KeyError: a key has no number.
    """

    def write(keys: list[str]) -> str:
        return "".join(f"[{number}]" for number in sorted({numbers[key] for key in keys}))

    return _replaced(text, write)


def citing_instead(text: str, key: str) -> str:
    """``text`` with every citation exchanged for one of ``key``."""
    return _replaced(text, lambda _: f"[{key}]")


def without_citations(text: str) -> str:
    """``text`` without its citations and the spaces before them."""
    return _SPACED.sub("", text).strip()


def cites_after_the_stop(text: str) -> bool:
    """Whether the last citation follows the full stop, where it seems to open the next sentence."""
    return _AFTER_THE_STOP.search(text) is not None


def _keys(group: str) -> list[str]:
    parts = (part for inside in _BRACKETS.findall(group) for part in _BETWEEN.split(inside))
    return [part.strip() for part in parts if part.strip()]


def _replaced(text: str, write: Callable[[list[str]], str]) -> str:
    return _GROUP.sub(lambda group: write(_keys(group.group())), text)
