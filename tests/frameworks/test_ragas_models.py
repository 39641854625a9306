"""Model objects that users of RAGAS already have, as the judge, called over HTTP or in process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from cases_ragas import (
    ANSWERED,
    CALLS,
    KEY,
    QUESTION,
    REFUSED,
    REFUSED_WRONGLY,
    TOLD,
    VALUES,
    many_rows,
    model_of,
    row,
    serving,
)
from instructor import AsyncInstructor, Mode, Provider, patch
from langchain_core.language_models import FakeListChatModel
from langchain_core.outputs import Generation, LLMResult
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from ragas.cache import DiskCacheBackend
from ragas.llms import llm_factory
from ragas.llms.base import (
    BaseRagasLLM,
    InstructorBaseRagasLLM,
    InstructorLLM,
    LangchainLLMWrapper,
)

from grouse_adapters import ChatModel, ConfigurationError, OpenAIChat, resolve_judge
from grouse_adapters.core.errors import ChatError
from grouse_adapters.ragas import GrouseCompleteness, all_metrics
from grouse_adapters.ragas.models import InstructorChat, RagasOpenAIChat, TextChat, adapt
from grouse_adapters.testing import CutOff, HttpError, Script, ScriptedServer, grades_reply

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CLIENTS = [openai.AsyncOpenAI, openai.OpenAI]


class Hidden:
    """A client that instructor drives but whose inside is no openai client to be seen."""

    def __init__(self, server: ScriptedServer) -> None:
        self.inner = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url, max_retries=0)

    def llm(self, **settings: Any) -> InstructorLLM:
        patched = patch(create=self.inner.chat.completions.create, mode=Mode.JSON)
        client = AsyncInstructor(
            client=None, create=patched, mode=Mode.JSON, provider=Provider.GROQ
        )
        return InstructorLLM(client=client, model="llama", provider="groq", **settings)


def langchain(server: ScriptedServer) -> ChatOpenAI:
    return ChatOpenAI(model="m", api_key=KEY, base_url=server.base_url, max_retries=0)  # type: ignore[arg-type]  # a text will do


MODELS: dict[str, Callable[[ScriptedServer], Any]] = {
    "llm_factory, async client": lambda server: model_of(server),
    "llm_factory, sync client": lambda server: model_of(server, openai.OpenAI),
    "llm of another provider": lambda server: Hidden(server).llm(),
    "LangchainLLMWrapper": lambda server: LangchainLLMWrapper(langchain(server)),
    "LangChain's own": langchain,
}


@pytest.mark.parametrize("kind", MODELS)
def test_six_metrics_over_http_with_a_loop_per_call(kind: str) -> None:
    with serving() as server:
        metrics = all_metrics(MODELS[kind](server))
        for answer in (ANSWERED, REFUSED):
            server.reset()
            values = [asyncio.run(metric.ascore(**row(answer))).value for metric in metrics]
            assert values == VALUES[answer]
            assert server.calls == CALLS[answer]


@pytest.mark.parametrize("kind", MODELS)
def test_tokens_are_counted(kind: str) -> None:
    with serving() as server:
        result = GrouseCompleteness(MODELS[kind](server)).score(**row(ANSWERED))
        assert result.traces is not None
        assert result.traces["output"]["usage"]["input_tokens"] > 100
        assert result.traces["output"]["usage"]["output_tokens"] > 10


@pytest.mark.parametrize("kind", MODELS)
def test_a_wrong_key_is_a_configuration_error_without_the_key(kind: str) -> None:
    refuses = HttpError(401, f"Incorrect API key provided: {KEY}.")
    with ScriptedServer(faults=lambda _: refuses) as server:
        metric = GrouseCompleteness(MODELS[kind](server))
        with pytest.raises(ConfigurationError, match="401") as raised:
            metric.score(**row())
        if "another provider" not in kind:  # its key is nowhere to be seen
            assert KEY not in str(raised.value)


@pytest.mark.parametrize("kind", MODELS)
def test_a_reply_that_is_cut_off_fails_and_says_so(kind: str) -> None:
    with ScriptedServer(Script(TOLD), faults=lambda _: CutOff()) as server:
        result = GrouseCompleteness(MODELS[kind](server)).score(**row(ANSWERED))
        assert result.grade.kind == "failed"
        assert result.grade.error_kind == "cut_off"


@pytest.mark.parametrize("kind", MODELS)
def test_cache_keys_tell_the_model_and_no_secret(kind: str) -> None:
    with serving() as server:
        chat = adapt(MODELS[kind](server))
        assert isinstance(chat, ChatModel)
        text = json.dumps(chat.cache_key())
        assert chat.name in text
        assert chat.name in ("gpt-4o-mini", "m", "llama")
        assert KEY not in text


@pytest.mark.parametrize("client", CLIENTS)
def test_what_llm_factory_was_told_is_what_the_server_gets(client: Any) -> None:
    with serving() as server:
        llm = model_of(
            server,
            client,
            temperature=0.25,
            max_tokens=777,
            seed=3,
            extra_headers={"x-team": "bridges"},
        )
        GrouseCompleteness(llm).score(**row())
        (request,) = server.requests
        body = request.body
        assert (body["model"], body["temperature"], body["seed"]) == ("gpt-4o-mini", 0.25, 3)
        assert (body["max_tokens"], body["top_p"]) == (777, 0.1)
        assert body["response_format"]["type"] == "json_schema"
        assert request.headers["x-team"] == "bridges"
        assert "extra_headers" not in body


def test_the_short_default_of_ragas_is_not_taken_for_a_wish() -> None:
    with serving() as server:
        GrouseCompleteness(model_of(server)).score(**row())
        assert server.requests[0].body["max_tokens"] == 2048


@pytest.mark.parametrize("name", ["o3-mini", "gpt-5", "openai/gpt-5", "codex-mini"])
def test_reasoning_models_get_no_temperature(name: str) -> None:
    with ScriptedServer(Script(TOLD), reasoning=True) as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url)
        result = GrouseCompleteness(llm_factory(name, client=client)).score(**row())
        assert result.value == 4
        body = server.requests[0].body
        assert not {"temperature", "top_p", "max_tokens"} & set(body)
        assert len(server.requests) == 1


def test_a_system_prompt_goes_in_front() -> None:
    with serving() as server:
        llm = model_of(server)
        llm.system_prompt = "You are strict."
        GrouseCompleteness(llm).score(**row())
        assert server.requests[0].prompt.startswith("You are strict.\n\n")


def test_a_server_without_structured_output_is_asked_for_text() -> None:
    script = Script(TOLD)
    with ScriptedServer(script, rejects={"json_schema", "json_object"}) as server:
        metrics = all_metrics(model_of(server))
        assert [metric.score(**row()).value for metric in metrics] == VALUES[ANSWERED]
        assert "response_format" not in server.requests[-1].body


def test_a_client_that_the_application_uses_too_stays_usable() -> None:
    """Its connections belong to the application's loop, the judge's to the judge's."""
    with serving() as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url, max_retries=0)
        metric = GrouseCompleteness(llm_factory("m", client=client))
        metric.score(**row(REFUSED))
        messages = [{"role": "user", "content": server.requests[0].prompt}]

        async def both() -> None:
            for answer in (ANSWERED, REFUSED_WRONGLY):
                result, asked = await asyncio.gather(
                    metric.ascore(**row(answer)),
                    client.chat.completions.create(model="m", messages=messages),  # type: ignore[arg-type]  # a plain list will do
                )
                assert result.value == VALUES[answer][1]
                assert asked.choices[0].message.content

        asyncio.run(both())
        assert [request.status for request in server.requests] == [200] * 5
        assert not client.is_closed()


def test_a_transport_of_the_users_own_is_kept() -> None:
    seen: list[str] = []

    class Noted(openai.DefaultAsyncHttpxClient):
        async def send(self, request: httpx.Request, **more: Any) -> httpx.Response:
            seen.append(request.url.path)
            return await super().send(request, **more)

    with serving() as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url, http_client=Noted())
        llm = llm_factory("m", client=client)
        assert GrouseCompleteness(llm).score(**row()).value == 4
        assert seen == ["/v1/chat/completions"]
        assert not client.is_closed()


@pytest.mark.skipif(
    "cache" not in signature(InstructorLLM).parameters, reason="this RAGAS caches no such model"
)
@pytest.mark.parametrize("kind", list(MODELS)[:3])
def test_the_cache_of_ragas_is_passed_over(kind: str, tmp_path: Path) -> None:
    """Its key leaves the model out, so that another model would get this one's replies."""
    with serving() as server:
        cache = DiskCacheBackend(cache_dir=str(tmp_path))
        for name in ("one", "another"):
            client = MODELS[kind](server).client
            llm = InstructorLLM(client=client, model=name, provider="openai", cache=cache)
            assert GrouseCompleteness(llm).score(**row()).value == 4
        assert [request.body["model"] for request in server.requests] == ["one", "another"]
        cache.cache.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_fifty_samples_with_the_users_client(client: Any) -> None:
    rows, script = many_rows(50)
    with ScriptedServer(script, latency=0.005) as server:
        metrics = all_metrics(model_of(server, client))

        async def every() -> list[Any]:
            return await asyncio.gather(*(metric.abatch_score(rows) for metric in metrics))

        results = asyncio.run(every())
        assert [result.value for result in results[3]] == [n % 2 for n in range(50)]
        assert server.calls == 160
        assert server.max_in_flight > 4


class InProcess(InstructorBaseRagasLLM):
    """A class of a user's own."""

    model = "own"

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self.asked: list[str] = []

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        assert not self.is_async
        return self._reply(prompt, response_model)

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        assert self.is_async
        return self._reply(prompt, response_model)

    def _reply(self, prompt: str, response_model: type[BaseModel]) -> BaseModel:
        self.asked.append(prompt)
        (grade,) = {"completeness"} & set(json.dumps(response_model.model_json_schema()).split('"'))
        assert grade
        return response_model.model_validate(grades_reply("completeness", 2))


@pytest.mark.parametrize("is_async", [True, False])
def test_a_class_of_the_users_own(is_async: bool) -> None:
    llm = InProcess(is_async=is_async)
    result = GrouseCompleteness(llm).score(**row())
    assert (result.value, len(llm.asked)) == (2, 1)
    assert isinstance(adapt(llm), InstructorChat)
    assert QUESTION in llm.asked[0]


class OldWrapper(BaseRagasLLM):
    """What RAGAS' wrappers of other frameworks look like."""

    model = "old"

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error
        self.llm: Any = None

    def generate_text(self, *args: Any, **kwargs: Any) -> LLMResult:
        raise NotImplementedError

    async def agenerate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        if self.error is not None:
            raise self.error
        assert QUESTION in prompt.to_string()
        text = f"Certainly!\n```json\n{json.dumps(grades_reply('completeness', 3))}\n```"
        return LLMResult(generations=[[Generation(text=text)]])

    def is_finished(self, response: LLMResult) -> bool:
        return True


def test_an_older_wrapper_is_asked_for_text() -> None:
    llm = OldWrapper()
    assert isinstance(adapt(llm), TextChat)
    assert GrouseCompleteness(llm).score(**row()).value == 3


def test_errors_of_other_models_do_not_show_their_key() -> None:
    llm = OldWrapper(LookupError(f"no reply for {KEY}"))
    llm.llm = SimpleNamespace(api_key=KEY)
    result = GrouseCompleteness(llm).score(**row())
    assert "no reply for [key]" in str(result.reason)


def test_whatever_a_model_raises_is_a_failed_grade() -> None:
    result = GrouseCompleteness(OldWrapper(LookupError("lost it"))).score(**row())
    assert result.reason is not None
    assert result.reason.startswith("judge failed: ")
    assert "LookupError: lost it" in result.reason


def test_a_fake_model_of_langchain_without_structured_output() -> None:
    reply = json.dumps(grades_reply("completeness", 5))
    assert GrouseCompleteness(FakeListChatModel(responses=[reply])).score(**row()).value == 5


def test_equal_objects_mean_one_judge_and_others_are_refused() -> None:
    with serving() as server:
        llm = model_of(server)
        assert resolve_judge(llm, adapt=adapt) is resolve_judge(llm, adapt=adapt)
        assert resolve_judge(model_of(server), adapt=adapt) is not resolve_judge(llm, adapt=adapt)
    assert adapt(object()) is None
    with pytest.raises(ConfigurationError, match="not object"):
        GrouseCompleteness(object()).score(**row())


def test_azure_keeps_its_address_and_its_version() -> None:
    with serving() as server:
        client = openai.AsyncAzureOpenAI(
            api_key=KEY,
            azure_endpoint=server.base_url.removesuffix("/v1"),
            api_version="2024-10-21",
            azure_deployment="ours",
        )
        chat = adapt(llm_factory("gpt-4o", client=client))
        assert isinstance(chat, RagasOpenAIChat)
        assert isinstance(chat, OpenAIChat)
        assert chat.cache_key()["base_url"].endswith("/openai/deployments/ours")
        with pytest.raises((ChatError, ConfigurationError)):  # the scripted server is no Azure
            asyncio.run(chat.complete("Hello?"))
        (request,) = server.requests
        assert request.path == "/openai/deployments/ours/chat/completions"
