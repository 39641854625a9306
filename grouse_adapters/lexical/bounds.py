"""Whether a number is a lower or an upper bound: "at least 5", "5 or more", "no more than 5"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from grouse_adapters.lexical.languages import word_set
from grouse_adapters.lexical.text import Token, plain

# "Later", "earlier", "before" and "after" are left out: "no later than two days before" is "at
# least two days before".
_MORE: Final = word_set(
    "more over above exceed exceeds exceeding exceeded longer greater higher older upwards beyond "
    "heavier larger bigger taller wider depasse depasser depassent superieur superieure excede "
    "davantage uber mehr"
)
_LESS: Final = word_set(
    "less fewer under below within shorter lower smaller younger lighter narrower inferieur "
    "inferieure sous unter weniger jusqu"
)
_LEAST: Final = word_set("minimum mindestens almeno minimo")
_MOST: Final = word_set("maximum hochstens")
_NEGATIONS: Final = word_set("no not never cannot nor without ne n pas nicht kein keine")
_LINKS: Final = word_set(
    "than the of a an to at age length height width weight by d de la le un une als von as"
)
_AFTER: Final = re.compile(
    r"[\s,]*(?:(?:or|and|ou|oder|et|und)\s+(?P<either>\w+)|(?P<end>at (?:the )?(?:least|most|"
    r"minimum|maximum)|minimum|maximum|au (?:moins|plus|maximum|minimum)))\b",
    re.IGNORECASE,
)


def bound_of(text: str, words: Sequence[Token], index: int, end: int) -> int:
    """1 for a lower, -1 for an upper bound, 0 for neither.

    Args:
        text: the whole text.
        words: its words.
        index: of the number's first word.
        end: the character after the number and its unit.
    """
    after = _after(text, end)
    return after or _before(text, words, index)


def _before(text: str, words: Sequence[Token], index: int) -> int:
    stop = words[index].start
    for place in range(index - 1, max(-1, index - 5), -1):
        word = words[place]
        if re.search(r"[,;:.!?()\n]", text[word.end : stop]):
            return 0
        stop = word.start
        previous = words[place - 1].plain if place else ""
        found = _direction(word.plain, previous, following=words[place + 1].plain)
        if found:
            fixed = word.plain in ("least", "most") or previous in ("au", "am")
            denied = any(w.plain in _NEGATIONS for w in words[max(0, place - 2) : place])
            return -found if denied and not fixed else found
        if word.plain not in _LINKS:
            return 0
    return 0


def _direction(word: str, previous: str, *, following: str) -> int:
    if word == "least" or word in _LEAST or (word == "moins" and previous == "au"):
        return 1
    if (word == "most" and previous in ("at", "the")) or word in _MOST:
        return -1
    if word == "plus" and (previous in ("au", "tout") or following in ("de", "d", "que")):
        return -1 if previous in ("au", "tout") else 1
    if word == "moins":
        return -1
    if word == "to" and previous == "up":
        return -1
    return 1 if word in _MORE else -1 if word in _LESS else 0


def _after(text: str, end: int) -> int:
    found = _AFTER.match(text, end)
    if not found:
        return 0
    either = plain(found.group("either") or "")
    if either:
        if either in ("plus", "davantage", "above", "up", "upwards", "over"):
            return 1
        return 1 if either in _MORE else -1 if either in _LESS or either == "moins" else 0
    said = plain(found.group("end"))
    return 1 if said.endswith(("least", "minimum", "moins")) else -1
