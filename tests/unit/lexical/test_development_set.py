"""The sixteen unit tests of the development set, by the pass rules of the GroUSE paper."""

from __future__ import annotations

import json
import operator
import re
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.grades import Failed, Grade, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, MetricName
from grouse_adapters.core.sample import sample_from_row
from grouse_adapters.lexical.grader import LexicalGrader

DATA = Path(__file__).parents[2] / "data" / "unit_tests_dev.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()
]
JUDGED: tuple[MetricName, ...] = tuple(metric.name for metric in JUDGED_METRICS)
OPERATORS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KNOWN_MISSES: set[tuple[str, str]] = set()


def passes(condition: str, grade: Grade) -> bool:
    if isinstance(grade, Failed):
        return False
    if isinstance(grade, NotApplicable) or condition == "==None":
        return isinstance(grade, NotApplicable) and condition == "==None"
    match = re.fullmatch(r"(==|<=|>=|<|>)(\d)", condition)
    assert match
    return bool(OPERATORS[match[1]](grade.value, int(match[2])))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["metadata"]["test_type"])
def test_conditions_hold(row: dict[str, Any]) -> None:
    grades, _ = LexicalGrader().grade(sample_from_row(row), JUDGED)
    test_type = row["metadata"]["test_type"]
    missed = {
        (test_type, metric)
        for metric in JUDGED
        if not passes(row["conditions"][f"{metric}_condition"], grades[metric])
    }
    assert missed == {miss for miss in KNOWN_MISSES if miss[0] == test_type}, grades


def test_sixteen_tests_are_read() -> None:
    assert len(ROWS) == 16
