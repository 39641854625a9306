"""Which statements of two answers say the same: the ground of completeness and relevancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grouse_adapters.lexical.answers import Reading, Statement
from grouse_adapters.lexical.evidence import best_match

_SAME: Final = 0.5
"""Share of an expected statement's words that shows it, wherever it is cited."""
_SAME_WITH_CITATION: Final = 0.25
"""The same when both cite one reference: a paraphrase keeps a few words and the source."""
_TELLING: Final = 2  # shared words that are not everywhere, when both cite one reference
_ANCHORED: Final = 0.3  # share of words in its reference segment that ties a statement to it
_NEIGHBOURS: Final = 3  # actual statements that may share out one expected statement


@dataclass(frozen=True, slots=True)
class Coverage:
    """How one expected statement shows in the actual answer.

    Attributes:
        statement: of the expected answer.
        share: weighted share (0-1) of its words found in the nearest actual statements.
        covered: the actual answer says it.
        sure: the share is not near the threshold.
    """

    statement: Statement
    share: float
    covered: bool
    sure: bool


def cover(
    reading: Reading, wanted: Sequence[Statement], given: Sequence[Statement]
) -> list[Coverage]:
    """For each wanted statement whether the given ones say it."""
    return [_cover(reading, statement, given) for statement in wanted]


def _cover(reading: Reading, wanted: Statement, given: Sequence[Statement]) -> Coverage:
    features = wanted.stretch.features
    if not features:
        return Coverage(wanted, 1.0, True, True)
    cited = set(wanted.claim.citations)
    near = sorted(given, key=lambda s: -len(s.stretch.features & features))[:_NEIGHBOURS]
    anywhere = max(
        (reading.evidence.overlap(features, [s.stretch.features]) for s in near), default=0.0
    )
    alike = [s for s in given if cited & set(s.claim.citations)]
    alike.sort(key=lambda s: -len(s.stretch.features & features))
    same_source = reading.evidence.overlap(
        features, [s.stretch.features for s in alike[:_NEIGHBOURS]]
    )
    best = max(anywhere, same_source)
    if anywhere >= _SAME:
        return Coverage(wanted, best, True, True)
    if same_source >= _SAME_WITH_CITATION:
        return Coverage(wanted, best, True, same_source >= 1.5 * _SAME_WITH_CITATION)
    telling = max((_telling(reading, features & s.stretch.features) for s in alike), default=0)
    anchors = _anchors(reading, wanted)
    if telling >= _TELLING or any(anchors & _anchors(reading, s) for s in alike):
        return Coverage(wanted, best, True, False)
    return Coverage(wanted, best, False, best < 0.5 * _SAME_WITH_CITATION)


def _telling(reading: Reading, shared: frozenset[str]) -> int:
    """How many of the shared words do not stand in most references."""
    return sum(reading.evidence.weight(stem) == 1.0 for stem in shared)


def _anchors(reading: Reading, statement: Statement) -> frozenset[int]:
    """The reference segment that a statement retells, when it is clear which."""
    match = best_match(statement.matches, statement.claim.citations)
    if not match.segments:
        return frozenset()
    place = match.segments[0]
    share = reading.evidence.overlap(statement.stems, [reading.evidence.segments[place].stems])
    return frozenset({place}) if share >= _ANCHORED else frozenset()


def is_called_for(reading: Reading, statement: Statement) -> tuple[bool, bool]:
    """Whether question or expected answer call for a statement, and whether that is sure.

    The source counts as much as the words: a statement on a reference that the expected answer
    leaves aside is superfluous unless its words are the expected answer's.
    """
    expected = reading.expected
    if expected is None or not statement.stems:
        return True, False
    words = reading.words
    overlap = reading.evidence.overlap(statement.stems, [words.expected, words.question])
    cited = {n for n in statement.claim.citations if 1 <= n <= reading.evidence.count}
    if not expected.cited or not cited:
        return bool(statement.stems & (words.expected | words.question)), overlap >= _SAME
    if cited & expected.cited:
        return True, overlap >= _SAME_WITH_CITATION
    nearest = max(
        (reading.evidence.overlap(statement.stems, [s.stems]) for s in expected.statements),
        default=0.0,
    )
    return nearest >= _SAME, nearest < _SAME_WITH_CITATION or nearest >= 1.5 * _SAME


def is_related(reading: Reading, statement: Statement) -> bool:
    """Whether a statement is about the question's subject, by its words or by its source."""
    words = reading.words
    expected = reading.expected
    if statement.stems & words.question:
        return True
    cited = [n for n in statement.claim.citations if 1 <= n <= reading.evidence.count]
    if expected is not None and expected.cited.intersection(cited):
        return True
    subject = min(2, len(words.question))
    if any(len(words.question & reading.evidence.topic[n]) >= subject > 0 for n in cited):
        return True
    return len(statement.stems & words.expected) >= max(2, 0.4 * len(statement.stems))
