"""Agreement of annotators, against worked examples of its author and figures made by hand."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_judged import FAILED, UNASKED, Told, judged, judgement, one_metric
from made_results import oracles, unit_tests, with_grade, wrong

from grouse_adapters.core.errors import InputError, MissingExtraError
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.agreement import Agreement, Alpha, agreement
from grouse_adapters.meta.pass_rates import TOTAL
from grouse_adapters.meta.report import TestResult

NAMES = ("Ann", "Bo", "Cy", "Di")
TESTS = unit_tests()


def of(metric: MetricName, *told: Sequence[Told]) -> Agreement:
    return agreement(
        [one_metric(metric, row, name) for name, row in zip(NAMES, told, strict=False)]
    )


def alpha(metric: MetricName, *told: Sequence[Told]) -> Alpha:
    return of(metric, *told).alpha[metric]


def told(text: str) -> list[Told]:
    return [UNASKED if sign == "." else int(sign) for sign in text.split()]


# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), sections A and C.
TWO_OBSERVERS = (told("0 1 0 0 0 0 0 0 1 0"), told("1 1 1 0 0 1 0 0 0 0"))
FOUR_OBSERVERS = (
    told("1 2 3 3 2 1 4 1 2 . . ."),
    told("1 2 3 3 2 2 4 1 2 5 . 3"),
    told(". 3 3 3 2 3 4 2 2 5 1 ."),
    told("1 2 3 3 2 4 4 1 2 5 1 ."),
)


def test_nominal_alpha_of_two_observers() -> None:
    """14 zeros and 6 ones, four units that differ: 1 - 19 * 4 / (14 * 6)."""
    found = alpha("faithfulness", *TWO_OBSERVERS)
    assert found.alpha == pytest.approx(1 - 19 * 4 / (14 * 6))
    assert (found.level, found.samples, found.null_alpha, found.null_reason) == (
        "nominal",
        10,
        None,
        None,
    )


def test_ordinal_alpha_of_four_observers() -> None:
    found = alpha("completeness", *FOUR_OBSERVERS)
    assert found.alpha == pytest.approx(0.815, abs=0.0005)
    assert (found.level, found.samples) == ("ordinal", 11)  # the last unit has one value


def test_null_is_missing_among_grades_and_a_category_of_its_own_beside_them() -> None:
    first: list[Told] = [1, 2, 3, None, None, 5]
    second: list[Told] = [1, 2, 3, None, 4, None]
    found = alpha("completeness", first, second)
    assert found.alpha == 1
    assert found.samples == 3
    # null or not: o = 2 of 6 differ; 8 graded and 4 null of 12: 1 - 11 * 2 / (8 * 4)
    assert found.null_alpha == pytest.approx(1 - 11 * 2 / (8 * 4))


def test_null_is_a_category_of_binary_metrics() -> None:
    """Three units; 1 and null differ in one: values 1 1 / null null / 1 null."""
    found = alpha("usefulness", [1, None, 1], [1, None, None])
    assert found.alpha == pytest.approx(1 - 5 * 1 / (3 * 3))


def test_failed_grades_are_missing_and_counted() -> None:
    spoilt = [*TWO_OBSERVERS[0], FAILED, 1], [*TWO_OBSERVERS[1], 0, FAILED]
    found = alpha("faithfulness", *spoilt)
    assert found.alpha == alpha("faithfulness", *TWO_OBSERVERS).alpha
    assert (found.samples, found.failed) == (10, 2)
    assert of("faithfulness", *spoilt).equal_grades["faithfulness"] == 60.0


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ([1, 1, 1], [1, 1, 1], "all usable grades are the same"),
        ([None, None], [None, None], "all usable grades are the same"),
        ([FAILED, 1], [1, FAILED], "no sample has a usable grade of two annotators"),
    ],
)
def test_no_alpha_without_a_reason(one: list[Told], other: list[Told], reason: str) -> None:
    found = alpha("faithfulness", one, other)
    assert (found.alpha, found.reason) == (None, reason)


def test_grades_that_never_meet_have_no_ordinal_alpha_but_one_of_null() -> None:
    found = alpha("completeness", [5, None], [None, 4])
    assert (found.alpha, found.reason) == (None, "no sample has a usable grade of two annotators")
    assert found.null_alpha == pytest.approx(1 - 3 * 2 / (2 * 2))
    always = alpha("completeness", [5, 4], [4, 5])
    assert (always.null_alpha, always.null_reason) == (None, "all usable grades are the same")


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0, 1, None, FAILED, UNASKED])] * 3), min_size=2, max_size=20
    )
)
def test_alpha_is_the_librarys(units: list[tuple[Told, ...]]) -> None:
    shared = [unit for unit in units if sum(value != UNASKED for value in unit) > 1]
    if not shared:
        return
    found = alpha("faithfulness", *zip(*shared, strict=True))
    code: dict[Told, float] = {0: 0, 1: 1, None: 2, FAILED: math.nan, UNASKED: math.nan}
    table = [[code[value] for value in row] for row in zip(*shared, strict=True)]
    try:
        with np.errstate(all="ignore"):
            theirs = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    except ValueError:
        theirs = math.nan
    if math.isnan(theirs):  # the library's two ways of saying that there is no alpha
        assert found.alpha is None
    else:
        assert found.alpha == pytest.approx(theirs)


def test_equal_grades_by_pair_and_on_average() -> None:
    found = of("completeness", [5, 4, None, 1], [5, 3, None, 1], [5, 4, 2, 2])
    assert [(pair.annotators, pair.equal_grades["completeness"]) for pair in found.pairs] == [
        (("Ann", "Bo"), 75.0),
        (("Ann", "Cy"), 50.0),
        (("Bo", "Cy"), 25.0),
    ]
    assert found.equal_grades["completeness"] == 50.0
    assert found.equal_grades["faithfulness"] is found.equal_grades[TOTAL] is None
    assert (found.tests, found.equal_outcomes) == (None, None)
    assert (found.pass_rate, found.mean_pass_rate) == (None, None)


def test_annotators_who_share_nothing_make_no_pair() -> None:
    rows = [judgement(name, {"faithfulness": 1}) for name in "abcd"]
    found = agreement([judged(rows[:2], "Ann"), judged(rows[1:3], "Bo"), judged(rows[2:], "Cy")])
    assert [pair.annotators for pair in found.pairs] == [("Ann", "Bo"), ("Bo", "Cy")]
    assert found.samples == 2
    with pytest.raises(InputError, match="No two files have a sample in common"):
        agreement([judged(rows[:2], "Ann"), judged(rows[2:], "Bo")])
    with pytest.raises(InputError, match="two files of grades or more"):
        agreement([judged(rows, "Ann")])


def annotator(name: str, results: Sequence[TestResult]) -> Any:
    return judged([result.judgement for result in results], name)


def test_rates_of_unit_tests_as_in_table_5() -> None:
    right = oracles(TESTS)
    spoilt = [
        with_grade(each, "completeness", wrong(each.test, "completeness")[0]) if n < 4 else each
        for n, each in enumerate(right)
    ]
    found = agreement([annotator("Ann", right), annotator("Bo", spoilt)], TESTS)
    assert found.tests == 16
    assert found.pass_rate is not None
    assert found.mean_pass_rate is not None
    assert found.equal_outcomes is not None
    assert found.pass_rate["Ann"] == dict.fromkeys((*METRIC_NAMES, TOTAL), 100.0)
    assert found.pass_rate["Bo"]["completeness"] == 75.0
    assert found.mean_pass_rate["completeness"] == 87.5
    assert found.equal_outcomes["completeness"] == 75.0
    assert found.equal_outcomes["usefulness"] == 100.0
    rates = [found.equal_outcomes[name] for name in METRIC_NAMES]
    assert found.equal_outcomes[TOTAL] == pytest.approx(
        sum(rate for rate in rates if rate is not None) / 6, abs=0.005
    )


def test_two_who_fail_a_test_differently_have_equal_outcomes_and_unequal_grades() -> None:
    right = oracles(TESTS)
    place = next(n for n, each in enumerate(right) if len(wrong(each.test, "completeness")) > 1)
    one, other = (
        [
            with_grade(each, "completeness", wrong(each.test, "completeness")[which])
            if n == place
            else each
            for n, each in enumerate(right)
        ]
        for which in (0, 1)
    )
    found = agreement([annotator("Ann", one), annotator("Bo", other)], TESTS)
    assert found.equal_outcomes is not None
    assert found.equal_outcomes["completeness"] == 100.0
    assert found.equal_grades["completeness"] == 93.75


def test_samples_that_are_no_tests_count_for_grades_alone() -> None:
    extra = judgement("no test", {"completeness": 3})
    rows = [result.judgement for result in oracles(TESTS)]
    found = agreement([judged([*rows, extra], name) for name in NAMES[:2]], TESTS)
    assert (found.samples, found.tests) == (17, 16)
    assert found.alpha["completeness"].alpha == 1


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(MissingExtraError) as raised:
        of("faithfulness", *TWO_OBSERVERS)
    assert str(raised.value) == (
        "Agreement needs krippendorff, which is not installed: "
        "pip install 'grouse-adapters[stats]'."
    )
