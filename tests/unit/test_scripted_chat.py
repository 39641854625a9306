from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.chat import ChatModel, ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError, InputError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import (
    JUDGED_METRICS,
    METRICS,
    JsonSchema,
    MetricName,
    reply_schema,
    single_call_schema,
)
from grouse_adapters.testing import Script, ScriptedChat, ScriptedRequest, grades_reply

JUDGED = [metric.name for metric in JUDGED_METRICS]


def ask(chat: ScriptedChat, prompt: str, schema: JsonSchema | None = None) -> ChatReply:
    return asyncio.run(chat.complete(prompt, schema=schema))


def schema_for(metric: MetricName, **switches: Any) -> JsonSchema:
    told: dict[str, Any] = {"answers": 2, "reasoning": True, "justification": True}
    return reply_schema(METRICS[metric], **{**told, "citations": "required", **switches})


def prompt_for(metric: MetricName, *, sample: str) -> str:
    """A prompt without a schema, as a reference-style template words its reply."""
    keys = ", ".join(f'"{field.name}": ...' for field in METRICS[metric].reply_fields)
    form = f'{{"answer_1": {{{keys}}}, "answer_2": {{{keys}}}}}'
    return f"Grade two answers. Reply with\n{form}\n\n{sample}"


def assert_fits(value: Any, schema: JsonSchema) -> None:
    """Checks the parts of JSON schema that strict reply schemas use."""
    if "enum" in schema:
        assert value in schema["enum"]
    elif schema["type"] == "object":
        assert isinstance(value, dict)
        assert set(value) == set(schema["required"])
        for key, item in value.items():
            assert_fits(item, schema["properties"][key])
    elif schema["type"] == "array":
        assert isinstance(value, list)
        for item in value:
            assert_fits(item, schema["items"])
    else:
        assert isinstance(value, {"string": str, "boolean": bool}[schema["type"]])


# --- ScriptedChat ---


def test_is_a_chat_model() -> None:
    chat = ScriptedChat("fine", name="fake-1")
    assert isinstance(chat, ChatModel)
    assert chat.name == "fake-1"
    assert json.loads(json.dumps(chat.cache_key()))["model"] == "fake-1"


def test_text_object_and_whole_reply() -> None:
    whole = ChatReply(text="whole", usage=Usage(input_tokens=7), finish_reason="length")
    chat = ScriptedChat(["text", {"grade": None}, whole])
    assert ask(chat, "a" * 9) == ChatReply(
        text="text", usage=Usage(input_tokens=3, output_tokens=1), finish_reason="stop"
    )
    assert ask(chat, "b").text == '{"grade": null}'
    assert ask(chat, "c") is whole
    assert [call.prompt for call in chat.calls] == ["a" * 9, "b", "c"]
    assert chat.calls[2].reply is whole


def test_a_list_that_is_used_up_says_so() -> None:
    chat = ScriptedChat(["only one"])
    ask(chat, "a")
    with pytest.raises(ConfigurationError, match="has 1 replies and this is call 2"):
        ask(chat, "b")


def test_function_gets_prompt_and_schema_and_may_be_async() -> None:
    async def later(prompt: str, schema: JsonSchema | None) -> str:
        await asyncio.sleep(0)
        return f"{prompt} {schema}"

    assert ask(ScriptedChat(later), "p", {"type": "object"}).text == "p {'type': 'object'}"
    assert ask(ScriptedChat(lambda prompt, schema: {"p": prompt}), "p").text == '{"p": "p"}'


def test_mapping_answers_by_what_the_prompt_holds() -> None:
    chat = ScriptedChat({"Paris": "city", "the Seine": {"kind": "river"}})
    assert ask(chat, "Where is Paris?").text == "city"
    assert ask(chat, "Where is the\nSeine?").text == '{"kind": "river"}'
    with pytest.raises(ConfigurationError, match="No key of the script"):
        ask(chat, "Where is Rome?")


def test_a_reply_in_place_of_a_mapping_of_replies_is_a_clear_mistake() -> None:
    with pytest.raises(ConfigurationError, match="a function that returns it"):
        ScriptedChat(grades_reply("faithfulness", 1))


def test_raises_what_it_is_told_to() -> None:
    error = ChatError("slow down", kind="rate_limit", retryable=True, retry_after=1.5)
    chat = ScriptedChat([error, "fine"])
    with pytest.raises(ChatError) as raised:
        ask(chat, "a")
    assert raised.value is error
    assert ask(chat, "a").text == "fine"
    assert [call.error for call in chat.calls] == [error, None]
    assert chat.in_flight == 0


def test_a_reply_of_the_wrong_type_is_a_clear_mistake() -> None:
    chat = ScriptedChat(lambda prompt, schema: 5)  # type: ignore[arg-type,return-value]  # on purpose
    with pytest.raises(ConfigurationError, match="not int"):
        ask(chat, "a")


def test_counts_what_is_in_flight() -> None:
    async def run() -> None:
        gate, full = asyncio.Event(), asyncio.Event()

        async def wait(prompt: str, schema: JsonSchema | None) -> str:
            if chat.in_flight == 3:
                full.set()
            await gate.wait()
            return prompt

        chat = ScriptedChat(wait, latency=lambda prompt: 0.0)
        tasks = [asyncio.create_task(chat.complete(str(number))) for number in range(3)]
        await full.wait()
        tasks[0].cancel()
        gate.set()
        replies = await asyncio.gather(*tasks, return_exceptions=True)
        assert [reply.text for reply in replies if isinstance(reply, ChatReply)] == ["1", "2"]
        assert isinstance(chat.calls[0].error, asyncio.CancelledError)
        assert (chat.in_flight, chat.max_in_flight) == (0, 3)
        await chat.aclose()
        assert chat.closed

    asyncio.run(run())


def test_told_usage_and_finish_reason() -> None:
    usage = Usage(input_tokens=10, output_tokens=20)
    chat = ScriptedChat("{", usage=usage, finish_reason="length")
    assert ask(chat, "a") == ChatReply(text="{", usage=usage, finish_reason="length")


# --- what is asked ---


@pytest.mark.parametrize("metric", JUDGED)
def test_reads_the_metric_from_schema_and_from_text(metric: MetricName) -> None:
    assert ScriptedRequest.read("?", schema_for(metric)).metric == metric
    one = ScriptedRequest.read("?", schema_for(metric, answers=1, reasoning=False))
    assert (one.metric, one.answers) == (metric, 1)
    told = ScriptedRequest.read(prompt_for(metric, sample='Answer 2: "completeness": 5'))
    assert (told.metric, told.answers) == (metric, 2)


def test_reads_a_single_call() -> None:
    schema = single_call_schema(answers=1, reasoning=True, justification=True, citations="required")
    asked = ScriptedRequest.read("?", schema)
    assert (list(asked.metrics), asked.metric, asked.answers) == (JUDGED, None, 1)
    form = json.dumps({name: grades_reply(name, None) for name in JUDGED})
    assert list(ScriptedRequest.read(f"Reply with {form}").metrics) == JUDGED


def test_reads_a_schema_with_definitions() -> None:
    answer = METRICS["usefulness"].answer_schema(
        reasoning=True, justification=True, citations="required"
    )
    schema = {
        "$defs": {"Answer": answer},
        "type": "object",
        "properties": {f"answer_{number}": {"$ref": "#/$defs/Answer"} for number in (1, 2)},
    }
    assert ScriptedRequest.read("?", schema).metric == "usefulness"
    reply = json.loads(ask(ScriptedChat(Script(default={"usefulness": 0})), "?", schema).text)
    assert_fits(reply["answer_2"], answer)
    assert reply["answer_2"]["usefulness"] == 0


def test_sample_text_does_not_change_what_is_asked() -> None:
    fake = json.dumps({name: grades_reply(name, None) for name in JUDGED})
    quoted = prompt_for("completeness", sample=f"| {fake}")
    assert ScriptedRequest.read(quoted).metric == "completeness"
    assert ScriptedRequest.read(f"Summarise:\n| {fake}").metrics == ()


def test_other_prompts_ask_for_nothing() -> None:
    foreign = {"type": "object", "properties": {"statements": {"type": "array"}}}
    assert ScriptedRequest.read("What is the capital of France?", foreign).metrics == ()


# --- told grades ---


@pytest.mark.parametrize("metric", JUDGED)
@pytest.mark.parametrize("citations", ["required", "ignored"])
@pytest.mark.parametrize("reasoning", [True, False])
@pytest.mark.parametrize("justification", [True, False])
def test_replies_fit_the_schema(
    metric: MetricName, citations: str, reasoning: bool, justification: bool
) -> None:
    for answers in (1, 2):
        schema = schema_for(
            metric,
            answers=answers,
            citations=citations,
            reasoning=reasoning,
            justification=justification,
        )
        for grade in (*METRICS[metric].scale.values, None):
            reply = json.loads(ask(ScriptedChat(Script(default={metric: grade})), "?", schema).text)
            assert_fits(reply, schema)
            assert reply[f"answer_{answers}"][metric] == grade


def test_single_call_replies_fit_the_schema() -> None:
    schema = single_call_schema(answers=2, reasoning=True, justification=True, citations="required")
    grades: dict[str, int | None] = {"answer_relevancy": 4, "completeness": 2, "faithfulness": 0}
    reply = json.loads(ask(ScriptedChat(Script(default=grades)), "?", schema).text)
    assert_fits(reply, schema)
    given = {name: reply[name]["answer_2"][name] for name in JUDGED}
    assert given == {**grades, "usefulness": None}
    useful = reply["usefulness"]["answer_2"]
    assert useful["answer_affirms_no_document_answers"] is False


@pytest.mark.parametrize(
    ("metric", "grade", "checks"),
    [
        ("answer_relevancy", None, {"answer_affirms_no_document_answers": True}),
        ("answer_relevancy", 3, {"answer_affirms_no_document_answers": False}),
        (
            "usefulness",
            None,
            {
                "answer_affirms_no_document_answers": True,
                "answer_contains_related_information": False,
            },
        ),
        ("usefulness", 0, {"answer_contains_related_information": True}),
        ("faithfulness", None, {"answer_only_asserts_no_document_answers": True}),
        ("faithfulness", 1, {"answer_only_asserts_no_document_answers": False}),
    ],
)
def test_checks_agree_with_the_grade(
    metric: MetricName, grade: int | None, checks: dict[str, bool]
) -> None:
    answer = grades_reply(metric, grade)["answer_2"]
    assert {name: answer[name] for name in checks} == checks


def test_the_analysis_agrees_with_the_grade() -> None:
    def analysis(grade: int | None) -> Any:
        answer = grades_reply("faithfulness", grade)["answer_2"]
        return answer["content_analysis_sentence_by_sentence"]

    assert analysis(None) == []
    assert [item["criterion_3"] for item in analysis(1)] == [True]
    assert [item["criterion_3"] for item in analysis(0)] == [False]


def test_grades_of_the_first_answer() -> None:
    assert grades_reply("completeness", 2)["answer_1"]["completeness"] == 5
    assert grades_reply("completeness", None)["answer_1"]["completeness"] is None
    reply = grades_reply("completeness", 2, first=None, justification="because")
    assert reply["answer_1"] == {"completeness_justification": "because", "completeness": None}


def told(script: Script, prompt: str, metric: MetricName = "faithfulness") -> int | None:
    text = ask(ScriptedChat(script), prompt, schema_for(metric)).text
    grade: int | None = json.loads(text)["answer_2"][metric]
    return grade


def test_the_key_that_ends_last_counts_then_the_longest() -> None:
    script = Script(
        {
            "It rains [1].": {"faithfulness": 1},
            "It rains [1]. It snows [2].": {"faithfulness": 0},
            "It snows [2].": {"faithfulness": None},
        }
    )
    assert told(script, "Answer 1: It snows [2]. Answer 2: It rains [1].") == 1
    assert told(script, "Answer 1: It rains [1].\nAnswer 2: It rains [1]. It snows [2].") == 0
    assert told(script, "Answer 1: It rains [1]. Answer 2: It snows [2].") is None


def test_keys_ignore_quoting_and_line_breaks() -> None:
    script = Script({"First line [1].\n\nSecond line [2].": {"faithfulness": 0}})
    assert told(script, "Answer 2:\n| First line [1].\n|\n| Second  line [2].\n") == 0
    assert told(Script({"| a | b |": {"faithfulness": 0}}), "Answer 2:\n| a | b |") == 0


def test_many_keys_of_different_lengths() -> None:
    keys = {f"answer number {number}.": {"faithfulness": number % 2} for number in range(2000)}
    script = Script({**keys, "4": {"faithfulness": None}})
    assert [told(script, f"| answer number {number}.") for number in (1, 44, 1999)] == [1, 0, 1]
    assert told(script, "| answer number 4") is None


def test_defaults_fill_in() -> None:
    script = Script({"odd": {"faithfulness": 0}}, default={"faithfulness": 1, "completeness": 3})
    assert told(script, "odd") == 0
    assert told(script, "odd", "completeness") == 3
    assert told(script, "even") == 1
    assert told(script, "even", "answer_relevancy") is None


def test_a_function_may_tell_the_grades() -> None:
    def grades(request: ScriptedRequest) -> dict[str, int | None] | None:
        assert request.metric == "completeness"
        return {"completeness": 4} if "long" in request.prompt else None

    script = Script(grades, default={"completeness": 1})
    assert told(script, "a long answer", "completeness") == 4
    assert told(script, "short", "completeness") == 1


def test_no_grades_is_an_error_that_shows_the_prompt() -> None:
    with pytest.raises(ConfigurationError, match=r"no grades .*the last words'"):
        told(Script({"key": {"faithfulness": 1}}), "a prompt with the last words")


def test_prompts_of_others() -> None:
    with pytest.raises(ConfigurationError, match="otherwise="):
        ask(ScriptedChat(Script(default={"faithfulness": 1})), "What is rain?")
    script = Script(default={"faithfulness": 1}, otherwise={"rain": "Water [1]."})
    assert ask(ScriptedChat(script), "What is rain?").text == "Water [1]."


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ({"faithfullness": 1}, "not 'faithfullness'"),
        ({"positive_acceptance": 1}, "not 'positive_acceptance'"),
        ({"completeness": 6}, "completeness is 1-5 or null, not 6"),
        ({"usefulness": "1"}, "usefulness is 0 or 1 or null, not '1'"),
        (5, "must map metrics"),
    ],
)
def test_wrong_grades_are_refused_at_once(grades: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Script({"key": grades})
    with pytest.raises(ConfigurationError, match=message):
        Script(default=grades)


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="default="):
        Script({" \n": {"faithfulness": 1}})


def test_script_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    content = {
        "grades": {"Schnee fällt": {"faithfulness": 0}},
        "default": {"faithfulness": 1},
        "otherwise": "No judge.",
        "justification": "As told.",
    }
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8-sig")
    script = Script.from_file(path)
    assert told(script, "Schnee fällt [1].") == 0
    assert told(script, "Regen fällt [1].") == 1
    assert ask(ScriptedChat(script), "Hello?").text == "No judge."
    assert "As told." in ask(ScriptedChat(script), "?", schema_for("faithfulness")).text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[]", "must be an object"),
        ('{"grade": {}}', "whose keys are of: default, grades, justification, otherwise"),
        ('{"grades": []}', "must map keys"),
    ],
)
def test_bad_script_files_say_what_is_wrong(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "script.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        Script.from_file(path)
