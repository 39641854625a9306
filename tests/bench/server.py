"""The scripted server in a process of its own, so that its work is not counted as the client's."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_PATIENCE: Final = 30.0  # seconds


class BenchServer:
    """A running server: where it is and what it counted."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def reset(self) -> None:
        """Sets the counts to zero."""
        self._ask("reset", data=b"")

    def stats(self) -> dict[str, Any]:
        """``calls``, ``max_in_flight`` and the other counts of ``ScriptedServer.stats``."""
        return self._ask("stats")

    def _ask(self, what: str, data: bytes | None = None) -> dict[str, Any]:
        address = f"{self.base_url.removesuffix('/v1')}/scripted/{what}"
        with urllib.request.urlopen(address, data, timeout=_PATIENCE) as answer:
            said: dict[str, Any] = json.load(answer)
        return said


@contextmanager
def bench_server(*, latency: float) -> Iterator[BenchServer]:
    """Serves the best grades after ``latency`` seconds until the block ends."""
    process = subprocess.Popen(
        [sys.executable, *f"-m grouse_adapters.testing --latency {latency} --until-eof".split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        started = process.stdout.readline()
        if not started:
            raise RuntimeError("The scripted server did not start: its message is above.")
        yield BenchServer(json.loads(started)["base_url"])
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=_PATIENCE)  # closes its stdin, on which it ends
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
