"""Two benchmarks, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from grouse_adapters.core.metrics import METRICS
from grouse_adapters.native.compare import BenchmarkComparison, RunComparison, Side
from grouse_adapters.native.panels import FRAMEWORKS
from grouse_adapters.report.console import Writer, add_column, harmless

_NAMED_FLIPS: Final = 8
_WIDE: Final = 100


def print_benchmark_comparison(
    console: Console,
    comparison: BenchmarkComparison,
    names: tuple[str, str],
    files: Sequence[str | Path] = (),
) -> None:
    """Success rates side by side, the tests that flipped, McNemar's p-value, how scores moved.

    Args:
        console: where to print.
        comparison: the two benchmarks.
        names: what to call them.
        files: the files to point at.
    """
    writer = Writer(console)
    writer.print_line(f"A  {harmless(names[0])}")
    writer.print_line(f"B  {harmless(names[1])}")
    console.print()
    wide = writer.width >= _WIDE
    if not wide:  # the table then has the numbers alone
        for number, run in enumerate(comparison.runs, start=1):
            writer.print_line(f"{number}  {harmless(comparison_name(run))}")
        console.print()
    table = writer.table()
    add_column(table, Text("Successes, %"))
    for heading in ("tests", "A", "B", "only B", "only A", "p", "B - A", "apart"):
        add_column(table, Text(heading), right=True)
    for number, run in enumerate(comparison.runs, start=1):
        table.add_row(
            writer.text(comparison_name(run) if wide else str(number)),
            Text(f"{run.tests:,}", "dim"),
            Text(_percent(run.first.success_rate, writer)),
            Text(_percent(run.second.success_rate, writer)),
            Text(f"{len(run.gained):,}", "blue" if run.gained else "dim"),
            Text(f"{len(run.lost):,}", "red" if run.lost else "dim"),
            Text(_chance(run.p_value, writer)),
            Text(_number(run.mean_difference, writer, sign=True)),
            Text(_number(run.mean_absolute_difference, writer)),
        )
    console.print(table)
    console.print()
    for run in comparison.runs:
        name = comparison_name(run)
        for said, flipped in (("only B succeeds", run.gained), ("only A succeeds", run.lost)):
            if flipped:
                shown = ", ".join(harmless(test) for test in flipped[:_NAMED_FLIPS])
                more = len(flipped) - _NAMED_FLIPS
                tail = f" and {more:,} more" if more > 0 else ""
                writer.print_line(f"{harmless(name)}: {said} on {shown}{tail}")
    for said, ids in (
        ("only in A", comparison.only_first),
        ("only in B", comparison.only_second),
    ):
        if ids:
            writer.print_line(f"{', '.join(map(harmless, ids))}: {said}", style="dim")
    if comparison.changed:
        writer.print_line(
            f"{len(comparison.changed):,} tests have other content or other annotations, and are "
            "not compared",
            style="dim",
        )
    writer.print_line(
        comparison.hint
        or "p: McNemar's exact test, two-sided. B - A: mean difference of the scores; apart: "
        "the same without sign.",
        style="dim",
    )
    writer.print_files(files)


def comparison_name(run: RunComparison) -> str:
    """What is compared, e.g. ``RAGAS faithfulness (collections) 0.3.9 / 0.4.3``."""
    first, second = run.first, run.second
    same = (first.framework, first.variant) == (second.framework, second.variant)
    if not same:
        return f"{_side_name(first)} / {_side_name(second)}"
    versions = [", ".join(side.framework_versions) for side in (first, second)]
    told = f" {versions[0]} / {versions[1]}" if versions[0] != versions[1] else ""
    return f"{_side_name(first)}{told}"


def _side_name(side: Side) -> str:
    metric = METRICS[side.metric].title.lower()
    return f"{FRAMEWORKS[side.framework]} {metric} ({side.variant})"


def _percent(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.2f}"


def _chance(value: float | None, writer: Writer) -> str:
    if value is None:
        return writer.signs.dash
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _number(value: float | None, writer: Writer, *, sign: bool = False) -> str:
    if value is None:
        return writer.signs.dash
    return f"{value:+.3f}" if sign else f"{value:.3f}"
