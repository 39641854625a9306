"""Unit tests of judges, in the JSON-lines form of the dataset illuin/grouse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.core.readers import read_json_lines
from grouse_adapters.core.sample import Sample, sample_from_row
from grouse_adapters.meta.conditions import Conditions, Outcome
from grouse_adapters.meta.test_types import FAILURE_MODES, type_named


class UnitTest(BaseModel):
    """One unit test.

    Attributes:
        id: its name in runs and reports, and the id of its sample.
        set_id: the set it belongs to.
        test_type: the name of its type, e.g. ``Low faithfulness 1``.
        sample: what the judge gets to see.
        conditions: what its grades must fulfil.
        goal: what the test is for, in words; may be empty.
        failure_modes: what the answer does wrong (``FM1`` to ``FM7``): from the metadata, else
            from the type.
        annotations: the row's own annotations, as they stand.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    set_id: str
    test_type: str
    sample: Sample
    conditions: Conditions
    goal: str = ""
    failure_modes: tuple[str, ...] = ()
    annotations: Any = None

    def as_row(self) -> dict[str, Any]:
        """The dataset's line, with ``id`` and ``metadata.set_id``; reading it gives this test."""
        row: dict[str, Any] = {
            "id": self.id,
            "references": list(self.sample.references),
            "input": self.sample.input,
            "expected_output": self.sample.expected_output,
            "actual_output": self.sample.actual_output,
            "conditions": self.conditions.as_row(),
            "metadata": {
                **self.sample.metadata,
                "test_type": self.test_type,
                "goal": self.goal,
                "set_id": self.set_id,
                "failure_modes": list(self.failure_modes),
            },
        }
        if self.annotations is not None:
            row["annotations"] = self.annotations
        return row

    def outcomes(self, judgement: Judgement) -> dict[MetricName, Outcome]:
        """How each metric that the judgement holds fared, in table order."""
        return {
            metric: self.conditions.of(metric).outcome(judgement.grades[metric])
            for metric in METRIC_NAMES
            if metric in judgement.grades
        }


def read_unit_tests(path: str | Path) -> list[UnitTest]:
    """The unit tests of a JSON-lines file, plain or gzip.

    Raises:
        InputError: the file cannot be read, or a line is not a unit test; the line is named.
    """
    path = Path(path)
    tests = list(_named(path, read_json_lines(path)))
    if not tests:
        raise InputError(f"{path} holds no unit tests: write one JSON object per line.")
    return tests


def unit_tests_from_rows(rows: Iterable[Mapping[str, Any]]) -> list[UnitTest]:
    """Unit tests from the dataset's rows; errors name the row, from 1.

    Raises:
        InputError: a row is not a unit test, or two have the same id.
    """
    return list(_named(None, enumerate(rows, start=1)))


def write_unit_tests(tests: Iterable[UnitTest]) -> str:
    """The tests as JSON lines."""
    return "".join(json.dumps(test.as_row(), ensure_ascii=False) + "\n" for test in tests)


def _named(path: Path | None, rows: Iterable[tuple[int, Any]]) -> Iterator[UnitTest]:
    """Reads row after row; ids and sets that are not given follow from the rows before."""
    seen: dict[str, int] = {}
    sets = _Sets()
    for number, row in rows:
        place = f"Row {number}" if path is None else f"{path}, line {number}"
        try:
            test = _unit_test(row, sets)
            first = seen.setdefault(test.id, number)
            if first != number:
                raise InputError(
                    f"the id {test.id!r} was used on line {first} already: give every test an id "
                    "of its own."
                )
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        yield test


class _Sets:
    """Finds the set of a row that names none."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[str, tuple[str, set[str]]] = {}
        self._sizes: dict[str, int] = {}

    def place(self, question: str, test_type: str) -> str:
        """Tests that share the question form a set; a repeated type starts the next one."""
        found = self._open.get(question)
        if found is None or (test_type and test_type in found[1]):
            self._count += 1
            found = self._open[question] = (f"set-{self._count}", set())
        found[1].add(test_type)
        return found[0]

    def position(self, set_id: str) -> int:
        """The 1-based place of the next test in its set."""
        self._sizes[set_id] = self._sizes.get(set_id, 0) + 1
        return self._sizes[set_id]


def _unit_test(row: Any, sets: _Sets) -> UnitTest:
    sample = sample_from_row(row)
    given = row.get("conditions")
    if not isinstance(given, Mapping):
        raise InputError(
            "it has no 'conditions': a unit test says what each grade must fulfil; to judge "
            "samples, use 'grouse-adapters evaluate'."
        )
    metadata = dict(sample.metadata)
    test_type = _text(metadata, "test_type").strip()
    goal = _text(metadata, "goal")
    known = type_named(test_type)
    test_type = known.name if known else test_type
    set_id = _text(metadata, "set_id").strip() or sets.place(sample.input, test_type)
    position = sets.position(set_id)
    test_type = test_type or f"Test {position}"
    modes = metadata.pop("failure_modes", None)
    number = known.number if known else _slug(test_type)
    identifier = sample.id or f"{set_id}/{number}"
    return UnitTest(
        id=identifier,
        set_id=set_id,
        test_type=test_type,
        sample=sample.model_copy(update={"id": identifier, "metadata": metadata}),
        conditions=Conditions.parse(given),
        goal=goal,
        failure_modes=_failure_modes(modes) if modes is not None else _of_type(test_type),
        annotations=row.get("annotations"),
    )


def _text(metadata: dict[str, Any], key: str) -> str:
    value = metadata.pop(key, None)
    if value is None:
        return ""
    if not isinstance(value, str | int):
        raise InputError(f"'metadata.{key}' must be text.")
    return str(value)


def _failure_modes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(mode, str) and mode in FAILURE_MODES for mode in value
    ):
        raise InputError(f"'metadata.failure_modes' must be a list of {', '.join(FAILURE_MODES)}.")
    return tuple(value)


def _of_type(test_type: str) -> tuple[str, ...]:
    known = type_named(test_type)
    return known.failure_modes if known else ()


def _slug(name: str) -> str:
    return re.sub(r"[^\w]+", "-", name.casefold()).strip("-") or "test"
