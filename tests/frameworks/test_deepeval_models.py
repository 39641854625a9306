"""DeepEval's own model objects as the judge, really called: over HTTP, or in this process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from cases_for_deepeval import (
    ANSWERED,
    CALLS,
    REFUSED,
    SCORES,
    case,
    elsewhere,
    run_quietly,
    script,
    server,
)
from deepeval.config.settings import get_settings
from deepeval.errors import DeepEvalError
from deepeval.evaluate import evaluate
from deepeval.models import DeepEvalBaseLLM, LocalModel, OpenAIModel
from deepeval.tracing import observe
from deepeval.tracing.context import current_trace_context
from pydantic import BaseModel

from grouse_adapters import ConfigurationError, Failed, LLMJudge, RetryPolicy
from grouse_adapters.core.chat import ChatModel
from grouse_adapters.core.errors import ChatError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.resolve import resolve_judge
from grouse_adapters.deepeval import DeepEvalChat, GrouseCompletenessMetric, all_metrics
from grouse_adapters.deepeval.models import adapt
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    Faults,
    HttpError,
    ScriptedServer,
)

__all__ = ["elsewhere", "server"]

KEY = "sk-very-secret-key"
ROW = {
    "input": "How long is the bridge?",
    "references": ["The bridge is 300 m long."],
    "actual_output": ANSWERED,
}


@pytest.fixture(autouse=True)
def _one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_RETRY_MAX_ATTEMPTS", "1")


def openai_model(server: ScriptedServer, name: str = "gpt-4o", **settings: Any) -> OpenAIModel:
    return OpenAIModel(name, api_key=KEY, base_url=server.base_url, **settings)


def local_model(server: ScriptedServer, **settings: Any) -> LocalModel:
    return LocalModel("tiny", api_key=KEY, base_url=server.base_url, **settings)


def judge_of(model: DeepEvalBaseLLM) -> LLMJudge:
    return LLMJudge(DeepEvalChat(model), retries=RetryPolicy(retries=0))


@pytest.mark.parametrize("build", [openai_model, local_model])
@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_native_models_judge(
    server: ScriptedServer, build: Callable[[ScriptedServer], DeepEvalBaseLLM], run_async: bool
) -> None:
    metrics = all_metrics(judge=build(server))
    result = evaluate([case(ANSWERED), case(REFUSED)], metrics, **run_quietly(run_async=run_async))
    for row in result.test_results:
        told = {data.name: data.score for data in row.metrics_data or []}
        assert told == SCORES[str(row.actual_output)]
    assert server.calls == CALLS[ANSWERED] + CALLS[REFUSED]


def test_a_known_model_is_asked_for_structured_output(server: ScriptedServer) -> None:
    with judge_of(openai_model(server)) as judge:
        judgement = judge.judge(ROW, metrics=["completeness"])
    assert judgement.value("completeness") == 4
    asked = server.requests[0].body["response_format"]
    assert asked["type"] == "json_schema"
    schema = asked["json_schema"]["schema"]
    assert schema["required"] == ["answer_1"]
    grade = schema["properties"]["answer_1"]["properties"]["completeness"]
    assert grade["enum"] == [1, 2, 3, 4, 5, None]


@pytest.mark.parametrize("build", [openai_model, local_model])
def test_others_are_asked_for_text(
    build: Callable[..., DeepEvalBaseLLM],
) -> None:
    """Read by our own parser: DeepEval's would drop a reply with words around the JSON."""
    reply = 'Well: {"answer_1": {"completeness": "4", "completeness_justification": "ok",}}'
    with ScriptedServer(reply) as server:
        settings = {"name": "unheard-of"} if build is openai_model else {}
        with judge_of(build(server, **settings)) as judge:
            judgement = judge.judge(ROW, metrics=["completeness"])
    assert judgement.value("completeness") == 4
    assert "response_format" not in server.requests[0].body


def test_tokens_and_cost_are_those_that_the_model_tells(server: ScriptedServer) -> None:
    model = openai_model(
        server, "unheard-of", cost_per_input_token=1e-6, cost_per_output_token=1e-5
    )
    with judge_of(model) as judge:
        told = judge.judge(ROW)
    assert told.llm_calls == server.calls == 3
    assert told.usage.input_tokens == sum(-(-len(r.prompt) // 4) for r in server.requests) > 0
    assert told.usage.output_tokens > 0
    dollars = told.usage.input_tokens * 1e-6 + told.usage.output_tokens * 1e-5
    assert told.cost == pytest.approx(dollars)


def test_a_metric_shows_no_tokens_that_nobody_told(server: ScriptedServer) -> None:
    metric = GrouseCompletenessMetric(judge=openai_model(server, "unheard-of"))
    metric.measure(case(), _show_indicator=False)
    assert (metric.input_tokens, metric.output_tokens, metric.evaluation_cost) == (None, None, None)
    local = GrouseCompletenessMetric(judge=local_model(server))
    local.measure(case(), _show_indicator=False)
    assert (local.input_tokens, local.evaluation_cost) == (None, 0.0)


def test_a_server_without_structured_output(server: ScriptedServer) -> None:
    with ScriptedServer(script(), rejects={"json_schema"}) as plain:
        with judge_of(openai_model(plain)) as judge:
            assert judge.judge(ROW, metrics=["completeness"]).value("completeness") == 4
            judge.judge({**ROW, "input": "And how wide?"}, metrics=["completeness"])
        refused = [r for r in plain.requests if r.status == 400]
    assert len(refused) == 1, "the refusal is remembered"


def test_a_cut_off_reply_is_kept_and_paid_for() -> None:
    with (
        ScriptedServer(script(), faults=CutOff()) as server,
        judge_of(openai_model(server)) as judge,
    ):
        judgement = judge.judge(ROW, metrics=["completeness"])
    grade = judgement.grades["completeness"]
    assert isinstance(grade, Failed)
    assert grade.error_kind == "cut_off"
    assert grade.raw_reply
    assert judgement.llm_calls == 1
    assert judgement.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("faults", "kind", "retryable"),
    [
        (HttpError(429, "Slow down.", retry_after=0.5), "rate_limit", True),
        (HttpError(503, "Busy."), "server_error", True),
        (HttpError(400, "Odd.", "invalid_request_error"), "bad_request", False),
        (
            HttpError(400, "Too long: maximum context length is 5 tokens."),
            "context_length",
            False,
        ),
        (ContentFilter("prompt"), "content_filter", False),
        (Dropped(), "connection", True),
    ],
)
@pytest.mark.parametrize("build", [openai_model, local_model])
def test_what_goes_wrong_over_http(
    faults: Faults, kind: str, retryable: bool, build: Callable[[ScriptedServer], DeepEvalBaseLLM]
) -> None:
    with ScriptedServer("a reply", faults=faults) as server:
        chat = DeepEvalChat(build(server))
        with pytest.raises(ChatError) as raised:
            asyncio.run(chat.complete("Say JSON.", schema={"type": "object", "properties": {}}))
    assert raised.value.kind == kind
    assert raised.value.retryable is retryable
    if kind == "rate_limit":
        assert raised.value.retry_after == 0.5


@pytest.mark.parametrize(
    ("build", "kind"), [(openai_model, "content_filter"), (local_model, "empty_reply")]
)
def test_a_reply_that_a_filter_stopped(
    build: Callable[[ScriptedServer], DeepEvalBaseLLM], kind: str
) -> None:
    """``LocalModel`` passes on the empty text alone."""
    with (
        ScriptedServer(script(), faults=ContentFilter()) as server,
        judge_of(build(server)) as judge,
    ):
        grade = judge.judge(ROW, metrics=["completeness"]).grades["completeness"]
    assert isinstance(grade, Failed)
    assert grade.error_kind == kind


def test_a_timeout() -> None:
    with ScriptedServer("late", latency=5) as server:
        chat = DeepEvalChat(local_model(server, timeout=0.2))
        with pytest.raises(ChatError, match="in time") as raised:
            asyncio.run(chat.complete("Say JSON."))
    assert raised.value.kind == "timeout"


def test_an_unreachable_server_stops_at_once() -> None:
    model = LocalModel("tiny", api_key=KEY, base_url="http://127.0.0.1:9/v1")
    quick = RetryPolicy(base_delay=0.01)
    with (
        LLMJudge(DeepEvalChat(model), retries=quick) as judge,
        pytest.raises(ConfigurationError, match="No server answers for the model tiny"),
    ):
        judge.judge(ROW, metrics=["completeness"])


@pytest.mark.parametrize("build", [openai_model, local_model])
def test_the_key_is_told_to_nobody(build: Callable[..., DeepEvalBaseLLM]) -> None:
    with ScriptedServer(script(), api_key="another") as server:  # it echoes the key it got
        chat = DeepEvalChat(
            build(server, generation_kwargs={"seed": 1, "extra_headers": {"X-Key": KEY}})
        )
        with pytest.raises(ConfigurationError, match="refused the key") as raised:
            asyncio.run(chat.complete("Say JSON."))
    shown = str(raised.value) + repr(raised.value) + json.dumps(chat.cache_key())
    error: BaseException | None = raised.value
    while error is not None:
        shown += str(error)
        error = error.__cause__ or error.__context__
    assert KEY not in shown
    assert chat.cache_key()["generation_kwargs"] == {"seed": 1}


def test_the_cache_key_tells_models_apart(server: ScriptedServer) -> None:
    keys = [
        DeepEvalChat(model).cache_key()
        for model in (
            openai_model(server),
            openai_model(server, temperature=1.0),
            openai_model(server, "gpt-4o-mini"),
            local_model(server),
            local_model(server, generation_kwargs={"max_tokens": 9}),
            LocalModel("tiny", api_key=KEY, base_url="http://me:pw@elsewhere/v1"),
        )
    ]
    assert len({json.dumps(key) for key in keys}) == len(keys)
    assert keys[-1]["base_url"] == "http://elsewhere/v1"


def test_a_client_of_another_loop_still_works(server: ScriptedServer) -> None:
    """A model whose HTTP client was already used by the user's own event loop."""
    model = openai_model(server, async_http_client=openai.DefaultAsyncHttpxClient())

    async def first_use() -> None:
        await model.async_http_client.get(f"{server.base_url}/models")

    asyncio.run(first_use())
    with judge_of(model) as judge:
        judgement = judge.judge(ROW)
    assert not judgement.failed
    assert judgement.value("completeness") == 4


class InProcess(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]  # DeepEval's __init_subclass__
    """A model of a user's own that answers what the script tells; sync and async."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)  # type: ignore[no-untyped-call]  # DeepEval's

    def __init__(self) -> None:
        self.threads: set[str] = set()
        super().__init__("in-process")

    def load_model(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def generate(self, prompt: str) -> str:
        self.threads.add(threading.current_thread().name)
        return json.dumps(asyncio.run(script()(prompt)))

    async def a_generate(self, prompt: str) -> str:
        self.threads.add(threading.current_thread().name)
        return json.dumps(await script()(prompt))

    def get_model_name(self, *args: Any, **kwargs: Any) -> str:
        return "in-process"


class SyncOnly(InProcess):
    """Only ``generate`` is real, as in many users' wrappers of a local model."""

    async def a_generate(self, prompt: str) -> str:
        raise NotImplementedError


class Blocking(InProcess):
    """``a_generate`` hands back what ``generate`` returns, without awaiting anything."""

    def a_generate(self, prompt: str) -> str:  # type: ignore[override]  # as some users write it
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(self.generate, prompt).result()


class WithSchema(InProcess):
    """A model that wants the schema and gives back its instance, as DeepEval's guide shows."""

    schemas: list[dict[str, Any]]

    async def a_generate(self, prompt: str, schema: type[BaseModel]) -> BaseModel:  # type: ignore[override]  # wider
        self.schemas = [*getattr(self, "schemas", []), schema.model_json_schema()]
        reply: Any = await script()(prompt)
        return schema(**reply)


class WithCost(InProcess):
    """A model of a user's own that tells its cost."""

    async def a_generate(self, prompt: str) -> tuple[str, float]:  # type: ignore[override]  # wider
        return await super().a_generate(prompt), 0.25


@pytest.mark.parametrize("kind", [InProcess, SyncOnly, Blocking, WithSchema, WithCost])
def test_a_users_own_model(kind: type[InProcess]) -> None:
    model = kind()
    metrics = all_metrics(judge=model)
    result = evaluate([case(REFUSED), case(ANSWERED)], metrics, **run_quietly())
    for row in result.test_results:
        told = {data.name: data.score for data in row.metrics_data or []}
        assert told == SCORES[str(row.actual_output)]


def test_a_sync_model_runs_beside_the_judges_loop() -> None:
    model = SyncOnly()
    with judge_of(model) as judge:
        judge.judge(ROW)
    assert model.threads
    assert not any(name.startswith("grouse-judge") for name in model.threads)


def test_a_users_model_gets_the_schema_it_asks_for() -> None:
    model = WithSchema()
    with judge_of(model) as judge:
        assert judge.judge(ROW, metrics=["completeness"]).value("completeness") == 4
    (schema,) = model.schemas
    assert schema["properties"]["answer_1"]["required"] == [
        "completeness_justification",
        "completeness",
    ]


def test_a_users_model_may_tell_its_cost() -> None:
    metrics = all_metrics(judge=WithCost())
    for metric in metrics:
        metric.measure(case(REFUSED), _show_indicator=False)
    assert sum(metric.evaluation_cost or 0 for metric in metrics) == 4 * 0.25


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (RuntimeError("CUDA out of memory"), "internal"),
        (TypeError("unexpected keyword"), "internal"),
        (TimeoutError("too slow"), "timeout"),
        (ConnectionResetError("gone"), "connection"),
        (json.JSONDecodeError("Expecting value", "", 0), "internal"),
    ],
)
def test_what_a_users_model_raises_is_a_failed_grade(raised: Exception, kind: str) -> None:
    class Raises(InProcess):
        async def a_generate(self, prompt: str) -> str:
            raise raised

    with judge_of(Raises()) as judge:
        grade = judge.judge(ROW, metrics=["completeness"]).grades["completeness"]
    assert isinstance(grade, Failed)
    assert grade.error_kind == kind
    assert str(raised).split(":")[0] in grade.error


def test_deepevals_own_error_stops_the_run() -> None:
    class Misconfigured(InProcess):
        async def a_generate(self, prompt: str) -> str:
            raise DeepEvalError("No licence is set")

    with (
        judge_of(Misconfigured()) as judge,
        pytest.raises(ConfigurationError, match="No licence is set"),
    ):
        judge.judge(ROW, metrics=["completeness"])


def test_odd_answers_are_read() -> None:
    answers: Iterator[Any] = iter(
        [None, {"answer_1": {"completeness": 2}}, ("4", True), ("", 0.5), 7]
    )

    class Odd(InProcess):
        async def a_generate(self, prompt: str) -> Any:
            return next(answers)

    chat = DeepEvalChat(Odd())
    replies = [asyncio.run(chat.complete("p")) for _ in range(5)]
    assert [r.text for r in replies] == ["", '{"answer_1": {"completeness": 2}}', "4", "", "7"]
    assert [r.cost for r in replies] == [None, None, None, 0.5, None]
    assert all(r.usage == Usage() for r in replies)


def test_calls_stay_out_of_the_users_trace(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With DeepEval's internal tracing on, its models write spans into the trace they run in."""
    monkeypatch.setattr(get_settings(), "CONFIDENT_TRACE_INTERNAL", True)
    names: list[str] = []

    def collect(spans: list[Any]) -> None:
        for span in spans:
            names.append(span.name)
            collect(span.children)

    @observe()  # type: ignore[untyped-decorator]  # DeepEval's
    def app() -> None:
        GrouseCompletenessMetric(judge=openai_model(server)).measure(case(), _show_indicator=False)
        trace: Any = current_trace_context.get()  # type: ignore[no-untyped-call]  # DeepEval's
        collect(trace.root_spans)

    app()
    assert server.calls == 1
    assert "app" in names
    assert not [name for name in names if "generate" in name]


def test_only_deepevals_models_are_adapted() -> None:
    assert adapt(object()) is None
    assert adapt("gpt-4o") is None
    assert isinstance(adapt(InProcess()), ChatModel)


def test_the_same_model_object_is_one_judge() -> None:
    model = InProcess()
    assert resolve_judge(model, adapt=adapt) is resolve_judge(model, adapt=adapt)
    assert resolve_judge(InProcess(), adapt=adapt) is not resolve_judge(model, adapt=adapt)
