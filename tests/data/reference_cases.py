"""The recorded replies on which the paper's own package and this one are compared."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JUDGED: Final = ("answer_relevancy", "completeness", "usefulness", "faithfulness")

UNREADABLE: Final = (
    "The second answer looks fine to me.",
    '{"answer_1": {"note": "fine"}, "answer_2": {"note": "the bridge',
    "[4, 5]",
    '{"answer_1": {"note": "only the first answer is graded here"}}',
    "",
)
"""Replies without a grade. Each path that ends in a failure takes the next one."""

PLAIN: Final[Mapping[str, Any]] = {
    "answer_relevancy": 4,
    "completeness": 3,
    "usefulness": 1,
    "faithfulness": 1,
}
"""What every reply says when the case is about another one. Replies that the pipeline must not
ask for say it too, so that a call too many changes a result."""

FAILED: Final = "failed"
CUT_OFF: Final = "whole, but the model was stopped"


@dataclass(frozen=True)
class Case:
    """One sample with the four replies a model would give about it.

    ``replies`` holds None for an answer without content; ``finish_reasons`` only those that are
    not ``stop``.
    """

    id: str
    sample: dict[str, Any]
    replies: dict[str, str | None]
    finish_reasons: dict[str, str] = field(default_factory=dict)


def sample(number: int, *, refuses: bool, answerable: bool, adds: bool = True) -> dict[str, Any]:
    """A short sample about one bridge; its number tells the server which case a prompt shows."""
    bridge, year = f"Bridge {number}", 1800 + number % 200
    references = [f"{bridge} crosses the river near the old mill.", f"{bridge} is painted green."]
    answer = "None of the documents says so."
    if answerable:
        references.insert(0, f"{bridge} was opened in {year}.")
    expected = f"{bridge} was opened in {year} [1]." if answerable else answer
    if not refuses:
        actual = f"{bridge} was opened in {year} [1]."
    elif adds:
        actual = f"{answer} {bridge} is painted green [{len(references)}]."
    else:
        actual = answer
    return {
        "input": f"When was {bridge} opened?",
        "references": references,
        "expected_output": expected,
        "actual_output": actual,
    }


def answer(metric: str, grade: Any, note: str = "checked") -> dict[str, Any]:
    """What a well-behaved model writes about one answer."""
    refuses = grade is None
    if metric == "answer_relevancy":
        keys: dict[str, Any] = {"answer_affirms_no_document_answers": refuses}
    elif metric == "usefulness":
        keys = {
            "answer_affirms_no_document_answers": not refuses,
            "answer_contains_related_information": bool(grade),
        }
    elif metric == "faithfulness":
        check = {"sentence": note, "criterion_1": True, "criterion_2": True}
        keys = {
            "answer_only_asserts_no_document_answers": refuses,
            "content_analysis_sentence_by_sentence": [{**check, "criterion_3": bool(grade)}],
        }
    else:
        keys = {}
    return {**keys, f"{metric}_justification": note, metric: grade}


def pair(metric: str, grade: Any) -> dict[str, Any]:
    """A whole reply; the expected answer's grade differs, so that a mix-up shows."""
    if metric in ("answer_relevancy", "completeness"):
        first = 5 if grade != 5 else 2
    else:
        first = 0 if grade else 1
    return {"answer_1": answer(metric, first), "answer_2": answer(metric, grade)}


def reply(metric: str, grade: Any) -> str:
    return json.dumps(pair(metric, grade))


def plain_replies() -> dict[str, str | None]:
    return {metric: reply(metric, PLAIN[metric]) for metric in JUDGED}


def paths() -> Iterator[Case]:
    """Every path through the pipeline, with every form of every grade it can meet."""
    relevancy_grades, completeness_grades = itertools.cycle(range(1, 6)), itertools.cycle("53142")
    unreadable = itertools.cycle(UNREADABLE)
    number = itertools.count(101)
    faithfulness_forms = (True, False, 1, 0, None, FAILED)
    for relevancy, completeness in itertools.product(("graded", None, FAILED), repeat=2):
        if relevancy == "graded":
            tails = [{"faithfulness": form} for form in faithfulness_forms]
        elif relevancy is None:
            tails = [
                {"usefulness": usefulness, "faithfulness": form}
                for usefulness, form in itertools.product((0, 1), faithfulness_forms)
            ]
            tails += [{"usefulness": None}, {"usefulness": FAILED}]
        else:
            tails = [{}]
        for tail in tails:
            grades: dict[str, Any] = {
                "answer_relevancy": next(relevancy_grades) if relevancy == "graded" else relevancy,
                "completeness": (
                    int(next(completeness_grades)) if completeness == "graded" else completeness
                ),
                **tail,
            }
            replies = plain_replies()
            for metric, grade in grades.items():
                replies[metric] = next(unreadable) if grade == FAILED else reply(metric, grade)
            yield Case(
                id="path " + " ".join(f"{metric}={show(g)}" for metric, g in grades.items()),
                sample=sample(
                    next(number),
                    refuses=relevancy is None,
                    answerable=completeness is not None,
                    adds=grades.get("usefulness") is not None,
                ),
                replies=replies,
            )


def show(grade: Any) -> str:
    return grade if grade == FAILED else json.dumps(grade)


def readings() -> Iterator[Case]:
    """Replies that are written oddly: one of the four is odd, the others are plain."""
    number = itertools.count(201)
    for metric, texts in odd_replies().items():
        for name, text in texts.items():
            yield Case(
                id=f"reading {metric}: {name}",
                sample=sample(next(number), refuses=False, answerable=True),
                replies={**plain_replies(), metric: text},
                finish_reasons={metric: "length"} if name == CUT_OFF else {},
            )


def odd_replies() -> dict[str, dict[str, str]]:
    """Per metric, what is odd about a reply, and its text."""
    good, other = reply("faithfulness", 0), reply("faithfulness", 1)
    many_scripts = '{"a"} «b» 橋 🌉'

    def changed(metric: str, /, answer_number: int = 2, **changes: Any) -> str:
        whole = pair(metric, 0 if metric == "faithfulness" else 2)
        whole[f"answer_{answer_number}"].update(changes)
        return json.dumps(whole)

    def without(metric: str, key: str) -> str:
        whole = pair(metric, 0 if metric == "faithfulness" else 2)
        del whole["answer_2"][key]
        return json.dumps(whole)

    f, c, r = "faithfulness", "completeness", "answer_relevancy"
    faithfulness = {
        "spread over lines": json.dumps(pair(f, 0), indent=2),
        "blank lines around it": f"\n\n  {good}\n",
        "code fence": f"```json\n{good}\n```",
        "code fence without a language": f"```\n{good}\n```",
        "code fence after a sentence": f"Here is my verdict.\n```json\n{good}\n```\nDone.",
        "draft fence, final fence": f"Draft:\n```\n{other}\n```\nFinal:\n```\n{good}\n```",
        "code fence on one line": f"```{good}```",
        "sentences around it": f"My verdict: {good} I hope this helps.",
        "thinking block before it": f"<think>Is it cited? {{no}}</think>\n{good}",
        "trailing comma": good[:-1] + ",}",
        "Python literals": str(pair(f, None)),
        "keys nobody asked for": changed(f, confidence=0.4),
        "answer_2 before answer_1": json.dumps(dict(reversed(pair(f, 0).items()))),
        "braces and many scripts": changed(f, faithfulness_justification=many_scripts),
        "null as text": changed(f, faithfulness="null"),
        "boolean as text": changed(f, faithfulness="false"),
        "above the scale": changed(f, faithfulness=2),
        "no justification": without(f, "faithfulness_justification"),
        "no analysis": without(f, "content_analysis_sentence_by_sentence"),
        "answer_1 left out": json.dumps({"answer_2": answer(f, 0)}),
        "answer_1 damaged": changed(f, 1, faithfulness_justification=None),
        CUT_OFF: good,
    }
    completeness = {
        "number as text": changed(c, completeness="2"),
        "whole number with a decimal point": changed(c, completeness=2.0),
        "number with a fraction": changed(c, completeness=2.5),
        "grade as a word": changed(c, completeness="high"),
        "not a number": changed(c, completeness=math.nan),
        "boolean on the 1-5 scale": changed(c, completeness=True),
        "above the scale": changed(c, completeness=7),
        "below the scale": changed(c, completeness=0),
        "no grade": without(c, c),
    }
    relevancy = {
        "no grade": without(r, r),
        "no check": without(r, "answer_affirms_no_document_answers"),
    }
    return {f: faithfulness, c: completeness, r: relevancy}


def silent() -> Case:
    """A model that answers without content, as content filters make it."""
    return Case(
        id="silent completeness",
        sample=sample(301, refuses=False, answerable=True),
        replies={**plain_replies(), "completeness": None},
    )


def batches(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Runs whose means are compared; each name says what is special about it."""
    ids = [case.id for case in cases]
    path_ids = [name for name in ids if name.startswith("path ")]

    def some(*words: str) -> list[str]:
        return [name for name in path_ids if all(word in name for word in words)]

    both_fail = some("answer_relevancy=failed", "completeness=failed")
    graded = [
        name
        for name in path_ids
        if not any(word in name for word in ("null", "failed", "usefulness="))
    ]
    above = "reading completeness: above the scale"
    return {
        "every path": path_ids,
        "every path, backwards, every third": path_ids[::-3],
        "refusals only": some("answer_relevancy=null"),
        "answers only: usefulness and the derived metrics are empty": graded,
        "one sample": graded[:1],
        "nothing but failures": both_fail,
        "half of them failures": [*graded, *both_fail * len(graded)],
        "a grade above the scale": [above, *graded],
        "one reply without content": [silent().id, *graded],
    }
