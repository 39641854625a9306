"""The benchmark as a command, against the oracle: every variant, from the server to the report."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases_native import DEV, OLD_RAGAS, dev_tests, labels
from command_line import read_lines, read_report, run
from conftest import must_run
from native_oracle import NativeOracle, Told
from oracle import fulfilling, shown

from grouse_adapters.testing import Script, ScriptedRequest, ScriptedServer

for framework in ("ragas", "deepeval"):
    if find_spec(framework) is None:
        must_run(framework)
if OLD_RAGAS:
    pytest.skip("the command is tested with the newest frameworks", allow_module_level=True)

PARTS = [
    ("ragas", "faithfulness", "collections"),
    ("ragas", "faithfulness", "legacy"),
    ("ragas", "answer_relevancy", "collections"),
    ("ragas", "answer_relevancy", "legacy"),
    ("deepeval", "faithfulness", "with-reason"),
    ("deepeval", "faithfulness", "without-reason"),
    ("deepeval", "answer_relevancy", "with-reason"),
    ("deepeval", "answer_relevancy", "without-reason"),
]
# Calls to the model and for embeddings on the 16 tests, 13 of which have statements.
CALLS = {
    ("ragas", "faithfulness", "collections"): (16 + 13, 0),
    ("ragas", "faithfulness", "legacy"): (16 + 13, 0),
    ("ragas", "answer_relevancy", "collections"): (3 * 16, 2 * 16),
    ("ragas", "answer_relevancy", "legacy"): (16, 2 * 16),  # three choices in one call
    ("deepeval", "faithfulness", "with-reason"): (3 * 16 + 13, 0),
    ("deepeval", "faithfulness", "without-reason"): (2 * 16 + 13, 0),
    ("deepeval", "answer_relevancy", "with-reason"): (2 * 16 + 13, 0),
    ("deepeval", "answer_relevancy", "without-reason"): (16 + 13, 0),
}


def benchmark(folder: Path, told: Told | None = None, *options: str) -> dict[str, Any]:
    """Runs all variants on the development set; returns ``report.json``."""
    tests = dev_tests()
    native = NativeOracle(tests, labels(tests), told=told)

    def grades(request: ScriptedRequest) -> dict[str, int | None]:
        fitting = fulfilling(shown(tests, request.prompt).conditions)
        return {str(name): grade for name, grade in fitting.items()}

    script = Script(grades, otherwise=native)
    with ScriptedServer(script, embed=native.embed) as server:
        done = run(
            *("benchmark", "all", DEV, "--model", "gpt-4o-mini", "--variants", "all"),
            *("--base-url", server.base_url, "--output-dir", "out", *options),
            cwd=folder,
            env={"HOME": str(folder)},
        )
        assert done.code == 0, done.stderr
        assert server.script_errors == ()
    return read_report(folder / "out")


def by_part(report: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(one["framework"], one["metric"], one["variant"]): one for one in report["runs"]}


def test_all_variants_are_all_successes(tmp_path: Path) -> None:
    report = benchmark(tmp_path, None, "--judge", "gpt-4o-mini")
    assert report["annotations"] == "by construction"
    runs = by_part(report)
    assert set(runs) == set(PARTS)
    for part, one in runs.items():
        assert (one["success_rate"], one["rated"], one["scored"]) == (100.0, 13, 13), part
        assert (one["mae"], one["errors"], one["not_scored"]) == (0.0, 0, 0), part
        assert (one["calls"], one["embedding_calls"]) == CALLS[part], part
        assert one["tokens"] > 0
        made = one["nothing_to_rate_as"]
        assert one["nothing_to_rate"] == 3
        scored = part[:2] != ("ragas", "faithfulness")
        assert (made["scored"], made["not_scored"]) == ((3, 0) if scored else (0, 3))
        assert made["perfect"] == (3 if part[0] == "deepeval" else 0)
        assert (one["judge"]["pass_rate"], one["judge"]["tests"]) == (100.0, 13), part
    shares = NativeOracle(dev_tests(), labels(dev_tests())).shares
    rows = read_lines(tmp_path / "out" / "scores.jsonl")
    assert len(rows) == 16 * len(PARTS)
    for row in rows:
        share = shares[row["test_id"]][row["metric"]]
        if share is not None:
            assert row["score"] == pytest.approx(float(share), abs=1e-6), row
    # Nothing is left where the user stands; the caches are of the home that is made for the test.
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert left - {"cache"} == {"out"}
    assert not (tmp_path / ".deepeval").exists()
    json.dumps(report, allow_nan=False)


def test_a_planted_bias_shows_in_the_report(tmp_path: Path) -> None:
    """Every third test 0.25 lower, no lower than 0; see test_native_bias.py for the figures."""
    tests = dev_tests()
    relevant = {3: "0", 6: "3/4", 9: "0", 12: "0", 15: "3/4"}
    faithful = {3: "3/4", 6: "3/4", 9: "3/4", 12: "3/4", 15: "19/28"}
    told: Told = {
        tests[number - 1].id: {
            "answer_relevancy": Fraction(relevant[number]),
            "faithfulness": Fraction(faithful[number]),
        }
        for number in relevant
    }
    report = benchmark(tmp_path, told, "--max-tokens", "100000")
    for part, one in by_part(report).items():
        failed = {name for name, figures in one["by_type"].items() if figures["success_rate"] == 0}
        if part[1] == "faithfulness":
            assert (one["success_rate"], one["mae"]) == (61.54, 0.0962), part  # 8 of 13
            assert failed == {tests[number - 1].test_type for number in faithful}
        else:
            assert (one["success_rate"], one["mae"]) == (84.62, 0.0385), part  # 11 of 13
            assert failed == {tests[5].test_type, tests[14].test_type}
