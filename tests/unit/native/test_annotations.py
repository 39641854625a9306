"""Annotation lines: read, written, and refused in one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouse_adapters.core.errors import InputError
from grouse_adapters.native.annotations import (
    AnnotatedStatement,
    Annotation,
    read_annotations,
    write_annotations,
)

SHARES = {
    "test_id": "mill/1",
    "annotator": "ada",
    "source": "human",
    "answer_relevancy": 0.8,
    "faithfulness": 1,
}
STATEMENTS = {
    "test_id": "mill/1",
    "annotator": "bo",
    "source": "by construction",
    "statements": [{"text": "It turns.", "relevant": True, "faithful": False}],
}


def lines(folder: Path, *rows: Any) -> Path:
    path = folder / "annotations.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_both_forms_are_read_and_written_as_they_were(tmp_path: Path) -> None:
    nothing_said = {**STATEMENTS, "test_id": "mill/2", "statements": []}
    no_share = {**SHARES, "test_id": "mill/2", "answer_relevancy": None, "faithfulness": None}
    rows = [SHARES, STATEMENTS, nothing_said, no_share]
    found = read_annotations(lines(tmp_path, *rows))
    assert found[0].faithfulness == 1.0
    assert found[0].statements is None
    assert found[1].statements == (
        AnnotatedStatement(text="It turns.", relevant=True, faithful=False),
    )
    assert found[2].statements == ()
    assert [json.loads(line) for line in write_annotations(found).splitlines()] == rows


def test_a_gzip_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(SHARES).encode()))
    assert len(read_annotations(path)) == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({**SHARES, "faithfulness": 80}, "'faithfulness' is 80: write a share from 0 to 1."),
        ({**SHARES, "faithfulness": -0.1}, "'faithfulness' is -0.1: write a share from 0 to 1."),
        ({**SHARES, "faithfulness": float("nan")}, "'faithfulness' is nan: write a share"),
        ({**SHARES, "faithfulness": "0.5"}, "'faithfulness' is \"0.5\": write a share"),
        ({**SHARES, "faithfulness": True}, "'faithfulness' is true: write a share"),
        ({**SHARES, "source": "me"}, '\'source\' is "me": write "human" or "by construction".'),
        ({**SHARES, "annotator": ""}, "'annotator' must be text, and not empty."),
        ({**SHARES, "test_id": 4}, "'test_id' must be text, and not empty."),
        ({k: v for k, v in SHARES.items() if k != "annotator"}, "'annotator' is missing: add it."),
        ({**SHARES, "relevancy": 1}, "'relevancy' is no field of an annotation: use test_id, "),
        ({**SHARES, "statements": []}, "it has both statements and shares: keep one of the two."),
        (
            {k: v for k, v in STATEMENTS.items() if k != "statements"},
            "it has neither statements nor shares: add 'statements', or both shares.",
        ),
        ({**STATEMENTS, "statements": "It turns."}, "'statements' must be a list of objects"),
        ({**STATEMENTS, "statements": ["It turns."]}, "'statements.1' must be an object with text"),
        (
            {**STATEMENTS, "statements": [{"text": "It turns.", "relevant": "yes"}]},
            "'statements.1.relevant' is \"yes\": write true or false.",
        ),
        (
            {**STATEMENTS, "statements": [{"text": "It.", "relevant": True, "true": True}]},
            "'statements.1.faithful' is missing: add it.",
        ),
        ([1], "an annotation must be an object with named fields."),
    ],
)
def test_what_is_no_annotation_is_told_with_its_line(row: Any, told: str, tmp_path: Path) -> None:
    path = lines(tmp_path, SHARES, row)
    with pytest.raises(InputError) as raised:
        read_annotations(path)
    assert str(raised.value).startswith(f"{path}, line 2: {told}")
    assert str(raised.value).endswith(".")


def test_an_annotator_who_is_there_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'ada' annotated 'mill/1' on line 1 already"):
        read_annotations(lines(tmp_path, SHARES, STATEMENTS, SHARES))


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no annotations"):
        read_annotations(lines(tmp_path))


SHARE = st.none() | st.floats(0, 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
FORMS = st.one_of(
    st.fixed_dictionaries({"answer_relevancy": SHARE, "faithfulness": SHARE}),
    st.fixed_dictionaries(
        {
            "statements": st.lists(
                st.builds(
                    AnnotatedStatement, text=TEXT, relevant=st.booleans(), faithful=st.booleans()
                ),
                max_size=3,
            ).map(tuple)
        }
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(FORMS, min_size=1, max_size=4), TEXT)
def test_written_lines_give_the_annotations_back(
    tmp_path_factory: pytest.TempPathFactory, forms: list[dict[str, Any]], annotator: str
) -> None:
    annotations = [
        Annotation(test_id=str(number), annotator=annotator, source="human", **form)
        for number, form in enumerate(forms)
    ]
    path = tmp_path_factory.mktemp("annotations") / "annotations.jsonl"
    path.write_text(write_annotations(annotations), encoding="utf-8")
    assert read_annotations(path) == annotations
