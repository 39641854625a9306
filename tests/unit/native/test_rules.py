"""When a native score is a success, and what else can happen."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from benchmark_rows import score, suite

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.rules import (
    RATED,
    RunKey,
    difference,
    results,
    verdict,
    without_score,
)
from grouse_adapters.native.shares import MISSING, Missing


def note(test_id: str, share: float | None = 1.0, annotator: str = "a") -> Annotation:
    return Annotation(
        test_id=test_id,
        annotator=annotator,
        source="human",
        answer_relevancy=share,
        faithfulness=share,
    )


@pytest.mark.parametrize(
    ("native", "human", "expected"),
    [
        ("0.673", "0.802", "success"),  # relevancy
        ("0.723", "1.0", "failure"),
        ("0.75", "1", "failure"),  # faithfulness
        ("1.0", "1.0", "success"),
    ],
)
def test_the_worked_examples_of_the_paper(native: str, human: str, expected: str) -> None:
    assert verdict(score("t", float(native)), Fraction(human)) == expected


@pytest.mark.parametrize(
    ("native", "mean"),
    [
        (0.7, Fraction(1, 2)),
        (0.5, Fraction(7, 10)),
        (2 / 3, Fraction(7, 15)),
        (7 / 15, Fraction(2, 3)),
        (0.8, Fraction(1)),
        (1 - 0.2, Fraction(1)),
        (0.1 + 0.2, Fraction(1, 2)),
        (1.2 - 1, Fraction(0)),
        (8 / 15, Fraction(1, 3)),
    ],
)
def test_0_2_apart_is_a_failure_whatever_the_floats_say(native: float, mean: Fraction) -> None:
    assert abs(difference(native, mean)) == Fraction(1, 5)
    assert verdict(score("t", native), mean) == "failure"


@pytest.mark.parametrize("native", [0.5 + 0.199999999, 0.300000001, 0.5, 0.6999])
def test_anything_nearer_is_a_success(native: float) -> None:
    assert verdict(score("t", native), Fraction(1, 2)) == "success"


def test_every_pair_of_fractions_that_is_a_fifth_apart_fails() -> None:
    """All scores k/n of up to 30 statements against the exact fifth above and below them."""
    checked = 0
    for n in range(1, 31):
        for k in range(n + 1):
            for mean in (Fraction(k, n) - Fraction(1, 5), Fraction(k, n) + Fraction(1, 5)):
                if 0 <= mean <= 1:
                    assert verdict(score("t", k / n), mean) == "failure", (k, n, mean)
                    inside = mean + (Fraction(k, n) - mean) * Fraction(1, 10**6)
                    assert verdict(score("t", k / n), inside) == "success", (k, n, mean)
                    checked += 1
    assert checked > 700


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [("0.1", "failure"), ("0.15", "failure"), ("0.151", "success"), ("1", "success")],
)
def test_another_threshold(threshold: str, expected: str) -> None:
    assert verdict(score("t", 0.85), Fraction(1), Decimal(threshold)) == expected


@pytest.mark.parametrize("threshold", ["0", "-0.2", "1.01", "NaN", "Infinity"])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: str) -> None:
    with pytest.raises(ConfigurationError, match="above 0 and up to 1"):
        results([], suite()[0], [], threshold=Decimal(threshold))


ERROR = {"error_kind": "timeout", "error": "no answer"}


@pytest.mark.parametrize("mean", [Fraction(0), Fraction(1)])
def test_no_score_where_there_is_something_to_rate_is_a_failure_of_its_own(mean: Fraction) -> None:
    nan = score("t", None, not_scored=True)
    failed = score("t", None, **ERROR)
    assert verdict(nan, mean) == without_score(nan) == "not_scored"
    assert verdict(failed, mean) == without_score(failed) == "error"
    assert {"not_scored", "error"} < RATED


@pytest.mark.parametrize(
    "said", [score("t", 1.0), score("t", 0.0), score("t", None, not_scored=True)]
)
def test_nothing_to_rate_is_in_no_rate(said: object) -> None:
    found = verdict(said, None)  # type: ignore[arg-type]  # parametrize loses the type
    assert found == "nothing_to_rate"
    assert found not in RATED


@pytest.mark.parametrize("mean", [MISSING])
def test_no_annotation_is_in_no_rate(mean: Missing) -> None:
    for said in (score("t", 1.0), score("t", None, **ERROR), None):
        assert verdict(said, mean) == "no_annotation"
    assert "no_annotation" not in RATED


@pytest.mark.parametrize("mean", [None, Fraction(1)])
def test_what_was_not_run_is_in_no_rate(mean: Fraction | None) -> None:
    assert verdict(None, mean) == "not_run"
    assert "not_run" not in RATED


def test_scores_find_their_tests_in_any_order() -> None:
    tests, notes = suite(1)
    rows = [score(test.id, number / 16) for number, test in enumerate(tests)]
    (one,) = results(rows, tests, notes).values()
    (other,) = results(rows[::-1], tests, notes[::-1]).values()
    (mixed,) = results(rows[8:] + rows[:8], tests[::-1], notes).values()
    assert one == other == mixed[::-1]
    assert [result.test for result in one] == list(tests)
    assert [result.native for result in one] == [
        round(Fraction(n, 16), 9) for n in range(len(tests))
    ]


def test_the_last_row_of_a_test_counts() -> None:
    tests, notes = suite(1)
    rows = [score(tests[0].id, None, **ERROR), score(tests[0].id, 1.0)]
    (found,) = results(rows, tests[:1], notes).values()
    assert found[0].verdict == "success"
    (found,) = results(rows[::-1], tests[:1], notes).values()
    assert found[0].verdict == "error"


def test_rows_of_other_tests_are_left_out() -> None:
    tests, notes = suite(1)
    found = results([score(tests[0].id, 1.0), score("gone", 1.0)], tests, notes)
    (rows,) = found.values()
    assert [row.test.id for row in rows if row.score] == [tests[0].id]
    assert [row.verdict for row in rows[1:]].count("not_run") == 15


def test_runs_are_told_apart_and_ordered() -> None:
    tests, notes = suite(1)
    first = tests[0].id
    rows = [
        score(first, 1.0, framework="deepeval", variant="with-reason"),
        score(first, 1.0, metric="answer_relevancy"),
        score(first, 1.0, variant="legacy"),
        score(first, 1.0),
        score(tests[3].id, 1.0, framework_version="0.3.9"),
    ]
    keys = list(results(rows, tests, notes))
    assert [(key.framework, key.framework_version, key.metric, key.variant) for key in keys] == [
        ("ragas", "0.3.9", "faithfulness", "collections"),
        ("ragas", "0.4.3", "faithfulness", "collections"),
        ("ragas", "0.4.3", "faithfulness", "legacy"),
        ("ragas", "0.4.3", "answer_relevancy", "collections"),
        ("deepeval", "4.3.1", "faithfulness", "with-reason"),
    ]
    assert keys[0] == RunKey.of(rows[-1])


def test_several_annotators_are_compared_by_their_mean() -> None:
    tests, _ = suite(1)
    first = tests[0].id
    notes = [note(first, 0.5), note(first, 1.0, "b")]
    (found,) = results([score(first, 0.9)], tests[:1], notes).values()
    assert (found[0].mean, found[0].verdict) == (Fraction(3, 4), "success")
    assert found[0].difference == Fraction(3, 20)
