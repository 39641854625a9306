"""LangChain's own model objects as the judge: over real HTTP, and in process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import must_run
from langchain_cases import (
    ANSWERED,
    EXPECTED,
    KEYS,
    QUESTION,
    REFERENCES,
    SCORES,
    QuietClient,
    traced,
)
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, BaseLLM
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import Field

from grouse_adapters import (
    METRIC_NAMES,
    ConfigurationError,
    Judge,
    Judgement,
    LLMJudge,
    RetryPolicy,
    Sample,
    Usage,
    resolve_judge,
)
from grouse_adapters.langchain import GrouseCallback, LangChainChat, chat_model, grouse_evaluator
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    Fault,
    Garbage,
    Hang,
    HttpError,
    InTurn,
    Script,
    ScriptedServer,
    grades_reply,
)

SAMPLE = Sample(
    input=QUESTION,
    references=tuple(REFERENCES),
    expected_output=EXPECTED,
    actual_output=ANSWERED,
)
TOLD = {"answer_relevancy": 5, "completeness": 4, "faithfulness": 1}
KEY = "sk-very-secret-1"
NEVER_AGAIN = RetryPolicy(retries=0)


def scores(judge: Judge) -> tuple[Any, ...]:
    return values_of(judge.judge(SAMPLE))


def values_of(judgement: Judgement) -> tuple[Any, ...]:
    return tuple(judgement.value(name) for name in METRIC_NAMES)


class Deaf(BaseChatModel):
    """A chat model in process: no tools, no structured output, no async way of its own."""

    answer: Callable[[str], AIMessage]
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "deaf"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        prompt = str(messages[-1].content)
        self.prompts.append(prompt)
        return ChatResult(generations=[ChatGeneration(message=self.answer(prompt))])


SCRIPT = Script({ANSWERED: TOLD})


def scripted(prompt: str) -> AIMessage:
    reply = asyncio.run(SCRIPT(prompt))
    usage = UsageMetadata(input_tokens=7, output_tokens=2, total_tokens=9)
    return AIMessage(json.dumps(reply), usage_metadata=usage)


def deaf(answer: Callable[[str], AIMessage] = scripted, **more: Any) -> Deaf:
    return Deaf(answer=answer, **more)


def test_a_chat_model_without_structured_output_judges() -> None:
    model = deaf()
    with LLMJudge(LangChainChat(model)) as judge:
        judgement = judge.judge(SAMPLE)
        assert scores(judge) == SCORES[ANSWERED]
    assert judgement.llm_calls == len(model.prompts) == 3
    assert judgement.usage == Usage(input_tokens=21, output_tokens=6)
    assert judgement.judge == "deaf"
    assert judgement.cost is None


def test_the_same_object_in_six_evaluators_is_one_judge() -> None:
    model = deaf()
    values = {"inputs": QUESTION, "outputs": ANSWERED, "reference_outputs": EXPECTED}
    for key in KEYS:
        grouse_evaluator(key, judge=model)(**values, context=REFERENCES)
    assert len(model.prompts) == 3


def test_a_model_that_can_only_be_awaited() -> None:
    loops: list[Any] = []
    seen: list[Any] = []

    class Awaited(Deaf):
        def _generate(self, *arguments: Any, **more: Any) -> ChatResult:
            raise NotImplementedError

        async def _agenerate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
        ) -> ChatResult:
            loops.append(asyncio.get_running_loop())
            seen.append(run_manager.metadata)
            prompt = str(messages[-1].content)
            reply = await SCRIPT(prompt)
            message = AIMessage(json.dumps(reply))
            return ChatResult(generations=[ChatGeneration(message=message)])

    async def outer(question: str) -> Any:
        with LLMJudge(LangChainChat(Awaited(answer=scripted))) as judge:
            judgement = await judge.ajudge(SAMPLE)
            assert asyncio.get_running_loop() not in loops
            return judgement

    chain: Runnable[str, Judgement] = RunnableLambda(outer)
    judgement = asyncio.run(chain.ainvoke(QUESTION, {"metadata": {"mine": "not the judge's"}}))
    assert values_of(judgement) == SCORES[ANSWERED]
    assert len(set(loops)) == 1
    assert len(seen) == 3
    assert not any("mine" in metadata for metadata in seen)


class ToolCaller(Deaf):
    """Answers with a tool call, as most providers' structured output does."""

    bound: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **more: Any) -> Runnable[Any, Any]:
        self.bound.append((tools, more))
        return self.bind()


def tool_call(prompt: str) -> AIMessage:
    reply = asyncio.run(SCRIPT(prompt))
    assert isinstance(reply, dict)
    call = {"name": "judgement", "args": reply, "id": "1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def test_a_tool_call_is_read() -> None:
    model = ToolCaller(answer=tool_call)
    with LLMJudge(LangChainChat(model)) as judge:
        assert scores(judge) == SCORES[ANSWERED]
    tool = model.bound[0][0][0]
    assert tool["title"] == "judgement"
    assert set(tool["properties"]) == {"answer_1", "answer_2"}


def test_no_tool_call_is_a_failure_and_never_not_applicable() -> None:
    with LLMJudge(LangChainChat(ToolCaller(answer=lambda prompt: AIMessage("")))) as judge:
        for grade in judge.judge(SAMPLE).grades.values():
            assert grade.kind == "failed"


def test_text_instead_of_a_tool_call_and_a_broken_tool_call_are_read() -> None:
    reply = json.dumps(grades_reply("completeness", 4))

    def as_text(prompt: str) -> AIMessage:
        return AIMessage([{"type": "text", "text": f"```json\n{reply}\n```"}])

    def broken(prompt: str) -> AIMessage:
        call = {"name": "judgement", "args": reply[:-1] + ",}", "id": "1", "error": "no JSON"}
        return AIMessage("", invalid_tool_calls=[{**call, "type": "invalid_tool_call"}])

    for answer in (as_text, broken):
        with LLMJudge(LangChainChat(ToolCaller(answer=answer))) as judge:
            assert judge.judge(SAMPLE, metrics=["completeness"]).value("completeness") == 4


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage('{"answer_2"', response_metadata={"stop_reason": "max_tokens"}), "cut_off"),
        (AIMessage("", response_metadata={"finish_reason": "SAFETY"}), "content_filter"),
        (AIMessage("No.", response_metadata={"stop_reason": "refusal"}), "content_filter"),
        (AIMessage("", additional_kwargs={"refusal": "I will not."}), "content_filter"),
    ],
)
def test_why_the_model_stopped_is_understood(message: AIMessage, kind: str) -> None:
    with LLMJudge(LangChainChat(deaf(lambda prompt: message))) as judge:
        grade = judge.judge(SAMPLE, metrics=["completeness"]).grades["completeness"]
    assert grade.kind == "failed"
    assert grade.error_kind == kind


def test_a_completion_model_a_binding_and_fallbacks_will_do() -> None:
    class Completes(BaseLLM):
        @property
        def _llm_type(self) -> str:
            return "completes"

        def _generate(self, prompts: list[str], *arguments: Any, **more: Any) -> LLMResult:
            texts = [json.dumps(asyncio.run(SCRIPT(prompt))) for prompt in prompts]
            return LLMResult(generations=[[Generation(text=text)] for text in texts])

    def breaks(prompt: str) -> AIMessage:
        raise RuntimeError("out of order")

    models: dict[str, Runnable[Any, Any]] = {
        "completes": Completes(),
        "deaf": deaf().bind(stop=["never"]).with_retry(),
        "deaf again": deaf(breaks).with_fallbacks([deaf()]),
    }
    for name, model in models.items():
        with LLMJudge(LangChainChat(model)) as judge:
            assert scores(judge) == SCORES[ANSWERED]
            assert judge.name == name.removesuffix(" again")


def test_what_is_no_model_is_refused() -> None:
    assert chat_model(object()) is None
    with pytest.raises(ConfigurationError, match="not object"):
        resolve_judge(object(), adapt=chat_model)
    wrong: Runnable[Any, Any] = RunnableLambda(lambda prompt: 7)
    with (
        LLMJudge(LangChainChat(wrong)) as judge,
        pytest.raises(ConfigurationError, match="answered with int instead of a message"),
    ):
        judge.judge(SAMPLE)


def test_a_model_that_raises_is_a_failed_grade() -> None:
    def breaks(prompt: str) -> AIMessage:
        raise KeyError("choices")

    with LLMJudge(LangChainChat(deaf(breaks))) as judge:
        grade = judge.judge(SAMPLE, metrics=["completeness"]).grades["completeness"]
    assert grade.kind == "failed"
    assert (grade.error_kind, grade.error) == (
        "internal",
        "the model raised KeyError: 'choices'.",
    )


def test_replies_from_langchains_cache_cost_nothing() -> None:
    from importlib.metadata import version

    model = deaf(cache=InMemoryCache())
    with LLMJudge(LangChainChat(model)) as judge:
        first = judge.judge(SAMPLE)
    with LLMJudge(LangChainChat(model)) as judge:
        second = judge.judge(SAMPLE)
    assert first.grades == second.grades
    assert len(model.prompts) == 3
    if not version("langchain-core").startswith("0.3.0"):  # which does not tell them apart
        assert second.usage == Usage()


def test_the_cache_key_holds_settings_and_no_secrets() -> None:
    class Configured(Deaf):
        temperature: float = 0.5
        api_key: str = KEY
        default_headers: dict[str, str] = Field(default={"Authorization": KEY})
        extra_body: dict[str, Any] = Field(
            default={"seed": 3, "auth_token": KEY, "url": f"http://u:{KEY}@h/v1"}
        )
        max_tokens: int = 9

    def key(**more: Any) -> str:
        return json.dumps(LangChainChat(Configured(answer=scripted, **more)).cache_key())

    assert KEY not in key()
    assert '"temperature": 0.5' in key()
    assert '"max_tokens": 9' in key()
    assert '"seed": 3' in key()
    assert "http://h/v1" in key()
    assert key() == key()
    assert key(temperature=0.1) != key()


class Watcher(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        self.seen.append(str(messages))

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self.seen.append(str(inputs))


def test_the_judges_calls_are_in_no_trace_and_reach_no_callback() -> None:
    client, watcher = QuietClient(), Watcher()
    live = GrouseCallback(judge="lexical")
    model = deaf(callbacks=[watcher, live])
    bound = deaf().with_config(callbacks=[watcher, live])

    def outer(question: str) -> tuple[Any, ...]:
        with LLMJudge(LangChainChat(model)) as judge, LLMJudge(LangChainChat(bound)) as other:
            assert scores(other) == SCORES[ANSWERED]
            return scores(judge)

    with traced(client):
        given = RunnableLambda(outer).invoke(QUESTION, config={"callbacks": [watcher, live]})
    live.flush()
    assert given == SCORES[ANSWERED]
    assert len(model.prompts) == 3
    assert [run["name"] for run in client.created] == ["outer"]
    assert watcher.seen == [QUESTION]
    assert live.counts.judged == 0
    assert model.callbacks == [watcher, live]


def test_a_call_that_hangs_does_not_keep_others_or_the_end_waiting() -> None:
    gate = threading.Event()

    def hangs(prompt: str) -> AIMessage:
        gate.wait()
        return AIMessage("")

    async def main() -> None:
        with LLMJudge(LangChainChat(deaf(hangs))) as judge:
            waiting = asyncio.ensure_future(judge.ajudge(SAMPLE))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with LLMJudge(LangChainChat(deaf())) as other:
                assert (await other.ajudge(SAMPLE)).value("completeness") == 4

    asyncio.run(main())
    threads = [t for t in threading.enumerate() if t.name == "grouse-langchain-call"]
    assert threads
    assert all(thread.daemon for thread in threads)
    gate.set()


def chat_openai(server: ScriptedServer, **more: Any) -> Any:
    try:
        from langchain_openai import ChatOpenAI
    except ImportError:
        must_run("langchain-openai")
    settings = {"model": "some-model", "api_key": KEY, "max_retries": 0, **more}
    return ChatOpenAI(base_url=server.base_url, **settings)


def test_chat_openai_judges_over_http_with_a_strict_schema() -> None:
    with ScriptedServer(SCRIPT, api_key=KEY) as server:
        judge = resolve_judge(chat_openai(server), adapt=chat_model)
        judgement = judge.judge(SAMPLE)
        assert values_of(judgement) == SCORES[ANSWERED]
        assert server.calls == judgement.llm_calls == 3
        for request in server.requests:
            assert request.body["response_format"]["json_schema"]["strict"] is True
    assert judgement.judge == "some-model"
    assert judgement.usage.input_tokens > 100
    assert judgement.usage.output_tokens > 10


def test_chat_openai_steps_down_when_the_server_knows_no_schema() -> None:
    with ScriptedServer(SCRIPT, rejects={"json_schema"}) as server:
        with LLMJudge(LangChainChat(chat_openai(server))) as judge:
            judge.judge(SAMPLE, metrics=["completeness"])
            assert [request.status for request in server.requests] == [400, 400, 200]
            judge.judge(SAMPLE, metrics=["answer_relevancy"])
        assert [request.status for request in server.requests] == [400, 400, 200, 200]
        assert server.calls == 2


def test_chat_openai_whose_async_client_belongs_to_another_loop() -> None:
    """The judge must neither use connections of the application's loop nor leave it its own."""
    with ScriptedServer(Script({ANSWERED: TOLD}, otherwise="Hello.")) as server:
        model = chat_openai(server)

        async def main() -> None:
            assert (await model.ainvoke("Hello?")).content == "Hello."
            with LLMJudge(LangChainChat(model)) as judge:
                judged, said = await asyncio.gather(
                    judge.ajudge(SAMPLE), model.ainvoke("Hello again?")
                )
            assert judged.value("completeness") == 4
            assert said.content == "Hello."
            assert (await model.ainvoke("And once more?")).content == "Hello."

        asyncio.run(main())
        with LLMJudge(LangChainChat(model)) as judge:  # the application's loop is closed now
            assert scores(judge) == SCORES[ANSWERED]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (CutOff(), "cut_off"),
        (ContentFilter("reply"), "content_filter"),
        (ContentFilter("prompt"), "content_filter"),
        (Garbage(""), "empty_reply"),
        (Garbage("Hard to say."), "unreadable"),
        (HttpError.server_error(503), "server_error"),
        (HttpError(400, "too many tokens for the context window"), "context_length"),
        (Dropped(), "connection"),
        (Hang(), "timeout"),
    ],
    ids=str,
)
def test_what_goes_wrong_at_the_server_is_told_apart(fault: Fault, kind: str) -> None:
    with ScriptedServer(SCRIPT, faults=lambda request: fault) as server:
        model = chat_openai(server, timeout=0.5)
        with LLMJudge(LangChainChat(model), retries=NEVER_AGAIN) as judge:
            grade = judge.judge(SAMPLE, metrics=["completeness"]).grades["completeness"]
    assert grade.kind == "failed"
    assert grade.error_kind == kind


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (HttpError(401, f"Incorrect API key provided: {KEY}"), "refused the key .401: .*\\[key\\]"),
        (HttpError(404, "no such model"), "does not know the model 'some-model'"),
        (HttpError.quota(), "has no credit left"),
    ],
    ids=["key", "model", "credit"],
)
def test_what_every_call_would_meet_stops_at_once(fault: HttpError, message: str) -> None:
    with ScriptedServer(SCRIPT, faults=lambda request: fault) as server:
        with (
            LLMJudge(LangChainChat(chat_openai(server))) as judge,
            pytest.raises(ConfigurationError, match=message) as caught,
        ):
            judge.judge(SAMPLE, metrics=["completeness"])
        assert len(server.requests) == 1
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in str(error)
        error = error.__cause__ or error.__context__


def test_a_rate_limit_is_waited_out() -> None:
    with ScriptedServer(SCRIPT, faults=InTurn(HttpError.rate_limit(0.01, form="ms"))) as server:
        with LLMJudge(LangChainChat(chat_openai(server)), retries=NEVER_AGAIN) as judge:
            assert judge.judge(SAMPLE, metrics=["completeness"]).value("completeness") == 4
        assert [request.status for request in server.requests] == [429, 200]


def test_no_server_at_all_is_told_in_one_sentence() -> None:
    with ScriptedServer() as server:
        model = chat_openai(server)
    patient = RetryPolicy(base_delay=0.001)
    with (
        LLMJudge(LangChainChat(model), retries=patient) as judge,
        pytest.raises(ConfigurationError, match="No server answers for the model 'some-model'"),
    ):
        judge.judge(SAMPLE, metrics=["completeness"])


def test_the_cache_key_of_chat_openai_holds_the_server_and_no_key() -> None:
    with ScriptedServer() as server:
        headers = {"X-Token": KEY}
        chat = LangChainChat(chat_openai(server, default_headers=headers, temperature=0.25))
        text = json.dumps(chat.cache_key())
    assert KEY not in text
    assert server.base_url in text
    assert '"temperature": 0.25' in text
    assert "some-model" in text


def test_a_callback_deep_inside_of_the_judges_model_does_not_judge_the_judge() -> None:
    live = GrouseCallback(judge="lexical")
    model = deaf(callbacks=[live]).with_fallbacks([deaf()])
    with LLMJudge(LangChainChat(model)) as judge:
        assert scores(judge) == SCORES[ANSWERED]
    assert live.skipped == {}
    assert live.counts.seen == 0
