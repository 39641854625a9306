"""What a benchmark shows side by side: a panel per run, and one per metric of the judge beside it.

Each is a matrix of test types by sets, a square per test (arXiv 2409.06595, figure 3).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import METRICS
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.matrix import ordered_types
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.figures import benchmark_report, judged_results
from grouse_adapters.native.report import BenchmarkReport, NativeRun
from grouse_adapters.native.rows import Framework, NativeMetric, NativeScore
from grouse_adapters.native.rules import THRESHOLD, NativeResult, RunKey, Verdict, results

FRAMEWORKS: Final[Mapping[Framework, str]] = MappingProxyType(
    {"ragas": "RAGAS", "deepeval": "DeepEval"}
)
"""The frameworks by the names they give themselves."""

# The worst of a square that several tests share is shown; what is left out says least.
_BADNESS: Final[Mapping[Verdict, int]] = MappingProxyType(
    {
        "no_annotation": 0,
        "not_run": 1,
        "nothing_to_rate": 2,
        "success": 3,
        "not_scored": 4,
        "error": 5,
        "failure": 6,
    }
)
_OF_JUDGE: Final[Mapping[Outcome, Verdict]] = MappingProxyType(
    {"passed": "success", "failed": "failure", "unreadable": "error"}
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One matrix.

    Attributes:
        title: whose metric it is, e.g. ``RAGAS faithfulness (collections)``.
        metric: the metric.
        verdicts: per test id; the judge's passed, failed and unreadable grades stand for success,
            failure and error.
        rate: percent of successes, or of passed tests.
        run: the run's figures; None for the judge's.
        results: the run's results; empty for the judge's.
    """

    title: str
    metric: NativeMetric
    verdicts: Mapping[str, Verdict]
    rate: float | None
    run: NativeRun | None = None
    results: Sequence[NativeResult] = ()


@dataclass(frozen=True, slots=True)
class Square:
    """One test, or the worst of several of one type in one set."""

    test_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Grid:
    """A panel's squares.

    Attributes:
        types: names of the rows: the 16 types in their order, then the user's own.
        sets: names of the columns, in order of appearance.
        rows: a square per type and set; None where there is no such test.
    """

    types: Sequence[str]
    sets: Sequence[str]
    rows: Sequence[Sequence[Square | None]]

    @classmethod
    def of(cls, panel: Panel, tests: Sequence[UnitTest]) -> Grid:
        """The panel's squares, with the same rows and columns for every panel of the tests."""
        squares: dict[tuple[str, str], Square] = {}
        for test in tests:
            verdict = panel.verdicts.get(test.id)
            if verdict is None:
                continue
            place = (test.test_type, test.set_id)
            known = squares.get(place)
            if known is None or _BADNESS[verdict] > _BADNESS[known.verdict]:
                squares[place] = Square(test.id, verdict)
        types = ordered_types(test.test_type for test in tests)
        sets = list(dict.fromkeys(test.set_id for test in tests))
        return cls(types, sets, [[squares.get((name, one)) for one in sets] for name in types])


@dataclass(frozen=True, slots=True)
class BenchmarkView:
    """All that a terminal, a picture or a page shows of a benchmark.

    Attributes:
        report: the figures.
        tests: the unit tests.
        panels: a panel per run of the report, then one per metric of the judge beside it.
        annotations: of the tests.
        judged: what the judge says, by test id; empty without one.
    """

    report: BenchmarkReport
    tests: Sequence[UnitTest]
    panels: Sequence[Panel]
    annotations: Sequence[Annotation]
    judged: Mapping[str, TestResult]


def benchmark_view(
    scores: Sequence[NativeScore],
    tests: Sequence[UnitTest],
    annotations: Sequence[Annotation],
    *,
    source: str,
    threshold: Decimal = THRESHOLD,
    judged: Sequence[Judgement] = (),
) -> BenchmarkView:
    """Takes what ``benchmark_report`` takes; its report is that function's.

    Raises:
        ConfigurationError: the threshold makes no sense.
    """
    report = benchmark_report(
        scores, tests, annotations, source=source, threshold=threshold, judged=judged
    )
    found = results(scores, tests, annotations, threshold=threshold)
    beside = judged_results(tests, judged)
    return BenchmarkView(report, tests, _panels(report, found, beside), annotations, beside)


def _panels(
    report: BenchmarkReport,
    results: Mapping[RunKey, Sequence[NativeResult]],
    judged: Mapping[str, TestResult],
) -> list[Panel]:
    names = run_names([_key(run) for run in report.runs])
    runs = []
    for run, name in zip(report.runs, names, strict=True):
        found = results.get(_key(run), ())
        verdicts = {result.test.id: result.verdict for result in found}
        runs.append(Panel(name, run.metric, verdicts, run.success_rate, run, found))
    beside = [_of_judge(metric, report, judged) for metric in _metrics(report)]
    return [*runs, *(panel for panel in beside if panel is not None)]


def run_names(keys: Collection[RunKey]) -> list[str]:
    """A name per run, with version and model only where they tell runs apart."""

    def name(key: RunKey, *more: str) -> str:
        version = f" {key.framework_version}" if "version" in more else ""
        models = "".join(
            f", {model}"
            for model, asked in (
                (key.model, "model" in more),
                (key.embedding_model or "no embeddings", "embeddings" in more),
            )
            if asked
        )
        metric = METRICS[key.metric].title.lower()
        return f"{FRAMEWORKS[key.framework]}{version} {metric} ({key.variant}){models}"

    told: tuple[str, ...] = ()
    for more in ("version", "model", "embeddings"):
        names = [name(key, *told) for key in keys]
        if len(set(names)) == len(names):
            return names
        told += (more,)
    return [name(key, *told) for key in keys]


def made_with(report: BenchmarkReport) -> list[str]:
    """Frameworks with their versions, then the models that they asked."""
    frameworks = [f"{FRAMEWORKS[run.framework]} {run.framework_version}" for run in report.runs]
    models = [run.model for run in report.runs]
    embeddings = [run.embedding_model for run in report.runs if run.embedding_model]
    return list(dict.fromkeys([*frameworks, *models, *embeddings]))


def _metrics(report: BenchmarkReport) -> list[NativeMetric]:
    return list(dict.fromkeys(run.metric for run in report.runs))


def _of_judge(
    metric: NativeMetric, report: BenchmarkReport, judged: Mapping[str, TestResult]
) -> Panel | None:
    verdicts = {
        test_id: _OF_JUDGE[result.outcomes[metric]]
        for test_id, result in judged.items()
        if metric in result.outcomes
    }
    if report.judge is None or not verdicts:
        return None
    beside = next((run.judge for run in report.runs if run.metric == metric and run.judge), None)
    return Panel(
        title=f"GroUSE {METRICS[metric].title.lower()} ({report.judge})",
        metric=metric,
        verdicts=verdicts,
        rate=beside.pass_rate if beside else None,
    )


def _key(run: NativeRun) -> RunKey:
    return RunKey(
        run.framework,
        run.framework_version,
        run.metric,
        run.variant,
        run.model,
        run.embedding_model,
    )
