"""What was read, how to read it, and the form that every foreign file is brought into first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from grouse_adapters.core.grades import Failed, Grade, Judgement
from grouse_adapters.core.metrics import MetricName, SampleField

Origin = Literal["judgements", "reference", "ragas", "deepeval", "table"]
"""Who wrote the file: we, the paper's package grouse, RAGAS, DeepEval, or anybody else."""

Unsaid = Literal["not-applicable", "failed", "unasked"]
"""What a NaN stands for."""

Unit = Literal["own", "unit"]
"""The metric's own unit (1-5), or 0-1."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What a file of grades cannot say of itself. Our own judgements need none of it.

    Attributes:
        columns: which column holds a metric, where its name does not tell; an empty name leaves
            the metric out.
        thresholds: for binary metrics that hold shares: 1 from this share (0-1) on, else 0.
        nan: what a NaN stands for; None: a NaN is an error.
        scale: the unit of answer relevancy and completeness; None: found from the values of our
            own metrics (``grouse_...``), and their own unit for others.
        in_order: grades without ids and texts belong to the samples in their order.
    """

    columns: Mapping[MetricName, str] = field(default_factory=dict)
    thresholds: Mapping[MetricName, float] = field(default_factory=dict)
    nan: Unsaid | None = None
    scale: Unit | None = None
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgements in a file.

    Attributes:
        path: the file, or the folder of a run.
        origin: what kind of file it is.
        judge: name of the judge or annotator.
        judgements: one per sample, each with an id of its own, in the order of the file. The
            sample is the given one, else what the file holds of it; texts that neither holds are
            empty.
        columns: the column that each metric was read from; empty for our own judgements.
        missing: ids of the given samples that the file does not hold, in their order.
        notes: what the user should know, one sentence each.
    """

    path: Path
    origin: Origin
    judge: str
    judgements: Sequence[Judgement]
    columns: Mapping[MetricName, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def by_id(self) -> dict[str, Judgement]:
        """The judgements by the id of their sample."""
        return {row.id: row for row in self.judgements if row.id is not None}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a file says about one metric of one sample.

    Attributes:
        value: true or false, a number, or a text; NaN where there is no value and no word why.
        reason: the explanation that stands next to it.
        unit: of a number; None: unknown.
        blank: there is nothing in the cell, which in most tables means that nobody was asked.
        failed: the failure, where the file says that there was one; the rest is then void.
    """

    value: Any = math.nan
    reason: str = ""
    unit: Unit | None = None
    blank: bool = False
    failed: Failed | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One sample in a file.

    Attributes:
        place: where it stands, as messages say it.
        id: as the file gives it.
        texts: the fields of the sample that the file holds.
        cells: by column; a column that says nothing about this sample is left out.
    """

    place: str
    id: str | None
    texts: Mapping[SampleField, Any]
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A foreign file in one form.

    Attributes:
        path: the file.
        origin: what wrote it.
        judge: name of the judge, if the file tells.
        columns: all columns that may hold grades, in the order of the file.
        rows: its samples; at least one.
    """

    path: Path
    origin: Origin
    judge: str | None
    columns: Sequence[str]
    rows: Sequence[Row]


Grades = dict[MetricName, Grade]
