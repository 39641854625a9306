"""A run as tables on a terminal: what each sample got and why, and what it amounts to.

Everything shown comes from samples and judges, so it is shown as plain text: no markup, no
control characters, nothing the terminal's encoding cannot write.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, Metric, MetricName
from grouse_adapters.report.aggregates import MetricSummary, Report
from grouse_adapters.report.console import Writer, add_column, harmless

_BEST: Final = "green"
_MIDDLE: Final = "yellow"
_WORST: Final = "red"
_FAILED: Final = "bold magenta"

_LEAST_WHY: Final = 18
_GAP: Final = 2
_QUESTION_LINES: Final = 2
_WHY_LINES: Final = 4
_BAR_CELLS: Final = 20
_ROOM_FOR_BARS: Final = 76
_ROOM_FOR_TITLES: Final = 56
_GOOD_MEAN: Final = 0.9
_FAIR_MEAN: Final = 0.5


def print_samples(
    console: Console,
    rows: Iterable[Judgement],
    total: int,
    limit: int = 20,
    *,
    rest_in: str | Path = "judgements.jsonl",
) -> None:
    """One row per sample: its grades, and the reason for its worst one.

    Args:
        console: where to print; its width, colours and encoding are respected.
        rows: judgements; at most ``limit`` of them are read.
        total: how many judgements there are.
        limit: how many are shown.
        rest_in: the file that holds the others.
    """
    shown = list(itertools.islice(rows, limit))
    if not shown:
        return
    writer = _Writer(console)
    asked = [METRICS[name] for name in METRIC_NAMES if any(name in row.grades for row in shown)]
    table, sample_width, why_width = _sample_table(writer, asked)
    for row in shown:
        cells: list[Text] = [writer.sample_cell(row, sample_width)]
        cells += [writer.grade_cell(metric, row.grades.get(metric.name)) for metric in asked]
        if why_width:
            cells.append(writer.why_cell(row, why_width))
        table.add_row(*cells)
    console.print(table)
    console.print()
    writer.print_legend(asked)
    if total > len(shown):
        writer.print_line(f"{total - len(shown):,} more in {rest_in}", style="dim")
    console.print()


def print_totals(console: Console, report: Report, files: Sequence[str | Path] = ()) -> None:
    """The mean and the three counts per metric, then the judge, its cost and the files written.

    Args:
        console: where to print; its width, colours and encoding are respected.
        report: the figures of the run; means are shown in the metric's own unit, bars on 0-1.
        files: the files to point at.
    """
    writer = _Writer(console)
    table = writer.table()
    add_column(table, Text("Metric"))
    add_column(table, Text("Mean"), right=True)
    if writer.bar_cells:
        add_column(table, Text(f"low{'high':>{writer.bar_cells - 3}}", style="dim"))
    for heading in ("Graded", "N.a.", "Failed"):
        add_column(table, Text(heading), right=True)
    for name, summary in report.metrics.items():
        table.add_row(*writer.summary_cells(METRICS[name], summary))
    console.print(table)
    console.print()
    writer.print_items(_closing(report))
    writer.print_files(files)


class _Writer(Writer):
    """Makes the cells of a run."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bar_cells = _BAR_CELLS if self.width >= _ROOM_FOR_BARS else 0

    def sample_cell(self, row: Judgement, width: int) -> Text:
        name = self.clipped(self.text(row.id or "", "bold"), width, lines=1)
        question = self.clipped(self.text(row.sample.input, "dim"), width, _QUESTION_LINES)
        return Text("\n").join([cell for cell in (name, question) if cell.plain])

    def grade_cell(self, metric: Metric, grade: Grade | None) -> Text:
        if grade is None:
            return Text("")
        if isinstance(grade, NotApplicable):
            return Text(self.signs.dash, style="dim")
        if isinstance(grade, Failed):
            return Text("!", style=_FAILED)
        return Text(str(grade.value), style=_style(metric.scale.to_unit(grade.value)))

    def why_cell(self, row: Judgement, width: int) -> Text:
        name = _worst(row)
        if name is None:
            return Text("")
        metric, grade = METRICS[name], row.grades[name]
        if isinstance(grade, Failed):
            style, start = _FAILED, f"{metric.short} failed"
            said = self.text(f"{start} ({grade.error_kind.replace('_', ' ')}): {grade.error}")
        else:
            value = row.value(name)
            reason = grade.justification.strip() if isinstance(grade, Graded) else ""
            style = "" if value is None else _style(metric.scale.to_unit(value))
            start = f"{metric.short}:"
            said = self.text(f"{start} {reason or f'falls short of {metric.better_if!r}'}")
        said.stylize(style, 0, len(start))
        return self.clipped(said, width, _WHY_LINES)

    def summary_cells(self, metric: Metric, summary: MetricSummary) -> list[Text]:
        top = metric.scale.values[-1]
        if summary.mean is None:
            mean, bar = Text(self.signs.dash, style="dim"), Text()
        else:
            unit = metric.scale.to_unit(summary.mean)
            style = _BEST if unit >= _GOOD_MEAN else _MIDDLE if unit >= _FAIR_MEAN else _WORST
            mean = Text.assemble((f"{summary.mean:.2f}", style), (f" / {top}", "dim"))
            filled = round(unit * self.bar_cells)
            rest = self.signs.empty * (self.bar_cells - filled)
            bar = Text.assemble((self.signs.full * filled, style), (rest, "dim"))
        return [
            Text(metric.title if self.width >= _ROOM_FOR_TITLES else metric.short),
            mean,
            *([bar] if self.bar_cells else []),
            self._count(summary.graded, ""),
            self._count(summary.not_applicable, ""),
            self._count(summary.failed, _FAILED),
        ]

    def print_legend(self, asked: Sequence[Metric]) -> None:
        names = [f"{metric.short} {metric.title.lower()} ({metric.scale})" for metric in asked]
        signs = [f"{self.signs.dash} not applicable", "! failed"]
        self.print_items([*names, *signs], style="dim")

    def _count(self, count: int, style: str) -> Text:
        return Text(f"{count:,}", style=style if count else "dim")


def _sample_table(writer: _Writer, asked: Sequence[Metric]) -> tuple[Table, int, int]:
    """The empty table, the width of its sample column and of its why column (0: no room)."""
    widths = [len(metric.short) for metric in asked]
    left = writer.width - sum(widths) - _GAP * (len(widths) + 1)
    sample_width = max(12, min(40, left * 2 // 5))
    why_width = left - sample_width
    if why_width < _LEAST_WHY:
        sample_width, why_width = max(12, left + _GAP), 0
    table = writer.table()
    table.leading = 1
    table.add_column(Text("Sample"), width=sample_width, overflow="fold")
    for metric, width in zip(asked, widths, strict=True):
        add_column(table, Text(f"{metric.short:>{width}}"), right=True)
    if why_width:
        table.add_column(Text("Why"), width=why_width, overflow="fold")
    return table, sample_width, why_width


def _worst(row: Judgement) -> MetricName | None:
    """The metric a reader should look at first; None when nothing is to be faulted.

    A failure comes before a low grade, and a failed call before the grades derived from it.
    """
    failed = [name for name in METRIC_NAMES if isinstance(row.grades.get(name), Failed)]
    for name in failed:
        grade = row.grades[name]
        if isinstance(grade, Failed) and grade.error_kind != "dependency":
            return name
    if failed:
        return failed[0]
    units = [
        (METRICS[name].scale.to_unit(value), place, name)
        for place, name in enumerate(METRIC_NAMES)
        if (value := row.value(name)) is not None
    ]
    lowest = min(units, default=None)
    return lowest[2] if lowest is not None and lowest[0] < 1 else None


def _style(unit: float) -> str:
    return _BEST if unit >= 1 else _WORST if unit <= 0.25 else _MIDDLE


def _closing(report: Report) -> list[str]:
    samples = _counted(report.samples, "sample")
    if report.failed_samples:
        samples += f" ({report.failed_samples:,} failed)"
    return [f"Judge {harmless(report.judge)}", samples, *spending(report)]


def spending(report: Report) -> list[str]:
    """What a run cost: calls, tokens and dollars."""
    parts: list[str] = []
    if report.llm_calls or not report.cached_calls:
        parts.append(_counted(report.llm_calls, "call") if report.llm_calls else "no model calls")
    if report.cached_calls:
        parts.append(f"{report.cached_calls:,} from the cache")
    if report.llm_calls:
        usage = report.usage
        parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
        parts.append(_cost(report))
    return parts


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _cost(report: Report) -> str:
    if report.cost is None:
        return "price unknown"
    digits = 2 if report.cost >= 1 or report.cost == 0 else 4
    return f"{'at least ' if report.cost_is_partial else ''}${report.cost:,.{digits}f}"
