"""The agreement of annotators on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from grouse_adapters.core.metrics import METRICS
from grouse_adapters.native.agreement import AnnotationAgreement, Comparison, Label
from grouse_adapters.report.console import Writer, add_column

_LABELS: Final[dict[Label, str]] = {
    "relevant": "Relevant",
    "faithful": "Faithful",
    "citation_right": "Citation right",
}


def print_annotation_agreement(
    console: Console, figures: AnnotationAgreement, files: Sequence[str | Path] = ()
) -> None:
    """Labels and shares of all annotators and of each two, then the largest differences.

    Args:
        console: where to print; its width, colours and encoding are respected.
        files: the files to point at.
    """
    writer = Writer(console)
    if figures.together is not None and len(figures.annotators) > 2:
        _print_comparison(writer, "All annotators", figures.together, figures)
    for pair in figures.pairs:
        _print_comparison(writer, " and ".join(pair.annotators), pair, figures)
    if figures.by_construction:
        writer.print_line(
            "Labels by construction follow from how the tests were made; nobody gave them.",
            style="dim",
        )
    _print_disagreements(writer, figures)
    writer.print_files(files)


def _print_comparison(
    writer: Writer, title: str, found: Comparison, figures: AnnotationAgreement
) -> None:
    writer.console.print(writer.text(title, "bold"))
    writer.print_items(
        [
            f"{found.tests:,} answers",
            f"{found.statements:,} statements that both have",
            f"{found.unmatched:,} cut or worded otherwise",
            f"{found.one_sided:,} with nothing to rate for one alone",
        ],
        style="dim",
    )
    table = writer.table()
    for heading in ("Labels", "equal %", "statements", "equal shares %", "answers", "alpha"):
        add_column(table, Text(heading), right=heading != "Labels")
    for label, row in found.labels.items():
        table.add_row(
            Text(_LABELS[label]),
            Text(_figure(row.equal_statements, 2, writer), "bold"),
            Text(f"{row.statements:,}", "dim"),
            Text(_figure(row.equal_tests, 2, writer), "bold"),
            Text(f"{row.tests:,}", "dim"),
            Text(_figure(row.alpha, 3, writer)),
        )
    writer.console.print(table)
    writer.console.print()
    table = writer.table()
    for heading in ("Shares", "mean difference", "largest", "answers", "alpha"):
        add_column(table, Text(heading), right=heading != "Shares")
    for metric, share in found.shares.items():
        table.add_row(
            Text(METRICS[metric].title),
            Text(_figure(share.mean_difference, 3, writer), "bold"),
            Text(_figure(share.largest_difference, 3, writer), "bold"),
            Text(f"{share.compared:,}", "dim"),
            Text(_figure(share.alpha, 3, writer)),
        )
    paper = figures.paper
    dash = writer.signs.dash
    table.add_row(
        *(
            Text(cell, "dim")
            for cell in (
                "The paper",
                f"about {paper.mean_difference}",
                f"{paper.largest_difference}",
                dash,
                dash,
            )
        )
    )
    writer.console.print(table)
    writer.console.print()
    reasons = list(_reasons(found))
    for text in reasons:
        writer.print_line(text, style="dim")
    if reasons:
        writer.console.print()


def _reasons(found: Comparison) -> Iterable[str]:
    rows = [(_LABELS[label], row.alpha_reason) for label, row in found.labels.items()]
    rows += [(METRICS[metric].title, row.alpha_reason) for metric, row in found.shares.items()]
    reasons = {reason for _, reason in rows}
    if len(reasons) == 1 and (reason := reasons.pop()) is not None:
        yield f"No alpha: {reason}."
        return
    for title, reason in rows:
        if reason is not None:
            yield f"{title}: no alpha, because {reason}."


def _print_disagreements(writer: Writer, figures: AnnotationAgreement) -> None:
    if not figures.disagreements:
        return
    table = writer.table()
    for heading in ("Largest differences", "metric", "annotators", "shares", "apart"):
        add_column(table, Text(heading), right=heading in ("shares", "apart"))
    for row in figures.disagreements:
        said = (
            "nothing to rate" if share is None else _figure(share, 3, writer)
            for share in row.shares
        )
        table.add_row(
            writer.text(row.test_id),
            Text(METRICS[row.metric].title),
            writer.text(", ".join(row.annotators)),
            Text(", ".join(said)),
            Text(_figure(row.difference, 3, writer), "bold"),
        )
    writer.console.print(table)
    writer.console.print()


def _figure(value: float | None, digits: int, writer: Writer) -> str:
    return writer.signs.dash if value is None else f"{value:.{digits}f}"
