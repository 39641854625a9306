"""The tests built from the scenarios the judge was developed on: what it must keep doing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import grouse_adapters
from grouse_adapters.core.grades import Failed, Graded
from grouse_adapters.core.metrics import JUDGED_METRICS, MetricName
from grouse_adapters.lexical.grader import LexicalGrader
from grouse_adapters.meta.scenarios.build import build_tests
from grouse_adapters.meta.scenarios.files import load_scenario

JUDGED: tuple[MetricName, ...] = tuple(metric.name for metric in JUDGED_METRICS)
PACKAGE = Path(grouse_adapters.__file__).parent
PLACES = (
    Path(__file__).parents[2] / "data" / "dev_scenarios",
    PACKAGE / "data" / "scenarios" / "train",
)
PATHS = sorted(path for place in PLACES for path in place.glob("*.yaml"))
# Lower than what the documentation reports, so that a reworded scenario does not break the build.
LEAST = {"answer_relevancy": 95, "completeness": 95, "usefulness": 95, "faithfulness": 85}


@pytest.fixture(scope="module")
def fulfilled() -> dict[MetricName, dict[str, Counter[bool]]]:
    """Per metric and role (defect, clean), how many conditions hold and how many do not."""
    grader = LexicalGrader()
    found: dict[MetricName, dict[str, Counter[bool]]] = {
        metric: {"defect": Counter(), "clean": Counter()} for metric in JUDGED
    }
    for path in PATHS:
        for test in build_tests(load_scenario(path)):
            grades, _ = grader.grade(test.sample, JUDGED)
            for metric in JUDGED:
                grade, role = grades[metric], test.conditions.role(metric)
                assert not isinstance(grade, Failed)
                value = grade.value if isinstance(grade, Graded) else None
                if role:
                    found[metric][role][test.conditions.of(metric).holds(value)] += 1
    return found


def test_there_are_scenarios() -> None:
    assert len(PATHS) >= 4


@pytest.mark.parametrize("metric", JUDGED)
def test_balanced_accuracy(
    metric: MetricName, fulfilled: dict[MetricName, dict[str, Counter[bool]]]
) -> None:
    shares = [counts[True] / counts.total() for counts in fulfilled[metric].values()]
    assert 100 * sum(shares) / len(shares) >= LEAST[metric]
