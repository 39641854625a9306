"""The examples run as their reader would run them, with the embedded judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cases_for_deepeval import elsewhere

from grouse_adapters import read_samples

__all__ = ["elsewhere"]

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "deepeval" / script)],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PYTHONUTF8": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_evaluate_samples(tmp_path: Path) -> None:
    printed = run("evaluate_samples.py", tmp_path).splitlines()
    heads = [line.split(":")[0] for line in printed if line.endswith((": True", ": False"))]
    assert heads == [sample.id for sample in read_samples(EXAMPLES / "samples.jsonl")]
    glacier = printed.index("distorted-number-glacier: False")
    rows = {line.split()[0]: line.split()[1] for line in printed[glacier + 1 : glacier + 7]}
    assert rows["grouse_faithfulness"] == "0.00"
    assert rows["grouse_usefulness"] == "-"
    assert len(rows) == 6


def test_trace_rag_app(tmp_path: Path) -> None:
    printed = run("trace_rag_app.py", tmp_path)
    assert "grouse_faithfulness" in printed
    run_file = json.loads((tmp_path / ".deepeval/.latest_test_run.json").read_text())
    scores = {
        row["input"]: {
            data["name"]: data.get("score")
            for span in row["trace"]["baseSpans"]
            for data in span["metricsData"]
        }
        for row in run_file["testRunData"]["testCases"]
    }
    assert len(scores) == 12
    assert scores["How fast is the Hvitur glacier retreating?"] == {
        "grouse_faithfulness": 0.0,
        "grouse_completeness": 0.75,
    }
    trace = run_file["testRunData"]["testCases"][0]["trace"]
    kinds = ("retrieverSpans", "llmSpans", "baseSpans")
    assert [span["name"] for kind in kinds for span in trace[kind]] == ["retrieve", "answer", "rag"]
