"""The whole report: what it holds, in which order, what it cost."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from made_results import (
    exactly,
    grade,
    one_test,
    oracle,
    oracles,
    result,
    unit_tests,
    with_grade,
)

from grouse_adapters.core.grades import Judgement, Usage
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.figures import meta_report, type_order
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.test_types import TEST_TYPES


def report(results: list[TestResult]) -> MetaReport:
    return meta_report(results, command="meta-evaluate", judge="made", source="bundled")


def test_the_report_of_an_oracle() -> None:
    found = report(oracles(unit_tests(2)))
    assert (found.command, found.judge, found.source) == ("meta-evaluate", "made", "bundled")
    assert (found.tests, found.sets, found.samples, found.failed_samples) == (32, 2, 32, 0)
    assert list(found.pass_rate) == [*METRIC_NAMES, "total"]
    assert found.unreadable == dict.fromkeys(METRIC_NAMES, 0)
    assert list(found.by_type) == list(TEST_TYPES)
    assert list(found.by_failure_mode) == [f"FM{number}" for number in range(1, 8)]
    assert list(found.floors) == ["constant", "refusal_only"]
    assert found.published is None
    for kind in found.by_type.values():
        assert kind.tests == 2
        assert set(kind.pass_rate.values()) == {100.0}


def test_it_survives_being_written() -> None:
    found = report(oracles(unit_tests(2)))
    text = found.model_dump_json()
    assert MetaReport.model_validate_json(text) == found
    assert "NaN" not in text
    assert json.loads(text)["detection"]["usefulness"]["balanced_accuracy_interval"] == [100, 100]


def test_the_means_are_those_of_an_evaluation() -> None:
    found = report(oracles(unit_tests()))
    assert tuple(found.metrics) == METRIC_NAMES
    summary = found.metrics["usefulness"]
    assert (summary.mean, summary.graded, summary.not_applicable) == (0.75, 4, 12)


def test_what_it_cost_includes_judgements_that_were_replaced() -> None:
    test = one_test()
    spent = {
        "sample": test.sample,
        "judge": "made",
        "llm_calls": 2,
        "usage": Usage(input_tokens=100, output_tokens=10),
        "cost": 0.25,
    }
    last = Judgement(grades={"completeness": grade(5)}, **spent)  # type: ignore[arg-type]  # one dict for both
    replaced = Judgement(grades={"completeness": grade("unreadable")}, **spent)  # type: ignore[arg-type]  # as above
    found = meta_report(
        [TestResult(test, last)],
        command="meta-evaluate",
        judge="made",
        source="file",
        superseded=[replaced],
    )
    assert (found.llm_calls, found.cost) == (4, 0.5)
    assert found.usage == Usage(input_tokens=200, output_tokens=20)
    assert (found.tests, found.samples, found.failed_samples) == (1, 1, 0)
    assert found.pass_rate == {"completeness": 100.0, "total": None}


def test_unreadable_grades_are_counted_and_never_pass() -> None:
    tests = unit_tests()
    results = oracles(tests)
    results[0] = with_grade(results[0], "faithfulness", "unreadable")
    results[1] = with_grade(results[1], "faithfulness", "unreadable")  # where null would pass
    found = report(results)
    assert found.unreadable["faithfulness"] == 2
    assert found.failed_samples == 2
    assert found.pass_rate["faithfulness"] == 87.5
    assert found.by_type["Highest marks 2"].pass_rate["faithfulness"] == 0.0


def test_types_of_ones_own_come_last_in_the_order_of_their_names() -> None:
    names = ["Test 10", "Low usefulness 1", "Test 2", "A type", "Highest marks 1"]
    results = [oracle(one_test(name, test_type=name)) for name in names]
    expected = ["Highest marks 1", "Low usefulness 1", "A type", "Test 2", "Test 10"]
    assert list(report(results).by_type) == expected
    assert sorted(names, key=type_order) == expected


def test_only_what_was_asked_is_in_the_report() -> None:
    found = report([result(one_test(), {"faithfulness": 1})])
    assert found.pass_rate == {"faithfulness": 100.0, "total": None}
    assert found.by_type["Own"].pass_rate == {"faithfulness": 100.0, "total": None}
    assert list(found.detection) == ["faithfulness"]
    assert list(found.unreadable) == ["faithfulness"]


def test_a_type_in_which_a_metric_was_not_asked_has_no_rate_there() -> None:
    found = report(
        [
            result(one_test("a", test_type="A"), {"faithfulness": 1, "completeness": 5}),
            result(one_test("b", test_type="B"), {"faithfulness": 0}),
        ]
    )
    assert found.by_type["B"].pass_rate == {
        "completeness": None,
        "faithfulness": 0.0,
        "total": None,
    }


@pytest.mark.parametrize("results", [[], [exactly(one_test(), {})]], ids=["no test", "no grade"])
def test_nothing_judged(results: list[TestResult]) -> None:
    found = report(results)
    assert found.tests == len(results)
    assert found.pass_rate == {"total": None}
    assert found.detection == {}
    assert found.floors["constant"].pass_rate == {"total": None}


def test_it_needs_no_extra() -> None:
    code = (
        "import sys; import grouse_adapters.meta.figures, grouse_adapters.meta.compare; "
        "heavy = {'numpy', 'scipy', 'pandas', 'matplotlib', 'openai'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
