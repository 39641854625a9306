"""Conditions: every form, every error, and what each grade makes of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import JUDGED, conditions, grade

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.meta.conditions import Condition, Conditions, Operator
from grouse_adapters.meta.test_types import FAILURE_MODES, TEST_TYPES, type_named

ROW = {f"{metric}_condition": "==None" for metric in JUDGED}


@pytest.mark.parametrize(
    ("text", "operator", "value"),
    [
        ("==5", "==", 5),
        ("<5", "<", 5),
        ("<=2", "<=", 2),
        (">0", ">", 0),
        (">=4", ">=", 4),
        ("== 5", "==", 5),
        (" ==5 ", "==", 5),
        ("<=2.5", "<=", 2.5),
        (">-1", ">", -1),
        ("==5.0", "==", 5),
        ("==None", "==", None),
        ("== None", "==", None),
        ("==null", "==", None),
    ],
)
def test_every_form_is_read(text: str, operator: Operator, value: float | None) -> None:
    assert Condition.parse(text) == Condition(operator=operator, value=value)


@pytest.mark.parametrize(
    "text", ["", "5", "=5", "!=5", "=>5", "==", "==five", "<None", ">=null", "None", "==5 or 4"]
)
def test_every_other_form_is_named(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(text)) + " is not a condition"):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "fulfilled_by"),
    [
        ("==3", [3]),
        ("<3", [1, 2]),
        ("<=3", [1, 2, 3]),
        (">3", [4, 5]),
        (">=3", [3, 4, 5]),
        ("==None", [None]),
    ],
)
def test_what_fulfils_a_condition(text: str, fulfilled_by: list[int | None]) -> None:
    condition = Condition.parse(text)
    choices: tuple[int | None, ...] = (1, 2, 3, 4, 5, None)
    assert [value for value in choices if condition.holds(value)] == fulfilled_by
    for value in choices:
        expected = "passed" if value in fulfilled_by else "failed"
        assert condition.outcome(grade(value)) == expected
    assert condition.outcome(grade("unreadable")) == "unreadable"


@given(
    operator=st.sampled_from(["==", "<", "<=", ">", ">="]),
    number=st.decimals(-(10**9), 10**9, places=4, allow_nan=False),
)
def test_a_condition_survives_being_written(operator: str, number: object) -> None:
    condition = Condition.parse(f"{operator}{number}")
    assert Condition.parse(str(condition)) == condition


def test_published_conditions_are_written_as_they_were() -> None:
    for text in ("==5", "<5", "<=2", ">=4", "==None", "<=2.5", "==0", "==10"):
        assert str(Condition.parse(text)) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"usefulness_condition": None}, "'usefulness_condition' is missing or not text"),
        ({"completeness_condition": 5}, "'completeness_condition' is missing or not text"),
        ({"completeness": "==5"}, "'completeness' is unknown: use answer_relevancy_condition"),
        ({"completeness_condition": "=5"}, "'=5' is not a condition"),
        ({"answer_relevancy_condition": ">5"}, "answer relevancy (1-5) can fulfil '>5'"),
        ({"faithfulness_condition": "==5"}, "faithfulness (0 or 1) can fulfil '==5'"),
        ({"completeness_condition": "==2.5"}, "completeness (1-5) can fulfil '==2.5'"),
    ],
)
def test_every_error_of_a_row_says_what_to_do(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        Conditions.parse({**ROW, **change})
    assert str(caught.value).endswith(".")


def test_a_missing_condition_is_named() -> None:
    row = {key: text for key, text in ROW.items() if key != "faithfulness_condition"}
    with pytest.raises(InputError, match="'faithfulness_condition' is missing"):
        Conditions.parse(row)


@pytest.mark.parametrize("kind", TEST_TYPES.values(), ids=lambda kind: kind.name)
def test_conditions_survive_being_written(kind: object) -> None:
    found = TEST_TYPES[kind.name].conditions  # type: ignore[attr-defined]  # from the table
    assert Conditions.parse(found.as_row()) == found


@pytest.mark.parametrize(
    ("demands", "acceptance", "rejection"),
    [
        ("- - - -", "==1", "==1"),
        ("- <=2 ==1 ==1", "==0", "==None"),
        ("<5 - - ==1", "==None", "==0"),
        ("==5 ==5 - ==1", "==None", "==None"),
    ],
)
def test_the_derived_conditions_follow(demands: str, acceptance: str, rejection: str) -> None:
    found = conditions(demands)
    assert str(found.of("positive_acceptance")) == acceptance
    assert str(found.of("negative_rejection")) == rejection


@pytest.mark.parametrize(
    ("demands", "roles"),
    [
        ("==5 ==5 - ==1", ["clean", "clean", None, "clean", None, None]),
        ("<5 - - ==0", ["defect", None, None, "defect", None, "defect"]),
        (">=4 <=4 - ==1", ["clean", "defect", None, "clean", None, None]),
        ("- ==1 ==0 ==1", [None, "defect", "defect", "clean", "defect", None]),
        ("- - ==1 ==1", [None, None, "clean", "clean", "clean", "clean"]),
    ],
)
def test_roles(demands: str, roles: list[str | None]) -> None:
    found = conditions(demands)
    assert [found.role(metric) for metric in METRIC_NAMES] == roles


def test_the_squares_that_the_pipeline_skips() -> None:
    def skipped(metric: MetricName) -> set[int]:
        return {kind.number for kind in TEST_TYPES.values() if kind.conditions.skipped(metric)}

    assert skipped("usefulness") == {1, 4, 6, 8, 9, 10, 14, 15, 16}
    assert skipped("faithfulness") == {2, 5, 11}
    others = set(METRIC_NAMES) - {"usefulness", "faithfulness"}
    assert not any(skipped(metric) for metric in others)


def test_the_table_of_types() -> None:
    assert [kind.number for kind in TEST_TYPES.values()] == list(range(1, 17))
    for kind in TEST_TYPES.values():
        assert type_named(f"  {kind.name.upper().replace(' ', '_')} ") is kind
        # A type is said to show a failure mode when its metric has a defect there, and only then.
        defects = {name for name in METRIC_NAMES if kind.conditions.role(name) == "defect"}
        assert {FAILURE_MODES[mode].metric for mode in kind.failure_modes} == defects
    assert {mode for kind in TEST_TYPES.values() for mode in kind.failure_modes} == set(
        FAILURE_MODES
    )
    assert {mode.metric for mode in FAILURE_MODES.values()} == set(METRICS)
    assert type_named("Low spirits 1") is None
