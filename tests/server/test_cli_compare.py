"""``grouse-adapters report`` and ``compare`` on the folders of benchmarks."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from benchmark_rows import VERSIONS, scores, suite
from command_line import ROOT, run

from grouse_adapters.cli.benchmark_run import BenchmarkDir, BenchmarkSettings

DEVELOPMENT = ROOT / "tests" / "data" / "unit_tests_dev.jsonl"


@pytest.fixture(name="folders")
def _folders(tmp_path: Path) -> list[Path]:
    """Two benchmarks on the same tests: the second with another version and lower scores."""
    tests, notes = suite(2)
    made = []
    for name, version, nudge in (("old", "0.4.0", Fraction(0)), ("new", "0.4.3", Fraction(1, 4))):
        versions = {**VERSIONS, "ragas": version}
        settings = BenchmarkSettings(
            input="suite", runs=("ragas faithfulness collections",), versions={}, model="m"
        )
        with BenchmarkDir(tmp_path / name, settings, resume=False) as folder:
            folder.keep_inputs(tests, notes)
            for score in scores(tests, notes, versions=versions, nudge=nudge):
                folder.append(score)
        made.append(tmp_path / name)
    return made


def test_a_benchmark_is_reported_from_its_files(folders: list[Path], tmp_path: Path) -> None:
    told = run("report", folders[0], "--output", "again.json", cwd=tmp_path)
    assert told.code == 0, told
    assert "by construction" in told.stdout.splitlines()[0]
    report = json.loads((folders[0] / "report.json").read_text())
    assert json.loads((tmp_path / "again.json").read_text()) == report
    assert {one["framework_version"] for one in report["runs"]} == {"0.4.0", "4.3.1"}
    for name in ("report.html", "benchmark.png", "benchmark.svg"):
        assert (folders[0] / name).stat().st_size > 1000
    refused = run("report", folders[0], "--fail-under", "faithfulness=1", cwd=tmp_path)
    assert (refused.code, refused.stderr.count("\n")) == (2, 1)


def test_two_benchmarks_side_by_side(folders: list[Path], tmp_path: Path) -> None:
    told = run("compare", *folders, "--output-dir", "both", cwd=tmp_path)
    assert told.code == 0, told
    written = json.loads((tmp_path / "both" / "comparison.json").read_text())
    ragas = [one for one in written["runs"] if one["first"]["framework"] == "ragas"]
    assert [one["first"]["framework_versions"] for one in ragas] == [["0.4.0"]] * len(ragas)
    assert [one["second"]["framework_versions"] for one in ragas] == [["0.4.3"]] * len(ragas)
    assert any(one["lost"] for one in written["runs"])
    assert (tmp_path / "both" / "comparison.html").stat().st_size > 1000
    shown = run("compare", *folders, "--json", cwd=tmp_path)
    assert json.loads(shown.stdout) == written


def test_a_benchmark_and_a_judge_are_not_compared(folders: list[Path], tmp_path: Path) -> None:
    judged = run(
        "meta-evaluate", DEVELOPMENT, "--judge", "lexical", "-q", "-o", "judged", cwd=tmp_path
    )
    assert judged.code == 0
    refused = run("compare", folders[0], "judged", cwd=tmp_path)
    assert refused.code == 2
    assert "compare runs of one kind" in refused.stderr
