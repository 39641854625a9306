"""What a DeepEval model raised, as the judge understands it, whichever SDK it came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from deepeval.errors import DeepEvalError
from pydantic import ValidationError
from tenacity import RetryError

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.openai_answers import field_of, retry_after, text_of, tokens_of

_CONTEXT: Final = re.compile(
    r"context.{0,20}(length|size|window)|(prompt|input) is too long|too many tokens"
    r"|maximum.*tokens"
)
_FLAGGED: Final = re.compile(r"content.?(filter|management|policy)|moderation")
_NO_CREDIT: Final = re.compile(r"insufficient.?quota|no credit|billing")


def causes(error: Exception) -> Iterator[BaseException]:
    """The error, then what it was raised from, and so on."""
    found: BaseException | None = _last(error)
    while found is not None:
        yield found
        found = found.__cause__


def cut_off_completion(error: Exception) -> ChatReply | None:
    """The reply inside the openai SDK's error about one that ran out of tokens, else None."""
    found = _last(error)
    if type(found).__name__ != "LengthFinishReasonError":
        return None
    completion = field_of(found, "completion")
    choices = field_of(completion, "choices") or [None]
    used = field_of(completion, "usage")
    return ChatReply(
        text=text_of(field_of(field_of(choices[0], "message"), "content")),
        usage=Usage(
            input_tokens=tokens_of(field_of(used, "prompt_tokens")),
            output_tokens=tokens_of(field_of(used, "completion_tokens")),
        ),
        finish_reason="length",
    )


def chat_error(
    error: Exception, model: str, secrets: Iterable[str]
) -> ChatError | ConfigurationError:
    """What is wrong, in the judge's own terms and without ``secrets``."""
    if isinstance(error, ChatError | ConfigurationError):
        return error
    error = _last(error)
    said = _clean(str(error), secrets) or type(error).__name__
    status = _status(error)
    if status is not None:
        return _of_status(error, status, model, said)
    if isinstance(error, DeepEvalError):
        if "invalid json" in said.lower():
            return ChatError(f"the reply of {model} is not the JSON asked for", kind="unreadable")
        return ConfigurationError(f"DeepEval cannot use the model {model}: {said}.")
    names = {type(cause).__name__ for cause in causes(error)}
    if "ContentFilterFinishReasonError" in names:
        return ChatError("the server's filter stopped the reply", kind="content_filter")
    if names & {"ConnectError", "ConnectTimeout"} or _is(error, ConnectionRefusedError):
        return UnreachableError(
            f"No server answers for the model {model} ({said}): check its address and that the "
            "server runs."
        )
    if any("Timeout" in name for name in names) or _is(error, TimeoutError):
        return ChatError(f"no reply of {model} in time: {said}", kind="timeout", retryable=True)
    if any("Connection" in name for name in names) or _is(error, OSError):
        return ChatError(f"the connection was lost: {said}", kind="connection", retryable=True)
    if isinstance(error, ValidationError):
        return ChatError(f"the reply of {model} is not the JSON asked for", kind="unreadable")
    return ChatError(f"{model} raised {type(error).__name__}: {said}", kind="internal")


def _of_status(
    error: Exception, status: int, model: str, said: str
) -> ChatError | ConfigurationError:
    words = said.lower()
    if _FLAGGED.search(words) and status in (400, 403):
        return ChatError(f"the server's filter refused: {said}", kind="content_filter")
    if status in (401, 403):
        return ConfigurationError(
            f"The server of {model} refused the key ({status}: {said}): check the key and what it "
            "may use."
        )
    if status == 404:
        return ConfigurationError(
            f"The server does not know the model {model} ({status}: {said}): check the model's "
            "name and the address."
        )
    if status == 402 or (status == 429 and _NO_CREDIT.search(words)):
        return ConfigurationError(f"The account of {model} has no credit left ({said}): add some.")
    if status in (408, 409, 429) or status >= 500:
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        return ChatError(
            f"rate limit: {said}" if status == 429 else f"server error {status}: {said}",
            kind="rate_limit" if status == 429 else "server_error",
            retryable=True,
            retry_after=retry_after(headers),
        )
    if status == 413 or _CONTEXT.search(words):
        return ChatError(f"the prompt is too long: {said}", kind="context_length")
    return ChatError(f"request refused ({status}): {said}", kind="bad_request")


def _last(error: Exception) -> Exception:
    """The error of the last attempt, where DeepEval's own retries gave up."""
    if isinstance(error, RetryError):
        found = error.last_attempt.exception()
        return found if isinstance(found, Exception) else error
    return error


def _status(error: Exception) -> int | None:
    """The HTTP status, by the names that the providers' SDKs give it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "http_status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def _is(error: Exception, kind: type[BaseException]) -> bool:
    return any(isinstance(cause, kind) for cause in causes(error))


def _clean(text: str, secrets: Iterable[str]) -> str:
    """One line without keys."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[key]")
    return " ".join(text.split())[:300].rstrip(".")
