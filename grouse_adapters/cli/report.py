"""``grouse-adapters report``: the figures of judgements that are on disk already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grouse_adapters.cli.benchmark_run import (
    is_benchmark_run,
    read_benchmark_run,
    write_benchmark_files,
)
from grouse_adapters.cli.judged_files import (
    FileOptions,
    SamplesOption,
    takes_files,
    what_was_judged,
)
from grouse_adapters.cli.kept_rows import SHOWN, Kept, is_elsewhere, read_kept
from grouse_adapters.cli.meta_run import is_meta_run, read_meta_run, write_meta_files
from grouse_adapters.cli.options import (
    FailUnderOption,
    JsonOption,
    QuietOption,
    parse_thresholds,
)
from grouse_adapters.cli.outcome import leave, note, show, show_json
from grouse_adapters.cli.pass_thresholds import leave_meta, parse_pass_thresholds
from grouse_adapters.cli.run_dir import PAGE_FILE, write_atomically
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.elsewhere import read_judged
from grouse_adapters.report.aggregates import Aggregator
from grouse_adapters.report.benchmark_terminal import print_benchmark
from grouse_adapters.report.meta_terminal import print_meta
from grouse_adapters.report.page import write_evaluation_page


@takes_files
def report(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="The folder of a run, files of live judgements (rotated ones are found), or one "
            "file of grades made elsewhere.",
            show_default=False,
        ),
    ],
    file_options: FileOptions,
    tests: SamplesOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write report.json to this file."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help=f"Write the page to this file. Default: {PAGE_FILE} in the folder of the run.",
        ),
    ] = None,
    fail_under: FailUnderOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the figures of a run, or of live judging, from its files, and make its page again.

    Asks no model. Of a run the last row of each id counts, of live files every row.

    Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some samples failed, 130 stopped.
    """
    if len(paths) == 1 and is_meta_run(paths[0]):
        _report_tests(paths[0], output, page, fail_under, quiet=quiet, as_json=as_json)
        return
    if len(paths) == 1 and is_benchmark_run(paths[0]):
        _report_benchmark(paths[0], output, page, fail_under, quiet=quiet, as_json=as_json)
        return
    thresholds = parse_thresholds(fail_under, METRIC_NAMES)
    kept = _kept(paths, file_options, tests)
    files = [*kept.files]
    if output is not None:
        write_atomically(output, kept.report.model_dump_json(indent=2) + "\n", option="--output")
        files.append(output)
    if page is None and kept.run is not None and kept.report.samples:
        page = kept.run / PAGE_FILE
    if page is not None:
        title = (kept.run or kept.files[0]).resolve().name
        write_evaluation_page(page, kept.rows(), kept.report, title=title)
        files.append(page)
    if as_json:
        show_json(kept.report)
    elif not kept.report.samples:
        note(f"{kept.files[0]} holds no judgements yet.")
    elif not quiet:
        show(kept.shown, kept.report, rest_in=kept.files[0], files=files)
    mend = ", and evaluate --resume judges them again" if kept.run is not None else ""
    leave(kept.report, thresholds, mend=mend)


def _kept(paths: list[Path], options: FileOptions, tests: str | None) -> Kept:
    """What the files hold, in our own form or in another."""
    if len(paths) > 1 or not is_elsewhere(paths[0]):
        extra = options != FileOptions() or tests is not None
        if extra and all(path.exists() for path in paths):
            raise ConfigurationError(
                "--tests, --column, --threshold, --nan, --scale and --in-order are for one file of "
                "grades made elsewhere: leave them out."
            )
        return read_kept(paths)
    judged = read_judged(
        paths[0], samples=what_was_judged(tests).samples, options=options.reading()
    )
    for text in judged.notes:
        note(text)
    totals = Aggregator()
    for row in judged.judgements:
        totals.add(row)
    return Kept(
        totals.report(command="elsewhere", judge=judged.judge),
        list(judged.judgements[:SHOWN]),
        [paths[0]],
        run=None,
        rows=lambda: iter(judged.judgements),
    )


def _report_benchmark(
    folder: Path,
    output: Path | None,
    page: Path | None,
    fail_under: list[str] | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """The same for a benchmark of native metrics, which has no thresholds."""
    if fail_under:
        raise ConfigurationError("--fail-under is not for benchmarks: leave it out.")
    view = read_benchmark_run(folder)
    files = write_benchmark_files(folder, view, page=page)
    if output is not None:
        write_atomically(output, view.report.model_dump_json(indent=2) + "\n", option="--output")
        files.append(output)
    if as_json:
        show_json(view.report)
    elif not quiet:
        print_benchmark(Console(), view, files)


def _report_tests(
    folder: Path,
    output: Path | None,
    page: Path | None,
    fail_under: list[str] | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """The same for a run of unit tests, whose thresholds are pass rates."""
    run = read_meta_run(folder)
    asked = [name for name in METRIC_NAMES if run.report.pass_rate.get(name) is not None]
    thresholds = parse_pass_thresholds(fail_under, asked)
    files = write_meta_files(folder, run, page=page)
    if output is not None:
        write_atomically(output, run.report.model_dump_json(indent=2) + "\n", option="--output")
        files.append(output)
    if as_json:
        show_json(run.report)
    elif not quiet:
        print_meta(Console(), run.results, run.report, files)
    leave_meta(run.report, thresholds)
