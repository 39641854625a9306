"""No text makes the grader raise, leave the scale or run away."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grouse_adapters.core.grades import Graded
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical.answers import MOST_STATEMENTS
from grouse_adapters.lexical.grader import LexicalGrader

JUDGED: tuple[MetricName, ...] = tuple(metric.name for metric in JUDGED_METRICS)
PIECES = st.sampled_from(
    ["[1]", "[2, 3]", "[1-", "[0]", ". ", "\n- ", "|", "no ", "not ", "half an hour", "5 km", "$",
     "The ", "Paris ", "document ", "answer ", "question", "\n", ":", "中文。", "٣", "²", "ß", "İ",
     "'", "n't", "1.2.3,4", "and a half", "pm", "\u202e", "𝔘", "%", "very little "]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))
GRADERS = (LexicalGrader(), LexicalGrader(citations="ignored", language="de"))


@settings(max_examples=150, deadline=None)
@given(
    TEXTS,
    st.lists(TEXTS, max_size=3),
    st.none() | TEXTS,
    TEXTS,
    st.sampled_from(GRADERS),
)
def test_grades_stay_on_the_scale(
    question: str,
    references: list[str],
    expected: str | None,
    actual: str,
    grader: LexicalGrader,
) -> None:
    sample = Sample(
        input=question,
        references=tuple(references),
        expected_output=expected,
        actual_output=actual,
    )
    grades, sentences = grader.grade(sample, JUDGED)
    assert set(grades) == set(JUDGED)
    for name, grade in grades.items():
        if isinstance(grade, Graded):
            assert grade.value in METRICS[name].scale.values
            assert grade.justification
    assert (grades, sentences) == grader.grade(sample, JUDGED)


@pytest.mark.parametrize(
    "unit",
    [
        "Rain fell for 3 days in Oslo [1]. ",
        "1. 2. 3. ",
        "[1-999] word ",
        "not ",
        "中文。",
        "a quarter of ",
        "twenty five and at least 5 or more ",
    ],
)
def test_very_long_texts_are_read_in_part(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    sample = Sample(
        input=text[:5000], references=(text, text), expected_output=text, actual_output=text
    )
    grades, _ = LexicalGrader().grade(sample, JUDGED)
    assert set(grades) == set(JUDGED)


def test_a_cut_answer_says_so() -> None:
    text = "Rain fell for 3 days in Oslo [1]. " * (MOST_STATEMENTS + 1)
    sample = Sample(
        input="How long did rain fall in Oslo?",
        references=("Rain fell for 3 days in Oslo.",),
        expected_output="Rain fell for 3 days [1].",
        actual_output=text,
    )
    grades, _ = LexicalGrader().grade(sample, ("faithfulness",))
    grade = grades["faithfulness"]
    assert isinstance(grade, Graded)
    assert f"first {MOST_STATEMENTS} statements" in grade.justification
