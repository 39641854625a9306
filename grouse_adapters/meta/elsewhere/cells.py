"""From what a cell says to a grade."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import METRICS, Metric, MetricName
from grouse_adapters.meta.elsewhere.judged import Cell, ReadingOptions, Unit

NULL: Final = "null"
"""A cell that says that the metric does not apply."""

_NULLS: Final = frozenset({NULL, "none", "n/a", "na", "<na>", "not applicable", "not_applicable"})
_NOT_APPLICABLE: Final = "not applicable"
_JUDGE_FAILED: Final = "judge failed"
_NUMBER: Final = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?")
_CLOSE: Final = 1e-6
"""Room for a grade that was written with few digits."""


def settled(cell: Cell) -> Cell:
    """The cell with its words understood: NaN, true or false, a number, ``NULL``, or a failure.

    Raises:
        ValueError: none of these.
    """
    if cell.failed is not None:
        return cell
    value = cell.value
    if isinstance(value, str):
        value = _read(value, cell)
        if isinstance(value, Failed):
            return Cell(failed=value)
    elif value is None:
        value = math.nan
    elif not isinstance(value, bool | int | float):
        raise ValueError
    if isinstance(value, float) and math.isnan(value):
        said = cell.reason.strip().casefold()
        if said.startswith(_NOT_APPLICABLE):
            return Cell(NULL, cell.reason)
        if said.startswith((_JUDGE_FAILED, "failed")):
            return Cell(failed=failure(cell.reason))
    reason = cell.reason
    if value == NULL and not reason and str(cell.value).casefold().startswith(_NOT_APPLICABLE):
        reason = str(cell.value)
    return Cell(value, reason, cell.unit, cell.blank)


def grade_of(
    cell: Cell, metric: MetricName, *, where: str, options: ReadingOptions, unit: Unit
) -> Grade | None:
    """The grade in a settled cell; None when the metric was not asked.

    Args:
        where: place and column, as messages say it.
        options: thresholds, and what a NaN stands for.
        unit: of the number, where the cell does not tell.

    Raises:
        InputError: the value cannot be a grade. One sentence that says what to do.
    """
    if cell.failed is not None:
        return cell.failed
    if cell.value == NULL:
        return NotApplicable(reason=_without(_NOT_APPLICABLE, cell.reason) or f"{where} says so.")
    if math.isnan(cell.value):
        return None if cell.blank and options.nan is None else _unsaid(where, options)
    row = METRICS[metric]
    value = float(cell.value)
    if len(row.scale.values) == 2:
        number = _binary(value, row, where, options.thresholds.get(metric))
    elif isinstance(cell.value, bool):
        raise InputError(
            f"{where} holds {cell.value}, which is no grade of {metric} ({row.scale}): write the "
            f"grade, or leave the metric out with --column {metric}=."
        )
    else:
        number = _one_to_five(value, row, where, cell.unit or unit)
    return Graded(value=number, justification=cell.reason)


def unit_of(values: Iterable[float], *, place: str) -> Unit:
    """In which unit numbers of answer relevancy and completeness stand.

    0, 0.25, 0.5 and 0.75 are on 0-1, 2 to 5 in the metric's own unit; 1 is the worst grade or the
    best.

    Raises:
        InputError: the numbers do not tell, or are of both kinds.
    """
    numbers = set(values)
    on_unit = any(number < 1 for number in numbers)
    own = any(number > 1 for number in numbers)
    if own and on_unit:
        raise InputError(
            f"{place} holds grades of 1-5 and of 0-1 side by side: write all in one unit."
        )
    if numbers and not own and not on_unit:
        raise InputError(
            f"{place} holds no grade but 1 for metrics of 1-5, which is the worst of 1-5 or the "
            "best of 0-1: add --scale own or --scale unit."
        )
    return "unit" if on_unit else "own"


def _read(text: str, cell: Cell) -> object:
    plain = text.strip().casefold()
    if plain in _NULLS or plain.startswith(_NOT_APPLICABLE):
        return NULL
    if plain == "failed" or plain.startswith(_JUDGE_FAILED):
        return failure(cell.reason or text)
    if plain in ("true", "false"):
        return plain == "true"
    if plain in ("nan", ""):
        return math.nan
    if _NUMBER.fullmatch(plain):
        return float(plain.replace(",", "."))
    raise ValueError


def failure(text: str) -> Failed:
    """A failed grade from what a tool says about it."""
    return Failed(
        error_kind="unreadable",
        error=_without(_JUDGE_FAILED, text) or "The judge gave no usable grade.",
    )


def _without(start: str, text: str) -> str:
    plain = text.strip()
    if plain.casefold().startswith(start):
        return plain[len(start) :].lstrip(" :")
    return plain


def _unsaid(where: str, options: ReadingOptions) -> Grade | None:
    if options.nan is None:
        raise InputError(
            f"{where} holds no value and no word why: say what that means with --nan "
            "not-applicable, --nan failed or --nan unasked."
        )
    if options.nan == "unasked":
        return None
    if options.nan == "failed":
        return Failed(error_kind="unreadable", error=f"{where} holds no value.")
    return NotApplicable(reason=f"{where} holds no value.")


def _binary(value: float, row: Metric, where: str, threshold: float | None) -> int:
    if value in (0, 1):
        return int(value)
    if not 0 < value < 1:
        raise InputError(
            f"{where} holds {value:g}, which is no grade of {row.name} ({row.scale}) and no share: "
            f"correct it, or leave the metric out with --column {row.name}=."
        )
    if threshold is None:
        raise InputError(
            f"{where} holds {value:g}, which is no grade of {row.name} ({row.scale}): say from "
            f"which share on it counts as 1, e.g. --threshold {row.name}=0.9, or leave the metric "
            f"out with --column {row.name}=."
        )
    return int(value >= threshold)


def _one_to_five(value: float, row: Metric, where: str, unit: Unit) -> int:
    low, *_, high = row.scale.values
    number = low + value * (high - low) if unit == "unit" else value
    if math.isfinite(number) and abs(number - round(number)) <= _CLOSE:
        grade = round(number)
        if grade in row.scale.values:
            return grade
    scale = "0-1 in steps of 0.25" if unit == "unit" else str(row.scale)
    hint = ""
    if unit == "own" and 0 <= value < 1 and (value * (high - low)).is_integer():
        hint = "add --scale unit if its grades stand on 0-1, or "
    raise InputError(
        f"{where} holds {value:g}, which is no grade of {row.name} ({scale}): {hint}correct it, or "
        f"leave the metric out with --column {row.name}=."
    )
