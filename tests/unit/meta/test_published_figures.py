"""README and docs say about the lexical judge what a run says."""

from __future__ import annotations

from pathlib import Path

import pytest

from grouse_adapters import LexicalJudge
from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.sources import load_tests

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "docs" / "meta_evaluation.md"]


@pytest.fixture(name="report", scope="module")
def _report() -> MetaReport:
    tests = {test.id: test for test in load_tests("bundled").tests}
    with LexicalJudge() as judge:
        rows = list(judge.judge_many([test.sample for test in tests.values()]))
    results = [TestResult(tests[row.id or ""], row) for row in rows]
    return meta_report(results, command="meta-evaluate", judge="lexical", source="bundled")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_has_the_figures_of_a_run(page: Path, report: MetaReport) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    keys = [*METRIC_NAMES, "total"]
    rates = {
        "lexical judge": report.pass_rate,
        "floor: one constant grade": report.floors["constant"].pass_rate,
        "floor: reads refusals only": report.floors["refusal_only"].pass_rate,
    }
    for name, row in rates.items():
        assert f"| {name} | {' | '.join(f'{row[key]:.2f}' for key in keys)} |" in lines
    floor = report.floors["refusal_only"].detection
    for metric in JUDGED_METRICS:
        found = report.detection[metric.name]
        assert found.balanced_accuracy_interval is not None
        low, high = found.balanced_accuracy_interval
        cells = [
            metric.title.lower(),
            f"{found.sensitivity:.2f} % of {found.defect}",
            f"{found.specificity:.2f} % of {found.clean}",
            f"{found.balanced_accuracy:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{floor[metric.name].balanced_accuracy:.2f}",
        ]
        assert f"| {' | '.join(cells)} |" in lines
    if page.name != "README.md":
        for name, mode in report.by_failure_mode.items():
            metric_name = mode.metric.replace("_", " ")
            shown = f"{mode.sensitivity:.2f}"
            assert f"| {name} {mode.title} | {metric_name} | {mode.defect} | {shown} |" in lines
