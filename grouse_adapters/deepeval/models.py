"""DeepEval's model objects as chat models: ``OpenAIModel``, ``LocalModel``, any of a user's own."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Mapping
from contextvars import Context
from typing import Any, Final
from urllib.parse import urlsplit

from deepeval.models import DeepEvalBaseLLM
from pydantic import BaseModel, SecretStr

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.core.reply_class import reply_class
from grouse_adapters.deepeval.model_errors import causes, chat_error, cut_off_completion

_SECRET: Final = re.compile(r"header|authori[sz]ation|password|secret|api.?key", re.IGNORECASE)
_LOOP_TROUBLE: Final = re.compile(r"different (event )?loop|event loop is closed", re.IGNORECASE)
_REFUSES_SCHEMA: Final = frozenset({"bad_request", "unreadable", "internal"})


def adapt(model: object) -> DeepEvalChat | None:
    """A chat model that asks ``model``; None when it is no DeepEval model."""
    return DeepEvalChat(model) if isinstance(model, DeepEvalBaseLLM) else None


class DeepEvalChat:
    """A chat model behind a DeepEval model object.

    The metrics make it themselves; use it to build a judge with settings of its own, e.g.
    ``LLMJudge(DeepEvalChat(model), concurrency=2)``.

    ``a_generate`` is asked; where it is not implemented, or its client belongs to another event
    loop, ``generate`` in a thread. The calls run outside the caller's traces and time limits,
    because test cases share them. A model that DeepEval lists as capable of structured output, and
    one of a user's own whose method takes a ``schema``, gets the reply's schema; when it refuses,
    it is asked for plain text from then on. Tokens and cost are those that the model tells: native
    models of DeepEval tell them when their price is known.

    Args:
        model: the model; it stays the caller's and is never closed.
    """

    def __init__(self, model: DeepEvalBaseLLM) -> None:
        self._model = model
        self._takes_schema = _takes_schema(model)
        self._sync_only = False

    @property
    def name(self) -> str:
        """The name that the model gives itself."""
        return str(self._model.get_model_name())

    def cache_key(self) -> Mapping[str, Any]:
        """Class, name and public settings of the model; no keys and no headers."""
        kind = type(self._model)
        return {
            "framework": "deepeval",
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "model": self.name,
            "base_url": _address(getattr(self._model, "base_url", None)),
            "temperature": _plain(getattr(self._model, "temperature", None)),
            "generation_kwargs": _plain(getattr(self._model, "generation_kwargs", None)),
        }

    async def complete(self, prompt: str, *, schema: JsonSchema | None = None) -> ChatReply:
        """See ``ChatModel.complete``."""
        if schema is not None and self._takes_schema:
            try:
                return await self._reply(prompt, {"schema": reply_class(json.dumps(schema))})
            except ChatError as error:
                if error.kind not in _REFUSES_SCHEMA:
                    raise
            reply = await self._reply(prompt, {})
            self._takes_schema = False
            return reply
        return await self._reply(prompt, {})

    async def aclose(self) -> None:
        """Nothing: the model is the caller's."""

    async def _reply(self, prompt: str, arguments: Mapping[str, Any]) -> ChatReply:
        trouble: ChatError | ConfigurationError
        try:
            answer = await self._ask(prompt, arguments)
        except Exception as error:  # noqa: BLE001  # a user's own model may raise anything
            completion = cut_off_completion(error)
            if completion is not None:
                return completion
            trouble = chat_error(error, self.name, _secrets(self._model))
        else:
            return _read(answer)
        # Raised out here: inside the handler the SDK's error, which may quote the key, comes along.
        raise trouble

    async def _ask(self, prompt: str, arguments: Mapping[str, Any]) -> object:
        if not self._sync_only:
            try:
                work = asyncio.get_running_loop().create_task(
                    self._generate(prompt, arguments), context=Context()
                )
                return await work
            except Exception as error:
                reasons = causes(error)
                if not any(isinstance(e, NotImplementedError) or _is_bound(e) for e in reasons):
                    raise
            self._sync_only = True
        return await asyncio.to_thread(
            Context().run, lambda: self._model.generate(prompt, **arguments)
        )

    async def _generate(self, prompt: str, arguments: Mapping[str, Any]) -> object:
        answer: object = self._model.a_generate(prompt, **arguments)
        return await answer if inspect.isawaitable(answer) else answer


def _is_bound(error: BaseException) -> bool:
    """Whether a client belongs to another event loop than the judge's."""
    return isinstance(error, RuntimeError) and bool(_LOOP_TROUBLE.search(str(error)))


def _takes_schema(model: DeepEvalBaseLLM) -> bool:
    method = type(model).a_generate
    if method.__module__.startswith("deepeval."):
        # The others drop the reply when it is not exactly the JSON that was asked for.
        return model.supports_structured_outputs() is True
    parameters = inspect.signature(method).parameters.values()
    return any(p.name == "schema" or p.kind is p.VAR_KEYWORD for p in parameters)


def _read(answer: object) -> ChatReply:
    cost: object = None
    if isinstance(answer, tuple) and len(answer) == 2:
        answer, cost = answer
    return ChatReply(
        text=_text(answer),
        usage=Usage(
            input_tokens=getattr(cost, "input_tokens", None) or 0,
            output_tokens=getattr(cost, "output_tokens", None) or 0,
        ),
        cost=_dollars(getattr(cost, "value", cost)),  # a price that is unknown is 0.0 outside
    )


def _text(answer: object) -> str:
    if isinstance(answer, BaseModel):
        return answer.model_dump_json()
    if answer is None or isinstance(answer, str):
        return answer or ""
    return json.dumps(answer, ensure_ascii=False, default=str)


def _dollars(cost: object) -> float | None:
    known = isinstance(cost, int | float) and not isinstance(cost, bool)
    return float(cost) if known else None  # type: ignore[arg-type]  # a number here


def _secrets(model: DeepEvalBaseLLM) -> list[str]:
    values = vars(model).values()
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def _address(base_url: object) -> str | None:
    if base_url is None:
        return None
    parts = urlsplit(str(base_url))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _plain(value: object) -> Any:
    """``value`` as JSON takes it, without what may be secret."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items() if not _SECRET.search(str(k))}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    known = value is None or isinstance(value, str | int | float | bool)
    return value if known else type(value).__qualname__
