from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from scripted_calls import ask, ask_for, ask_with, client, post

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.testing import HttpError, InTurn, ScriptedServer, ServedRequest


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer("A reply of some length, so that it can be cut.") as running:
        yield running


# --- log, counts, life ---


def test_the_log(server: ScriptedServer) -> None:
    ask(server, "first", temperature=0)
    ask(server, "second")
    ask(server, "first")
    first, second, third = server.requests
    assert [entry.number for entry in server.requests] == [1, 2, 3]
    assert (first.method, first.path, first.prompt) == ("POST", "/v1/chat/completions", "first")
    assert first.body["temperature"] == 0
    assert first.headers["content-type"] == "application/json"
    assert "authorization" not in first.headers
    assert first.key_matched is None
    assert [entry.attempt for entry in (first, second, third)] == [1, 1, 2]
    assert first.finished is not None
    assert first.arrived <= first.finished <= second.arrived
    server.reset()
    assert not server.requests
    assert server.calls == server.max_in_flight == 0
    ask(server, "first")
    assert server.requests[0].attempt == 1


def test_counts_without_a_log_and_from_other_processes() -> None:
    with ScriptedServer(log=False) as server:
        ask(server)
        assert not server.requests
        root = server.base_url.removesuffix("/v1")
        with urllib.request.urlopen(f"{root}/scripted/stats", timeout=30) as response:
            stats = json.loads(response.read())
        assert stats == {
            "requests": 1,
            "calls": 1,
            "paid_calls": 1,
            "in_flight": 0,
            "max_in_flight": 1,
            "dropped": 0,
            "statuses": {"200": 1},
        }
        post(f"{root}/scripted/reset")
        assert server.stats()["requests"] == 0


def test_latency_per_request() -> None:
    seen: list[str] = []

    def latency(request: ServedRequest) -> float:
        seen.append(request.prompt)
        return 0.0

    with ScriptedServer(latency=latency, faults=InTurn(HttpError.server_error())) as server:
        with pytest.raises(openai.InternalServerError):
            ask(server, "error")
        ask(server, "answer")
    assert seen == ["answer"]


def test_stop_leaves_no_thread_and_no_port() -> None:
    before = set(threading.enumerate())
    server = ScriptedServer()
    server.start()
    server.start()
    with client(server) as connected:  # its connection is still open when the server stops
        ask_with(connected, "Hello?")
        address = server.base_url.split("/")[2].split(":")
        server.stop()
        server.stop()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address[0], int(address[1])), timeout=5)
    assert server.calls == 1


def test_starts_again() -> None:
    server = ScriptedServer("fine")
    for _ in range(2):
        with server:
            ask(server)
    assert server.calls == 2


def test_wrong_use() -> None:
    with pytest.raises(ConfigurationError, match="not started"):
        _ = ScriptedServer().base_url
    with pytest.raises(ConfigurationError, match="dimensions"):
        ScriptedServer(dimensions=0)
    with pytest.raises(ConfigurationError, match=r"write \{'tools'\}"):
        ScriptedServer(rejects="tools")
    with ScriptedServer() as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with pytest.raises(ConfigurationError, match=f"Port {port} cannot be opened"):
            ScriptedServer(port=port).start()
    with pytest.raises(ConfigurationError, match="Port 70000"):
        ScriptedServer(port=70000).start()


# --- as a process ---


def start(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "grouse_adapters.testing", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def test_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"grades": {"It snows": {"faithfulness": 0}}}))
    process = start("--script", str(script), "--api-key", "sk-1", "--latency", "0.001")
    try:
        told = first_line(process)
        assert told["pid"] == process.pid
        with openai.OpenAI(base_url=told["base_url"], api_key="sk-1", max_retries=0) as connected:
            completion = connected.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "It snows"}],
                extra_body={"response_format": ask_for("faithfulness")},
            )
        assert (
            json.loads(completion.choices[0].message.content or "")["answer_2"]["faithfulness"] == 0
        )
        os.kill(process.pid, signal.SIGTERM)
        out, error = process.communicate(timeout=30)
        assert json.loads(out)["calls"] == 1
        assert (process.returncode, error) == (0, "")
    finally:
        process.kill()
        process.communicate()


def test_the_process_ends_with_its_parent() -> None:
    process = start("--until-eof")
    try:
        assert first_line(process)["base_url"].endswith("/v1")
        out, _ = process.communicate(timeout=30)  # closes its stdin
        assert json.loads(out)["requests"] == 0
        assert process.returncode == 0
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--script", "nowhere.json"], "nowhere.json cannot be read"),
        (["--dropped", "2"], "between 0 and 1"),
        (["--port", "99999"], "Port 99999"),
    ],
)
def test_wrong_options_end_with_2(options: list[str], message: str) -> None:
    process = start(*options)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert message in error
    assert error.count("\n") == 1
