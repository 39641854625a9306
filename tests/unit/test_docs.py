"""Every command and snippet in README and docs runs, or says visibly why it cannot.

``python`` and ``sh`` blocks run as they are, next to a copy of the examples and the files that the
page shows (a block under its path and a colon). A ``text`` block right after is what is printed. A
block under ``<!-- not run: ... -->`` is left out, one under ``<!-- needs: ... -->`` wants that
package.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import must_run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?"
    r"(?:<!-- needs: (?P<needed>\w+) -->\n)?"
    r"^```(?P<language>\w+)\n(?P<code>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {
    "align.md": "krippendorff",
    "ragas.md": "ragas",
    "deepeval.md": "deepeval",
    "langchain.md": "langchain_core",
    "llama-index.md": "llama_index",
}
LANGUAGES = {"python", "sh", "text", "json", "toml", "jinja"}
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    code: str
    output: str | None
    needed: str | None

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match["language"] in ("python", "sh") and match["reason"] is None:
                line = text.count("\n", 0, match.start()) + 1
                needed = match["needed"] or NEEDS.get(page.name)
                found.append(
                    Block(page, line, match["language"], match["code"], match["output"], needed)
                )
    return found


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_a_block_runs_and_prints_what_the_page_shows(block: Block, tmp_path: Path) -> None:
    if block.needed is not None and importlib.util.find_spec(block.needed) is None:
        must_run(block.needed)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for path, content in FILE.findall(block.page.read_text(encoding="utf-8")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    command = (
        [sys.executable, "-c", block.code]
        if block.language == "python"
        else ["bash", "-euo", "pipefail", "-c", block.code]
    )
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if block.output is not None:
        assert unpadded(done.stdout) == unpadded(block.output)


def unpadded(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_escapes_under_another_name(page: Path) -> None:
    fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_demo_prints_the_table_of_the_readme(tmp_path: Path) -> None:
    """``make demo`` is this command after an installation."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"    make demo\n.*?```text\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    arguments = [str(ROOT / "examples/samples.jsonl"), "--judge", "lexical", "-o", "demo"]
    done = subprocess.run(
        [sys.executable, "-m", "grouse_adapters", "evaluate", *arguments],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = unpadded(done.stdout)
    for line in unpadded(shown[1]):
        assert line in [*printed, "..."], line


def test_every_make_target_is_explained() -> None:
    done = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0]
    for target in set(targets.split()) - {"help"}:
        assert re.search(rf"make {target}\s+\w", done.stdout), target
