"""``grouse-adapters benchmark`` as a user runs it: mistakes, interruptions, resuming, files."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import Finished, finish, read_lines, read_report, run, start, wait_until
from conftest import must_run
from native_oracle import MODEL, NativeOracle
from native_prompts import read_prompt

from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests
from grouse_adapters.native.annotation_sources import load_annotations
from grouse_adapters.native.rows import NativeScore
from grouse_adapters.testing import HttpError, ScriptedServer, When

for framework in ("ragas", "deepeval"):
    if find_spec(framework) is None:
        must_run(framework)

DEV = Path(__file__).parents[1] / "data" / "unit_tests_dev.jsonl"
TESTS = read_unit_tests(DEV)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as started:
        yield started


def serving(**settings: Any) -> ScriptedServer:
    oracle = NativeOracle(TESTS, load_annotations(str(DEV), TESTS))
    return ScriptedServer(oracle, embed=oracle.embed, **settings)


def options(server: ScriptedServer, *more: str | Path) -> list[str | Path]:
    """DeepEval's answer relevancy: two or three calls a test, none at the same time."""
    given: list[str | Path] = ["benchmark", "deepeval", DEV, "--metrics", "answer_relevancy"]
    return [*given, "--model", MODEL, "--base-url", server.base_url, *more]


def refused(ended: Finished) -> str:
    assert ended.code == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.endswith(".\n")
    return ended.stderr


def scores(folder: Path) -> list[NativeScore]:
    return [NativeScore.model_validate(row) for row in read_lines(folder / "scores.jsonl")]


def have(folder: Path, count: int) -> Callable[[], bool]:
    return lambda: len(read_lines(folder / "scores.jsonl")) >= count


def answers_shown(server: ScriptedServer) -> list[str]:
    """The answers that the model was asked to take apart, in a fixed order."""
    asked = [read_prompt(one.prompt) for one in server.requests]
    return sorted(str(one.shown[0]) for one in asked if one.step == "deepeval: statements")


def answers(tests: Iterable[UnitTest]) -> list[str]:
    return sorted(test.sample.actual_output for test in tests)


def test_a_run_leaves_its_files_and_nothing_else(server: ScriptedServer, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    ended = run(*options(server, "-o", "run", "--judge", "lexical"), cwd=here)
    assert ended.code == 0, ended.stderr
    assert ended.stdout.startswith("Annotations: by construction")
    assert [path.name for path in here.iterdir()] == ["run"]
    folder = here / "run"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"run.json", "tests.jsonl", "annotations.jsonl", "scores.jsonl", "report.json"}
    assert names >= {"report.html", "judgements.jsonl", "judge.json"}
    report = read_report(folder)
    (figures,) = report["runs"]
    assert figures["calls"] == server.calls
    assert figures["success_rate"] == 100.0
    assert figures["judge"]["judge"] == report["judge"] == "lexical"
    assert {row["id"] for row in read_lines(folder / "judgements.jsonl")} == {
        test.id for test in TESTS
    }
    again = run("report", "run", "--json", cwd=here)
    assert json.loads(again.stdout) == report


def test_json_is_all_that_standard_output_holds(server: ScriptedServer, tmp_path: Path) -> None:
    ended = run(*options(server, "-o", "run", "--json", "--limit", "2"), cwd=tmp_path)
    assert json.loads(ended.stdout) == read_report(tmp_path / "run")
    assert ended.stderr == ""


def test_kill_and_resume_lose_nothing_and_repeat_no_finished_test(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serving(latency=0.05) as server:
        command = options(server, "-o", "run", "--concurrency", "2")
        killed = start(*command, cwd=tmp_path)
        wait_until(have(folder, 5), killed)
        killed.kill()
        assert finish(killed).code == -signal.SIGKILL
        kept = scores(folder)
        assert 5 <= len(kept) < len(TESTS)
        with (folder / "scores.jsonl").open("ab") as stream:  # the row it was writing
            stream.write(b'{"schema_version":1,"test_id":"a1/')
        assert run("report", "run", cwd=tmp_path).code == 0
        server.reset()
        ended = run(*command, "--resume", cwd=tmp_path)
        assert ended.code == 0, ended.stderr
        done = {score.test_id for score in kept}
        assert answers_shown(server) == answers(test for test in TESTS if test.id not in done)
        found = scores(folder)
        assert found[: len(kept)] == kept
        assert sorted(score.test_id for score in found) == sorted(test.id for test in TESTS)
        assert sum(score.calls for score in found[len(kept) :]) == server.calls
        (figures,) = read_report(folder)["runs"]
        assert figures["calls"] == sum(score.calls for score in found)
        assert (figures["success_rate"], figures["not_run"]) == (100.0, 0)
        server.reset()
        assert run(*command, "--resume", "--quiet", cwd=tmp_path).code == 0
        assert server.requests == ()


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with serving(latency=0.05) as server:
        command = options(server, "-o", "run", "--concurrency", "2")
        stopped = start(*command, cwd=tmp_path)
        wait_until(have(folder, 3), stopped)
        stopped.send_signal(signal.SIGINT)
        ended = finish(stopped)
        assert ended.code == 130, ended.stderr
        kept = len(scores(folder))
        said = f"Stopped. {kept} scores are kept in run: add --resume --output-dir run to continue."
        assert ended.stderr.splitlines()[-1] == said
        assert run(*command, "--resume", cwd=tmp_path).code == 0
    assert len(scores(folder)) == len(TESTS)


def test_failed_scores_are_made_again_and_no_others(tmp_path: Path) -> None:
    broken = TESTS[2].sample.actual_output
    with serving(faults=When(broken, HttpError(400, "Not today."))) as server:
        command = options(server, "-o", "run", "--limit", "4")
        ended = run(*command, cwd=tmp_path)
        assert ended.code == 3
        assert ended.stderr.splitlines()[-1] == (
            "1 of 4 scores failed: its row says why, and --resume makes it again."
        )
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
    (bad,) = [score for score in scores(tmp_path / "run") if score.failed]
    assert bad.test_id == TESTS[2].id
    assert (bad.error_kind, bad.error) == ("bad_request", "request refused (400): Not today")
    with serving(port=port) as server:
        assert run(*command, "--resume", cwd=tmp_path).code == 0
        assert answers_shown(server) == answers([TESTS[2]])
        more = options(server, "-o", "run", "--limit", "5")
        server.reset()
        assert run(*more, "--resume", cwd=tmp_path).code == 0
        assert answers_shown(server) == answers([TESTS[4]])


def test_a_wrong_key_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(api_key="sk-right") as server:
        ended = run(
            *options(server, "-o", "run", "--api-key-env", "MY_KEY", "--quiet"),
            cwd=tmp_path,
            env={"MY_KEY": "sk-wrong-0123456789"},
        )
    said = refused(ended)
    assert "refused the key (401: " in said
    assert "sk-wrong" not in said
    assert not (tmp_path / "run").exists()
    assert server.calls == 0


def test_other_settings_are_another_run(server: ScriptedServer, tmp_path: Path) -> None:
    command = options(server, "-o", "run", "--limit", "1")
    assert run(*command, cwd=tmp_path).code == 0
    assert "already holds a run: add --resume" in refused(run(*command, cwd=tmp_path))
    server.reset()
    other = run(*command, "--threshold", "0.1", "--max-tokens", "99", "--resume", cwd=tmp_path)
    said = refused(other)
    assert "max_tokens was not set and is now 99" in said
    assert "threshold was 0.2 and is now 0.1" in said
    assert server.requests == ()


def unannotated(test: UnitTest) -> dict[str, Any]:
    row = test.as_row()
    del row["annotations"]
    return row


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--annotations", "others.jsonl"], "tests that are not there ('b/1', 'b/2', 'b/3' and 1"),
        (["--annotations", "gone.jsonl"], "gone.jsonl does not exist"),
        (["--threshold", "0"], "0 makes no sense"),
        (["--threshold", "1.01"], "1.01 makes no sense"),
        (["--threshold", "near"], "'near' is no number"),
        (["--variants", "collections"], "'collections' is no variant"),
        (["--metrics", "usefulness"], "'usefulness' is no metric"),
        (["--model", " "], "name it with --model"),
        (["--base-url", "localhost"], "is no address"),
        (["--api-key-env", "NO_SUCH_KEY"], "No API key: set NO_SUCH_KEY"),
        (["--timeout", "0"], "--timeout must be greater than 0"),
        (["--resume"], "--resume needs --output-dir"),
    ],
)
def test_mistakes_are_told_before_anything_is_paid(
    more: list[str], says: str, server: ScriptedServer, tmp_path: Path
) -> None:
    rows = [
        {
            "test_id": f"b/{number}",
            "annotator": "ann",
            "source": "human",
            "answer_relevancy": 1.0,
            "faithfulness": 1.0,
        }
        for number in (1, 2, 3, 4)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "others.jsonl").write_text(text, encoding="utf-8")
    assert says in refused(run(*options(server, *more), cwd=tmp_path))
    assert server.requests == ()
    assert not (tmp_path / "grouse-runs").exists()


def test_tests_that_nobody_annotated_are_told_and_not_asked(
    server: ScriptedServer, tmp_path: Path
) -> None:
    rows = [unannotated(TESTS[0]), TESTS[3].as_row(), unannotated(TESTS[5])]
    file = tmp_path / "tests.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command: list[str | Path] = ["benchmark", "deepeval", file, "--metrics", "answer_relevancy"]
    command += ["--model", MODEL, "--base-url", server.base_url]
    ended = run(*command, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.stderr
    assert "2 of 3 tests have no annotation and are left out." in ended.stderr
    assert answers_shown(server) == answers([TESTS[3]])
    (figures,) = read_report(tmp_path / "run")["runs"]
    assert (figures["tests"], figures["no_annotation"], figures["rated"]) == (3, 2, 1)
    said = refused(run(*command, "--limit", "1", cwd=tmp_path))
    assert "None of the first 1 tests is annotated: raise --limit." in said
    file.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    assert "No test is annotated: name a file with --annotations" in refused(
        run(*command, cwd=tmp_path)
    )
