"""Native metrics against annotators, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grouse_adapters.core.metrics import METRICS
from grouse_adapters.meta.report import Interval
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.panels import BenchmarkView, Grid, Panel, Square, made_with
from grouse_adapters.native.report import BenchmarkReport, NativeRun, Reaction
from grouse_adapters.native.rules import Verdict
from grouse_adapters.report.console import Writer, add_column, harmless

_STYLES: Final[Mapping[Verdict, str]] = {
    "success": "blue",
    "failure": "bold red",
    "not_scored": "bold yellow",
    "error": "bold yellow",
    "nothing_to_rate": "dim",
}
_WIDE: Final = 116
_NAME_CELLS: Final = 26
_NAMED_SETS: Final = 12
_WORST: Final = 2
_FEW_RUNS: Final = 4
_MODE_CELLS: Final = 36


def print_benchmark(
    console: Console, view: BenchmarkView, files: Sequence[str | Path] = ()
) -> None:
    """Everything that fits on a terminal; the page and report.json hold the rest.

    Args:
        console: where to print; its width, colours and encoding are respected.
        view: the benchmark.
        files: the files to point at.
    """
    writer, report = Writer(console), view.report
    human = report.annotations == "human"
    writer.print_line(report.notice, style="" if human else "bold yellow")
    console.print()
    runs = [(panel, panel.run) for panel in view.panels if panel.run is not None]
    if writer.width < _WIDE:  # the tables then have the numbers alone
        for number, (panel, _) in enumerate(runs, start=1):
            writer.print_line(f"{number}  {harmless(panel.title)}")
        console.print()
    _print_matrix(writer, view.panels, view.tests)
    _print_runs(writer, runs)
    _print_left_out(writer, runs)
    for metric in dict.fromkeys(run.metric for _, run in runs):
        each = [(n, run) for n, (_, run) in enumerate(runs, start=1) if run.metric == metric]
        _print_reactions(writer, METRICS[metric].title, each, report.judge)
    _print_worst(writer, runs)
    _print_spending(writer, runs)
    for line in annotator_lines(report):
        writer.print_line(line, style="dim")
    sets = f"{report.sets:,} {'set' if report.sets == 1 else 'sets'}"
    items = [*map(harmless, made_with(report)), harmless(report.source)]
    items.append(f"{report.tests:,} tests in {sets}")
    items.append(f"success: less than {report.threshold:g} from the annotators' mean")
    writer.print_items(items)
    if report.sets == 1:
        writer.print_line("One set: too few for intervals.", style="dim")
    if report.hint:
        writer.print_line(report.hint, style="dim")
    writer.print_files(files)


def annotator_lines(report: BenchmarkReport) -> list[str]:
    """How the annotators agree, a line per metric, and the paper's figures beside it."""
    paper = report.published_annotators
    beside = (
        f"the paper's {paper.annotators}: {paper.largest_difference:g} and about "
        f"{paper.mean_difference:g}"
    )
    lines = []
    for metric, found in report.annotators.items():
        title = METRICS[metric].title
        if found.pairs:
            said = (
                f"{found.several:,} tests with several annotators, largest difference "
                f"{found.largest_difference:.3f}, mean {found.mean_difference:.3f} ({beside})"
            )
        else:
            said = f"{found.tests:,} tests, no test has two annotators ({beside})"
        if found.split:
            said += f"; {found.split:,} where some found nothing to rate"
        lines.append(f"{title}: {said}")
    return lines


def _run_name(writer: Writer, number: int, panel: Panel) -> Text:
    return writer.text(f"{number} {panel.title}" if writer.width >= _WIDE else str(number))


def _print_runs(writer: Writer, runs: Sequence[tuple[Panel, NativeRun]]) -> None:
    table = writer.table()
    wide = writer.width >= _WIDE
    add_column(table, Text("Near the annotators, %"))
    headings = ["rated", "success"]
    if wide:
        headings.append("95 %")
    headings += ["MAE", "Spearman", "no score", "errors"]
    beside = any(run.judge for _, run in runs)
    if beside and wide:
        headings.append("GroUSE")
    for heading in headings:
        add_column(table, Text(heading), right=True)
    for number, (panel, run) in enumerate(runs, start=1):
        cells = [
            _run_name(writer, number, panel),
            Text(f"{run.rated:,}", "dim"),
            Text(_percent(run.success_rate, writer), "bold"),
        ]
        if wide:
            cells.append(Text(_range(run.interval, writer), "dim"))
        cells += [
            Text(_number(run.mae, writer)),
            Text(_number(run.spearman, writer)),
            _count(run.not_scored),
            _count(run.errors),
        ]
        if beside and wide:
            cells.append(Text(_percent(run.judge.pass_rate if run.judge else None, writer), "dim"))
        table.add_row(*cells)
    writer.console.print(table)
    writer.console.print()


def _print_left_out(writer: Writer, runs: Sequence[tuple[Panel, NativeRun]]) -> None:
    if not any(run.tests > run.rated for _, run in runs):
        return
    table = writer.table()
    add_column(table, Text("Left out"))
    headings = ("nothing to rate", "scored", "as 1", "no score", "errors", "unannotated")
    missing = any(run.not_run for _, run in runs)
    for heading in (*headings, *(("not run",) if missing else ())):
        add_column(table, Text(heading), right=True)
    for number, (panel, run) in enumerate(runs, start=1):
        made = run.nothing_to_rate_as
        cells = [
            _run_name(writer, number, panel),
            Text(f"{run.nothing_to_rate:,}"),
            Text(f"{made.scored:,}"),
            Text(f"{made.perfect:,}"),
            Text(f"{made.not_scored:,}"),
            Text(f"{made.errors:,}"),
            Text(f"{run.no_annotation:,}"),
        ]
        if missing:
            cells.append(_count(run.not_run))
        table.add_row(*cells)
    writer.console.print(table)
    writer.console.print()


def _print_reactions(
    writer: Writer, title: str, runs: Sequence[tuple[int, NativeRun]], judge: str | None
) -> None:
    modes = dict.fromkeys(name for _, run in runs for name in run.by_failure_mode)
    if not modes:
        return
    shares = _MODE_CELLS + 28 + 12 * len(runs) <= writer.width
    # Names are cut before figures are.
    room = min(_MODE_CELLS, writer.width - 28 - (12 if shares else 7) * len(runs))
    table = writer.table()
    add_column(table, _name(writer, f"{title}: drop", room))
    add_column(table, Text("tests"), right=True)
    add_column(table, Text("annotated"), right=True)
    for number, _ in runs:
        add_column(table, Text(str(number)), right=True)
    if judge is not None:
        add_column(table, Text("GroUSE"), right=True)
    for name in modes:
        found = [run.by_failure_mode.get(name) for _, run in runs]
        first = next(one for one in found if one is not None)
        cells = [
            _name(writer, f"{name} {first.title}" if first.metric else first.title, room),
            Text(f"{first.tests:,}", "dim"),
            Text(_drop(first.annotated_drop, writer), "dim"),
            *(_reaction(one, writer, shares=shares) for one in found),
        ]
        if judge is not None:
            cells.append(Text(_whole(first.judge_seen, writer), "dim"))
        table.add_row(*cells)
    writer.console.print(table)
    legend = ["mean drop from the set's perfect answer"]
    if shares:
        legend.append("percent of tests that drop by the threshold or more")
    if judge is not None:
        legend.append("GroUSE: percent of tests in which the judge sees the failure")
    writer.print_items(legend, style="dim")
    writer.console.print()


def _reaction(found: Reaction | None, writer: Writer, *, shares: bool) -> Text:
    if found is None or found.mean_drop is None:
        return Text(writer.signs.dash, "dim")
    share = f" {_whole(found.dropped_rate, writer):>4}" if shares else ""
    return Text(f"{_drop(found.mean_drop, writer)}{share}", "" if found.dropped else "dim")


def _drop(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{round(value, 2) + 0.0:.2f}"


def _print_worst(writer: Writer, runs: Sequence[tuple[Panel, NativeRun]]) -> None:
    each = _WORST if len(runs) <= _FEW_RUNS else 1
    worst = [(panel, case) for panel, run in runs for case in run.worst[:each]]
    if not worst:
        return
    writer.print_line("Farthest from the annotators", style="bold")
    for panel, case in worst:
        writer.print_line(
            f"{harmless(panel.title)}: {case.score:.2f} {writer.signs.dot} annotated "
            f"{case.annotated:.2f} {writer.signs.dot} {harmless(case.test_type)} "
            f"{writer.signs.dot} {harmless(case.test_id)}"
        )
        if case.reason:
            said = writer.clipped(writer.text(case.reason, "dim"), writer.width - 4, 2)
            for line in said.split("\n"):
                writer.console.print(Text("    ").append_text(line), highlight=False)
    writer.console.print()


def _print_spending(writer: Writer, runs: Sequence[tuple[Panel, NativeRun]]) -> None:
    table = writer.table()
    add_column(table, Text("What it took"))
    for heading in ("calls", "embeddings", "tokens", "CPU s", "wall s"):
        add_column(table, Text(heading), right=True)
    for number, (panel, run) in enumerate(runs, start=1):
        cpu = writer.signs.dash if run.cpu_seconds is None else f"{run.cpu_seconds:,.1f}"
        table.add_row(
            _run_name(writer, number, panel),
            f"{run.calls:,}",
            f"{run.embedding_calls:,}",
            f"{run.tokens:,}",
            cpu,
            f"{run.wall_seconds:,.1f}",
        )
    writer.console.print(table)
    writer.console.print()


def _print_matrix(writer: Writer, panels: Sequence[Panel], tests: Sequence[UnitTest]) -> None:
    """All runs side by side: a line per type, a sign per set; counts where signs do not fit."""
    grids = [Grid.of(panel, tests) for panel in panels]
    if not grids:
        return
    sets = len(grids[0].sets)
    heads = _headings(panels)
    widths = [max(sets, len(head)) for head in heads]
    signs = _NAME_CELLS + sum(widths) + 2 * len(widths) <= writer.width
    table = writer.table()
    add_column(table, Text("Test type"))
    for head in heads:
        add_column(table, Text(head), right=not signs)
    for row, test_type in enumerate(grids[0].types):
        cells = [
            _strip(grid.rows[row], writer) if signs else _tally(grid.rows[row], writer)
            for grid in grids
        ]
        table.add_row(_name(writer, test_type), *cells)
    writer.console.print(table)
    if signs:
        legend = [
            f"{writer.signs.passed} success",
            f"{writer.signs.missed} failure",
            "! no score",
            f"{writer.signs.dot} nothing to rate",
        ]
        if sets <= _NAMED_SETS:
            names = ", ".join(harmless(name) for name in grids[0].sets)
            legend.append(f"one sign per set: {names}")
    else:
        legend = ["successes of the rated tests"]
    if any(panel.run is None for panel in panels):
        legend.append("G: the judge's GroUSE grades")
    writer.print_items(legend, style="dim")
    writer.console.print()


def _headings(panels: Sequence[Panel]) -> list[str]:
    """Runs by their number in the table of rates; the judge's by the metric."""
    return [
        str(number) if panel.run else f"G {METRICS[panel.metric].short}"
        for number, panel in enumerate(panels, start=1)
    ]


def _strip(row: Iterable[Square | None], writer: Writer) -> Text:
    signs: dict[Verdict, str] = {
        "success": writer.signs.passed,
        "failure": writer.signs.missed,
        "not_scored": "!",
        "error": "!",
        "nothing_to_rate": writer.signs.dot,
    }
    line = Text()
    for square in row:
        verdict = square.verdict if square else "no_annotation"
        line.append(signs.get(verdict, " "), _STYLES.get(verdict, ""))
    return line


def _tally(row: Sequence[Square | None], writer: Writer) -> Text:
    rated: list[Verdict] = ["success", "failure", "not_scored", "error"]
    there = [square.verdict for square in row if square and square.verdict in rated]
    if not there:
        return Text(writer.signs.dash, "dim")
    good = there.count("success")
    return Text(f"{good}/{len(there)}", _STYLES["success" if good == len(there) else "failure"])


def _name(writer: Writer, name: str, room: int = _NAME_CELLS + 8) -> Text:
    text = writer.text(name)
    if cell_len(text.plain) > room:
        text.truncate(max(1, room - len(writer.signs.ellipsis)))
        text.append(writer.signs.ellipsis)
    return text


def _count(count: int) -> Text:
    return Text(f"{count:,}", "bold yellow" if count else "dim")


def _percent(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.2f}"


def _whole(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.0f}%"


def _number(value: float | None, writer: Writer, *, sign: bool = False) -> str:
    if value is None:
        return writer.signs.dash
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def _range(interval: Interval | None, writer: Writer) -> str:
    if interval is None:
        return writer.signs.dash
    return f"{interval[0]:.0f}{writer.signs.dash}{interval[1]:.0f}"
