"""Files that the paper's package, RAGAS and DeepEval really wrote, read back to what was told.

``tests/data/elsewhere`` holds them, and the scripts that made them.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.core.readers import read_samples
from grouse_adapters.meta.elsewhere import Judged, ReadingOptions, read_all, read_judged

FILES = Path(__file__).parents[2] / "data" / "elsewhere"
SAMPLES = list(read_samples(FILES / "samples.jsonl"))
TOLD: dict[str, list[Any]] = json.loads((FILES / "told.json").read_text(encoding="utf-8"))
FAILED, UNASKED = "failed", "-"
CONTENT = {sample.id: sample.content_hash() for sample in SAMPLES}


def cell(row: Judgement, metric: MetricName) -> Any:
    grade = row.grades.get(metric)
    if grade is None:
        return UNASKED
    return {Graded: row.value(metric), NotApplicable: None, Failed: FAILED}[type(grade)]


def grades(judged: Judged) -> dict[str | None, list[Any]]:
    return {row.id: [cell(row, metric) for metric in METRIC_NAMES] for row in judged.judgements}


def with_failures_as(value: Any) -> dict[str, list[Any]]:
    return {n: [value if g == FAILED else g for g in row] for n, row in TOLD.items()}


@pytest.mark.parametrize(
    ("name", "options", "origin", "judge"),
    [
        ("reference", ReadingOptions(in_order=True), "reference", "reference"),
        ("reference/evaluations.jsonl", ReadingOptions(in_order=True), "reference", "reference"),
        ("ragas/own_with_reasons.csv", ReadingOptions(), "ragas", "own_with_reasons"),
        ("deepeval/test_run.json", ReadingOptions(), "deepeval", "gpt-4o-mini"),
        ("deepeval/evaluation_result.json", ReadingOptions(), "deepeval", "gpt-4o-mini"),
        ("deepeval/strict.json", ReadingOptions(), "deepeval", "gpt-4o-mini"),
        ("deepeval/scores.csv", ReadingOptions(), "table", "scores"),
    ],
)
def test_a_file_that_says_everything_gives_the_told_grades(
    name: str, options: ReadingOptions, origin: str, judge: str
) -> None:
    judged = read_judged(FILES / name, samples=SAMPLES, options=options)
    assert grades(judged) == TOLD
    assert (judged.origin, judged.judge, list(judged.missing)) == (origin, judge, [])
    assert {row.id: row.sample.content_hash() for row in judged.judgements} == CONTENT
    assert {row.judge for row in judged.judgements} == {judge}


@pytest.mark.parametrize(
    "name", ["own.csv", "own.jsonl", "own.json", "own_unit_scale.csv", "both.csv"]
)
def test_ragas_tables_without_reasons_need_to_be_told_what_a_nan_is(name: str) -> None:
    path = FILES / "ragas" / name
    with pytest.raises(InputError, match=r"row 1, column 'grouse_usefulness' .*--nan not-appl"):
        read_judged(path, samples=SAMPLES)
    absent = read_judged(path, samples=SAMPLES, options=ReadingOptions(nan="not-applicable"))
    assert grades(absent) == with_failures_as(None)
    failed = grades(read_judged(path, samples=SAMPLES, options=ReadingOptions(nan="failed")))
    assert failed == {
        name: [FAILED if grade is None else grade for grade in row] for name, row in TOLD.items()
    }
    unasked = grades(read_judged(path, samples=SAMPLES, options=ReadingOptions(nan="unasked")))
    assert unasked["bridge-509"] == [1, 2, UNASKED, 0, None, None]  # derived from the first two
    assert unasked["bridge-505"] == [UNASKED, 1, UNASKED, UNASKED, 0, UNASKED]


def test_our_column_wins_over_a_native_one_of_that_name_and_this_is_said() -> None:
    path = FILES / "ragas" / "both.csv"
    judged = read_judged(path, samples=SAMPLES, options=ReadingOptions(nan="failed"))
    assert judged.columns["faithfulness"] == "grouse_faithfulness"
    assert judged.notes == [
        f"{path}: faithfulness is read from 'grouse_faithfulness', not from 'faithfulness'."
    ]
    native = ReadingOptions(
        columns={"faithfulness": "faithfulness"}, thresholds={"faithfulness": 0.9}, nan="failed"
    )
    read = grades(read_judged(path, samples=SAMPLES, options=native))
    assert [row[3] for row in read.values()] == [1, 0, 1, 1, 1, 1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("name", "share", "wanted"),
    [
        ("ragas/native.csv", 0.9, [1, 0, 1, 1, 1, 1, 1, 0, 0, 1]),
        ("ragas/native.csv", 0.5, [1, 1, 1, 1, 1, 1, 1, 0, 0, 1]),
        ("deepeval/native.json", 0.9, [1, 0, 1, 1, 1, 1, 1, 0, 0, 1]),
        ("deepeval/native.json", 1.0, [1, 0, 1, 1, 1, 1, 1, 0, 0, 1]),
    ],
)
def test_native_faithfulness_is_read_from_a_share_on(
    name: str, share: float, wanted: list[int]
) -> None:
    options = ReadingOptions(columns={"answer_relevancy": ""}, thresholds={"faithfulness": share})
    read = read_judged(FILES / name, samples=SAMPLES, options=options).by_id
    assert [read[name].grades.keys() for name in TOLD] == [{"faithfulness"}] * len(TOLD)
    assert [read[name].value("faithfulness") for name in TOLD] == wanted


@pytest.mark.parametrize("name", ["ragas/native.csv", "deepeval/native.json"])
def test_native_shares_are_no_grades(name: str) -> None:
    with pytest.raises(InputError, match=r"no grade of answer_relevancy .*--column answer_rel"):
        read_judged(FILES / name, samples=SAMPLES)
    only = ReadingOptions(columns={"answer_relevancy": ""})
    with pytest.raises(InputError, match=r"0\.666667.*faithfulness \(0 or 1\).*=0\.9"):
        read_judged(FILES / name, samples=SAMPLES, options=only)


def test_evaluations_of_the_reference_need_their_order_confirmed() -> None:
    path = FILES / "reference" / "evaluations.jsonl"
    with pytest.raises(InputError, match=r"without ids or texts.*--in-order"):
        read_judged(path, samples=SAMPLES)
    with pytest.raises(InputError, match=r"10 rows for 9 samples"):
        read_judged(path, samples=SAMPLES[1:], options=ReadingOptions(in_order=True))
    alone = read_judged(path, options=ReadingOptions(in_order=True), judge="GPT-4")
    assert list(alone.by_id) == [str(number) for number in range(1, 11)]
    assert list(grades(alone).values()) == list(TOLD.values())
    assert {row.judge for row in alone.judgements} == {"GPT-4"}


def test_justifications_and_errors_come_along() -> None:
    reference = read_judged(
        FILES / "reference", samples=SAMPLES, options=ReadingOptions(in_order=True)
    ).by_id
    assert reference["bridge-501"].grades["completeness"] == Graded(
        value=5, justification="checked"
    )
    found = reference["bridge-508"].grades["faithfulness"]
    assert isinstance(found, Failed)
    assert found.error == "answer_relevancy failed"
    deepeval = read_judged(FILES / "deepeval" / "test_run.json", samples=SAMPLES).by_id
    told = Graded(value=2, justification="Said by the script.")
    assert deepeval["bridge-506"].grades["answer_relevancy"] == told
    assert deepeval["bridge-503"].grades["usefulness"] == NotApplicable(
        reason="Said by the script."
    )
    failure = deepeval["bridge-507"].grades["faithfulness"]
    assert isinstance(failure, Failed)
    assert failure.error.startswith("The reply ended before the grade of faithfulness")


def test_outcomes_of_the_reference_are_no_grades() -> None:
    for path in (FILES / "reference" / "meta_evaluations.jsonl",):
        with pytest.raises(InputError, match=r"which tests passed and not which grades.*evaluate"):
            read_judged(path, samples=SAMPLES)


def changed(path: Path, place: int, **fields: Any) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[place].update(fields)
    return rows


def test_a_grade_off_the_scale_counts_as_a_failure_of_the_referenced_judge(tmp_path: Path) -> None:
    said = {"completeness_justification": "checked", "completeness": 7}
    rows = changed(FILES / "reference" / "evaluations.jsonl", 0, completeness=said)
    copy = tmp_path / "evaluations.jsonl"
    copy.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judged = read_judged(copy, samples=SAMPLES, options=ReadingOptions(in_order=True))
    found = judged.by_id["bridge-501"].grades["completeness"]
    assert isinstance(found, Failed)
    assert (found.error_kind, "7" in found.error) == ("out_of_scale", True)


def test_a_first_row_of_failures_alone_is_still_an_evaluation(tmp_path: Path) -> None:
    rows = changed(FILES / "reference" / "evaluations.jsonl", 0)
    rows[0] = {name: {"error": None} for name in METRIC_NAMES}
    copy = tmp_path / "evaluations.jsonl"
    copy.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judged = read_judged(copy, samples=SAMPLES, options=ReadingOptions(in_order=True))
    assert grades(judged)["bridge-501"] == [FAILED] * 6


def deepeval_metric(**fields: Any) -> Mapping[str, Any]:
    return {"name": "grouse_completeness", "score": 0.0, "strictMode": True, **fields}


def deepeval_file(folder: Path, metric: Mapping[str, Any], **case: Any) -> Path:
    row = {"name": "one", "input": "Q?", "actualOutput": "A.", "metricsData": [metric], **case}
    path = folder / "run.json"
    path.write_text(json.dumps({"testRunData": {"testCases": [row]}}), encoding="utf-8")
    return path


def test_strict_mode_without_a_reason_hides_the_grade(tmp_path: Path) -> None:
    path = deepeval_file(tmp_path, deepeval_metric())
    with pytest.raises(InputError, match=r"0 of strict mode.*--column completeness="):
        read_judged(path)
    best = deepeval_file(tmp_path, deepeval_metric(score=1.0))
    assert read_judged(best).by_id["one"].value("completeness") == 5
    binary = deepeval_file(tmp_path, deepeval_metric(name="grouse_faithfulness"))
    assert read_judged(binary).by_id["one"].value("faithfulness") == 0


def test_the_id_of_a_deepeval_case_is_its_metadatas_before_its_name(tmp_path: Path) -> None:
    metric = deepeval_metric(strictMode=False, score=0.75)
    path = deepeval_file(tmp_path, metric, metadata={"id": "told"})
    assert read_judged(path).by_id["told"].value("completeness") == 4


def test_gzip_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    raw = (FILES / "ragas" / "own_with_reasons.csv").read_bytes()
    (tmp_path / "own.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + raw))
    judged = read_judged(tmp_path / "own.csv.gz", samples=SAMPLES)
    assert grades(judged) == TOLD
    assert judged.judge == "own"


def test_files_without_ids_meet_by_their_texts() -> None:
    both = [FILES / "deepeval" / "test_run.json", FILES / "ragas" / "own_with_reasons.csv"]
    # DeepEval names its cases, RAGAS does not: what was judged brings them together
    one, other = (judged.by_id for judged in read_all(both, samples=SAMPLES))
    assert one.keys() == other.keys() == TOLD.keys()
    csv, lines = (
        read_judged(FILES / "ragas" / name, options=ReadingOptions(nan="failed"))
        for name in ("own.csv", "own.jsonl")
    )
    assert list(csv.by_id) == list(lines.by_id)
    assert all(name.startswith("content ") for name in csv.by_id)


def test_the_order_of_rows_does_not_matter_where_texts_tell(tmp_path: Path) -> None:
    header, *lines = (
        (FILES / "ragas" / "own_with_reasons.csv").read_text(encoding="utf-8").splitlines()
    )
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([header, *reversed(lines)]), encoding="utf-8")
    assert grades(read_judged(turned, samples=SAMPLES)) == TOLD


def test_a_folder_without_grades_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run"):
        read_judged(tmp_path)
    shutil.copy(FILES / "reference" / "meta_evaluations.jsonl", tmp_path)
    with pytest.raises(InputError, match="which tests passed"):
        read_judged(tmp_path)
