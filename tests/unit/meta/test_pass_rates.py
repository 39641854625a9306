"""Pass rates: an oracle passes everything, and every wrong grade costs exactly its square."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import (
    JUDGED,
    Value,
    one_test,
    oracle,
    oracles,
    result,
    unit_tests,
    with_grade,
    wrong,
)

from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.counts import percent
from grouse_adapters.meta.pass_rates import pass_rates_of

TESTS = unit_tests(2)
RIGHT = oracles(TESTS)


def test_an_oracle_passes_everything() -> None:
    assert all(outcome == "passed" for each in RIGHT for outcome in each.outcomes.values())
    assert pass_rates_of(RIGHT) == dict.fromkeys([*METRIC_NAMES, "total"], 100.0)


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_one_wrong_grade_flips_exactly_its_square(metric: MetricName) -> None:
    flips = 0
    for place, test in enumerate(TESTS):
        for value in wrong(test, metric):
            changed = list(RIGHT)
            changed[place] = with_grade(RIGHT[place], metric, value)
            flipped = [
                (number, name)
                for number, (before, after) in enumerate(zip(RIGHT, changed, strict=True))
                for name in METRIC_NAMES
                if before.outcomes[name] != after.outcomes[name]
            ]
            assert flipped == [(place, metric)]
            assert changed[place].outcomes[metric] == (
                "unreadable" if isinstance(value, str) else "failed"
            )
            rates = pass_rates_of(changed)
            assert rates.pop("total") == percent((32 * 6 - 1, 32 * 6))
            assert rates.pop(metric) == percent((31, 32))
            assert set(rates.values()) == {100.0}
            flips += 1
    assert flips >= 2 * len(TESTS)  # some other grade and an unreadable one, in every square


@pytest.mark.parametrize("metric", JUDGED)
def test_a_right_grade_flips_nothing(metric: MetricName) -> None:
    for before in RIGHT:
        condition = before.test.conditions.of(metric)
        choices: tuple[int | None, ...] = (0, 1, 2, 3, 4, 5, None)
        for value in filter(condition.holds, choices):
            assert with_grade(before, metric, value).outcomes == before.outcomes


def test_a_rate_is_over_the_tests_in_which_the_metric_was_asked() -> None:
    first, second, third = (one_test(name) for name in "abc")
    rates = pass_rates_of(
        [
            result(first, {"completeness": 5, "faithfulness": 0}),
            result(second, {"completeness": 4}),
            result(third, {"completeness": "unreadable", "faithfulness": 1}),
        ]
    )
    assert rates == {"completeness": 33.33, "faithfulness": 50.0, "total": None}
    assert list(rates) == ["completeness", "faithfulness", "total"]


def test_without_results_there_is_no_rate() -> None:
    assert pass_rates_of([]) == {"total": None}


def test_the_total_is_rounded_once() -> None:
    # Three of six rates are 1/3: the mean of 33.33, 33.33, 33.33, 100, 100, 100 is 66.665.
    tests = [one_test(name) for name in "abc"]
    right: dict[MetricName, Value] = dict(zip(JUDGED, (5, 5, None, 1), strict=True))
    wrong_grades: dict[MetricName, Value] = dict(zip(JUDGED, (1, 1, None, 0), strict=True))
    results = [
        result(test, grades)
        for test, grades in zip(tests, (right, wrong_grades, wrong_grades), strict=True)
    ]
    rates = pass_rates_of(results)
    assert [rates[metric] for metric in METRIC_NAMES] == [33.33, 33.33, 100, 33.33, 100, 100]
    assert rates["total"] == 66.67


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ((1, 3), 33.33),
        ((2, 3), 66.67),
        ((1, 800), 0.12),  # 0.125: the even digit
        ((3, 800), 0.38),  # 0.375
        ((1, 32), 3.12),  # 3.125
        ((132, 144), 91.67),
        ((0, 7), 0.0),
        ((7, 7), 100.0),
        ((0, 0), None),
    ],
)
def test_two_decimals_and_exact_halves_to_the_even_digit(
    share: tuple[int, int], expected: float | None
) -> None:
    assert percent(share) == expected


@given(
    st.lists(
        st.integers(1, 2000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
        min_size=1,
        max_size=6,
    )
)
def test_percentages_carry_no_noise(shares: list[tuple[int, int]]) -> None:
    found = percent(*shares)
    assert found is not None
    assert len(repr(found).partition(".")[2]) <= 2
    exact = 100 * sum((Fraction(passed, of) for passed, of in shares), Fraction()) / len(shares)
    assert abs(Fraction(repr(found)) - exact) <= Fraction(1, 200)


def test_derived_metrics_fail_with_what_they_are_derived_from() -> None:
    test = TESTS[10]  # wrongly refuses: acceptance must be 0, rejection must not apply
    said = oracle(test)
    grades = {metric: said.judgement.value(metric) for metric in JUDGED}
    outcomes = result(test, {**grades, "completeness": "unreadable"}).outcomes
    assert [outcomes[metric] for metric in METRIC_NAMES] == [
        "passed",
        "unreadable",
        "passed",
        "passed",
        "unreadable",
        "unreadable",
    ]
