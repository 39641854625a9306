"""Agreement of annotators, worked out by hand."""

from __future__ import annotations

import sys

import pytest

from grouse_adapters.core.errors import InputError
from grouse_adapters.native.agreement import annotation_agreement
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation, Source


def said(test: str, who: str, *rows: str, source: Source = "human") -> Annotation:
    """``"It turns. yyn"``: the words, then relevant, faithful and, if there, citation right."""
    statements = []
    for row in rows:
        text, labels = row.rsplit(" ", 1)
        yes = [label == "y" for label in labels]
        statements.append(
            AnnotatedStatement(
                text=text,
                relevant=yes[0],
                faithful=yes[1],
                citation_right=yes[2] if len(yes) > 2 else None,
            )
        )
    return Annotation(test_id=test, annotator=who, source=source, statements=tuple(statements))


def shares(test: str, who: str, **given: float | None) -> Annotation:
    return Annotation.model_validate(
        {"test_id": test, "annotator": who, "source": "human", **given}
    )


ADA = [
    said("mill", "Ada", "It opens yyy", "It closes yny", "Dogs nyy"),
    said("ferry", "Ada"),
    said("museum", "Ada", "Four euros yyy", "Children half yyy"),
]
BO = [
    said("museum", "Bo", "Four euros Children half yny"),
    said("ferry", "Bo"),
    said("mill", "Bo", "it  opens. yyy", "It closes yyy", "Dogs nyn"),
]


def test_two_annotators_by_hand() -> None:
    pytest.importorskip("krippendorff")
    found = annotation_agreement([*ADA, *BO])
    assert found.annotators == ("Ada", "Bo")
    (pair,) = found.pairs
    assert found.together == pair
    assert (pair.tests, pair.statements, pair.unmatched, pair.one_sided) == (3, 3, 3, 0)
    figures = {
        label: (row.statements, row.equal_statements, row.tests, row.equal_tests)
        for label, row in pair.labels.items()
    }
    assert figures == {
        "relevant": (3, 100.0, 3, 100.0),
        "faithful": (3, 66.67, 3, 33.33),  # mill 2/3 and 1, museum 1 and 0, ferry nothing
        "citation_right": (3, 66.67, 3, 66.67),
    }
    # relevant: equal everywhere. The other two: 5 of 6 labels are yes, so that one unequal pair
    # of three is what chance gives: observed 2/6, expected 2 * 5 / 30.
    assert {label: row.alpha for label, row in pair.labels.items()} == {
        "relevant": 1.0,
        "faithful": 0.0,
        "citation_right": 0.0,
    }
    relevancy, faithfulness = pair.shares["answer_relevancy"], pair.shares["faithfulness"]
    assert (relevancy.compared, relevancy.mean_difference, relevancy.largest_difference) == (
        2,
        0.0,
        0.0,
    )
    assert faithfulness.mean_difference == 0.6667  # of 1/3 and 1
    assert faithfulness.largest_difference == 1.0
    assert relevancy.alpha == 1.0
    # squares: observed (2/9 + 2) / 4 = 5/9, expected 2 * (2/9 + 4/9 + 2) / 12 = 4/9
    assert faithfulness.alpha == -0.25
    assert found.paper.mean_difference == 0.05
    assert found.paper.largest_difference == 0.125
    listed = [(row.test_id, row.metric, row.shares, row.difference) for row in found.disagreements]
    assert listed == [
        ("museum", "faithfulness", (1.0, 0.0), 1.0),
        ("mill", "faithfulness", (0.6667, 1.0), 0.3333),
    ]


def test_the_order_of_rows_changes_no_figure() -> None:
    one, other = annotation_agreement([*ADA, *BO]), annotation_agreement([*reversed(ADA), *BO])
    assert one.pairs == other.pairs


def test_three_annotators_are_pooled_over_pairs() -> None:
    eve = [said("mill", "Eve", "It opens yyy", "It closes yny", "Dogs nyy")]
    found = annotation_agreement([*ADA, *BO, *eve])
    assert [pair.annotators for pair in found.pairs] == [
        ("Ada", "Bo"),
        ("Ada", "Eve"),
        ("Bo", "Eve"),
    ]
    together = found.together
    assert together is not None
    # Ada and Bo 2 of 3, Ada and Eve 3 of 3, Bo and Eve 2 of 3
    assert together.labels["faithful"].equal_statements == 77.78
    assert together.statements == 9
    # 1/3 and 1 of Ada and Bo, 0 of Ada and Eve, 1/3 of Bo and Eve
    assert together.shares["faithfulness"].mean_difference == 0.4167
    assert together.tests == 3


def test_nothing_to_rate_for_one_alone() -> None:
    rows = [said("mill", "Ada"), said("mill", "Bo", "It opens yy")]
    found = annotation_agreement(rows)
    pair = found.pairs[0]
    assert (pair.one_sided, pair.unmatched) == (1, 1)
    assert pair.labels["relevant"].equal_tests == 0.0
    assert pair.labels["citation_right"].tests == 0
    assert pair.shares["faithfulness"].compared == 0
    assert pair.shares["faithfulness"].mean_difference is None
    assert found.disagreements[0].shares == (None, 1.0)
    assert found.disagreements[0].difference == 1.0


def test_repeated_statements_are_matched_one_by_one() -> None:
    rows = [
        said("mill", "Ada", "It turns yy", "It turns nn"),
        said("mill", "Bo", "It turns yy", "It turns yn", "It turns yy"),
    ]
    pair = annotation_agreement(rows).pairs[0]
    assert (pair.statements, pair.unmatched) == (2, 1)
    assert pair.labels["relevant"].equal_statements == 50.0


def test_shares_alone_are_compared_as_the_decimals_they_are() -> None:
    rows = [
        shares("a", "Ada", answer_relevancy=0.7, faithfulness=None),
        shares("a", "Bo", answer_relevancy=0.575),
        shares("b", "Ada", answer_relevancy=None, faithfulness=None),
        shares("b", "Bo", answer_relevancy=None, faithfulness=None),
    ]
    pair = annotation_agreement(rows).pairs[0]
    assert pair.shares["answer_relevancy"].largest_difference == 0.125
    assert pair.labels["faithful"].tests == 1  # b; of a nobody gave faithfulness
    assert pair.labels["faithful"].equal_tests == 100.0
    assert pair.labels["citation_right"].equal_statements is None


def test_labels_by_construction_are_no_person() -> None:
    built = [said("mill", "scenario", "It opens yy", source="by construction")]
    found = annotation_agreement([*ADA, *built])
    assert found.annotators == ("Ada",)
    assert found.by_construction == ("scenario",)
    assert found.together is None
    assert found.disagreements == ()
    assert found.pairs[0].annotators == ("Ada", "scenario (by construction)")
    assert found.pairs[0].labels["relevant"].equal_statements == 100.0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (ADA, "Agreement needs two annotators or more"),
        ([*ADA, said("tram", "Bo", "x yy")], "No two annotators annotated the same test"),
        ([*ADA, ADA[0], *BO], "'Ada' annotated 'mill' twice"),
    ],
)
def test_what_cannot_be_compared(rows: list[Annotation], told: str) -> None:
    with pytest.raises(InputError, match=told):
        annotation_agreement(rows)


def test_without_krippendorff_alpha_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    pair = annotation_agreement([*ADA, *BO]).pairs[0]
    share = pair.shares["faithfulness"]
    assert share.mean_difference == 0.6667
    assert share.alpha is None
    assert share.alpha_reason is not None
    assert "pip install 'grouse-adapters[stats]'" in share.alpha_reason
