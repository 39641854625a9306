"""The HTTP under a framework's clients, over real HTTP: true counts, patience, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest

from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.grades import Usage
from grouse_adapters.native.model_http import Account, ModelHttp
from grouse_adapters.testing import (
    Dropped,
    FirstAttempts,
    Hang,
    HttpError,
    InTurn,
    RawBody,
    ScriptedServer,
    When,
)

KEY = "sk-native-0123456789"
QUICK = RetryPolicy(retries=3, base_delay=0.001, max_delay=0.002, rate_limit_patience=1.0)

Use = Callable[[openai.AsyncOpenAI, ModelHttp], Awaitable[None]]


def use(base_url: str, work: Use, **settings: Any) -> ModelHttp:
    """Lets ``work`` use a client on a loop of its own; returns what was under it."""
    given = {"concurrency": 4, "timeout": 30.0, "policy": QUICK, **settings}

    async def go() -> ModelHttp:
        http = ModelHttp(place=base_url, key=KEY, **given)
        client = openai.AsyncOpenAI(
            api_key=KEY, base_url=base_url, max_retries=0, http_client=http.async_client
        )
        try:
            await work(client, http)
        finally:
            await http.aclose()
        return http

    return asyncio.run(go())


async def ask(client: openai.AsyncOpenAI, prompt: str = "Why?", **more: Any) -> Any:
    return await client.chat.completions.create(
        model="gpt-9", messages=[{"role": "user", "content": prompt}], **more
    )


async def embed(client: openai.AsyncOpenAI, text: str = "Why?") -> Any:
    return await client.embeddings.create(model="vectors-1", input=text)


def test_calls_tokens_and_replies_go_to_the_score_that_made_them() -> None:
    accounts: list[Account] = []

    async def score(client: openai.AsyncOpenAI, http: ModelHttp, calls: int) -> None:
        with http.account() as account:
            accounts.append(account)
            # Tasks that a framework starts by itself count as well.
            await asyncio.gather(*(ask(client, f"{calls}" * 40) for _ in range(calls)))
            await embed(client, "x" * 40)

    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        await asyncio.gather(*(score(client, http, calls) for calls in (1, 2, 3)))

    with ScriptedServer(lambda prompt, schema: prompt[:1]) as server:
        use(server.base_url, work)
    assert [account.calls for account in accounts] == [1, 2, 3]
    assert [account.embedding_calls for account in accounts] == [1, 1, 1]
    assert [account.replies for account in accounts] == [["1"], ["2"] * 2, ["3"] * 3]
    # 40 characters are 10 tokens, a reply of one character is one.
    assert [account.usage for account in accounts] == [
        Usage(input_tokens=10 * calls + 10, output_tokens=calls) for calls in (1, 2, 3)
    ]
    assert server.calls == 6


def test_one_call_with_several_choices_is_one_call() -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with http.account() as account:
            await ask(client, n=3)
        assert (account.calls, account.replies) == (1, ["Noon."] * 3)
        assert account.usage.output_tokens == 3 * 2

    with ScriptedServer("Noon.") as server:
        use(server.base_url, work)


def test_what_a_model_gives_a_tool_is_a_reply() -> None:
    tool: Any = {"type": "function", "function": {"name": "note", "parameters": {}}}

    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with http.account() as account:
            await ask(client, tools=[tool], tool_choice={**tool, "function": {"name": "note"}})
        assert account.replies == ['{"statements": []}']

    with ScriptedServer(lambda prompt, schema: {"statements": []}) as server:
        use(server.base_url, work)


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        await asyncio.gather(*(ask(client) for _ in range(12)))

    with ScriptedServer("Noon.", latency=0.02) as server:
        use(server.base_url, work, concurrency=3)
    assert server.max_in_flight == 3


def test_what_passes_is_waited_out_and_counted_once() -> None:
    faults = InTurn(
        HttpError.rate_limit(0.01, form="ms"),
        Dropped(),
        Dropped("mid_body"),
        HttpError.rate_limit(),
        HttpError.server_error(503),
    )

    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with http.account() as account:
            assert (await ask(client)).choices[0].message.content == "Noon."
        assert (account.calls, account.trouble) == (1, None)
        assert account.usage == Usage(input_tokens=1, output_tokens=2)

    with ScriptedServer("Noon.", faults=faults) as server:
        use(server.base_url, work)
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("fault", "kind", "attempts"),
    [
        (HttpError.rate_limit(2.0), "rate_limit", 1),  # longer than anybody waits here
        (HttpError.server_error(), "server_error", 4),
        (Dropped(), "connection", 4),
        (Hang(), "timeout", 3),
        (RawBody(), "server_error", 4),
    ],
)
def test_what_does_not_pass_ends_the_score_and_spares_its_other_calls(
    fault: Any, kind: str, attempts: int
) -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        await embed(client)  # somebody answers here
        with http.account() as account:
            for _ in range(2):
                with pytest.raises(openai.APIConnectionError) as caught:
                    await ask(client, "bad")
                cause = caught.value.__cause__
                assert cause is not None
                assert isinstance(cause.__cause__, ChatError)
        assert account.trouble is not None
        assert account.trouble.kind == kind
        assert (account.calls, account.usage) == (0, Usage())
        with http.account() as other:
            await ask(client, "good")
        assert (other.calls, other.trouble) == (1, None)

    with ScriptedServer("Noon.", faults=When("bad", fault)) as server:
        assert use(server.base_url, work, timeout=0.2).fatal is None
    assert sum(one.prompt == "bad" for one in server.requests) == attempts


def test_a_refused_request_is_the_frameworks_to_handle() -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with http.account() as account:
            with pytest.raises(openai.BadRequestError):
                await ask(client, response_format={"type": "json_object"})
            await ask(client)
        assert account.calls == 1
        assert account.trouble is None
        assert account.refusal is not None
        assert account.refusal.kind == "bad_request"

    with ScriptedServer("Noon.", rejects={"json_object"}) as server:
        assert use(server.base_url, work).fatal is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"api_key": "sk-another"}, "refused the key (401: "),
        ({"models": ["gpt-8"]}, "does not know the model 'gpt-9' (404: "),
        ({"faults": HttpError.quota()}, "has no credit left (429: "),
    ],
)
def test_a_wrong_configuration_ends_everything_at_once(settings: dict[str, Any], says: str) -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        for _ in range(3):
            with pytest.raises(openai.APIConnectionError):
                await ask(client)

    with ScriptedServer("Noon.", **settings) as server:
        fatal = use(server.base_url, work).fatal
    assert isinstance(fatal, ConfigurationError)
    assert server.base_url in str(fatal)
    assert says in str(fatal)
    assert KEY not in str(fatal)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault", [HttpError(501, "No embeddings here."), HttpError(400, "Not an embedding model.")]
)
def test_a_server_without_embeddings_ends_everything_unless_it_gave_some(fault: Any) -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with pytest.raises(openai.OpenAIError):
            await embed(client, "bad")

    async def after_one(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        await embed(client, "good")
        await work(client, http)

    with ScriptedServer("Noon.", faults=When("bad", fault)) as server:
        fatal = use(server.base_url, work).fatal
        assert len(server.requests) == 1
        assert use(server.base_url, after_one).fatal is None
    assert "gives no embeddings with the model 'vectors-1'" in str(fatal)
    assert "--embedding-model" in str(fatal)


def test_nobody_at_the_address_ends_everything() -> None:
    with ScriptedServer() as server:
        pass

    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        with pytest.raises(openai.APIConnectionError):
            await ask(client)

    fatal = use(server.base_url, work).fatal
    assert str(fatal).startswith(f"No server answers at {server.base_url} (")


def test_the_blocking_client_waits_without_stopping_what_is_under_way() -> None:
    async def work(client: openai.AsyncOpenAI, http: ModelHttp) -> None:
        blocking = openai.OpenAI(
            api_key=KEY,
            base_url=client.base_url,
            max_retries=0,
            http_client=http.blocking_client,
        )
        # Both slots are taken by calls that cannot end while this thread waits.
        others = [asyncio.create_task(ask(client)) for _ in range(2)]
        await asyncio.sleep(0)
        with http.account() as account:
            for number in range(2):
                found = blocking.embeddings.create(model="vectors-1", input=f"text {number}")
                assert len(found.data[0].embedding) == 8
        assert (account.calls, account.embedding_calls) == (0, 2)
        assert account.usage.input_tokens == 2 * 2
        for done in await asyncio.gather(*others):
            assert done.choices[0].message.content == "Noon."

    faults = When(
        lambda one: one.path.endswith("embeddings"), FirstAttempts(HttpError.rate_limit())
    )
    with ScriptedServer("Noon.", faults=faults, dimensions=8) as server:
        use(server.base_url, work, concurrency=2)
    assert [one.status for one in server.requests if "text" in one.prompt] == [429, 200, 429, 200]
