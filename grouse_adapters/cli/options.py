"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName, parse_metrics

RUNS_FOLDER: Final = "grouse-runs"


def _complete_metrics(incomplete: str) -> list[str]:
    *chosen, last = incomplete.split(",")
    start = "".join(f"{name}," for name in chosen)
    return [start + name for name in METRIC_NAMES if name.startswith(last) and name not in chosen]


MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        metavar="NAME,...",
        help="Metrics to grade. Default: all six.",
        autocompletion=_complete_metrics,
    ),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        metavar="METRIC=VALUE",
        help="Exit with 1 when the metric's mean is lower, in the metric's own unit.",
    ),
]
OutputDirOption = Annotated[
    Path | None,
    typer.Option(
        "--output-dir",
        "-o",
        metavar="FOLDER",
        help=f"Where the run is kept. Default: a new folder in {RUNS_FOLDER}.",
    ),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the run in --output-dir.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print report.json instead of tables.")]


def split_metrics(given: Sequence[str] | None) -> tuple[MetricName, ...]:
    """Metric names from ``a,b`` or repeated options; all six when none is given."""
    if not given:
        return METRIC_NAMES
    return parse_metrics(name for value in given for name in value.split(",") if name.strip())


def parse_thresholds(
    given: Sequence[str] | None, metrics: Sequence[MetricName]
) -> dict[MetricName, float]:
    """Least means per metric, from ``metric=value``.

    Raises:
        ConfigurationError: not of that form, not a graded metric, or off the metric's scale.
    """
    thresholds: dict[MetricName, float] = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            raise ConfigurationError(
                f"--fail-under {text!r} is not of the form METRIC=VALUE, e.g. faithfulness=0.8."
            ) from None
        (metric,) = parse_metrics([name])
        if metric not in metrics:
            raise ConfigurationError(
                f"--fail-under names {metric}, which --metrics leaves out: add it there."
            )
        low, *_, high = METRICS[metric].scale.values
        if not low <= value <= high:
            raise ConfigurationError(
                f"--fail-under {text!r} is off the scale: {metric} lies between {low} and {high}."
            )
        thresholds[metric] = value
    return thresholds
