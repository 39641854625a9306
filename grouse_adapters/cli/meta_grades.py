"""``meta-evaluate --grades``: grades that were made elsewhere, as a run like any other."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from grouse_adapters.cli.judge_options import JudgeOptions
from grouse_adapters.cli.judging import new_folder
from grouse_adapters.cli.meta_run import COMMAND, MetaRun, meta_run, write_meta_files, write_tests
from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import RunDir, RunSettings
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.elsewhere import ReadingOptions, read_judged
from grouse_adapters.meta.sources import TestSource


def refuse_judge(options: JudgeOptions, *, several: bool, resume: bool) -> None:
    """Says that grades are already there.

    Raises:
        ConfigurationError: an option asks for a judge, for attempts, or to go on.
    """
    given = [
        f"--{field.name.replace('_', '-')}"
        for field in fields(options)
        if getattr(options, field.name) != field.default
    ]
    given += ["--prompts or --ablation"] * several + ["--resume"] * resume
    if given:
        raise ConfigurationError(
            f"--grades FILE takes the place of a judge: leave {', '.join(given)} out."
        )


def keep_grades(
    path: Path,
    reading: ReadingOptions,
    source: TestSource,
    metrics: tuple[MetricName, ...],
    folder: Path | None,
) -> tuple[MetaRun, list[Path]]:
    """Reads the grades of unit tests, keeps them as a run, and writes its files.

    Raises:
        InputError: the file cannot be read, or holds no grade of these tests.
        ConfigurationError: the folder cannot be used.
    """
    judged = read_judged(path, samples=[test.sample for test in source.tests], options=reading)
    for text in judged.notes:
        note(text)
    by_id = judged.by_id
    found = [test for test in source.tests if test.id in by_id]
    if not found:
        raise ConfigurationError(
            f"{path} holds no grades of the tests in {source.name}: name the tests that were "
            "judged."
        )
    if len(found) < len(source.tests):
        note(
            f"{path} holds grades of {len(found)} of {len(source.tests)} tests: the others are "
            "left out."
        )
    settings = RunSettings(
        command=COMMAND, input=source.name, judge=judged.judge, metrics=metrics, model={}
    )
    folder = folder or new_folder(source.name, judged.judge)
    with RunDir.create(folder, settings) as run:
        write_tests(run.path, source.tests)
        for test in found:
            row = by_id[test.id]
            asked = {name: grade for name, grade in row.grades.items() if name in metrics}
            run.admit(test.id, test.sample)
            run.append(row.model_copy(update={"sample": test.sample, "grades": asked}), key=test.id)
        done = meta_run(source, run.latest_rows(), run.superseded_rows(), judge=judged.judge)
        return done, write_meta_files(run.path, done)
