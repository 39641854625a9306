"""A run whose replies are all in the cache: what it asks of the server and how fast it is."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grouse_adapters import LLMJudge, OpenAIChat, Sample

from .clients import UnfairError
from .made_samples import make_samples
from .server import BenchServer


@dataclass(frozen=True, slots=True)
class CachedFigures:
    """The same samples twice, the second time by a new judge with the first one's cache.

    Attributes:
        samples: how many there are.
        calls: calls at the server, first and second time.
        cached_calls: calls of the second time that the cache answered.
        rates: samples per second, first and second time.
    """

    samples: int
    calls: tuple[int, int]
    cached_calls: int
    rates: tuple[float, float]


def run_twice(server: BenchServer, *, samples: int, limit: int) -> CachedFigures:
    """Raises ``UnfairError`` when the second run's grades are not the first one's."""
    made = list(make_samples(samples))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "replies.sqlite"
        first = _run(server, cache, made, limit)
        second = _run(server, cache, made, limit)
    if first.grades != second.grades:
        raise UnfairError("The cached run gave other grades than the run that filled the cache.")
    return CachedFigures(
        samples=samples,
        calls=(first.calls, second.calls),
        cached_calls=second.cached,
        rates=(samples / first.seconds, samples / second.seconds),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    grades: list[Any]
    calls: int
    cached: int
    seconds: float


def _run(server: BenchServer, cache: Path, samples: Sequence[Sample], limit: int) -> _Run:
    server.reset()
    chat = OpenAIChat("bench", base_url=server.base_url, api_key="bench-key")
    with LLMJudge(chat, concurrency=limit, cache=cache) as judge:
        start = time.perf_counter()
        done = list(judge.judge_many(samples, ordered=True))
        seconds = time.perf_counter() - start
    return _Run(
        grades=[judgement.grades for judgement in done],
        calls=server.stats()["requests"],
        cached=sum(judgement.cached_calls for judgement in done),
        seconds=seconds,
    )
