"""Pipeline, derived metrics and means agree with the paper's own package, grouse 0.4.2.

The fixture holds replies and what that package makes of them (tests/data/reference_cases.py and
make_reference_pipeline.py). Here the same replies go through this package. Every difference is a
row of the tables below, worked by hand; a difference without a row fails, and so does a row
without a difference. docs/differences-from-the-paper-package.md tells users the same.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import pytest
from pydantic import TypeAdapter, ValidationError

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement
from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.pipeline import run_pipeline
from grouse_adapters.core.reply import read_reply
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Aggregator, Report

ROOT: Final = Path(__file__).parents[2]
FIXTURE: Final[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "reference_pipeline.json").read_text(encoding="utf-8")
)
CASES: Final[dict[str, dict[str, Any]]] = {case["id"]: case for case in FIXTURE["cases"]}
RECORDED: Final = [case for case in CASES.values() if case["reference"] is not None]
PATHS: Final = [case for case in RECORDED if case["id"].startswith("path ")]
JUDGED: Final = tuple(metric.name for metric in JUDGED_METRICS)

Outcome = int | str | None
"""A value, None for not applicable, or ``failed``."""
FAILED: Final = "failed"


@dataclass(frozen=True)
class Difference:
    """One deliberate difference: what each of the two says, where they disagree, and why.

    ``calls`` holds the metrics that each asks the model about, when those differ too.
    """

    case: str
    why: str
    reference: Mapping[MetricName, Outcome]
    ours: Mapping[MetricName, Outcome]
    calls: tuple[tuple[MetricName, ...], tuple[MetricName, ...]] | None = None


def _faithfulness(odd: str, reference: Outcome, ours: Outcome, why: str) -> Difference:
    return Difference(
        f"reading faithfulness: {odd}", why, {"faithfulness": reference}, {"faithfulness": ours}
    )


def _completeness(odd: str, reference: Outcome, rejection: Outcome, why: str) -> Difference:
    """Ours is a failure, and so are the two metrics that are derived from it."""
    return Difference(
        f"reading completeness: {odd}",
        why,
        {
            "completeness": reference,
            "positive_acceptance": None,
            "negative_rejection": rejection,
        },
        {"completeness": FAILED, "positive_acceptance": FAILED, "negative_rejection": FAILED},
    )


READ_GENEROUSLY: Final = "The grade can be read without guessing"
OFF_SCALE: Final = "A value outside the scale is no grade"
NO_GRADE: Final = "A reply without a grade is not a null grade"
LAST_WORD: Final = "The last verdict counts"

DIFFERENCES: Final = {
    row.case: row
    for row in (
        _faithfulness("draft fence, final fence", 1, 0, LAST_WORD),
        _faithfulness("code fence on one line", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("sentences around it", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("trailing comma", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("Python literals", FAILED, None, READ_GENEROUSLY),
        _faithfulness("null as text", FAILED, None, READ_GENEROUSLY),
        _faithfulness("boolean as text", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("no justification", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("answer_1 left out", FAILED, 0, READ_GENEROUSLY),
        _faithfulness("answer_1 damaged", FAILED, 0, READ_GENEROUSLY),
        Difference(
            "reading answer_relevancy: no check",
            READ_GENEROUSLY,
            dict.fromkeys(METRIC_NAMES, FAILED) | {"completeness": 3},
            {
                "answer_relevancy": 2,
                "completeness": 3,
                "usefulness": None,
                "faithfulness": 1,
                "positive_acceptance": None,
                "negative_rejection": None,
            },
            calls=(
                ("answer_relevancy", "completeness"),
                ("answer_relevancy", "completeness", "faithfulness"),
            ),
        ),
        _faithfulness("above the scale", 2, FAILED, OFF_SCALE),
        _completeness("above the scale", 7, None, OFF_SCALE),
        _completeness("below the scale", 0, None, OFF_SCALE),
        _completeness("boolean on the 1-5 scale", 1, None, OFF_SCALE),
        _completeness("no grade", None, 0, NO_GRADE),
        Difference(
            "reading answer_relevancy: no grade",
            NO_GRADE,
            {
                "answer_relevancy": None,
                "completeness": 3,
                "usefulness": 1,
                "faithfulness": 1,
                "positive_acceptance": 0,
                "negative_rejection": None,
            },
            dict.fromkeys(METRIC_NAMES, FAILED) | {"completeness": 3},
            calls=(
                ("answer_relevancy", "completeness", "usefulness", "faithfulness"),
                ("answer_relevancy", "completeness"),
            ),
        ),
    )
}


@dataclass(frozen=True)
class BatchDifference:
    """One run whose means differ for another reason than an empty metric."""

    why: str
    reference: Mapping[str, Any]
    ours: Mapping[MetricName, float | None]


EMPTY_METRIC: Final = "An empty metric has no mean, and spoils no other figure"
SILENT_MODEL: Final = "One reply without content does not end the run"
PARSING_SUCCESS: Final = "Failures are counted"
FEWER_CALLS: Final = "Only the calls that the asked metrics need"
STORED_RESULTS: Final = "A damaged result is refused when it is read back"

BATCH_DIFFERENCES: Final = {
    "a grade above the scale": BatchDifference(
        OFF_SCALE,
        {"completeness": 4.0},  # (7 + 5 + 3 + 1 + 4) / 5
        {"completeness": 3.25},  # (5 + 3 + 1 + 4) / 4
    ),
    "one reply without content": BatchDifference(
        SILENT_MODEL,
        {"aborted": "TypeError"},
        {
            "answer_relevancy": 2.8,
            "completeness": 3.25,
            "usefulness": None,
            "faithfulness": 0.6,
            "positive_acceptance": None,
            "negative_rejection": None,
        },
    ),
}

MOST_CALLS: Final[Mapping[MetricName, int]] = {
    "answer_relevancy": 1,
    "completeness": 1,
    "usefulness": 2,
    "faithfulness": 3,
    "positive_acceptance": 2,
    "negative_rejection": 2,
}
"""When one metric is asked for. The reference makes all its calls, 2 to 4, whatever is wanted."""


@dataclass
class Replay:
    """A judge that has only recorded replies."""

    case: Mapping[str, Any]
    calls: list[MetricName] = field(default_factory=list)

    async def ask(self, metric: MetricName) -> Grade:
        assert metric not in self.calls, f"asked twice for {metric}"
        self.calls.append(metric)
        await asyncio.sleep(0)  # lets the other branch of the pipeline run in between
        return read_reply(
            self.case["replies"][metric] or "",
            METRICS[metric],
            answers=2,
            finish_reason=self.case.get("finish_reasons", {}).get(metric, "stop"),
        ).grade


def judge(
    case: Mapping[str, Any], asked: Iterable[MetricName] = METRIC_NAMES
) -> tuple[dict[MetricName, Grade], list[MetricName]]:
    """This package's grades, and the metrics it asked the model about, in order."""
    replay = Replay(case)
    grades = asyncio.run(run_pipeline(Sample(**case["sample"]), asked, replay.ask))
    return grades, replay.calls


def outcomes(grades: Mapping[MetricName, Grade]) -> dict[MetricName, Outcome]:
    return {metric: _outcome(grade) for metric, grade in grades.items()}


def _outcome(grade: Grade) -> Outcome:
    if isinstance(grade, Failed):
        return FAILED
    return grade.value if isinstance(grade, Graded) else None


def report(ids: Iterable[str]) -> Report:
    aggregator = Aggregator()
    for case_id in ids:
        case = CASES[case_id]
        grades, calls = judge(case)
        aggregator.add(
            Judgement(
                sample=Sample(**case["sample"]), grades=grades, judge="replay", llm_calls=len(calls)
            )
        )
    return aggregator.report(command="evaluate", judge="replay")


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["id"])
def test_every_sample_agrees_but_for_the_table(case: dict[str, Any]) -> None:
    expected: dict[MetricName, Outcome] = dict(case["reference"]["grades"])
    expected_calls = case["reference"]["calls"]
    row = DIFFERENCES.get(case["id"])
    if row is not None:
        assert {metric: expected[metric] for metric in row.reference} == row.reference
        assert row.reference != row.ours
        expected.update(row.ours)
        if row.calls is not None:
            assert expected_calls == list(row.calls[0])
            expected_calls = list(row.calls[1])
    grades, calls = judge(case)
    ours = outcomes(grades)
    assert {name: (type(value), value) for name, value in ours.items()} == {
        name: (type(value), value) for name, value in expected.items()
    }
    assert sorted(calls, key=JUDGED.index) == expected_calls
    # Completeness may run beside the others; those follow one another.
    dependent = [metric for metric in calls if metric != "completeness"]
    assert dependent == sorted(dependent, key=JUDGED.index)


def test_every_row_of_the_table_is_about_a_recorded_sample() -> None:
    assert set(DIFFERENCES) <= {case["id"] for case in RECORDED}
    assert set(BATCH_DIFFERENCES) <= {batch["id"] for batch in FIXTURE["batches"]}


def test_the_fixture_covers_every_path() -> None:
    assert (FIXTURE["package"], FIXTURE["version"]) == ("grouse", "0.4.2")
    assert len(CASES) == len(FIXTURE["cases"])
    faithfulness = ("true", "false", "1", "0", "null", FAILED)
    tails: dict[str, set[tuple[str | None, str | None]]] = {
        "graded": {(None, form) for form in faithfulness},
        "null": {*itertools.product("01", faithfulness), ("null", None), (FAILED, None)},
        FAILED: {(None, None)},
    }
    expected = {
        (relevancy, completeness, *tail)
        for relevancy, completeness in itertools.product(tails, repeat=2)
        for tail in tails[relevancy]
    }
    named = [dict(word.split("=") for word in case["id"].split()[1:]) for case in PATHS]
    covered = {
        (
            _kind(grades["answer_relevancy"]),
            _kind(grades["completeness"]),
            grades.get("usefulness"),
            grades.get("faithfulness"),
        )
        for grades in named
    }
    assert covered == expected
    assert len(PATHS) == len(expected)
    for metric in ("answer_relevancy", "completeness"):
        values = {case["reference"]["grades"][metric] for case in PATHS}
        assert values == {1, 2, 3, 4, 5, None, FAILED}


def _kind(shown: str) -> str:
    return "graded" if shown.isdigit() else shown


@pytest.mark.parametrize("batch", FIXTURE["batches"], ids=lambda batch: batch["id"])
def test_the_means_agree_but_for_the_table(batch: dict[str, Any]) -> None:
    reference = batch["reference"]
    row = BATCH_DIFFERENCES.get(batch["id"])
    # The one rule about empty metrics: not a number there, null here.
    expected = {
        metric: None if mean == "NaN" else mean
        for metric, mean in reference.get("means", {}).items()
    }
    if row is not None:
        said = reference.get("means", reference)
        assert {name: said[name] for name in row.reference} == row.reference
        expected |= cast(dict[str, Any], row.ours)
    ours = report(batch["cases"])
    assert list(ours.metrics) == list(METRIC_NAMES)
    for metric, summary in ours.metrics.items():
        assert summary.mean == (
            None if expected[metric] is None else pytest.approx(expected[metric], rel=1e-12)
        )
        assert (summary.mean is None) == (summary.graded == 0)
        assert summary.graded + summary.not_applicable + summary.failed == len(batch["cases"])


def test_an_empty_metric_spoils_only_the_overall_mean_of_the_reference() -> None:
    empty = [
        batch["reference"]
        for batch in FIXTURE["batches"]
        if "NaN" in batch["reference"].get("means", {}).values()
    ]
    assert empty
    assert all(reference["overall_mean"] == "NaN" for reference in empty)
    # A mean over 1-5 and 0-1 together has no unit: this package gives none.
    assert "mean" not in Report.model_fields


@pytest.mark.parametrize(
    "batch",
    [batch for batch in FIXTURE["batches"] if batch["id"] not in BATCH_DIFFERENCES],
    ids=lambda batch: batch["id"],
)
def test_failures_are_counted(batch: dict[str, Any]) -> None:
    # The reference counts only "is not None", which holds for its failures too.
    assert set(batch["reference"]["parsing_success"].values()) == {1.0}
    said = [CASES[case_id]["reference"]["grades"] for case_id in batch["cases"]]
    ours = report(batch["cases"])
    for metric, summary in ours.metrics.items():
        assert summary.failed == sum(grades[metric] == FAILED for grades in said)
        assert summary.not_applicable == sum(grades[metric] is None for grades in said)


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_one_metric_costs_only_what_it_needs(metric: MetricName) -> None:
    most = 0
    for case in PATHS:
        grades, calls = judge(case, (metric,))
        assert outcomes(grades) == {metric: case["reference"]["grades"][metric]}
        assert set(calls) <= set(case["reference"]["calls"])
        most = max(most, len(calls))
    assert most == MOST_CALLS[metric]


def test_a_damaged_result_is_refused() -> None:
    ours: dict[str, Any] = {
        "grade is a word": {"kind": "graded", "value": "high", "justification": "checked"},
        "justification is missing": {"kind": "graded"},
        "everything is missing": {},
    }
    assert {row["id"]: row["reference"] for row in FIXTURE["stored"]} == dict.fromkeys(
        ours, "Failed"
    )
    grade: TypeAdapter[Grade] = TypeAdapter(Grade)
    for damaged in ours.values():
        with pytest.raises(ValidationError):
            grade.validate_python(damaged)


def test_the_docs_name_every_difference() -> None:
    page = (ROOT / "docs" / "differences-from-the-paper-package.md").read_text(encoding="utf-8")
    reasons = {row.why for row in DIFFERENCES.values()}
    reasons |= {row.why for row in BATCH_DIFFERENCES.values()}
    reasons |= {EMPTY_METRIC, PARSING_SUCCESS, FEWER_CALLS, STORED_RESULTS}
    titles = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")}
    assert titles - {"difference", "---"} == reasons
    odd, explained = len(RECORDED) - len(PATHS), len(DIFFERENCES)
    for figures in (
        f"{len(CASES)} samples with recorded replies",
        f"{len(PATHS)} samples are all the paths",
        f"{odd} samples have one reply",
        f"{odd - explained} agree, the table below explains {explained}.",
    ):
        assert figures in page
