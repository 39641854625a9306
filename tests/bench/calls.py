"""What a call costs through the judge and through the bare openai SDK, in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from .clients import ASKED, Client, UnfairError, check_same_requests, open_clients
from .made_samples import make_samples
from .server import BenchServer

_WARM_UP: Final = 20  # samples, after which connections and caches are there


@dataclass(frozen=True, slots=True)
class Turn:
    """One client's turn.

    Attributes:
        calls: calls that the server answered.
        wall: seconds.
        cpu: CPU seconds of this process; the server is another one.
        in_flight: the most calls that the server had at once.
    """

    calls: int
    wall: float
    cpu: float
    in_flight: int


@dataclass(frozen=True, slots=True)
class ClientFigures:
    """The turns of one client at one limit."""

    client: str
    limit: int
    turns: tuple[Turn, ...]

    @property
    def calls(self) -> int:
        """Calls of all turns."""
        return sum(turn.calls for turn in self.turns)

    @property
    def rates(self) -> list[float]:
        """Calls per second of each turn."""
        return [turn.calls / turn.wall for turn in self.turns]

    @property
    def rate(self) -> float:
        """Median calls per second."""
        return statistics.median(self.rates)

    @property
    def cpu_ms(self) -> float:
        """Median CPU milliseconds per call."""
        return statistics.median(1000 * turn.cpu / turn.calls for turn in self.turns)

    @property
    def in_flight(self) -> int:
        """The most calls that the server had at once."""
        return max(turn.in_flight for turn in self.turns)

    def rate_against(self, other: ClientFigures) -> float:
        """Median over the rounds of this client's rate in parts of the other's."""
        pairs = zip(self.rates, other.rates, strict=True)
        return statistics.median(own / others for own, others in pairs)


def compare_clients(
    server: BenchServer,
    *,
    samples: Mapping[int, int],
    rounds: int,
    tell: Callable[[str], None],
) -> list[ClientFigures]:
    """Figures per limit and client; the clients take turns, in another order each round.

    Args:
        samples: per limit, how many each turn has; each makes three calls.

    Raises:
        UnfairError: the clients do not send the same requests, or not all were answered.
    """
    check_same_requests()
    figures = []
    for limit, count in samples.items():
        with open_clients(server.base_url, limit) as clients:
            for client in clients.values():
                client(list(make_samples(_WARM_UP)))()
            turns: dict[str, list[Turn]] = {name: [] for name in clients}
            for number in range(rounds):
                first = number % len(clients)
                for name in [*clients, *clients][first : first + len(clients)]:
                    tell(f"{limit} in flight, round {number + 1} of {rounds}: {name}")
                    turns[name].append(_turn(clients[name], server, count))
        figures += [ClientFigures(name, limit, tuple(done)) for name, done in turns.items()]
    return figures


def _turn(client: Client, server: BenchServer, samples: int) -> Turn:
    send = client(list(make_samples(samples)))
    server.reset()
    gc.collect()  # what was prepared is not the turn's to tidy up; its own garbage is
    wall, cpu = time.perf_counter(), time.process_time()
    send()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    counted = server.stats()
    if not samples * len(ASKED) == counted["calls"] == counted["requests"]:
        raise UnfairError(f"{samples} samples made {counted['requests']} requests: {counted}.")
    return Turn(counted["calls"], wall, cpu, counted["max_in_flight"])
