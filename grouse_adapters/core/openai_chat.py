"""OpenAIChat: OpenAI and every server that speaks its chat-completions protocol."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.core.prices import KeptPrices, Pricing

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

Structured = Literal["json_schema", "json_object", "text"]

_STEPS: Final[tuple[Structured, ...]] = ("json_schema", "json_object", "text")
_REASONING: Final = re.compile(r"(^|/)(o[1-9]|gpt-5)(?!.*chat)", re.IGNORECASE)
_CONTEXT: Final = re.compile(r"context.{0,20}(length|size|window)|too many tokens|maximum.*tokens")
_NO_KEY: Final = "no-key"


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What this server accepts, learned from its refusals."""

    structured: Structured
    token_parameter: Literal["max_tokens", "max_completion_tokens"]
    temperature: bool


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
        if not model.strip():
            raise ConfigurationError("The model's name is empty: name a model of the server.")
        if timeout <= 0 or (max_tokens is not None and max_tokens <= 0):
            raise ConfigurationError("timeout and max_tokens must be greater than 0.")
        if structured not in _STEPS:
            raise ConfigurationError(f"structured must be one of {', '.join(_STEPS)}.")
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        if base_url is not None and not re.match(r"https?://[^/]+", base_url):
            raise ConfigurationError(
                f"The base URL {base_url!r} is no address: write it like http://host:port/v1."
            )
        if reasoning is None:
            reasoning = bool(_REASONING.search(model))
        self._model = model
        self._base_url = base_url
        self._key = _find_key(api_key, api_key_env, needed=base_url is None)
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
        dialect = self._dialect
        while True:
            try:
                completion = await self._request(prompt, schema, dialect)
            except ChatError as error:
                weaker = _weaker(dialect, error, asked_schema=schema is not None)
                if weaker is None:
                    raise
                dialect = weaker
                continue
            self._dialect = dialect
            return self._reply(completion)

    async def aclose(self) -> None:
        """Closes this loop's connections; a later call opens new ones."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _request(
        self, prompt: str, schema: JsonSchema | None, dialect: _Dialect
    ) -> ChatCompletion:
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
        try:
            async with asyncio.timeout(self._timeout):
                # extra_body: the SDK would walk through every level of the schema in each call
                return await self._connected().chat.completions.create(
                    model=self._model,
                    messages=[{"role": "user", "content": prompt}],
                    extra_body=body,
                )
        except (TimeoutError, openai.APITimeoutError):
            raise ChatError(
                f"no reply within {self._timeout:g} s", kind="timeout", retryable=True
            ) from None
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        except openai.APIConnectionError as error:
            raise self._connection_error(error) from None
        except (openai.APIError, ValueError) as error:  # an answer that is not JSON
            raise ChatError(
                f"the server's answer cannot be read: {self._clean(str(error))}",
                kind="server_error",
                retryable=True,
            ) from None

    def _connected(self) -> openai.AsyncOpenAI:
        import openai

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=0,
                timeout=self._timeout,
                http_client=openai.DefaultAioHttpClient(timeout=self._timeout),
            )
        return client

    def _reply(self, completion: ChatCompletion) -> ChatReply:
        # A lenient SDK passes on whatever JSON a server sent: check before use.
        choices = getattr(completion, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise ChatError(
                "the server's answer holds no reply", kind="server_error", retryable=True
            )
        choice = choices[0]
        used = completion.usage
        usage = Usage(
            input_tokens=(used.prompt_tokens or 0) if used else 0,
            output_tokens=(used.completion_tokens or 0) if used else 0,
        )
        refused = getattr(choice.message, "refusal", None)
        return ChatReply(
            text=choice.message.content or refused or "",
            usage=usage,
            finish_reason="content_filter" if refused else choice.finish_reason,
            cost=self._price.cost(usage),
        )

    def _status_error(self, error: openai.APIStatusError) -> ChatError | ConfigurationError:
        status = error.status_code
        said = self._clean(_said(error))
        place = self._base_url or "OpenAI"
        if status in (401, 403):
            return ConfigurationError(
                f"{place} refused the key ({status}: {said}): check the key and what it may use."
            )
        if status == 404:
            return ConfigurationError(
                f"{place} does not know the model {self._model!r} ({status}: {said}): "
                "check the model's name and the base URL."
            )
        if status == 429:
            if "insufficient_quota" in (error.code, error.type):
                return ConfigurationError(f"The account at {place} has no credit left: {said}.")
            return ChatError(
                f"rate limit: {said}",
                kind="rate_limit",
                retryable=True,
                retry_after=_retry_after(error.response.headers),
            )
        if status >= 500 or status in (408, 409):
            return ChatError(
                f"server error {status}: {said}",
                kind="server_error",
                retryable=True,
                retry_after=_retry_after(error.response.headers),
            )
        if error.code == "context_length_exceeded" or _CONTEXT.search(said.lower()):
            return ChatError(f"the prompt is too long: {said}", kind="context_length")
        if error.code == "content_filter":
            return ChatError(f"the server's filter refused: {said}", kind="content_filter")
        return ChatError(f"request refused ({status}): {said}", kind="bad_request")

    def _connection_error(self, error: openai.APIConnectionError) -> ChatError:
        place = self._base_url or "OpenAI"
        cause = error.__cause__
        if cause is not None and type(cause).__name__ in ("ConnectError", "ConnectTimeout"):
            return UnreachableError(
                f"No server answers at {place} ({self._clean(str(cause)) or 'no connection'}): "
                "check the address and that the server runs."
            )
        return ChatError("the connection was lost", kind="connection", retryable=True)

    def _clean(self, text: str) -> str:
        """One line without the key."""
        if self._key != _NO_KEY and len(self._key) >= 4:
            text = text.replace(self._key, "[key]")
        return " ".join(text.split())[:300].rstrip(".")


def _find_key(api_key: str | None, api_key_env: str | None, *, needed: bool) -> str:
    if api_key:
        return api_key
    variable = api_key_env or "OPENAI_API_KEY"
    if key := os.environ.get(variable, "").strip():
        return key
    if needed or api_key_env is not None:
        raise ConfigurationError(
            f"No API key: set {variable}, or name another variable, or give the base URL of a "
            "server that needs none."
        )
    return _NO_KEY


def _weaker(dialect: _Dialect, error: ChatError, *, asked_schema: bool) -> _Dialect | None:
    """The next thing to try after a refused request, None when nothing is left to leave out."""
    if error.kind != "bad_request":
        return None
    said = str(error)
    if dialect.token_parameter == "max_tokens" and "max_completion_tokens" in said:
        return replace(dialect, token_parameter="max_completion_tokens")
    if dialect.temperature and "temperature" in said:
        return replace(dialect, temperature=False)
    if asked_schema and dialect.structured != "text":
        return replace(dialect, structured=_STEPS[_STEPS.index(dialect.structured) + 1])
    return None


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        if isinstance(message, str) and message:
            return message
    return error.message


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait (RFC 9110 10.2.3, and OpenAI's ``retry-after-ms``)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None
