"""From the results of a meta-evaluation to its report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.counts import Counts
from grouse_adapters.meta.detection import (
    count_detection,
    detection,
    failure_mode_detection,
    type_detection,
)
from grouse_adapters.meta.floors import FloorJudge, constant_judge, refusal_only_judge
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.pass_rates import (
    count_passes,
    in_table_order,
    pass_rate_intervals,
    pass_rates,
)
from grouse_adapters.meta.published import PUBLISHED_TESTS, published_judges
from grouse_adapters.meta.report import Floor, MetaReport, TestResult, TypeFigures
from grouse_adapters.meta.test_types import TEST_TYPES, type_named
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.report.aggregates import Aggregator

Judged = tuple[UnitTest, Mapping[MetricName, Outcome]]
"""A test and how each metric that was asked fared."""


def meta_report(
    results: Iterable[TestResult],
    *,
    command: str,
    judge: str,
    source: str,
    published: bool = False,
    superseded: Iterable[Judgement] = (),
    refusals: Sequence[str] = (),
) -> MetaReport:
    """All figures of a meta-evaluation, the same whatever the order of ``results``.

    Args:
        results: one per test.
        command: the command that made the run.
        judge: name of the judge.
        source: where the tests come from, as the user named it.
        published: the tests are the published ones. Published judges are shown only then, and
            only when all 144 are there.
        superseded: earlier judgements of the same tests, counted in what the run cost.
        refusals: refusal sentences of the judged system, for the floor that reads refusals.
    """
    aggregator = Aggregator()
    judged: list[Judged] = []
    for result in results:
        aggregator.add(result.judgement)
        judged.append((result.test, result.outcomes))
    for judgement in superseded:
        aggregator.add_spending(judgement)
    counts = _counted(judged)
    bootstrap = Bootstrap(counts)
    metrics = in_table_order(metric for _, outcomes in judged for metric in outcomes)
    unreadable = Counter(
        metric
        for _, outcomes in judged
        for metric, outcome in outcomes.items()
        if outcome == "unreadable"
    )
    whole = published and len(judged) == PUBLISHED_TESTS
    return MetaReport(
        **dict(aggregator.report(command=command, judge=judge)),
        tests=len(judged),
        sets=len({test.set_id for test, _ in judged}),
        source=source,
        pass_rate=pass_rates(counts, metrics),
        pass_rate_interval=pass_rate_intervals(bootstrap, metrics),
        unreadable={metric: unreadable[metric] for metric in metrics},
        detection=detection(counts, metrics, bootstrap=bootstrap),
        by_type=_by_type(judged, counts, metrics, bootstrap),
        by_failure_mode=failure_mode_detection(counts, bootstrap=bootstrap),
        floors=_floors(judged, metrics, refusals),
        published=published_judges() if whole else None,
    )


def _counted(judged: Iterable[Judged]) -> Counts:
    counts = Counts()
    for test, outcomes in judged:
        count_passes(counts, test, outcomes)
        count_detection(counts, test, outcomes)
    return counts


def _by_type(
    judged: Sequence[Judged],
    counts: Counts,
    metrics: Sequence[MetricName],
    bootstrap: Bootstrap,
) -> dict[str, TypeFigures]:
    tests = Counter(test.test_type for test, _ in judged)
    return {
        name: TypeFigures(
            tests=tests[name],
            pass_rate=pass_rates(counts, metrics, test_type=name),
            pass_rate_interval=pass_rate_intervals(bootstrap, metrics, test_type=name),
            detection=type_detection(counts, metrics, name, bootstrap=bootstrap),
        )
        for name in sorted(tests, key=type_order)
    }


def type_order(name: str) -> tuple[int, list[str | int]]:
    """Sorts type names: the 16 types first, then the user's own, numbers in them by value."""
    known = type_named(name)
    parts = re.split(r"(\d+)", name)
    return (
        known.number if known else len(TEST_TYPES) + 1,
        [int(part) if place % 2 else part for place, part in enumerate(parts)],
    )


def _floors(
    judged: Sequence[Judged], metrics: Sequence[MetricName], refusals: Sequence[str]
) -> dict[Literal["constant", "refusal_only"], Floor]:
    constant = constant_judge([test for test, _ in judged])
    return {
        "constant": _floor(constant, judged, metrics),
        "refusal_only": _floor(refusal_only_judge(refusals), judged, metrics),
    }


def _floor(judge: FloorJudge, judged: Sequence[Judged], metrics: Sequence[MetricName]) -> Floor:
    """The floor's figures over the same tests and metrics that the judge was asked about."""
    counts = _counted(
        (test, {metric: said for metric, said in judge.outcomes(test).items() if metric in asked})
        for test, asked in judged
    )
    return Floor(
        title=judge.title,
        pass_rate=pass_rates(counts, metrics),
        detection=detection(counts, metrics),
    )
