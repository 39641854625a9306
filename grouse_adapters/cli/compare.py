"""``grouse-adapters compare``: two runs on the same tests, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import BaseModel
from rich.console import Console

from grouse_adapters.cli.benchmark_run import (
    benchmark_threshold,
    is_benchmark_run,
    read_benchmark_data,
    read_benchmark_run,
)
from grouse_adapters.cli.meta_run import read_meta_run
from grouse_adapters.cli.options import JsonOption, QuietOption
from grouse_adapters.cli.outcome import show_json
from grouse_adapters.cli.run_dir import write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.meta.compare import compare as compare_results
from grouse_adapters.native.compare import compare_benchmarks
from grouse_adapters.report.benchmark_compare_terminal import print_benchmark_comparison
from grouse_adapters.report.compare_terminal import print_comparison
from grouse_adapters.report.page import write_meta_page
from grouse_adapters.report.page.benchmark import write_benchmark_page

_FILES: Final = ("comparison.json", "comparison.html")


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)
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
    """Compare two meta-evaluations, or two benchmarks, on the same tests: what flipped?

    Asks no model. The p-values are of McNemar's exact test and need the extra stats.

    Exit codes: 0 fine, 2 wrong use.
    """
    kinds = [is_benchmark_run(folder) for folder in (first, second)]
    if any(kinds) and not all(kinds):
        raise ConfigurationError(
            f"{first if kinds[0] else second} is a benchmark and the other run is none: compare "
            "runs of one kind."
        )
    compared = _benchmarks(first, second) if any(kinds) else _judges(first, second)
    files: list[Path] = []
    if output_dir is not None:
        files = _write_folder(output_dir)
        write_atomically(files[0], compared.figures.model_dump_json(indent=2) + "\n")
        compared.write_page(files[1])
    if as_json:
        show_json(compared.figures)
    elif not quiet:
        compared.show(files)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two runs of either kind."""

    figures: BaseModel
    write_page: Callable[[Path], None]
    show: Callable[[list[Path]], None]


def _judges(first: Path, second: Path) -> _Compared:
    one, other = read_meta_run(first), read_meta_run(second)
    comparison = compare_results(one.results, other.results)
    if not comparison.tests:
        raise ConfigurationError(
            f"{first} and {second} have no test in common: compare runs on the same tests."
        )
    names = (_name(first, one.report.judge), _name(second, other.report.judge))

    def write_page(path: Path) -> None:
        title = f"{names[0]} and {names[1]}"
        against = (other.results, other.report)
        write_meta_page(path, one.results, one.report, title=title, other=against, names=names)

    def show(files: list[Path]) -> None:
        print_comparison(Console(), comparison, names, files)

    return _Compared(comparison, write_page, show)


def _benchmarks(first: Path, second: Path) -> _Compared:
    thresholds = [benchmark_threshold(folder) for folder in (first, second)]
    if thresholds[0] != thresholds[1]:
        raise ConfigurationError(
            f"{first} and {second} have different thresholds ({thresholds[0]} and "
            f"{thresholds[1]}): make one of them again."
        )
    comparison = compare_benchmarks(
        read_benchmark_data(first), read_benchmark_data(second), threshold=thresholds[0]
    )
    names = (first.resolve().name, second.resolve().name)

    def write_page(path: Path) -> None:
        view = read_benchmark_run(first)
        title = f"{names[0]} and {names[1]}"
        write_benchmark_page(path, view, title=title, comparison=comparison, names=names)

    def show(files: list[Path]) -> None:
        print_benchmark_comparison(Console(), comparison, names, files)

    return _Compared(comparison, write_page, show)


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
