"""The door opens for the supported versions alone, and says what to install otherwise."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

NEEDED = "grouse_adapters.llama_index needs llama-index-core 0.13 or later, below 0.15"
COMMAND = "pip install 'grouse-adapters[llama-index]'."


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def with_version(found: str) -> str:
    """What importing the door says where ``found`` is what the version look-up comes to."""
    return run(
        f"""
        import importlib.metadata as metadata

        def version(name):
            {found}

        metadata.version = version
        try:
            import grouse_adapters.llama_index
        except ImportError as error:
            print(f"{{type(error).__name__}}: {{error}}")
        """
    )


def test_the_package_itself_imports_no_framework() -> None:
    loaded = run(
        """
        import sys
        import grouse_adapters, grouse_adapters.core.live, grouse_adapters.report
        print([name for name in sys.modules if name.startswith("llama_index")])
        """
    )
    assert loaded == "[]"


def test_without_the_framework_one_sentence_says_what_to_do() -> None:
    said = with_version("raise metadata.PackageNotFoundError(name)")
    assert said == f"MissingExtraError: {NEEDED}, which is not installed: {COMMAND}"


@pytest.mark.parametrize("version", ["0.12.52.post1", "0.15.0", "1.0", "odd"])
def test_another_version_is_told(version: str) -> None:
    said = with_version(f"return {version!r}")
    assert said == f"MissingExtraError: {NEEDED}, but {version} is installed: {COMMAND}"
