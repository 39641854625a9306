"""What each endpoint of the scripted server answers: settings, faults and replies in, JSON out."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.testing import wire
from grouse_adapters.testing.faults import (
    ContentFilter,
    CutOff,
    Dropped,
    Fault,
    Faults,
    Garbage,
    Hang,
    HttpError,
    RawBody,
    ServedRequest,
    choose,
    fault_of,
)
from grouse_adapters.testing.request import ScriptedRequest
from grouse_adapters.testing.script import ReplySource, reply_text, token_count

_THOUGHTS: Final = 64  # tokens that each reply of a reasoning model adds to the books
_NO_LIMIT: Final = 2**62
_MAX_CHOICES: Final = 128
_TO_BE_CUT: Final = '{"answer_1": {"completeness_justification": "The answer'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What ``ScriptedServer`` was told; see there."""

    replies: ReplySource
    faults: Faults
    latency: float | Callable[[ServedRequest], float]
    api_key: str | None
    models: tuple[str, ...] | None
    rejects: frozenset[str]
    reasoning: bool
    context_length: int | None
    embed: Callable[[str], Sequence[float]] | None
    dimensions: int
    log: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer.

    Attributes:
        events: the body of a stream, event by event; None: ``body`` at once.
        paid: whether a model wrote it.
        lost: whether the connection ends half-way.
    """

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    events: list[bytes] | None = None
    paid: bool = False
    lost: bool = False


Outcome = Answer | Dropped | Hang
Endpoint = Callable[[ServedRequest, bytes], Awaitable[Outcome]]


class RefusedError(Exception):
    """The request ends with this HTTP error, though no fault asked for it."""

    def __init__(self, error: HttpError) -> None:
        super().__init__(error.message)
        self.error = error


def error_answer(error: HttpError) -> Answer:
    """The answer that tells an error."""
    body = json.dumps(wire.error_body(error)).encode()
    return Answer(body, status=error.status, headers=wire.retry_headers(error))


def wrong_key(authorization: str) -> RefusedError:
    """401 for a key that is missing or not the right one."""
    sent = authorization.removeprefix("Bearer").strip()
    # The key comes back in the message, as some servers do: clients must not pass it on.
    said = f"Incorrect API key provided: {sent}." if sent else "No API key was provided."
    return RefusedError(HttpError(401, said, "invalid_request_error", "invalid_api_key"))


class Endpoints:
    """The endpoints of one server; each takes a request and its raw body."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._attempts: Counter[int] = Counter()
        self.script_errors: list[BaseException] = []

    def reset(self) -> None:
        """Forgets attempts and errors."""
        self._attempts = Counter()
        self.script_errors = []

    async def models(self, served: ServedRequest, raw: bytes) -> Outcome:
        """``GET /v1/models``."""
        names = self._settings.models or ("scripted",)
        return _json({"object": "list", "data": [wire.model_entry(name) for name in names]})

    async def model(self, served: ServedRequest, raw: bytes) -> Outcome:
        """``GET /v1/models/{id}``."""
        name = served.path.removeprefix("/v1/models/")
        self._check_model(name)
        return _json(wire.model_entry(name))

    async def unknown(self, served: ServedRequest, raw: bytes) -> Outcome:
        """Every other address."""
        said = f"Unknown request: {served.method} {served.path}."
        raise RefusedError(HttpError(404, said, "invalid_request_error"))

    async def chat(self, served: ServedRequest, raw: bytes) -> Outcome:
        """``POST /v1/chat/completions``."""
        body = self._body(served, raw)
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            raise RefusedError(_bad("'messages' must be a list that is not empty.", "messages"))
        schema = wire.schema_of(body)
        served.prompt = wire.prompt_of(body)
        served.metrics = ScriptedRequest.read(served.prompt, schema).metrics
        self._check_parameters(body)
        self._check_length(served)
        fault = self._fault(served)
        if isinstance(fault, HttpError | Hang | RawBody) or fault == Dropped():
            return _played(fault)
        if fault == ContentFilter("prompt"):
            raise RefusedError(_filtered())
        await self._wait(served)
        replies: list[ChatReply] = []
        for _ in range(_positive(body, "n", 1, most=_MAX_CHOICES)):
            reply = await self._reply(served, schema)
            if isinstance(reply, ChatReply):
                replies.append(reply)
                continue
            fault = served.fault = reply
            if not isinstance(fault, CutOff | Garbage):
                return _played(fault)
            replies.append(ChatReply(text=_TO_BE_CUT))
        answer = self._completion(served, replies, fault)
        return replace(answer, lost=isinstance(fault, Dropped))

    async def embeddings(self, served: ServedRequest, raw: bytes) -> Outcome:
        """``POST /v1/embeddings``."""
        body = self._body(served, raw)
        try:
            texts = wire.embedding_inputs(body)
        except ValueError as error:
            raise RefusedError(_bad(str(error), "input")) from None
        served.prompt = "\n\n".join(texts)
        fault = self._fault(served)
        if isinstance(fault, HttpError | Hang | RawBody) or fault == Dropped():
            return _played(fault)
        await self._wait(served)
        length = _positive(body, "dimensions", self._settings.dimensions)
        try:
            vectors = [wire.embed(text, length, self._settings.embed) for text in texts]
        except Exception as error:
            raise self._script_error(error) from error
        tokens = sum(token_count(text) for text in texts)
        b64 = body.get("encoding_format") == "base64"
        answer = _json(wire.embeddings(str(body["model"]), vectors, tokens, b64=b64))
        if not isinstance(fault, Dropped):
            served.fault = None  # the others are about chat replies
        return replace(answer, lost=isinstance(fault, Dropped))

    def _body(self, served: ServedRequest, raw: bytes) -> Mapping[str, Any]:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise RefusedError(_bad("The body of the request is not a JSON object."))
        served.body = body
        self._check_model(body.get("model"))
        return body

    def _check_model(self, name: object) -> None:
        models = self._settings.models
        if not isinstance(name, str) or not name:
            raise RefusedError(_bad("You must name a model.", "model"))
        if models is not None and name not in models:
            said = f"The model '{name}' does not exist or you may not use it."
            error = HttpError(404, said, "invalid_request_error", "model_not_found", "model")
            raise RefusedError(error)

    def _check_parameters(self, body: Mapping[str, Any]) -> None:
        wanted = body.get("response_format")
        form = wanted.get("type") if isinstance(wanted, Mapping) else None
        rejects = self._settings.rejects
        if form in rejects:
            said = f"'response_format' of type '{form}' is not supported with this model."
            raise RefusedError(_bad(said, "response_format"))
        for name in sorted(rejects):
            if body.get(name) is not None:
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                raise RefusedError(_bad(said, name, "unsupported_parameter"))
        if not self._settings.reasoning:
            return
        if body.get("max_tokens") is not None:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            raise RefusedError(_bad(said, "max_tokens", "unsupported_parameter"))
        if body.get("temperature") not in (None, 1):
            said = "Unsupported value: 'temperature' must be 1 with this model."
            raise RefusedError(_bad(said, "temperature", "unsupported_value"))

    def _check_length(self, served: ServedRequest) -> None:
        limit, tokens = self._settings.context_length, token_count(served.prompt)
        if limit is not None and tokens > limit:
            said = (
                f"This model's maximum context length is {limit} tokens, but your messages "
                f"have {tokens} tokens."
            )
            raise RefusedError(_bad(said, "messages", "context_length_exceeded"))

    def _fault(self, served: ServedRequest) -> Fault | None:
        key = hash((served.path, served.prompt))
        self._attempts[key] += 1
        served.attempt = self._attempts[key]
        try:
            served.fault = choose(self._settings.faults, served)
        except Exception as error:
            raise self._script_error(error) from error
        return served.fault

    async def _wait(self, served: ServedRequest) -> None:
        latency = self._settings.latency
        try:
            seconds = latency(served) if callable(latency) else latency
        except Exception as error:
            raise self._script_error(error) from error
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def _reply(self, served: ServedRequest, schema: JsonSchema | None) -> ChatReply | Fault:
        try:
            reply = await self._settings.replies.reply(served.prompt, schema)
        except ChatError as error:
            return fault_of(error)
        except Exception as error:
            raise self._script_error(error) from error
        if isinstance(reply, ChatError):
            return fault_of(reply)
        if isinstance(reply, BaseException):
            raise self._script_error(reply)
        return reply if isinstance(reply, ChatReply) else ChatReply(text=reply_text(reply))

    def _script_error(self, error: BaseException) -> RefusedError:
        self.script_errors.append(error)
        # Status 400: a client that tries again would only hide the mistake for a while.
        said = f"The script failed: {type(error).__name__}: {error}"
        return RefusedError(_bad(said, code="script_error"))

    def _completion(
        self, served: ServedRequest, replies: list[ChatReply], fault: Fault | None
    ) -> Answer:
        body = served.body
        room = min(_positive(body, name, _NO_LIMIT) for name in _TOKEN_LIMITS)
        tool = wire.tool_of(body)
        written = [_written(reply, fault, room, tool) for reply in replies]
        thoughts = _THOUGHTS * len(written) if self._settings.reasoning else 0
        usage = Usage(
            input_tokens=token_count(served.prompt),
            output_tokens=thoughts + sum(token_count(choice.text) for choice in written),
        )
        if replies[0].usage != Usage():
            usage = replies[0].usage
        identifier, model = f"{served.number:012d}", str(body["model"])
        if not body.get("stream"):
            content = wire.completion(identifier, model, written, usage, thoughts)
            return replace(_json(content), paid=True)
        options = body.get("stream_options") or {}
        events = wire.completion_events(
            identifier,
            model,
            written,
            usage,
            thoughts,
            include_usage=bool(options.get("include_usage")),
        )
        return Answer(b"", content_type="text/event-stream", events=events, paid=True)


_TOKEN_LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _written(reply: ChatReply, fault: Fault | None, room: int, tool: str | None) -> wire.Written:
    text = reply.text
    finish_reason = reply.finish_reason or ("stop" if tool is None else "tool_calls")
    if isinstance(fault, Garbage):
        text = fault.text
    elif isinstance(fault, ContentFilter):
        text, finish_reason = "", "content_filter"
    elif isinstance(fault, CutOff):
        text, finish_reason = text[: int(len(text) * fault.keep)], "length"
    if token_count(text) > room:
        text, finish_reason = text[: room * 4], "length"
    return wire.Written(text, finish_reason, tool)


def _played(fault: Fault) -> Outcome:
    if isinstance(fault, HttpError):
        return error_answer(fault)
    if isinstance(fault, RawBody):
        return Answer(fault.body.encode(), fault.content_type, fault.status)
    if isinstance(fault, ContentFilter):
        return error_answer(_filtered())
    return fault if isinstance(fault, Hang) else Dropped()


def _json(content: Mapping[str, Any]) -> Answer:
    return Answer(json.dumps(content).encode())


def _bad(message: str, param: str | None = None, code: str | None = None) -> HttpError:
    return HttpError(400, message, "invalid_request_error", code, param)


def _filtered() -> HttpError:
    return _bad("The prompt was stopped by a content filter.", "prompt", "content_filter")


def _positive(body: Mapping[str, Any], name: str, default: int, *, most: int = _NO_LIMIT) -> int:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise RefusedError(_bad(f"'{name}' must be a whole number from 1 on.", name))
    return value
