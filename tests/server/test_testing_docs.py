from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grouse_adapters.testing import Script

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_snippets_run_as_they_stand(number: int) -> None:
    exec(compile(blocks("python")[number], f"snippet {number + 1}", "exec"), {})


def test_the_page_has_snippets() -> None:
    assert len(blocks("python")) >= 5


def test_the_script_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(blocks("json")[0])
    assert json.loads(path.read_text())["default"]
    Script.from_file(path)
