"""Two benchmarks side by side."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from benchmark_rows import score, suite

from grouse_adapters.core.errors import InputError
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.compare import BenchmarkData, compare_benchmarks

TESTS, NOTES = suite(1)
RATED = [test for test, note in zip(TESTS, NOTES, strict=True) if note.statements]


def data(*values: float | None, **given: str) -> BenchmarkData:
    """Scores of the first rated tests, all of which are annotated as 1."""
    rows = [
        score(test.id, value, not_scored=value is None, **given)
        for test, value in zip(RATED, values, strict=False)
    ]
    notes = [
        Annotation(
            test_id=test.id,
            annotator="a",
            source="human",
            answer_relevancy=1.0,
            faithfulness=1.0,
        )
        for test in RATED
    ]
    return BenchmarkData(rows, TESTS, notes)


def test_flips_and_moves_of_two_versions() -> None:
    old = data(1.0, 1.0, 0.5, 0.5, 0.9, None, framework_version="0.3.9")
    new = data(1.0, 0.7, 1.0, 0.9, 0.9, 1.0)
    (run,) = compare_benchmarks(old, new).runs
    assert (run.tests, run.scored) == (6, 5)
    assert run.gained == (RATED[2].id, RATED[3].id, RATED[5].id)
    assert run.lost == (RATED[1].id,)
    assert (run.first.success_rate, run.second.success_rate) == (50.0, 83.33)
    assert run.first.framework_versions == ("0.3.9",)
    assert run.second.framework_versions == ("0.4.3",)
    assert run.p_value == 0.625  # 2 * (1 + 4) / 16
    assert (run.mean_difference, run.mean_absolute_difference) == (0.12, 0.24)
    assert [(move.test_id, move.first, move.second) for move in run.moved] == [
        (RATED[2].id, 0.5, 1.0),
        (RATED[3].id, 0.5, 0.9),
        (RATED[1].id, 1.0, 0.7),
    ]


def test_from_no_score_to_an_error_is_no_flip() -> None:
    old = data(None)
    new = replace(old, scores=[score(RATED[0].id, None, error="x", error_kind="timeout")])
    (run,) = compare_benchmarks(old, new).runs
    assert (run.tests, run.gained, run.lost, run.p_value) == (1, (), (), 1.0)


def test_tests_that_changed_are_left_out() -> None:
    old = data(1.0, 1.0, 1.0)
    sample = RATED[0].sample.model_copy(update={"actual_output": "Something else."})
    tests = [
        test.model_copy(update={"sample": sample}) if test.id == RATED[0].id else test
        for test in TESTS
    ]
    notes = [
        note.model_copy(update={"faithfulness": 0.5}) if note.test_id == RATED[1].id else note
        for note in old.annotations
    ]
    found = compare_benchmarks(old, BenchmarkData(old.scores, tests, notes))
    assert found.changed == (RATED[0].id, RATED[1].id)
    assert found.runs[0].tests == 1


def test_runs_that_one_side_lacks_are_named() -> None:
    both = data(1.0)
    more = replace(both, scores=[*both.scores, score(RATED[0].id, 1.0, variant="legacy")])
    found = compare_benchmarks(both, more)
    assert (found.only_first, found.only_second) == ((), ("ragas faithfulness legacy",))
    assert len(found.runs) == 1


def test_the_only_runs_of_a_metric_are_compared_across_frameworks() -> None:
    (run,) = compare_benchmarks(
        data(1.0), data(0.5, framework="deepeval", variant="with-reason")
    ).runs
    assert (run.first.framework, run.second.framework) == ("ragas", "deepeval")
    assert run.lost == (RATED[0].id,)


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(InputError, match="no metric in common"):
        compare_benchmarks(data(1.0), data(1.0, metric="answer_relevancy"))


def test_without_scipy_the_p_value_is_missing_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    found = compare_benchmarks(data(1.0), data(0.5))
    assert found.runs[0].p_value is None
    assert "grouse-adapters[stats]" in (found.hint or "")
