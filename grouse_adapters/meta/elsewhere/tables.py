"""Tables of grades, CSV or JSON: of people, of RAGAS, of anything that has a column per metric."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.sample import ALIASES
from grouse_adapters.meta.elsewhere.cells import NULL
from grouse_adapters.meta.elsewhere.judged import Cell, Row, Table

ID_COLUMNS: Final = ("id", "test_id", "sample_id")

_RAGAS: Final = frozenset({"user_input", "response"})
_REASON: Final = "_reason"
_REASONS: Final = "reasons"
_TEXTS: Final = frozenset(name for names in ALIASES.values() for name in names)
_NO_GRADES: Final = frozenset({*ID_COLUMNS, *_TEXTS, _REASONS, "metadata", "conditions"})


def table_of(path: Path, rows: Sequence[Mapping[str, Any]], *, from_csv: bool) -> Table:
    """A table from its rows.

    An empty cell and one that a row does not have mean that the metric was not asked, unless the
    reader is told what a NaN stands for; null means that it does not apply. RAGAS writes NaN for
    what does not apply and for what failed, and a table shows that as an empty cell or null: there
    both are a NaN, unless a column ``<metric>_reason``, or ``reasons`` by metric, says more.

    Raises:
        InputError: an id or text is of a wrong type.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    ragas = set(columns) >= _RAGAS
    made = [
        Row(
            place=(place := f"{path}, row {number}"),
            id=_id(row, place),
            texts=_texts(row),
            cells=_cells(row, empty_is_nan=ragas, from_csv=from_csv),
        )
        for number, row in enumerate(rows, start=1)
    ]
    graded = [name for name in columns if name not in _NO_GRADES and not name.endswith(_REASON)]
    return Table(path, "ragas" if ragas else "table", None, graded, made)


def rows_of_columns(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of ``{column: {row: value}}``, as pandas writes a data frame; None for others."""
    columns = list(document.values())
    if not columns or not all(isinstance(column, dict) and column for column in columns):
        return None
    numbers = list(columns[0])
    if any(
        list(column) != numbers or not number.isdecimal() for column in columns for number in column
    ):
        return None
    return [{name: document[name][number] for name in document} for number in numbers]


def checked_rows(path: Path, values: Iterable[Any]) -> list[Mapping[str, Any]]:
    """The rows of a JSON document.

    Raises:
        InputError: one is no object, or there is none.
    """
    rows: list[Mapping[str, Any]] = []
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise InputError(
                f"{path}, row {number} is no object with named fields: write one object per sample."
            )
        rows.append(value)
    if not rows:
        raise InputError(f"{path} is empty: name a file of grades.")
    return rows


def _id(row: Mapping[str, Any], place: str) -> str | None:
    found = next((row[name] for name in ID_COLUMNS if name in row), None)
    if isinstance(found, float) and found.is_integer():  # a column of a data frame with gaps
        found = int(found)
    if found is None or (isinstance(found, str) and not found.strip()):
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise InputError(f"{place} has an id that is neither text nor a whole number: correct it.")
    return str(found).strip()


def _texts(row: Mapping[str, Any]) -> dict[Any, Any]:
    texts: dict[Any, Any] = {}
    for field, names in ALIASES.items():
        value = next((row[name] for name in names if row.get(name) is not None), None)
        if field == "references":
            value = _list(value)
        if isinstance(value, str | tuple):
            texts[field] = value
    return texts


def _list(value: Any) -> tuple[str, ...] | None:
    """References, also where a table turned the list into a text."""
    if isinstance(value, str):
        value = _literal(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    return None


def _literal(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def _cells(row: Mapping[str, Any], *, empty_is_nan: bool, from_csv: bool) -> dict[str, Cell]:
    reasons = row.get(_REASONS)
    if isinstance(reasons, str):
        reasons = _literal(reasons)
    if not isinstance(reasons, dict):
        reasons = {}
    cells = {}
    for name, value in row.items():
        if name in _NO_GRADES:
            continue
        reason = row.get(f"{name}{_REASON}") or reasons.get(name)
        reason = reason if isinstance(reason, str) else ""
        empty = value is None or (isinstance(value, str) and not value.strip())
        if not empty:
            cells[name] = Cell(value, reason)
        elif not from_csv and value is None and not empty_is_nan and not reason:
            cells[name] = Cell(NULL)
        else:
            cells[name] = Cell(math.nan, reason, blank=not empty_is_nan)
    return cells
