"""A chat model in this process that answers what it is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.testing.script import Replies, ReplySource, reply_text, token_count


@dataclass(slots=True)
class ScriptedCall:
    """One call that a ``ScriptedChat`` got.

    Attributes:
        prompt: the prompt it was given.
        schema: the reply schema it was given.
        reply: what it answered; None while it is in flight, and when it raised.
        error: what it raised; ``asyncio.CancelledError`` when the caller gave up.
    """

    prompt: str
    schema: JsonSchema | None = None
    reply: ChatReply | None = None
    error: BaseException | None = None


class ScriptedChat:
    """A ``ChatModel`` without a model: for tests of a judge, a metric or a whole pipeline.

    Args:
        replies: what it answers; see ``Replies``. An exception is raised instead of returned.
        name: the model's name. It is all that its cache key holds, so two chats that answer
            differently and share a cache need two names.
        latency: seconds before each answer, or a function of the prompt.
        usage: tokens of each call; counted roughly from the texts unless given.
        finish_reason: why the model stopped, for replies that do not say.

    Attributes:
        calls: every call in the order of arrival.
        in_flight: calls that are waiting for their answer now.
        max_in_flight: the most that were in flight at once.
        closed: whether ``aclose`` was called.

    Calls may come from several threads and event loops.
    """

    def __init__(
        self,
        replies: Replies,
        *,
        name: str = "scripted",
        latency: float | Callable[[str], float] = 0.0,
        usage: Usage | None = None,
        finish_reason: str = "stop",
    ) -> None:
        self._replies = ReplySource(replies)
        self._name = name
        self._latency = latency
        self._usage = usage
        self._finish_reason = finish_reason
        self._lock = threading.Lock()
        self.calls: list[ScriptedCall] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.closed = False

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def cache_key(self) -> Mapping[str, Any]:
        """The name: the same script under the same name may come from a cache."""
        return {"kind": "scripted", "model": self._name}

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """The scripted reply.

        Raises:
            BaseException: whatever the script says, e.g. a ``ChatError``.
            ConfigurationError: the script says nothing about this call.
        """
        call = ScriptedCall(prompt, schema)
        with self._lock:
            self.calls.append(call)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            call.reply = await self._answer(prompt, schema)
        except BaseException as error:
            call.error = error
            raise
        finally:
            with self._lock:
                self.in_flight -= 1
        return call.reply

    async def aclose(self) -> None:
        """Notes that the owner closed it."""
        self.closed = True

    async def _answer(self, prompt: str, schema: JsonSchema | None) -> ChatReply:
        # Even without latency other calls get their turn, as with a model that takes time.
        await asyncio.sleep(self._latency(prompt) if callable(self._latency) else self._latency)
        reply = await self._replies.reply(prompt, schema)
        if isinstance(reply, BaseException):
            # An error told once may be raised many times: each with a traceback of its own.
            raise reply.with_traceback(None)
        if isinstance(reply, ChatReply):
            return reply
        text = reply_text(reply)
        usage = self._usage or Usage(
            input_tokens=token_count(prompt), output_tokens=token_count(text)
        )
        return ChatReply(text=text, usage=usage, finish_reason=self._finish_reason)
