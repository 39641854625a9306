"""How a command ends: what it shows of its judgements, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import typer
from pydantic import BaseModel
from rich.console import Console

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.report.aggregates import Report
from grouse_adapters.report.terminal import print_samples, print_totals

EXIT_BELOW: Final = 1
EXIT_FAILED: Final = 3


def show(
    rows: Iterable[Judgement], report: Report, *, rest_in: Path, files: Sequence[Path]
) -> None:
    """Prints the samples (the first of ``rows``) and the totals.

    Args:
        rest_in: where the samples are that do not fit.
        files: the files to point at.
    """
    console = Console()
    print_samples(console, rows, report.samples, rest_in=rest_in)
    print_totals(console, report, files=files)


def show_json(report: BaseModel) -> None:
    """Prints a report as JSON."""
    sys.stdout.write(report.model_dump_json(indent=2) + "\n")


def note(text: str) -> None:
    """Says something by the way, on standard error."""
    typer.echo(f"Note: {text}", err=True)


def leave(report: Report, thresholds: Mapping[MetricName, float], *, mend: str) -> None:
    """Returns when all is well; else says what is not.

    Args:
        thresholds: least mean per metric, in the metric's own unit; a metric without a mean is
            below.
        mend: what can be done about failed grades.

    Raises:
        typer.Exit: with ``EXIT_FAILED`` when a grade failed, ``EXIT_BELOW`` below a threshold.
    """
    below = False
    for metric, least in thresholds.items():
        summary = report.metrics.get(metric)
        mean = None if summary is None else summary.mean
        if mean is None or mean < least:
            below = True
            shown = "has no graded sample" if mean is None else f"is {mean:.4g}"
            typer.echo(f"Below threshold: {metric} {shown}, wanted at least {least:g}.", err=True)
    if report.failed_samples:
        typer.echo(
            f"A grade failed in {report.failed_samples} of {report.samples} samples: their rows "
            f"say why{mend}.",
            err=True,
        )
        raise typer.Exit(EXIT_FAILED)
    if below:
        raise typer.Exit(EXIT_BELOW)
