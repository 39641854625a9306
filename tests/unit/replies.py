"""Replies that the tests of the reply parser share."""

from __future__ import annotations

import json
from typing import Any

from grouse_adapters.core.grades import Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import MetricName

C: MetricName = "completeness"
F: MetricName = "faithfulness"
U: MetricName = "usefulness"
R: MetricName = "answer_relevancy"


def outcome(grade: Grade) -> int | str | None:
    """The value, None for not applicable, the error kind for failed: what the tables list."""
    if isinstance(grade, Graded):
        return grade.value
    return None if isinstance(grade, NotApplicable) else grade.error_kind


def two(first: Any, second: Any, key: str = C) -> str:
    """A clean reply with the two grades."""
    answers = {
        f"answer_{n}": {f"{key}_justification": f"reason {n}", key: grade}
        for n, grade in ((1, first), (2, second))
    }
    return json.dumps(answers)
