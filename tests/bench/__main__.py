"""``python -m tests.bench``: every figure of docs/performance.md from one run; keeps no file."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Final

from rich.console import Console, RenderableType

from . import tables
from .cached import run_twice
from .calls import compare_clients
from .lexical_rate import time_lexical
from .limits import fill_limits
from .memory import measure_memory
from .native import native_part
from .server import bench_server
from .starting import time_starts

_LATENCY: Final = 0.05  # seconds
_PACKAGES: Final = ("openai", "aiohttp", "pydantic")

Tell = Callable[[str], None]


def _calls(tell: Tell) -> RenderableType:
    with bench_server(latency=_LATENCY) as server:
        figures = compare_clients(server, samples={20: 250, 100: 600}, rounds=5, tell=tell)
    return tables.calls_table(figures, _LATENCY)


def _limits(tell: Tell) -> RenderableType:
    tell("filling the limits")
    return tables.limits_table(fill_limits((1, 7, 20, 100)))


def _start(tell: Tell) -> RenderableType:
    tell("starting fresh processes")
    return tables.start_table(time_starts(processes=5))


def _cached(tell: Tell) -> RenderableType:
    tell("judging twice with a cache")
    with bench_server(latency=_LATENCY) as server:
        return tables.cached_table(run_twice(server, samples=500, limit=20))


def _memory(tell: Tell) -> RenderableType:
    return tables.memory_table(measure_memory((1_000, 20_000), tell=tell))


def _lexical(tell: Tell) -> RenderableType:
    tell("judging without a model")
    return tables.lexical_table(time_lexical(passes=5))


def _native(tell: Tell) -> RenderableType:
    return native_part(tell, latency=_LATENCY, samples=30, rounds=5)


PARTS: Final[dict[str, Callable[[Tell], RenderableType]]] = {
    "calls": _calls,
    "limits": _limits,
    "start": _start,
    "cached": _cached,
    "memory": _memory,
    "lexical": _lexical,
    "native": _native,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the named parts, all unless told otherwise, and prints each when it is done."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; none: all")
    wanted = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    # A narrow pipe would cut the tables.
    console = Console() if os.isatty(1) else Console(width=120)
    console.print(_machine())
    start = time.perf_counter()
    for name in wanted:
        with Console(stderr=True).status(name) as status:
            table = PARTS[name](status.update)
        console.print("", table)
    console.print(f"\nTook {time.perf_counter() - start:.0f} s.")


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}, {packages}"
    )


if __name__ == "__main__":
    main()
