"""The door itself: what is missing is said in one sentence; examples run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases_ragas import KEYS

import grouse_adapters.ragas as door
from grouse_adapters import read_samples

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "ragas").glob("*.py"))
PREPARED = """
import importlib.metadata as metadata, sys
{preparation}
try:
    import grouse_adapters.ragas
except Exception as error:
    print(type(error).__name__, isinstance(error, ImportError), error, sep="|")
"""
LACKS = "sys.modules['ragas.llms.base'] = None"


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def installed(version: str) -> str:
    return f"metadata.version = lambda name: {version!r}"


MISSING = "def version(name): raise metadata.PackageNotFoundError(name)\nmetadata.version = version"


@pytest.mark.parametrize(
    ("preparation", "says"),
    [
        (MISSING, "needs ragas 0.3.9 or later, below 0.5, which is not installed"),
        (installed("0.3.8"), "needs ragas 0.3.9 or later, below 0.5, and 0.3.8 is installed"),
        (installed("0.5.0"), "needs ragas 0.3.9 or later, below 0.5, and 0.5.0 is installed"),
        (LACKS, "cannot import ragas ("),
    ],
)
def test_a_missing_framework_is_one_sentence_with_the_command(preparation: str, says: str) -> None:
    kind, is_import_error, text = python(PREPARED.format(preparation=preparation)).split("|")
    assert (kind, is_import_error) == ("MissingExtraError", "True")
    assert text.startswith(f"grouse_adapters.ragas {says}")
    assert text.endswith(": pip install 'grouse-adapters[ragas]'.")


def test_importing_the_package_imports_no_framework() -> None:
    names = ["ragas", "langchain_core", "grouse_adapters.ragas"]
    assert python(f"import sys, grouse_adapters; print(set({names}) & set(sys.modules))") == "set()"


def test_the_public_names_are_there() -> None:
    assert sorted(door.__all__) == door.__all__
    assert all(hasattr(door, name) for name in door.__all__)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for sample in read_samples(ROOT / "examples" / "samples.jsonl"):
        assert f"{sample.id}: " in done.stdout
    assert all(key in done.stdout for key in KEYS)


def test_there_are_examples() -> None:
    assert [script.name for script in EXAMPLES] == ["evaluate_dataset.py", "run_experiment.py"]
