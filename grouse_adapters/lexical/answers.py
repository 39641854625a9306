"""Both answers of a sample, read once: sentences, statements, citations and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical.alignment import Alignment
from grouse_adapters.lexical.announcements import is_announcement
from grouse_adapters.lexical.evidence import Evidence, Match, Stretch
from grouse_adapters.lexical.refusal import RefusalReader
from grouse_adapters.lexical.sentences import Claim, Sentence, split_answer
from grouse_adapters.lexical.text import detect_language

MOST_STATEMENTS: Final = 400
"""Statements of one answer that are read; a longer answer is judged on these, and says so."""


@dataclass(frozen=True)
class Statement:
    """A claim that is compared: its words, its citations and the references it resembles."""

    sentence: Sentence
    claim: Claim
    stretch: Stretch
    matches: Mapping[int, Match] = field(repr=False)

    @property
    def stems(self) -> frozenset[str]:
        return self.stretch.stems


@dataclass(frozen=True)
class Answer:
    """One answer of a sample.

    Attributes:
        sentences: all of them, refusal and headings included.
        refuses: it opens by saying that no document answers.
        refusal: number of that sentence, else 0.
        statements: what it says beyond refusal, headings and words about the documents.
        cut: more statements than are read.
    """

    sentences: tuple[Sentence, ...]
    refuses: bool
    refusal: int
    statements: tuple[Statement, ...]
    cut: bool

    @property
    def is_empty(self) -> bool:
        return not self.refuses and not self.statements

    @cached_property
    def cited(self) -> frozenset[int]:
        """Every number the answer cites."""
        return frozenset(n for s in self.statements for n in s.claim.citations)


class Reading:
    """A sample, read: what all four metrics look at."""

    def __init__(self, sample: Sample, refusals: RefusalReader, language: str | None) -> None:
        self.code = language or detect_language(
            sample.actual_output, sample.expected_output or "", sample.input
        )
        self.question = Stretch(sample.input[:20000], self.code)
        self.evidence = Evidence(sample.references, self.code)
        self._refusals = refusals
        self.actual = self._answer(sample.actual_output, sample.input)
        self.expected: Answer | None = None
        if sample.expected_output is not None and sample.expected_output.strip():
            self.expected = self._answer(sample.expected_output, sample.input)

    @property
    def answerable(self) -> bool | None:
        """Whether the references hold an answer, as the expected answer says; None: unknown."""
        return None if self.expected is None else not self.expected.refuses

    @cached_property
    def alignment(self) -> Alignment:
        """The statements of both answers, paired."""
        wanted = self.expected.statements if self.expected else ()
        return Alignment(self.evidence, self.actual.statements, wanted)

    @cached_property
    def words(self) -> Words:
        """What question and expected answer are about."""
        expected = self.expected.statements if self.expected else ()
        return Words(self.question.stems, frozenset().union(*(s.stems for s in expected)))

    def _answer(self, text: str, question: str) -> Answer:
        opening = self._refusals.read(
            split_answer(text, self.code), question=question, code=self.code
        )
        statements: list[Statement] = []
        cut = False
        following = {s.number - 1: s for s in opening.sentences}
        for sentence in opening.sentences:
            if cut:
                break
            if sentence.kind == "lead_in":
                continue
            if is_announcement(
                sentence,
                following.get(sentence.number),
                self.question,
                after_refusal=opening.refuses and sentence.number == opening.refusal + 1,
            ):
                continue
            for claim in sentence.claims:
                if len(statements) == MOST_STATEMENTS:
                    cut = True
                    break
                stretch = Stretch(claim.text, self.code)
                statements.append(
                    Statement(sentence, claim, stretch, self.evidence.matches(stretch.stems))
                )
        return Answer(opening.sentences, opening.refuses, opening.refusal, tuple(statements), cut)


@dataclass(frozen=True, slots=True)
class Words:
    """Content stems of the question and of the expected answer."""

    question: frozenset[str]
    expected: frozenset[str]


def quoted(sentences: Sequence[Sentence], number: int) -> str:
    """The sentence with that number, shortened for a message."""
    return shortened(sentences[number - 1].text)


def shortened(text: str, length: int = 60) -> str:
    """``text`` on one line, at most ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
