"""Where the sentences that a judge checked stand in the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from grouse_adapters.core.grades import SentenceCheck

Mark = tuple[int, int, str] | tuple[int, int, str, str]
"""Start and end in UTF-16 units, and the finding; with the sentence itself after (-1, -1) when it
stands nowhere in the answer."""

_CITATION: Final = re.compile(r"\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]")
_STOPS: Final = r"[.!?…。！？*_]*"
_TAIL: Final = re.compile(rf"(?:\s*\])?{_STOPS}(?:\s*{_CITATION.pattern})*{_STOPS}[\"'»”’)]*")


def finding(check: SentenceCheck) -> str:
    """Three characters: citation there, citation right, supported; each ``1``, ``0`` or ``-``."""
    said = (check.has_citation, check.citation_is_right, check.is_supported)
    return "".join("-" if value is None else str(int(value)) for value in said)


def marks(answer: str, checks: Sequence[SentenceCheck]) -> list[Mark]:
    """Finds each checked sentence in the answer, in the order of the answer and without overlap.

    Judges that are models quote loosely: case, spacing, markup and citations may differ.
    """
    found: list[tuple[int, int, str]] = []
    lost: list[Mark] = []
    folds = _Folds(answer)
    cursor = 0
    for check in checks:
        place = _place(folds, check.sentence, cursor, found)
        if place is None:
            lost.append((-1, -1, finding(check), check.sentence))
        else:
            cursor = place[1]
            found.append((*place, finding(check)))
    units = _utf16_offsets(answer)
    placed: list[Mark] = [(units[a], units[b], said) for a, b, said in sorted(found)]
    return placed + lost


class _Folded:
    """Letters and digits alone, in lower case, each with its place in the text."""

    def __init__(self, text: str, *, citations: bool) -> None:
        if not citations:
            text = _CITATION.sub(lambda match: " " * len(match[0]), text)
        pairs = [
            (folded, place)
            for place, character in enumerate(text)
            if character.isalnum()
            for folded in character.casefold()
            if folded.isalnum()
        ]
        self.text = "".join(folded for folded, _ in pairs)
        self._places = [place for _, place in pairs]

    def find(self, sought: str, start: int) -> tuple[int, int] | None:
        """First place at or after ``start``, as (start, end) in the text."""
        if not sought:
            return None
        at = self.text.find(sought)
        while at >= 0:
            if self._places[at] >= start:
                return self._places[at], self._places[at + len(sought) - 1] + 1
            at = self.text.find(sought, at + 1)
        return None


class _Folds:
    """An answer, folded with and without its citations once a quotation is not exact."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    @cached_property
    def plain(self) -> _Folded:
        return _Folded(self.answer, citations=True)

    @cached_property
    def bare(self) -> _Folded:
        return _Folded(self.answer, citations=False)


def _place(
    folds: _Folds, sentence: str, cursor: int, taken: Sequence[tuple[int, int, str]]
) -> tuple[int, int] | None:
    answer, exact = folds.answer, sentence.strip()
    # A judge may go through the answer out of order, so the start is tried after the cursor.
    for start in dict.fromkeys((cursor, 0)):
        at = answer.find(exact, start) if exact else -1
        if at >= 0 and _is_free(at, at + len(exact), taken):
            return at, at + len(exact)
        for citations in (True, False):
            folded = folds.plain if citations else folds.bare
            place = folded.find(_Folded(sentence, citations=citations).text, start)
            if place is None:
                continue
            tail = _TAIL.match(answer, place[1])
            end = tail.end() if tail else place[1]
            if _is_free(place[0], end, taken):
                return place[0], end
            if _is_free(*place, taken):
                return place
    return None


def _is_free(start: int, end: int, taken: Sequence[tuple[int, int, str]]) -> bool:
    return all(end <= first or last <= start for first, last, _ in taken)


def _utf16_offsets(text: str) -> list[int]:
    """For each index of ``text`` (its end included) the index that JavaScript would use."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets
