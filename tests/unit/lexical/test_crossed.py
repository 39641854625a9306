"""Paraphrases of paraphrases: clean answers must pass, and defects still be found."""

from __future__ import annotations

import pytest
from crossing import DEVELOPED_ON, Counts, counted, crossed, share

from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.scenarios.files import load_scenario

# Below what the documentation reports of all pairs, so that a reworded scenario breaks nothing.
LEAST = {("completeness", "clean"): 90, ("completeness", "defect"): 95,
         ("faithfulness", "clean"): 85, ("faithfulness", "defect"): 75}  # fmt: skip


@pytest.fixture(scope="module")
def counts() -> Counts:
    found: Counts = Counts()
    for path in DEVELOPED_ON:
        found += counted(crossed(load_scenario(path), every=7))
    return found


@pytest.mark.parametrize(("metric", "role"), LEAST)
def test_conditions_hold(metric: MetricName, role: str, counts: Counts) -> None:
    assert share(counts, metric, role) >= LEAST[metric, role]
