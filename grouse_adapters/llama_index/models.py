"""A LlamaIndex LLM as the judge's chat model."""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM, CustomLLM
from llama_index_instrumentation.dispatcher import instrument_tags

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import (
    ChatError,
    ConfigurationError,
    GrouseError,
    UnreachableError,
)
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import Citations, JsonSchema
from grouse_adapters.core.openai_answers import field_of, message_of, retry_after, tokens_of
from grouse_adapters.core.prices import KeptPrices
from grouse_adapters.core.resolve import JudgeSpec, resolve_judge

JUDGE_TAGS: Final = {"grouse": "judge"}
"""Instrumentation tags of every call that a judge makes, so that a trace can leave them out."""

_Form = Literal["json_schema", "json_object", "text"]

_FORMS: Final[tuple[_Form, ...]] = ("json_schema", "json_object", "text")
_SECRET: Final = re.compile(r"key|secret|password|credential|auth|header|^token|_token$")
_KEY_TROUBLE: Final = re.compile(r"api[_ -]?key", re.IGNORECASE)
_CONTEXT: Final = re.compile(r"context.{0,20}(length|size|window)|too many tokens|maximum.*tokens")
_FLAGGED: Final = re.compile(r"moderation|content.?(filter|management|policy)")
_CUT_OFF: Final = frozenset({"length", "max_tokens", "MAX_TOKENS"})


def judge_of(spec: JudgeSpec | LLM, *, citations: Citations) -> Judge:
    """The shared judge that ``judge=`` means.

    Raises:
        ConfigurationError: the specification is of another kind, or a setting is wrong.
    """
    # The default is left out: then a finished judge is taken as it is, and a name means the same
    # judge here and in ``resolve_judge``.
    settings: dict[str, Any] = {} if citations == "required" else {"citations": citations}
    return resolve_judge(spec, adapt=adapt_model, **settings)


def adapt_model(model: object) -> LlamaIndexChat | None:
    """The chat model of a LlamaIndex LLM; None when it is no such object."""
    return LlamaIndexChat(model) if isinstance(model, LLM) else None


class LlamaIndexChat:
    """A ``ChatModel`` that asks a LlamaIndex LLM.

    The LLM's synchronous methods run in threads: its async client belongs to the loop of the
    engine that uses the same object. A ``CustomLLM`` is asked one call at a time, as LlamaIndex
    does, because a model in this process rarely stands two. An LLM with async methods alone runs
    on the judge's loop.

    OpenAI's LLM and its kin are asked for structured output (JSON schema, then a JSON object, then
    plain text, as the server takes it); all others for plain text. The judge works on a copy
    without retries of its own and without the callback manager, so that neither waits add up nor
    traces mix.

    Args:
        llm: the LLM, as the engine has it.

    Raises:
        ConfigurationError: OpenAI's LLM does not know the model's name.
    """

    def __init__(self, llm: LLM) -> None:
        self._openai = _is_openai(llm)
        self._llm = _isolated(llm, retries_too=self._openai)
        try:
            metadata = llm.metadata
        except ValueError as error:
            raise ConfigurationError(
                f"{type(llm).__name__} does not know its model ({_one_line(error)}): for a server "
                "of your own use OpenAILike of llama-index-llms-openai-like."
            ) from None
        named = str(getattr(llm, "model", "") or metadata.model_name)
        self._name = named if named != "unknown" else llm.class_name()
        self._chats = metadata.is_chat_model
        self._form: _Form = "json_schema" if self._openai and self._chats else "text"
        self._async_only = False
        self._one_at_a_time = isinstance(llm, CustomLLM)
        self._turn = threading.Lock()
        self._pid = os.getpid()
        self._settings = _settings(llm, self._name)
        base_url = getattr(llm, "api_base", None)
        self._price = KeptPrices(self._name, base_url) if self._openai else None

    @property
    def name(self) -> str:
        """The model's name, else the LLM's kind."""
        return self._name

    def cache_key(self) -> Mapping[str, Any]:
        """The LLM's kind, its model, and a digest of its other settings without secrets."""
        return self._settings

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``."""
        form: _Form = "text" if schema is None else self._form
        while True:
            outcome = await self._ask(prompt, _extra(form, schema))
            if not isinstance(outcome, BaseException):
                if schema is not None:
                    self._form = max(self._form, form, key=_FORMS.index)
                return self._reply(outcome)
            trouble = self._trouble(outcome)
            refused = isinstance(trouble, ChatError) and trouble.kind == "bad_request"
            if not refused or form == "text":
                # Raised here, outside of any handler: the SDK's error may quote the key.
                raise trouble
            form = _FORMS[_FORMS.index(form) + 1]

    async def aclose(self) -> None:
        """Nothing to free: the connections are the LLM's own."""

    async def _ask(
        self, prompt: str, extra: dict[str, Any]
    ) -> ChatResponse | CompletionResponse | BaseException:
        if not self._async_only:
            outcome = await _in_thread(lambda: self._call(prompt, extra))
            if not isinstance(outcome, NotImplementedError):
                return outcome
            self._async_only = True
        # An empty context: the caller's spans and tags are not the judge's.
        task = asyncio.create_task(self._acall(prompt, extra), context=contextvars.Context())
        try:
            return await task
        except Exception as error:  # noqa: BLE001  # told apart by the caller
            return error

    def _call(self, prompt: str, extra: dict[str, Any]) -> ChatResponse | CompletionResponse:
        with instrument_tags(JUDGE_TAGS):
            if not self._one_at_a_time:
                return self._call_now(prompt, extra)
            if self._pid != os.getpid():  # a fork may have taken the lock along, held
                self._turn, self._pid = threading.Lock(), os.getpid()
            with self._turn:
                return self._call_now(prompt, extra)

    def _call_now(self, prompt: str, extra: dict[str, Any]) -> ChatResponse | CompletionResponse:
        if self._chats:
            return self._llm.chat([ChatMessage(role="user", content=prompt)], **extra)
        return self._llm.complete(prompt, **extra)

    async def _acall(self, prompt: str, extra: dict[str, Any]) -> ChatResponse | CompletionResponse:
        with instrument_tags(JUDGE_TAGS):
            if self._chats:
                return await self._llm.achat([ChatMessage(role="user", content=prompt)], **extra)
            return await self._llm.acomplete(prompt, **extra)

    def _reply(self, response: ChatResponse | CompletionResponse) -> ChatReply:
        text = response.message.content if isinstance(response, ChatResponse) else response.text
        usage = _usage(response)
        cost = self._price.cost(usage) if self._price and usage != Usage() else None
        return ChatReply(
            text=text or "", usage=usage, finish_reason=_finish_reason(response.raw), cost=cost
        )

    def _trouble(self, error: BaseException) -> GrouseError:
        """What a provider's library raised, in our words: each has errors of its own."""
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, GrouseError):
                return cause
            status = _status(cause)
            if status is not None:
                return self._status_error(status, cause)
        if any(isinstance(c, TimeoutError) or "Timeout" in type(c).__name__ for c in causes):
            return ChatError("no reply in time", kind="timeout", retryable=True)
        if any(_unreachable(cause) for cause in causes):
            return UnreachableError(
                f"No server answers for {self._name}: check the address and that it runs."
            )
        if any(
            isinstance(c, ConnectionError) or re.search("Connect|Protocol|Read", type(c).__name__)
            for c in causes
        ):
            return ChatError("the connection was lost", kind="connection", retryable=True)
        said = f"{type(error).__name__}: {self._clean(str(error))}"
        if _KEY_TROUBLE.search(said):
            return ConfigurationError(f"{self._name} has no usable key ({said}): set its API key.")
        return ChatError(f"the model raised {said}", kind="internal")

    def _status_error(self, status: int, error: BaseException) -> GrouseError:
        body = getattr(error, "body", None)
        said = self._clean(message_of(field_of(body, "error")) or message_of(body) or str(error))
        lower = said.lower()
        if status in (400, 403) and _FLAGGED.search(lower):
            return ChatError(f"the server's filter refused: {said}", kind="content_filter")
        if status in (401, 403):
            return ConfigurationError(
                f"The server refused the key ({status}: {said}): check the key and what it may use."
            )
        if status == 404:
            return ConfigurationError(
                f"The server does not know {self._name!r} ({status}: {said}): check the model's "
                "name and the address."
            )
        if status == 402 or (
            status == 429 and re.search("insufficient.quota|current quota", lower)
        ):
            return ConfigurationError(f"The account has no credit left ({said}): add some.")
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        if status == 429:
            return ChatError(
                f"rate limit: {said}",
                kind="rate_limit",
                retryable=True,
                retry_after=retry_after(headers),
            )
        if status >= 500 or status in (408, 409):
            return ChatError(
                f"server error {status}: {said}",
                kind="server_error",
                retryable=True,
                retry_after=retry_after(headers),
            )
        if status == 413 or _CONTEXT.search(lower):
            return ChatError(f"the prompt is too long: {said}", kind="context_length")
        return ChatError(f"request refused ({status}): {said}", kind="bad_request")

    def _clean(self, text: str) -> str:
        """One line without the key."""
        key = getattr(self._llm, "api_key", None)
        if isinstance(key, str) and len(key) >= 4:
            text = text.replace(key, "[key]")
        return _one_line(text)


async def _in_thread(
    work: Callable[[], ChatResponse | CompletionResponse],
) -> ChatResponse | CompletionResponse | BaseException:
    """What ``work`` returns or raises. A daemon: a call that hangs must not hold the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ChatResponse | CompletionResponse | BaseException] = loop.create_future()

    def settle(outcome: ChatResponse | CompletionResponse | BaseException) -> None:
        if not done.done():
            done.set_result(outcome)  # errors too: a future refuses a StopIteration

    def run() -> None:
        outcome: ChatResponse | CompletionResponse | BaseException
        try:
            outcome = contextvars.Context().run(work)
        except BaseException as error:  # noqa: BLE001  # handed over
            outcome = error
        with suppress(RuntimeError):  # the judge was closed meanwhile
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="grouse-llm", daemon=True).start()
    return await done


def _is_openai(llm: LLM) -> bool:
    """Whether it speaks OpenAI's protocol through LlamaIndex's own class, which may not be here."""
    return any(
        kind.__name__ == "OpenAI" and kind.__module__ == "llama_index.llms.openai.base"
        for kind in type(llm).__mro__
    )


def _isolated(llm: LLM, *, retries_too: bool) -> LLM:
    update: dict[str, Any] = {"callback_manager": CallbackManager([])}
    if retries_too:
        update["max_retries"] = 0
    copy = llm.model_copy(update=update)
    client = getattr(copy, "_client", None)
    if retries_too and client is not None:
        copy._client = client.with_options(max_retries=0)  # type: ignore[attr-defined]  # OpenAI's
    return copy


def _settings(llm: LLM, name: str) -> dict[str, Any]:
    fields = {
        field: value
        for field, value in vars(llm).items()
        if not _SECRET.search(field) and field not in ("callback_manager", "max_retries", "timeout")
    }
    # Objects are told apart by kind alone: their text may hold an address in memory.
    text = json.dumps(fields, sort_keys=True, default=lambda value: type(value).__qualname__)
    return {
        "kind": "llama_index",
        "class": f"{type(llm).__module__}.{type(llm).__qualname__}",
        "model": name,
        "settings": hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest(),
    }


def _extra(form: _Form, schema: JsonSchema | None) -> dict[str, Any]:
    if form == "json_schema":
        named = {"name": "judgement", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object"}} if form == "json_object" else {}


def _usage(response: ChatResponse | CompletionResponse) -> Usage:
    """Tokens wherever the integration put them: in the raw answer, or beside it."""
    used = field_of(response.raw, "usage")
    for holder in (used, response.additional_kwargs):
        usage = Usage(
            input_tokens=tokens_of(field_of(holder, "prompt_tokens"))
            or tokens_of(field_of(holder, "input_tokens")),
            output_tokens=tokens_of(field_of(holder, "completion_tokens"))
            or tokens_of(field_of(holder, "output_tokens")),
        )
        if usage != Usage():
            return usage
    return Usage()


def _finish_reason(raw: object) -> str | None:
    choices = field_of(raw, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    for reason in (
        field_of(choice, "finish_reason"),
        field_of(raw, "finish_reason"),
        field_of(raw, "stop_reason"),
        field_of(raw, "done_reason"),
    ):
        if isinstance(reason, str) and reason:
            return "length" if reason in _CUT_OFF else reason
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _unreachable(error: BaseException) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror) or (
        type(error).__name__ == "ConnectError"
    )


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:300].rstrip(".")
