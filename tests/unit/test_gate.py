"""The gate of all calls: limit, retries, pauses. Asserts counts and order, never durations."""

from __future__ import annotations

import asyncio

import pytest

from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError
from grouse_adapters.core.gate import CallGate, RetryPolicy

QUICK = RetryPolicy(retries=3, base_delay=0.001, max_delay=0.002, rate_limit_patience=0.5)


def server_error() -> ChatError:
    return ChatError("server error 500", kind="server_error", retryable=True)


class Script:
    """A call that raises what it is told, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.attempts = 0

    async def __call__(self) -> str:
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        return "ok"


def run(script: Script, policy: RetryPolicy = QUICK) -> str:
    async def go() -> str:
        return await CallGate(1, policy).run(script)

    return asyncio.run(go())


def test_the_limit_is_exact() -> None:
    async def go() -> tuple[int, int]:
        gate = CallGate(7, QUICK)
        now = most = 0

        async def call() -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1

        await asyncio.gather(*(gate.run(call) for _ in range(100)))
        return now, most

    assert asyncio.run(go()) == (0, 7)


def test_a_passing_trouble_is_retried() -> None:
    script = Script(server_error(), server_error(), server_error())
    assert run(script) == "ok"
    assert script.attempts == 4


def test_a_lasting_trouble_is_given_up_after_the_retries() -> None:
    script = Script(*(server_error() for _ in range(9)))
    with pytest.raises(ChatError, match="500"):
        run(script)
    assert script.attempts == 4


def test_a_final_refusal_is_not_repeated() -> None:
    script = Script(ChatError("too long", kind="context_length"))
    with pytest.raises(ChatError, match="too long"):
        run(script)
    assert script.attempts == 1


def test_a_timeout_is_repeated_twice_at_most() -> None:
    script = Script(*(ChatError("slow", kind="timeout", retryable=True) for _ in range(9)))
    with pytest.raises(ChatError, match="slow"):
        run(script)
    assert script.attempts == 3


def test_rate_limits_do_not_use_up_the_retries() -> None:
    limited = [
        ChatError("429", kind="rate_limit", retryable=True, retry_after=0.0) for _ in range(50)
    ]
    script = Script(*limited)
    assert run(script) == "ok"
    assert script.attempts == 51


def test_patience_with_rate_limits_ends() -> None:
    script = Script(ChatError("429", kind="rate_limit", retryable=True, retry_after=3600.0))
    with pytest.raises(ChatError, match="429"):
        run(script)
    assert script.attempts == 1


def test_a_rate_limit_pauses_every_call() -> None:
    """A call that starts while another was told to wait begins only after the pause."""

    async def go() -> list[str]:
        gate = CallGate(2, QUICK)
        order: list[str] = []
        told = asyncio.Event()

        async def first() -> None:
            if not told.is_set():
                told.set()
                order.append("told to wait")
                raise ChatError("429", kind="rate_limit", retryable=True, retry_after=0.05)
            order.append("first")

        async def second() -> None:
            order.append("second")

        async def pause_over() -> None:
            await asyncio.sleep(0.02)
            order.append("pause still on")

        task = asyncio.create_task(gate.run(first))
        await told.wait()
        await asyncio.gather(task, gate.run(second), pause_over())
        return order

    order = asyncio.run(go())
    assert order[:2] == ["told to wait", "pause still on"]
    assert sorted(order[2:]) == ["first", "second"]


def test_a_server_that_never_answered_is_a_wrong_configuration() -> None:
    script = Script(*(UnreachableError("No server answers at x.") for _ in range(9)))
    with pytest.raises(ConfigurationError, match="No server answers at x"):
        run(script)
    assert script.attempts == 3


def test_a_server_that_went_away_is_a_failed_call() -> None:
    async def go() -> int:
        gate = CallGate(1, QUICK)
        await gate.run(Script())
        gone = Script(*(UnreachableError("No server answers at x.") for _ in range(9)))
        with pytest.raises(UnreachableError):
            await gate.run(gone)
        return gone.attempts

    assert asyncio.run(go()) == 4
