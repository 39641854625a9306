"""Runs the tests in environments of their own: lowest and newest dependencies, other Pythons.

Called by ``make compat``. Environments are made in a temporary folder and removed afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ["pytest", "pytest-xdist", "hypothesis"]
CORE_TESTS = ["tests/unit", "tests/server"]
FRAMEWORKS = [
    "ragas",
    "deepeval",
    "langchain_core",
    "langchain_classic",
    "llama_index",
    "matplotlib",
]
ALONE = f"""
import importlib.util, sys
installed = [name for name in {FRAMEWORKS} if importlib.util.find_spec(name)]
assert not installed, f"not a core-only environment: {{installed}}"
import grouse_adapters
loaded = [name for name in (*{FRAMEWORKS}, "openai", "pysbd") if name in sys.modules]
assert not loaded, f"imported for nothing: {{loaded}}"
row = dict(input="q", references=["r"], expected_output="r [1].", actual_output="r [1].")
assert not grouse_adapters.resolve_judge("lexical").judge(row).failed
print("core alone: nothing else is imported, and the embedded judge works")
"""


@dataclass(frozen=True)
class Row:
    """One environment: its Python, what pins it, and whether the tests run in it."""

    name: str
    python: str
    pins: str | None = None
    tests: bool = True


def rows() -> list[Row]:
    """The environments that this machine can make."""
    found = [
        Row("core alone", sys.executable, "constraints.txt", tests=False),
        Row("lowest", sys.executable, "tests/lowest.txt"),
        Row("newest", sys.executable),
    ]
    for version in ("3.12", "3.13"):
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "-c", ""], check=False).returncode:
            print(f"Python {version} is not on this machine: not tested", flush=True)
        else:
            found.append(Row(f"newest, Python {version}", python))
    return found


def run(row: Row, folder: Path) -> bool:
    """Makes the environment and tests in it; True when all went well."""
    print(f"== {row.name}", flush=True)
    if row.python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([row.python, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = ["--constraint", str(ROOT / row.pins)] if row.pins else []
    wanted = ["--editable", str(ROOT), *(TOOLS if row.tests else [])]
    subprocess.run([*install, *pins, *wanted], check=True)
    command = [python, "-c", ALONE]
    if row.tests:
        command = [python, "-m", "pytest", "-q", "-n", "2", "-m", "not local_llm", *CORE_TESTS]
    # What only CI's own environment has (a notebook kernel) may be skipped here.
    environment = {k: v for k, v in os.environ.items() if k != "GROUSE_TESTS_MUST_RUN"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Exit code 1 when any environment failed."""
    failed = []
    for row in rows():
        with tempfile.TemporaryDirectory() as folder:
            if not run(row, Path(folder) / "environment"):
                failed.append(row.name)
    print(f"failed: {', '.join(failed)}" if failed else "all environments passed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
