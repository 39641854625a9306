"""Which calls are made for which metrics, and how outcomes travel."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.core.pipeline import run_pipeline
from grouse_adapters.core.sample import Sample

SAMPLE = Sample(input="q", references=("r",), expected_output="e [1].", actual_output="a [1].")
NULL = NotApplicable(reason="null")
BROKEN = Failed(error_kind="unreadable", error="not JSON")
FIVE = Graded(value=5)
ONE = Graded(value=1)

Told = dict[MetricName, Grade]


def run(
    told: Told, asked: tuple[MetricName, ...] = METRIC_NAMES, sample: Sample = SAMPLE
) -> tuple[dict[MetricName, Grade], list[MetricName]]:
    calls: list[MetricName] = []

    async def ask(metric: MetricName) -> Grade:
        calls.append(metric)
        await asyncio.sleep(0)
        return told[metric]

    return asyncio.run(run_pipeline(sample, asked, ask)), calls


@pytest.mark.parametrize(
    ("asked", "relevancy", "calls"),
    [
        ("answer_relevancy", FIVE, ["answer_relevancy"]),
        ("completeness", FIVE, ["completeness"]),
        ("usefulness", FIVE, ["answer_relevancy"]),
        ("usefulness", NULL, ["answer_relevancy", "usefulness"]),
        ("faithfulness", FIVE, ["answer_relevancy", "faithfulness"]),
        ("faithfulness", NULL, ["answer_relevancy", "usefulness", "faithfulness"]),
        ("positive_acceptance", FIVE, ["answer_relevancy", "completeness"]),
        ("negative_rejection", NULL, ["answer_relevancy", "completeness"]),
    ],
)
def test_one_metric_makes_only_the_calls_it_needs(
    asked: MetricName, relevancy: Grade, calls: list[MetricName]
) -> None:
    told: Told = {
        "answer_relevancy": relevancy,
        "completeness": FIVE,
        "usefulness": ONE,
        "faithfulness": ONE,
    }
    grades, made = run(told, (asked,))
    assert list(grades) == [asked]
    assert made == calls


def test_all_six_make_at_most_four_calls_whatever_is_answered() -> None:
    grade_1_to_5: tuple[Grade, ...] = (FIVE, NULL, BROKEN)
    binary: tuple[Grade, ...] = (ONE, NULL, BROKEN)
    for relevancy, completeness, usefulness, faithfulness in product(
        grade_1_to_5, grade_1_to_5, binary, binary
    ):
        told: Told = {
            "answer_relevancy": relevancy,
            "completeness": completeness,
            "usefulness": usefulness,
            "faithfulness": faithfulness,
        }
        grades, made = run(told)
        assert tuple(grades) == METRIC_NAMES
        assert len(made) == len(set(made)) <= 4
        if relevancy is FIVE:
            assert "usefulness" not in made
            assert grades["faithfulness"] == faithfulness
        if relevancy is BROKEN:
            assert made == ["answer_relevancy", "completeness"]
            assert grades["usefulness"].kind == grades["faithfulness"].kind == "failed"
        if relevancy is NULL and usefulness is NULL:
            assert "faithfulness" not in made
            assert grades["faithfulness"].kind == "not_applicable"
        if relevancy is NULL and usefulness is BROKEN:
            assert "faithfulness" not in made
            assert grades["faithfulness"].kind == "failed"


def shown(grade: Grade) -> object:
    return grade.value if isinstance(grade, Graded) else grade.kind


@pytest.mark.parametrize(
    ("relevancy", "completeness", "acceptance", "rejection"),
    [
        (NULL, NULL, 1, 1),
        (NULL, FIVE, 0, "not_applicable"),
        (FIVE, NULL, "not_applicable", 0),
        (FIVE, FIVE, "not_applicable", "not_applicable"),
        (BROKEN, FIVE, "failed", "failed"),
        (NULL, BROKEN, "failed", "failed"),
    ],
)
def test_the_derived_metrics_follow_the_paper(
    relevancy: Grade, completeness: Grade, acceptance: object, rejection: object
) -> None:
    told: Told = {"answer_relevancy": relevancy, "completeness": completeness}
    grades, _ = run(told, ("positive_acceptance", "negative_rejection"))
    assert shown(grades["positive_acceptance"]) == acceptance
    assert shown(grades["negative_rejection"]) == rejection


def test_a_failure_says_what_it_comes_from() -> None:
    told: Told = {"answer_relevancy": BROKEN, "completeness": FIVE}
    grades, _ = run(told)
    for metric in ("usefulness", "faithfulness", "positive_acceptance", "negative_rejection"):
        grade = grades[metric]
        assert isinstance(grade, Failed)
        assert grade.error_kind == "dependency"
        assert grade.error == "answer relevancy failed: not JSON"


def test_without_an_expected_answer_the_derived_metrics_do_not_apply_and_cost_nothing() -> None:
    sample = SAMPLE.model_copy(update={"expected_output": None})
    grades, made = run({}, ("positive_acceptance", "negative_rejection"), sample)
    assert made == []
    assert {grade.kind for grade in grades.values()} == {"not_applicable"}


def test_a_wrong_configuration_ends_the_other_branch_too() -> None:
    ended: list[str] = []

    async def ask(metric: MetricName) -> Grade:
        if metric == "completeness":
            raise ConfigurationError("wrong key")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(metric)
        return FIVE

    async def attempt() -> None:
        with pytest.raises(ConfigurationError):
            await run_pipeline(SAMPLE, METRIC_NAMES, ask)
        await asyncio.sleep(0)

    asyncio.run(attempt())
    assert ended == ["answer_relevancy"]
