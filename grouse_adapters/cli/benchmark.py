"""``grouse-adapters benchmark``: how far to trust the metrics that a framework brings itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from grouse_adapters.cli.benchmark_run import (
    COMMAND,
    JUDGE_FILE,
    BenchmarkDir,
    BenchmarkSettings,
    read_benchmark_run,
    write_benchmark_files,
)
from grouse_adapters.cli.judge_options import (
    BuiltJudge,
    JudgeOptions,
    build_judge,
)
from grouse_adapters.cli.judging import (
    EXIT_INTERRUPTED,
    check_resume,
    judge_into,
    new_folder,
    run_settings,
)
from grouse_adapters.cli.native_options import NativeModelOptions, takes_native_model
from grouse_adapters.cli.options import JsonOption, OutputDirOption, QuietOption, ResumeOption
from grouse_adapters.cli.outcome import EXIT_FAILED, note, show_json
from grouse_adapters.cli.progress import progress_report
from grouse_adapters.cli.run_dir import RunDir, RunSettings
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.sources import BUNDLED, load_tests
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotation_sources import load_annotations
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.benchmark import run_benchmark
from grouse_adapters.native.panels import BenchmarkView
from grouse_adapters.native.rows import Framework, NativeScore
from grouse_adapters.native.rules import THRESHOLD, check_threshold
from grouse_adapters.native.runners import (
    ModelAccess,
    Part,
    framework_versions,
    parts,
    settle,
)
from grouse_adapters.native.shares import check_annotations
from grouse_adapters.report.benchmark_terminal import print_benchmark

Choice = Literal["ragas", "deepeval", "all"]


@takes_native_model
def benchmark(
    *,
    framework: Annotated[
        Choice, typer.Argument(metavar="ragas|deepeval|all", help="Whose metrics.")
    ],
    tests: Annotated[
        str,
        typer.Argument(
            metavar="[TESTS]",
            help="bundled, bundled-train, a JSON-lines file, a scenario or a folder of them, or a "
            f"dataset such as illuin/grouse. Default: {BUNDLED}.",
            show_default=False,
        ),
    ] = BUNDLED,
    annotations: Annotated[
        Path | None,
        typer.Option(
            "--annotations",
            metavar="FILE",
            help="What annotators said. Default: what the tests bring along.",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            metavar="NAME,...",
            help="faithfulness, answer_relevancy. Default: both.",
        ),
    ] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option(
            "--variants",
            metavar="NAME,...",
            help="collections (default) and legacy of RAGAS, with-reason (default) and "
            "without-reason of DeepEval, or all.",
        ),
    ] = None,
    threshold: Annotated[
        str,
        typer.Option(
            "--threshold",
            metavar="SHARE",
            help="A success is nearer to the annotators' mean than this. Default: 0.2.",
            show_default=False,
        ),
    ] = str(THRESHOLD),
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="lexical|MODEL",
            help="Also judge the tests on the GroUSE metrics, on the same server.",
        ),
    ] = None,
    model_options: NativeModelOptions,
    output_dir: OutputDirOption = None,
    resume: ResumeOption = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N tests.")
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the own faithfulness and answer relevancy of RAGAS and DeepEval with annotations.

    Writes scores.jsonl while it runs; report.json, benchmark.png and report.html at its end.

    Exit codes: 0 fine, 2 wrong use, 3 some scores failed, 130 stopped.
    """
    check_resume(output_dir, resume=resume)
    share = _threshold(threshold)
    wanted = parts(_frameworks(framework), metrics=_split(metrics), variants=_split(variants))
    access = model_options.access()
    source = load_tests(tests)
    notes = load_annotations(tests, source.tests, annotations)
    check_annotations(source.tests, notes)
    chosen = source.tests[:limit]
    ids = {test.id for test in chosen}
    plan = _Plan(
        name=source.name,
        parts=wanted,
        tests=chosen,
        annotated=_annotated(chosen, notes),
        annotations=[one for one in notes if one.test_id in ids],
        access=access,
        threshold=share,
        concurrency=model_options.concurrency,
        quiet=quiet or as_json,
        judge=model_options.judge(judge) if judge else None,
    )
    where = output_dir or new_folder(source.name, f"{framework}-{access.model}")
    with tempfile.TemporaryDirectory() as folder:
        settle(Path(folder))
        view, files = plan.carry_out(where, resume=resume)
    if as_json:
        show_json(view.report)
    elif not quiet:
        print_benchmark(Console(), view, files)
    _leave(view)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """All that the options say; only tests that are annotated are asked about."""

    name: str
    parts: Sequence[Part]
    tests: Sequence[UnitTest]
    annotated: Sequence[UnitTest]
    annotations: Sequence[Annotation]
    access: ModelAccess
    threshold: Decimal
    concurrency: int
    quiet: bool
    judge: JudgeOptions | None

    def carry_out(self, folder: Path, *, resume: bool) -> tuple[BenchmarkView, list[Path]]:
        """Scores, judges, and writes what shows it.

        Raises:
            typer.Exit: it was interrupted; what is kept was said.
        """
        versions = framework_versions(list(dict.fromkeys(part.framework for part in self.parts)))
        embeds = any(part.embeds for part in self.parts)
        settings = BenchmarkSettings(
            input=self.name,
            runs=tuple(map(str, self.parts)),
            versions={str(name): version for name, version in versions.items()},
            model=self.access.model,
            embedding_model=self.access.embedding_model if embeds else None,
            base_url=self.access.base_url,
            max_tokens=self.access.max_tokens,
            threshold=str(self.threshold),
        )
        judging = None if self.judge is None else _Judging.prepare(self.name, self.judge)
        with BenchmarkDir(folder, settings, resume=resume) as run:
            try:
                run.keep_inputs(self.tests, self.annotations)
                # The judge's rows first, before anything is paid for: another's may be there.
                with judging.opened(folder) if judging else nullcontext() as beside:
                    self._score(run, versions)
                    if judging and beside:
                        samples = [test.sample for test in self.annotated]
                        judge_into(beside, judging.built, samples, len(samples), quiet=self.quiet)
            except KeyboardInterrupt:
                _say_stopped(run)
                raise typer.Exit(EXIT_INTERRUPTED) from None
            except BaseException:
                run.discard_if_empty()
                raise
            view = read_benchmark_run(folder)
            return view, write_benchmark_files(folder, view)

    def _score(self, run: BenchmarkDir, versions: dict[Framework, str]) -> None:
        total = len(self.parts) * len(self.annotated)
        done = run.done
        with progress_report(total, quiet=self.quiet, doing="Scoring", done="scored") as progress:

            def keep(score: NativeScore) -> None:
                run.append(score)
                progress.advance(score)

            for part in self.parts:
                for test in self.annotated:
                    if (test.id, *part) in done:
                        progress.skip()
            run_benchmark(
                self.parts,
                self.annotated,
                self.access,
                keep,
                versions=versions,
                done=done,
                concurrency=self.concurrency,
            )


@dataclass(frozen=True, slots=True)
class _Judging:
    """What the GroUSE metrics of a judge say about the same tests, in the same folder."""

    built: BuiltJudge
    settings: RunSettings

    @classmethod
    def prepare(cls, name: str, options: JudgeOptions) -> _Judging:
        """The judge that the options describe."""
        built = build_judge(options)
        return cls(built, run_settings(COMMAND, name, built, options, METRIC_NAMES))

    @contextmanager
    def opened(self, folder: Path) -> Iterator[RunDir]:
        """The judge's rows, which leave nothing behind where none was written."""
        with (
            closing(self.built.judge),
            RunDir.resume(folder, self.settings, run_file=JUDGE_FILE) as rows,
        ):
            try:
                yield rows
            finally:
                rows.discard_if_empty()


def _frameworks(choice: Choice) -> tuple[Framework, ...]:
    return ("ragas", "deepeval") if choice == "all" else (choice,)


def _threshold(text: str) -> Decimal:
    try:
        threshold = Decimal(text)
    except InvalidOperation:
        raise ConfigurationError(
            f"--threshold {text!r} is no number: give one above 0 and up to 1, e.g. {THRESHOLD}."
        ) from None
    check_threshold(threshold)
    return threshold


def _split(given: Sequence[str] | None) -> list[str]:
    return [name.strip() for one in given or () for name in one.split(",") if name.strip()]


def _annotated(tests: Sequence[UnitTest], annotations: Sequence[Annotation]) -> list[UnitTest]:
    """The tests that somebody annotated: asking about others says nothing, and costs as much.

    Raises:
        InputError: there are none.
    """
    known = {annotation.test_id for annotation in annotations}
    chosen = [test for test in tests if test.id in known]
    if not chosen:
        raise InputError(f"None of the first {len(tests):,} tests is annotated: raise --limit.")
    if len(chosen) < len(tests):
        note(
            f"{len(tests) - len(chosen):,} of {len(tests):,} tests have no annotation and are "
            "left out."
        )
    return chosen


def _say_stopped(run: BenchmarkDir) -> None:
    kept = len(run.done)
    run.discard_if_empty()
    if kept:
        typer.echo(
            f"Stopped. {kept} scores are kept in {run.path}: add --resume --output-dir "
            f"{run.path} to continue.",
            err=True,
        )
    else:
        typer.echo("Stopped before the first score.", err=True)


def _leave(view: BenchmarkView) -> None:
    errors = sum(run.errors + run.nothing_to_rate_as.errors for run in view.report.runs)
    if errors:
        scores = sum(run.rated + run.nothing_to_rate for run in view.report.runs)
        rows, them = ("its row says", "it") if errors == 1 else ("their rows say", "them")
        typer.echo(
            f"{errors:,} of {scores:,} scores failed: {rows} why, and --resume makes {them} again.",
            err=True,
        )
        raise typer.Exit(EXIT_FAILED)
