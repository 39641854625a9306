"""Tables of grades that anybody may write: columns, cells, ids, texts, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere import Judged, ReadingOptions, read_all, read_judged

FAILED, UNASKED = "failed", "-"


def sample(name: str | None, answer: str = "At noon [1].", **more: Any) -> Sample:
    given = {"references": ("The bell rings at noon.",), **more}
    return Sample(id=name, input="When does the bell ring?", actual_output=answer, **given)


SAMPLES = [sample("a"), sample("b", "At ten [1]."), sample("c", "No document answers.")]


def write(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def lines(folder: Path, *rows: dict[str, Any], name: str = "people.jsonl") -> Path:
    return write(folder, "".join(json.dumps(row) + "\n" for row in rows), name)


def cell(row: Judgement, metric: MetricName) -> Any:
    grade = row.grades.get(metric)
    if grade is None:
        return UNASKED
    return {Graded: row.value(metric), NotApplicable: None, Failed: FAILED}[type(grade)]


def column(judged: Judged, metric: MetricName) -> list[Any]:
    return [cell(row, metric) for row in judged.judgements]


# --- columns ---


@pytest.mark.parametrize(
    "name", ["faithfulness", "Faithfulness", "grouse_faithfulness", "F", " faithfulness "]
)
def test_a_column_is_found_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    judged = read_judged(write(tmp_path, f"id,{name}\na,1\nb,0\n"))
    assert column(judged, "faithfulness") == [1, 0]


def test_every_metric_has_its_names(tmp_path: Path) -> None:
    wanted = {name: METRICS[name].scale.values[-1] for name in METRIC_NAMES}
    for spelled in (
        [METRICS[name].short for name in METRIC_NAMES],
        [METRICS[name].title for name in METRIC_NAMES],
        [name.replace("_", "-") for name in METRIC_NAMES],
        list(METRIC_NAMES),
    ):
        row = ",".join(str(value) for value in wanted.values())
        judged = read_judged(write(tmp_path, f"id,{','.join(spelled)}\na,{row}\n"))
        assert {name: judged.by_id["a"].value(name) for name in METRIC_NAMES} == wanted


def test_a_lower_case_letter_is_no_metric(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column for a metric \('f'\).*--column"):
        read_judged(write(tmp_path, "id,f\na,1\n"))


def test_a_column_can_be_named_and_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "id,score,completeness,F\na,1,4,0\n")
    options = ReadingOptions(columns={"faithfulness": "score", "completeness": ""})
    judged = read_judged(path, options=options)
    assert judged.by_id["a"].grades == {"faithfulness": Graded(value=1)}
    assert judged.columns == {"faithfulness": "score"}
    with pytest.raises(InputError, match=r"no column 'sore', which --column faithfulness names"):
        read_judged(path, options=ReadingOptions(columns={"faithfulness": "sore"}))


def test_two_columns_that_fit_alike_are_not_chosen_between(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2 columns that may hold faithfulness .*--column"):
        read_judged(write(tmp_path, "id,faithfulness,F\na,1,0\n"))


def test_a_named_column_must_be_in_one_of_several_files(tmp_path: Path) -> None:
    one = write(tmp_path, "id,score\na,1\n", "one.csv")
    other = write(tmp_path, "id,F\na,0\n", "other.csv")
    read = read_all([one, other], options=ReadingOptions(columns={"faithfulness": "score"}))
    assert [column(judged, "faithfulness") for judged in read] == [[1], [0]]
    with pytest.raises(InputError, match="No file has a column 'points'"):
        read_all([other], options=ReadingOptions(columns={"faithfulness": "points"}))


# --- cells ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *[(text, 1) for text in ("1", "1.0", " 1 ", "1,0", "true", "True", "TRUE", "1e0")],
        *[(text, 0) for text in ("0", "0.0", "false", "-0")],
        *[(text, None) for text in ("null", "None", "n/a", "N/A", "NA", "not applicable")],
        ("not applicable: it refuses", None),
        *[(text, FAILED) for text in ("failed", "Failed", "judge failed: too slow")],
        ("", UNASKED),
        ("  ", UNASKED),
    ],
)
def test_what_a_cell_of_a_binary_metric_says(tmp_path: Path, text: str, wanted: Any) -> None:
    judged = read_judged(write(tmp_path, f'id,F,U\na,"{text}",1\n'))
    assert column(judged, "faithfulness") == [wanted]


@pytest.mark.parametrize("text", ["2", "-1", "0.73", "yes", "1/5", "inf", "1_0", "½", "[1]"])
def test_what_is_no_grade_of_a_binary_metric(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"row 1, column 'F' .*faithfulness.*--column faithful"):
        read_judged(write(tmp_path, f'id,F\na,"{text}"\n'))


@pytest.mark.parametrize("text", ["0", "6", "4.5", "0.73", "true", "good"])
def test_what_is_no_grade_of_one_to_five(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"completeness \(1-5\).*--column completeness="):
        read_judged(write(tmp_path, f"id,C\na,{text}\n"))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1, 1), (0.0, 0), (True, 1), (False, 0), ("1", 1), (None, None), ("failed", FAILED)],
)
def test_what_json_says(tmp_path: Path, value: Any, wanted: Any) -> None:
    path = lines(tmp_path, {"id": "a", "faithfulness": value}, {"id": "b", "usefulness": 1})
    assert column(read_judged(path), "faithfulness") == [wanted, UNASKED]


@pytest.mark.parametrize("value", [[1], {"score": 1}])
def test_nested_values_are_no_grades(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match="row 1, column 'F'"):
        read_judged(lines(tmp_path, {"id": "a", "F": value}))


def test_true_is_no_grade_of_one_to_five(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds True"):
        read_judged(lines(tmp_path, {"id": "a", "completeness": True}))


def test_a_nan_needs_a_word_and_an_empty_cell_takes_it(tmp_path: Path) -> None:
    path = write(tmp_path, "id,F,U\na,NaN,1\nb,,1\n")
    with pytest.raises(InputError, match=r"row 1, column 'F' holds no value .*--nan failed"):
        read_judged(path)
    for nan, wanted in (("not-applicable", None), ("failed", FAILED), ("unasked", UNASKED)):
        judged = read_judged(path, options=ReadingOptions(nan=nan))  # type: ignore[arg-type]  # of a loop
        assert column(judged, "faithfulness") == [wanted, wanted]
    row = '{"id": "a", "F": NaN}\n'
    assert column(
        read_judged(write(tmp_path, row, "nan.jsonl"), options=ReadingOptions(nan="failed")),
        "faithfulness",
    ) == [FAILED]


def test_a_reason_beside_a_cell_settles_what_it_is(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "id,F,F_reason\na,,not applicable: it refuses\nb,NaN,judge failed: too slow\nc,1,Cited.\n",
    )
    found = [row.grades["faithfulness"] for row in read_judged(path).judgements]
    assert found == [
        NotApplicable(reason="it refuses"),
        Failed(error_kind="unreadable", error="too slow"),
        Graded(value=1, justification="Cited."),
    ]


def test_rows_of_a_ragas_experiment_keep_their_reasons(tmp_path: Path) -> None:
    """The rows that docs/ragas.md tells users to return."""
    path = lines(
        tmp_path,
        {
            "user_input": "When does the bell ring?",
            "response": "At noon [1].",
            "grouse_faithfulness": None,
            "grouse_usefulness": None,
            "grouse_completeness": 4,
            "reasons": {
                "grouse_faithfulness": "judge failed: too slow",
                "grouse_usefulness": "not applicable: it answers",
            },
        },
    )
    (row,) = read_judged(path, samples=SAMPLES).judgements
    assert row.id == "a"
    assert [row.grades[m].kind for m in ("completeness", "usefulness", "faithfulness")] == [
        "graded",
        "not_applicable",
        "failed",
    ]


@given(share=st.floats(0, 1), threshold=st.floats(0.01, 1))
def test_a_share_counts_from_its_threshold_on(
    tmp_path_factory: pytest.TempPathFactory, share: float, threshold: float
) -> None:
    path = lines(tmp_path_factory.mktemp("shares"), {"id": "a", "faithfulness": share})
    options = ReadingOptions(thresholds={"faithfulness": threshold})
    assert read_judged(path, options=options).by_id["a"].value("faithfulness") == int(
        share >= threshold
    )


# --- the unit of 1-5 ---


def test_our_columns_tell_their_unit_by_their_values(tmp_path: Path) -> None:
    head = "id,grouse_answer_relevancy,grouse_completeness\n"
    unit = read_judged(write(tmp_path, head + "a,1.0,0.75\nb,0.25,0\nc,0.5,1\n"))
    assert column(unit, "answer_relevancy") == [5, 2, 3]
    assert column(unit, "completeness") == [4, 1, 5]
    own = read_judged(write(tmp_path, head + "a,1,1\nb,2,1\n"))
    assert column(own, "answer_relevancy") == [1, 2]
    assert column(own, "completeness") == [1, 1]
    with pytest.raises(InputError, match="side by side"):
        read_judged(write(tmp_path, head + "a,5,0.5\n"))
    with pytest.raises(InputError, match=r"no grade but 1.*--scale own or --scale unit"):
        read_judged(write(tmp_path, head + "a,1,1\nb,1.0,\n"))
    for scale, wanted in (("own", 1), ("unit", 5)):
        options = ReadingOptions(scale=scale)  # type: ignore[arg-type]  # of a loop
        judged = read_judged(write(tmp_path, head + "a,1,1\n"), options=options)
        assert column(judged, "completeness") == [wanted]


def test_peoples_columns_are_in_their_own_unit_unless_told(tmp_path: Path) -> None:
    assert column(read_judged(write(tmp_path, "id,C\na,1\n")), "completeness") == [1]
    with pytest.raises(InputError, match="add --scale unit"):
        read_judged(write(tmp_path, "id,C\na,0.75\n"))
    told = read_judged(write(tmp_path, "id,C\na,0.75\n"), options=ReadingOptions(scale="unit"))
    assert column(told, "completeness") == [4]


def test_a_native_score_of_one_is_not_taken_for_the_worst_grade(tmp_path: Path) -> None:
    path = write(tmp_path, "user_input,response,answer_relevancy\nQ?,A.,1.0\n")
    with pytest.raises(InputError, match="no grade but 1"):
        read_judged(path)


# --- derived metrics ---


def test_derived_metrics_follow_where_they_are_not_given(tmp_path: Path) -> None:
    path = write(tmp_path, "id,AR,C,NR\na,null,5,\nb,3,null,\nc,failed,3,\nd,4,,1\n")
    judged = read_judged(path)
    assert column(judged, "positive_acceptance") == [0, None, FAILED, UNASKED]
    assert column(judged, "negative_rejection") == [None, 0, FAILED, 1]
    options = ReadingOptions(columns={"positive_acceptance": ""})
    assert column(read_judged(path, options=options), "positive_acceptance") == [UNASKED] * 4


# --- ids and texts ---


@pytest.mark.parametrize("name", ["id", "test_id", "sample_id"])
def test_ids_are_matched_to_the_samples(tmp_path: Path, name: str) -> None:
    judged = read_judged(write(tmp_path, f"{name},F\nb,1\na,0\n"), samples=SAMPLES)
    assert [row.id for row in judged.judgements] == ["b", "a"]
    assert judged.by_id["a"].sample == SAMPLES[0]
    assert judged.missing == ["c"]


@pytest.mark.parametrize("identifier", [7, 7.0, "7"])
def test_numbers_are_ids(tmp_path: Path, identifier: Any) -> None:
    assert list(read_judged(lines(tmp_path, {"id": identifier, "F": 1})).by_id) == ["7"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,F\na,1\nz,1\n", r"row 2 has the id 'z', which none of the 3 samples has"),
        ("id,F\na,1\na,0\n", r"row 2 is about the same sample as .*row 1 \('a'\)"),
        ("id,F\na,1\n,0\n", r"row 2 has no id, and other rows have one"),
        ("number,F\n1,1\n", r"without ids or texts: add an id column, or --in-order"),
        ("question,answer,F\nWhy?,Because.,1\n", r"row 1 \('Why\?'\) has a question and answer"),
        (
            "id,question,answer,F\na,When does the bell ring?,At ten [1].,1\n",
            r"row 1 \('a'\) holds another question or answer",
        ),
        ("question,answer,F\nWhy?,,1\nWhen?,At noon.,1\n", r"has a question and answer"),
    ],
)
def test_rows_that_belong_nowhere(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_judged(write(tmp_path, text), samples=SAMPLES)


def test_texts_tell_whose_grades_they_are_whatever_their_order_and_spaces(tmp_path: Path) -> None:
    text = 'query,response,F\n"When  does\nthe bell ring? ",At ten [1].,0\n'
    text += "When does the bell ring?,At noon [1].,1\n"
    judged = read_judged(write(tmp_path, text), samples=SAMPLES)
    assert [row.id for row in judged.judgements] == ["b", "a"]


def test_references_tell_equal_answers_apart_even_after_a_table_bent_them(tmp_path: Path) -> None:
    twins = [
        sample("one", "No.", references=('It\'s "so".', "Red.")),
        sample("two", "No.", references=("Blue.", "Green.")),
    ]
    row = {"user_input": twins[0].input, "response": "No.", "faithfulness": 1}
    for references in (["Blue.", "Green."], "['Blue.', 'Green.']", '["Blue.", "Green."]'):
        path = lines(tmp_path, {**row, "retrieved_contexts": references})
        assert list(read_judged(path, samples=twins).by_id) == ["two"]
    bent = repr(list(twins[0].references))
    path = lines(tmp_path, {**row, "retrieved_contexts": bent})
    assert list(read_judged(path, samples=twins).by_id) == ["one"]
    with pytest.raises(InputError, match=r"may be about 2 of the 2 samples .*add an id column"):
        read_judged(lines(tmp_path, row), samples=twins)


def test_expected_answers_tell_apart_what_references_do_not(tmp_path: Path) -> None:
    twins = [sample("one", "No.", expected_output="Red."), sample("two", "No.")]
    row = {"input": twins[0].input, "actual_output": "No.", "expected_output": "Red.", "F": 1}
    assert list(read_judged(lines(tmp_path, row), samples=twins).by_id) == ["one"]


def test_ids_that_name_nothing_give_way_to_texts(tmp_path: Path) -> None:
    row = {"id": "row 1", "question": SAMPLES[1].input, "answer": "At ten [1].", "F": 1}
    assert list(read_judged(lines(tmp_path, row), samples=SAMPLES).by_id) == ["b"]


def test_in_order_is_for_rows_that_say_nothing_of_themselves(tmp_path: Path) -> None:
    options = ReadingOptions(in_order=True)
    path = write(tmp_path, "F\n1\n0\n1\n")
    judged = read_judged(path, samples=SAMPLES, options=options)
    assert [row.id for row in judged.judgements] == ["a", "b", "c"]
    named = write(tmp_path, "id,F\nc,1\nb,0\na,1\n")
    judged = read_judged(named, samples=SAMPLES, options=options)
    assert [row.id for row in judged.judgements] == ["c", "b", "a"]


# --- whole files ---


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_of_other_countries(tmp_path: Path, delimiter: str) -> None:
    text = 'id,F,question\r\na,1,"Why, then; or\tnot?"\r\n'.replace(",", delimiter, 2)
    text = text.replace("a,1,", f"a{delimiter}1{delimiter}")
    assert column(read_judged(write(tmp_path, text)), "faithfulness") == [1]


@pytest.mark.parametrize(
    "document",
    [
        [{"id": "a", "F": 1}, {"id": "b", "F": 0}],
        {"id": {"0": "a", "1": "b"}, "F": {"0": 1, "1": 0}},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_documents_are_tables(tmp_path: Path, document: Any, indent: int | None) -> None:
    path = write(tmp_path, json.dumps(document, indent=indent), "grades.json")
    assert column(read_judged(path), "faithfulness") == [1, 0]


def test_long_cells_are_read_and_the_limit_is_put_back(tmp_path: Path) -> None:
    import csv

    before = csv.field_size_limit()
    judged = read_judged(write(tmp_path, f'id,F,references\na,1,"{"x" * 200_000}"\n'))
    assert column(judged, "faithfulness") == [1]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"id,F\n", "holds a header and no rows"),
        (b"id,F\n,\n", "holds a header and no rows"),
        ("id,F\nä,1\n".encode("latin-1"), "not UTF-8"),
        ("id,F\na,1\n".encode("utf-16"), "not UTF-8"),
        ("id,F\na,1\n".encode("utf-16-le"), "not UTF-8"),
        (b"PK\x03\x04rest", "is a workbook: export"),
        (b"PAR1rest", "is a Parquet file: export"),
        (b"SQLite format 3\0", "is a database: export"),
        (b"\x1f\x8bbroken", "cannot be unpacked"),
        (b"id,F\na,1,2\n", "row 1 has more cells than the header"),
        (b"id,F,F\na,1,1\n", "two columns named 'F'"),
        (b'id,F\n"a,1\n', "is not a CSV table"),
        (b"[]", "is empty"),
        (b"[1, 2]", "row 1 is no object"),
        (b'{"testCases": []}', "holds no test cases"),
        (b'{\n "id": "a",\n "F": 1,\n}', "is not valid JSON: .* line 4"),
        (b'{"id": "a", "F": 1}\n{"id": "b"\n', "line 2 is not valid JSON"),
        (b'{"id": true, "F": 1}', "an id that is neither text nor a whole number"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_in_one_sentence(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_judged(write(tmp_path, content))
    assert str(raised.value).endswith(".")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_judged(tmp_path / "none.csv")
