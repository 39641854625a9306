"""OpenAIChat: OpenAI and every server that speaks its chat-completions protocol."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.core.openai_answers import (
    field_of,
    message_of,
    text_of,
    tokens_of,
    what_was_said,
)
from grouse_adapters.core.openai_server import (
    RefusedError,
    checked_address,
    find_key,
    one_line,
    status_error,
)
from grouse_adapters.core.prices import KeptPrices, Pricing

if TYPE_CHECKING:
    import aiohttp
    import openai
    from openai.types.chat import ChatCompletion

Structured = Literal["json_schema", "json_object", "text"]

_STEPS: Final[tuple[Structured, ...]] = ("json_schema", "json_object", "text")
_REASONING: Final = re.compile(r"(^|/)(o[1-9]|gpt-5)(?!.*chat)", re.IGNORECASE)
_CONNECT_SECONDS: Final = 10.0  # an address that drops packets is told from a slow model


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What this server accepts, learned from its refusals."""

    structured: Structured
    token_parameter: Literal["max_tokens", "max_completion_tokens"]
    temperature: bool

    def and_also(self, other: _Dialect) -> _Dialect:
        """What both accept."""
        return _Dialect(
            structured=max(self.structured, other.structured, key=_STEPS.index),
            token_parameter=max(self.token_parameter, other.token_parameter, key=len),
            temperature=self.temperature and other.temperature,
        )


class OpenAIChat:
    """A chat model behind an OpenAI-compatible server.

    Strict JSON schema is asked for first, then a JSON object, then plain text: a refusal is
    remembered. Repeating failed calls is left to the judge.

    Args:
        model: the model's name on the server.
        base_url: address up to ``/v1``; None: ``OPENAI_BASE_URL``, else OpenAI.
        api_key: the key; None: read from ``api_key_env``.
        api_key_env: the environment variable with the key. None: ``OPENAI_API_KEY``, which a
            server other than OpenAI's may do without.
        timeout: seconds for one call, from its start to its last byte.
        max_tokens: bound of the reply, in tokens; None: 2,048, or 16,384 for reasoning models,
            whose thoughts count.
        temperature: 0-2; not sent to reasoning models.
        structured: the strongest form of structured output to ask for.
        reasoning: whether it is a reasoning model; None: told from the name.
        extra_body: more fields for the request, e.g. ``{"seed": 1}``.
        price: the price of tokens; None: the table kept by genai-prices.

    Raises:
        ConfigurationError: no key where one is needed, or a setting out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        structured: Structured = "json_schema",
        reasoning: bool | None = None,
        extra_body: Mapping[str, Any] | None = None,
        price: Pricing | None = None,
    ) -> None:
        # Here and not on the judge's loop: a process that forks during an import leaves its child
        # with a lock that nobody frees.
        import openai  # noqa: F401

        if not model.strip():
            raise ConfigurationError("The model's name is empty: name a model of the server.")
        if not timeout > 0 or (max_tokens is not None and max_tokens <= 0):
            raise ConfigurationError("timeout and max_tokens must be greater than 0.")
        if not 0 <= temperature <= 2:
            raise ConfigurationError("temperature must be between 0 and 2.")
        if structured not in _STEPS:
            raise ConfigurationError(f"structured must be one of {', '.join(_STEPS)}.")
        base_url = checked_address(base_url or os.environ.get("OPENAI_BASE_URL"))
        if reasoning is None:
            reasoning = bool(_REASONING.search(model))
        self._model = model
        self._base_url = base_url
        self._key = find_key(api_key, api_key_env, needed=base_url is None)
        self._timeout = timeout
        self._max_tokens = max_tokens or (16_384 if reasoning else 2_048)
        self._temperature = temperature
        self._extra_body = dict(extra_body or {})
        self._price = price or KeptPrices(model, base_url)
        self._dialect = _Dialect(
            structured=structured,
            token_parameter="max_completion_tokens" if reasoning else "max_tokens",
            temperature=not reasoning,
        )
        self._settings: dict[str, Any] = {
            "model": model,
            "base_url": base_url,
            "temperature": temperature if not reasoning else None,
            "max_tokens": self._max_tokens,
            "structured": structured,
            "extra_body": self._extra_body,
        }
        # One client per event loop: connections belong to the loop that opened them.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = (
            WeakKeyDictionary()
        )

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    def cache_key(self) -> Mapping[str, Any]:
        """Model, server and parameters."""
        return self._settings

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``."""
        dialect = known = self._dialect
        while True:
            try:
                completion = await self._request(prompt, schema, dialect)
            except ChatError as error:
                weaker = _weaker(dialect, error, asked_schema=schema is not None)
                if weaker is None:
                    raise
                dialect = weaker.and_also(self._dialect)  # others may have learned meanwhile
                continue
            if dialect != known:
                self._dialect = self._dialect.and_also(dialect)
            return self._reply(completion)

    async def aclose(self) -> None:
        """Closes this loop's connections; a later call opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _request(
        self, prompt: str, schema: JsonSchema | None, dialect: _Dialect
    ) -> ChatCompletion:
        import aiohttp
        import openai

        body: dict[str, Any] = {dialect.token_parameter: self._max_tokens}
        if dialect.temperature:
            body["temperature"] = self._temperature
        if schema is not None and dialect.structured == "json_schema":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "judgement", "strict": True, "schema": schema},
            }
        elif schema is not None and dialect.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        body.update(self._extra_body)
        trouble: Exception
        try:
            async with asyncio.timeout(self._timeout):
                # extra_body: the SDK would walk through every level of the schema in each call
                return await self._connected().chat.completions.create(
                    model=self._model,
                    messages=[{"role": "user", "content": prompt}],
                    extra_body=body,
                )
        except openai.APIStatusError as error:
            trouble = self._status_error(error)
        except (TimeoutError, openai.APIConnectionError, aiohttp.ClientError) as error:
            trouble = self._line_error(error)
        except (openai.OpenAIError, ValueError, RecursionError) as error:  # no JSON, or no sane one
            trouble = ChatError(
                f"the server's answer cannot be read: {self._clean(str(error))}",
                kind="server_error",
                retryable=True,
            )
        # Raised out here: inside a handler the SDK's error, which may quote the key, comes along.
        raise trouble

    def _connected(self) -> openai.AsyncOpenAI:
        import openai

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            timeout = openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS))
            client = self._clients[loop] = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                timeout=timeout,
                http_client=openai.DefaultAioHttpClient(timeout=timeout),
            )
        return client

    def _reply(self, completion: ChatCompletion) -> ChatReply:
        # A lenient SDK passes on whatever JSON a server sent: nothing in it is sure.
        choices = field_of(completion, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = field_of(choice, "message")
        if message is None:
            said = self._clean(message_of(field_of(completion, "error")) or "")
            raise ChatError(
                f"the server's answer is no chat completion ({said or 'is the base URL right?'})",
                kind="server_error",
                retryable=True,
            )
        used = field_of(completion, "usage")
        usage = Usage(
            input_tokens=tokens_of(field_of(used, "prompt_tokens")),
            output_tokens=tokens_of(field_of(used, "completion_tokens")),
        )
        refused = text_of(field_of(message, "refusal"))
        finish = field_of(choice, "finish_reason")
        return ChatReply(
            text=text_of(field_of(message, "content")) or refused,
            usage=usage,
            finish_reason="content_filter" if refused else text_of(finish) or None,
            cost=None if usage == Usage() else self._price.cost(usage),
        )

    def _status_error(self, error: openai.APIStatusError) -> ChatError | ConfigurationError:
        return status_error(
            error.status_code,
            self._clean(what_was_said(error)),
            model=self._model,
            place=self._base_url or "OpenAI",
            headers=error.response.headers,
            code=error.code,
            kind=error.type,
            parameter=error.param,
        )

    def _line_error(self, error: Exception) -> ChatError:
        """What broke below HTTP. The SDK calls most of it a timeout: aiohttp's error decides."""
        import aiohttp

        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
                return UnreachableError(
                    f"No server answers at {self._base_url or 'OpenAI'} "
                    f"({self._clean(_why_unreachable(cause))}): "
                    "check the address and that the server runs."
                )
        if any(isinstance(cause, TimeoutError) for cause in causes):
            return ChatError(f"no reply within {self._timeout:g} s", kind="timeout", retryable=True)
        return ChatError("the connection was lost", kind="connection", retryable=True)

    def _clean(self, text: str) -> str:
        return one_line(text, key=self._key)


def _weaker(dialect: _Dialect, error: ChatError, *, asked_schema: bool) -> _Dialect | None:
    """The next thing to try after a refused request, None when nothing is left to leave out."""
    if not isinstance(error, RefusedError):
        return None
    if dialect.token_parameter == "max_tokens" and "max_completion_tokens" in str(error):
        return replace(dialect, token_parameter="max_completion_tokens")
    if dialect.temperature and error.about("temperature"):
        return replace(dialect, temperature=False)
    if asked_schema and dialect.structured != "text":
        return replace(dialect, structured=_STEPS[_STEPS.index(dialect.structured) + 1])
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _why_unreachable(error: aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) -> str:
    cause = getattr(error, "os_error", None)
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(cause, socket.gaierror):
        return "unknown host name"
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return str(cause or error)
