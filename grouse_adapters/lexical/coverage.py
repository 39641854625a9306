"""Which statements of two answers say the same: the ground of completeness and relevancy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from grouse_adapters.lexical.answers import Reading, Statement

_TOLD: Final = 0.17
"""Share of an expected statement's telling words that shows it in other words. In crossed
paraphrases with unknown synonyms for a third of the words, 7 % of what is retold has less, and so
has 98 % of what is left out: below it, the structure of the answer decides."""
_SURELY_TOLD: Final = 0.25
_SURELY_OMITTED: Final = 0.09
_GAP: Final = 0.6
"""Words by which an answer says less from a statement's sources than the expected one does, as a
share of the statement's own, where it also has fewer statements on them; chosen with ``_TOLD``."""
_WIDE_GAP: Final = 1.0  # the same where it has as many statements
_NOTHING: Final = 0.04  # share of telling words that may be found by chance
_SAME: Final = 0.5  # share of a statement's words in an expected statement that calls for it
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
    """For each statement of the expected answer whether the actual one says it.

    A heavy paraphrase may keep no word, but it has a statement in the place of each one, on the
    same source; what is left out leaves a gap there.
    """
    alignment = reading.alignment
    given = _Sources((s, alignment.sources(s)) for s in alignment.given)
    stated = _Sources((s, s.claim.citations) for s in alignment.wanted)
    found: list[Coverage] = []
    for index, wanted in enumerate(alignment.wanted):
        share = alignment.told_by(index)[1]
        if not wanted.stretch.features:
            found.append(Coverage(wanted, 1.0, True, True))
        elif share >= _TOLD:
            found.append(Coverage(wanted, share, True, share >= _SURELY_TOLD))
        elif _leaves_gap(wanted, share, given, stated):
            found.append(Coverage(wanted, share, False, share <= _SURELY_OMITTED))
        else:
            found.append(Coverage(wanted, share, True, False))
    return found


class _Sources:
    """How much an answer says from which references."""

    def __init__(self, statements: Iterable[tuple[Statement, tuple[int, ...]]]) -> None:
        self._cited = [(len(s.stems), frozenset(numbers)) for s, numbers in statements]

    @property
    def are_cited(self) -> bool:
        return any(numbers for _, numbers in self._cited)

    def said(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Number of the statements on any of the references, and of their content words."""
        wanted = frozenset(numbers)
        lengths = [length for length, cited in self._cited if cited & wanted]
        return len(lengths), sum(lengths)


def _leaves_gap(wanted: Statement, share: float, given: _Sources, stated: _Sources) -> bool:
    """Whether the answer says less from the sources of a statement than with it."""
    cited = wanted.claim.citations
    if not given.are_cited or not stated.are_cited:
        return True  # nothing but the words tells
    if not cited:
        return False  # a remark between cited statements
    statements, words = given.said(cited)
    all_statements, all_words = stated.said(cited)
    gap = (all_words - words) / max(1, len(wanted.stems))
    return gap >= _GAP if statements < all_statements else gap >= _WIDE_GAP and share < _NOTHING


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
