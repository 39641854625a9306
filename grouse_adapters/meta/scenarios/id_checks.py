"""Checks of what the parts say of each other: ids, and the flaws of types 10 and 14 to 16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from grouse_adapters.meta.scenarios.citations import cited_keys
from grouse_adapters.meta.scenarios.model import Absurd, Scenario
from grouse_adapters.meta.scenarios.parts import Check
from grouse_adapters.meta.scenarios.problems import Place, Problem, did_you_mean

_OMITTED_SHARE: Final = 3  # one in this many statements should be left out


def _paraphrases(scenario: Scenario) -> Iterator[Problem]:
    answer = scenario.answer.statements
    for number, wording in enumerate(scenario.paraphrases):
        place: Place = ("paraphrases", number, "statements")
        yield from _same_ids(scenario, place, wording.statements, answer, "the answer")
    related = scenario.related
    for number, wording in enumerate(related.paraphrases):
        place = ("related", "paraphrases", number, "statements")
        yield from _unknown(scenario, place, wording.statements, related.statements, "'related'")
    partial = scenario.partial
    place = ("partial", "actual", "statements")
    yield from _same_ids(
        scenario, place, partial.actual.statements, partial.expected.statements, "partial.expected"
    )


def _same_ids(
    scenario: Scenario, place: Place, ids: Iterable[str], wanted: Iterable[str], whole: str
) -> Iterator[Problem]:
    given, known = list(ids), list(wanted)
    yield from _unknown(scenario, place, given, known, whole)
    for id in known:
        if id not in given:
            yield scenario.source.problem(
                place, f"lacks {id!r}: give every statement of {whole}, in whatever order."
            )


def _unknown(
    scenario: Scenario, place: Place, ids: Iterable[str], known: Iterable[str], whole: str
) -> Iterator[Problem]:
    names = list(known)
    for id in ids:
        if id not in names:
            yield scenario.source.problem(
                (*place, id), f"is no statement of {whole}: {did_you_mean(id, names)}"
            )


def _partial(scenario: Scenario) -> Iterator[Problem]:
    relevant = scenario.tagged("relevant")
    present = scenario.partial.references
    place: Place = ("partial", "references")
    for index, key in enumerate(present):
        if key not in relevant:
            yield scenario.source.problem(
                (*place, index),
                f"is {key!r}, which is no relevant reference: {did_you_mean(key, relevant)}",
            )
    if relevant and set(relevant) <= set(present):
        yield scenario.source.problem(
            place, "names every relevant reference: leave some out, so that a part is missing."
        )
    for id, text in scenario.answer.statements.items():
        cited = cited_keys(text)
        if id in scenario.partial.expected.statements or not cited:
            continue
        if set(cited) <= set(present):
            yield scenario.source.problem(
                ("partial", "expected", "statements"),
                f"lacks {id!r}, which rests on these references alone (ignore this if another "
                "statement holds it).",
                "warning",
            )


def _absurd_facts(scenario: Scenario) -> Iterator[Problem]:
    yield from _absurd_fact(scenario, "absurd", scenario.absurd)
    yield from _absurd_fact(scenario, "absurd_related", scenario.absurd_related)
    absurd = scenario.absurd
    place: Place = ("absurd", "actual", "statements")
    expected = absurd.expected.statements
    yield from _same_ids(scenario, place, absurd.actual.statements, expected, "absurd.expected")
    known = {**scenario.related.statements, **scenario.absurd_related.expected.statements}
    place = ("absurd_related", "actual", "statements")
    said = scenario.absurd_related.actual.statements
    yield from _unknown(scenario, place, said, known, "'related' or absurd_related.expected")


def _absurd_fact(scenario: Scenario, part: str, absurd: Absurd) -> Iterator[Problem]:
    """The absurd fact stands in both answers, under the same id."""

    def holding(statements: dict[str, str]) -> set[str]:
        return {id for id, text in statements.items() if absurd.reference in cited_keys(text)}

    if not holding(absurd.expected.statements) & holding(absurd.actual.statements):
        yield scenario.source.problem(
            (part,),
            f"has no statement that cites [{absurd.reference}] both in 'expected' and in 'actual': "
            "give the absurd fact in both, under the same id.",
        )


def _omitted(scenario: Scenario) -> Iterator[Problem]:
    answer = scenario.answer.statements
    for index, id in enumerate(scenario.omitted):
        yield from _known(scenario, ("omitted", index), id)
    left_out = set(scenario.omitted) & set(answer)
    if left_out == set(answer):
        yield scenario.source.problem(
            ("omitted",), "names every statement: some must stay in the answer."
        )
    elif left_out and len(left_out) * _OMITTED_SHARE < len(answer):
        yield scenario.source.problem(
            ("omitted",),
            f"leaves out {len(left_out)} of {len(answer)} statements: a third or more is better.",
            "warning",
        )


def _known(scenario: Scenario, place: Place, id: str) -> Iterator[Problem]:
    """That ``id``, which stands at ``place``, is a statement of the answer."""
    answer = scenario.answer.statements
    if id not in answer:
        yield scenario.source.problem(
            place, f"is {id!r}, which is no statement of the answer: {did_you_mean(id, answer)}"
        )


def _wrong_citation(scenario: Scenario) -> Iterator[Problem]:
    wrong = scenario.wrong_citation
    yield from _known(scenario, ("wrong_citation", "statement"), wrong.statement)
    place: Place = ("wrong_citation", "cites")
    reference = scenario.references.get(wrong.cites)
    if reference is None or reference.tag == "absurd":
        told = "no reference" if reference is None else "an absurd one, which the test lacks"
        hint = did_you_mean(wrong.cites, scenario.tagged("relevant"))
        yield scenario.source.problem(place, f"is {wrong.cites!r}, {told}: {hint}")
    cited = {
        key
        for wording in (scenario.answer, *scenario.paraphrases)
        for key in cited_keys(wording.statements.get(wrong.statement, ""))
    }
    if wrong.cites in cited:
        yield scenario.source.problem(
            place, f"is {wrong.cites!r}, which {wrong.statement!r} cites rightly: name another."
        )
    if len(cited) > 1:
        yield scenario.source.problem(
            ("wrong_citation", "statement"),
            f"is {wrong.statement!r}, which cites several references: all of its citations are "
            "exchanged.",
            "warning",
        )


def _unsupported(scenario: Scenario) -> Iterator[Problem]:
    flaw = scenario.unsupported
    place: Place = ("unsupported",)
    if flaw.kind == "unsupported" and flaw.statement is not None:
        yield scenario.source.problem(
            (*place, "statement"), "is for kind 'uncited': name the statement before it in 'after'."
        )
    elif flaw.statement is not None and flaw.after is not None:
        yield scenario.source.problem(
            place, "has 'statement' and 'after': keep the one that is meant."
        )
    elif flaw.statement is not None:
        yield from _known(scenario, (*place, "statement"), flaw.statement)
    elif flaw.after is None or flaw.text is None:
        needed = "'after' and 'text'"
        if flaw.kind == "uncited":
            needed += ", or the 'statement' that loses its citation"
        yield scenario.source.problem(place, f"lacks {needed}: add what is missing.")
    else:
        yield from _known(scenario, (*place, "after"), flaw.after)
    if flaw.kind == "uncited" and flaw.text is not None and cited_keys(flaw.text):
        yield scenario.source.problem(
            (*place, "text"), "cites a reference, and its kind is 'uncited': take one of them out."
        )


def _distorted(scenario: Scenario) -> Iterator[Problem]:
    distorted = scenario.distorted
    yield from _known(scenario, ("distorted", "statement"), distorted.statement)
    right = scenario.answer.statements.get(distorted.statement)
    if right is not None and set(cited_keys(right)) != set(cited_keys(distorted.text)):
        keys = "".join(f"[{key}]" for key in cited_keys(right))
        yield scenario.source.problem(
            ("distorted", "text"),
            f"does not cite what {distorted.statement!r} cites: its citation stays right, {keys}.",
        )


def _richness(scenario: Scenario) -> Iterator[Problem]:
    counts: tuple[tuple[Place, int, int], ...] = (
        (("paraphrases",), len(scenario.paraphrases), 4),
        (("answer", "statements"), len(scenario.answer.statements), 4),
        (("related", "statements"), len(scenario.related.statements), 5),
        *(
            (("related", "paraphrases", number, "statements"), len(wording.statements), 3)
            for number, wording in enumerate(scenario.related.paraphrases)
        ),
        (("off_topic", "statements"), len(scenario.off_topic.statements), 2),
        (("superfluous", "statements"), len(scenario.superfluous.statements), 2),
    )
    for place, found, better in counts:
        if found < better:
            entries = "entry" if found == 1 else "entries"
            yield scenario.source.problem(
                place, f"has {found} {entries}: {better} or more are better.", "warning"
            )


CHECKS: Final[tuple[Check, ...]] = (
    _paraphrases,
    _partial,
    _absurd_facts,
    _omitted,
    _wrong_citation,
    _unsupported,
    _distorted,
    _richness,
)
