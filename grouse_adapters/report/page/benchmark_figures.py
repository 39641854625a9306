"""The figures of a benchmark as its page shows them: rows of aligned text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from grouse_adapters.core.metrics import METRICS
from grouse_adapters.native.compare import BenchmarkComparison
from grouse_adapters.native.panels import BenchmarkView, Panel, made_with
from grouse_adapters.native.report import BenchmarkReport, NativeRun, Reaction
from grouse_adapters.report.benchmark_compare_terminal import comparison_name
from grouse_adapters.report.page.figures import NOTHING, rate

_NAMED_FLIPS: Final = 40


def short(number: int, panel: Panel) -> str:
    """The number of a run in the tables; the judge's by its metric."""
    return str(number + 1) if panel.run else f"G·{METRICS[panel.metric].short}"


def facts(report: BenchmarkReport) -> list[tuple[str, str]]:
    """What was benchmarked, as names and values."""
    found = [
        ("Made with", " · ".join(made_with(report)) or NOTHING),
        ("Tests", f"{report.tests:,}"),
        ("Sets", f"{report.sets:,}"),
        ("Source", report.source),
        ("Annotations", report.annotations or "none"),
        ("Success", f"less than {report.threshold:g} from the annotators' mean"),
    ]
    if report.judge is not None:
        found.append(("Judge beside it", report.judge))
    return found


def run_rows(view: BenchmarkView) -> list[dict[str, Any]]:
    """One row per run: how near it is to the annotators."""
    return [
        {
            "number": number,
            "title": panel.title,
            "rate": rate(run.success_rate, run.interval),
            "rated": f"{run.rated:,}",
            "successes": f"{run.successes:,}",
            "mae": _number(run.mae),
            "spearman": _number(run.spearman, digits=2),
            "why_no_spearman": run.spearman_reason,
            "not_scored": f"{run.not_scored:,}",
            "errors": f"{run.errors:,}",
            "judge": None if run.judge is None else rate(run.judge.pass_rate, run.judge.interval),
        }
        for number, panel, run in _runs(view)
    ]


def left_out_rows(view: BenchmarkView) -> list[dict[str, Any]]:
    """One row per run that leaves tests out: how many, and what was made of them."""
    return [
        {
            "number": number,
            "title": panel.title,
            "figures": [
                f"{figure:,}"
                for figure in (
                    run.nothing_to_rate,
                    run.nothing_to_rate_as.scored,
                    run.nothing_to_rate_as.perfect,
                    run.nothing_to_rate_as.not_scored,
                    run.nothing_to_rate_as.errors,
                    run.no_annotation,
                    run.not_run,
                )
            ],
        }
        for number, panel, run in _runs(view)
        if run.tests > run.rated
    ]


def reaction_tables(view: BenchmarkView) -> list[dict[str, Any]]:
    """One table per metric: how each of its runs reacts to each failure mode."""
    tables = []
    for metric in dict.fromkeys(run.metric for _, _, run in _runs(view)):
        runs = [(number, panel, run) for number, panel, run in _runs(view) if run.metric == metric]
        modes = dict.fromkeys(name for _, _, run in runs for name in run.by_failure_mode)
        if not modes:
            continue
        rows = []
        for name in modes:
            found = [run.by_failure_mode.get(name) for _, _, run in runs]
            first = next(one for one in found if one is not None)
            rows.append(
                {
                    "name": name if first.metric else "",
                    "title": first.title,
                    "tests": f"{first.tests:,}",
                    "annotated": _drop(first.annotated_drop),
                    "runs": [_reaction(one) for one in found],
                    "judge": rate(first.judge_seen),
                    "clean": first.metric is None,
                }
            )
        titles = [(number, panel.title) for number, panel, _ in runs]
        tables.append({"title": METRICS[metric].title, "runs": titles, "rows": rows})
    return tables


def worst_rows(view: BenchmarkView, places: Mapping[str, int]) -> list[dict[str, Any]]:
    """The worst cases of each run that has any; ``places`` says where a test stands on the page."""
    return [
        {
            "number": number,
            "title": panel.title,
            "cases": [
                {
                    "id": case.test_id,
                    "place": places[case.test_id],
                    "type": case.test_type,
                    "verdict": case.verdict,
                    "score": f"{case.score:.3f}",
                    "annotated": f"{case.annotated:.3f}",
                    "difference": _signed(case.difference),
                    "reason": case.reason,
                }
                for case in run.worst
            ],
        }
        for number, panel, run in _runs(view)
        if run.worst
    ]


def annotator_rows(report: BenchmarkReport) -> list[dict[str, str]]:
    """One row per metric: how far annotators are apart."""
    return [
        {
            "title": METRICS[metric].title,
            "tests": f"{found.tests:,}",
            "several": f"{found.several:,}",
            "largest": _number(found.largest_difference),
            "mean": _number(found.mean_difference),
            "split": f"{found.split:,}",
        }
        for metric, found in report.annotators.items()
    ]


def spending_rows(view: BenchmarkView) -> list[dict[str, Any]]:
    """One row per run: what it took."""
    return [
        {
            "number": number,
            "title": panel.title,
            "figures": [
                f"{run.calls:,}",
                f"{run.embedding_calls:,}",
                f"{run.usage.input_tokens:,}",
                f"{run.usage.output_tokens:,}",
                NOTHING if run.cpu_seconds is None else f"{run.cpu_seconds:,.1f}",
                f"{run.wall_seconds:,.1f}",
            ],
        }
        for number, panel, run in _runs(view)
    ]


def compared_rows(
    comparison: BenchmarkComparison | None, places: Mapping[str, int]
) -> list[dict[str, Any]]:
    """One row per run that both benchmarks hold; ``places`` as for ``worst_rows``."""
    return [
        {
            "title": comparison_name(run),
            "tests": f"{run.tests:,}",
            "first": rate(run.first.success_rate),
            "second": rate(run.second.success_rate),
            "lost": f"{len(run.lost):,}",
            "gained": f"{len(run.gained):,}",
            "p": _chance(run.p_value),
            "difference": _signed(run.mean_difference),
            "apart": _number(run.mean_absolute_difference),
            "flips": [
                {
                    "said": said,
                    "tests": [(name, places.get(name, "")) for name in ids[:_NAMED_FLIPS]],
                    "more": max(0, len(ids) - _NAMED_FLIPS),
                }
                for said, ids in (("Only A succeeds", run.lost), ("Only B succeeds", run.gained))
                if ids
            ],
        }
        for run in (comparison.runs if comparison else ())
    ]


def _runs(view: BenchmarkView) -> list[tuple[int, Panel, NativeRun]]:
    return [
        (number, panel, panel.run)
        for number, panel in enumerate(view.panels, start=1)
        if panel.run is not None
    ]


def _reaction(found: Reaction | None) -> dict[str, Any]:
    if found is None or found.mean_drop is None:
        return {"drop": NOTHING, "dropped": rate(None), "compared": "0", "reacts": False}
    return {
        "drop": _drop(found.mean_drop),
        "dropped": rate(found.dropped_rate, found.dropped_interval),
        "compared": f"{found.compared:,}",
        "reacts": found.dropped > 0,
    }


def _number(value: float | None, *, digits: int = 3) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _drop(value: float | None) -> str:
    """Two decimals, a rise with a minus sign; never a negative zero."""
    if value is None:
        return NOTHING
    shown = f"{abs(value):.2f}"
    return f"−{shown}" if value < 0 and float(shown) else shown


def _signed(value: float | None) -> str:
    if value is None:
        return NOTHING
    shown = f"{abs(value):.3f}"
    if not float(shown):
        return shown
    return f"{'+' if value > 0 else '−'}{shown}"


def _chance(value: float | None) -> str:
    if value is None:
        return NOTHING
    return "<0.001" if value < 0.001 else f"{value:.3f}"
