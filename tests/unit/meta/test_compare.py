"""Two runs on the same tests: flips in both directions, and McNemar's test."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import conditions, one_test, oracles, result, unit_tests, with_grade, wrong

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.compare import compare, mcnemar
from grouse_adapters.meta.report import TestResult

TESTS = unit_tests()
RIGHT = oracles(TESTS)


def spoilt(*places: int) -> list[TestResult]:
    """Right but for completeness in these tests."""
    return [
        with_grade(each, "completeness", wrong(each.test, "completeness")[0])
        if place in places
        else each
        for place, each in enumerate(RIGHT)
    ]


def test_a_run_against_itself() -> None:
    found = compare(RIGHT, RIGHT)
    assert found.tests == 16
    assert tuple(found.metrics) == METRIC_NAMES
    for each in found.metrics.values():
        assert (each.tests, each.first, each.second) == (16, 100.0, 100.0)
        assert each.gained == each.lost == ()
    assert found.only_first == found.only_second == found.changed == ()


def test_flips_in_both_directions() -> None:
    found = compare(spoilt(0, 3, 5), spoilt(3, 4))
    flipped = found.metrics["completeness"]
    assert flipped.gained == (TESTS[0].id, TESTS[5].id)
    assert flipped.lost == (TESTS[4].id,)
    assert (flipped.first, flipped.second) == (81.25, 87.5)
    others = [each for name, each in found.metrics.items() if name != "completeness"]
    assert all(not each.gained and not each.lost for each in others)
    back = compare(spoilt(3, 4), spoilt(0, 3, 5)).metrics["completeness"]
    assert (back.gained, back.lost) == (flipped.lost, flipped.gained)
    assert back.p_value == flipped.p_value


def test_tests_of_one_run_only_are_listed() -> None:
    found = compare(RIGHT[:10], RIGHT[4:])
    assert found.tests == 6
    assert found.only_first == tuple(test.id for test in TESTS[:4])
    assert found.only_second == tuple(test.id for test in TESTS[10:])
    assert {each.tests for each in found.metrics.values()} == {6}


def test_other_tests_under_the_same_id_are_not_compared() -> None:
    first = one_test("a"), one_test("b"), one_test("c")
    other_text = first[0].sample.model_copy(update={"actual_output": "At one [1]."})
    second = (
        first[0].model_copy(update={"sample": other_text}),
        first[1].model_copy(update={"conditions": conditions("==5 <5 - ==1")}),
        first[2].model_copy(update={"goal": "only worded anew"}),
    )
    found = compare(oracles(first), oracles(second))
    assert found.changed == ("a", "b")
    assert found.tests == 1
    assert found.metrics["completeness"].tests == 1


def test_a_metric_is_compared_where_both_runs_have_it() -> None:
    first, second = one_test("a"), one_test("b")
    found = compare(
        [
            result(first, {"completeness": 5, "faithfulness": 1}),
            result(second, {"completeness": 5}),
        ],
        [result(first, {"completeness": 1}), result(second, {"faithfulness": 1})],
    )
    assert list(found.metrics) == ["completeness"]
    assert found.metrics["completeness"].lost == ("a",)
    assert (found.tests, found.metrics["completeness"].tests) == (2, 1)


def test_failed_and_unreadable_are_both_not_passed() -> None:
    test = one_test("a")
    failed, unreadable, passed = (
        [result(test, {"completeness": value})] for value in (1, "unreadable", 5)
    )
    still = compare(failed, unreadable).metrics["completeness"]
    assert still.gained == still.lost == ()
    assert compare(unreadable, passed).metrics["completeness"].gained == ("a",)


def test_nothing_in_common() -> None:
    found = compare(RIGHT[:1], RIGHT[1:2])
    assert (found.tests, found.metrics, found.hint) == (0, {}, None)


def test_an_id_that_stands_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="The second run holds the test 'set-1/1' twice"):
        compare(RIGHT, [*RIGHT, RIGHT[0]])


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_p_value_is_the_exact_one(gained: int, lost: int) -> None:
    pytest.importorskip("scipy")
    flips, fewer = gained + lost, min(gained, lost)
    tail = Fraction(sum(comb(flips, k) for k in range(fewer + 1)), 2**flips)
    expected = min(Fraction(1), 2 * tail)
    assert mcnemar(gained, lost) == pytest.approx(float(expected), rel=1e-9)


def test_known_p_values() -> None:
    pytest.importorskip("scipy")
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 5) == pytest.approx(0.0625)
    assert mcnemar(1, 9) == pytest.approx(0.021484375)


def test_without_scipy_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    found = compare(spoilt(0), RIGHT)
    assert {each.p_value for each in found.metrics.values()} == {None}
    assert found.metrics["completeness"].gained == (TESTS[0].id,)
    assert found.hint is not None
    assert "grouse-adapters[stats]" in found.hint


def test_with_scipy_there_is_no_hint() -> None:
    pytest.importorskip("scipy")
    found = compare(spoilt(0), RIGHT)
    assert found.hint is None
    assert found.metrics["completeness"].p_value == 1.0
