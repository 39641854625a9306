"""A meta-evaluation on a terminal: pass rates, detection, failure modes, the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, METRICS
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.matrix import Matrix, Square
from grouse_adapters.meta.report import Interval, MetaReport, TestResult
from grouse_adapters.report.console import Writer, add_column, harmless
from grouse_adapters.report.terminal import spending

_STYLES: Final[Mapping[Outcome, str]] = {
    "passed": "blue",
    "failed": "bold red",
    "unreadable": "bold yellow",
}
_NAME_CELLS: Final = 24
_NAMED_SETS: Final = 12
_ROOM_FOR_FLOORS: Final = 88

FLOOR_NAMES: Final[Mapping[str, str]] = {"constant": "constant", "refusal_only": "refusals only"}
"""Judges that hardly read, in a word or two."""


def print_meta(
    console: Console,
    results: Sequence[TestResult],
    report: MetaReport,
    files: Sequence[str | Path] = (),
) -> None:
    """Everything that fits on a terminal; the page and report.json hold the rest.

    Args:
        console: where to print; its width, colours and encoding are respected.
        results: the tests and what the judge said.
        report: the figures.
        files: the files to point at.
    """
    writer = Writer(console)
    _print_matrix(writer, results)
    print_pass_rates(writer, {report.judge: report.pass_rate}, report)
    _print_detection(writer, report)
    _print_failure_modes(writer, report)
    tests = f"{report.tests:,} tests in {report.sets:,} {'set' if report.sets == 1 else 'sets'}"
    writer.print_items([f"Judge {harmless(report.judge)}", harmless(report.source), tests])
    writer.print_items(spending(report))
    if report.sets == 1:
        writer.print_line("One set: too few for intervals.", style="dim")
    writer.print_files(files)


def print_pass_rates(
    writer: Writer,
    rates: Mapping[str, Mapping[str, float | None]],
    report: MetaReport,
) -> None:
    """A row of pass rates per judge or attempt, then what to compare them with.

    Args:
        rates: percent per metric and ``total``, by name.
        report: gives intervals (where there is one row), floors and published judges.
    """
    table = writer.table()
    add_column(table, Text("Tests passed, %"))
    for metric in METRICS.values():
        add_column(table, Text(f"{metric.short:>6}"), right=True)
    add_column(table, Text(" total"), right=True)
    keys: list[str] = [*METRIC_NAMES, "total"]
    for name, row in rates.items():
        cells = [Text(_percent(row.get(key), writer), "bold") for key in keys]
        table.add_row(_name(writer, name), *cells)
    if len(rates) == 1 and any(report.pass_rate_interval.values()):
        low, high = (
            [_bound(report.pass_rate_interval.get(key), side, writer) for key in keys]
            for side in (0, 1)
        )
        table.add_row(Text("  95 % from", "dim"), *(Text(cell, "dim") for cell in low))
        table.add_row(Text("       to", "dim"), *(Text(cell, "dim") for cell in high))
    for floor_name, floor in report.floors.items():
        cells = [Text(_percent(floor.pass_rate.get(key), writer), "dim") for key in keys]
        table.add_row(_name(writer, f"floor: {FLOOR_NAMES[floor_name]}", "dim"), *cells)
    for judge in report.published or ():
        cells = [Text(_percent(judge.pass_rate.get(key), writer), "dim") for key in keys]
        table.add_row(_name(writer, f"{judge.judge} ({judge.setting})", "dim"), *cells)
    writer.console.print(table)
    if report.published:
        writer.print_line(
            "Named models and humans: published figures, made with other prompts.", style="dim"
        )
    writer.console.print()


def _print_detection(writer: Writer, report: MetaReport) -> None:
    if not any(found.defect or found.clean for found in report.detection.values()):
        return
    table = writer.table()
    add_column(table, Text("Detection"))
    for heading in ("defect", "seen %", "clean", "spared %", "balanced %"):
        add_column(table, Text(heading), right=True)
    wide = writer.width >= _ROOM_FOR_FLOORS
    if wide:
        add_column(table, Text("95 %"), right=True)
        for name in report.floors:
            add_column(table, Text(FLOOR_NAMES[name], "dim"), right=True)
    for metric in JUDGED_METRICS:
        found = report.detection.get(metric.name)
        if found is None:
            continue
        cells = [
            Text(metric.title),
            Text(f"{found.defect:,}", "dim"),
            Text(_percent(found.sensitivity, writer)),
            Text(f"{found.clean:,}", "dim"),
            Text(_percent(found.specificity, writer)),
            Text(_percent(found.balanced_accuracy, writer), "bold"),
        ]
        if wide:
            cells.append(Text(_range(found.balanced_accuracy_interval, writer), "dim"))
            for floor in report.floors.values():
                at = floor.detection.get(metric.name)
                shown = _percent(at.balanced_accuracy if at else None, writer)
                cells.append(Text(shown, "dim"))
        table.add_row(*cells)
    writer.console.print(table)
    writer.console.print()


def _print_failure_modes(writer: Writer, report: MetaReport) -> None:
    if not report.by_failure_mode:
        return
    table = writer.table()
    add_column(table, Text("Failure mode"))
    add_column(table, Text("metric"))
    for heading in ("tests", "seen %"):
        add_column(table, Text(heading), right=True)
    for name, found in report.by_failure_mode.items():
        table.add_row(
            Text(f"{name} {found.title}"),
            Text(METRICS[found.metric].short, "dim"),
            Text(f"{found.defect:,}", "dim"),
            Text(_percent(found.sensitivity, writer), "bold"),
        )
    writer.console.print(table)
    writer.console.print()


def _print_matrix(writer: Writer, results: Sequence[TestResult]) -> None:
    """All metrics side by side: a line per type, a sign per set; counts where signs do not fit."""
    matrices = [matrix for name in METRIC_NAMES if (matrix := Matrix.of(results, name)) is not None]
    if not matrices:
        return
    sets = len(matrices[0].sets)
    widths = [max(sets, len(matrix.metric.short)) for matrix in matrices]
    signs = _NAME_CELLS + sum(widths) + 2 * len(widths) <= writer.width
    table = writer.table()
    add_column(table, Text("Test type"))
    for matrix in matrices:
        add_column(table, Text(matrix.metric.short), right=not signs)
    for row, test_type in enumerate(matrices[0].types):
        cells = [
            _strip(matrix.rows[row], writer) if signs else _counts(matrix.rows[row])
            for matrix in matrices
        ]
        table.add_row(_name(writer, test_type), *cells)
    writer.console.print(table)
    writer.console.print()
    if signs:
        legend = [
            f"{writer.signs.passed} passed",
            f"{writer.signs.dot} passed, no call needed",
            f"{writer.signs.missed} failed",
            "! no usable grade",
        ]
        names = ", ".join(harmless(name) for name in matrices[0].sets)
        if sets <= _NAMED_SETS:
            legend.append(f"one sign per set: {names}")
        writer.print_items(legend, style="dim")
        writer.console.print()


def _strip(row: Iterable[Square | None], writer: Writer) -> Text:
    line = Text()
    for square in row:
        if square is None:
            line.append(" ")
        elif square.outcome == "passed" and square.skipped:
            line.append(writer.signs.dot, "dim")
        else:
            sign = {"passed": writer.signs.passed, "failed": writer.signs.missed}
            line.append(sign.get(square.outcome, "!"), _STYLES[square.outcome])
    return line


def _counts(row: Sequence[Square | None]) -> Text:
    there = [square for square in row if square is not None]
    passed = sum(square.outcome == "passed" for square in there)
    style = _STYLES["passed"] if passed == len(there) else _STYLES["failed"]
    return Text(f"{passed}/{len(there)}", style)


def _name(writer: Writer, name: str, style: str = "") -> Text:
    text = writer.text(name, style)
    if cell_len(text.plain) > _NAME_CELLS + 8:
        text.truncate(_NAME_CELLS + 8 - len(writer.signs.ellipsis))
        text.append(writer.signs.ellipsis)
    return text


def _percent(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.2f}"


def _bound(interval: Interval | None, side: int, writer: Writer) -> str:
    return writer.signs.dash if interval is None else f"{interval[side]:.2f}"


def _range(interval: Interval | None, writer: Writer) -> str:
    if interval is None:
        return writer.signs.dash
    return f"{interval[0]:.0f}{writer.signs.dash}{interval[1]:.0f}"
