"""A meta-evaluation in a run's folder: its tests beside its judgements, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from grouse_adapters.cli.kept_rows import read_run_rows, run_settings_of
from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import (
    JUDGEMENTS_FILE,
    PAGE_FILE,
    REPORT_FILE,
    TESTS_FILE,
    write_atomically,
)
from grouse_adapters.cli.run_folder import SCORES_FILE
from grouse_adapters.core.errors import InputError, MissingExtraError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.sources import TestSource, is_published
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests, write_unit_tests
from grouse_adapters.report.page import write_meta_page
from grouse_adapters.report.plots import write_matrices

COMMAND: Final = "meta-evaluate"
MATRIX_FILES: Final = ("matrix.png", "matrix.svg")


@dataclass(frozen=True, slots=True)
class MetaRun:
    """The tests that were judged, and the figures."""

    results: Sequence[TestResult]
    report: MetaReport


def write_tests(folder: Path, tests: Iterable[UnitTest]) -> None:
    """Keeps the tests with the run, so that its report can be made again.

    Raises:
        ConfigurationError: they cannot be written.
    """
    write_atomically(folder / TESTS_FILE, write_unit_tests(tests))


def is_meta_run(folder: Path) -> bool:
    """Whether a folder holds a run of unit tests; a benchmark has tests too, and scores."""
    return (folder / TESTS_FILE).exists() and not (folder / SCORES_FILE).exists()


def meta_run(
    source: TestSource,
    latest: Iterable[Judgement],
    superseded: Iterable[Judgement],
    *,
    judge: str,
) -> MetaRun:
    """Puts tests and judgements together; tests without a judgement are left out.

    Raises:
        InputError: no test was judged.
    """
    rows = {row.id: row for row in latest}
    results = [TestResult(test, rows[test.id]) for test in source.tests if test.id in rows]
    if not results:
        raise InputError("No test was judged yet: there is nothing to report.")
    report = meta_report(
        results,
        command=COMMAND,
        judge=judge,
        source=source.name,
        published=source.published,
        superseded=superseded,
    )
    return MetaRun(results, report)


def read_meta_run(folder: Path) -> MetaRun:
    """A run of unit tests that is on disk, also one that was stopped before its report.

    Raises:
        InputError: it cannot be read, or no test was judged.
    """
    if not is_meta_run(folder):
        raise InputError(
            f"{folder} holds no run of unit tests: make one with 'grouse-adapters meta-evaluate "
            f"--output-dir {folder}'."
        )
    settings = run_settings_of(folder)
    tests = read_unit_tests(folder / TESTS_FILE)
    name = str(settings.get("input", folder.name))
    source = TestSource(name, tests, published=is_published(name, tests))
    latest, superseded = read_run_rows(folder)
    judges = dict.fromkeys(row.judge for row in latest)
    judge = str(settings.get("judge", ", ".join(judges)))
    return meta_run(source, latest, superseded, judge=judge)


def write_meta_files(folder: Path, run: MetaRun, *, page: Path | None = None) -> list[Path]:
    """Writes report.json, the pictures and the page; returns the files that people look at.

    Args:
        folder: of the run.
        page: the file of the page; None: in the folder.

    Raises:
        ConfigurationError: one cannot be written.
    """
    write_atomically(folder / REPORT_FILE, run.report.model_dump_json(indent=2) + "\n")
    files = [folder / JUDGEMENTS_FILE, folder / REPORT_FILE]
    drawn = [folder / name for name in MATRIX_FILES]
    try:
        write_matrices(drawn, run.results, run.report)
        files.append(drawn[0])
    except MissingExtraError as missing:
        note(str(missing))
    page = page or folder / PAGE_FILE
    title = f"{run.report.judge} on {run.report.source}"
    write_meta_page(page, run.results, run.report, title=title)
    return [*files, page]
