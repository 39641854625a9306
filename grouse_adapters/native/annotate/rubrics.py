"""What the grades of the judged metrics mean, for people (arXiv 2409.06595, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName

_NOT_APPLICABLE: Final[Mapping[str, str]] = {
    "answer_relevancy": "The answer says that no document answers, whatever follows.",
    "completeness": "The references hold nothing that precisely answers the question.",
    "usefulness": "The answer does not refuse, or it refuses and gives no information.",
    "faithfulness": "The answer only says that no document answers.",
}
_GRADES: Final[Mapping[str, Mapping[int, str]]] = {
    "answer_relevancy": {
        5: "Everything said answers the question precisely.",
        4: "Most of it does; some is beside the point, yet in line with it.",
        3: "It answers, and carries superfluous information.",
        2: "Some of it relates to the question, most does not.",
        1: "It does not answer, or is off topic.",
    },
    "completeness": {
        5: "All information of the references that answers the question.",
        4: "Most key points; details are missing, or a fact is distorted.",
        3: "A good part; gaps remain.",
        2: "Only a little.",
        1: "None of it, also where the answer refuses wrongly.",
    },
    "usefulness": {
        1: "What is given beside the refusal is related and helps.",
        0: "It is completely off topic.",
    },
    "faithfulness": {
        1: "Every statement is cited, rightly, and keeps to its reference.",
        0: "At least one statement does not.",
    },
}


def rubrics() -> list[dict[str, Any]]:
    """The judged metrics with their grades, as the page shows them; the best grade first."""
    return [_rubric(metric.name) for metric in JUDGED_METRICS]


def _rubric(name: MetricName) -> dict[str, Any]:
    metric = METRICS[name]
    told = _GRADES[name]
    return {
        "name": name,
        "title": metric.title,
        "not_applicable": _NOT_APPLICABLE[name],
        "grades": [
            {"value": value, "means": told[value]} for value in reversed(metric.scale.values)
        ],
    }
