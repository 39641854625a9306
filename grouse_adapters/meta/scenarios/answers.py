"""What the expected and the actual answer of each of the 16 test types say, citing by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from grouse_adapters.meta.scenarios.citations import citing_instead, numbered, without_citations
from grouse_adapters.meta.scenarios.model import Form, Scenario, Wording
from grouse_adapters.meta.scenarios.problems import Place

PARAPHRASED: Final = (1, 6, 8, 10, 14, 15, 16)
"""Types whose actual answer is a paraphrase of the whole answer; they take them in turn."""
RELATED_PARAPHRASED: Final = (3, 9, 12)
"""Types whose actual answer is a related paraphrase; they take them in turn."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an answer.

    Attributes:
        id: as in the scenario; empty for the added one of type 15.
        text: with citations by key.
        place: where it was written.
        relevant: whether it answers the question, by construction.
        faithful: whether the test's references hold it, by construction.
    """

    id: str
    text: str
    place: Place
    relevant: bool = True
    faithful: bool = True


@dataclass(frozen=True, slots=True)
class Passage:
    """Statements that stand together."""

    statements: tuple[Statement, ...]
    form: Form = "prose"
    opening: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The refusal, if the answer refuses, and what it says."""

    passages: tuple[Passage, ...] = ()
    refusal: str | None = None

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements, in order."""
        return tuple(s for passage in self.passages for s in passage.statements)

    def text(self, numbers: Mapping[str, int]) -> str:
        """The answer as a reader sees it.

        Raises:
            KeyError: it cites a key without a number.
        """
        lines = [self.refusal] if self.refusal else []
        after_list = False
        for passage in self.passages:
            sentences = [numbered(s.text, numbers) for s in passage.statements]
            as_list = passage.form == "list"
            start = [passage.opening] if passage.opening else []
            running = " ".join(start if as_list else [*start, *sentences])
            if running and lines and not after_list:
                lines[-1] += f" {running}"
            elif running:
                lines.append(running)
            if as_list:
                lines.extend(f"- {sentence}" for sentence in sentences)
            after_list = as_list
        return "\n".join(lines)


def expected_answer(scenario: Scenario, number: int) -> Answer:
    """The expected answer of the type with this number, 1-16."""
    if number == 5:
        return Answer(refusal=scenario.refusal)
    if number in (2, 3, 7, 9, 13):
        related = _passage(scenario.related, ("related",), relevant=False)
        if number == 7:
            place: Place = ("absurd_related", "expected")
            related = _changed(related, scenario.absurd_related.expected, place, relevant=False)
        return Answer((related,), scenario.refusal)
    if number == 4:
        return Answer((_passage(scenario.partial.expected, ("partial", "expected")),))
    whole = _passage(scenario.answer, ("answer",))
    if number == 6:
        whole = _changed(whole, scenario.absurd.expected, ("absurd", "expected"))
    return Answer((whole,))


def actual_answer(scenario: Scenario, number: int) -> Answer:
    """The answer to judge of the type with this number, 1-16.

    Ids that lead nowhere are passed over; the checks name them.
    """
    if number in PARAPHRASED:
        turn = PARAPHRASED.index(number) % len(scenario.paraphrases)
        whole = _passage(scenario.paraphrases[turn], ("paraphrases", turn))
        return Answer(_FLAWS[number](scenario, whole))
    if number in RELATED_PARAPHRASED:
        turn = RELATED_PARAPHRASED.index(number) % len(scenario.related.paraphrases)
        place: Place = ("related", "paraphrases", turn)
        said = _passage(scenario.related.paraphrases[turn], place, relevant=False)
        if number == 9:  # it answers anyway: nothing may tell that it does not
            return Answer((replace(said, opening=None),))
        return Answer((said,), scenario.refusal)
    if number == 4:
        return Answer((_passage(scenario.partial.actual, ("partial", "actual")),))
    if number == 7:
        place = ("absurd_related", "actual")
        said = _passage(scenario.absurd_related.actual, place, relevant=False)
        return Answer((said,), scenario.refusal)
    if number == 13:
        added = _passage(scenario.off_topic, ("off_topic",), relevant=False)
        return Answer((added,), scenario.refusal)
    return Answer(refusal=scenario.refusal)


def _perfect(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    return (whole,)


def _with_absurd(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    return (_changed(whole, scenario.absurd.actual, ("absurd", "actual")),)


def _with_superfluous(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    added = _passage(scenario.superfluous, ("superfluous",), relevant=False)
    if added.opening is None:  # without a lead-in it goes on like the answer
        return (replace(whole, statements=(*whole.statements, *added.statements)),)
    return (whole, added)


def _with_omissions(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    kept = tuple(s for s in whole.statements if s.id not in scenario.omitted)
    return (replace(whole, statements=kept),)


def _with_wrong_citation(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    wrong = scenario.wrong_citation

    def exchange(statement: Statement) -> Iterator[Statement]:
        yield replace(statement, text=citing_instead(statement.text, wrong.cites))

    return (_at(whole, wrong.statement, exchange),)


def _without_support(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    flaw = scenario.unsupported
    place: Place = ("unsupported", "text")
    text = flaw.text

    def uncite(statement: Statement) -> Iterator[Statement]:
        bare = without_citations(text or statement.text)
        yield replace(statement, text=bare, place=place if text else statement.place)

    def add(statement: Statement) -> Iterator[Statement]:
        yield statement
        if text:
            yield Statement("", text, place, faithful=flaw.kind == "uncited")

    if flaw.statement is not None:
        return (_at(whole, flaw.statement, uncite),)
    return (_at(whole, flaw.after or "", add),)


def _with_distortion(scenario: Scenario, whole: Passage) -> tuple[Passage, ...]:
    distorted = scenario.distorted

    def distort(statement: Statement) -> Iterator[Statement]:
        yield Statement(statement.id, distorted.text, ("distorted", "text"), faithful=False)

    return (_at(whole, distorted.statement, distort),)


_FLAWS: Final[Mapping[int, Callable[[Scenario, Passage], tuple[Passage, ...]]]] = {
    1: _perfect,
    6: _with_absurd,
    8: _with_superfluous,
    10: _with_omissions,
    14: _with_wrong_citation,
    15: _without_support,
    16: _with_distortion,
}


def _passage(wording: Wording, place: Place, *, relevant: bool = True) -> Passage:
    statements = tuple(
        Statement(id, text, (*place, "statements", id), relevant)
        for id, text in wording.statements.items()
    )
    return Passage(statements, wording.form, wording.opening)


def _at(passage: Passage, id: str, change: Callable[[Statement], Iterator[Statement]]) -> Passage:
    statements = tuple(
        changed for s in passage.statements for changed in (change(s) if s.id == id else (s,))
    )
    return replace(passage, statements=statements)


def _changed(passage: Passage, changes: Wording, place: Place, *, relevant: bool = True) -> Passage:
    """With the statements of ``changes`` in place of those of the same id, or at the end."""
    new = _passage(changes, place, relevant=relevant)
    by_id = {s.id: s for s in (*passage.statements, *new.statements)}
    return replace(
        passage, statements=tuple(by_id.values()), opening=new.opening or passage.opening
    )
