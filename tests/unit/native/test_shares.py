"""Shares of annotations: exact, and the mean of several annotators."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from benchmark_rows import suite

from grouse_adapters.core.errors import InputError
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation
from grouse_adapters.native.shares import MISSING, annotated, check_annotations, shares


def labelled(labels: str, **given: Any) -> Annotation:
    """From labels such as ``rf r f -``: relevant and faithful per statement."""
    return Annotation(
        test_id=given.pop("test_id", "t"),
        annotator=given.pop("annotator", "ann"),
        source=given.pop("source", "human"),
        statements=tuple(
            AnnotatedStatement(text=f"S{n}.", relevant="r" in one, faithful="f" in one)
            for n, one in enumerate(labels.split())
        ),
    )


def given_shares(
    relevancy: float | None, faithfulness: float | None, annotator: str = "ann", test_id: str = "t"
) -> Annotation:
    return Annotation(
        test_id=test_id,
        annotator=annotator,
        source="human",
        answer_relevancy=relevancy,
        faithfulness=faithfulness,
    )


@pytest.mark.parametrize(
    ("labels", "relevancy", "faithfulness"),
    [
        ("rf", Fraction(1), Fraction(1)),
        ("rf r f -", Fraction(1, 2), Fraction(1, 2)),
        ("rf rf f", Fraction(2, 3), Fraction(1)),
        ("- - -", Fraction(0), Fraction(0)),
        ("r r r r r r r", Fraction(1), Fraction(0)),
    ],
)
def test_statements_are_counted(labels: str, relevancy: Fraction, faithfulness: Fraction) -> None:
    found = shares(labelled(labels))
    assert (found.answer_relevancy, found.faithfulness) == (relevancy, faithfulness)
    assert found.of("faithfulness") == faithfulness
    assert not found.nothing_to_rate


def test_no_statements_is_no_share() -> None:
    found = shares(labelled(""))
    assert found.answer_relevancy is found.faithfulness is None
    assert found.nothing_to_rate
    assert shares(given_shares(None, None)) == found


@pytest.mark.parametrize("written", ["0.7", "0.1", "0.802", "0.6666666667", "1e-05", "0", "1.0"])
def test_numbers_are_the_decimals_that_were_written(written: str) -> None:
    found = shares(given_shares(float(written), 0.5))
    assert found.answer_relevancy == Fraction(written)


def test_the_mean_is_exact() -> None:
    rows = [labelled("rf - -", annotator="a"), labelled("rf", annotator="b")]
    rows.append(given_shares(0.5, 0.2, annotator="c"))
    found = annotated(rows)["t"]
    assert found.mean("answer_relevancy") == Fraction(11, 18)
    assert found.mean("faithfulness") == Fraction(1, 3) * (Fraction(1, 3) + 1 + Fraction(1, 5))


def test_differences_are_between_each_two() -> None:
    rows = [given_shares(share, 1.0, annotator=str(share)) for share in (0.5, 0.625, 0.75)]
    found = annotated(rows)["t"].shares["answer_relevancy"]
    assert found.annotators == 3
    assert sorted(found.differences) == [Fraction(1, 8), Fraction(1, 8), Fraction(1, 4)]
    assert found.largest_difference == Fraction(1, 4)
    assert found.mean_difference == Fraction(1, 6)


def test_one_annotator_has_no_difference() -> None:
    found = annotated([labelled("rf r")])["t"].shares["faithfulness"]
    assert (found.mean, found.annotators) == (Fraction(1, 2), 1)
    assert found.largest_difference is found.mean_difference is None


def test_who_found_nothing_to_rate_is_counted_and_not_averaged() -> None:
    rows = [labelled("rf f", annotator="a"), labelled("", annotator="b")]
    found = annotated(rows)["t"].shares["answer_relevancy"]
    assert (found.mean, found.annotators, found.without) == (Fraction(1, 2), 1, 1)
    nobody = annotated([labelled("", annotator="a"), labelled("", annotator="b")])["t"]
    assert nobody.mean("faithfulness") is None
    assert nobody.shares["faithfulness"].without == 2


def test_one_share_alone_leaves_the_other_metric_without_annotation() -> None:
    alone = Annotation.model_validate(
        {"test_id": "t", "annotator": "a", "source": "human", "faithfulness": 0.5}
    )
    again = Annotation.model_validate(alone.as_row())
    for row in (alone, again):
        found = annotated([row])["t"]
        assert found.mean("faithfulness") == Fraction(1, 2)
        assert found.mean("answer_relevancy") is MISSING


def test_the_order_of_annotations_does_not_matter() -> None:
    rows = [
        labelled("rf r", annotator="a"),
        labelled("f", annotator="b", source="by construction"),
        labelled("r", annotator="a", test_id="u"),
    ]
    one, other = annotated(rows), annotated(rows[::-1])
    assert one.keys() == other.keys() == {"t", "u"}
    assert one["t"].sources == other["t"].sources == {"human", "by construction"}
    for metric in ("faithfulness", "answer_relevancy"):
        assert one["t"].mean(metric) == other["t"].mean(metric)


def refused(rows: Sequence[Annotation]) -> str:
    with pytest.raises(InputError) as refusal:
        check_annotations(suite()[0], rows)
    return str(refusal.value)


def test_unknown_tests_are_named_before_anything_is_paid() -> None:
    tests, notes = suite()
    check_annotations(tests, notes)
    one = refused([*notes, labelled("rf", test_id="gone/1")])
    assert "'gone/1'" in one
    assert "more" not in one
    many = refused([labelled("rf", test_id=f"gone/{n}") for n in range(1, 6)])
    assert "('gone/1', 'gone/2', 'gone/3' and 2 more)" in many
    assert "gone/4" not in many


def test_an_annotator_counts_once_a_test() -> None:
    tests, notes = suite()
    assert repr(tests[0].id) in refused([*notes, notes[0]])


def test_no_annotation_at_all_stops() -> None:
    assert "--annotations" in refused([])
