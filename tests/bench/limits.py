"""Whether the judge keeps to its limit, counted by the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .clients import ASKED, JUDGE, open_clients
from .made_samples import make_samples
from .server import bench_server

_LATENCY: Final = 0.5
"""Seconds; long enough that all calls of the largest limit arrive before the first is answered."""


@dataclass(frozen=True, slots=True)
class LimitFigures:
    """Limit, calls made, and the most calls that the server had at once."""

    limit: int
    calls: int
    in_flight: int


def fill_limits(limits: Sequence[int]) -> list[LimitFigures]:
    """Gives the judge at least twice as many calls as each limit lets through at once."""
    figures = []
    with bench_server(latency=_LATENCY) as server:
        for limit in limits:
            samples = list(make_samples(1 + 2 * limit // len(ASKED)))
            server.reset()
            with open_clients(server.base_url, limit) as clients:
                clients[JUDGE](samples)()
            counted = server.stats()
            figures.append(LimitFigures(limit, counted["calls"], counted["max_in_flight"]))
    return figures
