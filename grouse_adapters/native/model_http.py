"""The HTTP clients under a framework's OpenAI clients: they count, keep to a limit, wait and stop.

Both frameworks reach their model through the openai SDK, which takes an HTTP client of the user's.
Ours changes nothing that is said. It knows which score a call is made for, and it waits out rate
limits here, with more patience than the frameworks' own few repetitions.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from grouse_adapters.core.errors import (
    ChatError,
    ConfigurationError,
    GrouseError,
    UnreachableError,
)
from grouse_adapters.core.gate import CallGate, RetryPolicy
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.openai_answers import field_of, message_of, text_of, tokens_of
from grouse_adapters.core.openai_server import RefusedError, one_line, status_error

_CHAT: Final = "/chat/completions"
_EMBEDDINGS: Final = "/embeddings"
_NOT_SERVED: Final = (404, 405, 501)

_Forward = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class Account:
    """What one score cost, and what was heard on the way.

    Attributes:
        calls: answered chat calls.
        embedding_calls: answered calls for embeddings.
        usage: tokens of both.
        replies: what the model wrote, in order.
        finish_reason: why its last reply ended.
        trouble: the call that was given up; later calls of the score are not made.
        refusal: the last request that the server refused, which the framework may have survived.
        under_way: calls that are not answered yet.
        closed: the score has ended, so that calls which are still to come are not made.
    """

    calls: int = 0
    embedding_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    replies: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    trouble: ChatError | None = None
    refusal: ChatError | None = None
    under_way: int = 0
    closed: bool = False
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def close(self) -> None:
        """Waits for calls that the framework left under way when it gave up: they are paid for."""
        self.closed = True
        while self.under_way:
            self._ended.clear()
            await self._ended.wait()

    def leave(self) -> None:
        """A call has ended."""
        self.under_way -= 1
        self._ended.set()


_ACCOUNT: ContextVar[Account | None] = ContextVar("grouse_native_account", default=None)


class ModelHttp:
    """HTTP clients that share one limit, for one event loop. Close it on that loop.

    Calls that fail for a while (429, 5xx, lost connections, timeouts) are repeated as ``policy``
    says, and a rate limit pauses all of them. A wrong key, an unknown model and the like end
    everything: ``fatal`` holds the error, and no further call is made.

    Args:
        place: the server, as users know it.
        key: the API key, never to be shown.
        concurrency: calls in flight at most.
        timeout: seconds for one attempt, from its start to its last byte.
        policy: how long a call is tried.

    Attributes:
        async_client: for ``openai.AsyncOpenAI``.
        fatal: what ended everything.
    """

    def __init__(
        self,
        *,
        place: str,
        key: str,
        concurrency: int,
        timeout: float,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._place = place
        self._key = key
        self._timeout = timeout
        self._concurrency = concurrency
        self._policy = policy or RetryPolicy()
        self._gate = CallGate(concurrency, self._policy)
        self._embedded = False
        self._blocking: _BlockingClient | None = None
        self.async_client: DefaultAsyncHttpxClient = _AsyncClient(self._send)
        self.fatal: ConfigurationError | None = None

    @property
    def blocking_client(self) -> DefaultHttpxClient:
        """For ``openai.OpenAI``: RAGAS' legacy answer relevancy asks for embeddings that way, on
        the event loop itself. A loop of its own, in a thread, makes the calls meanwhile.
        """
        if self._blocking is None:
            # Its own gate: while the caller blocks its loop, nobody there could free a slot.
            gate = CallGate(self._concurrency, self._policy)
            self._blocking = _BlockingClient(
                lambda forward, request: self._send(forward, request, gate=gate)
            )
        return self._blocking

    @contextmanager
    def account(self) -> Iterator[Account]:
        """Calls made in here, by this task and the tasks that it starts, go to one account."""
        account = Account()
        token = _ACCOUNT.set(account)
        try:
            yield account
        finally:
            _ACCOUNT.reset(token)

    async def aclose(self) -> None:
        """Closes all connections."""
        await self.async_client.aclose()
        if self._blocking is not None:
            self._blocking.close()

    async def _send(self, forward: _Forward, request: Any, *, gate: CallGate | None = None) -> Any:
        try:
            return await self._tried(forward, request, gate or self._gate)
        except GrouseError as error:
            # What the SDK expects of an HTTP client, and turns into its own APIConnectionError.
            raise _HTTPX.ReadError(str(error), request=request) from error

    async def _tried(self, forward: _Forward, request: Any, gate: CallGate) -> Any:
        account = _ACCOUNT.get() or Account()
        for ended in (self.fatal, account.trouble):
            if ended is not None:
                raise ended

        async def once() -> Any:
            if self.fatal is not None:
                raise self.fatal
            if account.closed:
                raise ChatError("the score has ended", kind="internal")
            response = await self._exchange(forward, request)
            trouble = self._trouble(request, response)
            if isinstance(trouble, ConfigurationError) or (trouble and trouble.retryable):
                raise trouble
            account.refusal = trouble or account.refusal  # the framework's own to handle
            if trouble is None:
                self._count(account, request, response)
            return response

        account.under_way += 1
        try:
            return await gate.run(once)
        except ConfigurationError as error:
            self.fatal = self.fatal or error
            raise
        except ChatError as error:
            if not account.closed:
                account.trouble = account.trouble or error
            raise
        finally:
            account.leave()

    async def _exchange(self, forward: _Forward, request: Any) -> Any:
        """One attempt, its body read.

        Raises:
            ChatError: no whole answer came.
        """
        trouble: ChatError
        try:
            async with asyncio.timeout(self._timeout):
                response = await forward(request)
                await response.aread()
                return response
        except (_HTTPX.ConnectError, _HTTPX.ConnectTimeout) as error:
            why = one_line(str(error), key=self._key) or type(error).__name__
            trouble = UnreachableError(
                f"No server answers at {self._place} ({why}): check the address and that the "
                "server runs."
            )
        except (TimeoutError, _HTTPX.TimeoutException):
            trouble = ChatError(
                f"no reply within {self._timeout:g} s", kind="timeout", retryable=True
            )
        except _HTTPX.TransportError:
            trouble = ChatError("the connection was lost", kind="connection", retryable=True)
        raise trouble

    def _trouble(self, request: Any, response: Any) -> ChatError | ConfigurationError | None:
        body = _json(response.content)
        path = request.url.path
        if response.is_success:
            wanted = {_CHAT: "choices", _EMBEDDINGS: "data"}
            part = next((wanted[end] for end in wanted if path.endswith(end)), None)
            found = field_of(body, part) if part else True
            if found and (part is None or isinstance(found, list)):
                return None
            said = self._said(body) or "is the base URL right?"
            return ChatError(
                f"the server's answer has no {part} ({said})", kind="server_error", retryable=True
            )
        told = body[0] if isinstance(body, list) and body else body  # Gemini sends a list
        error = field_of(told, "error")
        said = self._said(told) or one_line(response.text, key=self._key)
        model = str(field_of(_json(request.content), "model"))
        trouble = status_error(
            response.status_code,
            said,
            model=model,
            place=self._place,
            headers=response.headers,
            code=field_of(error, "code"),
            kind=field_of(error, "type"),
            parameter=field_of(error, "param"),
        )
        not_served = response.status_code in _NOT_SERVED or isinstance(trouble, RefusedError)
        if path.endswith(_EMBEDDINGS) and not_served and not self._embedded:
            return ConfigurationError(
                f"{self._place} gives no embeddings with the model {model!r} "
                f"({response.status_code}: {said}): name another with --embedding-model, or leave "
                "the answer relevancy of RAGAS out."
            )
        return trouble

    def _said(self, body: object) -> str:
        words = message_of(field_of(body, "error")) or message_of(body) or ""
        return one_line(words, key=self._key)

    def _count(self, account: Account, request: Any, response: Any) -> None:
        body = _json(response.content)
        used = field_of(body, "usage")
        account.usage = account.usage + Usage(
            input_tokens=tokens_of(field_of(used, "prompt_tokens")),
            output_tokens=tokens_of(field_of(used, "completion_tokens")),
        )
        if request.url.path.endswith(_EMBEDDINGS):
            self._embedded = True
            account.embedding_calls += 1
        elif request.url.path.endswith(_CHAT):
            account.calls += 1
            for choice in field_of(body, "choices"):
                account.replies.append(_written(field_of(choice, "message")))
                account.finish_reason = text_of(field_of(choice, "finish_reason")) or None


def _httpx() -> Any:
    """The package that this openai builds on: httpx, or httpx2 since openai 3."""
    for base in DefaultAsyncHttpxClient.__mro__:
        if base.__name__ == "AsyncClient":
            return importlib.import_module(base.__module__.partition(".")[0])
    raise ConfigurationError("This version of openai has no HTTP client to build on: install 2.x.")


_HTTPX: Final = _httpx()

_Send = Callable[[_Forward, Any], Awaitable[Any]]


class _AsyncClient(DefaultAsyncHttpxClient):
    def __init__(self, send: _Send) -> None:
        super().__init__(timeout=None)  # ``ModelHttp`` bounds the whole attempt
        self._counted = send

    async def send(self, request: Any, **given: Any) -> Any:
        forward = super().send
        given["stream"] = False  # what is counted has to be read
        return await self._counted(lambda one: forward(one, **given), request)


class _BlockingClient(DefaultHttpxClient):
    """Waits for calls that another thread's event loop makes."""

    def __init__(self, send: _Send) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="grouse-embeddings", daemon=True
        )
        self._thread.start()
        self._asking = _AsyncClient(send)

    def send(self, request: Any, **given: Any) -> Any:
        # The thread gets the caller's context, and with it the caller's account.
        return asyncio.run_coroutine_threadsafe(self._asking.send(request), self._loop).result()

    def close(self) -> None:
        if self._thread.is_alive():
            closing = asyncio.run_coroutine_threadsafe(self._asking.aclose(), self._loop)
            with suppress(TimeoutError):
                closing.result(5)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        super().close()


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _written(message: object) -> str:
    """What the model wrote, if need be as the arguments of a tool: RAGAS 0.3 asks for that."""
    tools = field_of(message, "tool_calls")
    calls = tools if isinstance(tools, list) else []
    arguments = [text_of(field_of(field_of(one, "function"), "arguments")) for one in calls]
    return text_of(field_of(message, "content")) or "".join(arguments)
