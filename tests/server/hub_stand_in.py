"""A stand-in for the Hugging Face hub: serves files of datasets as the real one does."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What a stand-in serves and what it was asked.

    Attributes:
        endpoint: its address, for ``HF_ENDPOINT``.
        requests: ``METHOD path`` of every request.
    """

    endpoint: str
    requests: list[str] = field(default_factory=list)


@contextmanager
def hub(datasets: Mapping[str, Mapping[str, bytes]], *, gated: bool = False) -> Iterator[Hub]:
    """A hub with these datasets: ``{"owner/name": {"test.jsonl": b"..."}}``."""
    hub = Hub("")

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            hub.requests.append(f"{self.command} {self.path}")
            _, kind, *rest = self.path.split("?")[0].split("/")
            name = "/".join(rest[:2])
            files = datasets.get(name) if kind == "datasets" else None
            if gated:
                return self._refuse(401, "GatedRepo")
            if files is None:
                return self._refuse(401, "RepoNotFound")
            content = files.get("/".join(rest[4:]))
            if content is None:
                return self._refuse(404, "EntryNotFound")
            self.send_response(200)
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)
            return None

        def _refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
