"""The shipped samples, and the grades that tests tell a scripted judge to give them."""

from __future__ import annotations

from typing import Any

from command_line import EXAMPLES, read_lines

from grouse_adapters.testing import Script, ScriptedRequest

SAMPLES = read_lines(EXAMPLES)

GRADES: dict[str, tuple[int | None, ...]] = {
    # relevancy, completeness, usefulness, faithfulness; then the two that must be derived
    "perfect-sourdough": (5, 5, None, 1, None, None),
    "partial-velos": (4, 3, None, 1, None, None),
    "superfluous-library": (3, 5, None, 1, None, None),
    "wrong-refusal-passport": (None, 1, None, None, 0, None),
    "right-refusal-violin": (None, None, None, None, 1, 1),
    "related-refusal-telescope": (None, None, 1, 1, 1, 1),
    "off-topic-refusal-insulin": (None, None, 0, 1, 1, 1),
    "should-refuse-marathon": (2, None, None, 1, None, 0),
    "wrong-citation-battery": (5, 5, None, 0, None, None),
    "missing-citation-lease": (5, 4, None, 0, None, None),
    "distorted-number-glacier": (5, 4, None, 0, None, None),
    "no-references-visa": (None, None, None, None, 1, 1),
    "no-expected-answer-compost": (4, 2, None, 1, None, None),
}
MEANS = {
    "answer_relevancy": 33 / 8,
    "completeness": 29 / 8,
    "usefulness": 1 / 2,
    "faithfulness": 7 / 10,
    "positive_acceptance": 4 / 5,
    "negative_rejection": 4 / 5,
}
CALLS = 13 + 13 + 5 + 10
"""Relevancy and completeness of all; usefulness of refusals; faithfulness where there is more."""


def script() -> Script:
    """Gives every shipped sample the grades above."""
    return Script(_grades, justification="Said by the scripted judge.")


def sample_of(prompt: str) -> dict[str, Any]:
    """The shipped sample that a prompt shows: faithfulness shows no question."""
    asked = [sample for sample in SAMPLES if sample["input"] in prompt]
    given = [sample for sample in SAMPLES if sample["actual_output"] in prompt]
    return asked[0] if asked else max(given, key=lambda sample: len(sample["actual_output"]))


def _grades(request: ScriptedRequest) -> dict[str, int | None]:
    names = ("answer_relevancy", "completeness", "usefulness", "faithfulness")
    return dict(zip(names, GRADES[sample_of(request.prompt)["id"]][:4], strict=True))
