"""Published figures: all there, with their source; the totals recomputed from their columns."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from made_results import oracles, unit_tests

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.published import (
    PUBLISHED_TESTS,
    published_alignment,
    published_judges,
    published_pass_rates,
    recomputed_total,
    rows_that_do_not_add_up,
)
from grouse_adapters.meta.report import PublishedJudge

PAGE = Path(__file__).parents[3] / "docs" / "meta_evaluation.md"
ROWS = published_pass_rates()
FRENCH = "French samples, English instructions"
OFF = {("human annotators, as on the model card", "Humans"), (FRENCH, "Llama-3.1 8b")}
# Right for unrounded columns, as far as anyone can tell from rounded ones.
ROUNDED = {
    (FRENCH, "GPT-4"),
    (FRENCH, "Llama-3.1 70b"),
    ("fine-tuned on balanced grades", "fine-tuned Llama-3 8b"),
}
ONE_HUNDREDTH = Fraction(1, 100)


def name(row: PublishedJudge) -> tuple[str, str]:
    return row.setting, row.judge


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.judge}, {row.setting}")
def test_the_published_total_is_the_mean_of_its_columns(row: PublishedJudge) -> None:
    published = row.pass_rate["total"]
    assert published is not None
    off = Fraction(str(recomputed_total(row))) - Fraction(str(published))
    if name(row) in OFF:
        assert abs(off) > ONE_HUNDREDTH
    else:
        assert abs(off) == (ONE_HUNDREDTH if name(row) in ROUNDED else 0)


def test_the_rows_that_do_not_add_up_are_found_and_documented() -> None:
    rows = rows_that_do_not_add_up()
    assert {name(row) for row in rows} == OFF
    assert {recomputed_total(row) for row in rows} == {98.41, 62.5}
    page = PAGE.read_text(encoding="utf-8")
    assert f"Of the {len(ROWS)} published rows of pass rates, {len(ROWS) - len(rows)} have" in page
    for row in rows:
        found = f"| {row.pass_rate['total']:.2f} | {recomputed_total(row):.2f} |"
        (line,) = [line for line in page.splitlines() if found in line]
        assert row.judge in line
        assert row.setting in line


def test_every_published_row_is_there() -> None:
    assert Counter(row.setting for row in ROWS) == {
        "one prompt per metric": 11,
        "one prompt for all metrics": 2,
        "human annotators": 1,
        "human annotators, as on the model card": 1,
        "agreement between two annotators": 1,
        "prompt ablation: with justification": 1,
        "prompt ablation: without expected answer": 1,
        "prompt ablation: without justification": 1,
        "prompt ablation: without chain of thought": 1,
        "French samples, English instructions": 9,
        "fine-tuned on unbalanced grades": 1,
        "fine-tuned on balanced grades": 1,
    }
    assert all(row.source for row in ROWS)
    for row in ROWS:
        assert list(row.pass_rate) == [*METRIC_NAMES, "total"]
        assert all(rate is not None and 0 <= rate <= 100 for rate in row.pass_rate.values())


def test_figures_that_were_published_twice_agree() -> None:
    found = {name(row): row.pass_rate for row in ROWS}
    # The headline figures of GPT-4 are those without justification.
    assert (
        found["one prompt per metric", "GPT-4"]
        == (found["prompt ablation: without justification", "GPT-4"])
    )
    assert (
        found["one prompt for all metrics", "fine-tuned Llama-3 8b"]
        == (found["fine-tuned on unbalanced grades", "fine-tuned Llama-3 8b"])
    )


def test_nearly_every_rate_is_a_number_of_the_published_tests() -> None:
    odd = {
        (row.setting, metric)
        for row in ROWS
        for metric in METRIC_NAMES
        if not _is_count(row.pass_rate[metric], 2 * PUBLISHED_TESTS)
    }
    # Printed one hundredth off, but for the model card's 97.72, which no count of tests gives.
    assert odd == {
        ("human annotators, as on the model card", "faithfulness"),
        ("agreement between two annotators", "usefulness"),
        ("French samples, English instructions", "completeness"),
        ("French samples, English instructions", "usefulness"),
    }


def _is_count(rate: float | None, of: int) -> bool:
    assert rate is not None
    nearest = Fraction(100 * round(rate * of / 100), of)
    return abs(nearest - Fraction(str(rate))) <= Fraction(5, 1000)


def test_judges_and_people_compare_and_nothing_else() -> None:
    shown = published_judges()
    assert {row.setting for row in shown} == {
        "one prompt per metric",
        "one prompt for all metrics",
        "human annotators",
        "human annotators, as on the model card",
    }
    assert len(shown) == 15
    assert len({name(row) for row in ROWS}) == len(ROWS)


def test_alignment_is_there() -> None:
    rows = published_alignment()
    assert len(rows) == 10
    for row in rows:
        assert list(row.alignment) == list(METRIC_NAMES)
        assert all(0 < figure < 1 for figure in row.alignment.values())
    llama = {row.setting: row.alignment for row in rows if row.judge == "Llama-3 8b"}
    assert llama["one prompt per metric"]["completeness"] == 0.71
    assert llama["one prompt for all metrics"]["completeness"] == 0.23


@pytest.mark.parametrize(
    ("published", "sets", "shown"), [(True, 9, True), (True, 8, False), (False, 9, False)]
)
def test_published_judges_stand_only_next_to_the_published_tests(
    published: bool, sets: int, shown: bool
) -> None:
    report = meta_report(
        oracles(unit_tests(sets)),
        command="meta-evaluate",
        judge="made",
        source="illuin/grouse",
        published=published,
    )
    assert report.published == (published_judges() if shown else None)
