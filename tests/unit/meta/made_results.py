"""Unit tests of all 16 types with short texts, and judges whose grades are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.pipeline import with_derived
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.conditions import Conditions
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.test_types import TEST_TYPES, UnitTestType
from grouse_adapters.meta.unit_tests import UnitTest

JUDGED = tuple(metric.name for metric in JUDGED_METRICS)
UNREADABLE = "unreadable"
Value = int | str | None
"""A grade, None for not applicable, or ``unreadable``."""

_REFUSAL = "No document seems to precisely answer your question."
_FACT = "The bell rings at noon [1]."
_RELATED = "The tower was built in 1301 [2]."


def conditions(demands: str) -> Conditions:
    """From four demands in the order of the metrics; ``-`` for ==None."""
    return Conditions.parse(
        {
            f"{metric}_condition": "==None" if demand == "-" else demand
            for metric, demand in zip(JUDGED, demands.split(), strict=True)
        }
    )


def sample_of(kind: UnitTestType) -> Sample:
    """Answers that refuse, and say more, where the type's conditions mean that they do."""
    demands = kind.conditions
    says_more = not demands.faithfulness.is_null
    if not demands.answer_relevancy.is_null:
        actual = _FACT
    else:
        actual = f"{_REFUSAL} However, they say: {_RELATED}" if says_more else _REFUSAL
    return Sample(
        input="When does the bell ring?",
        references=("The bell rings at noon.", "The tower was built in 1301."),
        expected_output=_REFUSAL if demands.completeness.is_null else _FACT,
        actual_output=actual,
    )


def unit_tests(sets: int = 1) -> list[UnitTest]:
    """``sets`` sets of all 16 types."""
    return [
        UnitTest(
            id=f"set-{number}/{kind.number}",
            set_id=f"set-{number}",
            test_type=kind.name,
            sample=sample_of(kind).model_copy(update={"id": f"set-{number}/{kind.number}"}),
            conditions=kind.conditions,
            failure_modes=kind.failure_modes,
        )
        for number in range(1, sets + 1)
        for kind in TEST_TYPES.values()
    ]


def one_test(
    identifier: str = "t",
    demands: str = "==5 ==5 - ==1",
    *,
    set_id: str = "s",
    test_type: str = "Own",
    failure_modes: tuple[str, ...] = (),
) -> UnitTest:
    """A test with conditions of one's own."""
    return UnitTest(
        id=identifier,
        set_id=set_id,
        test_type=test_type,
        sample=sample_of(TEST_TYPES["Highest marks 1"]),
        conditions=conditions(demands),
        failure_modes=failure_modes,
    )


def grade(value: Value) -> Grade:
    if value is None:
        return NotApplicable(reason="does not apply")
    if isinstance(value, str):
        return Failed(error_kind="unreadable", error="no JSON in the reply")
    return Graded(value=value)


def result(test: UnitTest, judged: Mapping[MetricName, Value]) -> TestResult:
    """The test with these grades; the derived two are added when all four judged ones are there."""
    grades = {name: grade(value) for name, value in judged.items()}
    if grades.keys() == set(JUDGED):
        grades = with_derived(test.sample, METRIC_NAMES, grades)
    return exactly(test, grades)


def exactly(test: UnitTest, grades: Mapping[MetricName, Grade]) -> TestResult:
    """The test with these grades and no others."""
    return TestResult(
        test, Judgement(id=test.id, sample=test.sample, grades=dict(grades), judge="made")
    )


def right(test: UnitTest, metric: MetricName) -> int | None:
    """The best grade that the condition admits."""
    condition = test.conditions.of(metric)
    if condition.is_null:
        return None
    return max(value for value in METRICS[metric].scale.values if condition.holds(value))


def wrong(test: UnitTest, metric: MetricName) -> list[Value]:
    """Every grade that the condition excludes."""
    condition = test.conditions.of(metric)
    values: tuple[int | None, ...] = (*METRICS[metric].scale.values, None)
    return [*(value for value in values if not condition.holds(value)), UNREADABLE]


def oracle(test: UnitTest) -> TestResult:
    """What a judge says that is always right."""
    return result(test, {metric: right(test, metric) for metric in JUDGED})


def oracles(tests: Iterable[UnitTest]) -> list[TestResult]:
    return [oracle(test) for test in tests]


def with_grade(right_result: TestResult, metric: MetricName, value: Value) -> TestResult:
    """The result with one grade replaced, and nothing derived anew."""
    grades = {**right_result.judgement.grades, metric: grade(value)}
    return exactly(right_result.test, grades)
