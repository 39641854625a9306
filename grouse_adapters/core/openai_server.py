"""OpenAI-compatible servers: where they are, the key, and what their error answers mean."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.openai_answers import retry_after

NO_KEY: Final = "no-key"
"""Sent where no key is needed: the SDK wants one."""

_CONTEXT: Final = re.compile(r"context.{0,20}(length|size|window)|too many tokens|maximum.*tokens")
_BAD_KEY: Final = re.compile(
    r"api.?key.{0,20}(not valid|invalid|expired)|(invalid|incorrect) api.?key"
)
_FLAGGED: Final = re.compile(r"moderation|content.?(filter|management|policy)")
_LONGEST: Final = 300  # characters


class RefusedError(ChatError):
    """Status 400 or the like: something in the request is not known to the server."""

    def __init__(self, message: str, parameter: object) -> None:
        super().__init__(message, kind="bad_request")
        self.parameter = parameter

    def about(self, name: str) -> bool:
        """Whether it is this parameter; a server that names none may quote the prompt instead."""
        return self.parameter == name if self.parameter else name in str(self)


def checked_address(base_url: str | None) -> str | None:
    """The address without what surrounds it; None where none is given.

    Raises:
        ConfigurationError: it is no address, or it holds a user name.
    """
    if not base_url or not base_url.strip():
        return None
    base_url = base_url.strip().rstrip("/")
    try:
        parts = urlsplit(base_url)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        named = parts.username is not None
    except ValueError:  # a port that is no number, brackets that do not close
        known, named = None, False
    if named:
        raise ConfigurationError(
            "The base URL holds a user name: give the key in api_key or in a variable instead."
        )
    if not known or re.search(r"\s", base_url):
        raise ConfigurationError(
            f"The base URL {base_url!r} is no address: write it like http://host:port/v1."
        )
    return base_url


def find_key(api_key: str | None, api_key_env: str | None, *, needed: bool) -> str:
    """The key, given or from a variable; ``NO_KEY`` where none is needed and none is there.

    Raises:
        ConfigurationError: there is none, or it is none.
    """
    variable = api_key_env or "OPENAI_API_KEY"
    key = (api_key or os.environ.get(variable, "")).strip()
    if key:
        if not re.fullmatch(r"[!-~]+", key):
            raise ConfigurationError(
                "The API key holds a character that no key has: copy it once more."
            )
        return key
    if needed or api_key_env is not None:
        raise ConfigurationError(
            f"No API key: set {variable}, or name another variable, or give the base URL of a "
            "server that needs none."
        )
    return NO_KEY


def one_line(text: str, *, key: str) -> str:
    """A server's words on one line, not too long and without the key."""
    if key != NO_KEY and len(key) >= 4:
        text = text.replace(key, "[key]")
    return " ".join(text.split())[:_LONGEST].rstrip(".")


def status_error(
    status: int,
    said: str,
    *,
    model: str,
    place: str,
    headers: Mapping[str, str],
    code: object = None,
    kind: object = None,
    parameter: object = None,
) -> ChatError | ConfigurationError:
    """What an answer with an error status means.

    Args:
        status: of HTTP.
        said: the server's own words, without the key.
        model: the model that was asked for.
        place: the server, as users know it.
        headers: of the answer.
        code: the error's ``code``, as far as the server gives one.
        kind: its ``type``.
        parameter: its ``param``.
    """
    low = said.lower()
    if status in (400, 403) and (code == "content_filter" or _FLAGGED.search(low)):
        return ChatError(f"the server's filter refused: {said}", kind="content_filter")
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(low)):
        return ConfigurationError(
            f"{place} refused the key ({status}: {said}): check the key and what it may use."
        )
    if status == 404:
        return ConfigurationError(
            f"{place} does not know the model {model!r} ({status}: {said}): "
            "check the model's name and the base URL."
        )
    if status == 402 or (status == 429 and "insufficient_quota" in (code, kind)):
        return ConfigurationError(
            f"The account at {place} has no credit left ({status}: {said}): add some."
        )
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
    if code == "context_length_exceeded" or _CONTEXT.search(low) or status == 413:
        return ChatError(f"the prompt is too long: {said}", kind="context_length")
    return RefusedError(f"request refused ({status}): {said}", parameter)
