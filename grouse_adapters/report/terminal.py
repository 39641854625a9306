"""A run as tables on a terminal: what each sample got and why, and what it amounts to.

Everything shown comes from samples and judges, so it is shown as plain text: no markup, no
control characters, nothing the terminal's encoding cannot write.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, Metric, MetricName
from grouse_adapters.report.aggregates import MetricSummary, Report

_BEST: Final = "green"
_MIDDLE: Final = "yellow"
_WORST: Final = "red"
_FAILED: Final = "bold magenta"

_WIDEST: Final = 132
_LEAST_WHY: Final = 18
_GAP: Final = 2
_QUESTION_LINES: Final = 2
_WHY_LINES: Final = 4
_BAR_CELLS: Final = 20
_ROOM_FOR_BARS: Final = 76
_ROOM_FOR_TITLES: Final = 56
_GOOD_MEAN: Final = 0.9
_FAIR_MEAN: Final = 0.5
_JOINERS: Final = "\u200c\u200d"  # some scripts are misspelt without them
_LONGEST_TEXT: Final = 2000


@dataclass(frozen=True, slots=True)
class _Signs:
    """The characters that say something, with a plain form where they cannot be written."""

    dash: str = "–"
    dot: str = "·"
    full: str = "█"
    empty: str = "░"
    ellipsis: str = "…"


_PLAIN_SIGNS: Final = _Signs("-", "|", "#", ".", "...")
_PLAIN_BOX: Final = box.Box("\n".join(["    ", "    ", " -- ", *["    "] * 5, ""]), ascii=True)


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
    table = _table(writer)
    _add_column(table, Text("Metric"))
    _add_column(table, Text("Mean"), right=True)
    if writer.bar_cells:
        _add_column(table, Text(f"low{'high':>{writer.bar_cells - 3}}", style="dim"))
    for heading in ("Graded", "N.a.", "Failed"):
        _add_column(table, Text(heading), right=True)
    for name, summary in report.metrics.items():
        table.add_row(*writer.summary_cells(METRICS[name], summary))
    console.print(table)
    console.print()
    writer.print_items(_closing(report))
    for number, file in enumerate(files):
        writer.print_line(f"{'Files' if number == 0 else '     '}  {file}", wrap=False)


class _Writer:
    """Makes cells that this console can show."""

    def __init__(self, console: Console) -> None:
        self.console = console
        signs = _Signs()
        everything = f"{signs.dash}{signs.dot}{signs.full}{signs.empty}{signs.ellipsis}"
        self.signs = signs if self._encodable(everything) == everything else _PLAIN_SIGNS
        self.width = min(console.width, _WIDEST)
        self.bar_cells = _BAR_CELLS if self.width >= _ROOM_FOR_BARS else 0

    def text(self, text: str, style: str = "") -> Text:
        """Foreign text as harmless, printable text on one line."""
        return Text(self._encodable(_harmless(text[:_LONGEST_TEXT])), style=style)

    def sample_cell(self, row: Judgement, width: int) -> Text:
        name = self._clipped(self.text(row.id or "", "bold"), width, lines=1)
        question = self._clipped(self.text(row.sample.input, "dim"), width, _QUESTION_LINES)
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
        return self._clipped(said, width, _WHY_LINES)

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

    def print_items(self, items: Iterable[str], *, style: str = "") -> None:
        """Items in a row; lines break between items, not in them."""
        line = ""
        for item in items:
            longer = f"{line} {self.signs.dot} {item}" if line else item
            if line and cell_len(longer) > self.width:
                self.print_line(line, style=style)
                longer = item
            line = longer
        self.print_line(line, style=style)

    def print_line(self, text: str, *, style: str = "", wrap: bool = True) -> None:
        """A line of text; ``wrap=False`` keeps a path in one piece, to be copied."""
        self.console.print(
            Text(self._encodable(_printable(text)), style=style),
            soft_wrap=not wrap,
            highlight=False,
            width=None if not wrap else self.width,
        )

    def _count(self, count: int, style: str) -> Text:
        return Text(f"{count:,}", style=style if count else "dim")

    def _encodable(self, text: str) -> str:
        encoding = self.console.encoding
        try:
            return text.encode(encoding, errors="replace").decode(encoding)
        except LookupError:  # a stream may name an encoding that Python does not know
            return text.encode("ascii", errors="replace").decode("ascii")

    def _clipped(self, text: Text, width: int, lines: int) -> Text:
        """At most ``lines`` lines of ``width`` cells; says where something was left out."""
        wrapped = list(text.wrap(self.console, width, overflow="fold"))
        for line in wrapped:
            line.rstrip()
        if len(wrapped) > lines:
            last = wrapped[lines - 1]
            last.truncate(width - len(self.signs.ellipsis), overflow="crop")
            last.rstrip()
            last.append(self.signs.ellipsis)
        return Text("\n").join(wrapped[:lines])


def _table(writer: _Writer) -> Table:
    return Table(
        box=box.SIMPLE_HEAD if writer.signs is not _PLAIN_SIGNS else _PLAIN_BOX,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="bold",
        border_style="dim",
    )


def _add_column(table: Table, heading: Text, *, right: bool = False) -> None:
    # rich would mark what it cuts with a character that not every encoding has
    table.add_column(heading, justify="right" if right else "left", no_wrap=True, overflow="crop")


def _sample_table(writer: _Writer, asked: Sequence[Metric]) -> tuple[Table, int, int]:
    """The empty table, the width of its sample column and of its why column (0: no room)."""
    widths = [len(metric.short) for metric in asked]
    left = writer.width - sum(widths) - _GAP * (len(widths) + 1)
    sample_width = max(12, min(40, left * 2 // 5))
    why_width = left - sample_width
    if why_width < _LEAST_WHY:
        sample_width, why_width = max(12, left + _GAP), 0
    table = _table(writer)
    table.leading = 1
    table.add_column(Text("Sample"), width=sample_width, overflow="fold")
    for metric, width in zip(asked, widths, strict=True):
        _add_column(table, Text(f"{metric.short:>{width}}"), right=True)
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


def _harmless(text: str) -> str:
    """On one line, and without anything that moves a cursor, recolours or reorders text."""
    return " ".join(_printable(text).split())


def _printable(text: str) -> str:
    return "".join(
        character
        if character in _JOINERS or unicodedata.category(character)[0] != "C"
        else " "
        if character.isspace() or unicodedata.category(character) == "Cc"
        else ""
        for character in text
    )


def _closing(report: Report) -> list[str]:
    samples = _counted(report.samples, "sample")
    if report.failed_samples:
        samples += f" ({report.failed_samples:,} failed)"
    parts = [f"Judge {_harmless(report.judge)}", samples]
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
