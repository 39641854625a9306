"""OpenAI's JSON: chat completions, streams, models, embeddings and errors. Pure functions."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Final

from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema
from grouse_adapters.testing.faults import HttpError

Json = dict[str, Any]

CREATED: Final = 1_725_900_000
"""A fixed time stamp (seconds since 1970): equal requests get equal answers."""

_PIECE: Final = 24  # characters per streamed chunk, so that a reply comes in several


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote for one choice.

    Attributes:
        text: the text; arguments of the tool call where ``tool`` is given.
        finish_reason: ``stop``, ``length``, ``content_filter`` or ``tool_calls``.
        tool: name of the function that the caller forced the model to call.
    """

    text: str
    finish_reason: str
    tool: str | None = None


def prompt_of(body: Mapping[str, Any]) -> str:
    """The text of all messages, empty lines between; parts that are no text are left out."""
    messages = body.get("messages")
    texts: list[str] = []
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            texts.append("".join(part for part in parts if isinstance(part, str)))
    return "\n\n".join(texts)


def schema_of(body: Mapping[str, Any]) -> JsonSchema | None:
    """The schema of the wanted reply: of ``response_format``, else of the forced tool."""
    wanted = body.get("response_format")
    if isinstance(wanted, Mapping) and wanted.get("type") == "json_schema":
        schema = (wanted.get("json_schema") or {}).get("schema")
        return schema if isinstance(schema, dict) else None
    function = _forced_function(body)
    schema = function.get("parameters") if function else None
    return schema if isinstance(schema, dict) else None


def tool_of(body: Mapping[str, Any]) -> str | None:
    """Name of the function that the model must call, None when it may write text."""
    function = _forced_function(body)
    return str(function["name"]) if function else None


def _forced_function(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choice = body.get("tool_choice")
    named = choice.get("function", {}).get("name") if isinstance(choice, Mapping) else None
    if named is None and choice != "required":
        return None
    for tool in body.get("tools") or ():
        function = tool.get("function", {})
        if named is None or function.get("name") == named:
            found: Mapping[str, Any] = function
            return found
    return None


def completion(
    identifier: str, model: str, written: Sequence[Written], usage: Usage, thoughts: int
) -> Json:
    """A chat completion with one choice per text."""
    choices = []
    for index, choice in enumerate(written):
        message: Json = {"role": "assistant", "content": choice.text, "refusal": None}
        if choice.tool is not None:
            message["content"] = None
            message["tool_calls"] = [_tool_call(identifier, index, choice)]
        choices.append(
            {
                "index": index,
                "message": message,
                "logprobs": None,
                "finish_reason": choice.finish_reason,
            }
        )
    return {
        "id": f"chatcmpl-{identifier}",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": choices,
        "usage": _usage(usage, thoughts),
        "system_fingerprint": "fp_scripted",
    }


def completion_events(
    identifier: str,
    model: str,
    written: Sequence[Written],
    usage: Usage,
    thoughts: int,
    *,
    include_usage: bool,
) -> list[bytes]:
    """The same as server-sent events, one chunk each, closed by ``[DONE]``."""
    frame: Json = {
        "id": f"chatcmpl-{identifier}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "system_fingerprint": "fp_scripted",
    }
    if include_usage:
        frame["usage"] = None
    chunks: list[Json] = []
    for index, choice in enumerate(written):
        for number, delta in enumerate(_deltas(identifier, index, choice)):
            part = {"role": "assistant", **delta} if number == 0 else delta
            chunks.append(_choice_chunk(frame, index, part, None))
        chunks.append(_choice_chunk(frame, index, {}, choice.finish_reason))
    if include_usage:
        chunks.append({**frame, "choices": [], "usage": _usage(usage, thoughts)})
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return [*events, b"data: [DONE]\n\n"]


def _choice_chunk(frame: Json, index: int, delta: Json, finish_reason: str | None) -> Json:
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {**frame, "choices": [choice]}


def _deltas(identifier: str, index: int, choice: Written) -> list[Json]:
    pieces = [choice.text[at : at + _PIECE] for at in range(0, len(choice.text), _PIECE)] or [""]
    if choice.tool is None:
        return [{"content": piece} for piece in pieces]
    call = _tool_call(identifier, index, choice)
    call["function"]["arguments"] = ""
    opening = {"tool_calls": [{"index": 0, **call}]}
    more = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    return [opening, *more]


def _tool_call(identifier: str, index: int, choice: Written) -> Json:
    return {
        "id": f"call_{identifier}_{index}",
        "type": "function",
        "function": {"name": choice.tool, "arguments": choice.text},
    }


def _usage(usage: Usage, thoughts: int) -> Json:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }


def model_entry(name: str) -> Json:
    """One model of the list."""
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "grouse-adapters"}


def error_body(error: HttpError) -> Json:
    """An error as OpenAI words it."""
    return {
        "error": {
            "message": error.message,
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    }


def retry_headers(error: HttpError) -> dict[str, str]:
    """How the error says when to try again; empty when it does not."""
    if error.retry_after is None:
        return {}
    if error.form == "ms":
        return {"retry-after-ms": f"{error.retry_after * 1000:g}"}
    if error.form == "seconds":
        return {"Retry-After": f"{error.retry_after:g}"}
    # A date has no fractions: rounded up, so that no client comes too early.
    then = datetime.now(UTC) + timedelta(seconds=error.retry_after + 1)
    return {"Retry-After": format_datetime(then.replace(microsecond=0), usegmt=True)}


def embedding_inputs(body: Mapping[str, Any]) -> list[str]:
    """The texts to embed; token ids, which some clients send, as their numbers.

    Raises:
        ValueError: there is no text, or an empty one.
    """
    given = body.get("input")
    if isinstance(given, str) or (
        isinstance(given, list) and given and all(isinstance(item, int) for item in given)
    ):
        given = [given]
    if not isinstance(given, list) or not given:
        raise ValueError("'input' must be text, a list of texts or tokens.")
    texts = []
    for item in given:
        if isinstance(item, list):
            item = " ".join(str(token) for token in item)
        if not isinstance(item, str) or not item:
            raise ValueError("'input' must not hold anything but texts that are not empty.")
        texts.append(item)
    return texts


def embeddings(model: str, vectors: Sequence[Sequence[float]], tokens: int, *, b64: bool) -> Json:
    """An embedding response, vectors as numbers or as base64 of little-endian float32."""
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _base64(vector) if b64 else list(vector),
            }
            for index, vector in enumerate(vectors)
        ],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _base64(vector: Sequence[float]) -> str:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def embed(
    text: str, dimensions: int, vector_of: Callable[[str], Sequence[float]] | None
) -> list[float]:
    """A vector of length 1: of ``vector_of``, cut to ``dimensions``, else of the hashed words.

    Texts that share words have similar vectors, so that retrieval finds something sensible.
    """
    if vector_of is not None:
        return _unit([float(number) for number in vector_of(text)][:dimensions])
    vector = [0.0] * dimensions
    for word in text.lower().split():
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for at in range(0, 16, 4):
            number = int.from_bytes(digest[at : at + 4], "little")
            vector[(number >> 1) % dimensions] += 1.0 if number & 1 else -1.0
    return _unit(vector)


def _unit(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    if length == 0:
        return [1.0, *vector[1:]] if vector else []
    return [number / length for number in vector]
