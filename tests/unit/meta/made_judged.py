"""Judges and annotators whose grades are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere import Judged

FAILED = "failed"
UNASKED = "-"
Told = int | str | None
"""A grade, None for not applicable, ``failed``, or ``-`` for not asked."""


def grade(told: Told) -> Grade | None:
    if told == UNASKED:
        return None
    if told == FAILED:
        return Failed(error_kind="unreadable", error="garbage")
    return NotApplicable(reason="told") if told is None else Graded(value=int(told))


def judgement(name: str, told: Mapping[MetricName, Told], judge: str = "j") -> Judgement:
    grades = {metric: made for metric, value in told.items() if (made := grade(value))}
    sample = Sample(id=name, input=f"Question {name}?", actual_output=f"Answer {name}.")
    return Judgement(id=name, sample=sample, grades=grades, judge=judge)


def judged(rows: Iterable[Judgement], judge: str = "j", file: str | None = None) -> Judged:
    return Judged(Path(file or f"{judge}.csv"), "table", judge, tuple(rows))


def one_metric(metric: MetricName, told: Sequence[Told], judge: str = "j") -> Judged:
    """Samples ``0``, ``1``, ... with these grades of one metric."""
    rows = (judgement(str(n), {metric: value}, judge) for n, value in enumerate(told))
    return judged(rows, judge)
