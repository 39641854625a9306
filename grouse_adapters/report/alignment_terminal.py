"""Alignment of two judges and agreement of annotators on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grouse_adapters.core.metrics import METRIC_NAMES, METRICS
from grouse_adapters.meta.agreement import Agreement, Alpha, Rates
from grouse_adapters.meta.alignment import Alignment, MetricAlignment
from grouse_adapters.meta.pass_rates import TOTAL
from grouse_adapters.report.console import Writer, add_column, harmless

_KEYS: Final = (*METRIC_NAMES, TOTAL)
_NAMES: Final = (18, 40)
"""Cells of an annotator's name, at least and at most."""

_RATE_CELLS: Final = 7
_GAP: Final = 4
_ENDLESS: Final = 10_000


def print_alignment(console: Console, figures: Alignment, files: Sequence[str | Path] = ()) -> None:
    """The figures, then the confusion matrices.

    Args:
        console: where to print; its width, colours and encoding are respected.
        files: the files to point at.
    """
    writer = Writer(console)
    rows = []
    for name, found in figures.metrics.items():
        failed = found.failed_judge + found.failed_truth
        cells = (
            Text(f"{found.samples:,}", "dim"),
            Text(_rate(found.equal, writer)),
            Text(_figure(found.spearman, writer), "bold"),
            Text(_figure(found.macro_f1, writer), "bold"),
            Text(f"{failed:,}" if failed else writer.signs.dash, "dim"),
        )
        rows.append((Text(METRICS[name].title), cells))
    _print_table(writer, "Metric", ("samples", "equal %", "Spearman", "macro F1", "failed"), rows)
    for name, found in figures.metrics.items():
        if found.reason is not None:
            kind = "macro F1" if len(METRICS[name].scale.values) == 2 else "correlation"
            title = METRICS[name].title
            writer.print_line(f"{title}: no {kind}, because {found.reason}.", style="dim")
    shown = [
        _confusion(writer, METRICS[name].title, found)
        for name, found in figures.metrics.items()
        if any(map(sum, found.confusion.counts))
    ]
    if all(_natural_width(writer, table) <= writer.width for table in shown):
        _print_side_by_side(writer, shown)
        writer.print_line("Matrices: rows are the truth, columns the judge.", style="dim")
    else:
        writer.print_line("Too narrow for the matrices: --json shows them.", style="dim")
    judges = [f"Judge {harmless(figures.judge)}", f"truth {harmless(figures.truth)}"]
    writer.print_items([*judges, f"{figures.samples:,} samples in common"])
    for text in _left_out(figures):
        writer.print_line(text, style="dim")
    writer.print_files(files)


def print_agreement(console: Console, figures: Agreement, files: Sequence[str | Path] = ()) -> None:
    """Pass rates (with unit tests), equal outcomes and grades, Krippendorff's alpha.

    Args:
        console: where to print; its width, colours and encoding are respected.
        files: the files to point at.
    """
    writer = Writer(console)
    if figures.pass_rate is not None and figures.mean_pass_rate is not None:
        rates = [*figures.pass_rate.items(), ("mean", figures.mean_pass_rate)]
        _print_rates(writer, "Tests passed, %", rates)
    if figures.equal_outcomes is not None:
        pairs = [
            (_both(pair.annotators), pair.equal_outcomes)
            for pair in figures.pairs
            if pair.equal_outcomes is not None
        ]
        _print_rates(writer, "Equal outcomes, %", _with_mean(pairs, figures.equal_outcomes))
    grades = [(_both(pair.annotators), pair.equal_grades) for pair in figures.pairs]
    _print_rates(writer, "Equal grades, %", _with_mean(grades, figures.equal_grades))
    _print_alpha(writer, figures)
    tests = [] if figures.tests is None else [f"{figures.tests:,} tests"]
    annotators = f"{len(figures.annotators)} annotators"
    writer.print_items([annotators, f"{figures.samples:,} samples in common", *tests])
    writer.print_files(files)


def _print_rates(writer: Writer, title: str, rows: Iterable[tuple[str, Rates]]) -> None:
    headings = [f"{heading:>6}" for heading in (*(m.short for m in METRICS.values()), TOTAL)]
    shown = []
    for name, rates in rows:
        style = "bold" if name == "mean" else ""
        cells = [Text(_rate(rates.get(key), writer), style) for key in _KEYS]
        shown.append((_name(writer, name, style), cells))
    _print_table(writer, title, headings, shown)


def _print_alpha(writer: Writer, figures: Agreement) -> None:
    rows = []
    for name, found in figures.alpha.items():
        cells = (
            Text(_figure(found.alpha, writer), "bold"),
            Text(found.level, "dim"),
            Text(f"{found.samples:,}", "dim"),
            Text(_figure(found.null_alpha, writer)),
            Text(f"{found.failed:,}" if found.failed else writer.signs.dash, "dim"),
        )
        rows.append((Text(METRICS[name].title), cells))
    headings = ("alpha", "level", "samples", "null or not", "failed")
    _print_table(writer, "Krippendorff's alpha", headings, rows)
    for name, found in figures.alpha.items():
        for reason in _reasons(found):
            writer.print_line(f"{METRICS[name].title}: {reason}.", style="dim")


def _print_table(
    writer: Writer,
    title: str,
    headings: Sequence[str],
    rows: Iterable[tuple[Text, Sequence[Text]]],
) -> None:
    """A table; a list where it does not fit, because a number that is cut off is another number."""
    rows = list(rows)
    table = writer.table()
    add_column(table, Text(title))
    for heading in headings:
        add_column(table, Text(heading), right=True)
    for name, cells in rows:
        table.add_row(name, *cells)
    if _natural_width(writer, table) <= writer.width:
        writer.console.print(table)
    else:
        writer.print_line(title, style="bold")
        for name, cells in rows:
            pairs = zip(headings, cells, strict=True)
            first, *others = (f"{heading.strip()} {cell.plain}" for heading, cell in pairs)
            writer.print_items([f"{name.plain}: {first}", *others])
    writer.console.print()


def _reasons(found: Alpha) -> Iterable[str]:
    if found.reason is not None:
        yield f"no alpha, because {found.reason}"
    if found.null_reason is not None:
        yield f"no alpha of null or not, because {found.null_reason}"


def _with_mean(rows: Sequence[tuple[str, Rates]], mean: Rates) -> list[tuple[str, Rates]]:
    return [*rows, ("mean", mean)] if len(rows) > 1 else list(rows)


def _both(annotators: tuple[str, str]) -> str:
    return " and ".join(map(harmless, annotators))


def _confusion(writer: Writer, title: str, found: MetricAlignment) -> Table:
    labels = ["null" if label is None else str(label) for label in found.confusion.labels]
    table = writer.table()
    add_column(table, Text(title))
    width = max(4, *(len(str(count)) for row in found.confusion.counts for count in row))
    for heading in labels:
        add_column(table, Text(heading.rjust(width)), right=True)
    for number, (heading, row) in enumerate(zip(labels, found.confusion.counts, strict=True)):
        cells = [
            Text(str(count) if count else writer.signs.dot, "bold" if at == number else "")
            for at, count in enumerate(row)
        ]
        table.add_row(Text(heading.rjust(len(title))), *cells)
    return table


def _print_side_by_side(writer: Writer, tables: Sequence[Table]) -> None:
    line: list[Table] = []
    used = 0
    for table in tables:
        width = _natural_width(writer, table) + _GAP
        if line and used + width > writer.width:
            _print_line_of(writer, line)
            line, used = [], 0
        line.append(table)
        used += width
    _print_line_of(writer, line)


def _natural_width(writer: Writer, table: Table) -> int:
    """The cells that the table would take if the console had them."""
    endless = writer.console.options.update(width=_ENDLESS)
    return writer.console.measure(table, options=endless).maximum


def _print_line_of(writer: Writer, tables: Sequence[Table]) -> None:
    if not tables:
        return
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    for _ in tables:
        grid.add_column(no_wrap=True)
    grid.add_row(*tables)
    writer.console.print(grid)
    writer.console.print()


def _left_out(figures: Alignment) -> Iterable[str]:
    for ids, what in (
        (figures.only_judge, "judged by the judge alone"),
        (figures.only_truth, "judged by the truth alone"),
        (figures.changed, "with another question or answer on the other side"),
    ):
        if ids:
            samples = "1 sample" if len(ids) == 1 else f"{len(ids):,} samples"
            yield f"Left out: {samples} {what}."


def _name(writer: Writer, name: str, style: str) -> Text:
    room = writer.width - _RATE_CELLS * len(_KEYS) - 1
    most = min(max(room, _NAMES[0]), _NAMES[1])
    text = writer.text(name, style)
    if cell_len(text.plain) > most:
        text.truncate(most - len(writer.signs.ellipsis))
        text.append(writer.signs.ellipsis)
    return text


def _rate(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.2f}"


def _figure(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.3f}"
