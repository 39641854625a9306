"""A good scenario, and copies of it in which something is changed."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from grouse_adapters.meta.scenarios.files import check_files
from grouse_adapters.meta.scenarios.problems import Problem

GOOD: Final = Path(__file__).parents[2] / "data" / "sourdough_starter.yaml"
OUT: Final = object()
"""In place of a new value: the key is taken out."""


def good() -> Any:
    """The good scenario as plain values."""
    return deepcopy(_good())


@lru_cache(maxsize=1)
def _good() -> Any:
    return yaml.safe_load(GOOD.read_text(encoding="utf-8"))


def changed(changes: Mapping[str, Any]) -> Any:
    """The good scenario with new values by dotted path; list items count from 0."""
    tree = good()
    for path, value in changes.items():
        *above, last = path.split(".")
        node = tree
        for key in above:
            node = node[int(key)] if isinstance(node, list) else node[key]
        place: Any = int(last) if isinstance(node, list) else last
        if value is OUT:
            del node[place]
        else:
            node[place] = value
    return tree


def written(folder: Path, tree: Any, name: str = "copy.yaml") -> Path:
    """A scenario file that holds ``tree``."""
    path = folder / name
    text = tree if isinstance(tree, str) else yaml.safe_dump(tree, sort_keys=False, width=10**6)
    path.write_text(text, encoding="utf-8")
    return path


def problems(folder: Path, tree: Any) -> list[Problem]:
    """What the check says about a scenario file that holds ``tree``."""
    path = written(folder, tree)
    return check_files([path])[path]
