from __future__ import annotations

import asyncio
import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any

import openai
import pytest
from scripted_calls import ask, ask_for, ask_with, async_client, client, wait_until

from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    FirstAttempts,
    Garbage,
    Hang,
    HttpError,
    InTurn,
    RandomFaults,
    RawBody,
    ScriptedServer,
    ServedRequest,
    When,
)

# --- faults ---


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (HttpError.rate_limit(), openai.RateLimitError, "rate_limit_exceeded"),
        (HttpError.quota(), openai.RateLimitError, "insufficient_quota"),
        (HttpError.server_error(), openai.InternalServerError, None),
        (HttpError.server_error(503), openai.InternalServerError, None),
        (HttpError(403, "Not you."), openai.PermissionDeniedError, None),
        (HttpError(409, "Conflict.", code="busy"), openai.ConflictError, "busy"),
        (ContentFilter("prompt"), openai.BadRequestError, "content_filter"),
    ],
)
def test_http_errors(fault: Any, kind: type[openai.APIStatusError], code: str | None) -> None:
    with ScriptedServer(faults=fault) as server:
        with pytest.raises(kind) as refused:
            ask(server)
        assert refused.value.code == code
        assert refused.value.body is not None
        request = server.requests[0]
        assert (request.status, request.fault) == (refused.value.status_code, fault)
        assert server.calls == server.paid_calls == 0


def test_http_errors_of_embeddings() -> None:
    with (
        ScriptedServer(faults=HttpError.rate_limit()) as server,
        client(server) as connected,
        pytest.raises(openai.RateLimitError),
    ):
        connected.embeddings.create(model="e", input="x")


@pytest.mark.parametrize(
    ("form", "header", "value"),
    [("seconds", "retry-after", "1.5"), ("ms", "retry-after-ms", "1500")],
)
def test_retry_after(form: Any, header: str, value: str) -> None:
    with ScriptedServer(faults=HttpError.rate_limit(1.5, form=form)) as server:
        with pytest.raises(openai.RateLimitError) as refused:
            ask(server)
        assert refused.value.response.headers[header] == value


def test_retry_after_as_a_date() -> None:
    before = time.time()
    limit = HttpError.rate_limit(30, form="date")
    with ScriptedServer(faults=limit) as server, pytest.raises(openai.RateLimitError) as refused:
        ask(server)
    then = parsedate_to_datetime(refused.value.response.headers["retry-after"]).timestamp()
    assert then >= before + 30 - 1e-3


@pytest.mark.parametrize("stream", [False, True])
def test_dropped_connections(stream: bool) -> None:
    with ScriptedServer("x" * 500, faults=InTurn(Dropped(), Dropped("mid_body"))) as server:
        with pytest.raises(openai.APIConnectionError):
            ask(server, stream=stream)
        assert (server.calls, server.paid_calls) == (0, 0)
        assert server.requests[0].status is None
        with pytest.raises(Exception, match=r"(?i)peer closed|connection|incomplete"):
            ask(server, stream=stream)
        assert (server.calls, server.paid_calls) == (0, 1)
        assert server.requests[1].status == 200
        assert ask(server, stream=stream)
        assert (server.calls, server.paid_calls) == (1, 2)
        assert server.stats()["dropped"] == 1


def test_dropped_connections_on_aiohttp() -> None:
    async def run(server: ScriptedServer) -> None:
        async with async_client(server) as connected:
            for _ in range(2):
                with pytest.raises(openai.APIConnectionError):
                    await connected.chat.completions.create(
                        model="m", messages=[{"role": "user", "content": "x"}]
                    )
            completion = await connected.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}]
            )
            assert completion.choices[0].message.content == "fine"

    with ScriptedServer("fine", faults=FirstAttempts(Dropped(), Dropped("mid_body"))) as server:
        asyncio.run(run(server))
        assert [request.attempt for request in server.requests] == [1, 2, 3]


def test_hanging_until_the_client_gives_up() -> None:
    with ScriptedServer(faults=InTurn(Hang())) as server:
        with client(server, timeout=0.2) as connected, pytest.raises(openai.APITimeoutError):
            ask_with(connected, "Hello?")
        # The server has to notice that the client is gone.
        wait_until(lambda: server.in_flight == 0)
        assert server.requests[0].status is None
        assert ask(server).choices


def test_hanging_for_a_while() -> None:
    with ScriptedServer(faults=Hang(0.01)) as server, pytest.raises(openai.APIConnectionError):
        ask(server)


def test_stopping_frees_those_who_hang() -> None:
    server = ScriptedServer(faults=Hang())
    server.start()
    errors: list[Exception] = []

    def hang() -> None:
        try:
            ask(server)
        except openai.APIConnectionError as error:
            errors.append(error)

    caller = threading.Thread(target=hang)
    caller.start()
    wait_until(lambda: server.in_flight == 1)
    server.stop()
    caller.join(30)
    assert len(errors) == 1
    assert server.in_flight == 0


def test_odd_replies() -> None:
    faults = InTurn(CutOff(0.25), Garbage("][ no"), Garbage(""), ContentFilter(), None)
    with ScriptedServer("12345678", faults=faults) as server:
        choices = [ask(server).choices[0] for _ in range(5)]
        assert [(choice.message.content, choice.finish_reason) for choice in choices] == [
            ("12", "length"),
            ("][ no", "stop"),
            ("", "stop"),
            ("", "content_filter"),
            ("12345678", "stop"),
        ]
        assert server.calls == server.paid_calls == 5


def test_odd_replies_leave_embeddings_alone() -> None:
    with ScriptedServer(faults=CutOff()) as server, client(server) as connected:
        assert connected.embeddings.create(model="e", input="x").data
        assert server.requests[0].fault is None


def test_bodies_that_are_no_answer() -> None:
    broken = RawBody("{", "application/json")
    with ScriptedServer(faults=InTurn(RawBody(), broken, RawBody(status=502))) as server:
        assert isinstance(ask(server), str)  # the SDK hands a page through
        with pytest.raises(ValueError, match=r"Expecting|JSON|property"):
            ask(server)
        with pytest.raises(openai.InternalServerError) as refused:
            ask(server)
        assert refused.value.status_code == 502
        assert server.calls == 0


def test_when_a_condition_holds() -> None:
    faults = [
        When("rain", FirstAttempts(HttpError.server_error())),
        When(lambda request: request.metric == "completeness", CutOff(0)),
    ]
    with ScriptedServer("fine", faults=faults) as server:
        with pytest.raises(openai.InternalServerError):
            ask(server, "rain")
        assert ask(server, "rain").choices[0].message.content == "fine"
        assert ask(server, "snow").choices[0].message.content == "fine"
        cut = ask(server, response_format=ask_for("completeness"))
        assert cut.choices[0].message.content == ""


def test_a_failing_condition_is_a_script_error() -> None:
    def fail(request: ServedRequest) -> bool:
        raise KeyError("oops")

    with ScriptedServer(faults=When(fail, Dropped())) as server:
        with pytest.raises(openai.BadRequestError, match="KeyError"):
            ask(server)
        assert len(server.script_errors) == 1
    with (
        ScriptedServer(latency=lambda request: 1 / 0) as server,
        pytest.raises(openai.BadRequestError, match="ZeroDivisionError"),
    ):
        ask(server)


def test_chat_errors_become_what_they_stand_for() -> None:
    replies = [
        ChatError("slow", kind="rate_limit", retryable=True, retry_after=2),
        ChatError("down", kind="server_error"),
        ChatError("lost", kind="connection"),
        ChatError("long", kind="context_length"),
        ChatError("odd", kind="bad_request"),
        ChatError("no", kind="content_filter"),
        ChatError("", kind="empty_reply"),
        ChatError("cut", kind="cut_off"),
    ]
    with ScriptedServer(replies) as server:
        with pytest.raises(openai.RateLimitError) as limited:
            ask(server)
        assert limited.value.response.headers["retry-after"] == "2"
        with pytest.raises(openai.InternalServerError):
            ask(server)
        with pytest.raises(openai.APIConnectionError):
            ask(server)
        for message in ("long", "odd", "filter"):
            with pytest.raises(openai.BadRequestError, match=message):
                ask(server)
        assert ask(server).choices[0].message.content == ""
        assert ask(server).choices[0].finish_reason == "length"
        assert not server.script_errors


# --- a random mix ---


def request(prompt: str, attempt: int = 1) -> ServedRequest:
    return ServedRequest(number=1, method="POST", path="/", prompt=prompt, attempt=attempt)


def test_random_faults_have_the_told_shares() -> None:
    mix = RandomFaults(
        seed=3, rate_limited=0.2, server_error=0.05, dropped=0.02, cut_off=0.02, retry_after=0.05
    )
    drawn = [mix(request(f"prompt {number}")) for number in range(5000)]
    shares = {
        kind: sum(1 for fault in drawn if fault == kind) / 5000
        for kind in (
            HttpError.rate_limit(0.05),
            HttpError.server_error(),
            Dropped(),
            CutOff(),
            None,
        )
    }
    told = [0.2, 0.05, 0.02, 0.02 * 0.73, 0.73 * 0.98]
    assert list(shares.values()) == pytest.approx(told, abs=0.015)
    assert sum(shares.values()) == pytest.approx(1)


def test_random_faults_do_not_depend_on_the_order() -> None:
    first, again = (RandomFaults(seed=1, rate_limited=0.5) for _ in range(2))
    prompts = [f"prompt {number}" for number in range(50)]
    drawn = {prompt: first(request(prompt)) for prompt in prompts}
    assert {prompt: again(request(prompt)) for prompt in reversed(prompts)} == {**drawn}
    other = RandomFaults(seed=2, rate_limited=0.5)
    assert {prompt: other(request(prompt)) for prompt in prompts} != drawn


def test_cut_off_stays_and_the_rest_is_drawn_anew() -> None:
    mix = RandomFaults(rate_limited=0.5, cut_off=0.5)
    cut = [f"p{number}" for number in range(40) if mix.cuts_off(f"p{number}")]
    assert 5 < len(cut) < 35
    for prompt in cut:
        drawn = [mix(request(prompt, attempt)) for attempt in range(1, 41)]
        assert {type(fault) for fault in drawn} == {HttpError, CutOff}


@pytest.mark.parametrize("shares", [{"dropped": 1.5}, {"cut_off": -0.1}])
def test_impossible_shares(shares: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        RandomFaults(**shares)  # type: ignore[arg-type]  # only shares
    with pytest.raises(ConfigurationError, match="at most 1 together"):
        RandomFaults(rate_limited=0.6, server_error=0.6)


def test_a_server_with_random_faults_ends_every_call() -> None:
    mix = RandomFaults(seed=5, rate_limited=0.3, server_error=0.1, dropped=0.1, cut_off=0.2)

    async def persist(connected: openai.AsyncOpenAI, prompt: str) -> tuple[str, int]:
        attempts = 0
        while True:
            attempts += 1
            try:
                completion = await connected.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": prompt}]
                )
            except (openai.APIStatusError, openai.APIConnectionError):
                continue
            return str(completion.choices[0].finish_reason), attempts

    async def run() -> list[tuple[str, int]]:
        async with async_client(server) as connected:
            return await asyncio.gather(*(persist(connected, prompt) for prompt in prompts))

    prompts = [f"prompt {number}" for number in range(60)]
    with ScriptedServer("12345678", faults=mix) as server:
        ends = asyncio.run(run())
        assert [end for end, _ in ends] == [
            "length" if mix.cuts_off(prompt) else "stop" for prompt in prompts
        ]
        assert sum(attempts for _, attempts in ends) == len(server.requests) > 60
        assert server.calls == server.paid_calls == 60
        assert server.max_in_flight <= 60
