"""Crossed scenarios: each wording of an answer as the expected one, against each other wording.

Every wording of a scenario was written in full and on its own, so two of them lie further apart
than either from the expected answer. ``python tests/unit/lexical/crossing.py`` prints the figures
of docs/lexical-judge.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Final

import grouse_adapters
from grouse_adapters.core.grades import Graded
from grouse_adapters.core.metrics import JUDGED_METRICS, MetricName
from grouse_adapters.lexical.grader import LexicalGrader
from grouse_adapters.meta.scenarios.build import build_tests
from grouse_adapters.meta.scenarios.files import load_scenario
from grouse_adapters.meta.scenarios.model import Scenario, Wording
from grouse_adapters.meta.unit_tests import UnitTest

JUDGED: Final[tuple[MetricName, ...]] = tuple(metric.name for metric in JUDGED_METRICS)
DEVELOPMENT: Final = Path(__file__).parents[2] / "data" / "dev_scenarios"
HELD_OUT: Final = DEVELOPMENT / "signal-box.yaml"
"""Nobody who works on the judge reads it: only its figures are looked at."""
DEVELOPED_ON: Final = (
    *sorted(path for path in DEVELOPMENT.glob("*.yaml") if path != HELD_OUT),
    Path(grouse_adapters.__file__).parent / "data" / "scenarios" / "train" / "glass-orchard.yaml",
    DEVELOPMENT.parent / "sourdough_starter.yaml",
)
_TYPES: Final = frozenset({1, 3, 4, 6, 8, 9, 10, 12, 14, 15, 16})  # with another wording
Counts = Counter[tuple[MetricName, str, bool]]
"""Conditions by metric, role (defect, clean) and whether they hold."""


def crossed(scenario: Scenario, *, every: int = 1) -> Iterator[UnitTest]:
    """The tests of each ordered pair of wordings, or of every n-th pair."""
    answer = Wording(**scenario.answer.model_dump())
    pairs = permutations((answer, *scenario.paraphrases), 2)
    related = scenario.related.paraphrases
    for turn, (expected, actual) in enumerate(pairs):
        if turn % every:
            continue
        said = scenario.related.model_copy(update={"paraphrases": (related[turn % len(related)],)})
        parts = {"answer": expected, "paraphrases": (actual,), "related": said}
        for number, test in enumerate(build_tests(scenario.model_copy(update=parts)), start=1):
            if number in _TYPES:
                yield test


def counted(tests: Iterable[UnitTest]) -> Counts:
    """How many conditions of the judged metrics hold."""
    grader = LexicalGrader()
    found: Counts = Counter()
    for test in tests:
        grades, _ = grader.grade(test.sample, JUDGED)
        for metric in JUDGED:
            grade, role = grades[metric], test.conditions.role(metric)
            if role:
                value = grade.value if isinstance(grade, Graded) else None
                found[metric, role, test.conditions.of(metric).holds(value)] += 1
    return found


def share(counts: Counts, metric: MetricName, role: str) -> float:
    """Percent of the conditions that hold."""
    right, wrong = counts[metric, role, True], counts[metric, role, False]
    return 100 * right / (right + wrong)


def main() -> None:
    whole: Counts = Counter()
    for path in (*DEVELOPED_ON, HELD_OUT):
        counts = counted(crossed(load_scenario(path)))
        if path != HELD_OUT:
            whole += counts
        _show(path.stem if path != HELD_OUT else f"{path.stem} (held out)", counts)
    _show("all developed on", whole)


def _show(name: str, counts: Counts) -> None:
    figures = [
        f"{metric} {share(counts, metric, 'clean'):.1f} {share(counts, metric, 'defect'):.1f}"
        for metric in ("completeness", "faithfulness")
    ]
    sys.stdout.write(f"{name:24} clean, defect: {'; '.join(figures)}\n")


if __name__ == "__main__":
    main()
