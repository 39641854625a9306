"""Judging into the folder of a run: what the commands that judge have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import typer

from grouse_adapters.cli.judge_options import BuiltJudge, JudgeOptions
from grouse_adapters.cli.options import RUNS_FOLDER
from grouse_adapters.cli.progress import progress_report
from grouse_adapters.cli.run_dir import RunDir, RunSettings
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.core.sample import Sample

EXIT_INTERRUPTED: Final = 130


def run_settings(
    command: str,
    source: str,
    built: BuiltJudge,
    options: JudgeOptions,
    metrics: tuple[MetricName, ...],
) -> RunSettings:
    """What decides the judgements of a run.

    Args:
        source: what is judged, without its folder.
    """
    return RunSettings(
        command=command,
        input=source,
        judge=built.judge.name,
        model=built.model,
        prompt_fingerprint=built.judge.prompt_fingerprint,
        metrics=metrics,
        strategy=built.strategy,
        citations=options.citations,
    )


@contextmanager
def opened_run(
    folder: Path, settings: RunSettings, built: BuiltJudge, *, resume: bool
) -> Iterator[RunDir]:
    """A run that leaves nothing behind when it ends before its first row, whatever ends it.

    Raises:
        ConfigurationError: the folder cannot be used.
        typer.Exit: it was interrupted; what is kept was said.
    """
    opened = RunDir.resume(folder, settings) if resume else RunDir.create(folder, settings)
    with opened as run, closing(built.judge):
        try:
            yield run
        except KeyboardInterrupt:
            _say_stopped(run)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BaseException:
            run.discard_if_empty()
            raise


def judge_into(
    run: RunDir, built: BuiltJudge, samples: Iterable[Sample], total: int, *, quiet: bool
) -> None:
    """Judges what the run has not judged yet; every row is written as soon as it is complete.

    Args:
        samples: all samples of the input, each with the id that its row gets.
        total: how many there are.
    """

    def pending() -> Iterator[Sample]:
        for sample in samples:
            if sample.id is None:
                raise ValueError("a sample needs an id here")
            if run.admit(sample.id, sample):
                yield sample
            else:
                progress.skip()

    with progress_report(total, quiet=quiet) as progress:
        for judgement in built.judge.judge_many(pending(), metrics=run.settings.metrics):
            run.append(judgement)
            progress.advance(judgement)


def check_resume(output_dir: Path | None, *, resume: bool) -> None:
    """Says that there is nothing to resume without a folder.

    Raises:
        ConfigurationError: ``resume`` without ``output_dir``.
    """
    if resume and output_dir is None:
        raise ConfigurationError("--resume needs --output-dir: name the folder of the run.")


def new_folder(source: str, judge: str) -> Path:
    """A folder for a run that was given none, named after what is judged, by whom and when."""
    stem = source.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in f"{stem}-{judge}")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path(RUNS_FOLDER) / f"{safe}-{stamp}"
    number = 2
    while folder.exists():
        folder = folder.with_name(f"{safe}-{stamp}-{number}")
        number += 1
    return folder


def _say_stopped(run: RunDir) -> None:
    kept = run.judged_count
    run.discard_if_empty()
    if kept:
        typer.echo(
            f"Stopped. {kept} judgements are kept in {run.path}: add --resume --output-dir "
            f"{run.path} to continue.",
            err=True,
        )
    else:
        typer.echo("Stopped before the first judgement.", err=True)
