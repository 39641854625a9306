"""What can go wrong between a client and a model server, as data that tests combine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from grouse_adapters.core.errors import ChatError, ConfigurationError
from grouse_adapters.core.metrics import MetricName


@dataclass(slots=True)
class ServedRequest:
    """One request that a ``ScriptedServer`` got; the fields at the end fill as it is served.

    Attributes:
        number: 1 for the server's first request, in the order of arrival.
        method: ``GET`` or ``POST``.
        path: path without the query, e.g. ``/v1/chat/completions``.
        headers: by lower-case name, without ``authorization``.
        key_matched: whether the right API key came along; None when the server wants none.
        body: the JSON object that was sent; empty when there was none.
        prompt: text of all messages of a chat request.
        metrics: the metrics that a judge's request asks for.
        attempt: 1 for the first request with this prompt, 2 for the next one, ...
        arrived: seconds on the monotonic clock.
        finished: the same when the answer was on its way or the client gone; None before.
        status: HTTP status that was sent; None before, and when none was sent.
        fault: the fault that was played, None when all went well.
    """

    number: int
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    key_matched: bool | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
    metrics: tuple[MetricName, ...] = ()
    attempt: int = 1
    arrived: float = 0.0
    finished: float | None = None
    status: int | None = None
    fault: Fault | None = None

    @property
    def metric(self) -> MetricName | None:
        """The metric asked for; None when it is not exactly one."""
        return self.metrics[0] if len(self.metrics) == 1 else None


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error status with a body in OpenAI's form.

    Attributes:
        retry_after: seconds to wait, sent as ``form`` says: ``seconds`` and ``date`` in
            ``Retry-After`` (a date has whole seconds), ``ms`` in ``retry-after-ms``.
    """

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    form: Literal["seconds", "ms", "date"] = "seconds"

    @classmethod
    def rate_limit(
        cls, retry_after: float | None = None, *, form: Literal["seconds", "ms", "date"] = "seconds"
    ) -> HttpError:
        """429: too many requests, try again (``retry_after`` in seconds, None: not said)."""
        message = "Rate limit reached for this model. Please try again later."
        return cls(429, message, "requests", "rate_limit_exceeded", None, retry_after, form)

    @classmethod
    def quota(cls) -> HttpError:
        """429: the account has no money left, trying again is of no use."""
        message = "You exceeded your current quota: check your plan and billing details."
        return cls(429, message, "insufficient_quota", "insufficient_quota")

    @classmethod
    def server_error(cls, status: int = 500, *, retry_after: float | None = None) -> HttpError:
        """500, 502, 503, ...: the server's own trouble."""
        message = "The server is overloaded." if status == 503 else "The server had an error."
        return cls(status, message, "server_error", retry_after=retry_after)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The connection is closed ``before_headers``, or ``mid_body`` after half of the answer."""

    when: Literal["before_headers", "mid_body"] = "before_headers"


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer until the client gives up, or ``seconds`` have passed and the line is dropped."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CutOff:
    """The reply ends after the share ``keep`` of its text, with finish reason ``length``."""

    keep: float = 0.5


@dataclass(frozen=True, slots=True)
class Garbage:
    """The model writes ``text`` instead of its reply; an empty text is an empty reply."""

    text: str = "As for the grades: ]}{ splendid, I would say \x00 {{{"


@dataclass(frozen=True, slots=True)
class ContentFilter:
    """A filter steps in: at the ``prompt`` with status 400, or at the ``reply``, which then is
    empty and has the finish reason ``content_filter``."""

    at: Literal["prompt", "reply"] = "reply"


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body that is no chat answer, e.g. the page of a proxy, or broken JSON."""

    body: str = "<html><body><h1>It works!</h1></body></html>"
    content_type: str = "text/html"
    status: int = 200


Fault = HttpError | Dropped | Hang | CutOff | Garbage | ContentFilter | RawBody

FaultSource = Callable[[ServedRequest], Fault | None]
"""Decides per chat or embedding request which fault is played, None for none."""

Faults = Fault | FaultSource | Sequence[Fault | FaultSource]
"""A fault for every request, a source, or several: the first that names a fault wins."""


class InTurn:
    """Plays ``faults`` one per request in the order of arrival, then no more; None passes."""

    def __init__(self, *faults: Fault | None) -> None:
        self._faults = list(faults)
        self._lock = threading.Lock()

    def __call__(self, request: ServedRequest) -> Fault | None:
        with self._lock:
            return self._faults.pop(0) if self._faults else None


class FirstAttempts:
    """Plays ``faults`` on the first attempts of each prompt: its n-th gets the n-th fault."""

    def __init__(self, *faults: Fault | None) -> None:
        self._faults = faults

    def __call__(self, request: ServedRequest) -> Fault | None:
        return self._faults[request.attempt - 1] if request.attempt <= len(self._faults) else None


class When:
    """Plays ``faults`` where ``condition`` holds.

    Args:
        condition: a function of the request, or a text that must occur in the prompt.
    """

    def __init__(self, condition: str | Callable[[ServedRequest], bool], faults: Faults) -> None:
        self._condition = condition
        self._faults = faults

    def __call__(self, request: ServedRequest) -> Fault | None:
        if isinstance(self._condition, str):
            holds = self._condition in request.prompt
        else:
            holds = self._condition(request)
        return choose(self._faults, request) if holds else None


class RandomFaults:
    """A mix of faults that is the same in every run, whatever the order of the requests.

    Rate limits, server errors and dropped connections are drawn per attempt, from the seed, the
    prompt and the number of the attempt. Whether a reply is cut off is drawn per prompt alone, so
    trying again does not help, as with a model at temperature 0.

    Args:
        seed: another seed, another draw.
        rate_limited: share of attempts answered with 429.
        server_error: share of attempts answered with 500.
        dropped: share of attempts whose connection is closed before an answer.
        cut_off: share of prompts whose reply is cut off whenever it is given.
        retry_after: seconds that a 429 asks to wait; None: it does not say.

    Raises:
        ConfigurationError: a share is outside 0-1, or those per attempt are above 1 together.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        rate_limited: float = 0.0,
        server_error: float = 0.0,
        dropped: float = 0.0,
        cut_off: float = 0.0,
        retry_after: float | None = None,
    ) -> None:
        shares = (rate_limited, server_error, dropped)
        if not all(0 <= share <= 1 for share in (*shares, cut_off)) or sum(shares) > 1:
            raise ConfigurationError(
                "Shares of faults are between 0 and 1, and those of rate_limited, server_error "
                "and dropped at most 1 together."
            )
        self._seed = seed
        self._per_attempt: tuple[tuple[float, Fault], ...] = (
            (rate_limited, HttpError.rate_limit(retry_after)),
            (server_error, HttpError.server_error()),
            (dropped, Dropped()),
        )
        self._cut_off = cut_off

    def __call__(self, request: ServedRequest) -> Fault | None:
        drawn = self._draw(request.prompt, request.attempt)
        for share, fault in self._per_attempt:
            if drawn < share:
                return fault
            drawn -= share
        return CutOff() if self.cuts_off(request.prompt) else None

    def cuts_off(self, prompt: str) -> bool:
        """Whether the reply to this prompt comes cut off."""
        return self._draw(prompt, 0) < self._cut_off

    def _draw(self, prompt: str, attempt: int) -> float:
        text = f"{self._seed}\0{attempt}\0{prompt}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) / 2**64


def choose(faults: Faults, request: ServedRequest) -> Fault | None:
    """The fault that is played on a request, None when it is served well."""
    if not isinstance(faults, Sequence):
        return faults(request) if callable(faults) else faults
    for entry in faults:
        fault = entry(request) if callable(entry) else entry
        if fault is not None:
            return fault
    return None


def fault_of(error: ChatError) -> Fault:
    """How a server shows what a ``ScriptedChat`` would raise."""
    if error.kind == "rate_limit":
        return HttpError.rate_limit(error.retry_after)
    if error.kind == "server_error":
        return HttpError.server_error(retry_after=error.retry_after)
    if error.kind == "connection":
        return Dropped()
    if error.kind == "timeout":
        return Hang()
    if error.kind == "content_filter":
        return ContentFilter("prompt")
    if error.kind == "empty_reply":
        return Garbage("")
    if error.kind == "cut_off":
        return CutOff()
    code = "context_length_exceeded" if error.kind == "context_length" else None
    return HttpError(400, str(error), type="invalid_request_error", code=code)
