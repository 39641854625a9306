"""Pass rates: how many tests a judge's grades fulfil (arXiv 2409.06595, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.counts import Counts, Key
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.report import Interval, TestResult
from grouse_adapters.meta.unit_tests import UnitTest

TOTAL: Final = "total"
"""Key of the mean of all six rates, next to the metrics' names."""


def count_passes(counts: Counts, test: UnitTest, outcomes: Mapping[MetricName, Outcome]) -> None:
    """Counts a test, over all tests and in its type, for each metric that has an outcome."""
    for metric, outcome in outcomes.items():
        for key in (
            Key("all", "", "asked", metric),
            Key("type", test.test_type, "asked", metric),
        ):
            counts.add(test.set_id, key, passed=outcome == "passed")


def pass_rates(
    counts: Counts, metrics: Iterable[MetricName], *, test_type: str | None = None
) -> dict[str, float | None]:
    """Percent of tests passed per metric of ``metrics``, and ``total``.

    A rate is over the tests in which the metric was asked; None when there are none. An unreadable
    grade never passes. ``total`` is the mean of all six rates, None when one is missing.
    """
    return {name: counts.percent(*keys) for name, keys in _keys(metrics, test_type).items()}


def pass_rate_intervals(
    bootstrap: Bootstrap, metrics: Iterable[MetricName], *, test_type: str | None = None
) -> dict[str, Interval | None]:
    """95 % intervals of ``pass_rates``, under the same names."""
    return {name: bootstrap.interval(*keys) for name, keys in _keys(metrics, test_type).items()}


def pass_rates_of(results: Iterable[TestResult]) -> dict[str, float | None]:
    """``pass_rates`` of results, for the metrics that were asked in any of them."""
    counts = Counts()
    asked: set[MetricName] = set()
    for result in results:
        outcomes = result.outcomes
        asked |= outcomes.keys()
        count_passes(counts, result.test, outcomes)
    return pass_rates(counts, in_table_order(asked))


def in_table_order(metrics: Iterable[MetricName]) -> tuple[MetricName, ...]:
    """The metrics once each, in the order of the table."""
    wanted = set(metrics)
    return tuple(name for name in METRIC_NAMES if name in wanted)


def _keys(metrics: Iterable[MetricName], test_type: str | None) -> dict[str, tuple[Key, ...]]:
    def key(metric: MetricName) -> Key:
        if test_type is None:
            return Key("all", "", "asked", metric)
        return Key("type", test_type, "asked", metric)

    keys: dict[str, tuple[Key, ...]] = {metric: (key(metric),) for metric in metrics}
    return {**keys, TOTAL: tuple(map(key, METRIC_NAMES))}
