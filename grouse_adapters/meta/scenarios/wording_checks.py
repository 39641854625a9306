"""Checks of wordings: refusals, paraphrases that paraphrase nothing, sentences without citation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from grouse_adapters.meta.scenarios.citations import (
    cited_keys,
    cites_after_the_stop,
    citing_instead,
    without_citations,
)
from grouse_adapters.meta.scenarios.model import Scenario
from grouse_adapters.meta.scenarios.parts import Check, parts, spoiled
from grouse_adapters.meta.scenarios.problems import Place, Problem

_ALIKE: Final = 0.8  # share of common words above which a paraphrase hardly is one
_FEW_WORDS: Final = 6  # shorter statements have few other wordings
_STOPS: Final = (".", "!", "?", "。", "…", ".)", '."', ".”", "».", ".»")


def _refusal(scenario: Scenario) -> Iterator[Problem]:
    """Readers of refusals know the refusal as one, and nothing else."""
    # Reading sentences costs an import that scenarios without this check would not need.
    from grouse_adapters.lexical.refusal import RefusalReader
    from grouse_adapters.lexical.sentences import split_answer

    code, question = scenario.language, scenario.question

    def refuses(text: str, wordings: tuple[str, ...]) -> bool:
        reader = RefusalReader(wordings)
        return reader.read(split_answer(text, code), question=question, code=code).refuses

    if not scenario.refusal.endswith(_STOPS):
        yield scenario.source.problem(
            ("refusal",), "does not end with a full stop: statements follow it.", "warning"
        )
    if not refuses(scenario.refusal, ()):
        yield scenario.source.problem(
            ("refusal",),
            "is no wording that the lexical judge knows: tell every judge of this test set your "
            "refusal sentence (LexicalJudge(refusals=[...]), 'refusals' in a prompt pack).",
            "warning",
        )
    for place, text in _said(scenario):
        if refuses(without_citations(text), (scenario.refusal,)):
            yield scenario.source.problem(
                place,
                "reads like a refusal: word it otherwise, for only the refusal sentence may "
                "say that no document answers.",
                "warning",
            )


def _said(scenario: Scenario) -> Iterator[tuple[Place, str]]:
    for part in parts(scenario):
        if part.wording.opening is not None:
            yield (*part.place, "opening"), part.wording.opening
        for place, _, text in part.statements():
            yield place, text
    yield from spoiled(scenario)


def _paraphrases(scenario: Scenario) -> Iterator[Problem]:
    """Every other wording differs from the expected one."""
    related, partial = scenario.related, scenario.partial
    expected_7 = {**related.statements, **scenario.absurd_related.expected.statements}
    pairs = [
        *(
            (("paraphrases", n), wording, scenario.answer.statements)
            for n, wording in enumerate(scenario.paraphrases)
        ),
        *(
            (("related", "paraphrases", n), wording, related.statements)
            for n, wording in enumerate(related.paraphrases)
        ),
        (("partial", "actual"), partial.actual, partial.expected.statements),
        (("absurd", "actual"), scenario.absurd.actual, scenario.absurd.expected.statements),
        (("absurd_related", "actual"), scenario.absurd_related.actual, expected_7),
    ]
    for place, wording, expected in pairs:
        for id, text in wording.statements.items():
            if id in expected:
                yield from _differs(scenario, (*place, "statements", id), text, expected[id])


def _differs(scenario: Scenario, place: Place, text: str, expected: str) -> Iterator[Problem]:
    if _bare(text) == _bare(expected):
        yield scenario.source.problem(
            place, "is the expected wording itself: say the same in other words."
        )
    elif _likeness(text, expected) >= _ALIKE:
        yield scenario.source.problem(
            place,
            f"shares {_likeness(text, expected):.0%} of its words with the expected wording: a "
            "judge that only compares words would pass.",
            "warning",
        )
    if cited_keys(text) and _originals(scenario, text) != _originals(scenario, expected):
        keys = "".join(f"[{key}]" for key in cited_keys(expected))
        yield scenario.source.problem(
            place, f"cites otherwise than the expected wording does ({keys}).", "warning"
        )


def _originals(scenario: Scenario, text: str) -> set[str]:
    """The keys that ``text`` cites, absurd ones as those whose place they take."""
    cited = ((key, scenario.references.get(key)) for key in cited_keys(text))
    return {(known.instead_of if known else None) or key for key, known in cited}


def _flaws(scenario: Scenario) -> Iterator[Problem]:
    """What types 15 and 16 say is said nowhere else."""
    statements = [(part, id, text) for part in parts(scenario) for _, id, text in part.statements()]
    flaw, distorted = scenario.unsupported, scenario.distorted
    if flaw.text is not None and flaw.statement is None:
        for part, id, text in statements:
            if _bare(flaw.text) == _bare(text):
                yield scenario.source.problem(
                    ("unsupported", "text"),
                    f"is the statement {id!r} of {part.place[0]} itself: say something else.",
                )
                break
    for part, id, text in statements:
        if "relevant" in part.tags and _bare(distorted.text) == _bare(text):
            yield scenario.source.problem(
                ("distorted", "text"),
                f"is what {part.place[0]} says of {id!r} already: distort one fact.",
            )
            break


def _sentences(scenario: Scenario) -> Iterator[Problem]:
    """Citations stand where a reader of the built answer takes them for this statement's."""
    from grouse_adapters.lexical.sentences import split_answer

    for part in parts(scenario):
        for place, _, text in part.statements():
            if cites_after_the_stop(text):
                yield scenario.source.problem(
                    place, "cites after the full stop: put the citation before it.", "warning"
                )
                continue
            if part.wording.form == "prose" and not text.endswith(_STOPS):
                yield scenario.source.problem(
                    place, "does not end with a full stop: another sentence follows it.", "warning"
                )
            bare = [
                sentence.text
                for sentence in split_answer(citing_instead(text, "1"), scenario.language)
                if sentence.kind == "statement" and not any(c.citations for c in sentence.claims)
            ]
            if bare and cited_keys(text):
                yield scenario.source.problem(
                    place,
                    f"has a sentence without a citation ({bare[0][:40]!r}): add one, or join the "
                    "sentences.",
                    "warning",
                )


def _after_a_comma(scenario: Scenario) -> Iterator[Problem]:
    for part in parts(scenario):
        first = next(iter(part.wording.statements.values()))
        opening = part.wording.opening or ""
        if opening.endswith(",") and re.match(r"(?:The|A|An|In|It|Its|This|These|There)\b", first):
            yield scenario.source.problem(
                (*part.place, "opening"),
                f"ends with a comma, and {first.split()[0]!r} follows: end it with a full stop.",
                "warning",
            )


def _bare(text: str) -> str:
    return " ".join(without_citations(text).casefold().split()).strip(" .,;:!?\"'")


def _likeness(one: str, other: str) -> float:
    """Share of the words of both that they have in common, 0-1; 0 for short statements."""
    first, second = (
        Counter(re.findall(r"\w+", without_citations(text).casefold())) for text in (one, other)
    )
    if min(first.total(), second.total()) < _FEW_WORDS:
        return 0.0
    return (first & second).total() / (first | second).total()


CHECKS: Final[tuple[Check, ...]] = (_paraphrases, _flaws)
"""They find errors, and warnings too."""
DOUBTS: Final[tuple[Check, ...]] = (_refusal, _sentences, _after_a_comma)
"""They find warnings only; reading every statement, they take most of the time."""
