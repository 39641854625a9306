"""``grouse-adapters align``: how closely one judge follows another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from grouse_adapters.cli.judged_files import (
    FileOptions,
    SamplesOption,
    takes_files,
    what_was_judged,
)
from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.meta.alignment import align as compare_judges
from grouse_adapters.meta.elsewhere import read_all
from grouse_adapters.report.alignment_terminal import print_alignment

OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the figures to this file, as JSON."),
]
FiguresJsonOption = Annotated[
    bool, typer.Option("--json", help="Print the figures as JSON instead of tables.")
]


@takes_files
def align(
    *,
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="The judge that is looked at: the folder of a run, or a file of grades.",
            show_default=False,
        ),
    ],
    second: Annotated[
        Path,
        typer.Argument(
            metavar="B",
            help="What it is compared with: a run of a strong judge, or a file of human grades.",
            show_default=False,
        ),
    ],
    file_options: FileOptions,
    tests: SamplesOption = None,
    truth: Annotated[
        Literal["A", "B"],
        typer.Option("--truth", help="Which of the two is taken for the truth."),
    ] = "B",
    output: OutputOption = None,
    as_json: FiguresJsonOption = False,
) -> None:
    """Compare two judges: Spearman for 1-5, macro F1 over 0, 1 and null, confusion matrices.

    Reads runs, live judgements, results of RAGAS, DeepEval and the package grouse, CSV and JSON.

    Exit codes: 0 fine, 2 wrong use, 130 stopped.
    """
    options = file_options.reading()
    one, other = read_all([first, second], samples=what_was_judged(tests).samples, options=options)
    figures = compare_judges(one, other) if truth == "B" else compare_judges(other, one)
    for text in (*one.notes, *other.notes):
        note(text)
    written = figures.model_dump_json(indent=2) + "\n"
    if output is not None:
        write_atomically(output, written, option="--output")
    if as_json:
        sys.stdout.write(written)
    else:
        print_alignment(Console(), figures, [] if output is None else [output])
