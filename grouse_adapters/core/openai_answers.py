"""Reading what an OpenAI-compatible server sent, of which nothing is sure. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import openai


def what_was_said(error: openai.APIStatusError) -> str:
    """The server's own words about an error, else the SDK's."""
    body = error.body
    if isinstance(body, list) and body:  # Gemini wraps its errors in a list
        body = body[0]
    return message_of(field_of(body, "error")) or message_of(body) or error.message


def message_of(error: object) -> str | None:
    """The words of an error that is an object with a ``message``, or those words alone."""
    message = error if isinstance(error, str) else field_of(error, "message")
    return message if isinstance(message, str) and message else None


def field_of(holder: object, name: str) -> Any:
    """A field of a parsed answer, however deep the SDK parsed it; None where there is none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def text_of(content: object) -> str:
    """The text of a message: a string, or a list of parts as some servers send it."""
    if isinstance(content, list):
        return "".join(text_of(field_of(part, "text")) for part in content)
    return content if isinstance(content, str) else ""


def tokens_of(count: object) -> int:
    """A count of tokens; 0 for whatever is none."""
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def retry_after(headers: Mapping[str, str]) -> float | None:
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
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None
