"""Calls of OpenAIChat, for its tests: one chat, one judge, and servers that speak no good HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from grouse_adapters import (
    ChatError,
    ChatReply,
    ConfigurationError,
    Failed,
    Judgement,
    LLMJudge,
    OpenAIChat,
    RetryPolicy,
    Sample,
)
from grouse_adapters.testing import Faults, Script, ScriptedServer

T = TypeVar("T")

QUICK = RetryPolicy(retries=2, base_delay=0.001, max_delay=0.002, rate_limit_patience=5.0)
SAMPLE = Sample(
    input="How long is the bridge?",
    references=("The bridge is 300 m long.",),
    expected_output="It is 300 m long [1].",
    actual_output="It measures 300 m [1].",
)
BEST = Script(default={"answer_relevancy": 5, "completeness": 5, "faithfulness": 1})


def run(chat: OpenAIChat, work: Coroutine[Any, Any, T]) -> T:
    async def go() -> T:
        try:
            return await work
        finally:
            await chat.aclose()

    return asyncio.run(go())


def ask(chat: OpenAIChat, *prompts: str, schema: dict[str, Any] | None = None) -> list[ChatReply]:
    """Replies to the prompts, asked for one after another."""

    async def go() -> list[ChatReply]:
        return [await chat.complete(prompt, schema=schema) for prompt in prompts or ("Hi?",)]

    return run(chat, go())


def judged(chat: OpenAIChat, **settings: Any) -> Judgement:
    with LLMJudge(chat, **{"retries": QUICK, **settings}) as judge:
        return judge.judge(SAMPLE, metrics=["completeness"])


def failure(judgement: Judgement) -> Failed:
    grade = judgement.grades["completeness"]
    assert isinstance(grade, Failed)
    return grade


def error_of(chat: OpenAIChat, prompt: str = "Hi?") -> Exception:
    """What a single call raises, without the judge's retries."""
    with pytest.raises((ChatError, ConfigurationError)) as caught:
        ask(chat, prompt)
    return caught.value


def chat_with(server: ScriptedServer, **settings: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=server.base_url, **{"timeout": 20.0, **settings})


def faulty(faults: Faults, **settings: Any) -> ScriptedServer:
    return ScriptedServer(BEST, faults=faults, **settings)


def one_sentence(error: Exception) -> bool:
    return re.fullmatch(r"[^\n]+[^.]\.", str(error)) is not None


@contextlib.contextmanager
def raw_server(answer: bytes, *, drip: bool = False) -> Iterator[str]:
    """Sends the same bytes to everybody; dripping, one space after another after them."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)

        def serve() -> None:
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(5)
                        connection.recv(65_536)
                        connection.sendall(answer)
                        while drip and not stop.is_set():
                            connection.sendall(b" ")
                            time.sleep(0.02)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            stop.set()
            thread.join()


def dripping_server() -> contextlib.AbstractContextManager[str]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n"
    return raw_server(head, drip=True)
