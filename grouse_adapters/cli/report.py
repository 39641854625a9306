"""``grouse-adapters report``: the figures of judgements that are on disk already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grouse_adapters.cli.kept_rows import read_kept
from grouse_adapters.cli.options import (
    FailUnderOption,
    JsonOption,
    QuietOption,
    parse_thresholds,
)
from grouse_adapters.cli.outcome import leave, note, show, show_json
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.metrics import METRIC_NAMES


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="The folder of a run, or files of live judgements (rotated ones are found).",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write report.json to this file."),
    ] = None,
    fail_under: FailUnderOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the figures of a run, or of live judging, from its files.

    Asks no model. Of a run the last row of each id counts, of live files every row.

    Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some samples failed, 130 stopped.
    """
    thresholds = parse_thresholds(fail_under, METRIC_NAMES)
    kept = read_kept(paths)
    files = [*kept.files]
    if output is not None:
        write_atomically(output, kept.report.model_dump_json(indent=2) + "\n", option="--output")
        files.append(output)
    if as_json:
        show_json(kept.report)
    elif not kept.report.samples:
        note(f"{kept.files[0]} holds no judgements yet.")
    elif not quiet:
        show(kept.shown, kept.report, rest_in=kept.files[0], files=files)
    leave(kept.report, thresholds, mend=", and evaluate --resume judges them again" * kept.is_run)
