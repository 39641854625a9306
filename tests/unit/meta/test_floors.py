"""Floors: what judges that hardly read reach on the same tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_results import JUDGED, one_test, oracles, result, unit_tests

from grouse_adapters.core.grades import Graded
from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, MetricName
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.floors import constant_judge, refusal_only_judge
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests

DEVELOPMENT = Path(__file__).parents[2] / "data" / "unit_tests_dev.jsonl"
REFUSAL = "No document seems to precisely answer your question."
FACT = "The bell rings at noon [1]."


def report(results: list[TestResult]) -> MetaReport:
    return meta_report(results, command="meta-evaluate", judge="made", source="made")


def answers(actual: str, expected: str | None = FACT) -> UnitTest:
    test = one_test()
    sample = test.sample.model_copy(update={"actual_output": actual, "expected_output": expected})
    return test.model_copy(update={"sample": sample})


def values(test: UnitTest, refusals: tuple[str, ...] = ()) -> list[int | None]:
    grades = refusal_only_judge(refusals).grades(test)
    assert list(grades) == list(METRIC_NAMES)
    found = (grades[metric] for metric in METRIC_NAMES)
    return [grade.value if isinstance(grade, Graded) else None for grade in found]


@pytest.mark.parametrize(
    ("actual", "expected", "grades"),
    [
        (FACT, FACT, [5, 5, None, 1, None, None]),
        (FACT, REFUSAL, [5, None, None, 1, None, 0]),
        (REFUSAL, REFUSAL, [None, None, None, None, 1, 1]),
        (f"{REFUSAL} However, {FACT}", REFUSAL, [None, None, 1, 1, 1, 1]),
        (REFUSAL, FACT, [None, 1, None, None, 0, None]),
        (f"{REFUSAL} However, {FACT}", FACT, [None, 1, 1, 1, 0, None]),
        ("", FACT, [5, 5, None, None, None, None]),
        (FACT, None, [5, None, None, 1, None, None]),
        (REFUSAL, None, [None, None, None, None, None, None]),
        (FACT, " ", [5, None, None, 1, None, 0]),
    ],
)
def test_what_the_refusal_reader_says(
    actual: str, expected: str | None, grades: list[int | None]
) -> None:
    assert values(answers(actual, expected)) == grades


def test_refusals_in_other_words_can_be_named() -> None:
    test = answers("Computer says no.", FACT)
    assert values(test)[0] == 5
    assert values(test, ("Computer says no.",))[0] is None
    read = meta_report(
        oracles([test]), command="c", judge="j", source="s", refusals=["Computer says no."]
    )
    assert read.floors["refusal_only"].pass_rate["answer_relevancy"] == 0.0


def test_the_refusal_reader_does_not_read_references() -> None:
    test = answers(FACT)
    sample = test.sample.model_copy(update={"references": ("Bells are made of bronze.",)})
    assert values(test.model_copy(update={"sample": sample})) == values(test)


def test_the_refusal_reader_on_tests_by_other_authors() -> None:
    tests = read_unit_tests(DEVELOPMENT)
    floor = report(oracles(tests)).floors["refusal_only"]
    accuracies = {name: each.balanced_accuracy for name, each in floor.detection.items()}
    assert accuracies == {
        "answer_relevancy": 50.0,
        "completeness": 83.33,
        "usefulness": 50.0,
        "faithfulness": 50.0,
    }
    # Faithfulness is all clean tests and no defect; completeness sees only the wrong refusals.
    assert floor.detection["faithfulness"].sensitivity == 0.0
    assert floor.detection["completeness"].sensitivity == 66.67
    assert floor.pass_rate["total"] == 92.71
    assert floor.pass_rate["positive_acceptance"] == floor.pass_rate["negative_rejection"] == 100.0


def constant(tests: list[UnitTest]) -> dict[MetricName, int | None]:
    return dict(constant_judge(tests).judged(tests[0]))


def test_the_constant_judge_says_what_passes_most() -> None:
    tests = unit_tests()
    chosen = constant(tests)
    assert chosen == dict(zip(JUDGED, (5, 5, None, 1), strict=True))
    assert constant_judge(tests).title == (
        "says the same about every answer: answer relevancy 5, completeness 5, usefulness null, "
        "faithfulness 1"
    )
    floor = report(oracles(tests)).floors["constant"]
    for metric in JUDGED_METRICS:
        passed = [
            sum(test.conditions.of(metric.name).holds(value) for test in tests)
            for value in (*metric.scale.values, None)
        ]
        assert floor.pass_rate[metric.name] == 100 * max(passed) / len(tests)


@pytest.mark.parametrize(
    ("demands", "chosen"),
    [
        (["<=2 ==5 - ==1"], [2, 5, None, 1]),
        (["<5 ==5 - ==1"], [4, 5, None, 1]),
        # As many tests want null as want a grade: the grade is taken.
        (["- - - -", "==3 >=2 ==0 ==0"], [3, 5, 0, 0]),
        # 1 and 5 pass equally many: the higher is taken.
        (["==1 ==5 - ==1", "==5 ==1 - ==0"], [5, 5, None, 1]),
        (["- - - -", "- - ==1 ==1", "==1 ==1 - ==1"], [None, None, None, 1]),
    ],
)
def test_ties_go_to_the_higher_grade(demands: list[str], chosen: list[int | None]) -> None:
    tests = [one_test(f"{number}", each) for number, each in enumerate(demands)]
    assert list(constant(tests).values()) == chosen


def test_the_derived_grades_of_the_constant_judge_are_derived() -> None:
    tests = [one_test(f"{number}", "- ==1 - -") for number in range(2)]
    grades = constant_judge(tests).grades(tests[0])
    assert grades["positive_acceptance"] == Graded(
        value=0,
        justification=grades["positive_acceptance"].justification,  # type: ignore[union-attr]  # graded, or unequal
    )
    assert grades["negative_rejection"].kind == "not_applicable"


def test_the_constant_judge_tells_nothing_apart() -> None:
    floor = report(oracles(unit_tests(2))).floors["constant"]
    assert {
        name: (each.sensitivity, each.specificity) for name, each in floor.detection.items()
    } == {
        "answer_relevancy": (0.0, 100.0),
        "completeness": (0.0, 100.0),
        "usefulness": (0.0, 0.0),
        "faithfulness": (0.0, 100.0),
    }


def test_floors_stand_on_the_same_tests_and_metrics() -> None:
    good, bad = one_test("a", "==5 ==5 - ==1"), one_test("b", "==5 <5 - ==1")
    found = report([result(good, {"completeness": 5}), result(bad, {"faithfulness": 1})])
    assert found.pass_rate.keys() == {"completeness", "faithfulness", "total"}
    for floor in found.floors.values():
        assert floor.pass_rate == {"completeness": 100.0, "faithfulness": 100.0, "total": None}
        assert {name: (each.defect, each.clean) for name, each in floor.detection.items()} == {
            "completeness": (0, 1),
            "faithfulness": (0, 1),
        }
