"""What went wrong in a LangChain model, in this package's two error families.

Providers' packages raise errors of their own; what they have in common is read (status, headers,
names of classes), so that none of those packages is needed here.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError
from grouse_adapters.core.openai_answers import field_of, message_of, retry_after

_CONTEXT: Final = re.compile(
    r"context.{0,20}(length|size|window)|too many tokens|maximum.{0,40}tokens|prompt is too long"
)
_BAD_KEY: Final = re.compile(
    r"api.?key.{0,20}(not valid|invalid|expired)|(invalid|incorrect) (x-)?api.?key"
)
_FLAGGED: Final = re.compile(r"content.?(filter|management|policy)|moderation")
_QUOTA: Final = re.compile(r"insufficient.?quota|credit balance")


def as_judge_error(
    error: Exception, *, model: str, secrets: Iterable[str] = ()
) -> ChatError | ConfigurationError:
    """The error as the judge knows it.

    Args:
        error: whatever the model raised.
        model: the model's name.
        secrets: texts that must not show, e.g. API keys.

    Returns:
        A ``ConfigurationError`` where every further call would fail too (a wrong key, an unknown
        model, no credit), else a ``ChatError`` that says whether trying again may help.
    """
    if isinstance(error, ChatError | ConfigurationError):
        return error
    said = _clean(_words(error), secrets)
    causes = list(_causes(error))
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    status = next(filter(None, map(_status, causes)), None)
    if "ContextOverflowError" in names or _CONTEXT.search(said.lower()):
        return ChatError(f"the prompt is too long: {said}", kind="context_length")
    if "ContentFilterFinishReasonError" in names or (
        status in (400, 403) and _FLAGGED.search(said.lower())
    ):
        return ChatError(f"the provider's filter refused: {said}", kind="content_filter")
    if status is not None:
        return _of_status(status, said, model, causes)
    if any(isinstance(cause, ConnectionRefusedError | socket.gaierror) for cause in causes) or (
        names & {"ConnectError", "ConnectTimeout", "ClientConnectorError"}
    ):
        return UnreachableError(
            f"No server answers for the model {model!r} ({said}): "
            "check the address and that the server runs."
        )
    if any("Timeout" in name for name in names):
        return ChatError(f"no reply in time: {said}", kind="timeout", retryable=True)
    if names & {"ConnectionError", "APIConnectionError", "TransportError", "ClientError"}:
        return ChatError(f"the connection was lost: {said}", kind="connection", retryable=True)
    return ChatError(f"the model raised {type(error).__name__}: {said}", kind="internal")


def _of_status(
    status: int, said: str, model: str, causes: list[BaseException]
) -> ChatError | ConfigurationError:
    told = f"{status}: {said}"
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(said.lower())):
        return ConfigurationError(
            f"The provider of {model!r} refused the key ({told}): "
            "check the key and what it may use."
        )
    if status == 404:
        return ConfigurationError(
            f"The provider does not know the model {model!r} ({told}): "
            "check the model's name and the address."
        )
    if status == 402 or (status == 429 and _QUOTA.search(_all_words(causes))):
        return ConfigurationError(
            f"The account for {model!r} has no credit left ({told}): add some."
        )
    if status == 429:
        return ChatError(
            f"rate limit: {said}", kind="rate_limit", retryable=True, retry_after=_pause(causes)
        )
    if status >= 500 or status in (408, 409):
        return ChatError(
            f"server error {told}",
            kind="server_error",
            retryable=True,
            retry_after=_pause(causes),
        )
    return ChatError(f"request refused ({told})", kind="bad_request")


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    metadata = field_of(response, "ResponseMetadata")  # botocore
    for value in (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(error, "status", None),
        field_of(response, "status_code"),
        field_of(metadata, "HTTPStatusCode"),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
            return int(value)
    return None


def _pause(causes: list[BaseException]) -> float | None:
    for cause in causes:
        headers = field_of(getattr(cause, "response", None), "headers")
        if isinstance(headers, Mapping):
            return retry_after(headers)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _words(error: BaseException) -> str:
    body: Any = getattr(error, "body", None)
    return message_of(field_of(body, "error")) or message_of(body) or str(error) or repr(error)


def _all_words(causes: list[BaseException]) -> str:
    parts = [
        f"{cause} {getattr(cause, 'code', '')} {getattr(cause, 'type', '')}" for cause in causes
    ]
    return " ".join(parts).lower()


def _clean(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[key]")
    return " ".join(text.split())[:300].rstrip(".")
