"""Runs a task of ``tasks.py`` in a fresh process, so that nothing is there before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]

_USERS_OWN: Final = ("GROUSE_JUDGE", "GROUSE_CACHE", "OPENAI_API_KEY", "OPENAI_BASE_URL")


def run_task(name: str, *arguments: str) -> dict[str, Any]:
    """What the task told in its line of JSON.

    Adds ``started`` (``time.monotonic`` before the process was started) and ``told`` (seconds
    from then to the line). The process works in an empty folder that is removed afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.tasks", name, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=_surroundings(folder),
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        told = time.monotonic() - started
        process.communicate()
    if process.returncode or not line:
        raise RuntimeError(f"The task {name} ended with status {process.returncode}: see above.")
    said: dict[str, Any] = json.loads(line)
    return said | {"started": started, "told": told}


def _surroundings(folder: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _USERS_OWN}
    return kept | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": folder}
