"""The shipped scenarios: whole, sound, and what the documentation says of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from command_line import read_lines

from grouse_adapters.core.metrics import JUDGED_METRICS
from grouse_adapters.meta.scenarios import check_scenario, load_scenario, scenario_files
from grouse_adapters.meta.sources import load_tests
from grouse_adapters.meta.test_types import TEST_TYPES

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "grouse_adapters" / "data" / "scenarios"
DEVELOPMENT = ROOT / "tests" / "data" / "dev_scenarios"
READINGS = ROOT / "tests" / "data" / "blind_readings.jsonl"
ALL = [
    *scenario_files(SHIPPED / "test"),
    *scenario_files(SHIPPED / "train"),
    *scenario_files(DEVELOPMENT),
]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_scenario_has_no_problem_and_16_tests(path: Path) -> None:
    assert check_scenario(load_scenario(path)) == []
    tests = load_tests(str(path)).tests
    assert [test.test_type for test in tests] == list(TEST_TYPES)
    assert [test.conditions for test in tests] == [kind.conditions for kind in TEST_TYPES.values()]


def test_nine_sets_to_judge_judges_one_to_tune_on_five_to_develop_on() -> None:
    assert Counter(path.parent.name for path in ALL) == {
        "test": 9,
        "train": 1,
        "dev_scenarios": 5,
    }
    assert len(load_tests("bundled").tests) == 144
    assert len(load_tests("bundled-train").tests) == 16


def test_one_test_scenario_is_french_and_domains_vary() -> None:
    scenarios = [load_scenario(path) for path in scenario_files(SHIPPED / "test")]
    assert Counter(scenario.language for scenario in scenarios) == {"en": 8, "fr": 1}
    assert len({scenario.domain for scenario in scenarios}) == 9


def test_every_test_was_read_blind_in_its_present_wording() -> None:
    tests = [*load_tests("bundled").tests, *load_tests("bundled-train").tests]
    readings = {row["id"]: row for row in read_lines(READINGS)}
    assert {test.id: test.sample.content_hash()[:16] for test in tests} == {
        name: row["content"] for name, row in readings.items()
    }
    disagreeing = [
        (test.id, metric.name)
        for test in tests
        for metric in JUDGED_METRICS
        if not test.conditions.of(metric.name).holds(readings[test.id][metric.name])
    ]
    assert disagreeing == []
