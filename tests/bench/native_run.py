"""``python -m tests.bench.native_run``: a whole native benchmark against a model that knows it all.

Runs the command on the bundled suite, with both frameworks and both metrics in their default
variants. The server answers after 50 ms, from a process of its own.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

LATENCY: Final = 0.05  # seconds
ROUNDS: Final = 3
_ROOT: Final = Path(__file__).resolve().parents[2]


def main() -> None:
    """Prints the figures of each metric: medians of some rounds."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.native_run", "serve"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        base_url = server.stdout.readline().strip()
        rounds = [_round(base_url) for _ in range(ROUNDS)]
    finally:
        server.stdin.close()
        server.wait()
    walls = [wall for wall, _, _ in rounds]
    print(f"whole command: {_shown(walls)} s wall, {_shown([cpu for _, cpu, _ in rounds])} s CPU")
    for runs in zip(*(report["runs"] for _, _, report in rounds), strict=True):
        one = runs[0]
        cpu = [1000 * run["cpu_seconds"] / run["tests"] for run in runs]
        wall = [1000 * run["wall_seconds"] / run["tests"] for run in runs]
        print(
            f"{one['framework']} {one['metric']} {one['variant']}: {one['calls']} calls, "
            f"{one['embedding_calls']} embeddings, {one['tokens']:,} tokens, "
            f"{_shown(cpu)} ms CPU and {_shown(wall)} ms wall a test, "
            f"success {one['success_rate']:.2f} %"
        )


def _round(base_url: str) -> tuple[float, float, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        command = ["benchmark", "all", "--model", "gpt-4o-mini", "--base-url", base_url]
        before, started = _children(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "grouse_adapters", *command, "-o", "run", "--quiet"],
            cwd=folder,
            check=True,
        )
        wall, cpu = time.perf_counter() - started, _children() - before
        report = json.loads((Path(folder) / "run" / "report.json").read_text(encoding="utf-8"))
    return wall, cpu, report


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of those that have ended
    return used.ru_utime + used.ru_stime


def _shown(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{statistics.median(values):.1f} ({low:.1f}-{high:.1f})"


def _serve() -> None:
    sys.path.insert(0, str(_ROOT / "tests"))
    from native_oracle import NativeOracle

    from grouse_adapters.meta.sources import load_tests
    from grouse_adapters.native.annotation_sources import load_annotations
    from grouse_adapters.testing import ScriptedServer

    tests = load_tests("bundled").tests
    oracle = NativeOracle(tests, load_annotations("bundled", tests))
    with ScriptedServer(oracle, embed=oracle.embed, latency=LATENCY, log=False) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        _serve()
    else:
        main()
