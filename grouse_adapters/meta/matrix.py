"""The matrix of a metric: test types by sets, a square per test (arXiv 2409.06595, figure 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grouse_adapters.core.metrics import METRICS, Metric, MetricName
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.test_types import TEST_TYPES


@dataclass(frozen=True, slots=True)
class Square:
    """One test.

    Attributes:
        test_id: which.
        outcome: how it went.
        skipped: whether the pipeline makes no call here when the other grades are right.
    """

    test_id: str
    outcome: Outcome
    skipped: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """All tests in which a metric was asked.

    Attributes:
        metric: the metric.
        types: names of the rows: the 16 types in their order, then the user's own.
        sets: names of the columns, in order of appearance.
        rows: a square per type and set; None where there is no such test. Several tests of one
            type in a set share a square, the worst outcome shown.
    """

    metric: Metric
    types: Sequence[str]
    sets: Sequence[str]
    rows: Sequence[Sequence[Square | None]]

    @classmethod
    def of(cls, results: Sequence[TestResult], metric: MetricName) -> Matrix | None:
        """The metric's matrix; None when it was asked in no test."""
        squares: dict[tuple[str, str], Square] = {}
        for result in results:
            outcome = result.outcomes.get(metric)
            if outcome is None:
                continue
            test = result.test
            place = (test.test_type, test.set_id)
            known = squares.get(place)
            if known is None or _BADNESS[outcome] > _BADNESS[known.outcome]:
                squares[place] = Square(test.id, outcome, test.conditions.skipped(metric))
        if not squares:
            return None
        types = ordered_types(result.test.test_type for result in results)
        sets = list(dict.fromkeys(result.test.set_id for result in results))
        rows = [[squares.get((name, set_id)) for set_id in sets] for name in types]
        return cls(METRICS[metric], types, sets, rows)


_BADNESS = {"passed": 0, "unreadable": 1, "failed": 2}


def ordered_types(names: Iterable[str]) -> list[str]:
    """Type names without repetition: the 16 in their order, then others as they appear."""
    found = dict.fromkeys(names)
    return [
        *(name for name in TEST_TYPES if name in found),
        *(name for name in found if name not in TEST_TYPES),
    ]
