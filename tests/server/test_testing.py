from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
import urllib.error
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from scripted_calls import ask, ask_for, ask_with, async_client, client, post

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.testing import Script, ScriptedServer


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer("A reply of some length, so that it can be cut.") as running:
        yield running


JUDGED: tuple[MetricName, ...] = ("answer_relevancy", "completeness", "usefulness", "faithfulness")


# --- chat ---


def test_a_completion_looks_real(server: ScriptedServer) -> None:
    completion = ask(server, "four" * 10)
    assert completion.object == "chat.completion"
    assert completion.model == "m"
    choice = completion.choices[0]
    assert choice.message.content == "A reply of some length, so that it can be cut."
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (10, 12)
    assert completion.usage.total_tokens == 22


@pytest.mark.parametrize("metric", JUDGED)
def test_gives_the_grades_it_was_told(metric: MetricName) -> None:
    script = Script({"It rains [1].": {"usefulness": 0, "faithfulness": 0, "completeness": 2}})
    with ScriptedServer(script) as server:
        told = ask(server, "| It rains [1].", response_format=ask_for(metric))
        answer = json.loads(told.choices[0].message.content)["answer_2"]
        expected = {"usefulness": 0, "faithfulness": 0, "completeness": 2}.get(metric)
        assert answer[metric] == expected
        assert server.requests[0].metric == metric


def test_message_parts_and_several_messages() -> None:
    with ScriptedServer(lambda prompt, schema: prompt) as server, client(server) as connected:
        completion = connected.chat.completions.create(
            model="m",
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Why?"}]},
            ],
        )
    assert completion.choices[0].message.content == "Be brief.\n\nWhy?"


def test_several_choices_take_several_replies() -> None:
    with ScriptedServer(["one", "two"]) as server:
        choices = ask(server, n=2).choices
    assert [(choice.index, choice.message.content) for choice in choices] == [
        (0, "one"),
        (1, "two"),
    ]
    assert server.calls == 1


def test_whole_replies_keep_usage_and_finish_reason() -> None:
    usage = Usage(input_tokens=1000, output_tokens=7)
    with ScriptedServer(ChatReply(text="{", usage=usage, finish_reason="length")) as server:
        completion = ask(server)
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage.prompt_tokens == 1000
    assert completion.usage.completion_tokens == 7


def test_a_token_limit_cuts_the_reply(server: ScriptedServer) -> None:
    completion = ask(server, max_tokens=2)
    assert completion.choices[0].message.content == "A reply "
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage.completion_tokens == 2


def test_streams(server: ScriptedServer) -> None:
    chunks = list(ask(server, stream=True, stream_options={"include_usage": True}))
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "A reply of some length, so that it can be cut."
    assert len([text for text in texts if text]) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.completion_tokens == 12
    assert server.calls == 1


def test_a_stream_says_usage_only_when_asked(server: ScriptedServer) -> None:
    chunks = list(ask(server, stream=True, n=2))
    assert all(chunk.usage is None for chunk in chunks)
    assert {chunk.choices[0].index for chunk in chunks} == {0, 1}


@pytest.mark.parametrize("stream", [False, True])
def test_forced_tools_get_the_reply_as_arguments(stream: bool) -> None:
    schema = ask_for("faithfulness")["json_schema"]["schema"]
    tool = {"type": "function", "function": {"name": "grade", "parameters": schema}}
    forced = {"type": "function", "function": {"name": "grade"}}
    with ScriptedServer(Script(default={"faithfulness": 0})) as server:
        told = ask(server, tools=[tool], tool_choice=forced, stream=stream)
        if stream:
            parts = [part.choices[0].delta.tool_calls for part in told]
            calls = [call[0].function for call in parts if call]
            name, arguments = calls[0].name, "".join(call.arguments for call in calls)
        else:
            call = told.choices[0].message.tool_calls[0].function
            name, arguments = call.name, call.arguments
    assert name == "grade"
    assert json.loads(arguments)["answer_2"]["faithfulness"] == 0


def test_many_async_calls_in_flight() -> None:
    full = asyncio.Event()

    async def when_full(prompt: str, schema: object) -> str:
        if server.in_flight == 20:
            full.set()
        await full.wait()
        return prompt

    async def run() -> list[str | None]:
        async with async_client(server) as connected:

            async def one(number: int) -> str | None:
                completion = await connected.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": str(number)}]
                )
                return completion.choices[0].message.content

            return await asyncio.gather(*(one(number) for number in range(20)))

    with ScriptedServer(when_full) as server:
        assert asyncio.run(run()) == [str(number) for number in range(20)]
        assert (server.max_in_flight, server.in_flight, server.calls) == (20, 0, 20)


def test_one_call_after_another_is_never_two_in_flight(server: ScriptedServer) -> None:
    with client(server) as connected:
        for number in range(50):
            ask_with(connected, str(number))
    assert (server.max_in_flight, server.calls) == (1, 50)


# --- the other endpoints ---


def test_models(server: ScriptedServer) -> None:
    with client(server) as connected:
        assert [model.id for model in connected.models.list()] == ["scripted"]
        assert connected.models.retrieve("any/name").id == "any/name"
    with ScriptedServer(models=["org/a", "b"]) as named, client(named) as connected:
        assert [model.id for model in connected.models.list()] == ["org/a", "b"]
        assert connected.models.retrieve("org/a").id == "org/a"
        with pytest.raises(openai.NotFoundError):
            connected.models.retrieve("c")


def test_unknown_addresses(server: ScriptedServer) -> None:
    with client(server) as connected, pytest.raises(openai.NotFoundError, match="Unknown request"):
        connected.completions.create(model="m", prompt="Once")
    assert server.requests[0].path == "/v1/completions"


def numbers(embedding: list[float] | str) -> list[float]:
    """The SDK decodes base64 only where it asked for it by itself."""
    if not isinstance(embedding, str):
        return embedding
    return list(struct.unpack("<256f", base64.b64decode(embedding)))


@pytest.mark.parametrize("form", ["base64", "float"])
def test_embeddings(server: ScriptedServer, form: Any) -> None:
    texts = ["rain falls on the hills", "snow falls on the hills", "an unrelated matter"]
    with client(server) as connected:
        response = connected.embeddings.create(model="e", input=texts, encoding_format=form)
        again = connected.embeddings.create(model="e", input=texts[0], dimensions=8)
    vectors = [numbers(item.embedding) for item in response.data]
    assert [item.index for item in response.data] == [0, 1, 2]
    assert {len(vector) for vector in vectors} == {256}
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1, 1, 1])
    likeness = [sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors]
    assert likeness[0] > likeness[1] > likeness[2]
    assert response.usage.prompt_tokens == 17
    assert len(again.data[0].embedding) == 8


def test_embeddings_are_the_same_in_both_forms_and_every_time(server: ScriptedServer) -> None:
    with client(server) as connected:
        plain = connected.embeddings.create(model="e", input="a b", encoding_format="float")
        packed = connected.embeddings.create(model="e", input="a b")
        tokens = connected.embeddings.create(model="e", input=[[1, 2], [1, 2, 3]])
        one = connected.embeddings.create(model="e", input=[1, 2])
    assert plain.data[0].embedding == pytest.approx(packed.data[0].embedding)
    assert len(tokens.data) == 2
    assert one.data[0].embedding == tokens.data[0].embedding
    assert [request.attempt for request in server.requests] == [1, 2, 1, 1]


def test_embeddings_of_ones_own() -> None:
    with (
        ScriptedServer(embed=lambda text: [3.0, 4.0, 100.0]) as server,
        client(server) as connected,
    ):
        response = connected.embeddings.create(
            model="e", input="x", dimensions=2, encoding_format="float"
        )
        assert response.data[0].embedding == pytest.approx([0.6, 0.8])
        with pytest.raises(openai.BadRequestError, match="'input'"):
            connected.embeddings.create(model="e", input="")


# --- what the server does not accept ---


def test_wrong_key_is_echoed_and_not_logged() -> None:
    with ScriptedServer("fine", api_key="sk-right") as server:
        with client(server, key="sk-wrong") as connected:
            with pytest.raises(openai.AuthenticationError, match="sk-wrong") as refused:
                ask_with(connected, "Hello?")
            with pytest.raises(openai.AuthenticationError):
                connected.models.list()
        assert refused.value.code == "invalid_api_key"
        with client(server, key="sk-right") as connected:
            ask_with(connected, "Hello?")
        assert [request.key_matched for request in server.requests] == [False, False, True]
        assert [request.status for request in server.requests] == [401, 401, 200]
        assert "sk-" not in repr(server.requests)


def test_unknown_model() -> None:
    with ScriptedServer(models=["other"]) as server:
        with pytest.raises(openai.NotFoundError, match="'m' does not exist") as refused:
            ask(server)
        assert refused.value.code == "model_not_found"


def test_rejected_reply_forms() -> None:
    form = ask_for("completeness")
    with ScriptedServer("{}", rejects={"json_schema"}) as server:
        with pytest.raises(openai.BadRequestError, match="'json_schema' is not supported"):
            ask(server, response_format=form)
        assert ask(server, response_format={"type": "json_object"}).choices
    with ScriptedServer("{}", rejects={"json_schema", "json_object", "tools"}) as server:
        with pytest.raises(openai.BadRequestError) as refused:
            ask(server, response_format={"type": "json_object"})
        assert refused.value.param == "response_format"
        with pytest.raises(openai.BadRequestError, match="'tools'"):
            ask(server, tools=[])
        assert ask(server).choices
        assert server.stats()["statuses"] == {"200": 1, "400": 2}


def test_reasoning_models() -> None:
    with ScriptedServer("fine", reasoning=True) as server:
        with pytest.raises(openai.BadRequestError, match="max_completion_tokens") as refused:
            ask(server, max_tokens=10)
        assert refused.value.code == "unsupported_parameter"
        with pytest.raises(openai.BadRequestError, match="'temperature'"):
            ask(server, temperature=0)
        completion = ask(server, max_completion_tokens=10)
    details = completion.usage.completion_tokens_details
    assert details.reasoning_tokens > 0
    assert completion.usage.completion_tokens == details.reasoning_tokens + 1


def test_context_length() -> None:
    with ScriptedServer("fine", context_length=10) as server:
        assert ask(server, "x" * 40).choices
        with pytest.raises(openai.BadRequestError, match="maximum context length") as refused:
            ask(server, "x" * 41)
    assert refused.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "name a model"),
        (b'{"model": "m"}', "'messages'"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "n": 0}', "'n'"),
        (b'{"model": "m", "messages": [1], "max_tokens": "many"}', "'max_tokens'"),
    ],
)
def test_broken_requests(server: ScriptedServer, body: bytes, message: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(f"{server.base_url}/chat/completions", body)
    assert refused.value.code == 400
    assert message in json.loads(refused.value.read())["error"]["message"]
    refused.value.close()


def test_a_failing_script_tells_the_client_and_the_test() -> None:
    error = ZeroDivisionError("by nought")

    def fail(prompt: str, schema: object) -> str:
        raise error

    with ScriptedServer(fail) as server:
        with pytest.raises(openai.BadRequestError, match="ZeroDivisionError: by nought"):
            ask(server)
        assert server.script_errors == (error,)
    with ScriptedServer(Script({"key": {"faithfulness": 1}})) as server:
        with pytest.raises(openai.BadRequestError, match="no grades"):
            ask(server, response_format=ask_for("faithfulness"))
        assert isinstance(server.script_errors[0], ConfigurationError)
        assert server.calls == server.paid_calls == 0
