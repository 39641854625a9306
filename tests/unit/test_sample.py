"""Samples from rows of the four frameworks, and from JSON-lines files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.readers import read_lines, read_samples
from grouse_adapters.core.sample import Sample, cites, sample_from_row, samples_from_rows

ROWS: dict[str, dict[str, Any]] = {
    "dataset": {"input": "q", "references": ["r"], "expected_output": "e", "actual_output": "a"},
    "ragas": {"user_input": "q", "retrieved_contexts": ["r"], "reference": "e", "response": "a"},
    "deepeval": {
        "input": "q",
        "retrieval_context": ["r"],
        "expected_output": "e",
        "actual_output": "a",
    },
    "ragas, old": {"question": "q", "contexts": ["r"], "ground_truth": "e", "answer": "a"},
    "llama_index": {"query": "q", "contexts": ["r"], "reference": "e", "response": "a"},
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_row_of_each_framework_is_the_same_sample(row: dict[str, Any]) -> None:
    assert sample_from_row(row) == Sample(
        input="q", references=("r",), expected_output="e", actual_output="a"
    )


def test_unknown_columns_are_kept_as_metadata_and_numbers_become_ids() -> None:
    sample = sample_from_row({**ROWS["dataset"], "id": 7, "run": "b", "metadata": {"k": 1}})
    assert (sample.id, sample.metadata) == ("7", {"run": "b", "k": 1})


@pytest.mark.parametrize("references", [None, [], ()])
def test_no_references_is_a_finding_not_a_fault(references: object) -> None:
    row = {**ROWS["dataset"], "references": references, "expected_output": None}
    assert sample_from_row(row).references == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"references": "r"}, "'references' must be a list of strings, not text"),
        ({"references": ["r", 3]}, "reference 2 is a int"),
        ({"references": {"a": 1}}, "must be a list of strings, not an object"),
        ({"actual_output": None}, "'actual_output' must be text, not null"),
        ({"input": ["q"]}, "'input' must be text, not a list"),
        ({"id": 1.5}, "'id' must be text or a whole number"),
        ({"id": True}, "'id' must be text or a whole number"),
        ({"metadata": [1]}, "'metadata' must be an object"),
        ({"question": "another"}, "'input', 'question' disagree"),
        ({"actual_output": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sample_from_row({**ROWS["dataset"], **change})


@pytest.mark.parametrize(
    ("missing", "extra", "message"),
    [
        ("input", {}, "'input' is missing .also accepted: 'user_input', 'question', 'query'"),
        ("references", {}, "'references' is missing"),
        ("actual_output", {}, "'actual_output' is missing"),
        ("expected_output", {"expected_ouput": "e"}, "did you mean 'expected_output'"),
    ],
)
def test_a_missing_or_misspelt_field_is_named(
    missing: str, extra: dict[str, Any], message: str
) -> None:
    row = {key: value for key, value in ROWS["dataset"].items() if key != missing}
    with pytest.raises(InputError, match=message):
        sample_from_row({**row, **extra})


def test_rows_are_counted_from_one() -> None:
    with pytest.raises(InputError, match="Row 2: the field 'input' is missing"):
        list(samples_from_rows([ROWS["ragas"], {"response": "a"}]))


def test_equal_content_has_an_equal_hash_whatever_the_id() -> None:
    one, other = (sample_from_row({**ROWS["ragas"], "id": name}) for name in ("a", "b"))
    assert one.content_hash() == other.content_hash()
    moved = Sample(input="q", references=("r", "e"), actual_output="a")
    assert moved.content_hash() != one.content_hash()


@pytest.mark.parametrize("text", ["so [1].", "so [1, 2]", "so [ 3 ]", "so [2-4]", "x[1][2]"])
def test_a_citation_is_seen(text: str) -> None:
    assert cites(text)


@pytest.mark.parametrize("text", ["so", "a[i]", "[see below]", "(1)", "[]"])
def test_other_brackets_are_no_citation(text: str) -> None:
    assert not cites(text)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


GOOD = json.dumps(ROWS["dataset"])


@pytest.mark.parametrize(
    "content",
    [
        f"{GOOD}\n{GOOD}\n".encode(),
        f"{GOOD}\r\n\r\n{GOOD}".encode(),
        b"\xef\xbb\xbf" + f"{GOOD}\n{GOOD}\n".encode(),
        gzip.compress(f"{GOOD}\n{GOOD}\n".encode()),
    ],
    ids=["plain", "crlf, blank line, no last newline", "bom", "gzip"],
)
def test_json_lines_are_read_however_they_were_written(tmp_path: Path, content: bytes) -> None:
    assert [sample.input for sample in read_samples(write(tmp_path / "s", content))] == ["q", "q"]


def test_line_numbers_count_blank_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", f"\n{GOOD}\n\n{GOOD}\n")
    assert [line.number for line in read_lines(path)] == [2, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no samples"),
        (b"\n\n", "holds no samples"),
        (f"{GOOD}\n" * 6 + "{]", "line 7 is not valid JSON"),
        (f"{GOOD}\n[1]\n", "line 2: a sample must be an object"),
        (f"{GOOD}\n" + '{"input": "q"}', "line 2: the field 'references' is missing"),
        ("[\n" + GOOD + "\n]", "one JSON object per line"),
        (b"\xff\xfe{}", "line 1 is not UTF-8"),
        (gzip.compress(GOOD.encode())[:-12], "Is the copy complete"),
        ("[" * 100_000, "line 1 is n"),
        ("9" * 5_000, "line 1 holds a number that is too long"),
    ],
    ids=[
        "empty",
        "blank",
        "json",
        "list",
        "field",
        "document",
        "utf-16",
        "cut gzip",
        "deep",
        "number",
    ],
)
def test_a_bad_file_gets_one_sentence_with_the_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    path = write(tmp_path / "s.jsonl", content)
    with pytest.raises(InputError, match=message) as caught:
        list(read_samples(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist: check the path"):
        list(read_samples(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="is a folder"):
        list(read_samples(tmp_path))


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", f"{GOOD}\n{{]\n")
    samples = read_samples(path)
    assert next(samples).input == "q"
