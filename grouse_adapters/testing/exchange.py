"""One HTTP request from arrival to departure: the log, the counts, and the line it is sent on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from aiohttp import web

from grouse_adapters.testing.endpoints import (
    Answer,
    Endpoint,
    Endpoints,
    Outcome,
    RefusedError,
    ServerSettings,
    error_answer,
    wrong_key,
)
from grouse_adapters.testing.faults import Hang, ServedRequest

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_MAX_BODY = 64 * 2**20  # bytes; a prompt with long references fits many times over


@dataclass(slots=True)
class Counts:
    """What a server counts, whether or not it keeps a log."""

    requests: int = 0
    calls: int = 0
    paid_calls: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    dropped: int = 0
    statuses: Counter[int] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, object]:
        """The counts as JSON takes them."""
        return {
            "requests": self.requests,
            "calls": self.calls,
            "paid_calls": self.paid_calls,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "dropped": self.dropped,
            "statuses": {str(status): self.statuses[status] for status in sorted(self.statuses)},
        }


class Exchange:
    """The handlers of one server, its log and its counts.

    Handlers run on the server's loop alone; ``reset`` may come from another thread.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._endpoints = Endpoints(settings)
        self._lock = threading.Lock()
        self.stopping = asyncio.Event()
        self.log: list[ServedRequest] = []
        self.counts = Counts()

    @property
    def script_errors(self) -> tuple[BaseException, ...]:
        """What the script raised, or had no answer to."""
        return tuple(self._endpoints.script_errors)

    def app(self) -> web.Application:
        """A fresh application: aiohttp binds one to the loop that runs it."""
        ends = self._endpoints
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/v1/chat/completions", self._served(ends.chat, model_call=True))
        app.router.add_post("/v1/embeddings", self._served(ends.embeddings, model_call=True))
        app.router.add_get("/v1/models", self._served(ends.models))
        app.router.add_get("/v1/models/{name:.+}", self._served(ends.model))
        app.router.add_get("/scripted/stats", self._stats)
        app.router.add_post("/scripted/reset", self._reset)
        app.router.add_route("*", "/{rest:.*}", self._served(ends.unknown))
        return app

    def reset(self) -> None:
        """Empties the log and the counts; what is in flight stays counted."""
        with self._lock:
            busy = self.counts.in_flight
            self.counts = Counts(in_flight=busy, max_in_flight=busy)
            self.log = []
            self._endpoints.reset()

    async def _stats(self, request: web.Request) -> web.Response:
        with self._lock:
            return web.json_response(self.counts.as_dict())

    async def _reset(self, request: web.Request) -> web.Response:
        self.reset()
        return web.json_response({})

    def _served(self, endpoint: Endpoint, *, model_call: bool = False) -> _Handler:
        async def handler(request: web.Request) -> web.StreamResponse:
            visit = _Visit(self, request, model_call=model_call)
            try:
                return await visit.serve(endpoint)
            finally:
                visit.depart()

        return handler

    def arrive(self, request: web.Request, *, model_call: bool) -> ServedRequest:
        """Notes that a request came."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent = headers.pop("authorization", "")
        key = self._settings.api_key
        with self._lock:
            counts = self.counts
            counts.requests += 1
            served = ServedRequest(
                number=counts.requests,
                method=request.method,
                path=request.path,
                headers=headers,
                key_matched=None if key is None else sent == f"Bearer {key}",
                arrived=time.monotonic(),
            )
            if self._settings.log:
                self.log.append(served)
            if model_call:
                counts.in_flight += 1
                counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        return served

    def depart(self, served: ServedRequest, *, model_call: bool, paid: bool, whole: bool) -> None:
        """Notes that a request is done with."""
        served.finished = time.monotonic()
        with self._lock:
            counts = self.counts
            if model_call:
                counts.in_flight -= 1
            if served.status is None:
                counts.dropped += 1
            else:
                counts.statuses[served.status] += 1
            counts.paid_calls += paid
            counts.calls += paid and whole


class _Visit:
    """One request on its way through an exchange."""

    def __init__(self, exchange: Exchange, request: web.Request, *, model_call: bool) -> None:
        self._exchange = exchange
        self._request = request
        self._model_call = model_call
        self._departed = False
        self._served = exchange.arrive(request, model_call=model_call)

    def depart(self, answer: Answer | None = None) -> None:
        """Always before the last byte: a client that has its answer and sends the next request
        must not find itself counted twice."""
        if self._departed:
            return
        self._departed = True
        self._exchange.depart(
            self._served,
            model_call=self._model_call,
            paid=answer is not None and answer.paid,
            whole=answer is not None and not answer.lost,
        )

    async def serve(self, endpoint: Endpoint) -> web.StreamResponse:
        try:
            outcome = await self._outcome(endpoint)
        except RefusedError as refused:
            outcome = error_answer(refused.error)
        if isinstance(outcome, Hang):
            await self._hang(outcome)
        if not isinstance(outcome, Answer):
            return self._drop()
        self._served.status = outcome.status
        if outcome.lost or outcome.events is not None:
            return await self._send_in_parts(outcome)
        self.depart(outcome)
        return web.Response(
            body=outcome.body,
            status=outcome.status,
            content_type=outcome.content_type,
            headers=outcome.headers,
        )

    async def _outcome(self, endpoint: Endpoint) -> Outcome:
        if self._served.key_matched is False:
            raise wrong_key(self._request.headers.get("Authorization", ""))
        return await endpoint(self._served, await self._request.read())

    async def _hang(self, hang: Hang) -> None:
        try:
            async with asyncio.timeout(hang.seconds):
                await self._exchange.stopping.wait()
        except TimeoutError:
            return

    def _drop(self) -> web.Response:
        self.depart()
        if self._request.transport is not None:
            self._request.transport.abort()
        return web.Response(status=499)  # goes nowhere: aiohttp wants a response all the same

    async def _send_in_parts(self, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.content_type = answer.content_type
        parts = answer.events
        if parts is None:
            response.content_length = len(answer.body)
            parts = [answer.body[: len(answer.body) // 2], b""]
        sent = parts[: len(parts) // 2] if answer.lost else parts[:-1]
        try:
            await response.prepare(self._request)
            for part in sent:
                await response.write(part)
            self.depart(answer)
            if answer.lost:
                if self._request.transport is not None:
                    self._request.transport.close()  # what was written still goes out
                return response
            await response.write(parts[-1])
            await response.write_eof()
        except (
            ConnectionError
        ):  # the client left before the end: the model had written all the same
            self.depart(replace(answer, lost=True))
        return response
