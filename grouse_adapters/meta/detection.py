"""Detection: are defects told from clean answers?

A pass rate also counts the many tests in which a metric must not apply, or in which the top grade
is right; a judge that finds no defect at all can pass most of them. Detection leaves the former
out and holds the two kinds of the rest apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grouse_adapters.core.metrics import METRICS, MetricName
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.counts import Counts, Key
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.report import Detection, FailureModeFigures
from grouse_adapters.meta.test_types import FAILURE_MODES, FailureMode
from grouse_adapters.meta.unit_tests import UnitTest


def count_detection(counts: Counts, test: UnitTest, outcomes: Mapping[MetricName, Outcome]) -> None:
    """Counts a test as defect or clean test of each metric that has an outcome and must apply."""
    for metric, outcome in outcomes.items():
        role = test.conditions.role(metric)
        if role is None:
            continue
        passed = outcome == "passed"
        counts.add(test.set_id, Key("all", "", role, metric), passed=passed)
        counts.add(test.set_id, Key("type", test.test_type, role, metric), passed=passed)
        if role == "defect":
            for name in test.failure_modes:
                if FAILURE_MODES[name].metric == metric:
                    counts.add(test.set_id, Key("mode", name, role, metric), passed=passed)


def detection(
    counts: Counts, metrics: Iterable[MetricName], *, bootstrap: Bootstrap | None = None
) -> dict[MetricName, Detection]:
    """Per judged metric of ``metrics``, over all tests; intervals with a ``bootstrap``."""
    return {
        metric: _detection(
            counts,
            Key("all", "", "defect", metric),
            Key("all", "", "clean", metric),
            bootstrap,
        )
        for metric in metrics
        if METRICS[metric].judged
    }


def type_detection(
    counts: Counts,
    metrics: Iterable[MetricName],
    test_type: str,
    *,
    bootstrap: Bootstrap | None = None,
) -> dict[MetricName, Detection]:
    """Per judged metric of ``metrics`` that applies in a test of the type."""
    found = {
        metric: _detection(
            counts,
            Key("type", test_type, "defect", metric),
            Key("type", test_type, "clean", metric),
            bootstrap,
        )
        for metric in metrics
        if METRICS[metric].judged
    }
    return {metric: each for metric, each in found.items() if each.defect or each.clean}


def failure_mode_detection(
    counts: Counts, *, bootstrap: Bootstrap | None = None
) -> dict[str, FailureModeFigures]:
    """Per failure mode that has a defect test, in the order FM1 to FM7.

    Defect tests are those of the mode's metric that name the mode, clean tests all those of the
    metric. The modes of the derived metrics need no naming: a test that requires a 0 is about them.
    """
    figures: dict[str, FailureModeFigures] = {}
    for mode in FAILURE_MODES.values():
        found = _detection(
            counts, _defect_key(mode), Key("all", "", "clean", mode.metric), bootstrap
        )
        if found.defect:
            figures[mode.name] = FailureModeFigures(
                title=mode.title, metric=mode.metric, **dict(found)
            )
    return figures


def _defect_key(mode: FailureMode) -> Key:
    if METRICS[mode.metric].judged:
        return Key("mode", mode.name, "defect", mode.metric)
    return Key("all", "", "defect", mode.metric)


def _detection(counts: Counts, defect: Key, clean: Key, bootstrap: Bootstrap | None) -> Detection:
    found = Detection(
        sensitivity=counts.percent(defect),
        specificity=counts.percent(clean),
        balanced_accuracy=counts.percent(defect, clean),
        defect=counts.share(defect)[1],
        clean=counts.share(clean)[1],
    )
    if bootstrap is None:
        return found
    return found.model_copy(
        update={
            "sensitivity_interval": bootstrap.interval(defect),
            "specificity_interval": bootstrap.interval(clean),
            "balanced_accuracy_interval": bootstrap.interval(defect, clean),
        }
    )
