"""Two runs on the same unit tests, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from grouse_adapters.core.metrics import METRICS
from grouse_adapters.meta.compare import Comparison
from grouse_adapters.report.console import Writer, add_column, harmless

_NAMED: Final = 8


def print_comparison(
    console: Console,
    comparison: Comparison,
    names: tuple[str, str],
    files: Sequence[str | Path] = (),
) -> None:
    """Pass rates side by side, the tests that flipped, McNemar's p-value.

    Args:
        console: where to print.
        comparison: the two runs.
        names: what to call them.
        files: the files to point at.
    """
    writer = Writer(console)
    writer.print_line(f"A  {harmless(names[0])}")
    writer.print_line(f"B  {harmless(names[1])}")
    console.print()
    table = writer.table()
    add_column(table, Text("Tests passed, %"))
    for heading in ("tests", "A", "B", "only B", "only A", "p"):
        add_column(table, Text(heading), right=True)
    for name, found in comparison.metrics.items():
        table.add_row(
            Text(METRICS[name].title),
            Text(f"{found.tests:,}", "dim"),
            Text(_percent(found.first, writer)),
            Text(_percent(found.second, writer)),
            Text(f"{len(found.gained):,}", "blue" if found.gained else "dim"),
            Text(f"{len(found.lost):,}", "red" if found.lost else "dim"),
            Text(writer.signs.dash if found.p_value is None else f"{found.p_value:.3f}"),
        )
    console.print(table)
    console.print()
    for name, found in comparison.metrics.items():
        for said, tests in (("only B passes", found.gained), ("only A passes", found.lost)):
            if tests:
                shown = ", ".join(harmless(test) for test in tests[:_NAMED])
                more = f" and {len(tests) - _NAMED:,} more" if len(tests) > _NAMED else ""
                writer.print_line(f"{METRICS[name].title}: {said} {shown}{more}")
    for said, tests in (
        ("only in A", comparison.only_first),
        ("only in B", comparison.only_second),
        ("changed between the runs, and not compared", comparison.changed),
    ):
        if tests:
            writer.print_line(f"{len(tests):,} tests {said}", style="dim")
    if comparison.hint:
        writer.print_line(comparison.hint, style="dim")
    else:
        writer.print_line(
            "p: McNemar's exact test, two-sided; six metrics are six tests.", style="dim"
        )
    writer.print_files(files)


def _percent(value: float | None, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.2f}"
