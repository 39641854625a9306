"""Figures as a reader sees them: aligned text next to bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from grouse_adapters.core.metrics import METRIC_NAMES, METRICS
from grouse_adapters.meta.compare import Comparison, MetricComparison
from grouse_adapters.meta.report import Detection, Interval, MetaReport
from grouse_adapters.report.aggregates import Report

NOTHING: Final = "–"


@dataclass(frozen=True, slots=True)
class Rate:
    """A figure in percent.

    Attributes:
        text: with two decimals, or a dash.
        share: 0-100, for the bar; None without a figure.
        interval: ``88.19–94.44``, or empty.
        low: start of the interval, 0-100; None without one.
        width: its width.
    """

    text: str
    share: float | None
    interval: str
    low: float | None
    width: float


def rate(value: float | None, interval: Interval | None = None) -> Rate:
    """A figure in percent, and its interval where there is one."""
    text = NOTHING if value is None else f"{value:.2f}"
    if interval is None:
        return Rate(text, value, "", None, 0)
    low, high = interval
    return Rate(text, value, f"{low:.2f}–{high:.2f}", low, max(high - low, 0))


def spending(report: Report) -> list[tuple[str, str]]:
    """What a run cost, as names and figures."""
    facts = [("Calls", f"{report.llm_calls:,}")]
    if report.cached_calls:
        facts.append(("From the cache", f"{report.cached_calls:,}"))
    if report.llm_calls:
        usage = report.usage
        facts.append(("Tokens", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"))
    facts.append(("Cost", cost(report)))
    return facts


def cost(report: Report) -> str:
    """In US dollars."""
    if report.cost is None:
        return "price unknown"
    if report.cost == 0:
        return "$0"
    digits = 2 if report.cost >= 1 else 4
    return f"{'at least ' if report.cost_is_partial else ''}${report.cost:,.{digits}f}"


def means(report: Report) -> list[dict[str, Any]]:
    """One row per metric of an evaluation."""
    rows = []
    for name, summary in report.metrics.items():
        metric = METRICS[name]
        unit = None if summary.mean is None else metric.scale.to_unit(summary.mean)
        rows.append(
            {
                "title": metric.title,
                "short": metric.short,
                "better": metric.better_if,
                "mean": NOTHING if summary.mean is None else f"{summary.mean:.2f}",
                "top": metric.scale.values[-1],
                "scale": str(metric.scale),
                "share": None if unit is None else round(100 * unit, 2),
                "graded": f"{summary.graded:,}",
                "not_applicable": f"{summary.not_applicable:,}",
                "failed": f"{summary.failed:,}",
                "any_failed": summary.failed > 0,
            }
        )
    return rows


def pass_rates(
    reports: list[MetaReport], comparison: Comparison | None = None
) -> list[dict[str, Any]]:
    """One row per metric and one for the total; per run a rate, for two runs what flipped."""
    asked = [name for name in METRIC_NAMES if any(name in report.metrics for report in reports)]
    rows = [
        {
            **_rates(reports, name, METRICS[name].title),
            "unreadable": [f"{report.unreadable.get(name, 0):,}" for report in reports],
            "flips": _flips(comparison.metrics.get(name) if comparison else None),
        }
        for name in asked
    ]
    total = {
        **_rates(reports, "total", "Total"),
        "unreadable": [NOTHING for _ in reports],
        "flips": _flips(None),
    }
    return [*rows, total]


def _rates(reports: list[MetaReport], key: str, title: str) -> dict[str, Any]:
    found = [report.pass_rate.get(key) for report in reports]
    intervals = [report.pass_rate_interval.get(key) for report in reports]
    return {
        "title": title,
        "rates": [rate(*figure) for figure in zip(found, intervals, strict=True)],
        "difference": _difference(found),
    }


def detection_row(figures: Detection) -> dict[str, Any]:
    """Sensitivity, specificity and balanced accuracy of one metric or failure mode."""
    return {
        "sensitivity": rate(figures.sensitivity, figures.sensitivity_interval),
        "specificity": rate(figures.specificity, figures.specificity_interval),
        "balanced": rate(figures.balanced_accuracy, figures.balanced_accuracy_interval),
        "defect": f"{figures.defect:,}",
        "clean": f"{figures.clean:,}",
    }


def detections(reports: list[MetaReport]) -> list[dict[str, Any]]:
    """One row per judged metric: each run, and next to them the floors of the same tests."""
    rows = []
    for name in METRIC_NAMES:
        if not any(name in report.detection for report in reports):
            continue
        floors = [
            rate(floor.detection[name].balanced_accuracy if name in floor.detection else None)
            for floor in reports[0].floors.values()
        ]
        runs = [
            detection_row(report.detection[name]) if name in report.detection else None
            for report in reports
        ]
        rows.append({"title": METRICS[name].title, "runs": runs, "floors": floors})
    return rows


def failure_modes(reports: list[MetaReport]) -> list[dict[str, Any]]:
    """One row per failure mode that has tests."""
    names = dict.fromkeys(name for report in reports for name in report.by_failure_mode)
    rows = []
    for name in sorted(names):
        known = next(r.by_failure_mode[name] for r in reports if name in r.by_failure_mode)
        runs = [
            detection_row(report.by_failure_mode[name]) if name in report.by_failure_mode else None
            for report in reports
        ]
        rows.append(
            {
                "name": name,
                "title": known.title,
                "metric": METRICS[known.metric].title,
                "runs": runs,
            }
        )
    return rows


def published(reports: list[MetaReport], names: list[str]) -> list[dict[str, Any]]:
    """This run's pass rates, then those of published judges; empty without published ones."""
    judges = reports[0].published
    if not judges:
        return []
    columns = (*METRIC_NAMES, "total")

    def row(judge: str, setting: str, source: str, rates: dict[str, float | None]) -> Any:
        figures = [rate(rates.get(column)).text for column in columns]
        return {"judge": judge, "setting": setting, "source": source, "rates": figures}

    own = [
        {**row(name, "this page", "", report.pass_rate), "own": True}
        for name, report in zip(names, reports, strict=True)
    ]
    theirs = [{**row(j.judge, j.setting, j.source, j.pass_rate), "own": False} for j in judges]
    return own + theirs


def _flips(found: MetricComparison | None) -> list[str]:
    """Tests lost, tests gained, and how likely that is by chance."""
    if found is None:
        return [NOTHING, NOTHING, NOTHING]
    p_value = found.p_value
    chance = NOTHING if p_value is None else "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return [f"{len(found.lost):,}", f"{len(found.gained):,}", chance]


def _difference(rates: list[float | None]) -> str:
    if len(rates) != 2 or rates[0] is None or rates[1] is None:
        return NOTHING
    difference = round(rates[1] - rates[0], 2)
    return "0.00" if not difference else f"{'+' if difference > 0 else '−'}{abs(difference):.2f}"
