"""No text makes the parser raise, run away or invent a grade."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replies import C, F, U, outcome, two

from grouse_adapters.core.grades import Failed, Graded, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, Metric, MetricName
from grouse_adapters.core.reply import ReadReply, ReplyForm, read_reply, read_single_call

BOUNDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)
RESULT = ReplyForm(kind="result", results={U: {"1": None}, F: {"5": 1, "9": 9}})


def check(read: ReadReply, metric: Metric) -> None:
    """Every outcome is well-formed: on the scale, with a reason, or with the reply kept."""
    grade = read.grade
    if isinstance(grade, Graded):
        assert grade.value in metric.scale.values
    elif isinstance(grade, NotApplicable):
        assert grade.reason
    else:
        assert isinstance(grade, Failed)
        assert grade.error_kind in (
            "empty_reply",
            "cut_off",
            "unreadable",
            "missing_answer",
            "out_of_scale",
        )
        assert grade.raw_reply is not None
        assert read.sentences == ()
    read.grade.model_dump_json().encode()


def check_all(text: str) -> None:
    for answers in (1, 2):
        for finish in (None, "length"):
            for metric in JUDGED_METRICS:
                check(read_reply(text, metric, answers=answers, finish_reason=finish), metric)
            both = read_single_call(text, answers=answers, finish_reason=finish)
            for name, read in both.items():
                check(read, METRICS[name])
    for metric in JUDGED_METRICS:
        check(read_reply(text, metric, answers=1, form=RESULT), metric)


ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=200)
FRAGMENT = st.sampled_from(
    [
        *"{}[]:,;\"'“”‘’`\\/#=<>()*-+.0123456789 \n\t\u200b\ufeff\ud83d３",
        '"answer_1"',
        '"answer_2": {',
        '"answer 2"',
        "answer_1:",
        '"completeness": ',
        '"completeness": 4',
        '"answer_relevancy": null,',
        '"usefulness": true',
        '"faithfulness": 0}}',
        '"content_analysis_sentence_by_sentence": [{"sentence": "A.", "criterion_1": true}]',
        "None",
        "NaN",
        "true",
        "// no\n",
        "/* no */",
        "/*",
        "```",
        "```json\n",
        "<think>",
        "</think>",
        "[RESULT]",
        " out of 5",
        "\\u00",
        "\\ud83d",
        "9" * 5000,
        "1e999999",
        "{{",
        "}}",
    ]
)


@BOUNDED
@given(ANY_TEXT)
def test_arbitrary_text(text: str) -> None:
    check_all(text)


@BOUNDED
@given(st.lists(FRAGMENT, max_size=40).map("".join))
def test_text_that_looks_like_a_reply(text: str) -> None:
    check_all(text)


KEYS = st.sampled_from(
    [
        "answer",
        "answer_1",
        "answer_2",
        "Answer 2",
        "result",
        "content_analysis_sentence_by_sentence",
        "sentence",
        "criterion_1",
        "justification",
        *(metric.name for metric in JUDGED_METRICS),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["4", "4/5", "null", "true", "3.0"])
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
WRITERS: list[Callable[[Any], str]] = [json.dumps, repr, lambda tree: json.dumps(tree, indent=1)]


@BOUNDED
@given(TREES, st.sampled_from(WRITERS))
def test_any_structure(tree: Any, write: Callable[[Any], str]) -> None:
    check_all(write(tree))


def full(metric: MetricName, first: int | None, second: int | None) -> dict[str, Any]:
    """A reply with every key of the metric, in the order of its schema."""
    answers: dict[str, Any] = {}
    for number, grade in ((1, first), (2, second)):
        answer: dict[str, Any] = {}
        for field in METRICS[metric].reply_fields:
            if field.role == "analysis":
                answer[field.name] = [
                    {"sentence": 'He said "4", [1].', "criterion_1": True, "criterion_2": False}
                ]
            else:
                answer[field.name] = {
                    "check": False,
                    "justification": 'It says {"completeness": 4}, and 5/5 for 4, "null" or None.',
                    "grade": grade,
                }[field.role]
        answers[f"answer_{number}"] = answer
    return answers


def unescaped(reply: dict[str, Any]) -> str:
    """As a model writes it that forgets to escape quotes."""
    return json.dumps(reply, indent=1).replace('\\"', '"')


SPELLINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "compact": lambda reply: json.dumps(reply, separators=(",", ":")),
    "indented": lambda reply: json.dumps(reply, indent=2),
    "python": repr,
    "fenced": lambda reply: f"Well:\n```json\n{json.dumps(reply)}\n```\n",
    "trailing commas": lambda reply: json.dumps(reply).replace("}", ",}"),
    "text grades": lambda reply: json.dumps(reply).replace(": 2", ': "2/5"'),
    "unescaped": unescaped,
    "thinking": lambda reply: f"<think>{json.dumps(reply)}</think>{json.dumps(reply)}",
}


@pytest.mark.parametrize("metric", [metric.name for metric in JUDGED_METRICS])
@pytest.mark.parametrize("spelling", list(SPELLINGS))
@pytest.mark.parametrize("graded", [True, False])
def test_a_reply_that_is_cut_off_anywhere_has_no_grade_before_it_is_there(
    metric: MetricName, spelling: str, graded: bool
) -> None:
    first, second = (4, 2) if METRICS[metric].scale.values[-1] == 5 else (1, 0)
    reply = full(metric, first, second if graded else None)
    text = SPELLINGS[spelling](reply)
    whole = read_reply(text, METRICS[metric], answers=2)
    complete = text.rindex("}", 0, text.rindex("}"))  # the brace that closes the second answer
    outcomes = {
        (length <= complete, outcome(read.grade))
        for length in range(len(text))
        for finish in (None, "length")
        for read in [read_reply(text[:length], METRICS[metric], answers=2, finish_reason=finish)]
    }
    before = {what for early, what in outcomes if early}
    after = {what for early, what in outcomes if not early}
    assert all(isinstance(what, str) for what in before), before
    assert {what for what in after if not isinstance(what, str)} <= {outcome(whole.grade)}
    if spelling != "unescaped":  # there the reader may have to give up, but must not invent
        assert outcome(whole.grade) == (second if graded else None)
        assert before <= {"empty_reply", "cut_off", "unreadable"}
        assert "missing_answer" not in after


@pytest.mark.parametrize("spelling", [name for name in SPELLINGS if name != "unescaped"])
def test_a_single_call_reply_that_is_cut_off_keeps_what_was_complete(spelling: str) -> None:
    wanted: dict[MetricName, int | None] = {
        "answer_relevancy": 2,
        "completeness": None,
        "usefulness": 1,
        "faithfulness": 0,
    }
    reply: dict[str, Any] = {name: full(name, 1, grade) for name, grade in wanted.items()}
    text = SPELLINGS[spelling](reply)
    most = 0
    for length in range(len(text) + 1):
        outcomes = [outcome(r.grade) for r in read_single_call(text[:length], answers=2).values()]
        there = [what for what in outcomes if not isinstance(what, str)]
        assert there == list(wanted.values())[: len(there)]
        assert len(there) >= most or spelling == "thinking"
        most = len(there)
    assert most == 4


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, MetricName]:
    """A good reply with slices deleted, doubled or put in."""
    metric = draw(st.sampled_from([metric.name for metric in JUDGED_METRICS]))
    values = [*METRICS[metric].scale.values, None]
    reply = full(metric, draw(st.sampled_from(values)), draw(st.sampled_from(values)))
    text = SPELLINGS[draw(st.sampled_from(sorted(SPELLINGS)))](reply)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        change = draw(st.sampled_from(["delete", "double", "insert"]))
        if change == "delete":
            text = text[:start] + text[end:]
        elif change == "double":
            text = text[:end] + text[start:end] + text[end:]
        else:
            text = text[:start] + draw(FRAGMENT) + text[start:]
    return text, metric


@BOUNDED
@given(mutated())
def test_damaged_replies(case: tuple[str, MetricName]) -> None:
    check_all(case[0])


@BOUNDED
@given(
    st.sampled_from([1, 3, 4, 5]),
    st.integers(0, 400),
    st.integers(0, 60),
    st.sampled_from(list(SPELLINGS)),
)
def test_the_grade_of_the_other_answer_is_never_taken(
    other: int, start: int, length: int, spelling: str
) -> None:
    """However a slice is lost, the grade is that of answer_2 or none at all."""
    text = SPELLINGS[spelling](full(C, other, 2))
    second = text.rindex("answer_2") + len("answer_2")
    start = second + start
    damaged = text[:start] + text[start + length :]
    what = outcome(read_reply(damaged, METRICS[C], answers=2).grade)
    assert what in (2, None) or isinstance(what, str)


LARGE = 1_000_000
TRAPS = {
    "braces": "{" * LARGE,
    "brackets": "[" * LARGE,
    "brackets within the limit": "[ {" * 130_000,
    "objects": '{"answer_2": ' * 30_000,
    "closed objects": '{"a": ' * 30_000 + "1" + "}" * 30_000,
    "lists": "[" * 50_000 + "]" * 50_000,
    "deep and damaged": ('{"a": ' * 60 + "!") * 1_000,
    "quotes": '{"' * 190_000,
    "inner quotes": '{"a": "' + '"b" ' * 90_000,
    "listed quotes": '{"a": "' + '"b", ' * 70_000 + "}",
    "quotes in lines": '{"a": "' + '"\n' * 190_000,
    "backslashes": '{"a": "' + "\\" * 390_000,
    "blanks": "{" + " " * 390_000 + "!",
    "blank lines": '{"a" ' + " \n" * 190_000 + "!",
    "blanks in a fence": "```" + " " * 390_000 + "x```y",
    "invisible": " \u200b" * 500_000,
    "comments": "{/*" * 130_000,
    "closed comments": "{/**/" * 75_000,
    "thinking": "<think>" * 55_000,
    "closed thinking": "{</think>" * 40_000,
    "thinking after braces": "{<think>" * 45_000,
    "fences": "```" * 130_000,
    "keys": "completeness: " * 28_000 + "{",
    "damaged pieces": '{"completeness": 1, !' * 18_000,
    "for repair": '{"completeness": "a" "b": ' + '"c" "d", ' * 3_000 + "}",
    "for repair, nested": '{"completeness": "a" "b": ' * 900 + "1" + "}" * 900,
    "result markers": "[RESULT]" * 120_000,
    "result blanks": "[RESULT]" + " " * LARGE,
    "digits": '{"answer_2": {"completeness": ' + "9" * 300_000 + "}}",
    "prefilled": '"a": ' + " " * 390_000,
    "doubled": '{{"a": ' * 55_000,
}


@pytest.mark.parametrize("name", list(TRAPS))
def test_no_text_runs_away(name: str) -> None:
    """Each of these takes a second or less; quadratic work would take minutes."""
    for answers in (1, 2):
        grade = read_reply(TRAPS[name], METRICS[C], answers=answers).grade
        assert isinstance(grade, Failed)
    assert len(read_single_call(TRAPS[name], answers=2)) == 4
    form = ReplyForm(kind="result")
    assert isinstance(read_reply(TRAPS[name], METRICS[C], answers=1, form=form).grade, Failed)


def test_work_grows_with_the_text_and_not_with_its_square() -> None:
    """Counted in executed lines, so that a slow machine changes nothing."""

    def lines(text: str) -> int:
        count = 0

        def trace(_frame: Any, event: str, _arg: Any) -> Any:
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            read_reply(text, METRICS[C], answers=2)
        finally:
            sys.settrace(before)
        return count

    for unit in ('{"a": ', '{"completeness": 1, !', '{"a": {}, ', "{<think>", '{"a": "b" c'):
        small, large = lines(unit * 200), lines(unit * 1600)
        assert large < 12 * small, unit


def test_a_good_reply_survives_what_surrounds_it() -> None:
    for around in ("Sure! ", "Note {this}. ", "As [1] says: ", "{", "```\n", "“quoted” "):
        assert outcome(read_reply(around + two(5, 3), METRICS[C], answers=2).grade) == 3
