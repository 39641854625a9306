"""Results of DeepEval: what ``evaluate`` returns as JSON, and the files of a test run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRICS
from grouse_adapters.meta.elsewhere.cells import failure
from grouse_adapters.meta.elsewhere.judged import Cell, Row, Table

# DeepEval writes one model under two sets of names.
_METRICS: Final = ("metricsData", "metrics_data")
_CASES: Final = ("testCases", "test_results")
_WRAPPER: Final = "testRunData"
_FIELDS: Final = {
    "input": ("input",),
    "actual_output": ("actualOutput", "actual_output"),
    "expected_output": ("expectedOutput", "expected_output"),
    "references": ("retrievalContext", "retrieval_context"),
}
# How our metrics begin their reason: the grade as it was, before strict mode.
_OURS: Final = "grouse_"
_WIDE: Final = {metric.key for metric in METRICS.values() if len(metric.scale.values) > 2}
_GRADE: Final = re.compile(r"grade (\d) \([^)]*\)(?:: )?")
_MODEL: Final = re.compile(r" \(fingerprint [0-9a-f]+\)$")


def deepeval_cases(document: Any) -> list[Any] | None:
    """The test cases in a document; None when DeepEval did not write it."""
    if isinstance(document, list):
        ours = document and all(isinstance(c, dict) and _metrics(c) is not None for c in document)
        return document if ours else None
    if not isinstance(document, dict):
        return None
    if _metrics(document) is not None:  # one result alone
        return [document]
    inner = document.get(_WRAPPER, document)
    if not isinstance(inner, dict):
        return None
    cases = next((inner[name] for name in _CASES if isinstance(inner.get(name), list)), None)
    return cases if cases is None or all(isinstance(case, dict) for case in cases) else None


def deepeval_table(path: Path, cases: Sequence[Mapping[str, Any]]) -> Table:
    """A table from DeepEval's test cases.

    A metric that was skipped is not asked. One without a score does not apply when its reason says
    so, and failed when it has an error; scores of our metrics are on 0-1.

    Raises:
        InputError: there is no test case.
    """
    if not cases:
        raise InputError(f"{path} holds no test cases: name the file of a finished test run.")
    judges = dict.fromkeys(
        _MODEL.sub("", model)
        for case in cases
        for metric in _metrics(case) or ()
        if (model := _first(metric, ("evaluationModel", "evaluation_model")))
    )
    rows = [_row(path, number, case) for number, case in enumerate(cases, start=1)]
    columns = dict.fromkeys(name for row in rows for name in row.cells)
    judge = next(iter(judges)) if len(judges) == 1 else None
    return Table(path, "deepeval", judge, list(columns), rows)


def _row(path: Path, number: int, case: Mapping[str, Any]) -> Row:
    texts: dict[Any, Any] = {}
    for field, names in _FIELDS.items():
        value = _first(case, names)
        if field == "references" and isinstance(value, list):
            value = tuple(map(_reference, value))
        if isinstance(value, str | tuple):
            texts[field] = value
    metadata = case.get("metadata")
    name = metadata.get("id") if isinstance(metadata, dict) else None
    if name is None:
        name = case.get("name")
    place = f"{path}, test case {number}"
    cells = {str(metric["name"]): _cell(metric) for metric in _named(_metrics(case) or ())}
    return Row(place, None if name is None else str(name), texts, cells)


def _cell(metric: Mapping[str, Any]) -> Cell:
    error, reason = metric.get("error"), metric.get("reason") or ""
    if error:
        return Cell(failed=failure(str(error)))
    if not str(metric["name"]).startswith(_OURS):
        return Cell(metric.get("score"), reason)
    said = _GRADE.match(reason)
    if said is not None:
        return Cell(int(said[1]), reason[said.end() :], unit="own")
    score = metric.get("score")
    strict = _first(metric, ("strictMode", "strict_mode"))
    if strict and score == 0 and metric["name"] in _WIDE:
        # strict mode makes 0 of every grade but the best, and the reason was left out
        return Cell("0 of strict mode, which hides the grade", reason)
    return Cell(score, reason, unit="unit")


def _reference(part: Any) -> str:
    # a passage may come with its source
    return str(part.get("context", "")) if isinstance(part, dict) else str(part)


def _named(metrics: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    return (metric for metric in metrics if isinstance(metric, dict) and metric.get("name"))


def _metrics(case: Mapping[str, Any]) -> list[Any] | None:
    found = _first(case, _METRICS)
    return found if isinstance(found, list) else None


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)
