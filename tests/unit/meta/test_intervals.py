"""Intervals: drawn over sets, the same every time, exact at their ends."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from made_results import one_test, oracles, result, unit_tests, with_grade, wrong

from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.counts import Counts, Key, percent
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.report import MetaReport, TestResult


def key(metric: MetricName) -> Key:
    return Key("all", "", "asked", metric)


def counts_of(*shares: tuple[int, int], metric: MetricName = "completeness") -> Counts:
    """One set per share."""
    counts = Counts()
    for number, (passed, of) in enumerate(shares):
        for place in range(of):
            counts.add(f"set-{number}", key(metric), passed=place < passed)
    return counts


def report(results: list[TestResult]) -> MetaReport:
    return meta_report(results, command="meta-evaluate", judge="made", source="made")


def noisy(sets: int, *, seed: int = 1) -> list[TestResult]:
    """Mostly right, and worse in some sets than in others."""
    draw = random.Random(seed)
    worse = {f"set-{number}": draw.random() / 2 for number in range(1, sets + 1)}
    results = []
    for each in oracles(unit_tests(sets)):
        for metric in METRIC_NAMES:
            if draw.random() < worse[each.test.set_id]:
                each = with_grade(each, metric, draw.choice(wrong(each.test, metric)))
        results.append(each)
    return results


def test_one_set_has_no_interval() -> None:
    found = report(oracles(unit_tests()))
    assert set(found.pass_rate_interval.values()) == {None}
    assert found.pass_rate_interval.keys() == found.pass_rate.keys()
    assert all(each.balanced_accuracy_interval is None for each in found.detection.values())


def test_every_figure_has_an_interval_around_it() -> None:
    found = report(noisy(9))
    figures = [(found.pass_rate[name], found.pass_rate_interval[name]) for name in found.pass_rate]
    for kind in found.by_type.values():
        figures += [
            (kind.pass_rate[name], kind.pass_rate_interval[name]) for name in kind.pass_rate
        ]
    detections = [*found.detection.values(), *found.by_failure_mode.values()]
    detections += [each for kind in found.by_type.values() for each in kind.detection.values()]
    for each in detections:
        figures += [
            (each.sensitivity, each.sensitivity_interval),
            (each.specificity, each.specificity_interval),
            (each.balanced_accuracy, each.balanced_accuracy_interval),
        ]
    assert len(figures) > 200
    for figure, interval in figures:
        assert (figure is None) == (interval is None)
        if figure is not None and interval is not None:
            assert 0 <= interval[0] <= figure <= interval[1] <= 100
            assert all(len(repr(end).partition(".")[2]) <= 2 for end in interval)
    total = found.pass_rate_interval["total"]
    assert total is not None
    assert total[0] < total[1]


def test_the_same_results_have_the_same_intervals_in_any_order() -> None:
    results = noisy(5)
    first = report(results)
    shuffled = list(results)
    random.Random(3).shuffle(shuffled)
    assert report(shuffled) == first
    renamed = [
        TestResult(
            each.test.model_copy(update={"set_id": f"other {6 - int(each.test.set_id[4:])}"}),
            each.judgement,
        )
        for each in results
    ]
    assert report(renamed) == first


def test_the_interval_is_that_of_all_resamples_where_they_can_be_counted() -> None:
    # Four sets: all 256 resamples are equally likely, so the exact quantiles are known.
    shares = [(0, 4), (1, 4), (3, 4), (4, 4)]
    means = sorted(
        Fraction(sum(shares[place][0] for place in drawn), 16)
        for drawn in product(range(4), repeat=4)
    )
    interval = Bootstrap(counts_of(*shares), resamples=20_000).interval(key("completeness"))
    assert interval == (
        percent((means[256 // 40].numerator, means[256 // 40].denominator)),
        percent((means[-1 - 256 // 40].numerator, means[-1 - 256 // 40].denominator)),
    )


def test_larger_sets_weigh_more() -> None:
    # The rate of a resample is over its tests: 0 of 90 and 10 of 10 make 10 %, not 50 %.
    interval = Bootstrap(counts_of(*[(0, 90), (10, 10)] * 50)).interval(key("completeness"))
    assert interval is not None
    assert 4 < interval[0] < 10 < interval[1] < 20


def test_the_mean_of_two_rates_is_taken_in_each_resample() -> None:
    # Where one rate is high the other is low: their mean never varies.
    counts = Counts()
    for number in range(6):
        good = number % 2 == 0
        counts.add(f"set-{number}", key("completeness"), passed=good)
        counts.add(f"set-{number}", key("faithfulness"), passed=not good)
    bootstrap = Bootstrap(counts)
    alone = bootstrap.interval(key("completeness"))
    assert alone is not None
    assert alone[1] - alone[0] > 30
    assert bootstrap.interval(key("completeness"), key("faithfulness")) == (50.0, 50.0)


def test_resamples_without_a_test_are_left_out() -> None:
    counts = counts_of((1, 2), (2, 2))
    for number in range(8):
        counts.add(f"other-{number}", key("faithfulness"), passed=True)
    assert Bootstrap(counts).interval(key("completeness")) == (50.0, 100.0)


def test_a_figure_from_one_set_has_no_interval() -> None:
    counts = counts_of((1, 2), (2, 2))
    counts.add("set-0", key("faithfulness"), passed=True)
    bootstrap = Bootstrap(counts)
    assert bootstrap.interval(key("faithfulness")) is None
    assert bootstrap.interval(key("completeness"), key("faithfulness")) is None
    assert bootstrap.interval(key("usefulness")) is None
    assert bootstrap.interval() is None


def test_counts_beyond_32_bits_do_not_spill_over() -> None:
    counts = Counts()
    for number in range(2):
        for metric in ("completeness", "faithfulness"):
            counts.add(f"set-{number}", key(metric), passed=metric == "completeness")
    # Reaches inside: to add so many tests one by one would take hours.
    for cells in counts._sets.values():
        for cell in cells.values():
            cell[:] = [cell[0] * 2**31, 2**31]
    bootstrap = Bootstrap(counts)
    assert bootstrap.interval(key("completeness")) == (100.0, 100.0)
    assert bootstrap.interval(key("faithfulness")) == (0.0, 0.0)


@pytest.mark.parametrize("sets", [2, 9, 60])
def test_more_sets_narrow_the_interval(sets: int) -> None:
    def width(number: int) -> float:
        shares = [(1, 4), (3, 4)] * number
        found = Bootstrap(counts_of(*shares)).interval(key("completeness"))
        assert found is not None
        return found[1] - found[0]

    assert width(4 * sets) < width(sets)


def test_what_was_not_asked_has_no_interval() -> None:
    results = [
        result(one_test(f"{number}", set_id=f"s{number}"), {"completeness": 5 - number})
        for number in range(3)
    ]
    found = report(results).pass_rate_interval
    assert found.keys() == {"completeness", "total"}
    assert found["total"] is None
    assert found["completeness"] is not None


def test_right_grades_vary_nowhere() -> None:
    found = report(oracles(unit_tests(3)))
    assert set(found.pass_rate_interval.values()) == {(100.0, 100.0)}
