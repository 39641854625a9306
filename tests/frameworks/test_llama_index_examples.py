"""The examples for LlamaIndex run as their reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import index_engines  # noqa: F401  # skips where LlamaIndex is missing

from grouse_adapters import METRICS, read_samples

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "llama_index" / name)],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())
    return done.stdout


def test_the_batch_example(tmp_path: Path) -> None:
    told = run("evaluate_answers.py", tmp_path)
    for sample in read_samples(EXAMPLES / "samples.jsonl"):
        assert f"{sample.id}: " in told
    assert "perfect-sourdough: 1 " in told
    assert "wrong-citation-battery: 0 " in told
    assert "wrong-refusal-passport: –  not applicable: " in told
    for metric in METRICS.values():
        assert f"\n{metric.key} " in told


def test_the_live_example(tmp_path: Path) -> None:
    told = run("watch_engine.py", tmp_path)
    assert "How often do I feed a starter that I rarely use?" in told
    assert "  faithfulness: 1\n" in told
    assert "  negative_rejection: 0\n" in told
    assert told.endswith("2 of 2 answers judged\n")
