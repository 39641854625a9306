"""A LangChain model as the judge's chat model."""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, Literal, TypeVar

from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langsmith.run_helpers import tracing_context
from pydantic import BaseModel, SecretStr

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.core.openai_answers import field_of, tokens_of
from grouse_adapters.core.prices import KeptPrices
from grouse_adapters.langchain.extract import content_text
from grouse_adapters.langchain.model_errors import as_judge_error

JUDGE_TAG: Final = "grouse-judge"
"""Marks the judge's own calls, so that a callback bound to the model does not judge them."""

T = TypeVar("T")

_Form = Literal["strict schema", "schema", "text"]
_FORMS: Final[tuple[_Form, ...]] = ("strict schema", "schema", "text")
_SECRET_NAME: Final = re.compile(
    r"key|secret|password|token(?!s)|auth|credential|header|cookie|organi[sz]ation", re.IGNORECASE
)
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/@]+@")
_NO_SETTING: Final = frozenset(
    {"callbacks", "callback_manager", "verbose", "cache", "tags", "metadata", "profile"}
)


def chat_model(model: object) -> LangChainChat | None:
    """The chat model behind a LangChain model object; None when it is no such object.

    Any ``Runnable`` that answers a prompt with a message or a text will do: a chat model, a
    completion model, either of them bound to settings, with retries or with fallbacks.
    """
    return LangChainChat(model) if isinstance(model, Runnable) else None


class LangChainChat:
    """A ``ChatModel`` that asks a LangChain model.

    Structured output is asked for where the model has it: a strict schema, then a plain one, then
    text; what the model refuses is remembered. Callbacks, tracers and tags of the model and of the
    chain around the judge do not see these calls.

    Calls are made with ``invoke``, each on a thread of its own: a model's async client belongs to
    the loop that used it first, which is the application's, not the judge's. Only a model that
    cannot ``invoke`` is awaited on the judge's loop.

    Args:
        model: the model.
    """

    def __init__(self, model: Runnable[Any, Any]) -> None:
        self._model = _without_callbacks(model)
        core = _core(model)
        self._name = _name(core)
        self._key = {"kind": "langchain", **_settings(model)}
        self._secrets = tuple(_secrets(model))
        self._form: _Form = _FORMS[0] if isinstance(model, BaseChatModel) else "text"
        self._structured: dict[tuple[_Form, str], Runnable[Any, Any]] = {}
        self._only_async = False
        address = field_of(field_of(core, "root_client"), "base_url")
        self._prices = KeptPrices(self._name, str(address)) if address else None

    @property
    def name(self) -> str:
        """The model's name, as its provider calls it."""
        return self._name

    def cache_key(self) -> Mapping[str, Any]:
        """Class and settings of the model, without keys, tokens and headers."""
        return self._key

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``."""
        form: _Form = self._form if schema is not None else "text"
        while True:
            try:
                reply = await self._asked(form, prompt, schema)
                trouble = None
            except Exception as error:  # noqa: BLE001  # whatever a provider raises is translated
                cut_off = _cut_off(error)
                if cut_off is not None:
                    return cut_off
                trouble = as_judge_error(error, model=self._name, secrets=self._secrets)
            if trouble is None:
                if schema is not None:
                    self._form = max(self._form, form, key=_FORMS.index)
                return reply
            if form == "text" or not _may_be_the_form(trouble):
                # Out here: inside the handler the provider's error, which may quote the key,
                # would come along.
                raise trouble
            form = _FORMS[_FORMS.index(form) + 1]

    async def aclose(self) -> None:
        """Nothing to close: the model's connections are its owner's."""

    async def _asked(self, form: _Form, prompt: str, schema: JsonSchema | None) -> ChatReply:
        runnable = self._model
        if form != "text" and schema is not None:
            runnable = self._with_schema(form, schema)
        return self._read(await self._output(runnable, prompt))

    def _with_schema(self, form: _Form, schema: JsonSchema) -> Runnable[Any, Any]:
        key = (form, json.dumps(schema, sort_keys=True))
        if key not in self._structured:
            if not isinstance(self._model, BaseChatModel):
                raise NotImplementedError
            named = {"title": "judgement", "description": "The judge's reply.", **schema}
            strict = {"strict": True} if form == "strict schema" else {}
            self._structured[key] = self._model.with_structured_output(
                named, include_raw=True, **strict
            )
        return self._structured[key]

    async def _output(self, runnable: Runnable[Any, Any], prompt: str) -> Any:
        config: RunnableConfig = {"callbacks": [], "tags": [JUDGE_TAG]}

        def invoke() -> Any:
            with tracing_context(enabled=False):
                return runnable.invoke(prompt, config)

        async def ainvoke() -> Any:
            with tracing_context(enabled=False):
                return await runnable.ainvoke(prompt, config)

        if not self._only_async:
            try:
                return await _on_a_thread(invoke)
            except NotImplementedError:
                # Raised below when the async way is missing too.
                pass
        # An empty context: the caller's carries the run that this call must not become part of.
        loop = asyncio.get_running_loop()
        output = await loop.create_task(ainvoke(), context=contextvars.Context())
        self._only_async = True
        return output

    def _read(self, output: Any) -> ChatReply:
        raw = output
        if isinstance(output, Mapping) and "raw" in output:
            raw = output["raw"]
        if isinstance(raw, str):
            return ChatReply(text=raw)
        if isinstance(raw, BaseMessage):
            return self._read_message(raw)
        parsed = field_of(output, "parsed")
        if isinstance(parsed, BaseModel):
            return ChatReply(text=parsed.model_dump_json())
        if isinstance(parsed, Mapping):
            return ChatReply(text=json.dumps(parsed))
        raise ConfigurationError(
            f"The judge's model answered with {type(output).__name__} instead of a message or a "
            "text: give the model itself as judge."
        )

    def _read_message(self, message: BaseMessage) -> ChatReply:
        details = message.response_metadata
        reasons = (details.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
        reason = next((reason for reason in reasons if isinstance(reason, str)), None)
        text = _tool_arguments(message) or content_text(message.content)
        refusal = message.additional_kwargs.get("refusal") or _refusal_block(message)
        if refusal or reason == "refusal":
            text, reason = text or str(refusal or ""), "content_filter"
        used = getattr(message, "usage_metadata", None)
        if isinstance(used, Mapping) and used.get("total_cost") == 0:
            return ChatReply(text=text, finish_reason=reason, cost=0.0)  # from LangChain's cache
        usage = _usage(used or details.get("token_usage"))
        cost = self._prices.cost(usage) if self._prices and usage != Usage() else None
        return ChatReply(text=text, usage=usage, finish_reason=reason, cost=cost)


async def _on_a_thread(work: Callable[[], T]) -> T:
    """``work`` on a daemon thread, so that a call that hangs does not keep the program from ending.

    The thread has an empty context: the work does not become part of the caller's trace.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # raised where it is awaited
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    outcome.set_running_or_notify_cancel()
    threading.Thread(target=run, name="grouse-langchain-call", daemon=True).start()
    return await asyncio.wrap_future(outcome)


def _may_be_the_form(error: Exception) -> bool:
    """Whether asking for a weaker form of reply may help."""
    return isinstance(error, ChatError) and error.kind in ("bad_request", "internal")


def _cut_off(error: BaseException) -> ChatReply | None:
    """The reply in the openai client's error about a structured reply that ran out of tokens."""
    completion = getattr(error, "completion", None)
    choices = field_of(completion, "choices")
    if type(error).__name__ != "LengthFinishReasonError" or not choices:
        return None
    text = content_text(field_of(field_of(choices[0], "message"), "content"))
    usage = _usage(field_of(completion, "usage"))
    return ChatReply(text=text, usage=usage, finish_reason="length")


def _tool_arguments(message: BaseMessage) -> str:
    for call in getattr(message, "tool_calls", None) or ():
        return json.dumps(call["args"])
    for call in getattr(message, "invalid_tool_calls", None) or ():
        return str(call["args"] or "")  # our parser reads more than LangChain's does
    return ""


def _refusal_block(message: BaseMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else []
    said = (field_of(block, "refusal") for block in blocks)
    return next((text for text in said if isinstance(text, str)), "")


def _usage(used: object) -> Usage:
    return Usage(
        input_tokens=tokens_of(field_of(used, "input_tokens") or field_of(used, "prompt_tokens")),
        output_tokens=tokens_of(
            field_of(used, "output_tokens") or field_of(used, "completion_tokens")
        ),
    )


def _core(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The model inside of bindings, retries and fallbacks."""
    inner = getattr(model, "bound", None) or getattr(model, "runnable", None)
    if isinstance(model, BaseLanguageModel) or not isinstance(inner, Runnable):
        return model
    return _core(inner)


def _without_callbacks(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The model, or a copy without the callbacks that its owner gave it for other calls."""
    if isinstance(model, BaseLanguageModel) and model.callbacks:
        return model.model_copy(update={"callbacks": None})
    if isinstance(model, RunnableBinding):
        config = {name: value for name, value in model.config.items() if name != "callbacks"}
        return model.model_copy(update={"config": config, "bound": _without_callbacks(model.bound)})
    return model


def _name(model: Runnable[Any, Any]) -> str:
    for attribute in ("model_name", "model", "model_id", "deployment_name", "repo_id", "_llm_type"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _settings(value: Any) -> dict[str, Any]:
    """What decides a model's replies, as JSON: plain settings by name, secrets left out."""
    settings: dict[str, Any] = {"class": f"{type(value).__module__}.{type(value).__qualname__}"}
    for name, field in type(value).model_fields.items() if isinstance(value, BaseModel) else ():
        if name not in _NO_SETTING and not field.exclude and not _SECRET_NAME.search(name):
            settings[name] = _plain(getattr(value, name))
    return settings


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _USER_IN_URL.sub("", value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if not _SECRET_NAME.search(str(k))}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return _settings(value)


def _secrets(value: Any) -> Iterator[str]:
    """Texts of the model, however deep, that no error may show."""
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            if name not in _NO_SETTING:
                yield from _secrets(getattr(value, name, None))
