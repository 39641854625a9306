from __future__ import annotations

import json
import re
from pathlib import Path

from grouse_adapters.testing import Script

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_script_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(blocks("json")[0])
    assert json.loads(path.read_text())["default"]
    Script.from_file(path)
