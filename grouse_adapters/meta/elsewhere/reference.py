"""Evaluations of the paper's own package, grouse 0.4.2: ``evaluations.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.meta.elsewhere.cells import NULL
from grouse_adapters.meta.elsewhere.judged import Cell, Row, Table

EVALUATIONS_FILE: Final = "evaluations.jsonl"
META_EVALUATIONS_FILE: Final = "meta_evaluations.jsonl"


def is_reference(row: Mapping[str, Any]) -> bool:
    """Whether a row is an evaluation: an object per judged metric, and nothing else."""
    return set(row) == set(METRIC_NAMES) and all(
        isinstance(row[name], dict) for name in METRIC_NAMES if METRICS[name].judged
    )


def refuse_outcomes(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Says what to do with passed and failed, which that package's meta-evaluation writes.

    Raises:
        InputError: the rows hold outcomes.
    """
    told = list(rows)
    said = [_outcome(value) for row in told for value in row.values()]
    alike = all(set(row) == set(METRIC_NAMES) for row in told)
    if alike and True in said and False not in said:
        raise InputError(
            f"{path} says which tests passed and not which grades they got: run 'grouse evaluate' "
            f"on the tests and name its {EVALUATIONS_FILE}."
        )


def reference_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table from the package's evaluations.

    They hold neither ids nor texts, and stand in the order of the samples. A grade off its scale,
    which that package keeps, counts as a failure of its judge.
    """
    made = [
        Row(
            place=f"{path}, line {number}",
            id=None,
            texts={},
            cells={name: _cell(name, row[name]) for name in METRIC_NAMES},
        )
        for number, row in enumerate(rows, start=1)
    ]
    return Table(path, "reference", None, METRIC_NAMES, made)


def _cell(metric: MetricName, said: Any) -> Cell:
    reason = ""
    if isinstance(said, dict):
        if metric not in said:
            error = said.get("error") or "The package grouse could not read the reply."
            return Cell(failed=Failed(error_kind="unreadable", error=str(error)))
        reason = str(said.get(f"{metric}_justification") or "")
        said = said[metric]
    if said is None:
        return Cell(NULL, reason)
    scale = METRICS[metric].scale
    if said not in scale.values:
        error = f"The judge gave {said!r}, which is off the scale ({scale})."
        return Cell(failed=Failed(error_kind="out_of_scale", error=error))
    return Cell(said, reason, unit="own")


def _outcome(said: Any) -> bool | None:
    """True for passed or failed, None for a failure of the judge, False for anything else."""
    if isinstance(said, dict) and set(said) == {"error"}:
        return None
    return isinstance(said, bool)
