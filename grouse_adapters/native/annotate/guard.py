"""Who may talk to the server: this machine, the page that it served, and who has the address."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from aiohttp import web

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler, Middleware

TOKEN_HEADER: Final = "X-Annotate-Token"
LARGEST_BODY: Final = 4 * 2**20

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def guard(hosts: frozenset[str], token: str) -> Middleware:
    """Middleware that lets only the served page in.

    A name that another site points at this machine (DNS rebinding) fails at the Host header; a
    form or script of another origin fails at Origin or Sec-Fetch-Site, and could send neither JSON
    nor the token; another user of this machine lacks the token.

    Args:
        hosts: how the server may be called, as ``host:port``.
        token: what every request to ``/api`` must bring.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            refused = _refusal(request, hosts, token)
            response = await handler(request) if refused is None else refused
        except web.HTTPRequestEntityTooLarge:
            response = refusal(413, "This is too large to be an annotation.")
        except web.HTTPException as error:
            response = refusal(error.status, error.reason)
        response.headers.update(HEADERS)
        return response

    return check


def refusal(status: int, text: str, **more: object) -> web.Response:
    """An error as the page reads it."""
    return web.json_response({"error": text, **more}, status=status)


def _refusal(request: web.Request, hosts: frozenset[str], token: str) -> web.Response | None:
    if request.headers.get("Host", "").lower() not in hosts:
        return refusal(403, "This server answers to its own address only.")
    if not request.path.startswith("/api/"):
        return None
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = request.headers.get("Origin")
    own = {f"http://{host}" for host in hosts}
    if site != "same-origin" or (origin is not None and origin.lower() not in own):
        return refusal(403, "Requests from other pages are refused.")
    if request.content_type != "application/json":
        return refusal(415, "Send JSON.")
    given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "replace")
    if not hmac.compare_digest(given, token.encode()):
        return refusal(401, "Open the address that the terminal shows.")
    return None
