"""``grouse-adapters evaluate``: judge a file of samples."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from grouse_adapters.cli.judge_options import JudgeOptions, build_judge, takes_judge
from grouse_adapters.cli.judging import (
    check_resume,
    judge_into,
    new_folder,
    opened_run,
    run_settings,
)
from grouse_adapters.cli.options import (
    FailUnderOption,
    JsonOption,
    MetricsOption,
    OutputDirOption,
    QuietOption,
    ResumeOption,
    parse_thresholds,
    split_metrics,
)
from grouse_adapters.cli.outcome import leave, note, show, show_json
from grouse_adapters.cli.run_dir import RunDir, row_key
from grouse_adapters.core.errors import InputError
from grouse_adapters.core.readers import Line, read_lines
from grouse_adapters.core.sample import Sample, cites
from grouse_adapters.report.aggregates import Aggregator, Report
from grouse_adapters.report.page import write_evaluation_page


@takes_judge
def evaluate(
    *,
    samples: Annotated[
        Path,
        typer.Argument(metavar="SAMPLES", help="JSON lines, plain or gzip.", show_default=False),
    ],
    judge_options: JudgeOptions,
    metrics: MetricsOption = None,
    output_dir: OutputDirOption = None,
    resume: ResumeOption = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N samples.")
    ] = None,
    fail_under: FailUnderOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Judge the answers in SAMPLES on the six GroUSE metrics.

    Writes judgements.jsonl while it runs, report.json and report.html at its end.

    Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some samples failed, 130 stopped.
    """
    wanted = split_metrics(metrics)
    thresholds = parse_thresholds(fail_under, wanted)
    check_resume(output_dir, resume=resume)
    checked = _check_samples(samples, limit)
    built = build_judge(judge_options)
    citations = judge_options.citations
    if citations == "required" and "faithfulness" in wanted and not checked.citing:
        note(
            "No answer cites a reference like [1], so none can be faithful: add --citations "
            "ignored when your answers carry no citations."
        )
    settings = run_settings("evaluate", samples.name, built, judge_options, wanted)
    folder = output_dir or new_folder(samples.name, built.judge.name)
    with opened_run(folder, settings, built, resume=resume) as run:
        keyed = (_keyed(line) for line in islice(read_lines(samples), limit))
        judge_into(run, built, keyed, checked.count, quiet=quiet or as_json)
        report = _report(run, built.judge.name)
        run.write_report(report)
        title = f"{built.judge.name} on {samples.name}"
        write_evaluation_page(run.page_path, run.latest_rows(), report, title=title)
        if as_json:
            show_json(report)
        elif not quiet:
            files = [run.judgements_path, run.report_path, run.page_path]
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
