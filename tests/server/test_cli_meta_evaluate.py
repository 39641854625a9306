"""``grouse-adapters meta-evaluate`` as a user runs it, against a real HTTP server."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import (
    ROOT,
    Finished,
    count_rows,
    finish,
    read_report,
    read_rows,
    run,
    start,
    wait_until,
)
from oracle import Changes, fulfilling, oracle

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.sources import load_tests
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests
from grouse_adapters.testing import Script, ScriptedServer

DEVELOPMENT = ROOT / "tests" / "data" / "unit_tests_dev.jsonl"
TESTS = read_unit_tests(DEVELOPMENT)
SUITE = load_tests("bundled").tests
EVERYTHING = dict.fromkeys((*METRIC_NAMES, "total"), 100.0)


@contextmanager
def serving(script: Script, **settings: Any) -> Iterator[ScriptedServer]:
    with ScriptedServer(script, **settings) as server:
        yield server
        assert server.script_errors == ()


def judged_by(server: ScriptedServer) -> tuple[str, ...]:
    return ("--judge", "judge-9", "--base-url", server.base_url)


def meta_evaluate(*arguments: str | Path, cwd: Path) -> Finished:
    return run("meta-evaluate", *arguments, cwd=cwd)


def outcomes(folder: Path) -> dict[tuple[str, str], str]:
    """(test, metric) -> outcome, from the files of a run."""
    tests = {test.id: test for test in read_unit_tests(folder / "tests.jsonl")}
    found: dict[tuple[str, str], str] = {}
    for row in read_rows(folder):
        conditions = tests[row["id"]].conditions
        for metric in METRIC_NAMES:
            grade = row["grades"][metric]
            condition = conditions.of(metric)
            passed = grade["kind"] != "failed" and condition.holds(grade.get("value"))
            found[row["id"], metric] = "passed" if passed else "failed"
    return found


def test_an_oracle_passes_the_whole_suite_within_four_calls_a_test(tmp_path: Path) -> None:
    with serving(oracle(SUITE)) as server:
        done = meta_evaluate(
            "bundled",
            *judged_by(server),
            "--concurrency",
            "50",
            "-o",
            tmp_path / "run",
            "--json",
            cwd=tmp_path,
        )
        calls, in_flight = server.calls, server.max_in_flight
    assert done.code == 0, done
    report = json.loads(done.stdout)
    assert report == read_report(tmp_path / "run")
    assert (report["tests"], report["sets"]) == (144, 9)
    assert report["pass_rate"] == EVERYTHING
    for figures in report["detection"].values():
        assert figures["balanced_accuracy"] == 100
    assert set(report["by_failure_mode"]) == {f"FM{number}" for number in range(1, 8)}
    assert calls == report["llm_calls"] <= 4 * 144
    assert max(row["llm_calls"] for row in read_rows(tmp_path / "run")) <= 4
    assert in_flight <= 50


def test_one_wrong_grade_is_one_red_square(tmp_path: Path) -> None:
    flipped: Changes = {TESTS[15].id: {"faithfulness": 1}}
    for name, changed in (("right", {}), ("wrong", flipped)):
        with serving(oracle(TESTS, changed)) as server:
            done = meta_evaluate(
                DEVELOPMENT,
                *judged_by(server),
                "--no-cache",
                "-o",
                tmp_path / name,
                "-q",
                cwd=tmp_path,
            )
        assert (done.code, done.stdout) == (0, "")
    right, wrong = outcomes(tmp_path / "right"), outcomes(tmp_path / "wrong")
    assert {place for place in right if right[place] != wrong[place]} == {
        (TESTS[15].id, "faithfulness")
    }
    assert set(right.values()) == {"passed"}
    compared = run("compare", tmp_path / "right", tmp_path / "wrong", "--json", cwd=tmp_path)
    metrics = json.loads(compared.stdout)["metrics"]
    assert metrics["faithfulness"]["lost"] == [TESTS[15].id]
    assert all(found["gained"] == [] for found in metrics.values())


def test_the_lexical_judge_leaves_a_report_a_picture_and_a_page(tmp_path: Path) -> None:
    done = meta_evaluate("--judge", "lexical", "--output-dir", tmp_path / "run", cwd=tmp_path)
    assert done.code == 0, done
    names = {entry.name for entry in (tmp_path / "run").iterdir()}
    assert names == {
        "run.json",
        "tests.jsonl",
        "judgements.jsonl",
        "report.json",
        "matrix.png",
        "matrix.svg",
        "report.html",
    }
    assert (tmp_path / "run" / "matrix.png").read_bytes().startswith(b"\x89PNG")
    report = read_report(tmp_path / "run")
    assert report["command"] == "meta-evaluate"
    assert (report["tests"], report["source"], report["llm_calls"]) == (144, "bundled", 0)
    assert set(report["pass_rate"]) == {*METRIC_NAMES, "total"}
    mean = sum(report["pass_rate"][name] for name in METRIC_NAMES) / 6
    assert report["pass_rate"]["total"] == pytest.approx(mean, abs=0.011)
    assert len(report["by_type"]) == 16
    assert set(report["floors"]) == {"constant", "refusal_only"}
    assert report["published"] is None
    assert "Detection" in done.stdout
    assert "floor: refusals only" in done.stdout
    again = run("report", tmp_path / "run", "--output", tmp_path / "again.json", cwd=tmp_path)
    assert again.code == 0
    assert json.loads((tmp_path / "again.json").read_text()) == report


def test_an_unreadable_reply_is_no_pass_and_exits_with_3(tmp_path: Path) -> None:
    with ScriptedServer("I would rather not say.") as server:
        done = meta_evaluate(
            DEVELOPMENT,
            *judged_by(server),
            "--metrics",
            "completeness",
            "-o",
            tmp_path / "run",
            cwd=tmp_path,
        )
    assert done.code == 3
    report = read_report(tmp_path / "run")
    assert report["pass_rate"] == {"completeness": 0.0, "total": None}
    assert report["unreadable"] == {"completeness": 16}
    assert "!" in done.stdout


def test_a_run_goes_on_after_a_kill_and_judges_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serving(oracle(TESTS), latency=0.05) as server:
        arguments: list[str | Path] = [
            "meta-evaluate",
            DEVELOPMENT,
            *judged_by(server),
            "--no-cache",
            "--concurrency",
            "2",
            "-o",
            folder,
        ]
        process = start(*arguments, cwd=tmp_path)
        wait_until(lambda: count_rows(folder) >= 4, process)
        process.send_signal(signal.SIGKILL)
        finish(process)
        before = [row["id"] for row in read_rows(folder)]
        done = run(*arguments, "--resume", cwd=tmp_path)
    assert done.code == 0, done
    after = [row["id"] for row in read_rows(folder)]
    assert after[: len(before)] == before
    assert sorted(after) == sorted(test.id for test in TESTS)
    assert read_report(folder)["pass_rate"] == EVERYTHING


def test_ctrl_c_says_how_to_go_on_and_the_rest_can_be_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serving(oracle(TESTS), latency=0.05) as server:
        process = start(
            "meta-evaluate",
            DEVELOPMENT,
            *judged_by(server),
            "--concurrency",
            "2",
            "-o",
            folder,
            cwd=tmp_path,
        )
        wait_until(lambda: count_rows(folder) >= 3, process)
        process.send_signal(signal.SIGINT)
        ended = finish(process)
    assert ended.code == 130
    assert "--resume" in ended.stderr
    told = run("report", folder, "--json", cwd=tmp_path)
    assert told.code == 0, told
    assert json.loads(told.stdout)["tests"] == count_rows(folder)


def test_several_packs_are_tried_and_compared(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    for name in ("first", "second"):
        shutil.copytree(ROOT / "prompts" / "grouse", packs / name)
    train = load_tests("bundled-train").tests
    with serving(oracle(train)) as server:
        done = meta_evaluate(
            "--prompts",
            "grouse",
            packs / "first",
            packs / "second",
            *judged_by(server),
            "-o",
            tmp_path / "run",
            cwd=tmp_path,
        )
    assert done.code == 0, done
    told = json.loads((tmp_path / "run" / "attempts.json").read_text())["attempts"]
    assert list(told) == ["grouse", "first", "second"]
    assert all(found["pass_rate"] == EVERYTHING for found in told.values())
    assert {found["tests"] for found in told.values()} == {16}
    for label in told:
        assert label in done.stdout
        assert (tmp_path / "run" / label / "report.html").exists()


def test_the_ablation_is_one_command_and_shows_what_failed_and_why(tmp_path: Path) -> None:
    changed: Changes = {TESTS[0].id: {"answer_relevancy": 2}}
    with serving(oracle(TESTS, changed)) as server:
        done = meta_evaluate(
            DEVELOPMENT,
            "--ablation",
            *judged_by(server),
            "--limit",
            "2",
            "-o",
            tmp_path / "run",
            cwd=tmp_path,
        )
        prompts = {request.prompt for request in server.requests}
    assert done.code == 0, done
    told = json.loads((tmp_path / "run" / "attempts.json").read_text())["attempts"]
    assert list(told) == [
        "with-justification",
        "no-expected-answer",
        "no-justification",
        "no-reasoning",
    ]
    assert len({found["judge"] for found in told.values()}) == 1
    assert f"{TESTS[0].id} answer relevancy: wanted ==5, got 2." in done.stdout
    assert "As the conditions demand." in done.stdout
    assert any((TESTS[0].sample.expected_output or "") not in prompt for prompt in prompts)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing-here.jsonl"], "does not exist"),
        ([str(ROOT / "examples" / "samples.jsonl")], "has no 'conditions'"),
        (["bundled", "--judge", "lexical", "--fail-under", "total=900"], "no percentage"),
        (["bundled", "--judge", "lexical", "--fail-under", "total"], "METRIC=PERCENT"),
        (
            ["bundled", "--judge", "lexical", "--metrics", "usefulness", "--fail-under", "total=9"],
            "needs all six metrics",
        ),
        (["--judge", "lexical", "--prompts", "a", "b"], "no use for --prompts"),
        (["--judge", "lexical", "--ablation"], "no use for"),
        (["--judge", "m", "--ablation", "--no-reasoning"], "sets the switches itself"),
        (["--judge", "m", "--prompts", "grouse", "grouse"], "two packs"),
        (["--judge", "lexical", "--resume"], "needs --output-dir"),
        (["--grades", "there.csv", "--judge", "lexical"], "leave --judge out"),
        (["--grades", "there.csv"], "does not exist"),
        (["--nan", "failed"], "add --grades"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    done = run("meta-evaluate", *arguments, cwd=tmp_path)
    assert done.code == 2, done
    assert said in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert list(tmp_path.iterdir()) == []


def test_a_threshold_that_is_missed_exits_with_1(tmp_path: Path) -> None:
    done = meta_evaluate(
        DEVELOPMENT,
        "--judge",
        "lexical",
        "-q",
        "-o",
        tmp_path / "run",
        "--fail-under",
        "completeness=100",
        "--fail-under",
        "total=10",
        cwd=tmp_path,
    )
    rate = read_report(tmp_path / "run")["pass_rate"]["completeness"]
    assert done.code == (1 if rate < 100 else 0)
    if rate < 100:
        assert f"completeness passes {rate:.2f} %, wanted at least 100 %" in done.stderr


def test_own_tests_without_ids_or_sets(tmp_path: Path) -> None:
    def plain(test: UnitTest) -> dict[str, Any]:
        row = test.as_row()
        del row["id"], row["metadata"]["set_id"]
        return row

    file = tmp_path / "own.jsonl"
    rows = [plain(test) for test in TESTS]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows * 2), encoding="utf-8")
    done = meta_evaluate(file, "--judge", "lexical", "-q", "-o", tmp_path / "run", cwd=tmp_path)
    assert done.code == 0, done
    report = read_report(tmp_path / "run")
    assert (report["tests"], report["sets"]) == (32, 2)
    ids = {row["id"] for row in read_rows(tmp_path / "run")}
    assert ids == {f"set-{number}/{kind}" for number in (1, 2) for kind in range(1, 17)}


def test_grades_made_elsewhere_are_tested_like_a_judge(tmp_path: Path) -> None:
    lines = ["id,AR,C,U,F"]
    for test in TESTS:
        values = ("null" if v is None else str(v) for v in fulfilling(test.conditions).values())
        lines.append(f"{test.id},{','.join(values)}")
    lines[16] = lines[16].removesuffix(",0") + ",1"  # takes the distorted fact for faithful
    (tmp_path / "people.csv").write_text("\n".join(lines[:1] + lines[2:]))
    folder = tmp_path / "run"
    done = meta_evaluate(DEVELOPMENT, "--grades", "people.csv", "-o", folder, cwd=tmp_path)
    assert done.code == 0, done
    assert "15 of 16 tests" in done.stderr
    report = read_report(folder)
    assert (report["judge"], report["tests"], report["llm_calls"]) == ("people", 15, 0)
    assert report["pass_rate"]["faithfulness"] == 93.33
    assert {name: report["pass_rate"][name] for name in METRIC_NAMES if name != "faithfulness"} == {
        name: 100.0 for name in METRIC_NAMES if name != "faithfulness"
    }
    assert outcomes(folder)[TESTS[15].id, "faithfulness"] == "failed"
    again = run("report", folder, "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == report
