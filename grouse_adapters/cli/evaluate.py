"""``grouse-adapters evaluate``: judge a file of samples."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import typer

from grouse_adapters.cli.options import (
    ApiKeyEnvOption,
    BaseUrlOption,
    BuiltJudge,
    CacheOption,
    CitationsOption,
    ConcurrencyOption,
    ExpectedAnswerOption,
    FailUnderOption,
    JudgeOption,
    JudgeOptions,
    JustificationOption,
    MaxTokensOption,
    MetricsOption,
    PriceOption,
    PromptsOption,
    ReasoningOption,
    StrategyOption,
    TimeoutOption,
    build_judge,
    parse_thresholds,
    split_metrics,
)
from grouse_adapters.cli.outcome import leave, note, show, show_json
from grouse_adapters.cli.progress import progress_report
from grouse_adapters.cli.run_dir import RunDir, RunSettings, row_key
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.readers import Line, read_lines
from grouse_adapters.core.sample import Sample, cites
from grouse_adapters.report.aggregates import Aggregator, Report

EXIT_INTERRUPTED: Final = 130
RUNS_FOLDER: Final = "grouse-runs"


def evaluate(
    samples: Annotated[
        Path,
        typer.Argument(metavar="SAMPLES", help="JSON lines, plain or gzip.", show_default=False),
    ],
    judge: JudgeOption = None,
    metrics: MetricsOption = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            "-o",
            metavar="FOLDER",
            help=f"Where the run is kept. Default: a new folder in {RUNS_FOLDER}.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --output-dir.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N samples.")
    ] = None,
    fail_under: FailUnderOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print report.json instead of tables.")
    ] = False,
    base_url: BaseUrlOption = None,
    api_key_env: ApiKeyEnvOption = None,
    timeout: TimeoutOption = None,
    max_tokens: MaxTokensOption = None,
    price: PriceOption = None,
    concurrency: ConcurrencyOption = None,
    cache: CacheOption = None,
    prompts: PromptsOption = None,
    strategy: StrategyOption = None,
    citations: CitationsOption = "required",
    expected_answer: ExpectedAnswerOption = None,
    justification: JustificationOption = None,
    reasoning: ReasoningOption = None,
) -> None:
    """Judge the answers in SAMPLES on the six GroUSE metrics.

    Writes judgements.jsonl while it runs and report.json at its end.

    Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some samples failed, 130 stopped.
    """
    wanted = split_metrics(metrics)
    thresholds = parse_thresholds(fail_under, wanted)
    if resume and output_dir is None:
        raise ConfigurationError("--resume needs --output-dir: name the folder of the run.")
    checked = _check_samples(samples, limit)
    built = build_judge(
        JudgeOptions(
            judge=judge,
            base_url=base_url,
            api_key_env=api_key_env,
            timeout=timeout,
            max_tokens=max_tokens,
            price=price,
            concurrency=concurrency,
            cache=cache,
            prompts=prompts,
            strategy=strategy,
            citations=citations,
            expected_answer=expected_answer,
            justification=justification,
            reasoning=reasoning,
        )
    )
    if citations == "required" and "faithfulness" in wanted and not checked.citing:
        note(
            "No answer cites a reference like [1], so none can be faithful: add --citations "
            "ignored when your answers carry no citations."
        )
    settings = RunSettings(
        command="evaluate",
        input=samples.name,
        judge=built.judge.name,
        model=built.model,
        prompt_fingerprint=built.judge.prompt_fingerprint,
        metrics=wanted,
        strategy=built.strategy,
        citations=citations,
    )
    folder = output_dir or _new_folder(samples, built.judge.name)
    opened = RunDir.resume(folder, settings) if resume else RunDir.create(folder, settings)
    with opened as run, closing(built.judge):
        try:
            _judge_all(run, built, samples, limit, checked.count, quiet=quiet or as_json)
        except KeyboardInterrupt:
            _stopped(run)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BaseException:
            run.discard_if_empty()
            raise
        report = _report(run, built.judge.name)
        run.write_report(report)
        if as_json:
            show_json(report)
        elif not quiet:
            files = [run.judgements_path, run.report_path]
            show(run.latest_rows(), report, rest_in=run.judgements_path, files=files)
    leave(report, thresholds, mend=", and --resume judges them again")


@dataclass(frozen=True, slots=True)
class _Checked:
    count: int
    citing: int


def _check_samples(path: Path, limit: int | None) -> _Checked:
    """Reads everything once before anything is paid for: faults, repeated ids, citations."""
    seen: dict[bytes, int] = {}
    count = citing = 0
    for line in islice(read_lines(path), limit):
        count += 1
        citing += cites(line.sample.actual_output)
        if (identifier := line.sample.id) is not None:
            digest = hashlib.blake2b(identifier.encode(), digest_size=16).digest()
            first = seen.setdefault(digest, line.number)
            if first != line.number:
                raise InputError(
                    f"{path}, line {line.number}: the id {identifier!r} was used on line {first} "
                    "already: give every sample an id of its own."
                )
    return _Checked(count, citing)


def _judge_all(
    run: RunDir, built: BuiltJudge, path: Path, limit: int | None, total: int, *, quiet: bool
) -> None:
    def pending() -> Iterator[Sample]:
        for line in islice(read_lines(path), limit):
            keyed = _keyed(line)
            if run.admit(row_key(line.sample, line.number), keyed):
                yield keyed
            else:
                progress.skip()

    with progress_report(total, quiet=quiet) as progress:
        for judgement in built.judge.judge_many(pending(), metrics=run.settings.metrics):
            run.append(judgement)
            progress.advance(judgement)


def _keyed(line: Line) -> Sample:
    """The sample under the name it has in the run, which its judgement carries along."""
    key = row_key(line.sample, line.number)
    return line.sample if line.sample.id == key else line.sample.model_copy(update={"id": key})


def _report(run: RunDir, judge: str) -> Report:
    totals = Aggregator()
    for judgement in run.latest_rows():
        totals.add(judgement)
    for judgement in run.superseded_rows():
        totals.add_spending(judgement)
    return totals.report(command=run.settings.command, judge=judge)


def _stopped(run: RunDir) -> None:
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


def _new_folder(samples: Path, judge: str) -> Path:
    stem = samples.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in f"{stem}-{judge}")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path(RUNS_FOLDER) / f"{safe}-{stamp}"
    number = 2
    while folder.exists():
        folder = folder.with_name(f"{safe}-{stamp}-{number}")
        number += 1
    return folder
