"""What OpenAIChat and the judge make of every kind of trouble, over real HTTP."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from openai_calls import (
    BEST,
    QUICK,
    SAMPLE,
    chat_with,
    dripping_server,
    error_of,
    failure,
    faulty,
    judged,
    one_sentence,
    raw_server,
)

from grouse_adapters import (
    ChatError,
    ConfigurationError,
    LLMJudge,
    OpenAIChat,
    RetryPolicy,
    Usage,
)
from grouse_adapters.core.errors import UnreachableError
from grouse_adapters.core.gate import CallGate
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    Faults,
    FirstAttempts,
    Garbage,
    Hang,
    HttpError,
    InTurn,
    RawBody,
    ScriptedServer,
)

# Failed calls


@pytest.mark.parametrize(
    ("faults", "kind", "requests"),
    [
        (HttpError.server_error(500), "server_error", 3),
        (HttpError.server_error(503, retry_after=0.01), "server_error", 3),
        (HttpError(529, "Overloaded."), "server_error", 3),
        (HttpError(408, "Too slow."), "server_error", 3),
        (Dropped("before_headers"), "connection", 3),
        (Dropped("mid_body"), "connection", 3),
        (RawBody(), "server_error", 3),
        (RawBody("{oops", "application/json"), "server_error", 3),
        (RawBody("[" * 100_000, "application/json"), "server_error", 3),
        (RawBody('{"choices": {"0": 1}}', "application/json"), "server_error", 3),
        (RawBody('{"choices": [null]}', "application/json"), "server_error", 3),
        (RawBody("", "application/json"), "server_error", 3),
        (RawBody("Bad gateway", "text/plain", 502), "server_error", 3),
        (ContentFilter("prompt"), "content_filter", 1),
        (HttpError(403, "Your input was flagged by moderation."), "content_filter", 1),
        (HttpError(413, "Request too large."), "context_length", 1),
        (HttpError(422, "Something is wrong."), "bad_request", 3),  # each reply form is tried
    ],
)
def test_a_call_that_stays_in_trouble_fails(faults: Faults, kind: str, requests: int) -> None:
    with faulty(faults) as server:
        judgement = judged(chat_with(server))
    failed = failure(judgement)
    assert failed.error_kind == kind
    assert failed.raw_reply is None
    assert failed.error.endswith(".")
    assert not failed.error.endswith("..")
    assert server.stats()["requests"] == requests
    assert (judgement.llm_calls, judgement.usage) == (0, Usage())


@pytest.mark.parametrize(
    "fault",
    [
        HttpError.server_error(500),
        HttpError.server_error(503, retry_after=0.01),
        HttpError.rate_limit(0.01),
        HttpError.rate_limit(),
        Dropped("before_headers"),
        Dropped("mid_body"),
        RawBody(),
    ],
    ids=repr,
)
def test_trouble_that_passes_leaves_no_trace(fault: Any) -> None:
    with faulty(FirstAttempts(fault, fault)) as server:
        judgement = judged(chat_with(server))
    assert judgement.value("completeness") == 5
    assert server.stats()["requests"] == 3
    assert judgement.llm_calls == 1


@pytest.mark.parametrize(
    ("fault", "kind", "raw"),
    [
        (CutOff(), "cut_off", '{"answer_1": {'),
        (Garbage("I would rather not say."), "unreadable", "I would rather not say."),
        (Garbage(""), "empty_reply", None),
        (ContentFilter("reply"), "content_filter", None),
    ],
)
def test_an_unusable_reply_fails_at_its_true_price(fault: Any, kind: str, raw: str | None) -> None:
    with faulty(fault) as server:
        judgement = judged(chat_with(server))
        (request,) = server.requests
    failed = failure(judgement)
    assert failed.error_kind == kind
    assert (failed.raw_reply or "").startswith(raw or "")
    assert bool(failed.raw_reply) == (raw is not None)
    assert judgement.llm_calls == 1
    assert judgement.usage.input_tokens == -(-len(request.prompt) // 4)
    assert (judgement.usage.output_tokens > 0) == (raw is not None)


def test_a_reply_that_hits_max_tokens_is_cut_off() -> None:
    with ScriptedServer(BEST) as server:
        judgement = judged(chat_with(server, max_tokens=5))
    assert failure(judgement).error_kind == "cut_off"
    assert judgement.usage.output_tokens == 5


def test_a_prompt_that_is_too_long_is_asked_once() -> None:
    with ScriptedServer(BEST, context_length=50) as server:
        judgement = judged(chat_with(server))
    assert failure(judgement).error_kind == "context_length"
    assert "50 tokens" in failure(judgement).error
    assert server.stats()["statuses"] == {"400": 1}


def test_other_servers_words_for_too_long() -> None:
    said = "request (5000 tokens) exceeds the available context size (4096 tokens)"
    with faulty(HttpError(400, said, type="exceed_context_size_error")) as server:
        assert failure(judged(chat_with(server))).error_kind == "context_length"
    assert len(server.requests) == 1


def test_a_server_that_hangs() -> None:
    with faulty(Hang()) as server:
        judgement = judged(chat_with(server, timeout=0.2), retries=RetryPolicy(9, 0.001, 0.002))
    failed = failure(judgement)
    assert failed.error_kind == "timeout"
    assert "0.2 s" in failed.error
    assert len(server.requests) == 3  # a timeout is repeated twice, whatever retries says


def test_a_server_that_drips_does_not_outlast_the_timeout() -> None:
    """Bytes keep coming, so only the clock of the whole call can end it."""
    with dripping_server() as address:
        error = error_of(OpenAIChat("m", base_url=address, timeout=0.5))
    assert isinstance(error, ChatError)
    assert error.kind == "timeout"


def test_an_error_in_a_good_answer_is_told() -> None:
    body = '{"error": {"message": "Provider returned error", "code": 502}}'
    with faulty(RawBody(body, "application/json")) as server:
        assert "Provider returned error" in str(error_of(chat_with(server)))


# Wrong configuration


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (HttpError(401, "No."), "refused the key (401: No): check the key"),
        (HttpError(403, "Not this model."), "refused the key (403: Not this model): check the key"),
        (HttpError(400, "API key not valid. Pass a valid one."), "refused the key (400"),
        (HttpError(404, "No such model."), "does not know the model 'm' (404: No such model)"),
        (HttpError.quota(), "has no credit left (429: You exceeded your current quota"),
        (HttpError(402, "Insufficient credits."), "has no credit left (402: Insufficient credits)"),
    ],
)
def test_what_every_call_would_run_into_stops_at_once(faults: Faults, said: str) -> None:
    with faulty(faults) as server:
        with pytest.raises(ConfigurationError) as caught:
            judged(chat_with(server))
        assert f"{server.base_url} " in str(caught.value)
    assert said in str(caught.value)
    assert one_sentence(caught.value)
    assert len(server.requests) == 1


def test_gemini_wraps_its_errors_in_a_list() -> None:
    body = '[{"error": {"code": 400, "message": "API key not valid. Pass a valid one."}}]'
    with faulty(RawBody(body, "application/json", 400)) as server:
        error = error_of(chat_with(server))
    assert isinstance(error, ConfigurationError)
    assert "(400: API key not valid. Pass a valid one)" in str(error)


def test_an_unknown_model() -> None:
    with ScriptedServer(BEST, models=["another"]) as server:
        error = error_of(chat_with(server))
    assert isinstance(error, ConfigurationError)
    assert "does not know the model 'm'" in str(error)
    assert one_sentence(error)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://127.0.0.1:{port}/v1", "connection refused"),
        ("https://127.0.0.1:{port}/v1", "connection refused"),
        ("http://nowhere.invalid/v1", "unknown host name"),
    ],
)
def test_nobody_at_the_address(address: str, why: str) -> None:
    address = address.format(port=free_port())
    with pytest.raises(ConfigurationError) as caught:
        judged(OpenAIChat("m", base_url=address))
    assert str(caught.value) == (
        f"No server answers at {address} ({why}): check the address and that the server runs."
    )


def test_https_where_http_is_spoken() -> None:
    with ScriptedServer(BEST) as server:
        address = server.base_url.replace("http", "https")
        error = error_of(OpenAIChat("m", base_url=address))
    assert isinstance(error, UnreachableError)
    assert address in str(error)
    assert one_sentence(error)


def test_a_server_that_does_not_speak_http() -> None:
    with raw_server(b"SSH-2.0-OpenSSH_9.6\r\n") as address:
        error = error_of(OpenAIChat("m", base_url=address, timeout=20))
    assert isinstance(error, ChatError)
    assert error.kind == "connection"


def test_a_server_that_goes_away_fails_calls_only() -> None:
    server = ScriptedServer(BEST)
    server.start()
    other = SAMPLE.model_copy(update={"actual_output": "300 m [1]."})
    with LLMJudge(chat_with(server), retries=QUICK) as judge:
        assert judge.judge(SAMPLE, metrics=["completeness"]).value("completeness") == 5
        server.stop()
        assert failure(judge.judge(other, metrics=["completeness"])).error_kind == "connection"


# Waiting


@pytest.mark.parametrize(
    ("error", "least", "most"),
    [
        (HttpError.rate_limit(7), 7, 7),
        (HttpError.rate_limit(0.25, form="seconds"), 0.25, 0.25),
        (HttpError.rate_limit(0.25, form="ms"), 0.25, 0.25),
        (HttpError.rate_limit(3600, form="date"), 3000, 3602),
        (HttpError.rate_limit(-3600, form="date"), 0, 0),
        (HttpError.server_error(503, retry_after=9), 9, 9),
    ],
)
def test_how_long_the_server_asks_to_wait(error: HttpError, least: float, most: float) -> None:
    with faulty(error) as server:
        told = error_of(chat_with(server))
    assert isinstance(told, ChatError)
    assert told.retry_after is not None
    assert least <= told.retry_after <= most


@pytest.mark.parametrize("value", [None, "", "soon", "-1", "inf", "nan", "9" * 400])
def test_a_server_that_does_not_say_how_long(value: str | None) -> None:
    header = b"" if value is None else f"Retry-After: {value}\r\n".encode()
    answer = b"HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n" + header + b"\r\n"
    with raw_server(answer) as address:
        told = error_of(OpenAIChat("m", base_url=address, timeout=20))
    assert isinstance(told, ChatError)
    assert (told.kind, told.retry_after) == ("rate_limit", None)


def test_a_wait_of_zero_does_not_become_an_endless_loop() -> None:
    """Patience is counted in seconds waited: waits of none would never use it up."""
    policy = RetryPolicy(retries=0, base_delay=0.01, max_delay=0.01, rate_limit_patience=0.05)
    with faulty(HttpError.rate_limit(0)) as server:
        failed = failure(judged(chat_with(server), retries=policy))
    assert failed.error_kind == "rate_limit"
    assert 5 <= len(server.requests) <= 11


@pytest.mark.parametrize(
    "error",
    [HttpError.rate_limit(0.4), HttpError.rate_limit(0.4, form="ms"), HttpError(503, "x", None)],
)
def test_a_wait_pauses_all_calls(error: HttpError) -> None:
    """Three calls are under way when the first is told to wait: what follows comes after it."""
    if error.status == 503:
        error = HttpError.server_error(503, retry_after=0.4)
    with ScriptedServer("fine", faults=InTurn(error), latency=0.1) as server:
        chat = chat_with(server)

        async def go() -> None:
            gate = CallGate(3, QUICK)

            async def call(prompt: str) -> None:
                await gate.run(lambda: chat.complete(prompt))

            await asyncio.gather(*(call(str(n)) for n in range(9)))
            await chat.aclose()

        asyncio.run(go())
    told, *others = server.requests
    assert told.status == error.status
    assert told.finished is not None
    assert len(others) == 9
    resumed = told.finished + 0.4 - 0.05  # clocks tick, and seconds are rounded on their way
    assert [other.arrived >= resumed for other in others] == [False] * 2 + [True] * 7
    assert server.max_in_flight == 3
