"""Calls to a scripted server through the real SDK, for its tests."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import openai

from grouse_adapters.core.metrics import METRICS, MetricName, reply_schema
from grouse_adapters.testing import ScriptedServer


def client(server: ScriptedServer, *, key: str = "any", timeout: float = 30.0) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key=key, max_retries=0, timeout=timeout)


def async_client(server: ScriptedServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=server.base_url,
        api_key="any",
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(),
    )


def ask(server: ScriptedServer, prompt: str = "Hello?", **more: Any) -> Any:
    """One completion, or the list of its chunks."""
    with client(server) as connected:
        answer = connected.chat.completions.create(
            model="m", messages=[{"role": "user", "content": prompt}], **more
        )
        return list(answer) if more.get("stream") else answer


def ask_with(connected: openai.OpenAI, prompt: str) -> Any:
    return connected.chat.completions.create(
        model="m", messages=[{"role": "user", "content": prompt}]
    )


def ask_for(metric: MetricName) -> dict[str, Any]:
    """The response format with which a judge asks for a metric."""
    schema = reply_schema(
        METRICS[metric], answers=2, reasoning=True, justification=True, citations="required"
    )
    form = {"name": "judgement", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": form}


def post(address: str, body: bytes = b"") -> Any:
    request = urllib.request.Request(address, data=body, method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
