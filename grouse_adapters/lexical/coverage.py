"""Which statements of two answers say the same: the ground of completeness and relevancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grouse_adapters.lexical.alignment import Alignment
from grouse_adapters.lexical.answers import Reading, Statement

_TOLD: Final = 0.17
"""Share of an expected statement's telling words that shows it in other words. On the development
scenarios every statement that was retold kept 0.29 or more and every omitted one 0.08 or less."""
_SURELY_TOLD: Final = 0.25
_SURELY_OMITTED: Final = 0.09
_SAME: Final = 0.5  # share of a statement's words in an expected statement that calls for it
_SHORT: Final = 6  # telling words of a statement that another may hold in passing
_ROOM: Final = 0.8  # as many words as it has, that another has beyond its own counterpart's
_ON_SUBJECT: Final = 2  # of the question's words, in the additions and what they cite


@dataclass(frozen=True, slots=True)
class Coverage:
    """How one expected statement shows in the actual answer.

    Attributes:
        statement: of the expected answer.
        share: weighted share (0-1) of its words found in the nearest actual statement.
        covered: the actual answer says it.
        sure: the share is not near the threshold.
    """

    statement: Statement
    share: float
    covered: bool
    sure: bool


def cover(reading: Reading) -> list[Coverage]:
    """For each statement of the expected answer whether the actual one says it."""
    alignment = reading.alignment
    told = [alignment.told_by(index)[1] for index in range(len(alignment.wanted))]
    weak = [index for index, share in enumerate(told) if share < _TOLD]
    # A statement without words in common may retell what is missing: when nothing else is left
    # for either of them, and both cite one reference, they are taken for each other.
    free = [
        statement
        for index, statement in enumerate(alignment.given)
        if index not in alignment.counterparts or told[alignment.counterparts[index]] < _TOLD
    ]
    found: list[Coverage] = []
    for index, (wanted, share) in enumerate(zip(alignment.wanted, told, strict=True)):
        if not wanted.stretch.features:
            found.append(Coverage(wanted, 1.0, True, True))
        elif index in weak and (
            _is_left_for(wanted, free, alignment.wanted, told) or _fits_in(wanted, alignment)
        ):
            found.append(Coverage(wanted, share, True, False))
        else:
            sure = share >= _SURELY_TOLD or share <= _SURELY_OMITTED
            found.append(Coverage(wanted, share, share >= _TOLD, sure))
    return found


def _is_left_for(
    wanted: Statement, free: Sequence[Statement], every: Sequence[Statement], told: Sequence[float]
) -> bool:
    cited = set(wanted.claim.citations)
    left = sum(bool(cited & set(s.claim.citations)) for s in free)
    missing = sum(
        share < _TOLD and bool(cited & set(other.claim.citations))
        for other, share in zip(every, told, strict=True)
    )
    return 0 < missing <= left


def _fits_in(wanted: Statement, alignment: Alignment) -> bool:
    """Whether a longer statement on the same reference has words to spare for a short one."""
    features = wanted.stretch.features
    cited = set(wanted.claim.citations)
    if len(features) > _SHORT:
        return False
    for index, own in alignment.counterparts.items():
        given = alignment.given[index]
        spare = len(given.stretch.features) - len(alignment.wanted[own].stretch.features)
        if cited & set(given.claim.citations) and spare >= _ROOM * len(features):
            return alignment.wanted[own] is not wanted
    return False


def is_called_for(reading: Reading, statement: Statement) -> tuple[bool, bool]:
    """Whether question or expected answer call for a statement, and whether that is sure.

    The source decides: a statement that stands in a reference which the expected answer leaves
    aside is superfluous, unless it stands better in one that the expected answer uses.
    """
    expected = reading.expected
    if expected is None or not statement.stems:
        return True, False
    words = reading.words
    cited = {n for n in statement.claim.citations if 1 <= n <= reading.evidence.count}
    if not expected.cited or not cited:
        overlap = reading.evidence.overlap(statement.stems, [words.expected, words.question])
        return bool(statement.stems & (words.expected | words.question)), overlap >= _SAME
    if cited & expected.cited:
        return True, True
    alignment = reading.alignment
    own = alignment.mass(statement, cited)
    used = max((alignment.mass(statement, (n,)) for n in sorted(expected.cited)), default=0.0)
    nearest = max(
        (reading.evidence.overlap(statement.stems, [s.stems]) for s in expected.statements),
        default=0.0,
    )
    return used > own or nearest >= _SAME, abs(used - own) >= 1


def related_statements(reading: Reading) -> list[Statement]:
    """The statements on the question's subject, by their words or by their source."""
    answer, expected = reading.actual, reading.expected
    used = expected.cited if expected else frozenset()
    close = [s for s in answer.statements if used.intersection(s.claim.citations)]
    if close:
        return close
    names = {word.stem for run in reading.question.names for word in run}
    asked = reading.words.question
    # The expected answer has listed what is related: sources it leaves aside rarely are.
    needed = _ON_SUBJECT + bool(used and expected and expected.refuses)
    needed = min(needed, len(asked) - 1) or len(asked)
    related: list[Statement] = []
    for statement in answer.statements:
        cited = [n for n in statement.claim.citations if 1 <= n <= reading.evidence.count]
        places = [i for n in cited if n in statement.matches for i in statement.matches[n].segments]
        said = statement.stems.union(*(reading.evidence.segments[i].stems for i in places)) & asked
        named = names & statement.stems.union(*(reading.evidence.topic[n] for n in cited))
        expected_words = statement.stems & reading.words.expected
        repeats = len(expected_words) >= max(2, 0.4 * len(statement.stems))
        if (needed and len(said) >= needed) or named or repeats:
            related.append(statement)
    return related
