"""RAGAS' model objects as the judge's chat model: ``llm_factory`` and the older wrappers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import openai
from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompt_values import StringPromptValue
from pydantic import BaseModel
from ragas.llms.base import (
    BaseRagasLLM,
    InstructorBaseRagasLLM,
    InstructorLLM,
    LangchainLLMWrapper,
)

from grouse_adapters.core.chat import ChatModel, ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.core.openai_answers import field_of, text_of, tokens_of
from grouse_adapters.core.openai_chat import OpenAIChat
from grouse_adapters.core.reply_class import reply_class

_DEFAULT_MAX_TOKENS: Final = 1024
_DEFAULT_TRANSPORT: Final = "AsyncHttpxClientWrapper"  # what openai makes when given none
_SDK_ARGUMENTS: Final = frozenset(
    {"messages", "model", "response_format", "response_model", "stream", "n", "max_retries"}
    | {"extra_body", "extra_headers", "extra_query", "timeout", "strict", "context", "hooks"}
)
_SECRET: Final = re.compile(r"key|secret|password|token(?!s)|auth|credential|header", re.IGNORECASE)
_THREADS: Final = 32


def adapt(model: object) -> ChatModel | None:
    """A chat model that asks ``model``; None when it is no model of RAGAS or LangChain.

    Taken are what ``llm_factory`` returns, every other ``InstructorBaseRagasLLM`` or
    ``BaseRagasLLM``, and LangChain models, bare (as ``evaluate(llm=...)`` takes them) or wrapped.
    """
    if isinstance(model, LangchainLLMWrapper):
        model = model.langchain_llm
    if isinstance(model, BaseLanguageModel):
        from grouse_adapters.langchain.models import chat_model

        return chat_model(model)
    if isinstance(model, InstructorLLM):
        client = getattr(model.client, "client", None)
        if isinstance(client, openai.AsyncOpenAI | openai.OpenAI):
            return RagasOpenAIChat(model, client)
    if isinstance(model, InstructorBaseRagasLLM):
        return InstructorChat(model)
    if isinstance(model, BaseRagasLLM):
        return TextChat(model)
    return None


class RagasOpenAIChat(OpenAIChat):
    """The OpenAI client inside an ``llm_factory`` model, asked directly.

    Going past RAGAS keeps the four calls four (instructor repeats a call whose reply it cannot
    read), asks for strict JSON schema and keeps the raw reply. The model's name, address, key,
    headers, temperature and other settings stay those of the object. ``max_tokens`` does too,
    unless it is 1024: that is RAGAS' default, which is too short for an analysis sentence by
    sentence.

    Args:
        llm: what ``llm_factory`` returned.
        client: the client in it. A client with an ``http_client`` of its own keeps it; else
            connections of the judge's loop are opened, because a client that several loops share
            loses calls.

    Raises:
        ConfigurationError: as ``OpenAIChat``.
    """

    def __init__(self, llm: InstructorLLM, client: openai.AsyncOpenAI | openai.OpenAI) -> None:
        settings = llm._map_provider_params()
        reasoning = "max_completion_tokens" in settings
        max_tokens = settings.pop("max_completion_tokens", None) or settings.get("max_tokens")
        settings.pop("max_tokens", None)
        temperature = settings.pop("temperature", None)
        given = {name: settings.pop(name, None) for name in _SDK_ARGUMENTS}
        timeout = given["timeout"] or client.timeout
        key = client.api_key if re.fullmatch(r"[!-~]+", client.api_key or "") else None
        super().__init__(
            llm.model,
            base_url=str(client.base_url),
            api_key=key,
            timeout=float(timeout) if isinstance(timeout, int | float) else 120.0,
            max_tokens=None if max_tokens == _DEFAULT_MAX_TOKENS else max_tokens,
            temperature=temperature or 0.0,
            # RAGAS knows some reasoning models that we do not, and the other way round.
            reasoning=reasoning or None,
            extra_body={**settings, **(given["extra_body"] or {})},
        )
        if self._settings["temperature"] is None:  # a reasoning model, which takes neither
            self._extra_body.pop("top_p", None)
        self._system = getattr(llm, "system_prompt", None)
        self._pool = ThreadPoolExecutor(_THREADS, "grouse-ragas-call")
        self._client = client.copy(
            max_retries=0,
            default_headers=given["extra_headers"],
            default_query=given["extra_query"],
        )

    def cache_key(self) -> Mapping[str, Any]:
        """Model, server, parameters and the system prompt."""
        return {**super().cache_key(), "system": self._system}

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``. A system prompt goes in front of the prompt."""
        if self._system:
            prompt = f"{self._system}\n\n{prompt}"
        return await super().complete(prompt, schema=schema)

    def _connected(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if loop in self._clients:
            return self._clients[loop]
        if isinstance(self._client, openai.OpenAI):
            threaded: openai.AsyncOpenAI = self._in_threads(self._client)
            return threaded
        if type(self._client._client).__name__ != _DEFAULT_TRANSPORT:
            return self._client
        own = openai.DefaultAioHttpClient(timeout=self._timeout)
        self._clients[loop] = self._client.copy(http_client=own)
        return self._clients[loop]

    def _in_threads(self, client: openai.OpenAI) -> Any:
        """The one method of an async client that is used here, on a client that has none."""

        async def create(**arguments: Any) -> Any:
            work = partial(client.chat.completions.create, **arguments)
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


class InstructorChat:
    """Any other model of RAGAS' present interface: LiteLLM, Anthropic, a class of your own.

    It is asked with ``agenerate`` (or ``generate``, on a thread) for an object with the reply's
    schema, which any object passes: judging the reply is ours. A cache that the model was given
    is passed over, for its key leaves the model out.

    Args:
        llm: the model; it stays the caller's and is never closed.
    """

    def __init__(self, llm: InstructorBaseRagasLLM) -> None:
        self._llm = llm
        self._pool = ThreadPoolExecutor(_THREADS, "grouse-ragas-call")

    @property
    def name(self) -> str:
        """The model's name."""
        return _name(self._llm)

    def cache_key(self) -> Mapping[str, Any]:
        """Class, provider, name and arguments of the model; no keys and no headers."""
        return {
            **_described(self._llm),
            "provider": _plain(getattr(self._llm, "provider", None)),
            "system": _plain(getattr(self._llm, "system_prompt", None)),
            "arguments": _plain(getattr(self._llm, "model_args", None)),
        }

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``."""
        wanted = reply_class(json.dumps(schema or {"type": "object"}))
        trouble: ChatError | ConfigurationError
        try:
            answer = await self._ask(prompt, wanted)
        except Exception as error:  # noqa: BLE001  # whatever a provider raises is translated
            unread = _unread(error)
            if unread is not None:
                return unread
            trouble = _translated(error, self.name, _keys(getattr(self._llm, "client", None)))
        else:
            return ChatReply(
                text=answer.model_dump_json(),
                usage=_usage(field_of(getattr(answer, "_raw_response", None), "usage")),
            )
        # Raised out here: inside the handler the SDK's error, which may quote the key, comes along.
        raise trouble

    async def aclose(self) -> None:
        """Ends the threads; the model is the caller's."""
        self._pool.shutdown(wait=False)

    async def _ask(self, prompt: str, wanted: type[BaseModel]) -> BaseModel:
        # By the class: the instance's own attribute may be wrapped in RAGAS' cache.
        kind = type(self._llm)
        if getattr(self._llm, "is_async", True):
            return await kind.agenerate(self._llm, prompt, wanted)
        work = partial(kind.generate, self._llm, prompt, wanted)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


class TextChat:
    """A model of RAGAS' older interface, such as ``LlamaIndexLLMWrapper``, asked for plain text.

    Args:
        llm: the model; it stays the caller's and is never closed.
    """

    def __init__(self, llm: BaseRagasLLM) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        """The model's name."""
        return _name(getattr(self._llm, "llm", None) or self._llm)

    def cache_key(self) -> Mapping[str, Any]:
        """Class and name of the model and of what it wraps."""
        inner = getattr(self._llm, "llm", None)
        return {**_described(self._llm), "of": None if inner is None else _described(inner)}

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``; ``schema`` is not passed on."""
        trouble: ChatError | ConfigurationError
        try:
            # By the class: the instance's own attribute may be wrapped in RAGAS' cache.
            result = await type(self._llm).agenerate_text(
                self._llm, StringPromptValue(text=prompt), n=1
            )
        except Exception as error:  # noqa: BLE001  # whatever a provider raises is translated
            trouble = _translated(error, self.name, _keys(getattr(self._llm, "llm", None)))
        else:
            generation = result.generations[0][0]
            reason = field_of(generation.generation_info, "finish_reason")
            return ChatReply(
                text=generation.text,
                usage=_usage(field_of(result.llm_output, "token_usage")),
                finish_reason=reason if isinstance(reason, str) else None,
            )
        raise trouble

    async def aclose(self) -> None:
        """Nothing: the model is the caller's."""


def _unread(error: Exception) -> ChatReply | None:
    """The reply that instructor could not read, where it came with the error: ours reads more."""
    if type(error).__name__ not in ("InstructorRetryException", "IncompleteOutputException"):
        return None
    completion = getattr(error, "last_completion", None)
    choices = field_of(completion, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    content = field_of(field_of(choice, "message"), "content") or field_of(completion, "content")
    reason = field_of(choice, "finish_reason") or field_of(completion, "stop_reason")
    if completion is None or not (text_of(content) or reason):
        return None
    return ChatReply(
        text=text_of(content),
        usage=_usage(getattr(error, "total_usage", None) or field_of(completion, "usage")),
        finish_reason="length" if reason in ("length", "max_tokens") else reason,
    )


def _translated(
    error: Exception, model: str, secrets: Iterable[str]
) -> ChatError | ConfigurationError:
    from grouse_adapters.langchain.model_errors import as_judge_error

    return as_judge_error(error, model=model, secrets=secrets)


def _keys(client: object) -> list[str]:
    """The API keys of a client and of the one inside it, which no error may show."""
    found = (field_of(holder, "api_key") for holder in (client, field_of(client, "client")))
    return [key for key in found if isinstance(key, str) and key]


def _usage(used: object) -> Usage:
    return Usage(
        input_tokens=tokens_of(field_of(used, "prompt_tokens") or field_of(used, "input_tokens")),
        output_tokens=tokens_of(
            field_of(used, "completion_tokens") or field_of(used, "output_tokens")
        ),
    )


def _name(model: object) -> str:
    for holder in (model, getattr(model, "metadata", None)):
        for attribute in ("model", "model_name"):
            value = field_of(holder, attribute)
            if isinstance(value, str) and value:
                return value
    return type(model).__name__


def _described(model: object) -> dict[str, Any]:
    kind = type(model)
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "model": _name(model)}


def _plain(value: object) -> Any:
    """``value`` as JSON takes it, without what may be secret."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if not _SECRET.search(str(k))}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    known = value is None or isinstance(value, str | int | float | bool)
    return value if known else type(value).__qualname__
