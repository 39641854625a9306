"""The two error families: a wrong configuration stops at once, a failed call is recorded."""

from __future__ import annotations

from typing import Literal

ErrorKind = Literal[
    "timeout",
    "rate_limit",
    "connection",
    "server_error",
    "bad_request",
    "context_length",
    "content_filter",
    "empty_reply",
    "cut_off",
    "unreadable",
    "missing_answer",
    "out_of_scale",
    "missing_input",
    "undecidable",
    "dependency",
    "internal",
]
"""Why a grade failed. ``dependency``: a grade that this one is derived from failed."""


class GrouseError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigurationError(GrouseError):
    """Wrong use or configuration: repeating the call would fail again, so the run stops.

    The message is one sentence that says what to do.
    """


class InputError(ConfigurationError):
    """A sample, or the file it came from, cannot be read."""


class JudgeClosedError(GrouseError):
    """The judge was closed; build a new one."""


class GrouseJudgeError(GrouseError):
    """A grade failed, raised only where the framework's own flags ask for an exception."""


class MissingExtraError(GrouseError, ImportError):
    """A package that an extra brings is not installed, or its version is not supported.

    Args:
        extra: the extra.
        trouble: what is needed, e.g. ``needs matplotlib, which is not installed``.
        subject: who needs it; None: the package's part of the extra's name.
    """

    def __init__(self, extra: str, trouble: str, *, subject: str | None = None) -> None:
        subject = subject or f"grouse_adapters.{extra.replace('-', '_')}"
        super().__init__(f"{subject} {trouble}: pip install 'grouse-adapters[{extra}]'.")


class ChatError(GrouseError):
    """One call to a chat model failed; the judge retries or records it.

    Args:
        message: what happened, without secrets.
        kind: how the failure is reported in ``Failed.error_kind``.
        retryable: whether the same call may succeed later.
        retry_after: seconds the server asked to wait, None when it did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.retryable = retryable
        self.retry_after = retry_after


class UnreachableError(ChatError):
    """No connection to the server could be opened at all."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="connection", retryable=True)
