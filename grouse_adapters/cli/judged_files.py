"""Options that say how files of grades are read, and what was judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from grouse_adapters.cli.option_groups import takes
from grouse_adapters.cli.run_dir import row_key
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import METRICS, MetricName, parse_metrics
from grouse_adapters.core.readers import read_json_lines, read_lines
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere import ReadingOptions
from grouse_adapters.meta.sources import load_tests
from grouse_adapters.meta.unit_tests import UnitTest

Unsaid = Literal["not-applicable", "failed", "unasked"]
Scale = Literal["own", "unit"]

_PANEL: Final = "How tables of grades are read"
_LINES: Final = re.compile(r"\.(jsonl|json|gz)$")

ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="METRIC=NAME",
        help="The column that holds a metric; METRIC= leaves the metric out. May be repeated.",
        rich_help_panel=_PANEL,
    ),
]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="METRIC=SHARE",
        help="For a binary metric that holds shares: 1 from this share on, else 0.",
        rich_help_panel=_PANEL,
    ),
]
NanOption = Annotated[
    Unsaid | None,
    typer.Option(
        "--nan",
        help="What a NaN stands for. Default: one stops the command.",
        rich_help_panel=_PANEL,
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        help="The unit of answer relevancy and completeness: 1-5 (own) or 0-1 (unit). Default: "
        "found from the values.",
        rich_help_panel=_PANEL,
    ),
]
InOrderOption = Annotated[
    bool,
    typer.Option(
        "--in-order",
        help="Rows without ids and texts follow the order of the samples.",
        rich_help_panel=_PANEL,
    ),
]
SamplesOption = Annotated[
    str | None,
    typer.Option(
        "--tests",
        metavar="TESTS",
        help="What was judged: unit tests as for meta-evaluate, or a JSON-lines file of samples. "
        "Rows without ids are matched to it by their texts.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files of grades are read, as far as the options say; see ``ReadingOptions``."""

    column: ColumnOption = None
    threshold: ThresholdOption = None
    nan: NanOption = None
    scale: ScaleOption = None
    in_order: InOrderOption = False

    def reading(self) -> ReadingOptions:
        """The reader's options.

        Raises:
            ConfigurationError: one is not of its form, names no metric, or names one twice.
        """
        return reading_options(
            column=self.column,
            threshold=self.threshold,
            nan=self.nan,
            scale=self.scale,
            in_order=self.in_order,
        )


takes_files = takes(FileOptions, "file_options")
"""Gives a command the options of ``FileOptions``."""


@dataclass(frozen=True, slots=True)
class WhatWasJudged:
    """The samples that grades are about.

    Attributes:
        samples: each with the id that a run gives it; None: not said.
        tests: the unit tests that they are; None when they are plain samples, or not said.
    """

    samples: Sequence[Sample] | None = None
    tests: Sequence[UnitTest] | None = None


def what_was_judged(source: str | None) -> WhatWasJudged:
    """The samples or unit tests that ``--tests`` names.

    Raises:
        InputError: they cannot be read.
        ConfigurationError: a dataset cannot be fetched.
    """
    if source is None:
        return WhatWasJudged()
    path = Path(source)
    if path.is_file() and _LINES.search(path.name) and not _has_conditions(path):
        return WhatWasJudged([_with_key(line.sample, line.number) for line in read_lines(path)])
    tests = load_tests(source).tests
    return WhatWasJudged([test.sample for test in tests], tests)


def reading_options(
    *,
    column: Sequence[str] | None = None,
    threshold: Sequence[str] | None = None,
    nan: Unsaid | None = None,
    scale: Scale | None = None,
    in_order: bool = False,
) -> ReadingOptions:
    """The reader's options from those of the command line.

    Raises:
        ConfigurationError: one is not of its form, names no metric, or names one twice.
    """
    columns: dict[MetricName, str] = {}
    for text in column or ():
        metric, name = _pair(text, "--column", "METRIC=NAME, e.g. faithfulness=my_score")
        _once(columns, metric, "--column")
        columns[metric] = name
    thresholds: dict[MetricName, float] = {}
    for text in threshold or ():
        metric, number = _pair(text, "--threshold", "METRIC=SHARE, e.g. faithfulness=0.9")
        _once(thresholds, metric, "--threshold")
        thresholds[metric] = _share(text, metric, number)
    return ReadingOptions(columns, thresholds, nan, scale, in_order)


def _has_conditions(path: Path) -> bool:
    first: tuple[int, Any] = next(read_json_lines(path), (0, None))
    return isinstance(first[1], dict) and "conditions" in first[1]


def _with_key(sample: Sample, number: int) -> Sample:
    return sample.model_copy(update={"id": row_key(sample, number)})


def _pair(text: str, option: str, form: str) -> tuple[MetricName, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"{option} {text!r} is not of the form {form}.")
    (metric,) = parse_metrics([name])
    return metric, value


def _once(found: dict[MetricName, Any], metric: MetricName, option: str) -> None:
    if metric in found:
        raise ConfigurationError(f"{option} names {metric} twice: keep one of them.")


def _share(text: str, metric: MetricName, number: str) -> float:
    scale = METRICS[metric].scale
    if len(scale.values) > 2:
        raise ConfigurationError(
            f"--threshold {text!r} is for binary metrics, and {metric} is graded {scale}: leave it "
            "out."
        )
    try:
        share = float(number)
    except ValueError:
        share = float("nan")
    if not 0 < share <= 1:
        raise ConfigurationError(
            f"--threshold {text!r} must name a share above 0 and up to 1, e.g. {metric}=0.9."
        )
    return share
