"""Alignment of two judges, against figures worked out by hand and the libraries' own."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_judged import FAILED, UNASKED, Told, judged, judgement, one_metric
from scipy.stats import spearmanr
from sklearn.metrics import f1_score  # type: ignore[import-untyped]  # ships no types

from grouse_adapters.core.errors import InputError, MissingExtraError
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.alignment import MetricAlignment, align, distinct_names
from grouse_adapters.meta.published import published_alignment

PAGE = Path(__file__).parents[3] / "docs" / "align.md"
GRADES = st.sampled_from([1, 2, 3, 4, 5, None])
CLASSES = st.sampled_from([0, 1, None])


def completeness(judge: Sequence[Told], truth: Sequence[Told]) -> MetricAlignment:
    metric: MetricName = "completeness"
    return align(one_metric(metric, judge), one_metric(metric, truth, "t")).metrics[metric]


def faithfulness(judge: Sequence[Told], truth: Sequence[Told]) -> MetricAlignment:
    metric: MetricName = "faithfulness"
    return align(one_metric(metric, judge), one_metric(metric, truth, "t")).metrics[metric]


def test_spearman_by_hand() -> None:
    """Differences of ranks 0 0 0 1 1: 1 - 6 * 2 / (5 * 24) = 0.9; null and failed left out."""
    judge: list[Told] = [1, 2, 3, 5, 4, None, 5, FAILED, None, 3]
    truth: list[Told] = [1, 2, 3, 4, 5, None, None, 1, FAILED, FAILED]
    found = completeness(judge, truth)
    assert found.spearman == pytest.approx(0.9)
    assert (found.samples, found.graded) == (10, 5)
    assert (found.failed_judge, found.failed_truth) == (1, 2)
    assert found.equal == 57.14  # 1, 2, 3 and null, of the seven without a failure
    assert (found.macro_f1, found.reason) == (None, None)


def test_macro_f1_by_hand() -> None:
    """0: 2 * 2 / (4 + 0 + 1) = 4/5; 1: 2 * 2 / (4 + 1 + 1) = 2/3; null: 2 / (2 + 1 + 0) = 2/3."""
    judge: list[Told] = [1, 1, 1, 0, 0, None, None, FAILED]
    truth: list[Told] = [1, 1, 0, 0, 0, None, 1, 1]
    found = faithfulness(judge, truth)
    assert found.macro_f1 == pytest.approx((4 / 5 + 2 / 3 + 2 / 3) / 3)
    assert found.equal == 71.43
    assert found.confusion.labels == (0, 1, None)
    # rows: the truth; columns: the judge
    assert found.confusion.counts == ((2, 1, 0), (0, 2, 1), (0, 0, 1))
    assert (found.spearman, found.reason) == (None, None)


def test_classes_that_nobody_gave_do_not_count() -> None:
    assert faithfulness([1, 1, 0, 0], [1, 1, 0, 0]).macro_f1 == 1
    assert faithfulness([None, None], [None, None]).macro_f1 == 1
    # 1 is given by one side alone, and that counts: (2/3 + 0) / 2
    assert faithfulness([0, 1], [0, 0]).macro_f1 == pytest.approx(1 / 3)


def test_the_matrix_of_grades_holds_null_and_leaves_failures_out() -> None:
    found = completeness([1, 5, 5, None, 2, FAILED], [1, 4, None, None, None, 2])
    assert found.confusion.labels == (1, 2, 3, 4, 5, None)
    assert found.confusion.counts == (
        (1, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 0, 0),
        (0, 0, 0, 0, 1, 0),
        (0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 1, 1),
    )


@pytest.mark.parametrize(
    ("judge", "truth", "reason"),
    [
        ([1, 2], [1, 2], "fewer than 3 samples have a grade on both sides"),
        ([1, 2, None, 4], [1, 2, 3, None], "fewer than 3 samples have a grade on both sides"),
        ([4, 4, 4], [1, 2, 3], "the judge always gave 4"),
        ([1, 2, 3], [5, 5, 5], "the truth always gave 5"),
        ([FAILED, FAILED], [5, 5], "fewer than 3 samples have a grade on both sides"),
    ],
)
def test_no_correlation_without_a_reason(judge: list[Told], truth: list[Told], reason: str) -> None:
    found = completeness(judge, truth)
    assert (found.spearman, found.reason) == (None, reason)


def test_nothing_but_failures_is_no_f1() -> None:
    found = faithfulness([FAILED, 1], [1, FAILED])
    assert (found.macro_f1, found.equal) == (None, None)
    assert found.reason == "every sample has a failed grade on one side"
    assert found.confusion.counts == ((0, 0, 0),) * 3


@given(st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=30))
def test_spearman_is_scipys(pairs: list[tuple[int | None, int | None]]) -> None:
    found = completeness([a for a, _ in pairs], [b for _, b in pairs])
    graded = [(a, b) for a, b in pairs if a is not None and b is not None]
    if found.spearman is None:
        assert (
            len(graded) < 3 or len({a for a, _ in graded}) == 1 or len({b for _, b in graded}) == 1
        )
        assert found.reason
    else:
        ours = spearmanr([a for a, _ in graded], [b for _, b in graded]).statistic
        assert found.spearman == pytest.approx(ours)
    assert sum(map(sum, found.confusion.counts)) == len(pairs)
    diagonal = sum(row[at] for at, row in enumerate(found.confusion.counts))
    assert found.equal == pytest.approx(100 * diagonal / len(pairs), abs=0.005)


@given(st.lists(st.tuples(CLASSES, CLASSES), min_size=1, max_size=30))
def test_macro_f1_is_scikit_learns_and_the_same_from_either_side(
    pairs: list[tuple[int | None, int | None]],
) -> None:
    judge, truth = [a for a, _ in pairs], [b for _, b in pairs]
    found = faithfulness(judge, truth)
    theirs = f1_score(
        list(map(str, truth)), list(map(str, judge)), average="macro", zero_division=0
    )
    assert found.macro_f1 == pytest.approx(theirs)
    turned = faithfulness(truth, judge)
    assert turned.macro_f1 == pytest.approx(theirs)
    assert turned.confusion.counts == tuple(zip(*found.confusion.counts, strict=True))


def test_only_what_both_were_asked_is_compared() -> None:
    one = judged(
        [
            judgement("a", {"completeness": 5, "faithfulness": 1}),
            judgement("b", {"completeness": 4, "faithfulness": UNASKED}),
            judgement("c", {"usefulness": 1}),
        ]
    )
    other = judged([judgement(n, {"completeness": 5, "faithfulness": 1}) for n in "abd"], "t")
    found = align(one, other)
    assert (found.judge, found.truth, found.samples) == ("j", "t", 2)
    assert {name: each.samples for name, each in found.metrics.items()} == {
        "completeness": 2,
        "faithfulness": 1,
    }
    assert (found.only_judge, found.only_truth) == (("c",), ("d",))


def test_an_id_that_stands_for_other_texts_is_left_out() -> None:
    edited = judgement("a", {"completeness": 5}).model_copy(
        update={"sample": Sample(id="a", input="Another question?", actual_output="Answer a.")}
    )
    plain = [judgement(name, {"completeness": 5}) for name in "ab"]
    found = align(judged([edited, plain[1]]), judged(plain, "t"))
    assert (found.changed, found.samples) == (("a",), 1)
    empty = edited.model_copy(update={"sample": Sample(id="a", input="", actual_output="")})
    assert align(judged([empty, plain[1]]), judged(plain, "t")).samples == 2


def test_nothing_in_common_is_an_error() -> None:
    one = one_metric("completeness", [1, 2])
    other = judged([judgement("x", {"completeness": 1})], "t")
    with pytest.raises(InputError, match=r"j\.csv and t\.csv have no sample in common.*--tests"):
        align(one, other)
    with pytest.raises(InputError, match="no metric in common"):
        align(one, one_metric("faithfulness", [1, 0], "t"))


def test_judges_of_one_name_are_told_apart() -> None:
    rows = [judgement("a", {"completeness": 1})]
    same = [judged(rows, "gpt-4", file) for file in ("one/run", "two/run", "two/other")]
    assert distinct_names(same[1:]) == ["gpt-4 (run)", "gpt-4 (other)"]
    assert distinct_names(same[:2]) == ["gpt-4 (one/run)", "gpt-4 (two/run)"]
    assert len(set(distinct_names([same[0], same[0]]))) == 2
    assert distinct_names([judged(rows, "a"), judged(rows, "b")]) == ["a", "b"]


@pytest.mark.parametrize("missing", ["scipy", "sklearn"])
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    one = one_metric("completeness", [1, 2, 3])
    with pytest.raises(MissingExtraError) as raised:
        align(one, one)
    assert str(raised.value) == (
        f"Alignment needs {missing}, which is not installed: pip install 'grouse-adapters[stats]'."
    )


def test_the_page_shows_the_published_alignment_as_it_is_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("### Published alignment") : text.index("## Agreement")]
    shown = re.findall(r"^\| (.+?) \| ((?:0\.\d\d \| ){5}0\.\d\d) \|$", section, re.MULTILINE)
    assert [(name.removesuffix(" (one prompt for all metrics)"), row) for name, row in shown] == [
        (row.judge, " | ".join(f"{figure:.2f}" for figure in row.alignment.values()))
        for row in published_alignment()
    ]
    single = [name.endswith("(one prompt for all metrics)") for name, _ in shown]
    assert single == ["all metrics" in row.setting for row in published_alignment()]
    assert "prompts" in section
