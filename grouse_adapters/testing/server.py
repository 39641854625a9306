"""A server on this machine that speaks OpenAI's protocol and answers what it is told."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from aiohttp import web

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.testing.endpoints import ServerSettings
from grouse_adapters.testing.exchange import Exchange
from grouse_adapters.testing.faults import Faults, ServedRequest
from grouse_adapters.testing.script import Replies, ReplySource


class ScriptedServer:
    """An OpenAI-compatible HTTP server on 127.0.0.1, in a thread of its own.

    Serves ``/v1/chat/completions`` (also ``stream`` and ``n``), ``/v1/embeddings``,
    ``/v1/models`` and ``/v1/models/{id}``; for other processes ``GET /scripted/stats`` gives the
    counts and ``POST /scripted/reset`` sets them to zero. Use it as a context manager.

    Args:
        replies: what it answers to chat requests; see ``Replies``. A ``ChatError`` becomes the
            HTTP answer that it stands for; any other error of the script answers with status 400
            and is kept in ``script_errors``.
        faults: what goes wrong; see ``Faults``. Only requests that would be served get one.
        latency: seconds before each answer that is no error, or a function of the request.
        api_key: the key that clients must send; None: any, or none.
        models: the models it has; None: any name will do.
        rejects: what it does not know: ``json_schema`` and ``json_object`` as reply forms, any
            other name as a parameter of the request, e.g. ``tools``. Answered with status 400.
        reasoning: refuse ``max_tokens`` and temperatures other than 1, and count thoughts.
        context_length: tokens (about four characters each) that a prompt may have; None: no end.
        embed: the vector of a text; None: from hashed words, similar for similar texts.
        dimensions: length of the vectors, unless the request names one.
        port: the port; 0: a free one.
        log: keep every request in ``requests``; False saves memory in long runs.

    Raises:
        ConfigurationError: a setting is out of range.
    """

    def __init__(
        self,
        replies: Replies = "A scripted reply.",
        *,
        faults: Faults = (),
        latency: float | Callable[[ServedRequest], float] = 0.0,
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        rejects: Collection[str] = (),
        reasoning: bool = False,
        context_length: int | None = None,
        embed: Callable[[str], Sequence[float]] | None = None,
        dimensions: int = 256,
        port: int = 0,
        log: bool = True,
    ) -> None:
        if dimensions < 1:
            raise ConfigurationError("dimensions must be at least 1.")
        if isinstance(rejects, str):
            raise ConfigurationError(f"rejects is a set of names: write {{{rejects!r}}}.")
        self._settings = ServerSettings(
            replies=ReplySource(replies),
            faults=faults,
            latency=latency,
            api_key=api_key,
            models=None if models is None else tuple(models),
            rejects=frozenset(rejects),
            reasoning=reasoning,
            context_length=context_length,
            embed=embed,
            dimensions=dimensions,
            log=log,
        )
        self._exchange = Exchange(self._settings)
        self._wanted_port = port
        self._port: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Opens the port and serves; returns when clients may connect. A second call does nothing.

        Raises:
            ConfigurationError: the port is taken.
        """
        if self._thread is not None:
            return
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", self._wanted_port))
        except (OSError, OverflowError) as error:
            listener.close()
            raise ConfigurationError(
                f"Port {self._wanted_port} cannot be opened ({error}): choose another, or 0."
            ) from None
        self._port = listener.getsockname()[1]
        self._stop = asyncio.Event()
        self._exchange.stopping = asyncio.Event()
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(listener, ready), name="scripted-server", daemon=True
        )
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread.join()
            self._thread = self._loop = None
            listener.close()
            raise

    def stop(self) -> None:
        """Ends all connections and the thread. The log and the counts stay."""
        if self._thread is None or self._loop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._thread = self._loop = None

    @property
    def base_url(self) -> str:
        """The address for clients, up to ``/v1``; known once the server was started.

        Raises:
            ConfigurationError: it was never started.
        """
        if self._port is None:
            raise ConfigurationError("The server is not started: use it in a with statement.")
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> tuple[ServedRequest, ...]:
        """Every request so far, in the order of arrival."""
        return tuple(self._exchange.log)

    @property
    def calls(self) -> int:
        """Chat calls that were answered in full with status 200, odd replies among them."""
        return self._exchange.counts.calls

    @property
    def paid_calls(self) -> int:
        """Chat calls that a provider would bill: ``calls`` and answers lost half-way."""
        return self._exchange.counts.paid_calls

    @property
    def in_flight(self) -> int:
        """Chat and embedding requests being served now."""
        return self._exchange.counts.in_flight

    @property
    def max_in_flight(self) -> int:
        """The most chat and embedding requests that were served at once."""
        return self._exchange.counts.max_in_flight

    @property
    def script_errors(self) -> tuple[BaseException, ...]:
        """What the script raised, or had no answer to."""
        return self._exchange.script_errors

    def stats(self) -> dict[str, object]:
        """The counts in one object: ``requests``, ``calls``, ``paid_calls``, ``in_flight``,
        ``max_in_flight``, ``dropped`` (requests left without a status) and ``statuses``."""
        return self._exchange.counts.as_dict()

    def reset(self) -> None:
        """Empties the log and sets the counts to zero; attempts are counted anew."""
        self._exchange.reset()

    def _run(self, listener: socket.socket, ready: Future[None]) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                runner.run(self._serve(listener, ready))
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)  # raised where start() waits

    async def _serve(self, listener: socket.socket, ready: Future[None]) -> None:
        # A client that gives up ends its handler: what hangs is freed, what is counted is true.
        runner = web.AppRunner(
            self._exchange.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.SockSite(runner, listener, backlog=1024).start()
        ready.set_result(None)
        await self._stop.wait()
        self._exchange.stopping.set()
        await runner.cleanup()
