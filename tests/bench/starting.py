"""What importing costs and brings, and how long it takes to the first judgement."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from grouse_adapters.testing import Script, ScriptedServer

from .clients import BEST_GRADES, UnfairError
from .processes import run_task

PACKAGE: Final = "grouse_adapters"
UNWANTED: Final = (
    "openai",
    "aiohttp",
    "ragas",
    "deepeval",
    "langchain_core",
    "llama_index",
    "matplotlib",
    "pysbd",
)
"""Modules that ``import grouse_adapters`` should leave alone."""

Seconds = dict[str, float]


@dataclass(frozen=True, slots=True)
class StartFigures:
    """Medians over fresh processes.

    Attributes:
        imports: per module, seconds of wall and CPU time within the process.
        modules: how many modules each import adds.
        loaded: whether each of ``UNWANTED`` is there after importing the package.
        firsts: per judge, seconds from the start of the process: ``wall`` and ``cpu`` to the
            first judgement, ``call`` (of a served judge) to the arrival of its first call.
        interpreter: CPU seconds of a process that imports nothing.
    """

    imports: dict[str, Seconds]
    modules: dict[str, int]
    loaded: dict[str, bool]
    firsts: dict[str, Seconds]
    interpreter: float


def time_starts(*, processes: int) -> StartFigures:
    """Starts every task so many times, in turns, after a first one that fills Python's caches."""
    imports: dict[str, list[dict[str, Any]]] = {PACKAGE: [], "openai": []}
    lexical: list[Seconds] = []
    served: list[Seconds] = []
    starts: list[float] = []
    with ScriptedServer(Script(default=BEST_GRADES)) as server:
        for _ in range(1 + processes):
            starts.append(run_task("start")["cpu"])
            for name, found in imports.items():
                found.append(run_task("import_module", name))
            lexical.append(_first(run_task("first_lexical")))
            server.reset()
            told = run_task("first_llm", server.base_url)
            served.append({**_first(told), "call": server.requests[0].arrived - told["started"]})
    modules = imports[PACKAGE][-1]["modules"]
    return StartFigures(
        imports={name: _medians(found, ("wall", "cpu")) for name, found in imports.items()},
        modules={name: len(found[-1]["modules"]) for name, found in imports.items()},
        loaded={name: name in modules for name in UNWANTED},
        firsts={
            "LexicalJudge": _medians(lexical, ("wall", "cpu")),
            "LLMJudge": _medians(served, ("wall", "cpu", "call")),
        },
        interpreter=statistics.median(starts[1:]),
    )


def _first(told: dict[str, Any]) -> Seconds:
    if told["failed"]:
        raise UnfairError(f"The first judgement failed: {told['failed']}.")
    return {"wall": told["told"], "cpu": told["cpu"]}


def _medians(found: Sequence[dict[str, Any]], names: Sequence[str]) -> Seconds:
    return {name: statistics.median(one[name] for one in found[1:]) for name in names}
