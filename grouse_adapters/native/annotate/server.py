"""The server of the page: on 127.0.0.1, for as long as people annotate."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.native.annotate.desk import (
    ConflictError,
    Desk,
    NameRequest,
    Reply,
    SaveRequest,
    TaskRequest,
    UnknownError,
    read_request,
)

if TYPE_CHECKING:
    from aiohttp import web

HOST: Final = "127.0.0.1"
PORT: Final = 8720

_PAGE: Final = Path(__file__).parent / "page"
_REPORT_PAGE: Final = Path(__file__).parents[2] / "report" / "page"
_STYLES: Final = (_REPORT_PAGE / "page.css", _PAGE / "annotate.css")
_SCRIPTS: Final = (
    _REPORT_PAGE / "dom.js",
    _REPORT_PAGE / "answer.js",
    *(
        _PAGE / name
        for name in (
            "outbox.js",
            "statements.js",
            "grades.js",
            "agreement.js",
            "desk.js",
            "keys.js",
        )
    ),
)
_TOKEN_BYTES: Final = 24
_PATIENCE: Final = 1.0  # seconds that open connections get when the server ends


@dataclass(frozen=True, slots=True)
class _Session:
    """Port and token, from the first start until a clean end: an open page outlives a crash."""

    port: int
    token: str


def serve(desk: Desk, *, port: int | None = None, on_ready: Callable[[str], None]) -> None:
    """Serves the page until Ctrl-C or SIGTERM.

    Args:
        desk: what is annotated, and where it is kept.
        port: 0: any free one; None: that of a sitting that was killed, else 8720, else a free one.
        on_ready: gets the address once the server answers.

    Raises:
        ConfigurationError: the port is taken, or a file cannot be written.
    """
    before = _read_session(desk.store.session_path)
    listener = _listener(port, None if before is None else before.port)
    token = secrets.token_urlsafe(_TOKEN_BYTES) if before is None else before.token
    session = _Session(listener.getsockname()[1], token)
    _write_session(desk.store.session_path, session)
    try:
        with contextlib.suppress(KeyboardInterrupt):  # asyncio.run has ended the server by then
            asyncio.run(_serve(desk, session, listener, on_ready))
    finally:
        listener.close()
    desk.store.session_path.unlink(missing_ok=True)


async def _serve(
    desk: Desk, session: _Session, listener: socket.socket, on_ready: Callable[[str], None]
) -> None:
    from aiohttp import web

    stop = asyncio.Event()
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    runner = web.AppRunner(
        make_app(desk, session.port, session.token), access_log=None, shutdown_timeout=_PATIENCE
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        # the token stands behind the #, which browsers send to no server
        on_ready(f"http://{HOST}:{session.port}/#{session.token}")
        await stop.wait()
    finally:
        await runner.cleanup()


def make_app(desk: Desk, port: int, token: str) -> web.Application:
    """The application; ``port`` and ``token`` are what requests must name."""
    from aiohttp import web

    from grouse_adapters.native.annotate.guard import LARGEST_BODY, guard

    hosts = frozenset(f"{name}:{port}" for name in (HOST, "localhost"))
    app = web.Application(middlewares=[guard(hosts, token)], client_max_size=LARGEST_BODY)
    for path, name, kind in (
        ("/", "annotate.html", "text/html"),
        ("/annotate.css", "annotate.css", "text/css"),
        ("/annotate.js", "annotate.js", "text/javascript"),
    ):
        app.router.add_get(path, _text_handler(name, kind))
    for path, answer in (
        ("/api/begin", lambda body: desk.begin(read_request(NameRequest, body))),
        ("/api/show", lambda body: desk.show(read_request(TaskRequest, body))),
        ("/api/save", lambda body: desk.save(read_request(SaveRequest, body))),
        ("/api/agreement", lambda body: desk.agreement(read_request(NameRequest, body))),
        ("/api/alive", lambda _body: {}),
    ):
        app.router.add_post(path, _api_handler(answer))
    return app


def _text_handler(name: str, kind: str) -> Callable[[web.Request], Any]:
    from aiohttp import web

    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=page_text(name), content_type=kind, charset="utf-8")

    return handler


def _api_handler(answer: Callable[[Any], Reply]) -> Callable[[web.Request], Any]:
    from aiohttp import web

    from grouse_adapters.native.annotate.guard import refusal

    async def handler(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.text())
        except (ValueError, RecursionError, LookupError):
            return refusal(400, "The request is no JSON.")
        try:
            return web.json_response(answer(body))
        except ConflictError as error:
            return refusal(409, str(error), revision=error.now)
        except UnknownError as error:
            return refusal(404, str(error))
        except InputError as error:
            return refusal(400, str(error))
        except ConfigurationError as error:
            return refusal(507, str(error))

    return handler


@cache
def page_text(name: str) -> str:
    """A file of the page: ``annotate.html``, ``annotate.css`` or ``annotate.js``."""
    if name.endswith(".css"):
        return "\n".join(path.read_text(encoding="utf-8") for path in _STYLES)
    if name.endswith(".js"):
        parts = "\n".join(path.read_text(encoding="utf-8") for path in _SCRIPTS)
        return f'(() => {{\n"use strict";\n{parts}\n}})();\n'
    return (_PAGE / name).read_text(encoding="utf-8")


def _listener(port: int | None, remembered: int | None) -> socket.socket:
    if port is not None:
        return _bound(port)
    for wanted in dict.fromkeys((remembered or PORT, PORT, 0)):
        with contextlib.suppress(ConfigurationError):
            return _bound(wanted)
    raise ConfigurationError("No port of this machine is free: name one with --port.")


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would share the port with whoever has it
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigurationError(
            f"Port {port} cannot be opened ({error}): name another with --port."
        ) from None
    return listener


def _read_session(path: Path) -> _Session | None:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return _Session(int(told["port"]), str(told["token"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None  # there was none, or it ended well


def _write_session(path: Path, session: _Session) -> None:
    text = json.dumps({"port": session.port, "token": session.token})
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror or error}): name another file with "
            "--annotations."
        ) from None
