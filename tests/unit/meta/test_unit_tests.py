"""Unit tests as files: read, named, put into sets, written and read again."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_results import JUDGED, unit_tests

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.test_types import TEST_TYPES
from grouse_adapters.meta.unit_tests import (
    read_unit_tests,
    unit_tests_from_rows,
    write_unit_tests,
)

DEVELOPMENT = Path(__file__).parents[2] / "data" / "unit_tests_dev.jsonl"


def row(
    question: str = "When?", test_type: str | None = "Highest marks 1", **changes: Any
) -> dict[str, Any]:
    metadata = changes.pop("metadata", {})
    if test_type is not None:
        metadata = {"test_type": test_type, **metadata}
    return {
        "references": ["At noon."],
        "input": question,
        "expected_output": "At noon [1].",
        "actual_output": "At noon [1].",
        "conditions": {f"{metric}_condition": "==None" for metric in JUDGED},
        "metadata": metadata,
        **changes,
    }


def test_the_development_file_is_read() -> None:
    tests = read_unit_tests(DEVELOPMENT)
    assert [test.test_type for test in tests] == list(TEST_TYPES)
    assert [test.id for test in tests] == [f"a1/{number}" for number in range(1, 17)]
    assert {test.set_id for test in tests} == {"a1"}
    for test in tests:
        assert test.conditions == TEST_TYPES[test.test_type].conditions
        assert test.failure_modes == TEST_TYPES[test.test_type].failure_modes
        assert test.sample.id == test.id


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_what_is_written_is_read_again(tmp_path: Path, packed: bool) -> None:
    tests = [*read_unit_tests(DEVELOPMENT), *unit_tests(2)]
    tests = [
        test.model_copy(update={"id": name, "sample": test.sample.model_copy(update={"id": name})})
        for name, test in zip(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV", tests, strict=True
        )
    ]
    path = tmp_path / ("tests.jsonl.gz" if packed else "tests.jsonl")
    text = write_unit_tests(tests).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert read_unit_tests(path) == tests


def test_annotations_and_other_metadata_are_kept() -> None:
    given = row(
        id=7,
        annotations=[{"annotator": "a"}],
        metadata={"goal": "See it.", "set_id": 3, "failure_modes": ["FM6"], "author": "b"},
    )
    (test,) = unit_tests_from_rows([given])
    assert (test.id, test.set_id, test.goal) == ("7", "3", "See it.")
    assert test.failure_modes == ("FM6",)
    assert test.annotations == [{"annotator": "a"}]
    assert test.sample.metadata == {"author": "b"}
    assert unit_tests_from_rows([test.as_row()]) == [test]


def test_a_set_is_a_question_and_a_repeated_type_starts_the_next() -> None:
    rows = [
        row("When?", "Highest marks 1"),
        row("Where?", "Highest marks 1"),
        row("When?", "Highest marks 2"),
        row("When?", "highest_marks 1"),  # the first type again, written in another way
        row("When?", "Highest marks 2"),
        row("Where?", "Low usefulness 1"),
    ]
    assert [test.id for test in unit_tests_from_rows(rows)] == [
        "set-1/1",
        "set-2/1",
        "set-1/2",
        "set-3/1",
        "set-3/2",
        "set-2/13",
    ]


def test_types_of_ones_own_and_tests_without_a_type() -> None:
    rows = [
        row("When?", "Is rude"),
        row("When?", "Is  very rude!"),
        row("Where?", None),
        row("Where?", None),
    ]
    tests = unit_tests_from_rows(rows)
    assert [(test.id, test.test_type) for test in tests] == [
        ("set-1/is-rude", "Is rude"),
        ("set-1/is-very-rude", "Is  very rude!"),
        ("set-2/test-1", "Test 1"),
        ("set-2/test-2", "Test 2"),
    ]
    assert all(test.failure_modes == () for test in tests)


def test_a_set_that_is_named_is_kept() -> None:
    rows = [row(metadata={"set_id": "bells"}), row("Where?", "!", metadata={"set_id": "bells"})]
    assert [test.id for test in unit_tests_from_rows(rows)] == ["bells/1", "bells/test"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conditions": None}, "it has no 'conditions'"),
        ({"conditions": "==5"}, "it has no 'conditions'"),
        ({"conditions": {"completeness_condition": "==5"}}, "'answer_relevancy_condition' is miss"),
        ({"actual_output": None}, "'actual_output' must be text"),
        ({"references": "At noon."}, "'references' must be a list of strings"),
        ({"metadata": []}, "'metadata' must be an object"),
        ({"metadata": {"goal": ["x"]}}, "'metadata.goal' must be text"),
        ({"metadata": {"test_type": {}}}, "'metadata.test_type' must be text"),
        ({"metadata": {"set_id": 1.5}}, "'metadata.set_id' must be text"),
        ({"metadata": {"failure_modes": "FM1"}}, "'metadata.failure_modes' must be a list of FM1"),
        ({"metadata": {"failure_modes": ["FM8"]}}, "'metadata.failure_modes' must be a list"),
        ({"metadata": {"failure_modes": [["FM1"]]}}, "'metadata.failure_modes' must be a list"),
    ],
)
def test_every_error_names_the_row(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^Row 2: .*{re.escape(message)}"):
        unit_tests_from_rows([row("Where?"), {**row(), **change}])


def test_an_error_in_a_file_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    bad = {key: value for key, value in row().items() if key != "conditions"}
    path.write_text(f"{json.dumps(row())}\n\n{json.dumps(bad)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{path}, line 3: it has no 'conditions'")):
        read_unit_tests(path)


def test_a_row_that_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    path.write_text("[1]\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: .*must be an object"):
        read_unit_tests(path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tests.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds no unit tests"):
        read_unit_tests(path)


def test_an_id_belongs_to_one_test() -> None:
    with pytest.raises(InputError, match=r"^Row 3: the id 'a' was used on line 1 already"):
        unit_tests_from_rows([row(id="a"), row(id="b"), row("Where?", id="a")])
    # Two types of one's own whose names differ only in signs have the same id.
    with pytest.raises(InputError, match="'set-1/rude' was used on line 1 already"):
        unit_tests_from_rows([row(test_type="Rude"), row(test_type="Rude!")])


def test_any_number_of_whole_sets() -> None:
    rows = [
        {**test.as_row(), "id": None, "metadata": {"test_type": test.test_type}}
        for test in unit_tests(30)
    ]
    tests = unit_tests_from_rows(rows)
    assert Counter(test.set_id for test in tests) == {f"set-{n}": 16 for n in range(1, 31)}
