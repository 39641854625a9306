"""Attempts with several prompts on a terminal: passes per attempt, then what failed and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, MetricName
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.report.console import Writer, harmless
from grouse_adapters.report.meta_terminal import print_pass_rates

_SHOWN: Final = 12
_REASON_LINES: Final = 4

Attempt = tuple[Sequence[TestResult], MetaReport]


def print_attempts(
    console: Console, attempts: Mapping[str, Attempt], files: Sequence[str | Path]
) -> None:
    """The table of passes, and each attempt's failing tests with the judge's reasoning.

    Args:
        console: where to print.
        attempts: results and figures, by label, in the order of the attempts.
        files: the files to point at.
    """
    writer = Writer(console)
    for label, (results, _) in attempts.items():
        _print_failing(writer, label, results)
    first = next(iter(attempts.values()))[1]
    rates = {label: report.pass_rate for label, (_, report) in attempts.items()}
    print_pass_rates(writer, rates, first)
    calls = sum(report.llm_calls for _, report in attempts.values())
    tests = f"{first.tests:,} tests each"
    writer.print_items([harmless(first.judge), harmless(first.source), tests, f"{calls:,} calls"])
    writer.print_files(files)


def _print_failing(writer: Writer, label: str, results: Sequence[TestResult]) -> None:
    failing = [
        (result, metric.name)
        for result in results
        for metric in JUDGED_METRICS
        if result.outcomes.get(metric.name) in ("failed", "unreadable")
    ]
    writer.print_line(f"{label}: {len(failing)} judged grades fail", style="bold")
    for result, metric in failing[:_SHOWN]:
        writer.console.print(_failing(writer, result, metric))
    if len(failing) > _SHOWN:
        writer.print_line(f"  {len(failing) - _SHOWN:,} more on its page", style="dim")
    writer.console.print()


def _failing(writer: Writer, result: TestResult, metric: MetricName) -> Text:
    grade = result.judgement.grades[metric]
    condition = result.test.conditions.of(metric)
    start = f"{result.test.id} {metric.replace('_', ' ')}: wanted {condition}, got {_said(grade)}. "
    text = writer.text(start, "red")
    text.append_text(writer.text(_reason(grade), "dim"))
    clipped = writer.clipped(text, writer.width - 2, _REASON_LINES)
    return Text("\n").join(Text("  ") + line for line in clipped.split("\n"))


def _said(grade: Grade) -> str:
    if isinstance(grade, Graded):
        return str(grade.value)
    return "None" if isinstance(grade, NotApplicable) else "no usable grade"


def _reason(grade: Grade) -> str:
    if isinstance(grade, Graded):
        return grade.justification
    return grade.error if isinstance(grade, Failed) else grade.reason
