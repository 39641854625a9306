"""A LlamaIndex LLM as the judge's model: over HTTP, in process, and when it fails."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from conftest import must_run
from index_engines import (
    ANSWERED,
    EXPECTED,
    QUESTION,
    REFERENCES,
    SCRIPT,
    TOLD,
    ToldLLM,
    bridge_engine,
)
from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
from llama_index.core.evaluation import BatchEvalRunner
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import (
    LLM,
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
    MockLLM,
)
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent
from pydantic import Field, PrivateAttr

from grouse_adapters import ChatError, ConfigurationError, LLMJudge, RetryPolicy, Usage
from grouse_adapters.core.errors import UnreachableError
from grouse_adapters.core.metrics import METRICS, reply_schema
from grouse_adapters.llama_index import (
    GrouseAnswerRelevancyEvaluator,
    GrouseEvaluator,
    GrouseFaithfulnessEvaluator,
    LlamaIndexChat,
    all_evaluators,
    summarize_results,
)
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    Fault,
    HttpError,
    InTurn,
    RawBody,
    Script,
    ScriptedServer,
)

try:
    import httpx
    from llama_index.llms.openai import OpenAI
    from llama_index.llms.openai_like import (  # type: ignore[import-untyped]  # no py.typed
        OpenAILike,
    )
except ImportError:
    try:
        must_run("llama-index-llms-openai-like")
    except pytest.skip.Exception as skipped:
        pytest.skip(str(skipped), allow_module_level=True)

SCHEMA = reply_schema(
    METRICS["completeness"], answers=2, reasoning=True, justification=True, citations="required"
)
KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as running:
        yield running


def like(server: ScriptedServer, **more: Any) -> OpenAILike:
    settings: dict[str, Any] = {"is_chat_model": True, "api_key": KEY, "timeout": 20.0, **more}
    return OpenAILike(model="local-model", api_base=server.base_url, **settings)


def complete(llm: LLM, prompt: str = "Hello?", **more: Any) -> Any:
    return asyncio.run(LlamaIndexChat(llm).complete(prompt, **more))


def judged(llm: LLM, metric: type[GrouseEvaluator] = GrouseFaithfulnessEvaluator) -> Any:
    judge = LLMJudge(LlamaIndexChat(llm), retries=0)
    return metric(judge).evaluate(QUESTION, ANSWERED, REFERENCES, reference=EXPECTED)


def test_an_llm_over_http_judges_six_metrics(server: ScriptedServer) -> None:
    llm = like(server)
    results: dict[str, Any] = {
        key: evaluator.evaluate(QUESTION, ANSWERED, REFERENCES, reference=EXPECTED)
        for key, evaluator in all_evaluators(llm).items()
    }
    assert [result.score for result in results.values()] == [5, 3, None, 1, None, None]
    assert {result.judge for result in results.values()} == {"local-model"}
    assert server.calls == 3
    usage = sum((result.usage for result in results.values()), Usage())
    assert usage.input_tokens > 100
    assert usage.output_tokens > 10
    forms = [request.body["response_format"]["type"] for request in server.requests]
    assert forms == ["json_schema"] * 3


def test_fifty_samples_with_an_llm_object(server: ScriptedServer) -> None:
    results = BatchEvalRunner(all_evaluators(like(server)), workers=8).evaluate_response_strs(
        queries=[f"{QUESTION} {number}" for number in range(50)],
        response_strs=[ANSWERED] * 50,
        contexts_list=[REFERENCES] * 50,
        reference=cast(Any, [EXPECTED] * 50),
    )
    assert summarize_results(results)["grouse_faithfulness"].graded == 50
    assert server.calls <= 200


def test_openais_own_class(server: ScriptedServer) -> None:
    llm = OpenAI(model="gpt-4o", api_base=server.base_url, api_key=KEY)
    result = judged(llm)
    assert (result.score, result.judge) == (1, "gpt-4o")
    assert result.cost is None  # the model's name is known, this server is not
    with pytest.raises(ConfigurationError, match="use OpenAILike"):
        LlamaIndexChat(OpenAI(model="home-made", api_base=server.base_url, api_key=KEY))


@pytest.mark.parametrize(
    ("rejects", "forms"),
    [
        ({"json_schema"}, ["json_schema", "json_object", "json_object"]),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", None, None]),
    ],
)
def test_a_server_without_structured_output_is_remembered(
    rejects: set[str], forms: list[str | None]
) -> None:
    with ScriptedServer(SCRIPT, rejects=rejects) as server:
        judge = LLMJudge(LlamaIndexChat(like(server)), concurrency=1)
        judgement = judge.judge(
            {"question": QUESTION, "contexts": REFERENCES, "answer": ANSWERED},
            metrics=["answer_relevancy", "completeness"],
        )
        asked = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert judgement.value("answer_relevancy") == 5
    assert judgement.value("completeness") == 3
    assert asked == forms


def test_plain_text_is_asked_for_where_no_schema_is_given(server: ScriptedServer) -> None:
    with ScriptedServer("Good day.") as talking:
        reply = complete(like(talking))
        assert reply.text == "Good day."
        assert reply.finish_reason == "stop"
        assert "response_format" not in talking.requests[0].body


def test_a_cut_off_reply_is_known_as_one() -> None:
    with ScriptedServer(SCRIPT, faults=CutOff()) as server:
        result = judged(like(server), GrouseAnswerRelevancyEvaluator)
    assert result.grade.kind == "failed"
    assert result.grade.error_kind == "cut_off"


ERRORS: list[tuple[Fault, type[Exception], str, str]] = [
    (HttpError.server_error(503), ChatError, "server_error", "server error 503"),
    (HttpError.rate_limit(7), ChatError, "rate_limit", "rate limit"),
    (HttpError.quota(), ConfigurationError, "", "no credit left"),
    (HttpError(401, f"Incorrect API key: {KEY}"), ConfigurationError, "", "refused the key"),
    (HttpError(404, "No such model."), ConfigurationError, "", "does not know 'local-model'"),
    (HttpError(400, "maximum context length is 10"), ChatError, "context_length", "too long"),
    (HttpError(400, "What is this?"), ChatError, "bad_request", "request refused"),
    (ContentFilter("prompt"), ChatError, "content_filter", "filter refused"),
    (Dropped(), ChatError, "connection", "connection was lost"),
    (RawBody(), ChatError, "internal", "the model raised"),
]


@pytest.mark.parametrize(("fault", "family", "kind", "said"), ERRORS, ids=lambda value: str(value))
def test_what_goes_wrong_is_told_apart(
    fault: Fault, family: type[Exception], kind: str, said: str
) -> None:
    with (
        ScriptedServer("Hello.", faults=fault) as server,
        pytest.raises(family, match=said) as caught,
    ):
        complete(like(server))
    assert len(server.requests) == 1  # repeating is left to the judge
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    if isinstance(caught.value, ChatError):
        assert caught.value.kind == kind
        assert caught.value.retry_after == (7 if kind == "rate_limit" else None)


def test_the_judge_repeats_what_may_succeed() -> None:
    faults = InTurn(HttpError.server_error(), HttpError.rate_limit(0))
    with ScriptedServer(SCRIPT, faults=faults) as server:
        llm = like(server)
        judge = LLMJudge(LlamaIndexChat(llm), retries=RetryPolicy(base_delay=0.01))
        result = GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, REFERENCES)
        assert result.score == 1
        assert llm.max_retries == 3  # the user's own object is as it was


def test_a_used_client_of_the_users_keeps_its_retries_to_itself(server: ScriptedServer) -> None:
    llm = like(server)
    with ScriptedServer("Hi.", faults=HttpError.server_error()) as broken:
        used = like(broken, max_retries=1)
        with pytest.raises(Exception, match="500"):
            used.complete("Hello?")  # its client exists from now on
        broken.reset()
        with pytest.raises(ChatError, match="server error 500"):
            complete(used)
        assert len(broken.requests) == 1
    assert judged(llm).score == 1


def test_no_server_and_no_reply_in_time() -> None:
    with ScriptedServer("Hello.") as gone:
        llm = like(gone)
    with pytest.raises(UnreachableError, match="No server answers for local-model"):
        complete(llm)
    with ScriptedServer("Hello.", latency=30) as slow:
        with pytest.raises(ChatError, match="no reply in time") as caught:
            complete(like(slow, timeout=0.2))
        assert caught.value.kind == "timeout"


def test_an_engine_and_its_judge_share_an_llm_over_many_loops() -> None:
    """Its async client belongs to the engine's loop: the judge must neither use nor break it."""
    with ScriptedServer(Script(TOLD, otherwise=ANSWERED)) as server:
        llm = like(server)
        evaluator = GrouseFaithfulnessEvaluator(llm)

        async def asked() -> list[float | None]:
            response = await bridge_engine(llm).aquery(QUESTION)
            again = asyncio.create_task(bridge_engine(llm).aquery(QUESTION))
            results = await asyncio.gather(
                *(evaluator.aevaluate_response(f"{n}?", response) for n in range(5))
            )
            assert str(await again) == ANSWERED
            return [result.score for result in results]

        for _ in range(3):
            assert asyncio.run(asked()) == [1] * 5
        assert str(bridge_engine(llm).query(QUESTION)) == ANSWERED
        assert not server.script_errors


def test_a_custom_llm_in_this_process() -> None:
    llm = ToldLLM(scripted)
    result = judged(llm)
    assert (result.score, result.judge) == (1, "told")
    assert result.usage == Usage()
    assert len(llm.prompts) == 2  # relevancy, then faithfulness


def scripted(prompt: str) -> str:
    return json.dumps(asyncio.run(_scripted(prompt)))


async def _scripted(prompt: str) -> Any:
    return await SCRIPT(prompt, None)


def test_a_custom_llm_is_asked_one_call_at_a_time_and_blocks_nobody() -> None:
    inside = threading.Semaphore()
    together: list[bool] = []
    quick = LLMJudge(LlamaIndexChat(ToldLLM(scripted)))

    def says(prompt: str) -> str:
        alone = inside.acquire(blocking=False)
        together.append(not alone)
        # The judge's loop is free meanwhile, also for this judge's other work.
        assert quick.judge(SAMPLE, metrics=["completeness"]).value("completeness") == 3
        if alone:
            inside.release()
        return scripted(prompt)

    with LLMJudge(LlamaIndexChat(ToldLLM(says))) as judge:
        found = list(judge.judge_many([SAMPLE | {"input": f"{n}?"} for n in range(4)]))
    assert [judgement.value("faithfulness") for judgement in found] == [1] * 4
    assert together == [False] * 12


SAMPLE: dict[str, Any] = {
    "input": QUESTION,
    "references": REFERENCES,
    "actual_output": ANSWERED,
}


class AsyncOnly(MockLLM):
    """An LLM whose makers wrote async methods alone."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError("This LLM is asynchronous.")

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        await asyncio.sleep(0)
        return CompletionResponse(text=json.dumps(await _scripted(prompt)))


def test_an_llm_with_async_methods_alone() -> None:
    result = judged(AsyncOnly(max_tokens=None))
    assert (result.score, result.judge) == (1, "MockLLM")


class Raising(CustomLLM):
    """Raises what it is told to."""

    _error: BaseException = PrivateAttr()

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise self._error

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("no such thing"), "internal"),
        (StopIteration("a future cannot hold this"), "internal"),
        (SystemExit(1), "internal"),
        (TimeoutError("too slow"), "timeout"),
        (ConnectionResetError("gone"), "connection"),
        (httpx.ReadTimeout("too slow"), "timeout"),
        (ChatError("said so", kind="content_filter"), "content_filter"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_whatever_an_llm_raises_is_a_failed_grade(error: BaseException, kind: str) -> None:
    result = judged(Raising(error), GrouseAnswerRelevancyEvaluator)
    assert result.grade.kind == "failed"
    assert result.grade.error_kind == kind
    assert result.invalid_reason is not None
    assert result.invalid_reason.startswith("judge failed: ")


def test_a_missing_key_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="set its API key"):
        judged(Raising(RuntimeError("The api_key option must be set")))


class Seen(BaseEventHandler):
    """Keeps the events of LLMs, as a tracer of the user's would."""

    events: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Seen"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if event.class_name().startswith("LLM"):
            self.events.append(event)


def test_the_judges_calls_can_be_told_apart_in_a_trace(server: ScriptedServer) -> None:
    seen = Seen()
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(seen)
    counter = TokenCountingHandler()
    llm = like(server, callback_manager=CallbackManager([counter]))
    try:
        assert judged(llm).score == 1
    finally:
        dispatcher.event_handlers.remove(seen)
    assert seen.events
    assert {event.tags.get("grouse") for event in seen.events} == {"judge"}
    assert counter.total_llm_token_count == 0
    assert llm.callback_manager.handlers == [counter]


def test_a_cache_key_holds_settings_and_no_secret(server: ScriptedServer) -> None:
    def key(**more: Any) -> Mapping[str, Any]:
        return LlamaIndexChat(like(server, **more)).cache_key()

    text = json.dumps(key(default_headers={"x-token": "another-secret"}))
    assert "secret" not in text
    assert KEY not in text
    assert key() == key()
    assert key() == key(api_key="another", default_headers={"a": "b"}, timeout=1.0)
    assert key() != key(temperature=0.7)
    assert key() != key(additional_kwargs={"seed": 1})
    assert LlamaIndexChat(ToldLLM()).cache_key() == LlamaIndexChat(ToldLLM()).cache_key()


class Anthropically(CustomLLM):
    """Reports tokens and ends as another provider does."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, model_name="other")

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        raw = {"usage": {"input_tokens": 7, "output_tokens": 2}, "stop_reason": "max_tokens"}
        return ChatResponse(message=ChatMessage(role="assistant", content="Cut"), raw=raw)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise AssertionError("a chat model is asked to chat")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise AssertionError


def test_tokens_and_ends_of_other_providers_are_read() -> None:
    reply = complete(Anthropically(), schema=SCHEMA)
    assert reply.usage == Usage(input_tokens=7, output_tokens=2)
    assert reply.finish_reason == "length"
    assert reply.text == "Cut"
