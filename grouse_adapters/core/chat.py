"""What the judge needs of a chat model, whoever serves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One answered call.

    Attributes:
        text: what the model wrote.
        usage: tokens the server reported.
        finish_reason: why the model stopped (OpenAI's words: ``stop``, ``length``, ...).
        cost: US dollars, None when the price is unknown.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    cost: float | None = None


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers one prompt.

    ``complete`` always runs on the judge's own event loop and may be called many times at once.
    """

    @property
    def name(self) -> str:
        """The model's name, as results show it."""
        ...

    def cache_key(self) -> Mapping[str, Any]:
        """Everything but prompt and schema that decides the reply (model, server, parameters).

        JSON-serialisable, and free of secrets.
        """
        ...

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """The reply to ``prompt`` as the only user message.

        Args:
            schema: strict JSON schema of the wanted reply; the model may ignore it.

        Raises:
            ChatError: the call failed.
            ConfigurationError: every call would fail (wrong key, unknown model).
        """
        ...

    async def aclose(self) -> None:
        """Frees connections; called once, on the judge's loop."""
        ...
