"""Two runs on the same tests: which tests flipped, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.counts import percent
from grouse_adapters.meta.report import TestResult

HINT: Final = "McNemar's test needs scipy: pip install 'grouse-adapters[stats]'."
"""What to install when p-values are missing."""


class MetricComparison(BaseModel):
    """One metric on the tests that both runs were asked about.

    Attributes:
        tests: how many these are.
        first: percent passed in the first run.
        second: percent passed in the second run.
        gained: ids of the tests that only the second run passes, in the order of the first run.
        lost: ids of the tests that only the first run passes.
        p_value: of McNemar's exact test, two-sided: how likely flips at least this lopsided are if
            both runs are equally good; 1 without flips; None when scipy is missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tests: int
    first: float | None
    second: float | None
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    p_value: float | None = None


class Comparison(BaseModel):
    """Two runs side by side.

    Attributes:
        tests: how many tests were compared.
        metrics: per metric that both runs were asked, in table order.
        only_first: ids of the tests that only the first run holds.
        only_second: ids of the tests that only the second run holds.
        changed: ids that stand for different tests in the two runs (other texts or conditions);
            they are not compared.
        hint: what to install when the p-values are missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tests: int
    metrics: dict[MetricName, MetricComparison] = Field(default_factory=dict)
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    hint: str | None = None


def compare(first: Iterable[TestResult], second: Iterable[TestResult]) -> Comparison:
    """Compares two runs test by test; a test is known by its id.

    Unreadable counts as not passed: from failed to unreadable is no flip.

    Raises:
        InputError: one run holds the same id twice.
    """
    one, other = _by_id(first, "first"), _by_id(second, "second")
    shared = [name for name in one if name in other]
    changed = tuple(name for name in shared if not _same_test(one[name], other[name]))
    pairs = [(name, one[name].outcomes, other[name].outcomes) for name in shared]
    metrics: dict[MetricName, MetricComparison] = {}
    for metric in METRIC_NAMES:
        passes = [
            (name, before[metric] == "passed", after[metric] == "passed")
            for name, before, after in pairs
            if name not in changed and metric in before and metric in after
        ]
        if passes:
            metrics[metric] = _metric_comparison(passes)
    missing = any(found.p_value is None for found in metrics.values())
    return Comparison(
        tests=len(shared) - len(changed),
        metrics=metrics,
        only_first=tuple(name for name in one if name not in other),
        only_second=tuple(name for name in other if name not in one),
        changed=changed,
        hint=HINT if missing else None,
    )


def mcnemar(gained: int, lost: int) -> float | None:
    """Two-sided p-value of McNemar's exact test; None when scipy is missing.

    Of the tests that flipped, are the two directions equally frequent? A binomial test with 1/2.
    """
    try:
        from scipy.stats import binomtest
    except ImportError:
        return None
    if not gained + lost:
        return 1.0
    return float(binomtest(min(gained, lost), gained + lost, 0.5).pvalue)


def _metric_comparison(passes: list[tuple[str, bool, bool]]) -> MetricComparison:
    gained = tuple(name for name, before, after in passes if after and not before)
    lost = tuple(name for name, before, after in passes if before and not after)
    return MetricComparison(
        tests=len(passes),
        first=percent((sum(before for _, before, _ in passes), len(passes))),
        second=percent((sum(after for _, _, after in passes), len(passes))),
        gained=gained,
        lost=lost,
        p_value=mcnemar(len(gained), len(lost)),
    )


def _by_id(results: Iterable[TestResult], which: str) -> dict[str, TestResult]:
    found: dict[str, TestResult] = {}
    for result in results:
        if result.test.id in found:
            raise InputError(
                f"The {which} run holds the test {result.test.id!r} twice: keep one of them."
            )
        found[result.test.id] = result
    return found


def _same_test(one: TestResult, other: TestResult) -> bool:
    return (
        one.test.conditions == other.test.conditions
        and one.test.sample.content_hash() == other.test.sample.content_hash()
    )
