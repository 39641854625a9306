"""Scenario files: found, read, begun."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.scenarios.checks import check_scenario
from grouse_adapters.meta.scenarios.model import Scenario, parse_scenario
from grouse_adapters.meta.scenarios.problems import Problem, Source
from grouse_adapters.meta.scenarios.yaml_text import read_yaml

SUFFIXES: Final = (".yaml", ".yml")


def scenario_files(folder: str | Path) -> list[Path]:
    """The scenario files in ``folder``, by name; not those in folders below it.

    Raises:
        InputError: it is not a folder, or cannot be read.
    """
    folder = Path(folder)
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder} cannot be opened: {error.strerror}.") from None
    return [
        path
        for path in entries
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    ]


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a YAML file.

    Raises:
        InputError: the file cannot be read, or lacks a part or has one too many. What its author
            wrote is judged by ``check_scenario``.
    """
    scenario, problems = read_scenario(path)
    if scenario is None:
        raise InputError(str(problems[0]))
    return scenario


def read_scenario(path: str | Path) -> tuple[Scenario | None, list[Problem]]:
    """The scenario in a YAML file, or None and every problem with its form.

    Raises:
        InputError: the file cannot be read at all.
    """
    path = Path(path)
    document = read_yaml(_text(path))
    lines = MappingProxyType(document.lines)
    source = Source(path, lines, frozenset(document.cut))
    if document.faults:
        return None, [
            Problem(path, fault.line, source.problem(fault.place, "").place, fault.message)
            for fault in document.faults
        ]
    if document.value is None:
        return None, [Problem(path, None, "", "is empty: 'scenario new' writes a template.")]
    if not isinstance(document.value, Mapping):
        return None, [Problem(path, 1, "", "holds no keys: 'scenario new' writes a template.")]
    scenario, problems = parse_scenario(document.value, source)
    return scenario, sorted(problems, key=lambda problem: problem.line or 0)


def load_all(paths: Iterable[Path]) -> list[Scenario]:
    """The scenarios in these files.

    Raises:
        InputError: as ``load_scenario``, and when two have the same id.
    """
    scenarios: list[Scenario] = []
    first: dict[str, Path] = {}
    for path in paths:
        scenarios.append(load_scenario(path))
        problem = _same_id(scenarios[-1], path, first)
        if problem is not None:
            raise InputError(str(problem))
    return scenarios


def check_files(paths: Iterable[Path]) -> dict[Path, list[Problem]]:
    """Every problem of each file; an id that an earlier file has is one.

    Raises:
        InputError: a file cannot be read at all.
    """
    found: dict[Path, list[Problem]] = {}
    first: dict[str, Path] = {}
    for path in paths:
        scenario, found[path] = read_scenario(path)
        if scenario is None:
            continue
        problem = _same_id(scenario, path, first)
        found[path] = [*([problem] if problem else []), *check_scenario(scenario)]
    return found


def _same_id(scenario: Scenario, path: Path, first: dict[str, Path]) -> Problem | None:
    earlier = first.setdefault(scenario.id, path)
    if earlier == path:
        return None
    message = f"is {scenario.id!r}, as in {earlier}: give each scenario its own."
    return scenario.source.problem(("id",), message)


def template(identifier: str) -> str:
    """A commented scenario whose texts are still to be written, with this id."""
    text = (files("grouse_adapters.meta.scenarios") / "template.yaml").read_text(encoding="utf-8")
    return text.replace("ID-OF-THE-SET", identifier)


def identifier_for(path: Path) -> str:
    """The id that a scenario in this file gets: its name, as far as an id can hold it."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).strip("-_.") or "my-scenario"


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder: name a scenario in it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8: save it with UTF-8 encoding.") from None
