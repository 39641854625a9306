"""Scenarios: one YAML file from which all 16 unit tests of a set are built."""

from __future__ import annotations

from grouse_adapters.meta.scenarios.annotations import build_annotations
from grouse_adapters.meta.scenarios.build import build_tests
from grouse_adapters.meta.scenarios.checks import check_scenario
from grouse_adapters.meta.scenarios.files import load_scenario, scenario_files
from grouse_adapters.meta.scenarios.model import Scenario
from grouse_adapters.meta.scenarios.problems import Problem

__all__ = [
    "Problem",
    "Scenario",
    "build_annotations",
    "build_tests",
    "check_scenario",
    "load_scenario",
    "scenario_files",
]
