"""Any file of grades as judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.pipeline import derive
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere import cells, files
from grouse_adapters.meta.elsewhere.columns import choose_columns
from grouse_adapters.meta.elsewhere.deepeval import deepeval_cases, deepeval_table
from grouse_adapters.meta.elsewhere.judged import (
    Cell,
    Grades,
    Judged,
    ReadingOptions,
    Row,
    Table,
    Unit,
)
from grouse_adapters.meta.elsewhere.matching import has_texts, matched
from grouse_adapters.meta.elsewhere.own import JUDGEMENTS_FILE, is_ours, read_own
from grouse_adapters.meta.elsewhere.reference import (
    EVALUATIONS_FILE,
    META_EVALUATIONS_FILE,
    is_reference,
    reference_table,
    refuse_outcomes,
)
from grouse_adapters.meta.elsewhere.tables import checked_rows, rows_of_columns, table_of

_DEFAULTS: Final = ReadingOptions()
_DERIVED: Final = tuple(name for name in METRIC_NAMES if not METRICS[name].judged)


def read_judged(
    path: str | Path,
    *,
    samples: Sequence[Sample] | None = None,
    options: ReadingOptions = _DEFAULTS,
    judge: str | None = None,
) -> Judged:
    """The judgements in a file, whoever made them.

    Read are: the folder of a run of ours, its ``judgements.jsonl``, files of live judging; the
    folder that ``grouse evaluate`` of the paper's package wrote, or its ``evaluations.jsonl``; a
    RAGAS result as CSV, JSON or JSON lines; DeepEval's test run file, or an ``EvaluationResult``
    as JSON; any CSV table, JSON array or JSON lines with one row per sample and one column per
    metric. docs/align.md says how columns and cells are understood.

    Args:
        path: the file or folder.
        samples: what was judged, each with an id of its own (of unit tests:
            ``[test.sample for test in tests]``). Rows are matched to them by id, else by texts.
            None: the file's own ids and texts stand.
        options: what the file cannot say of itself.
        judge: name of the judge; None: what the file says, else the name of the file.

    Raises:
        InputError: the file cannot be read, a value cannot be a grade, or a row belongs to no
            sample, several, or the same as another. One sentence that says what to do.
    """
    path = Path(path)
    found = _open(path)
    if isinstance(found, Path):
        own = read_own(found, samples)
        return own if judge is None else replace(own, judge=judge)
    return _judged(found, samples, options, judge, strict=True)


def read_all(
    paths: Sequence[str | Path],
    *,
    samples: Sequence[Sample] | None = None,
    options: ReadingOptions = _DEFAULTS,
) -> list[Judged]:
    """Several files, as ``read_judged`` reads each, that shall be compared.

    Without ``samples``, tables without ids take those of a run that is among the files. A column
    that ``options`` name must be in one of the files.

    Raises:
        InputError: as ``read_judged``.
    """
    opened = [(Path(path), _open(Path(path))) for path in paths]
    done = {path: read_own(path, samples) for _, path in opened if isinstance(path, Path)}
    if samples is None and done:
        first = next(iter(done.values()))
        own = [row.sample.model_copy(update={"id": row.id}) for row in first.judgements]
    else:
        own = None
    read: list[Judged] = []
    for _, found in opened:
        if isinstance(found, Path):
            read.append(done[found])
            continue
        # rows of a run stand in the order in which they were complete: texts alone may match them
        by_texts = all(row.id is None and has_texts(row) for row in found.rows)
        given = own if samples is None and by_texts else samples
        read.append(_judged(found, given, options, None, strict=False))
    for metric, column in options.columns.items():
        if column and not any(judged.columns.get(metric) == column for judged in read):
            raise InputError(f"No file has a column {column!r}, which --column {metric} names.")
    return read


def _open(path: Path) -> Table | Path:
    """A foreign file as a table; of judgements of ours the path."""
    if path.is_dir():
        if (path / JUDGEMENTS_FILE).exists():
            return path
        for name in (EVALUATIONS_FILE, META_EVALUATIONS_FILE):
            if (path / name).exists():
                path = path / name
                break
        else:
            raise InputError(f"{path} holds no run: name the folder of a run, or a file of grades.")
    text = files.read_text(path)
    if is_ours(text):
        return path
    if not files.is_json(text):
        _, rows = files.read_csv(path, text)
        return table_of(path, rows, from_csv=True)
    document = files.read_json(path, text)
    cases = deepeval_cases(document)
    if cases is not None:
        return deepeval_table(path, cases)
    return _json_table(path, document)


def _json_table(path: Path, document: Any) -> Table:
    values = document if isinstance(document, list) else [document]
    if isinstance(document, dict):
        values = rows_of_columns(document) or values
    rows = checked_rows(path, values)
    refuse_outcomes(path, rows)
    if all(map(is_reference, rows)):
        return reference_table(path, rows)
    return table_of(path, rows, from_csv=False)


def _judged(
    table: Table,
    samples: Sequence[Sample] | None,
    options: ReadingOptions,
    judge: str | None,
    *,
    strict: bool,
) -> Judged:
    columns, notes = choose_columns(table, options, strict=strict)
    understood = [_understood(row, columns) for row in table.rows]
    units = _units(table, columns, understood, options)
    found = matched(table.path, table.rows, samples, in_order=options.in_order)
    name = judge or table.judge or _name(table.path)
    judgements = []
    for row, said, sample in zip(table.rows, understood, found, strict=True):
        grades = _grades(row, said, columns, options, units)
        judgements.append(Judgement(id=sample.id, sample=sample, grades=grades, judge=name))
    there = {row.id for row in judgements}
    return Judged(
        path=table.path,
        origin=table.origin,
        judge=name,
        judgements=judgements,
        columns=columns,
        missing=[str(sample.id) for sample in samples or () if sample.id not in there],
        notes=notes,
    )


def _understood(row: Row, columns: Mapping[MetricName, str]) -> dict[MetricName, Cell]:
    said: dict[MetricName, Cell] = {}
    for metric, column in columns.items():
        if column not in row.cells:
            continue
        try:
            said[metric] = cells.settled(row.cells[column])
        except ValueError:
            raise InputError(
                f"{_where(row, column)} holds {str(row.cells[column].value)[:40]!r}, which is no "
                f"grade of {metric} ({METRICS[metric].scale}): correct it, or leave the metric out "
                f"with --column {metric}=."
            ) from None
    return said


def _grades(
    row: Row,
    said: Mapping[MetricName, Cell],
    columns: Mapping[MetricName, str],
    options: ReadingOptions,
    units: Mapping[MetricName, Unit],
) -> Grades:
    found: Grades = {}
    for metric, cell in said.items():
        where = _where(row, columns[metric])
        grade = cells.grade_of(cell, metric, where=where, options=options, unit=units[metric])
        if grade is not None:
            found[metric] = grade
    if "answer_relevancy" in found and "completeness" in found:
        derived = derive(found["answer_relevancy"], found["completeness"])
        for metric in _DERIVED:
            if metric not in found and options.columns.get(metric) != "":
                found[metric] = derived[metric]
    return {metric: found[metric] for metric in METRIC_NAMES if metric in found}


def _units(
    table: Table,
    columns: Mapping[MetricName, str],
    rows: Sequence[Mapping[MetricName, Cell]],
    options: ReadingOptions,
) -> dict[MetricName, Unit]:
    """The unit of each metric's numbers. Our own metrics of 1-5 write either."""
    units: dict[MetricName, Unit] = dict.fromkeys(columns, "own")
    wide = [metric for metric in columns if len(METRICS[metric].scale.values) > 2]
    if options.scale is not None:
        return units | dict.fromkeys(wide, options.scale)
    ours = [metric for metric in wide if columns[metric] == METRICS[metric].key]
    place = str(table.path)
    found = cells.unit_of(_numbers(rows, ours), place=place)
    if table.origin in ("ragas", "deepeval"):
        for metric in wide:
            # their own metrics of these names are shares: 1 would be their best
            if metric not in ours and set(_numbers(rows, [metric])) == {1.0}:
                cells.unit_of([1.0], place=place)
    return units | dict.fromkeys(ours, found)


def _numbers(
    rows: Sequence[Mapping[MetricName, Cell]], metrics: Sequence[MetricName]
) -> list[float]:
    """The numbers whose unit the file does not tell."""
    return [
        float(cell.value)
        for row in rows
        for metric in metrics
        if (cell := row.get(metric)) is not None
        and cell.failed is None
        and cell.unit is None
        and isinstance(cell.value, int | float)
        and not isinstance(cell.value, bool)
        and not math.isnan(cell.value)
    ]


def _where(row: Row, column: str) -> str:
    return f"{row.place}, column {column!r}"


def _name(path: Path) -> str:
    """Of ``gpt-4/evaluations.jsonl`` the folder says more than the file."""
    if path.name in (EVALUATIONS_FILE, META_EVALUATIONS_FILE):
        return path.resolve().parent.name
    stem = path.name.removesuffix(".gz")
    return stem.rsplit(".", 1)[0] or stem
