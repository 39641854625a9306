"""Detection: defect and clean tests, per metric, type and failure mode."""

from __future__ import annotations

import pytest
from made_results import (
    JUDGED,
    Value,
    one_test,
    oracle,
    oracles,
    result,
    right,
    unit_tests,
    with_grade,
    wrong,
)

from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, MetricName
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.report import Detection, MetaReport, TestResult
from grouse_adapters.meta.test_types import FAILURE_MODES

# Of one set of 16, by the table of types: (defect tests, clean tests).
SIZES: dict[MetricName, tuple[int, int]] = {
    "answer_relevancy": (2, 7),
    "completeness": (3, 7),
    "usefulness": (1, 3),
    "faithfulness": (3, 10),
}
MODES = {
    "FM1": ("answer_relevancy", 2, 7),
    "FM2": ("negative_rejection", 1, 5),
    "FM3": ("completeness", 3, 7),
    "FM4": ("positive_acceptance", 2, 5),
    "FM5": ("usefulness", 1, 3),
    "FM6": ("faithfulness", 2, 10),
    "FM7": ("faithfulness", 2, 10),
}


def report(results: list[TestResult]) -> MetaReport:
    return meta_report(results, command="meta-evaluate", judge="made", source="made")


def rates(found: Detection) -> tuple[float | None, float | None, float | None]:
    return found.sensitivity, found.specificity, found.balanced_accuracy


def test_the_sizes_follow_from_the_conditions() -> None:
    found = report(oracles(unit_tests(3)))
    assert {name: (each.defect, each.clean) for name, each in found.detection.items()} == {
        name: (3 * defect, 3 * clean) for name, (defect, clean) in SIZES.items()
    }
    assert {
        name: (each.metric, each.defect, each.clean) for name, each in found.by_failure_mode.items()
    } == {name: (metric, 3 * defect, 3 * clean) for name, (metric, defect, clean) in MODES.items()}
    assert {name: each.title for name, each in found.by_failure_mode.items()} == {
        name: mode.title for name, mode in FAILURE_MODES.items()
    }


def test_an_oracle_detects_everything() -> None:
    found = report(oracles(unit_tests()))
    everything = [*found.detection.values(), *found.by_failure_mode.values()]
    assert {rates(each) for each in everything} == {(100.0, 100.0, 100.0)}


def test_top_grades_everywhere_detect_nothing() -> None:
    def praise(test: TestResult) -> TestResult:
        top = {metric.name: metric.scale.values[-1] for metric in JUDGED_METRICS}
        grades: dict[MetricName, Value] = {
            name: None if test.test.conditions.of(name).is_null else top[name] for name in JUDGED
        }
        return result(test.test, grades)

    found = report([praise(each) for each in oracles(unit_tests(2))])
    assert {rates(each) for each in found.detection.values()} == {(0.0, 100.0, 50.0)}
    assert found.pass_rate["total"] is not None
    assert found.pass_rate["total"] > 89  # what a pass rate alone would show


@pytest.mark.parametrize("metric", JUDGED)
def test_one_wrong_grade_moves_only_its_own_figures(metric: MetricName) -> None:
    tests = unit_tests()
    before = report(oracles(tests))
    for place, test in enumerate(tests):
        results = oracles(tests)
        results[place] = with_grade(results[place], metric, wrong(test, metric)[0])
        after = report(results)
        role = test.conditions.role(metric)
        defect, clean = SIZES[metric]
        sensitivity = 100.0 if role != "defect" else round(100 * (defect - 1) / defect, 2)
        specificity = 100.0 if role != "clean" else round(100 * (clean - 1) / clean, 2)
        assert rates(after.detection[metric])[:2] == (sensitivity, specificity)
        changed = {
            name
            for name, each in after.by_failure_mode.items()
            if each != before.by_failure_mode[name]
        }
        expected = {
            name
            for name, (of, _, _) in MODES.items()
            if of == metric and (role == "clean" or (role and name in test.failure_modes))
        }
        assert changed == expected
        types = {
            name
            for name, each in after.by_type.items()
            if each.detection != before.by_type[name].detection
        }
        assert types == ({test.test_type} if role else set())
        for other in set(JUDGED) - {metric}:
            assert after.detection[other] == before.detection[other]


def test_derived_failure_modes_ask_for_the_derived_grade() -> None:
    tests = unit_tests()
    results = oracles(tests)
    answers_anyway, wrongly_refuses = tests[8], tests[10]
    results[8] = result(
        answers_anyway,
        {metric: right(answers_anyway, metric) for metric in JUDGED} | {"completeness": 5},
    )
    results[10] = with_grade(oracle(wrongly_refuses), "positive_acceptance", 1)
    found = report(results).by_failure_mode
    assert rates(found["FM2"]) == (0.0, 100.0, 50.0)
    assert rates(found["FM4"]) == (50.0, 100.0, 75.0)
    assert rates(found["FM3"]) == (100.0, 100.0, 100.0)


def test_a_type_shows_only_the_metrics_that_apply() -> None:
    found = report(oracles(unit_tests())).by_type
    assert found["Highest marks 2"].detection == {}
    assert {
        name: (each.defect, each.clean, each.balanced_accuracy)
        for name, each in found["Low completeness 1"].detection.items()
    } == {
        "answer_relevancy": (0, 1, None),
        "completeness": (1, 0, None),
        "faithfulness": (0, 1, None),
    }


def test_a_metric_that_was_not_asked_is_left_out() -> None:
    defect, clean = one_test("a", "<5 ==5 - ==1"), one_test("b", "==5 ==5 - ==1")
    found = report(
        [
            result(defect, {"answer_relevancy": 3}),
            result(clean, {"answer_relevancy": 5, "completeness": 5}),
        ]
    )
    assert list(found.detection) == ["answer_relevancy", "completeness"]
    assert (found.detection["completeness"].defect, found.detection["completeness"].clean) == (0, 1)
    assert rates(found.detection["completeness"]) == (None, 100.0, None)


def test_unreadable_is_neither_detected_nor_clean() -> None:
    defect, clean = one_test("a", "<5 ==5 - ==1"), one_test("b", "==5 ==5 - ==1")
    unreadable: dict[MetricName, Value] = {"answer_relevancy": "unreadable"}
    found = report([result(defect, unreadable), result(clean, unreadable)])
    assert rates(found.detection["answer_relevancy"]) == (0.0, 0.0, 0.0)
    assert found.unreadable == {"answer_relevancy": 2}


def test_a_failure_mode_counts_where_its_metric_has_a_defect() -> None:
    # It names FM1, but its condition on relevancy admits the top grade.
    named = one_test("a", "==5 <5 - ==0", failure_modes=("FM1", "FM6"))
    found = report([oracle(named), oracle(one_test("b"))]).by_failure_mode
    assert list(found) == ["FM6"]
    assert (found["FM6"].defect, found["FM6"].clean) == (1, 1)


def test_only_judged_metrics_have_detection() -> None:
    found = report(oracles(unit_tests()))
    assert tuple(found.detection) == JUDGED
    assert set(METRIC_NAMES) - set(JUDGED) <= {
        each.metric for each in found.by_failure_mode.values()
    }
