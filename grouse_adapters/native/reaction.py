"""Which failure modes a native score reacts to at all: its drop from the set's perfect answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final

from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.counts import Counts, Key, percent
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.test_types import FAILURE_MODES
from grouse_adapters.native.report import CLEAN, Reaction
from grouse_adapters.native.rows import NativeMetric
from grouse_adapters.native.rules import NativeResult

PERFECT: Final = "Highest marks 1"
"""The type of a set's answer that the others are compared with."""

_CLEAN_TITLE: Final = "no failure (other good answers)"


def reactions(
    results: Sequence[NativeResult],
    metric: NativeMetric,
    *,
    threshold: Decimal,
    judged: Mapping[str, TestResult],
) -> dict[str, Reaction]:
    """Per failure mode that has tests, FM1 to FM7, then ``none`` as the control.

    Args:
        results: of one run.
        metric: the native metric.
        threshold: a drop of at least this counts.
        judged: results of the judge beside it, by test id.
    """
    perfect: dict[str, NativeResult] = {}
    for result in results:
        if result.test.test_type == PERFECT and result.score is not None:
            perfect.setdefault(result.test.set_id, result)
    modes: dict[str, list[NativeResult]] = {name: [] for name in (*FAILURE_MODES, CLEAN)}
    for result in results:
        reference = perfect.get(result.test.set_id)
        if result.score is None or reference is None or reference is result:
            continue
        for name in result.test.failure_modes or (CLEAN,):
            modes[name].append(result)
    counts = Counts()
    for name, tests in modes.items():
        for result in tests:
            drop = _drop(perfect[result.test.set_id].native, result.native)
            if drop is not None:
                dropped = drop >= Fraction(threshold)
                counts.add(result.test.set_id, _key(name, metric), passed=dropped)
    bootstrap = Bootstrap(counts)
    return {
        name: _reaction(name, tests, perfect, counts, bootstrap, _key(name, metric), judged)
        for name, tests in modes.items()
        if tests
    }


def _reaction(
    name: str,
    tests: Sequence[NativeResult],
    perfect: Mapping[str, NativeResult],
    counts: Counts,
    bootstrap: Bootstrap,
    key: Key,
    judged: Mapping[str, TestResult],
) -> Reaction:
    drops: list[Fraction] = []
    annotated: list[Fraction] = []
    for result in tests:
        reference = perfect[result.test.set_id]
        drop = _drop(reference.native, result.native)
        if drop is None:
            continue
        drops.append(drop)
        due = _drop(reference.share, result.share)
        if due is not None:
            annotated.append(due)
    mode = FAILURE_MODES.get(name)
    seen = _seen(name, mode.metric, tests, judged) if mode else []
    dropped, compared = counts.share(key)
    return Reaction(
        title=mode.title if mode else _CLEAN_TITLE,
        metric=mode.metric if mode else None,
        tests=len(tests),
        compared=compared,
        mean_drop=_mean(drops),
        dropped=dropped,
        dropped_rate=counts.percent(key),
        dropped_interval=bootstrap.interval(key),
        annotated_drop=_mean(annotated),
        judge_tests=len(seen),
        judge_seen=percent((sum(seen), len(seen))),
    )


def _seen(
    name: str,
    metric: MetricName,
    tests: Sequence[NativeResult],
    judged: Mapping[str, TestResult],
) -> list[bool]:
    """Whether the judge saw the failure, per test whose condition demands that it does."""
    found = []
    for result in tests:
        beside = judged.get(result.test.id)
        outcome = beside.outcomes.get(metric) if beside else None
        if outcome is not None and result.test.conditions.role(metric) == "defect":
            found.append(outcome == "passed")
    return found


def _drop(perfect: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if perfect is None or other is None else perfect - other


def _mean(values: Sequence[Fraction]) -> float | None:
    return float(round(sum(values, Fraction()) / len(values), 4)) if values else None


def _key(name: str, metric: NativeMetric) -> Key:
    return Key("mode", name, "asked", metric)
