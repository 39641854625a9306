"""Runs the tests in environments of their own: lowest and newest dependencies, other Pythons.

Called by ``make compat``; ``python tests/compat.py NAME ...`` runs the environments so named.
They are made in a temporary folder and removed afterwards. The environment of ``make test`` has
the newest versions of all frameworks that go together.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")
FRAMEWORKS = ("ragas", "deepeval", "langchain_core", "langchain_classic", "llama_index")
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
QUICK = ("tests/unit", "tests/server/test_openai_chat.py", "tests/server/test_sharing.py")
# How interrupted runs go on depends on our code alone, so make test is enough for those.
CORE = (
    "tests/unit",
    "tests/server/test_openai_chat*.py",
    "tests/server/test_sharing.py",
    "tests/server/test_streams.py",
    "tests/server/test_cli_evaluate.py",
    "tests/server/test_cli_terminal.py",
    "tests/server/test_testing*.py",
)


@dataclass(frozen=True)
class Row:
    """One environment.

    Attributes:
        name: what it is called.
        tests: what pytest is given; none: only the import of the core alone is checked.
        extras: extras of this package that it has.
        pins: a file of pins, from the root.
        exactly: further requirements, e.g. the lowest version of a framework.
        python: the interpreter.
    """

    name: str
    tests: tuple[str, ...] = ()
    extras: str = ""
    pins: str | None = None
    exactly: tuple[str, ...] = ()
    python: str = sys.executable


ROWS = [
    Row("core alone", pins="constraints.txt"),
    Row("lowest", CORE, pins="tests/lowest.txt"),
    Row("newest", QUICK),
    Row(
        "extras lowest",
        (
            "tests/unit/meta",
            "tests/server/test_hub.py",
            "tests/server/test_cli_meta_evaluate.py",
            "tests/server/test_cli_align.py",
        ),
        exactly=(
            "huggingface-hub==0.30.0",
            "krippendorff==0.7.0",
            "matplotlib==3.8.0",
            "scikit-learn==1.4.0",
            "scipy==1.11.2",
        ),
    ),
    Row(
        "ragas lowest",
        ("tests/frameworks/test_ragas_*.py", "tests/frameworks/test_native_*.py"),
        exactly=(
            "ragas==0.3.9",
            "langchain-community<0.4.2",
            # without these two a resolver falls back to an instructor of years ago
            "instructor>=1.12",
            "jiter<0.15",
        ),
    ),
    Row(
        "deepeval lowest",
        ("tests/frameworks/test_deepeval_*.py", "tests/frameworks/test_native_*.py"),
        exactly=("deepeval==4.2.0",),
    ),
    Row(
        "langchain lowest",
        ("tests/frameworks/test_langchain_*.py",),
        exactly=("langchain-core==0.3.0",),
    ),
    Row(
        "llama-index lowest",
        ("tests/frameworks/test_llama_index_*.py",),
        exactly=("llama-index-core==0.13.0", "llama-index-llms-openai-like==0.5.1"),
    ),
]


def rows() -> list[Row]:
    """The environments that this machine can make."""
    found = list(ROWS)
    for version in ("3.12", "3.13"):
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "-c", ""], check=False).returncode:
            print(f"Python {version} is not on this machine: not tested", flush=True)
        else:
            name = f"Python {version}"
            tests = (*QUICK, "tests/frameworks/test_deepeval_metrics.py")
            found.append(Row(name, tests, extras="deepeval", python=python))
    return found


def run(row: Row, folder: Path) -> bool:
    """Makes the environment and tests in it; True when all went well."""
    print(f"== {row.name}", flush=True)
    subprocess.run([row.python, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = ["--constraint", str(ROOT / row.pins)] if row.pins else []
    package = f"{ROOT}[{row.extras}]" if row.extras else str(ROOT)
    tools = TOOLS if row.tests else ()
    subprocess.run([*install, *pins, "--editable", package, *row.exactly, *tools], check=True)
    command = [python, "-c", ALONE]
    if row.tests:
        files = [str(path) for tests in row.tests for path in sorted(ROOT.glob(tests))]
        command = [python, "-m", "pytest", "-q", "-n", "2", "-m", "not local_llm", *files]
    # What only the environment of make test has (a notebook kernel) may be skipped here.
    environment = {k: v for k, v in os.environ.items() if k != "GROUSE_TESTS_MUST_RUN"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Exit code 1 when any environment failed."""
    failed = []
    for row in rows():
        if sys.argv[1:] and row.name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if not run(row, Path(folder) / "environment"):
                failed.append(row.name)
    print(f"failed: {', '.join(failed)}" if failed else "all environments passed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
