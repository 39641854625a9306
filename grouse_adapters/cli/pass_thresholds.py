"""``--fail-under`` of a meta-evaluation: least pass rates, in percent as in report.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from grouse_adapters.cli.outcome import EXIT_BELOW, EXIT_FAILED
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName, parse_metrics
from grouse_adapters.meta.report import MetaReport

_TOTAL: Final = "total"

PassThresholdsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        metavar="METRIC=PERCENT",
        help="Exit with 1 when the metric's pass rate, or total's, is lower.",
    ),
]


def parse_pass_thresholds(
    given: Sequence[str] | None, metrics: Sequence[MetricName]
) -> dict[str, float]:
    """Least pass rates, from ``metric=percent`` or ``total=percent``.

    Raises:
        ConfigurationError: not of that form, not a metric that is asked for, or no percentage.
    """
    thresholds: dict[str, float] = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            percent = float(number)
        except ValueError:
            raise ConfigurationError(
                f"--fail-under {text!r} is not of the form METRIC=PERCENT, e.g. total=90."
            ) from None
        if not 0 <= percent <= 100:
            raise ConfigurationError(
                f"--fail-under {text!r} is no percentage: pass rates lie between 0 and 100."
            )
        if name.strip().lower() == _TOTAL:
            if len(metrics) < len(METRIC_NAMES):
                raise ConfigurationError(
                    "--fail-under total needs all six metrics: leave --metrics out."
                )
            thresholds[_TOTAL] = percent
            continue
        (metric,) = parse_metrics([name])
        if metric not in metrics:
            raise ConfigurationError(
                f"--fail-under names {metric}, which --metrics leaves out: add it there."
            )
        thresholds[metric] = percent
    return thresholds


def leave_meta(report: MetaReport, thresholds: Mapping[str, float]) -> None:
    """Returns when all is well; else says what is not.

    Raises:
        typer.Exit: with ``EXIT_FAILED`` when a grade failed, ``EXIT_BELOW`` below a threshold.
    """
    below = False
    for name, least in thresholds.items():
        rate = report.pass_rate.get(name)
        if rate is None or rate < least:
            below = True
            shown = "has no pass rate" if rate is None else f"passes {rate:.2f} %"
            typer.echo(f"Below threshold: {name} {shown}, wanted at least {least:g} %.", err=True)
    if report.failed_samples:
        typer.echo(
            f"A grade failed in {report.failed_samples} of {report.tests} tests: their rows say "
            "why, and --resume judges them again.",
            err=True,
        )
        raise typer.Exit(EXIT_FAILED)
    if below:
        raise typer.Exit(EXIT_BELOW)
