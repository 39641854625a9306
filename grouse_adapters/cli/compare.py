"""``grouse-adapters compare``: two runs on the same unit tests, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from grouse_adapters.cli.meta_run import read_meta_run
from grouse_adapters.cli.options import JsonOption, QuietOption
from grouse_adapters.cli.outcome import show_json
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.meta.compare import compare as compare_results
from grouse_adapters.report.compare_terminal import print_comparison
from grouse_adapters.report.page import write_meta_page

_FILES: Final = ("comparison.json", "comparison.html")


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a meta-evaluation.", show_default=False)
    ],
    second: Annotated[
        Path, typer.Argument(metavar="OTHER_RUN", help="Folder of another.", show_default=False)
    ],
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            "-o",
            metavar="FOLDER",
            help=f"Write {' and '.join(_FILES)} there.",
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two meta-evaluations on the same tests: which tests flipped, and is it chance?

    Asks no model. The p-values are of McNemar's exact test and need the extra stats.

    Exit codes: 0 fine, 2 wrong use.
    """
    one, other = read_meta_run(first), read_meta_run(second)
    comparison = compare_results(one.results, other.results)
    if not comparison.tests:
        raise ConfigurationError(
            f"{first} and {second} have no test in common: compare runs on the same tests."
        )
    names = (_name(first, one.report.judge), _name(second, other.report.judge))
    files: list[Path] = []
    if output_dir is not None:
        files = _write_folder(output_dir)
        write_atomically(files[0], comparison.model_dump_json(indent=2) + "\n")
        write_meta_page(
            files[1],
            one.results,
            one.report,
            title=f"{names[0]} and {names[1]}",
            other=(other.results, other.report),
            names=names,
        )
    if as_json:
        show_json(comparison)
    elif not quiet:
        print_comparison(Console(), comparison, names, files)


def _write_folder(folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{folder} cannot be made ({error.strerror or error}): choose another --output-dir."
        ) from None
    return [folder / name for name in _FILES]


def _name(folder: Path, judge: str) -> str:
    return f"{judge} ({folder.resolve().name})"
