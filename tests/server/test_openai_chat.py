"""What OpenAIChat sends, learns and reads, over real HTTP; its errors have a file of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from openai_calls import ask, chat_with, run

from grouse_adapters import (
    ChatReply,
    ConfigurationError,
    OpenAIChat,
    Price,
    Usage,
)
from grouse_adapters.core.prices import KeptPrices
from grouse_adapters.testing import RawBody, Script, ScriptedServer, ServedRequest

SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "integer"}},
    "required": ["grade"],
    "additionalProperties": False,
}


def statuses(server: ScriptedServer) -> Counter[int | None]:
    return Counter(request.status for request in server.requests)


def forms(server: ScriptedServer) -> list[str | None]:
    """The reply form of each request, in the order of arrival."""
    return [request.body.get("response_format", {}).get("type") for request in server.requests]


# What is sent


def test_a_plain_request() -> None:
    with ScriptedServer("fine") as server:
        (reply,) = ask(chat_with(server), "How are you?")
    (request,) = server.requests
    assert reply.text == "fine"
    assert reply.finish_reason == "stop"
    assert request.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "How are you?"}],
        "max_tokens": 2048,
        "temperature": 0.0,
    }


def test_a_strict_schema_is_asked_for() -> None:
    with ScriptedServer('{"grade": 4}') as server:
        ask(chat_with(server), schema=SCHEMA)
    wanted = server.requests[0].body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"] == {"name": "judgement", "strict": True, "schema": SCHEMA}


def test_settings_reach_the_server() -> None:
    extra = {"seed": 7, "chat_template_kwargs": {"enable_thinking": False}}
    with ScriptedServer() as server:
        ask(chat_with(server, max_tokens=99, temperature=0.5, extra_body=extra), schema=SCHEMA)
    body = server.requests[0].body
    assert (body["max_tokens"], body["temperature"]) == (99, 0.5)
    assert {name: body[name] for name in extra} == extra
    assert "extra_body" not in body


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"timeout": 0}, "timeout"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 2.1}, "temperature"),
        ({"structured": "xml"}, "json_schema, json_object, text"),
    ],
)
def test_settings_out_of_range(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        OpenAIChat("m", base_url="http://127.0.0.1:9/v1", **setting)


# What is learned


@pytest.mark.parametrize(
    ("rejects", "refused", "accepted"),
    [
        ((), 0, "json_schema"),
        (("json_schema",), 1, "json_object"),
        (("json_schema", "json_object"), 2, None),
        (("response_format",), 2, None),
    ],
)
def test_a_refused_reply_form_is_remembered(
    rejects: tuple[str, ...], refused: int, accepted: str | None
) -> None:
    with ScriptedServer("fine", rejects=rejects) as server:
        replies = ask(chat_with(server), *"abcde", schema=SCHEMA)
    assert [reply.text for reply in replies] == ["fine"] * 5
    assert statuses(server) == Counter({200: 5, 400: refused}) - Counter()
    assert forms(server)[refused:] == [accepted] * 5


def test_structured_starts_where_it_is_told() -> None:
    with ScriptedServer() as server:
        ask(chat_with(server, structured="json_object"), schema=SCHEMA)
        ask(chat_with(server, structured="text"), schema=SCHEMA)
    assert forms(server) == ["json_object", None]


def test_concurrent_first_calls_learn_together() -> None:
    async def at_once(chat: OpenAIChat, calls: int) -> None:
        await asyncio.gather(*(chat.complete(str(n), schema=SCHEMA) for n in range(calls)))

    with ScriptedServer(rejects={"json_schema", "json_object"}) as server:
        chat = chat_with(server)

        async def go() -> tuple[int, int]:
            await at_once(chat, 8)
            before = statuses(server)[400]
            await at_once(chat, 8)
            return before, statuses(server)[400]

        before, after = run(chat, go())
    assert 2 <= before <= 16  # each of the first eight may run into both refusals
    assert after == before
    assert statuses(server)[200] == 16


def test_a_call_that_ends_late_does_not_unlearn() -> None:
    """One that asks for no form, and was under way before the refusal."""

    def latency(request: ServedRequest) -> float:
        return 0.3 if request.prompt == "slow" else 0.0

    with ScriptedServer(rejects={"json_schema"}, latency=latency) as server:
        chat = chat_with(server)

        async def go() -> None:
            slow = asyncio.create_task(chat.complete("slow"))
            await chat.complete("first", schema=SCHEMA)
            assert not slow.done()
            await slow
            await chat.complete("second", schema=SCHEMA)

        run(chat, go())
    assert statuses(server) == {400: 1, 200: 3}


def test_a_reasoning_model_is_known_by_name() -> None:
    with ScriptedServer(reasoning=True) as server:
        for model in ("o4-mini", "gpt-5", "openai/gpt-5-nano"):
            ask(OpenAIChat(model, base_url=server.base_url), schema=SCHEMA)
    assert statuses(server) == {200: 3}
    for request in server.requests:
        assert "temperature" not in request.body
        assert "max_tokens" not in request.body
        assert request.body["max_completion_tokens"] == 16_384


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest", "phi-o3d", "olmo-7b"])
def test_other_names_are_no_reasoning_models(model: str) -> None:
    with ScriptedServer() as server:
        ask(OpenAIChat(model, base_url=server.base_url))
    assert server.requests[0].body["max_tokens"] == 2048
    assert server.requests[0].body["temperature"] == 0.0


def test_a_reasoning_model_is_known_by_its_refusals() -> None:
    with ScriptedServer(reasoning=True, rejects={"json_schema"}) as server:
        ask(chat_with(server), *"abc", schema=SCHEMA)
    assert statuses(server) == {400: 3, 200: 3}
    for request in server.requests[3:]:
        assert "temperature" not in request.body
        assert request.body["max_completion_tokens"] == 2048
        assert request.body["response_format"] == {"type": "json_object"}


def test_reasoning_can_be_told() -> None:
    with ScriptedServer() as server:
        ask(chat_with(server, reasoning=True))
        ask(OpenAIChat("o9", base_url=server.base_url, reasoning=False))
    told, denied = (request.body for request in server.requests)
    assert "max_completion_tokens" in told
    assert "max_tokens" in denied


# What is read


def test_usage_and_cost() -> None:
    usage = Usage(input_tokens=1000, output_tokens=10)
    with ScriptedServer(ChatReply(text="fine", usage=usage)) as server:
        (priced,) = ask(chat_with(server, price=Price(input=2.0, output=8.0)))
        (unknown,) = ask(chat_with(server))
    assert priced.usage == unknown.usage == usage
    assert priced.cost == pytest.approx(0.00208)
    assert unknown.cost is None


def test_kept_prices() -> None:
    million = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    known = KeptPrices("gpt-4o-mini", None).cost(million)
    assert known == pytest.approx(0.15 + 0.60)
    assert KeptPrices("gpt-4o-mini", "https://api.openai.com/v1").cost(million) == known
    assert KeptPrices("gpt-4o-mini", "http://127.0.0.1:8000/v1").cost(million) is None
    unknown = KeptPrices("no-such-model", None)
    assert [unknown.cost(million), unknown.cost(million)] == [None, None]


@pytest.mark.parametrize(
    ("message", "usage", "read"),
    [
        ({"content": "a"}, None, ("a", 0, 0)),
        ({"content": "a"}, "many", ("a", 0, 0)),
        ({"content": "a"}, {"prompt_tokens": "7", "completion_tokens": -1}, ("a", 0, 0)),
        ({"content": "a"}, {"prompt_tokens": 1.5, "completion_tokens": 3}, ("a", 0, 3)),
        ({"content": None}, {"prompt_tokens": 7}, ("", 7, 0)),
        ({"content": 5}, {"prompt_tokens": 7}, ("", 7, 0)),
        ({"content": [{"type": "thinking"}, {"text": "a"}, {"text": "b"}]}, {}, ("ab", 0, 0)),
        ("a", {}, ("", 0, 0)),
    ],
)
def test_answers_that_bend_the_protocol(message: Any, usage: Any, read: tuple[Any, ...]) -> None:
    body = json.dumps({"choices": [{"message": message, "finish_reason": 7}], "usage": usage})
    with ScriptedServer(faults=RawBody(body, "application/json")) as server:
        (reply,) = ask(chat_with(server, price=Price(1, 1)))
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == read
    assert reply.finish_reason is None
    assert (reply.cost is None) == (read[1:] == (0, 0))  # nothing reported is not free of charge


def test_a_refusal_of_the_model_is_a_filtered_reply() -> None:
    message = {"content": None, "refusal": "I cannot help with that."}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    with ScriptedServer(faults=RawBody(body, "application/json")) as server:
        (reply,) = ask(chat_with(server))
    assert reply.text == "I cannot help with that."
    assert reply.finish_reason == "content_filter"


# Loops and connections


def test_one_chat_on_several_loops() -> None:
    with ScriptedServer(lambda prompt, schema: prompt, latency=0.05) as server:
        chat = chat_with(server)
        with ThreadPoolExecutor(3) as threads:
            replies = list(threads.map(lambda name: ask(chat, name, name), "abc"))
        again = ask(chat, "d")
    assert [[reply.text for reply in each] for each in replies] == [["a"] * 2, ["b"] * 2, ["c"] * 2]
    assert again[0].text == "d"
    assert server.calls == 7
    assert server.max_in_flight > 1


ENDINGS = {
    "aclose": """
        async def go():
            chat = OpenAIChat("m", base_url=address)
            await asyncio.gather(*(chat.complete(str(n)) for n in range(5)))
            open_before = transports()
            await chat.aclose()
            await asyncio.sleep(0)
            print(open_before, transports())

        asyncio.run(go())
        """,
    "close": """
        with LLMJudge(OpenAIChat("m", base_url=address)) as judge:
            judge.judge(sample, metrics=["completeness"])
            open_before = transports()
        print(open_before, transports())
        """,
    "no close": """
        judge = LLMJudge(OpenAIChat("m", base_url=address))
        judge.judge(sample, metrics=["completeness"])
        print(transports(), 0)
        """,
    "forgotten": """
        judge = LLMJudge(OpenAIChat("m", base_url=address))
        judge.judge(sample, metrics=["completeness"])
        open_before = transports()
        del judge
        gc.collect()
        print(open_before, transports())
        """,
    "in flight": """
        judge = LLMJudge(OpenAIChat("hangs", base_url=address))
        future = judge.submit(sample, ("completeness",))
        while not transports() and not future.done():
            time.sleep(0.3)  # looking through all objects keeps the judge's thread from running
        print(int(not future.done()), 0)
        """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_connection_outlives_its_owner(ending: str, tmp_path: Path) -> None:
    start = """
        import asyncio, faulthandler, gc, sys, time
        from grouse_adapters import LLMJudge, OpenAIChat, Sample

        faulthandler.dump_traceback_later(50, exit=True)  # says where it hangs, if it hangs
        address = sys.argv[1]
        sample = Sample(input="?", references=("x",), expected_output="x.", actual_output="x.")

        def transports():
            found = [o for o in gc.get_objects() if isinstance(o, asyncio.Transport)]
            return sum(not transport.is_closing() for transport in found)
        """
    script = tmp_path / "ending.py"
    script.write_text(textwrap.dedent(start) + textwrap.dedent(ENDINGS[ending]))

    def latency(request: ServedRequest) -> float:
        return 600.0 if request.body["model"] == "hangs" else 0.05

    best = Script(default={"completeness": 5}, otherwise="fine")
    with ScriptedServer(best, latency=latency) as server:
        ended = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", str(script), server.base_url],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ended.stderr == ""
    assert ended.returncode == 0
    before, after = map(int, ended.stdout.split())
    assert before >= 1
    assert after == 0
