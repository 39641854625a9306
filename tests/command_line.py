"""The command as a user runs it: a process of its own, and the files that it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "samples.jsonl"

_LONGEST = 180.0  # seconds; only a command that hangs takes that long


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    code: int
    stdout: str
    stderr: str


def command(*arguments: str | Path) -> list[str]:
    """The command line, run by the Python that runs the tests."""
    return [sys.executable, "-m", "grouse_adapters", *map(str, arguments)]


def run(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Finished:
    """Runs the command in ``cwd`` to its end; ``env`` is added to the environment."""
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=_LONGEST,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    """Starts the command in ``cwd``; end it with ``finish``."""
    return subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen[str]) -> Finished:
    """Waits for a started command."""
    try:
        stdout, stderr = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Finished(process.returncode, stdout, stderr)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Returns when the condition holds; fails when the process ends before."""
    deadline = time.monotonic() + _LONGEST
    while not condition():
        if process.poll() is not None:
            raise AssertionError(f"it ended too early: {finish(process)}")
        if time.monotonic() > deadline:
            process.kill()
            raise AssertionError("what was waited for did not come")
        time.sleep(0.005)


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A JSON-lines file of ``rows``."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file; what was cut off at its end is left out."""
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run's ``judgements.jsonl``."""
    return read_lines(folder / "judgements.jsonl")


def read_report(folder: Path) -> dict[str, Any]:
    """A run's ``report.json``."""
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return report


def count_rows(folder: Path) -> int:
    """How many rows a run has by now."""
    path = folder / "judgements.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
