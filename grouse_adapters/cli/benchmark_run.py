"""The folder of a benchmark: its scores as soon as they are there, and what shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from grouse_adapters.cli.kept_rows import read_run_rows, run_settings_of
from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import JUDGEMENTS_FILE
from grouse_adapters.cli.run_folder import (
    PAGE_FILE,
    REPORT_FILE,
    SCORES_FILE,
    TESTS_FILE,
    RunFolder,
    write_atomically,
)
from grouse_adapters.core.errors import ConfigurationError, InputError, MissingExtraError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.rows import is_torn
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests, write_unit_tests
from grouse_adapters.native.annotations import Annotation, read_annotations, write_annotations
from grouse_adapters.native.benchmark import Key
from grouse_adapters.native.compare import BenchmarkData
from grouse_adapters.native.panels import BenchmarkView, benchmark_view
from grouse_adapters.native.rows import NativeScore, read_score, score_line
from grouse_adapters.native.rules import THRESHOLD, last_rows
from grouse_adapters.report.benchmark_plots import write_benchmark_plots
from grouse_adapters.report.page.benchmark import write_benchmark_page

COMMAND: Final = "benchmark"
ANNOTATIONS_FILE: Final = "annotations.jsonl"
JUDGE_FILE: Final = "judge.json"
PLOT_FILES: Final = ("benchmark.png", "benchmark.svg")


class BenchmarkSettings(BaseModel):
    """What decides the scores of a benchmark: ``run.json``. Two runs are one when these are equal.

    Attributes:
        input: where the tests come from, without its folder.
        runs: framework, metric and variant of each native metric.
        versions: of the frameworks.
        model: the model that is asked.
        embedding_model: the model for embeddings; None when none are asked for.
        base_url: the server; None: OpenAI.
        max_tokens: longest reply; None: what the framework asks for by itself.
        threshold: a success is nearer to the annotators' mean than this.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: Literal["benchmark"] = COMMAND
    input: str
    runs: tuple[str, ...]
    versions: dict[str, str]
    model: str
    embedding_model: str | None = None
    base_url: str | None = None
    max_tokens: int | None = None
    threshold: str = str(THRESHOLD)


class BenchmarkDir(RunFolder):
    """The folder of a benchmark, in use by this process alone. Use one thread at a time.

    The last score of a test under a metric counts. A score that ended in an error is to be made
    again, every other is there for good.
    """

    rows_file: ClassVar[str] = SCORES_FILE
    rows_are: ClassVar[str] = "scores"

    def __init__(self, path: str | Path, settings: BenchmarkSettings, *, resume: bool) -> None:
        self._scores: list[NativeScore] = []
        self.own_files = (TESTS_FILE, ANNOTATIONS_FILE)
        super().__init__(Path(path), settings, resume=resume)

    @property
    def scores(self) -> Sequence[NativeScore]:
        """All scores, also those that later ones replaced, in the order in which they came."""
        return self._scores

    @property
    def done(self) -> set[Key]:
        """The scores that are there for good."""
        return {score.key for score in last_rows(self._scores) if not score.failed}

    def keep_inputs(self, tests: Sequence[UnitTest], annotations: Iterable[Annotation]) -> None:
        """Keeps tests and annotations with the scores.

        Raises:
            ConfigurationError: a test that has a score says something else now, or the files
                cannot be written.
        """
        path = self.path / TESTS_FILE
        if path.exists():
            scored = {score.test_id for score in self._scores}
            before = {test.id: test.sample.content_hash() for test in read_unit_tests(path)}
            for test in tests:
                known = before.get(test.id) if test.id in scored else None
                if known is not None and known != test.sample.content_hash():
                    raise ConfigurationError(
                        f"The test {test.id!r} was changed after it had been scored: choose "
                        "another --output-dir."
                    )
        write_atomically(path, write_unit_tests(tests))
        write_atomically(self.path / ANNOTATIONS_FILE, write_annotations(annotations))

    def append(self, score: NativeScore) -> None:
        """Writes one score and hands it to the operating system at once.

        Raises:
            ConfigurationError: it cannot be written (disk full); earlier ones are intact.
        """
        self._append_line(score_line(score))
        self._scores.append(score)

    def _is_row(self, line: bytes) -> bool:
        return read_score(line) is not None

    def _begin(self, settings: BaseModel, *, resume: bool) -> bool:
        resumed = super()._begin(settings, resume=resume)
        if resumed:
            for number, _, line in self._lines():
                score = read_score(line)
                if score is None:
                    raise ConfigurationError(
                        f"{self.rows_path}, line {number} is not a score: delete that line, and "
                        "its test is scored again."
                    )
                self._scores.append(score)
        return resumed


def is_benchmark_run(folder: Path) -> bool:
    """Whether a folder holds a benchmark."""
    return (folder / SCORES_FILE).exists()


def read_benchmark_run(folder: Path, *, threshold: Decimal | None = None) -> BenchmarkView:
    """A benchmark that is on disk, also one that was stopped before its report.

    Args:
        folder: of the run.
        threshold: instead of the run's own.

    Raises:
        InputError: it cannot be read, or nothing was scored yet.
    """
    data = read_benchmark_data(folder)
    settings = run_settings_of(folder)
    return benchmark_view(
        data.scores,
        data.tests,
        data.annotations,
        source=str(settings.get("input", folder.name)),
        threshold=threshold or benchmark_threshold(folder),
        judged=read_judged(folder),
    )


def read_benchmark_data(folder: Path) -> BenchmarkData:
    """Scores, tests and annotations of a benchmark that is on disk.

    Raises:
        InputError: they cannot be read, or nothing was scored yet.
    """
    path = folder / SCORES_FILE
    if not path.exists():
        raise InputError(
            f"{folder} holds no benchmark: make one with 'grouse-adapters benchmark --output-dir "
            f"{folder}'."
        )
    scores: list[NativeScore] = []
    for number, line in enumerate(_lines(path), start=1):
        score = read_score(line)
        if score is not None:
            scores.append(score)
        elif is_torn(line) and not line.endswith(b"\n"):
            note(f"{path}, line {number} was cut off while it was written, and is left out.")
        elif line.strip():
            raise InputError(f"{path}, line {number} is not a score: delete that line.")
    if not scores:
        raise InputError("No test was scored yet: there is nothing to report.")
    return BenchmarkData(
        scores, read_unit_tests(folder / TESTS_FILE), read_annotations(folder / ANNOTATIONS_FILE)
    )


def benchmark_threshold(folder: Path) -> Decimal:
    """The threshold that a benchmark was made with."""
    return _threshold(run_settings_of(folder).get("threshold"))


def read_judged(folder: Path) -> list[Judgement]:
    """What a judge said about the tests; nothing without one."""
    return read_run_rows(folder)[0] if (folder / JUDGEMENTS_FILE).exists() else []


def write_benchmark_files(
    folder: Path, view: BenchmarkView, *, page: Path | None = None
) -> list[Path]:
    """Writes report.json, the pictures and the page; returns the files that people look at.

    Args:
        folder: of the run.
        view: the benchmark.
        page: the file of the page; None: in the folder.

    Raises:
        ConfigurationError: one cannot be written.
    """
    write_atomically(folder / REPORT_FILE, view.report.model_dump_json(indent=2) + "\n")
    files = [folder / SCORES_FILE, folder / REPORT_FILE]
    if view.judged:
        files.insert(1, folder / JUDGEMENTS_FILE)
    drawn = [folder / name for name in PLOT_FILES]
    try:
        write_benchmark_plots(drawn, view)
        files.append(drawn[0])
    except MissingExtraError as missing:
        note(str(missing))
    page = page or folder / PAGE_FILE
    models = ", ".join(dict.fromkeys(run.model for run in view.report.runs))
    write_benchmark_page(page, view, title=f"{models} on {view.report.source}")
    return [*files, page]


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            yield from stream
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error}): check the path."
        ) from None


def _threshold(written: object) -> Decimal:
    try:
        return Decimal(str(written))
    except InvalidOperation:  # a run.json that is lost or was written by hand
        return THRESHOLD
