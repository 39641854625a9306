"""Which failure modes a native score reacts to."""

from __future__ import annotations

from benchmark_rows import judged, score, suite

from grouse_adapters.native.figures import benchmark_report
from grouse_adapters.native.report import Reaction
from grouse_adapters.native.rows import NativeScore

TESTS, NOTES = suite(2)
FIRST, SECOND = (list(TESTS[:16]), list(TESTS[16:]))


def reactions(rows: list[NativeScore], *, judge: bool = False) -> dict[str, Reaction]:
    (run,) = benchmark_report(
        rows, TESTS, NOTES, source="x", judged=judged(2) if judge else None
    ).runs
    return run.by_failure_mode


def number(place: int, value: float | None, *, of: int = 0) -> NativeScore:
    """A score for the test of a type, 1-16."""
    test = (FIRST, SECOND)[of][place - 1]
    return score(test.id, value, not_scored=value is None)


def test_a_drop_is_from_the_sets_own_perfect_answer() -> None:
    found = reactions(
        [number(1, 0.9), number(16, 0.6), number(1, 0.5, of=1), number(16, 0.5, of=1)]
    )
    mode = found["FM7"]
    assert list(found) == ["FM7"]
    assert (mode.tests, mode.compared, mode.mean_drop) == (2, 2, 0.15)
    assert (mode.dropped, mode.dropped_rate) == (1, 50.0)
    assert mode.dropped_interval == (0.0, 100.0)
    assert (mode.title, mode.metric) == ("distorted or unsupported claim", "faithfulness")


def test_a_drop_of_exactly_the_threshold_counts() -> None:
    exact = reactions([number(1, 0.7), number(16, 0.5)])["FM7"]
    below = reactions([number(1, 0.7), number(16, 0.51)])["FM7"]
    assert (exact.dropped, below.dropped) == (1, 0)


def test_a_rise_is_a_negative_drop() -> None:
    found = reactions([number(1, 0.5), number(16, 0.75)])["FM7"]
    assert (found.mean_drop, found.dropped) == (-0.25, 0)


def test_the_annotated_drop_is_what_there_is_to_react_to() -> None:
    """Type 14 only cites wrongly: annotators rate facts, so their share does not drop."""
    found = reactions([number(place, 1.0) for place in (1, 14, 16)])
    assert found["FM6"].annotated_drop == 0.0
    seven = found["FM7"].annotated_drop
    assert seven is not None
    assert seven > 0


def test_without_a_score_there_is_nothing_to_compare() -> None:
    rows = [number(1, 1.0), number(16, None), number(1, 1.0, of=1), number(16, 0.5, of=1)]
    found = reactions(rows)["FM7"]
    assert (found.tests, found.compared, found.mean_drop) == (2, 1, 0.5)
    bare = reactions([number(1, None), number(16, 0.5)])["FM7"]
    assert (bare.tests, bare.compared, bare.mean_drop, bare.dropped_rate) == (1, 0, None, None)


def test_without_a_perfect_answer_the_set_is_left_out() -> None:
    assert reactions([number(16, 0.5)]) == {}
    assert reactions([number(1, 1.0), number(16, 0.5, of=1)]) == {}


def test_several_modes_of_a_test_count_each() -> None:
    found = reactions([number(1, 1.0), number(9, 0.0)])
    assert list(found) == ["FM1", "FM2"]
    assert found["FM1"].mean_drop == found["FM2"].mean_drop == 1.0


def test_good_answers_are_the_control() -> None:
    found = reactions([number(place, 1.0) for place in range(1, 8)])
    assert list(found) == ["none"]
    assert (found["none"].tests, found["none"].mean_drop) == (6, 0.0)
    assert found["none"].metric is None


def test_the_judge_beside_it() -> None:
    rows = [score(test.id, 1.0) for test in TESTS]
    with_judge = reactions(rows, judge=True)
    by_id = {judgement.id: judgement for judgement in judged(2)}
    tests = [test for test in TESTS if "FM7" in test.failure_modes]
    seen = [test.outcomes(by_id[test.id])["faithfulness"] == "passed" for test in tests]
    assert with_judge["FM7"].judge_tests == len(tests)
    assert with_judge["FM7"].judge_seen == round(100 * sum(seen) / len(seen), 2)
    assert with_judge["none"].judge_seen is None
    assert reactions(rows)["FM7"].judge_seen is None
