"""``grouse-adapters meta-evaluate``: judge a judge by unit tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grouse_adapters.cli import attempts
from grouse_adapters.cli.judge_options import JudgeOptions, build_judge, takes_judge
from grouse_adapters.cli.judged_files import FileOptions, takes_files
from grouse_adapters.cli.judging import (
    check_resume,
    judge_into,
    new_folder,
    opened_run,
    run_settings,
)
from grouse_adapters.cli.meta_grades import keep_grades, refuse_judge
from grouse_adapters.cli.meta_run import COMMAND, MetaRun, meta_run, write_meta_files, write_tests
from grouse_adapters.cli.options import (
    JsonOption,
    MetricsOption,
    OutputDirOption,
    QuietOption,
    ResumeOption,
    split_metrics,
)
from grouse_adapters.cli.outcome import show_json
from grouse_adapters.cli.pass_thresholds import (
    PassThresholdsOption,
    leave_meta,
    parse_pass_thresholds,
)
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.sources import BUNDLED, BUNDLED_TRAIN, TestSource, load_tests
from grouse_adapters.report.meta_terminal import print_meta


@takes_files
@takes_judge
def meta_evaluate(
    *,
    tests: Annotated[
        str | None,
        typer.Argument(
            metavar="[TESTS]",
            help="bundled, bundled-train, a JSON-lines file, a scenario or a folder of them, or a "
            f"dataset such as illuin/grouse. Default: {BUNDLED}; {BUNDLED_TRAIN} with several "
            "prompt packs.",
            show_default=False,
        ),
    ] = None,
    judge_options: JudgeOptions,
    file_options: FileOptions,
    grades: Annotated[
        Path | None,
        typer.Option(
            "--grades",
            metavar="FILE",
            help="Test grades made elsewhere in place of a judge: a run, a table of RAGAS or "
            "DeepEval, CSV, JSON lines.",
        ),
    ] = None,
    prompts: attempts.PacksOption = None,
    ablation: attempts.AblationOption = False,
    metrics: MetricsOption = None,
    output_dir: OutputDirOption = None,
    resume: ResumeOption = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N tests.")
    ] = None,
    fail_under: PassThresholdsOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge a judge: which unit tests does it pass, and which failures does it see?

    Writes judgements.jsonl while it runs; report.json, matrix.png and report.html at its end.
    Several prompt packs, or --ablation, are tried one after another and compared.

    Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some grades failed, 130 stopped.
    """
    wanted = split_metrics(metrics)
    thresholds = parse_pass_thresholds(fail_under, wanted)
    check_resume(output_dir, resume=resume)
    plans = attempts.plan(judge_options, packs=prompts, ablation=ablation)
    if grades is not None:
        refuse_judge(judge_options, several=len(plans) > 1 or prompts is not None, resume=resume)
    elif file_options != FileOptions():
        raise ConfigurationError(
            "--column, --threshold, --nan, --scale and --in-order say how --grades FILE is read: "
            "add --grades, or leave them out."
        )
    if len(plans) > 1 and thresholds:
        raise ConfigurationError("--fail-under is for one attempt: name one prompt pack.")
    source = load_tests(tests or (BUNDLED if len(plans) == 1 else BUNDLED_TRAIN))
    if limit is not None:
        source = replace(source, tests=source.tests[:limit], published=False)
    job = _Job(source, wanted, resume=resume, quiet=quiet or as_json)
    if len(plans) == 1:
        (options,) = plans.values()
        if grades is not None:
            run, files = keep_grades(grades, file_options.reading(), source, wanted, output_dir)
        else:
            run, files = job.judge(options, output_dir)
        if as_json:
            show_json(run.report)
        elif not quiet:
            print_meta(Console(), run.results, run.report, files)
        leave_meta(run.report, thresholds)
        return
    folder = output_dir or new_folder(source.name, "attempts")
    attempts.prepare(plans, folder, resume=resume)
    done: dict[str, MetaRun] = {}
    for label, options in plans.items():
        job.say(label)
        done[label], _ = job.judge(options, folder / label)
    attempts.finish(done, folder, quiet=quiet, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Job:
    """What all attempts share."""

    source: TestSource
    metrics: tuple[MetricName, ...]
    resume: bool
    quiet: bool

    def judge(self, options: JudgeOptions, folder: Path | None) -> tuple[MetaRun, list[Path]]:
        """Judges the tests and writes the files; returns them."""
        source = self.source
        built = build_judge(options)
        settings = run_settings(COMMAND, source.name, built, options, self.metrics)
        folder = folder or new_folder(source.name, built.judge.name)
        with opened_run(folder, settings, built, resume=self.resume) as run:
            write_tests(run.path, source.tests)
            samples = (test.sample for test in source.tests)
            judge_into(run, built, samples, len(source.tests), quiet=self.quiet)
            done = meta_run(
                source, run.latest_rows(), run.superseded_rows(), judge=built.judge.name
            )
            return done, write_meta_files(run.path, done)

    def say(self, label: str) -> None:
        """Names the attempt that comes."""
        if not self.quiet:
            typer.echo(f"Attempt {label}", err=True)
