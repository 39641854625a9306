"""Agrees with the paper's own package on which grades pass which conditions, and on the rates.

The fixture is what grouse 0.4.2 said (tests/data/make_reference_conditions.py). Its 1,000 drawn
sets agree without exception. Conditions that people write and no published test has are where the
two differ on purpose; docs/differences-from-the-paper-package.md tells users the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from made_results import JUDGED, exactly, grade, one_test

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.core.pipeline import with_derived
from grouse_adapters.meta.conditions import Conditions
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.pass_rates import pass_rates_of
from grouse_adapters.meta.report import TestResult

ROOT: Final = Path(__file__).parents[3]
FIXTURE: Final[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "reference_conditions.json").read_text(encoding="utf-8")
)
CASES: Final[list[dict[str, Any]]] = FIXTURE["cases"]
REFUSED: Final = "refused"

READ_FIRST: Final = "A condition is read when the tests are read"
UNFULFILLED: Final = "A condition that no grade can fulfil is refused"
SPACES: Final = "Spaces and `null` are read"
NO_TESTS: Final = "A run without tests has no rate"
# Per odd condition on completeness and its grade: why it differs, and what this package says.
PASSES: Final = ["passed"] * 6
DIFFERENCES: Final[dict[tuple[str, int | None], tuple[str, list[str] | str]]] = {
    ("== None", None): (SPACES, PASSES),
    ("== None", 3): (SPACES, ["passed", "failed", "passed", "passed", "failed", "failed"]),
    ("==null", None): (SPACES, PASSES),
    ("==null", 3): (SPACES, ["passed", "failed", "passed", "passed", "failed", "failed"]),
    (" ==5", 5): (SPACES, PASSES),
    ("=5", 5): (READ_FIRST, REFUSED),
    ("=5", None): (READ_FIRST, REFUSED),
    ("!=5", 3): (READ_FIRST, REFUSED),
    ("5", 5): (READ_FIRST, REFUSED),
    ("5", None): (READ_FIRST, REFUSED),
    ("", None): (READ_FIRST, REFUSED),
    ("", 3): (READ_FIRST, REFUSED),
    ("==five", 5): (READ_FIRST, REFUSED),
    ("==+5", 5): (READ_FIRST, REFUSED),
    ("==5e0", 5): (READ_FIRST, REFUSED),
    ("<inf", 3): (READ_FIRST, REFUSED),
    ("None", None): (READ_FIRST, REFUSED),
    ("<None", None): (READ_FIRST, REFUSED),
    (">=None", 3): (READ_FIRST, REFUSED),
    (">5", 5): (UNFULFILLED, REFUSED),
    ("<1", 1): (UNFULFILLED, REFUSED),
    ("==6", 5): (UNFULFILLED, REFUSED),
    ("==2.5", 3): (UNFULFILLED, REFUSED),
}


def result(case: dict[str, Any], number: int = 0) -> TestResult:
    """The case as a test and what a judge said about it."""
    given = zip(JUDGED, case["conditions"], strict=True)
    test = one_test(f"{number}", set_id=f"{number // 16}").model_copy(
        update={"conditions": Conditions.parse({f"{name}_condition": text for name, text in given})}
    )
    judged = {name: grade(value) for name, value in zip(JUDGED, case["grades"], strict=True)}
    return exactly(test, with_derived(test.sample, METRIC_NAMES, judged))


def outcomes(case: dict[str, Any]) -> list[str] | str:
    try:
        found = result(case).outcomes
    except InputError:
        return REFUSED
    return [found[metric] for metric in METRIC_NAMES]


def test_the_fixture_is_what_it_says() -> None:
    assert (FIXTURE["package"], FIXTURE["version"]) == ("grouse", "0.4.2")
    assert tuple(FIXTURE["metrics"]) == METRIC_NAMES
    assert len(CASES) == 1000
    drawn = {
        text.replace(" ", "")[:2].rstrip("-0123456789") for c in CASES for text in c["conditions"]
    }
    assert drawn == {"==", "<", "<=", ">", ">="}
    for place, metric in enumerate(METRIC_NAMES):
        assert {case["outcomes"][place] for case in CASES} == {"passed", "failed", "unreadable"}, (
            metric
        )
    for place in range(len(JUDGED)):
        said = {(case["grades"][place], case["conditions"][place] == "==None") for case in CASES}
        assert {(None, True), (None, False), ("failed", True), ("failed", False)} <= said


def test_all_outcomes_agree() -> None:
    differ = [case for case in CASES if outcomes(case) != case["outcomes"]]
    assert differ == []


def test_the_rates_agree() -> None:
    size = FIXTURE["batch"]
    batches = [CASES[start : start + size] for start in range(0, len(CASES), size)]
    assert len(batches) == len(FIXTURE["batches"])
    said = zip([*batches, CASES], [*FIXTURE["batches"], FIXTURE["all"]], strict=True)
    for cases, reference in said:
        results = [result(case, number) for number, case in enumerate(cases)]
        rates = pass_rates_of(results)
        assert rates.keys() == reference.keys()
        for name, rate in rates.items():
            # Percent with two decimals here, fractions there.
            assert rate == pytest.approx(100 * reference[name], abs=0.005 + 1e-9), name


def test_the_report_has_the_same_rates() -> None:
    results = [result(case, number) for number, case in enumerate(CASES)]
    report = meta_report(results, command="meta-evaluate", judge="made", source="drawn")
    assert report.pass_rate == pass_rates_of(results)
    counted = [sum(case["outcomes"][place] == "unreadable" for case in CASES) for place in range(6)]
    assert list(report.unreadable.values()) == counted


@pytest.mark.parametrize("case", FIXTURE["odd"], ids=lambda case: repr(case["conditions"][1]))
def test_odd_conditions_agree_but_for_the_table(case: dict[str, Any]) -> None:
    row = DIFFERENCES.get((case["conditions"][1], case["grades"][1]))
    expected = case["outcomes"] if row is None else row[1]
    assert outcomes(case) == expected
    if row is not None:
        assert row[1] != case["outcomes"]  # else the row is no difference


def test_every_difference_is_about_a_recorded_case() -> None:
    recorded = {(case["conditions"][1], case["grades"][1]) for case in FIXTURE["odd"]}
    assert set(DIFFERENCES) <= recorded


def test_a_run_without_tests() -> None:
    assert FIXTURE["none"] == "ZeroDivisionError"
    assert pass_rates_of([]) == {"total": None}


def test_the_docs_name_every_difference() -> None:
    page = (ROOT / "docs" / "differences-from-the-paper-package.md").read_text(encoding="utf-8")
    section = page.partition("## Unit tests of judges\n")[2].partition("\n## ")[0]
    named = {line[4:].partition(".**")[0] for line in section.splitlines() if line[:4] == "- **"}
    assert named == {why for why, _ in DIFFERENCES.values()} | {NO_TESTS}
    odd, differ = len(FIXTURE["odd"]), len(DIFFERENCES)
    text = " ".join(section.split())
    assert f"{odd} odd conditions" in text
    assert f"{odd - differ} of them agree, the list explains {differ}." in text
