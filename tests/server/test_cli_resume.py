"""Nothing is lost and nothing is paid for twice: resumed, interrupted and killed runs."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import (
    EXAMPLES,
    Finished,
    count_rows,
    finish,
    read_report,
    read_rows,
    run,
    start,
    wait_until,
    write_lines,
)
from told import CALLS, GRADES, SAMPLES, script

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.testing import Garbage, HttpError, ScriptedServer, ServedRequest, When

Arguments = Sequence[str | Path]


def arguments(server: ScriptedServer, folder: Path, *options: str | Path) -> list[str | Path]:
    judge = ("--judge", "judge-9", "--base-url", server.base_url)
    return ["evaluate", EXAMPLES, *judge, "--output-dir", folder, *options]


def again(told: Arguments, folder: Path, *options: str) -> Finished:
    return run(*told, "--resume", *options, cwd=folder.parent)


def grades_of(folder: Path) -> dict[str, tuple[int | None, ...]]:
    """The grades per id, from the last row of each."""
    return {
        row["id"]: tuple(row["grades"][name].get("value") for name in METRIC_NAMES)
        for row in read_rows(folder)
    }


def paid(server: ScriptedServer) -> Counter[str]:
    """How often the reply to each prompt was given."""
    return Counter(request.prompt for request in server.requests if request.status == 200)


def rows_on_disk(tmp_path: Path) -> int:
    """How many replies another process would find in the cache."""
    path = tmp_path / "cache" / "grouse-adapters" / "replies.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
        except sqlite3.OperationalError:  # the table is about to be made
            return 0


class Gate:
    """Lets a number of calls through and holds the others back, as a slow model does."""

    def __init__(self, open_for: int) -> None:
        self._left = open_for
        self._lock = threading.Lock()

    def __call__(self, request: ServedRequest) -> float:
        with self._lock:
            self._left -= 1
            return 0.0 if self._left >= 0 else 3600.0

    def open(self) -> None:
        with self._lock:
            self._left = 1_000_000


# --- resumed runs ---


def test_a_complete_run_is_not_called_for_again(tmp_path: Path) -> None:
    with ScriptedServer(script()) as server:
        told = arguments(server, tmp_path / "run", "--no-cache")
        first = run(*told, cwd=tmp_path)
        before = (tmp_path / "run" / "judgements.jsonl").read_bytes()
        second = again(told, tmp_path / "run")
        assert (second.code, second.stdout) == (0, first.stdout)
        assert (tmp_path / "run" / "judgements.jsonl").read_bytes() == before
        assert len(server.requests) == CALLS


def test_a_failed_row_is_judged_again_and_the_last_row_wins(tmp_path: Path) -> None:
    broken = [True]

    def chatters(request: ServedRequest) -> bool:
        return broken[0] and request.metric == "completeness" and "Kestrel" in request.prompt

    with ScriptedServer(
        script(), faults=When(chatters, Garbage("I would rather not say."))
    ) as server:
        told = arguments(server, tmp_path / "run")
        ended = run(*told, "--fail-under", "completeness=5", cwd=tmp_path)
        assert ended.code == 3  # which says more than 1, a mean below its threshold
        assert "1 of 13 samples" in ended.stderr
        assert "Below threshold: completeness" in ended.stderr
        (row,) = (row for row in read_rows(tmp_path / "run") if row["id"].startswith("wrong-cit"))
        failed = row["grades"]["completeness"]
        assert (failed["kind"], failed["error_kind"]) == ("failed", "unreadable")
        assert failed["raw_reply"] == "I would rather not say."
        assert row["grades"]["positive_acceptance"]["error_kind"] == "dependency"
        assert row["grades"]["faithfulness"]["value"] == 0
        report = read_report(tmp_path / "run")
        assert report["failed_samples"] == report["metrics"]["completeness"]["failed"] == 1
        assert report["metrics"]["completeness"]["mean"] == pytest.approx(24 / 7)

        broken[0] = False
        before = len(server.requests)
        mended = again(told, tmp_path / "run")
        assert (mended.code, mended.stderr.count("failed")) == (0, 1)  # "0 failed"
        assert len(server.requests) == before + 1  # the good replies come from the cache
        rows = read_rows(tmp_path / "run")
        assert [row["id"] for row in rows[13:]] == ["wrong-citation-battery"]
        assert grades_of(tmp_path / "run") == GRADES
        report = read_report(tmp_path / "run")
        assert (report["samples"], report["failed_samples"]) == (13, 0)
        assert report["llm_calls"] == CALLS + 1  # the failed reply was paid for, too


def test_an_edited_sample_is_judged_again(tmp_path: Path) -> None:
    samples = write_lines(tmp_path / "some.jsonl", SAMPLES[:3])
    with ScriptedServer(script()) as server:
        told = arguments(server, tmp_path / "run")
        told[1] = samples
        run(*told, cwd=tmp_path)
        server.reset()
        edited = {**SAMPLES[1], "references": SAMPLES[1]["references"][:1]}
        write_lines(samples, [SAMPLES[0], edited, *SAMPLES[2:4]])
        assert again(told, tmp_path / "run").code == 0
        # relevancy of the edited one shows no references, so its reply is known
        assert sorted(str(request.metric) for request in server.requests) == [
            "answer_relevancy",
            "completeness",
            "completeness",
            "faithfulness",
            "usefulness",
        ]
        assert read_report(tmp_path / "run")["samples"] == 4
        last = {row["id"]: row for row in read_rows(tmp_path / "run")}
        assert last["partial-velos"]["sample"]["references"] == edited["references"]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (["--citations", "ignored"], "citations was required and is now ignored"),
        (["--metrics", "completeness"], "metrics was"),
        (["--strategy", "single-call"], "strategy was per-metric and is now single-call"),
        (["--max-tokens", "99"], "model.max_tokens was 2048 and is now 99"),
        (["--no-reasoning"], "prompt_fingerprint was"),
        (["--judge", "judge-10"], "judge was judge-9 and is now judge-10"),
    ],
)
def test_other_settings_are_another_run(tmp_path: Path, other: list[str], named: str) -> None:
    with ScriptedServer(script()) as server:
        told = arguments(server, tmp_path / "run", "--limit", "1")
        run(*told, cwd=tmp_path)
        before = (tmp_path / "run" / "judgements.jsonl").read_bytes()
        server.reset()
        ended = again(told, tmp_path / "run", *other)
        assert ended.code == 2
        assert named in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
        assert server.requests == ()
        assert (tmp_path / "run" / "judgements.jsonl").read_bytes() == before


def test_a_script_may_always_say_resume(tmp_path: Path) -> None:
    with ScriptedServer(script()) as server:
        told = arguments(server, tmp_path / "run", "--limit", "2")
        assert again(told, tmp_path / "run").code == 0
        told[-1] = "4"
        assert again(told, tmp_path / "run", "--concurrency", "1", "--timeout", "9").code == 0
        assert set(grades_of(tmp_path / "run")) == set(list(GRADES)[:4])
        assert read_report(tmp_path / "run")["samples"] == 4


# --- interrupted runs ---


def test_a_killed_run_goes_on_without_paying_twice(tmp_path: Path) -> None:
    gate = Gate(open_for=20)
    with ScriptedServer(script(), latency=gate) as server:
        told = arguments(server, tmp_path / "run", "--concurrency", "3")
        process = start(*told, cwd=tmp_path)
        # All that was answered has reached the disk, and three calls are in flight.
        wait_until(lambda: rows_on_disk(tmp_path) == 20 and server.in_flight == 3, process)
        process.kill()
        assert finish(process).code == -signal.SIGKILL
        kept = read_rows(tmp_path / "run")
        assert 0 < len(kept) < 13
        assert not (tmp_path / "run" / "report.json").exists()
        gate.open()
        assert again(told, tmp_path / "run").code == 0
        assert grades_of(tmp_path / "run") == GRADES
        assert len(read_rows(tmp_path / "run")) == 13
        assert read_rows(tmp_path / "run")[: len(kept)] == kept
        # A reply that went to a dead client is none that it paid for.
        assert set(paid(server).values()) == {1}
        assert len(paid(server)) == CALLS


def test_a_killed_run_without_cache_pays_for_open_samples_alone(tmp_path: Path) -> None:
    gate = Gate(open_for=20)
    with ScriptedServer(script(), latency=gate) as server:
        told = arguments(server, tmp_path / "run", "--concurrency", "3", "--no-cache")
        process = start(*told, cwd=tmp_path)
        wait_until(lambda: server.calls == 20 and server.in_flight == 3, process)
        process.kill()
        finish(process)
        done = {row["id"]: row for row in read_rows(tmp_path / "run")}
        gate.open()
        assert again(told, tmp_path / "run").code == 0
        assert grades_of(tmp_path / "run") == GRADES
        twice = sum(count - 1 for count in paid(server).values())
        assert twice == 20 - sum(row["llm_calls"] for row in done.values())


def test_a_row_that_was_cut_off_is_judged_again(tmp_path: Path) -> None:
    with ScriptedServer(script()) as server:
        told = arguments(server, tmp_path / "run")
        run(*told, cwd=tmp_path)
        file = tmp_path / "run" / "judgements.jsonl"
        file.write_bytes(file.read_bytes()[:-40])
        assert again(told, tmp_path / "run").code == 0
        assert sorted(row["id"] for row in read_rows(tmp_path / "run")) == sorted(GRADES)
        assert len(server.requests) == CALLS


@pytest.mark.parametrize("cache", ["--cache", "--no-cache"])
def test_ctrl_c_says_how_to_go_on(tmp_path: Path, cache: str) -> None:
    gate = Gate(open_for=24)
    with ScriptedServer(script(), latency=gate) as server:
        told = arguments(server, tmp_path / "run", "--concurrency", "2", cache)
        process = start(*told, cwd=tmp_path)
        wait_until(lambda: server.calls >= 20 and count_rows(tmp_path / "run") > 2, process)
        process.send_signal(signal.SIGINT)
        ended = finish(process)
        kept = len(read_rows(tmp_path / "run"))
        assert ended.code == 130
        assert ended.stderr.splitlines()[-1] == (
            f"Stopped. {kept} judgements are kept in {tmp_path / 'run'}: add --resume "
            f"--output-dir {tmp_path / 'run'} to continue."
        )
        assert ended.stdout == ""
        gate.open()
        assert again(told, tmp_path / "run").code == 0
        assert grades_of(tmp_path / "run") == GRADES
        assert len(read_rows(tmp_path / "run")) == 13
        if cache == "--cache":
            twice = [times for times in paid(server).values() if times > 1]
            assert set(twice) <= {2}
            assert len(twice) <= 2, "at most the replies that were on their way when it stopped"


def test_ctrl_c_before_the_first_judgement_leaves_nothing(tmp_path: Path) -> None:
    with ScriptedServer(script(), latency=Gate(open_for=0)) as server:
        process = start(*arguments(server, tmp_path / "run"), cwd=tmp_path)
        wait_until(lambda: server.in_flight > 0, process)
        process.send_signal(signal.SIGINT)
        ended = finish(process)
        assert ended.code == 130
        assert ended.stderr == "Stopped before the first judgement.\n"
        assert not (tmp_path / "run").exists()


def test_a_server_that_dies_is_told_and_mended(tmp_path: Path) -> None:
    gate = Gate(open_for=20)
    server = ScriptedServer(script(), latency=gate)
    server.start()
    port = int(server.base_url.split(":")[2].removesuffix("/v1"))
    told = arguments(server, tmp_path / "run", "--concurrency", "7")
    process = start(*told, cwd=tmp_path)
    wait_until(lambda: server.calls == 20 and server.in_flight == 7, process)
    server.stop()
    ended = finish(process)
    assert ended.code == 3
    assert "--resume judges them again" in ended.stderr
    rows = read_rows(tmp_path / "run")
    assert len(rows) == 13
    failed = [row for row in rows if any(is_failed(grade) for grade in row["grades"].values())]
    assert failed
    assert any(row["grades"]["answer_relevancy"]["kind"] == "graded" for row in rows)
    assert read_report(tmp_path / "run")["failed_samples"] == len(failed)
    kinds = {
        grade["error_kind"]
        for row in failed
        for grade in row["grades"].values()
        if is_failed(grade)
    }
    assert kinds <= {"connection", "dependency"}
    assert "connection" in kinds
    with ScriptedServer(script(), port=port) as second:
        assert again(told, tmp_path / "run").code == 0
        assert second.calls == CALLS - 20
    assert grades_of(tmp_path / "run") == GRADES


def is_failed(grade: dict[str, Any]) -> bool:
    return bool(grade["kind"] == "failed")


def test_two_processes_cannot_share_a_run(tmp_path: Path) -> None:
    gate = Gate(open_for=3)
    with ScriptedServer(script(), latency=gate) as server:
        told = arguments(server, tmp_path / "run")
        first = start(*told, cwd=tmp_path)
        wait_until(lambda: server.calls == 3, first)
        second = again(told, tmp_path / "run")
        assert second.code == 2
        assert "is in use by another run" in second.stderr
        first.send_signal(signal.SIGINT)
        finish(first)


def test_the_key_is_in_no_file_and_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-only-for-this-test-4711"
    monkeypatch.setenv("MY_KEY", key)
    chatty = When("Kestrel", HttpError(400, f"The key {key} cannot be used for this."))
    with ScriptedServer(script(), api_key=key, faults=chatty) as server:
        told = arguments(server, tmp_path / "run", "--api-key-env", "MY_KEY")
        ended = run(*told, cwd=tmp_path)
        assert ended.code == 3
        assert any("[key]" in str(row["grades"]) for row in read_rows(tmp_path / "run"))
        assert server.requests[0].key_matched
        said = ended.stdout + ended.stderr
        monkeypatch.setenv("MY_KEY", key + "-old")
        refused = run(*arguments(server, tmp_path / "x", "--api-key-env", "MY_KEY"), cwd=tmp_path)
        assert refused.code == 2
        said += refused.stdout + refused.stderr
    assert key not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"judgements.jsonl", "run.json", "report.json", "replies.sqlite"} <= {
        path.name for path in files
    }
    assert [path for path in files if key.encode() in path.read_bytes()] == []
