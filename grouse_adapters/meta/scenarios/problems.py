"""What is wrong with a scenario, and where it stands in its file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

Place = tuple[str | int, ...]
"""Keys that lead to a value, e.g. ``("answer", "statements", "pond")``; items count from 0."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct.

    Attributes:
        file: the scenario's file; None when it was not read from one.
        line: 1-based line; None when unknown.
        place: the keys that lead to it, joined by dots; empty: the file as a whole.
        message: what is wrong and what to do, as a predicate of ``place``.
        severity: an ``error`` keeps the tests from being built, a ``warning`` does not.
    """

    file: Path | None
    line: int | None
    place: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        start = "the scenario" if self.file is None else str(self.file)
        if self.line is not None:
            start += f", line {self.line}"
        return f"{start}: {self.place} {self.message}" if self.place else f"{start} {self.message}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the parts of a scenario stand.

    Attributes:
        file: None when it was not read from a file.
        lines: 1-based line of each key and list item.
        cut: texts after which a comment begins on their line.
    """

    file: Path | None = None
    lines: Mapping[Place, int] = field(default_factory=lambda: MappingProxyType({}))
    cut: frozenset[Place] = frozenset()

    def line(self, place: Place) -> int | None:
        """The line of ``place``, or of the nearest part around it that has one."""
        for end in range(len(place), 0, -1):
            if place[:end] in self.lines:
                return self.lines[place[:end]]
        return None

    def problem(
        self, place: Place, message: str, severity: Literal["error", "warning"] = "error"
    ) -> Problem:
        """A problem with what stands at ``place``."""
        return Problem(self.file, self.line(place), shown(place), message, severity)


def shown(place: Place) -> str:
    """``place`` as people count: ``paraphrases.2.opening`` is the opening of the second one."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in place)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word that is closest, or all of them: the second half of a message."""
    words = list(known)
    folded = {name.casefold(): name for name in words}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    return f"use {', '.join(words)}." if words else "there are none."
