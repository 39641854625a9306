"""The author's work, checked. Errors keep the tests from being built, warnings do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from grouse_adapters.meta.scenarios import id_checks, wording_checks
from grouse_adapters.meta.scenarios.citations import cited_keys
from grouse_adapters.meta.scenarios.model import Scenario, Tag
from grouse_adapters.meta.scenarios.parts import GAP, Check, parts, texts
from grouse_adapters.meta.scenarios.plan import plans
from grouse_adapters.meta.scenarios.problems import Place, Problem, did_you_mean, shown

_FEWEST_WORDS: Final = 25  # of a reference; fewer make no passage
_GOOD_WORDS: Final = 50
_FEWEST_TAGGED: Final[tuple[tuple[Tag, int], ...]] = (
    ("relevant", 2),
    ("related", 2),
    ("off-topic", 2),
)
_NOT_IN_KEYS: Final = "[],;"
_UNSPACED: Final = (("\u3040", "\u30ff"), ("\u3400", "\u9fff"), ("\uac00", "\ud7af"))


def check_scenario(scenario: Scenario) -> list[Problem]:
    """Every problem of a scenario: errors first, then warnings, each in the order of its file.

    A text that is still to be written (it begins with ``TODO``) is an error, and nothing else is
    said about it.
    """
    return _found(scenario, (*_CHECKS, *_DOUBTS))


def scenario_errors(scenario: Scenario) -> list[Problem]:
    """The problems that keep the tests from being built, in the order of its file."""
    return [problem for problem in _found(scenario, _CHECKS) if problem.severity == "error"]


def _found(scenario: Scenario, checks: Iterable[Check]) -> list[Problem]:
    gaps = [place for place, text in texts(scenario) if text.startswith(GAP)]
    hidden = {shown(place) for place in gaps}
    found = [_gap(scenario, place) for place in gaps]
    for check in checks:
        found.extend(problem for problem in check(scenario) if problem.place not in hidden)
    if not any(problem.severity == "error" for problem in found):
        found.extend(_out_of_range(scenario))
    return sorted(dict.fromkeys(found), key=lambda problem: (problem.severity, problem.line or 0))


def _gap(scenario: Scenario, place: Place) -> Problem:
    text = dict(texts(scenario))[place].removeprefix(GAP).strip(": ")
    return scenario.source.problem(place, f"is still to be written{f': {text}' if text else '.'}")


def _keys(scenario: Scenario) -> Iterator[Problem]:
    for key in scenario.references:
        if set(key) & set(_NOT_IN_KEYS):
            yield scenario.source.problem(
                ("references", key),
                "cannot be cited: use letters, digits and dashes in the keys of references.",
            )


def _counts(scenario: Scenario) -> Iterator[Problem]:
    for tag, fewest in _FEWEST_TAGGED:
        found = len(scenario.tagged(tag))
        if found < fewest:
            yield scenario.source.problem(
                ("references",),
                f"has {found} tagged {tag}, and the tests need at least {fewest}: add some.",
            )


def _passages(scenario: Scenario) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for key, reference in scenario.references.items():
        place: Place = ("references", key, "text")
        words = _words(reference.text)
        if words < _FEWEST_WORDS:
            yield scenario.source.problem(
                place,
                f"has {words} words: give the passage as a retriever returns it, {_GOOD_WORDS} or "
                f"more ({_FEWEST_WORDS} at least).",
            )
        elif words < _GOOD_WORDS:
            yield scenario.source.problem(
                place, f"has only {words} words: {_GOOD_WORDS} or more are better.", "warning"
            )
        same = first.setdefault(" ".join(reference.text.split()), key)
        if same != key:
            yield scenario.source.problem(
                place, f"is the text of {same!r} word for word: give each its own."
            )


def _words(text: str) -> int:
    unspaced = sum(any(low <= char <= high for low, high in _UNSPACED) for char in text)
    return len(text.split()) + unspaced // 2


def _stand_ins(scenario: Scenario) -> Iterator[Problem]:
    """Absurd references say whose place they take, and the two absurd parts use them."""
    for key, reference in scenario.references.items():
        place: Place = ("references", key)
        if reference.tag != "absurd":
            if reference.instead_of is not None:
                yield scenario.source.problem(
                    (*place, "instead_of"),
                    f"is for absurd references, and this one is tagged {reference.tag}: take it "
                    "out or correct the tag.",
                )
            continue
        if reference.instead_of is None:
            yield scenario.source.problem(
                place, "is absurd without 'instead_of': name the reference whose place it takes."
            )
        elif reference.instead_of not in scenario.references:
            yield scenario.source.problem(
                (*place, "instead_of"),
                f"is {reference.instead_of!r}, which is no reference: "
                + did_you_mean(reference.instead_of, scenario.tagged("relevant", "related")),
            )
        if key not in (scenario.absurd.reference, scenario.absurd_related.reference):
            yield scenario.source.problem(
                place, "is used neither by absurd nor by absurd_related.", "warning"
            )
    yield from _stand_in(scenario, "absurd", scenario.absurd.reference, "relevant")
    yield from _stand_in(scenario, "absurd_related", scenario.absurd_related.reference, "related")


def _stand_in(scenario: Scenario, part: str, key: str, wanted: Tag) -> Iterator[Problem]:
    place: Place = (part, "reference")
    reference = scenario.references.get(key)
    if reference is None or reference.tag != "absurd":
        told = "which is no reference" if reference is None else "which is not tagged absurd"
        hint = did_you_mean(key, scenario.tagged("absurd"))
        yield scenario.source.problem(place, f"is {key!r}, {told}: {hint}")
        return
    original = scenario.references.get(reference.instead_of or "")
    if original is not None and original.tag != wanted:
        yield scenario.source.problem(
            place,
            f"is {key!r}, which stands in for {reference.instead_of!r}, a reference tagged "
            f"{original.tag}: choose one that stands in for a {wanted} one.",
        )


def _citations(scenario: Scenario) -> Iterator[Problem]:
    """Statements cite what they may; openings and the refusal cite nothing."""
    if cited_keys(scenario.refusal):
        yield scenario.source.problem(
            ("refusal",), "cites a reference: a refusal says that none answers."
        )
    for part in parts(scenario):
        opening = part.wording.opening
        if opening is not None and cited_keys(opening):
            yield scenario.source.problem(
                (*part.place, "opening"),
                "cites a reference: an opening holds no fact; make it a statement.",
            )
        for place, _, text in part.statements():
            if not cited_keys(text):
                keys = scenario.tagged(*part.tags)
                example = f", such as [{keys[0]}]" if keys else ""
                yield scenario.source.problem(
                    place, f"cites nothing: add the key of the reference that holds it{example}."
                )
            yield from _cited(scenario, place, text, part.tags)
    flaw, distorted = scenario.unsupported.text, scenario.distorted.text
    if flaw is not None:
        everything: tuple[Tag, ...] = ("relevant", "related", "off-topic")
        yield from _cited(scenario, ("unsupported", "text"), flaw, everything)
    yield from _cited(scenario, ("distorted", "text"), distorted, ("relevant",))


def _cited(scenario: Scenario, place: Place, text: str, tags: tuple[Tag, ...]) -> Iterator[Problem]:
    for key in cited_keys(text):
        reference = scenario.references.get(key)
        if reference is None:
            hint = did_you_mean(key, scenario.tagged(*tags))
            if key.isdecimal():
                hint = "cite by key, the builder writes the numbers."
            yield scenario.source.problem(place, f"cites [{key}], which is no reference: {hint}")
        elif reference.tag not in tags:
            yield scenario.source.problem(
                place,
                f"cites [{key}], which is tagged {reference.tag}: only {' or '.join(tags)} "
                "references belong here.",
            )


def _unused(scenario: Scenario) -> Iterator[Problem]:
    """Relevant and related references should say something that the answers give."""
    for part, tag in ((scenario.answer, "relevant"), (scenario.related, "related")):
        cited = {key for text in part.statements.values() for key in cited_keys(text)}
        for key, reference in scenario.references.items():
            if reference.tag == tag and key not in cited:
                name = "the answer" if tag == "relevant" else "'related'"
                yield scenario.source.problem(
                    ("references", key),
                    f"is tagged {tag}, and no statement of {name} cites it.",
                    "warning",
                )


def _cut_texts(scenario: Scenario) -> Iterator[Problem]:
    written = {place for place, _ in texts(scenario)}
    for place in sorted(scenario.source.cut & written, key=shown):
        yield scenario.source.problem(
            place,
            "ends where ' #' begins a comment: put the text in quotes if that belongs to it.",
            "warning",
        )


def _out_of_range(scenario: Scenario) -> Iterator[Problem]:
    """No test may cite a reference that it does not show."""
    for plan in plans(scenario):
        numbers = plan.numbers
        for statement in (*plan.expected.statements, *plan.actual.statements):
            for key in cited_keys(statement.text):
                if key not in numbers:
                    yield scenario.source.problem(
                        statement.place,
                        f"cites [{key}], which test {plan.type.number} ({plan.type.name}) does not "
                        f"show: {_remedy(plan.type.number)}.",
                    )


def _remedy(number: int) -> str:
    if number == 4:
        return "cite those of partial.references only"
    if number in (6, 7):
        return "cite the absurd reference of this part, and no other"
    return "cite another reference"


_CHECKS: Final[tuple[Check, ...]] = (
    _keys,
    _counts,
    _passages,
    _stand_ins,
    _citations,
    *id_checks.CHECKS,
    *wording_checks.CHECKS,
)
_DOUBTS: Final[tuple[Check, ...]] = (_unused, _cut_texts, *wording_checks.DOUBTS)
