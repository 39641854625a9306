"""``grouse-adapters agreement``: how far annotators agree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grouse_adapters.cli.align import FiguresJsonOption, OutputOption
from grouse_adapters.cli.judged_files import (
    FileOptions,
    SamplesOption,
    takes_files,
    what_was_judged,
)
from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.meta.agreement import agreement as compare_annotators
from grouse_adapters.meta.elsewhere import read_all
from grouse_adapters.report.alignment_terminal import print_agreement


@takes_files
def agreement(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE FILE...",
            help="Files of grades or folders of runs, one per annotator.",
            show_default=False,
        ),
    ],
    file_options: FileOptions,
    tests: SamplesOption = None,
    output: OutputOption = None,
    as_json: FiguresJsonOption = False,
) -> None:
    """Compare annotators: equal grades, Krippendorff's alpha; with unit tests their pass rates.

    Reads what align reads.

    Exit codes: 0 fine, 2 wrong use, 130 stopped.
    """
    if len(paths) < 2:
        raise ConfigurationError("agreement needs two files of grades or more: name them all.")
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"{twice} is named twice: name one file per annotator.")
    options = file_options.reading()
    given = what_was_judged(tests)
    judged = read_all(paths, samples=given.samples, options=options)
    figures = compare_annotators(judged, given.tests)
    for text in (text for one in judged for text in one.notes):
        note(text)
    written = figures.model_dump_json(indent=2) + "\n"
    if output is not None:
        write_atomically(output, written, option="--output")
    if as_json:
        sys.stdout.write(written)
    else:
        print_agreement(Console(), figures, [] if output is None else [output])
