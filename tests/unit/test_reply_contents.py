"""What is read besides the grade, and the other two forms: single-call and ``[RESULT] n``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from replies import C, F, R, U, outcome, two

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Failed, Graded, NotApplicable, SentenceCheck
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName
from grouse_adapters.core.reply import MAX_RAW_REPLY, ReplyForm, read_reply, read_single_call


def graded(text: str, metric: MetricName = C, answers: int = 2) -> Graded:
    grade = read_reply(text, METRICS[metric], answers=answers).grade
    assert isinstance(grade, Graded)
    return grade


def test_the_justification_is_that_of_the_actual_answer() -> None:
    assert graded(two(5, 3)).justification == "reason 2"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"completeness": 3}', ""),
        ('{"justification": null, "completeness": 3}', ""),
        ('{"justification": " a\\n", "completeness": 3}', "a"),
        ('{"justification": "a", "completeness": 3}', "a"),
        ('{"Completeness Justification": "a", "completeness": 3}', "a"),
        ('{"justification": "a", "inner": {"completeness": 3}}', "a"),
        ('{"justification": "says "no" here", "completeness": 3}', 'says "no" here'),
        ("{'justification': 'it\\'s', 'completeness': 3}", "it's"),
        (
            '{"justification": "\\ud83d\\ude00 \\ud83d", "completeness": 3}',
            "😀 \ufffd",
        ),
        ('{"justification": "\\ud83d\\ude00", "completeness": 3,}', "😀"),
        (r'{"justification": "\[1\] \d\t.", "completeness": 3,}', "\\[1\\] \\d\t."),
        (
            '{"justification": "it ends here,\n}", "completeness": 3}',
            "it ends here,\n}",
        ),
    ],
)
def test_the_justification_is_read_as_it_was_meant(answer: str, expected: str) -> None:
    assert graded(f'{{"answer_2": {answer}}}').justification == expected


def test_null_keeps_the_judges_reason_or_says_when_the_metric_applies() -> None:
    with_reason = read_reply(two(5, None), METRICS[C], answers=2).grade
    assert with_reason == NotApplicable(reason="reason 2")
    without = read_reply('{"answer_2": {"completeness": null}}', METRICS[C], answers=2).grade
    assert without == NotApplicable(
        reason="Completeness applies only when the references hold an answer."
    )


def test_an_error_names_the_grade_and_the_scale_but_never_the_reply() -> None:
    reply = two("all the information is there, so very good", 17)
    grade = read_reply(reply, METRICS[C], answers=2).grade
    assert isinstance(grade, Failed)
    assert "'17'" in grade.error
    assert "1-5" in grade.error
    assert "reason" not in grade.error
    long = read_reply(two(1, "x" * 9_000), METRICS[C], answers=2).grade
    assert isinstance(long, Failed)
    assert len(long.error) < 200


def test_a_long_raw_reply_keeps_both_ends() -> None:
    text = "a" * 30_000 + "z" * 30_000
    grade = read_reply(text, METRICS[C], answers=2).grade
    assert isinstance(grade, Failed)
    assert grade.raw_reply is not None
    assert grade.raw_reply.startswith("a" * 10_000 + "\n[... 40000 characters left out")
    assert grade.raw_reply.endswith("z" * 10_000)
    assert len(grade.raw_reply) < MAX_RAW_REPLY + 100


def test_half_a_surrogate_pair_never_reaches_a_file() -> None:
    grade = read_reply("\ud83d\ude00 \ud83d", METRICS[C], answers=2).grade
    assert isinstance(grade, Failed)
    assert grade.raw_reply == "😀 \ufffd"
    assert graded('{"answer_2": {"justification": "\ud800", "completeness": 3}}').justification == (
        "\ufffd"
    )


def analysis(items: Any, *, key: str = "content_analysis_sentence_by_sentence") -> str:
    other = {"faithfulness": 1, key: [{"sentence": "of the expected answer"}]}
    return json.dumps({"answer_1": other, "answer_2": {key: items, "faithfulness": 1}})


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [{"sentence": "A [1].", "criterion_1": True, "criterion_2": False, "criterion_3": 1}],
            (
                SentenceCheck(
                    sentence="A [1].", has_citation=True, citation_is_right=False, is_supported=True
                ),
            ),
        ),
        (
            [{"sentence": "A.", "criterion_1": "no", "criterion_2": "n/a", "criterion_3": "True"}],
            (SentenceCheck(sentence="A.", has_citation=False, is_supported=True),),
        ),
        (
            [{"sentence": "A.", "criterion_1": [1], "criterion_2": {}, "criterion_3": 7}],
            (SentenceCheck(sentence="A."),),
        ),
        (
            [{"sentence": "A.", "criterion_3": False}],
            (SentenceCheck(sentence="A.", is_supported=False),),
        ),
        (
            [{"Sentence": "A.", "Criterion 1": True}],
            (SentenceCheck(sentence="A.", has_citation=True),),
        ),
        ([{"sentence": " "}, {"sentence": 4}, {}, "A.", None, [1]], ()),
        (
            {"1": {"sentence": "A."}, "2": {"sentence": "B."}},
            (SentenceCheck(sentence="A."), SentenceCheck(sentence="B.")),
        ),
        ([], ()),
        (None, ()),
        ("every sentence is cited", ()),
    ],
)
def test_the_analysis_of_the_actual_answer(items: Any, expected: tuple[SentenceCheck, ...]) -> None:
    read = read_reply(analysis(items), METRICS[F], answers=2)
    assert read.grade == Graded(value=1), "the grade counts, whatever the analysis says"
    assert read.sentences == expected


def test_a_failed_grade_has_no_analysis() -> None:
    text = analysis([{"sentence": "A."}]).replace('"faithfulness": 1', '"faithfulness": 11')
    read = read_reply(text, METRICS[F], answers=2)
    assert outcome(read.grade) == "out_of_scale"
    assert read.sentences == ()


def test_one_answer_has_its_analysis_too() -> None:
    text = json.dumps(json.loads(analysis([]))["answer_1"])
    read = read_reply(f'{{"answer_1": {text}}}', METRICS[F], answers=1)
    assert read.sentences == (SentenceCheck(sentence="of the expected answer"),)
    assert read_reply(text, METRICS[F], answers=1).sentences == read.sentences


def test_only_faithfulness_has_an_analysis() -> None:
    assert read_reply(analysis([{"sentence": "A."}]), METRICS[R], answers=2).sentences == ()


SINGLE: dict[str, dict[str, dict[str, int | None]]] = {
    "answer_relevancy": {"answer_1": {"answer_relevancy": 1}, "answer_2": {"answer_relevancy": 5}},
    "completeness": {"answer_1": {"completeness": 1}, "answer_2": {"completeness": 4}},
    "usefulness": {"answer_1": {"usefulness": 1}, "answer_2": {"usefulness": None}},
    "faithfulness": {"answer_1": {"faithfulness": 1}, "answer_2": {"faithfulness": 0}},
}


def single(text: str, *, answers: int = 2, finish: str | None = None) -> list[int | str | None]:
    read = read_single_call(text, answers=answers, finish_reason=finish)
    assert list(read) == [metric.name for metric in JUDGED_METRICS]
    return [outcome(one.grade) for one in read.values()]


def changed(metric: MetricName, value: Any) -> str:
    return json.dumps({**SINGLE, metric: value})


WHOLE = json.dumps(SINGLE)
TRANSPOSED: Any = {
    f"answer_{n}": {
        metric: by_answer[f"answer_{n}"][metric] for metric, by_answer in SINGLE.items()
    }
    for n in (1, 2)
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(WHOLE, [5, 4, None, 0], id="clean"),
        pytest.param(f"```json\n{WHOLE}\n```", [5, 4, None, 0], id="fence"),
        pytest.param(f'{{"result": {WHOLE}}}', [5, 4, None, 0], id="wrapper"),
        pytest.param(WHOLE.replace("}}", "},}"), [5, 4, None, 0], id="trailing-commas"),
        pytest.param(
            "\n".join(json.dumps({metric: value}) for metric, value in SINGLE.items()),
            [5, 4, None, 0],
            id="one-object-per-metric",
        ),
        pytest.param(json.dumps(TRANSPOSED), [5, 4, None, 0], id="answers-outside"),
        pytest.param(
            json.dumps({m: {k: v[m] for k, v in a.items()} for m, a in SINGLE.items()}),
            [5, 4, None, 0],
            id="grades-without-objects",
        ),
        pytest.param(changed(C, None), [5, "missing_answer", None, 0], id="metric-null"),
        pytest.param(changed(C, {}), [5, "missing_answer", None, 0], id="metric-empty"),
        pytest.param(
            changed(C, {"answer_1": {C: 2}}), [5, "missing_answer", None, 0], id="one-answer-only"
        ),
        pytest.param(
            changed(C, {"answer_2": {C: 9}}), [5, "out_of_scale", None, 0], id="one-off-scale"
        ),
        pytest.param(
            changed(C, SINGLE[F]), [5, "missing_answer", None, 0], id="other-metric-inside"
        ),
        pytest.param(
            json.dumps({m: v for m, v in SINGLE.items() if m != U}),
            [5, 4, "missing_answer", 0],
            id="metric-absent",
        ),
        pytest.param(WHOLE[: WHOLE.index('"usefulness"')], [5, 4, "cut_off", "cut_off"], id="cut"),
        pytest.param(WHOLE[:-1], [5, 4, None, 0], id="last-brace-missing"),
        pytest.param("", ["empty_reply"] * 4, id="empty"),
        pytest.param("no", ["unreadable"] * 4, id="prose"),
    ],
)
def test_a_single_call_reply(text: str, expected: list[int | str | None]) -> None:
    assert single(text) == expected


def test_a_single_call_reply_about_one_answer() -> None:
    plain = {metric: by_answer["answer_2"] for metric, by_answer in SINGLE.items()}
    assert single(json.dumps(plain), answers=1) == [5, 4, None, 0]
    flat = {metric: value[metric] for metric, value in plain.items()}
    assert single(json.dumps(flat), answers=1) == [5, 4, None, 0]
    keyed = {metric: {"answer_1": value} for metric, value in plain.items()}
    assert single(json.dumps(keyed), answers=1) == [5, 4, None, 0]


def test_a_single_call_keeps_each_metrics_own_justification() -> None:
    reply = {m.name: json.loads(two(1, 1, m.grade_key)) for m in JUDGED_METRICS}
    reply[F]["answer_2"]["faithfulness_justification"] = "cited"
    read = read_single_call(json.dumps(reply), answers=2)
    assert read[F].grade == Graded(value=1, justification="cited")
    assert read[U].grade == Graded(value=1, justification="reason 2")


RESULT = ReplyForm(
    kind="result",
    results={U: {"1": None, "2": 0, "3": 1}, F: {"none": None, "5": 1, "4": 0}, R: {"0": None}},
)


@pytest.mark.parametrize(
    ("text", "metric", "expected"),
    [
        ("Feedback: it covers all. [RESULT] 4", C, 4),
        ("[RESULT] 4", C, 4),
        ("it covers all. [RESULT]: 4", C, 4),
        ("it covers all.\n\n[RESULT]\n4\n", C, 4),
        ("it covers all. **[RESULT]** (4)", C, 4),
        ("it covers all. **[RESULT] 4**", C, 4),
        ("it covers all. [result] 4.", C, 4),
        ("it covers all. [ Result ] = '4'", C, 4),
        ("it covers all. [RESULT] 4/5", C, 4),
        ("it covers all. [RESULT] 4 out of 5", C, 4),
        ("it covers all. [RESULT] 4, because nothing is left out", C, 4),
        ("[RESULT] 2 was my first thought. [RESULT] 4", C, 4),
        ("<think>[RESULT] 2</think> fine [RESULT] 4", C, 4),
        ("fine [RESULT] null", C, None),
        ("fine [RESULT] N/A", C, None),
        ("fine [RESULT] not applicable", C, None),
        ("fine [RESULT] 1", U, None),
        ("fine [RESULT] 2", U, 0),
        ("fine [RESULT] 3", U, 1),
        ("fine [RESULT] 0", U, 0),
        ("fine [RESULT] 4", U, "out_of_scale"),
        ("fine [RESULT] None", F, None),
        ("fine [RESULT] 5", F, 1),
        ("fine [RESULT] 4/5", F, "out_of_scale"),
        ("fine [RESULT] true", F, 1),
        ("fine [RESULT] 0", R, None),
        ("fine [RESULT] 6", C, "out_of_scale"),
        ("fine [RESULT] 2.5", C, "out_of_scale"),
        ("fine [RESULT] 4/10", C, "out_of_scale"),
        ("fine [RESULT] -4", C, "out_of_scale"),
        ("fine [RESULT] good", C, "out_of_scale"),
        ("fine [RESULT] 4-5", C, "unreadable"),
        ("fine [RESULT] 4 or 5", C, "unreadable"),
        ("fine [RESULT] 4 [RESULT]", C, "unreadable"),
        ("fine [RESULT]", C, "unreadable"),
        ("fine, I give it a 4", C, "unreadable"),
        (two(4, 4), C, "unreadable"),
        (" ", C, "empty_reply"),
        ("<think>[RESULT] 4", C, "cut_off"),
    ],
)
def test_a_result_reply(text: str, metric: MetricName, expected: int | str | None) -> None:
    read = read_reply(text, METRICS[metric], answers=1, form=RESULT)
    assert outcome(read.grade) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it covers", "cut_off"),
        ("it covers [RESULT]", "cut_off"),
        ("it covers [RESULT] 4", "cut_off"),
        ("it covers [RESULT] 4\n", 4),
    ],
)
def test_a_result_reply_at_the_token_limit(text: str, expected: int | str | None) -> None:
    read = read_reply(text, METRICS[C], answers=1, form=RESULT, finish_reason="length")
    assert outcome(read.grade) == expected


@pytest.mark.parametrize(
    "text",
    [
        "it covers all. [RESULT] 4",
        "Feedback: it covers all. [RESULT] 4",
        "###Feedback: it covers all.\n[RESULT] 4",
        "**Feedback:** it covers all. **[RESULT]** 4",
    ],
)
def test_the_feedback_is_the_justification(text: str) -> None:
    read = read_reply(text, METRICS[C], answers=1, form=RESULT)
    assert read.grade == Graded(value=4, justification="it covers all.")


def test_feedback_is_the_reason_of_a_result_that_stands_for_null() -> None:
    read = read_reply("it refuses [RESULT] 0", METRICS[R], answers=1, form=RESULT)
    assert read.grade == NotApplicable(reason="it refuses")


def test_a_result_pack_cannot_judge_all_metrics_at_once() -> None:
    with pytest.raises(ConfigurationError, match="per-metric strategy"):
        read_single_call("[RESULT] 4", answers=1, form=RESULT)
