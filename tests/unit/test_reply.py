"""The reply parser against one large table of odd replies."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from replies import C, F, R, U, outcome, two

from grouse_adapters.core.grades import Failed
from grouse_adapters.core.metrics import METRICS, MetricName
from grouse_adapters.core.reply import (
    MAX_RAW_REPLY,
    read_reply,
)


@dataclass(frozen=True)
class Odd:
    """A reply and what it must be read as; ``answers`` is 2 unless the row says otherwise."""

    id: str
    text: str
    expected: int | str | None
    metric: MetricName = C
    answers: int = 2
    finish: str | None = "stop"


GOOD = two(5, 3)
HEAD = '{"answer_1": {"completeness_justification": "a", "completeness": 5}, "answer_2": '
"""Everything before the second answer, so that rows show only what is odd."""

LAYOUT = [
    Odd("clean", GOOD, 3),
    Odd("clean-null", two(5, None), None),
    Odd("indented", json.dumps(json.loads(GOOD), indent=4), 3),
    Odd("other-order", '{"answer_2": {"completeness": 3}, "answer_1": {"completeness": 5}}', 3),
    Odd("fence-json", f"```json\n{GOOD}\n```", 3),
    Odd("fence-plain", f"```\n{GOOD}\n```", 3),
    Odd("fence-one-line", f"```json {GOOD}```", 3),
    Odd("fence-upper-case", f"```JSON\n{GOOD}\n```", 3),
    Odd("fence-unclosed", f"```json\n{GOOD}", 3),
    Odd("fence-unopened", f"{GOOD}\n```", 3),
    Odd("fence-within-prose", f"Here you go:\n```json\n{GOOD}\n```\nAnything else?", 3),
    Odd("fence-tildes", f"~~~json\n{GOOD}\n~~~", 3),
    Odd("prose-before", f"My assessment is as follows. {GOOD}", 3),
    Odd("prose-after", f"{GOOD} I hope that this helps.", 3),
    Odd("prose-with-citations", f"Statement [1] and [2] hold. {GOOD} See [1].", 3),
    Odd("prose-with-braces", f"I fill in {{answer}} and {{{{reason}}}}: {GOOD}", 3),
    Odd("prose-with-lone-brace", f"A set {{a, b and then {GOOD}", 3),
    Odd("prose-with-lone-brace-after", f"{GOOD} and a stray {{", 3),
    Odd("prose-with-key-names", f'Keys: {{"answer_1" and {{"answer_2" follow. {GOOD}', 3),
    Odd("think", f"<think>Is it 4? {two(1, 1)}</think>{GOOD}", 3),
    Odd("thinking", f"<thinking>\nhm\n</thinking>\n\n{GOOD}", 3),
    Odd("reasoning", f"<reasoning>hm</reasoning> {GOOD}", 3),
    Odd("think-brackets", f"[THINK]hm {two(1, 1)}[/THINK]{GOOD}", 3),
    Odd("think-upper-case", f"<THINK>{two(1, 1)}</THINK>{GOOD}", 3),
    Odd("think-twice", f"<think>a</think>\n<think>{two(1, 1)}</think>{GOOD}", 3),
    Odd("think-closed-only", f"It may be {two(1, 1)}</think>{GOOD}", 3),
    Odd("think-open", f"<think>It may be {two(1, 1)}", "cut_off"),
    Odd("think-open-after-prose", f"Sure. <think>It may be {two(1, 1)}", "cut_off"),
    Odd("think-only", "<think>no idea</think>", "empty_reply"),
    Odd("think-tag-quoted", HEAD + '{"completeness": 3, "why": "a <think> tag"}}', 3),
    Odd("think-tag-quoted-trailing-comma", HEAD + '{"completeness": 3, "why": "<think>",}}', 3),
    Odd("bom", "\ufeff" + GOOD, 3),
    Odd("zero-width-around", f"\u200b{GOOD}\u2060", 3),
    Odd("zero-width-inside", GOOD.replace(": {", ":\u200b{"), 3),
    Odd("no-break-spaces", GOOD.replace(" ", "\xa0"), 3),
    Odd("json-in-a-json-string", json.dumps(GOOD), 3),
    Odd("wrapper", f'{{"result": {GOOD}}}', 3),
    Odd("wrapper-twice", f'{{"output": {{"evaluation": {GOOD}}}}}', 3),
    Odd("wrapper-list", f"[{GOOD}]", 3),
    Odd("wrapper-metric", '{"completeness": {"answer_1": {}, "answer_2": {"completeness": 3}}}', 3),
    Odd("wrapper-metric-numbers", '{"completeness": {"answer_1": 5, "answer_2": 3}}', 3),
    Odd("wrapper-metric-null", '{"completeness": {"answer_1": 5, "answer_2": null}}', None),
    Odd("wrapper-inside-answer", '{"answer_2": {"rating": {"completeness": 3}}}', 3),
    Odd("grade-object", '{"answer_2": {"completeness": {"score": 3, "explanation": "x"}}}', 3),
    Odd("answer-is-the-grade", '{"answer_1": 5, "answer_2": 3}', 3),
    Odd("answer-in-a-list", '{"answer_1": [], "answer_2": [{"completeness": 3}]}', 3),
    Odd("list-of-two", '[{"completeness": 5}, {"completeness": 3}]', 3),
    Odd("list-of-two-wrapped", '{"answers": [{"completeness": 5}, {"completeness": 3}]}', 3),
    Odd("list-of-keyed", '[{"answer_1": {}}, {"answer_2": {"completeness": 3}}]', 3),
    Odd("one-object-per-line", '{"answer_1": {}}\n{"answer_2": {"completeness": 3}}', 3),
    Odd("draft-before", f"First thought: {two(1, 1)}. Corrected: {GOOD}", 3),
    Odd("draft-in-own-fence", f"```json\n{two(1, 1)}\n```\nBetter:\n```json\n{GOOD}\n```", 3),
    Odd("quoted-attack-before", f"The answer says {two(5, 5)}, which I ignore. {GOOD}", 3),
    Odd("quoted-attack-inside", HEAD + json.dumps({"why": two(5, 5), C: 3}) + "}", 3),
    Odd("other-object-after", f'{GOOD}\n{{"confidence": 0.9}}', 3),
    Odd("doubled-braces", GOOD.replace("{", "{{").replace("}", "}}"), 3),
    Odd("opening-brace-missing", GOOD[1:], 3),
    Odd("closing-brace-missing", GOOD[:-1], 3),
    Odd("prose-names-the-metric-after", f"{GOOD}\nCompleteness: most of it is there.", 3),
    Odd("closing-brace-too-many", GOOD + "}", 3),
]

SPELLING = [
    Odd("trailing-commas", HEAD + '{"completeness": 3,},}', 3),
    Odd("comment-line", HEAD + '{"completeness": 3 // not 4\n}}', 3),
    Odd("comment-hash", HEAD + '{"completeness": 3 # not 4\n}}', 3),
    Odd("comment-block", HEAD + '{/* "completeness": 4, */ "completeness": 3}}', 3),
    Odd("single-quotes", "{'answer_1': {}, 'answer_2': {'completeness': 3}}", 3),
    Odd("single-quotes-apostrophe", "{'answer_2': {'why': 'it's fine', 'completeness': 3}}", 3),
    Odd("python-dict", repr(json.loads(two(5, None))), None),
    Odd("python-bool", "{'answer_2': {'faithfulness': False}}", 0, F),
    Odd("smart-quotes", GOOD.replace('"', "“"), 3),
    Odd("smart-quotes-paired", "{“answer_2”: {“why”: “a “b” c”, “completeness”: 3}}", 3),
    Odd("bare-keys", "{answer_1: {completeness: 5}, answer_2: {completeness: 3}}", 3),
    Odd("full-width-punctuation", '{"answer_2"：{"why"："x"，"completeness"：３}}', 3),
    Odd("comma-missing", '{"answer_1": {"completeness": 5} "answer_2": {"completeness": 3}}', 3),
    Odd("comma-missing-at-line-end", HEAD + '{"why": "x"\n"completeness": 3}}', 3),
    Odd("comma-missing-same-line", HEAD + '{"why": "x" "completeness": 3}}', 3),
    Odd("commas-doubled", HEAD + '{"why": "x",, "completeness": 3}}', 3),
    Odd("equals-signs", "{answer_2 = {completeness = 3}}", 3),
    Odd("raw-newline-in-text", HEAD + '{"why": "a\nb\tc", "completeness": 3}}', 3),
    Odd("wrong-escapes", HEAD + r'{"why": "\[1\] \d it\'s", "completeness": 3,}}', 3),
    Odd("quotes-unescaped", HEAD + '{"why": "says "no" here", "completeness": 3}}', 3),
    Odd("quotes-unescaped-odd", HEAD + '{"why": "is 5" long", "completeness": 3}}', 3),
    Odd("quotes-unescaped-listed", HEAD + '{"why": "has "A", "B" and C", "completeness": 3}}', 3),
    Odd("key-capital", '{"Answer_1": {}, "Answer_2": {"Completeness": 3}}', 3),
    Odd("key-space", '{"Answer 1": {}, "Answer 2": {"Completeness": 3}}', 3),
    Odd("key-joined", '{"answer1": {}, "answer2": {"completeness": 3}}', 3),
    Odd("key-dash", '{"answer-2": {"answer-relevancy": 3}}', 3, R),
    Odd("key-camel", '{"answer2": {"answerRelevancy": 3}}', 3, R),
    Odd("key-blanks-around", '{" answer_2 ": {"completeness ": 3}}', 3),
    Odd("key-repeated-same-grade", HEAD + '{"completeness": 3, "completeness": "3"}}', 3),
]

GRADES = [
    Odd("text", two(5, "3"), 3),
    Odd("text-blanks", two(5, " 3\n"), 3),
    Odd("text-float", two(5, "3.0"), 3),
    Odd("text-comma-float", two(5, "3,0"), 3),
    Odd("text-of-five", two(5, "3/5"), 3),
    Odd("text-of-five-spaced", two(5, "3 / 5"), 3),
    Odd("text-out-of-five", two(5, "3 out of 5"), 3),
    Odd("text-bold", two(5, "**3**"), 3),
    Odd("text-full-width", two(5, "３"), 3),
    Odd("float", two(5, 3.0), 3),
    Odd("bare-of-five", HEAD + '{"completeness": 3/5}}', 3),
    Odd("bare-out-of-five", HEAD + '{"completeness": 3 out of 5}}', 3),
    Odd("null-text", two(5, "null"), None),
    Odd("null-python", two(5, "None"), None),
    Odd("null-python-bare", HEAD + '{"completeness": None}}', None),
    Odd("null-na", two(5, "N/A"), None),
    Odd("null-na-bare", HEAD + '{"completeness": N/A}}', None),
    Odd("null-words", two(5, "Not applicable"), None),
    Odd("empty-text-is-no-null", two(5, ""), "out_of_scale"),
    Odd("nan-is-no-null", HEAD + '{"completeness": NaN}}', "out_of_scale"),
    Odd("nan-in-damage-is-no-null", HEAD + "{completeness: NaN,}}", "out_of_scale"),
    Odd("binary-true", two(False, True, F), 1, F),
    Odd("binary-false", two(True, False, F), 0, F),
    Odd("binary-text-true", two(0, "True", F), 1, F),
    Odd("binary-text-no", two(1, "no", U), 0, U),
    Odd("binary-of-one", two(1, "0/1", U), 0, U),
    Odd("binary-null", two(1, None, U), None, U),
    Odd("above", two(5, 6), "out_of_scale"),
    Odd("below", two(5, 0), "out_of_scale"),
    Odd("negative", two(5, -3), "out_of_scale"),
    Odd("between", two(5, 2.5), "out_of_scale"),
    Odd("text-between", two(5, "2.5"), "out_of_scale"),
    Odd("text-two-grades", two(5, "3-4"), "out_of_scale"),
    Odd("text-of-ten", two(5, "4/10"), "out_of_scale"),
    Odd("bare-of-ten", HEAD + '{"completeness": 4 out of 10}}', "out_of_scale"),
    Odd("text-words", two(5, "very good"), "out_of_scale"),
    Odd("boolean-on-five", two(5, True), "out_of_scale"),
    Odd("text-boolean-on-five", two(5, "yes"), "out_of_scale"),
    Odd("binary-three", two(1, 3, F), "out_of_scale", F),
    Odd("binary-half", two(1, 0.5, F), "out_of_scale", F),
    Odd("infinity", HEAD + '{"completeness": Infinity}}', "out_of_scale"),
    Odd("exponent", HEAD + '{"completeness": 1e999999}}', "out_of_scale"),
    Odd("digits-4000", HEAD + f'{{"completeness": {"3" * 4000}}}}}', "out_of_scale"),
    Odd("grade-is-a-list", two(5, [3]), "unreadable"),
    Odd("sentence-as-grade", two(5, "x" * 5000), "out_of_scale"),
]

JUDGED_STRICTLY = [
    Odd("empty", "", "empty_reply"),
    Odd("blank", " \n\u200b\ufeff \t", "empty_reply"),
    Odd("empty-at-limit", "", "cut_off", finish="length"),
    Odd("prose-only", "The answer is complete, I give it a 4.", "unreadable"),
    Odd("prose-key-and-number", "completeness: 4", "unreadable"),
    Odd("number-only", "4", "unreadable"),
    Odd("refused", "I'm sorry, but I can't help with that.", "unreadable"),
    Odd("empty-object", "{}", "missing_answer"),
    Odd("empty-list", "[]", "missing_answer"),
    Odd("other-object", '{"verdict": "good"}', "missing_answer"),
    Odd("answer-2-absent", HEAD.removesuffix(', "answer_2": ') + "}", "missing_answer"),
    Odd("answer-2-null", HEAD + "null}", "missing_answer"),
    Odd("answer-2-empty", HEAD + "{}}", "missing_answer"),
    Odd("answer-2-without-grade", HEAD + '{"completeness_justification": "b"}}', "missing_answer"),
    Odd("answer-2-inside-answer-1-only", '{"answer_1": {"completeness": 4}}', "missing_answer"),
    Odd("answer-2-other-metric", HEAD + '{"usefulness": 1}}', "missing_answer"),
    Odd("flat-with-two-answers", '{"completeness": 4}', "missing_answer"),
    Odd("list-of-one", '[{"completeness": 4}]', "missing_answer"),
    Odd("list-of-three", '[{"completeness": 4}, {"completeness": 4}, {}]', "missing_answer"),
    Odd("key-repeated", HEAD + '{"completeness": 3, "completeness": 4}}', "unreadable"),
    Odd("key-repeated-odd-case", HEAD + '{"completeness": 3, "Completeness": 4}}', "unreadable"),
    Odd("key-repeated-comma", HEAD + '{"completeness": 3, "completeness": 4,}}', "unreadable"),
    Odd("key-repeated-null", HEAD + '{"completeness": 3, "completeness": null}}', "unreadable"),
    Odd("answer-repeated", GOOD[:-1] + ', "answer_2": {"completeness": 4}}', "unreadable"),
    Odd(
        "key-repeated-among-broken-quotes",
        HEAD + '{"why": "has "A", "B" and C", "completeness": 3, "completeness": 4}}',
        "unreadable",
    ),
    Odd(
        "grade-absent-among-broken-quotes",
        HEAD + '{"why": "has "A", "B" and C", "completeness": }}',
        "unreadable",
    ),
    Odd(
        "of-ten-among-broken-quotes",
        HEAD + '{"why": "has "A", "B" and C", "completeness": 4 out of 10}}',
        "unreadable",
    ),
    Odd("grade-absent-after-colon", HEAD + '{"completeness": }}', "unreadable"),
    Odd("draft-then-damaged", f'{GOOD} No: {{"answer_2": {{"completeness": }}}}', "unreadable"),
    Odd("closed-too-early", '{"answer_2": 4}, "completeness": 2}}', "unreadable"),
    Odd("draft-then-cut", f"{GOOD} No: {GOOD[:30]}", "cut_off"),
    Odd("draft-then-cut-fenced", f"{GOOD}\n```json\n{GOOD[:30]}\n```", "cut_off"),
    Odd("draft-then-brace-at-limit", f"{GOOD} No: {{", "cut_off", finish="length"),
    Odd("cut-in-answer-1", HEAD[:40], "cut_off"),
    Odd("cut-in-key", HEAD + '{"compl', "cut_off"),
    Odd("cut-after-colon", HEAD + '{"completeness":', "cut_off"),
    Odd("cut-in-number", HEAD + '{"completeness": 4', "cut_off"),
    Odd("cut-after-number", HEAD + '{"completeness": 4\n', "cut_off"),
    Odd("cut-after-comma", HEAD + '{"completeness": 4,', "cut_off"),
    Odd("cut-in-text-number", HEAD + '{"completeness": "4', "cut_off"),
    Odd("cut-in-bare-answer", '{"answer_1": 5, "answer_2": 3', "cut_off"),
    Odd("cut-in-justification", HEAD + '{"completeness": 4, "why": "beca', "cut_off"),
    Odd("cut-in-escape", HEAD + '{"completeness": 4, "why": "beca\\', "cut_off"),
    Odd("cut-in-fence", f'```json\n{HEAD}{{"completeness": 4\n```', "cut_off"),
    Odd("cut-before-json", "Let me look at both answers", "cut_off", finish="length"),
    Odd("cut-max-tokens", HEAD + '{"completeness": 4', "cut_off", finish="MAX_TOKENS"),
    Odd("cut-with-broken-quotes", HEAD + '{"why": "has "A", "B" and', "unreadable"),
    Odd(
        "cut-with-broken-quotes-after-grade",
        HEAD + '{"why": "has "A", "B" and C", "completeness": 3, "more": "the set {a} i',
        "unreadable",
    ),
    Odd("cut-after-grade-object", HEAD + '{"completeness": 4}', 4, finish="length"),
    Odd("cut-in-prose-after", GOOD + " The reason", 3, finish="length"),
    Odd("filtered", GOOD, "content_filter", finish="content_filter"),
    Odd("filtered-empty", "", "content_filter", finish="content_filter"),
    Odd("filtered-safety", "", "content_filter", finish="SAFETY"),
    Odd("braces", "{" * 10_000, "unreadable"),
    Odd("nested-deep", '{"answer_2": ' * 100_000, "unreadable"),
    Odd("nested-deep-closed", '{"a":' * 900 + "1" + "}" * 900, "missing_answer"),
    Odd("digits-100000", HEAD + f'{{"completeness": {"3" * 100_000}}}}}', "unreadable"),
    Odd("too-long", "{" + GOOD + " " * 400_000, "unreadable"),
    Odd("half-surrogate", "\ud800", "unreadable"),
]

ONE_ANSWER = [
    Odd("answer-1", '{"answer_1": {"completeness": 4}}', 4, answers=1),
    Odd("answer", '{"answer": {"completeness": 4}}', 4, answers=1),
    Odd("answer-2", '{"answer_2": {"completeness": 4}}', 4, answers=1),
    Odd("answer-1-over-2", two(4, 2), 4, answers=1),
    Odd("flat", '{"completeness_justification": "x", "completeness": 4}', 4, answers=1),
    Odd("flat-null", '{"completeness": null}', None, answers=1),
    Odd("flat-in-prose", 'So: {"completeness": 4}.', 4, answers=1),
    Odd("flat-wrapped", '{"result": {"completeness": 4}}', 4, answers=1),
    Odd("flat-next-to-the-answer", '{"answer": "It is.", "completeness": 4}', 4, answers=1),
    Odd("list-of-one", '[{"completeness": 4}]', 4, answers=1),
    Odd("list-of-two", '[{"completeness": 4}, {"completeness": 2}]', "missing_answer", answers=1),
    Odd("answer-is-the-grade", '{"answer_1": 4}', 4, answers=1),
    Odd("answer-null", '{"answer_1": null}', "missing_answer", answers=1),
    Odd("flat-cut", '{"completeness": 4', "cut_off", answers=1),
    Odd("flat-cut-after-comma", '{"completeness": 4,', "cut_off", answers=1),
    Odd(
        "flat-inside-damage",
        '{"answer_1": {"completeness": 4}, !, "answer_2": {"completeness": 2}, "completeness": }',
        "unreadable",
        answers=1,
    ),
    Odd(
        "flat-after-damage",
        '{"answer_1": {"completeness": }, !, "note": {"completeness": 4}}',
        "unreadable",
        answers=1,
    ),
    Odd("flat-twice", '{"completeness": 4, "completeness": 3}', "unreadable", answers=1),
]

ODD_REPLIES = [
    pytest.param(row, id=f"{name}-{row.id}")
    for name, rows in {
        "layout": LAYOUT,
        "spelling": SPELLING,
        "grade": GRADES,
        "strict": JUDGED_STRICTLY,
        "one": ONE_ANSWER,
    }.items()
    for row in rows
]


@pytest.mark.parametrize("row", ODD_REPLIES)
def test_odd_reply(row: Odd) -> None:
    read = read_reply(row.text, METRICS[row.metric], answers=row.answers, finish_reason=row.finish)
    assert outcome(read.grade) == row.expected
    if isinstance(read.grade, Failed):
        assert read.grade.raw_reply is not None
        assert len(read.grade.error) < 250
        assert read.grade.error.count(". ") == 0, "one sentence"
        if len(row.text) < MAX_RAW_REPLY and row.id != "half-surrogate":
            assert read.grade.raw_reply == row.text


def test_ids_are_unique() -> None:
    ids = [param.id for param in ODD_REPLIES]
    assert len(set(ids)) == len(ids)
