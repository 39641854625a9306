"""1,000 samples against a server in trouble: every one ends, once, and nothing is paid twice."""

from __future__ import annotations

import asyncio
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from command_line import (
    count_rows,
    finish,
    read_report,
    read_rows,
    run,
    start,
    wait_until,
    write_lines,
)

from grouse_adapters.core.metrics import METRIC_NAMES, JsonSchema, MetricName
from grouse_adapters.testing import RandomFaults, Script, ScriptedRequest, ScriptedServer
from grouse_adapters.testing.script import Reply

COUNT = 1_000
LIMIT = 50
RATE_LIMITED, SERVER_ERROR, DROPPED, CUT_OFF = 0.2, 0.05, 0.02, 0.02
JUDGED: tuple[MetricName, ...] = ("answer_relevancy", "completeness", "usefulness", "faithfulness")
FAILED = "failed"

Outcome = int | str | None
"""A grade, null, or ``FAILED``."""


def told(number: int) -> dict[str, int | None]:
    """The judge's grades: of eight samples six answer, one refuses, one refuses and adds."""
    if number % 4 == 3:
        completeness = None if number % 3 else 1
        adds = number % 8 == 7
        return {
            "answer_relevancy": None,
            "completeness": completeness,
            "usefulness": number % 5 % 2 if adds else None,
            "faithfulness": number % 7 % 2 if adds else None,
        }
    return {
        "answer_relevancy": 1 + number % 5,
        "completeness": 1 + number // 5 % 5,
        "usefulness": None,
        "faithfulness": number % 2,
    }


@dataclass(frozen=True)
class Expected:
    """What must come out for one sample."""

    grades: tuple[Outcome, ...]
    calls: frozenset[str]


def expected(number: int, cut: frozenset[str]) -> Expected:
    """The outcome when the replies about the metrics in ``cut`` are cut off."""
    said: dict[str, Outcome] = {
        name: FAILED if name in cut else grade for name, grade in told(number).items()
    }
    relevancy, completeness = said["answer_relevancy"], said["completeness"]
    calls = {"answer_relevancy", "completeness"}
    usefulness: Outcome
    faithfulness: Outcome
    if relevancy == FAILED:
        usefulness = faithfulness = FAILED
    elif relevancy is not None:
        usefulness, faithfulness = None, said["faithfulness"]
        calls |= {"faithfulness"}
    else:
        usefulness = faithfulness = said["usefulness"]
        calls |= {"usefulness"}
        if usefulness not in (None, FAILED):
            faithfulness = said["faithfulness"]
            calls |= {"faithfulness"}
    acceptance: Outcome
    rejection: Outcome
    if FAILED in (relevancy, completeness):
        acceptance = rejection = FAILED
    elif relevancy is None:
        acceptance = rejection = 1
        if completeness is not None:
            acceptance, rejection = 0, None
    else:
        acceptance, rejection = None, 0 if completeness is None else None
    grades = (relevancy, completeness, usefulness, faithfulness, acceptance, rejection)
    return Expected(grades, frozenset(calls))


def number_in(prompt: str) -> int:
    return int(re.findall(r"Item (\d{4})", prompt)[-1])


def script() -> Script:
    def grades(request: ScriptedRequest) -> dict[str, int | None]:
        return told(number_in(request.prompt))

    return Script(grades)


class Crowd:
    """Answers nobody before ``LIMIT`` calls are in flight, and then everybody."""

    def __init__(self) -> None:
        self.server: ScriptedServer | None = None
        self.gathered = False
        self._script = script()

    async def __call__(self, prompt: str, schema: JsonSchema | None) -> Reply:
        while not self.gathered:
            await asyncio.sleep(0.01)  # a client that sends too many has time to
            if self.server is not None and self.server.in_flight >= LIMIT:
                self.gathered = True
        return await self._script(prompt, schema)


def samples(folder: Path) -> Path:
    return write_lines(
        folder / "samples.jsonl",
        [
            {
                "id": f"{number:04}",
                "input": f"What is the colour of Item {number:04}?",
                "references": [f"Item {number:04} is blue and weighs {number} grams."],
                "expected_output": f"Item {number:04} is blue [1].",
                "actual_output": f"The colour of Item {number:04} is blue [1].",
            }
            for number in range(COUNT)
        ],
    )


def arguments(server: ScriptedServer, folder: Path) -> list[str | Path]:
    judge = ("--judge", "judge-9", "--base-url", server.base_url, "--concurrency", str(LIMIT))
    return ["evaluate", samples(folder), *judge, "--output-dir", folder / "run"]


def outcomes(folder: Path) -> dict[int, tuple[Outcome, ...]]:
    """What the run says about each sample, from its last row."""
    return {
        int(row["id"]): tuple(
            FAILED if grade["kind"] == FAILED else grade.get("value")
            for grade in (row["grades"][name] for name in METRIC_NAMES)
        )
        for row in read_rows(folder)
    }


def replies(server: ScriptedServer) -> Counter[tuple[int, str]]:
    """How often the reply about each sample and metric was given, and so paid for."""
    return Counter(
        (number_in(request.prompt), str(request.metric))
        for request in server.requests
        if request.status == 200
    )


def rows_on_disk(folder: Path) -> int:
    """How many replies another process would find in the cache."""
    path = folder / "cache" / "grouse-adapters" / "replies.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as db:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])


def means(all_grades: Sequence[tuple[Outcome, ...]]) -> dict[str, float]:
    columns = zip(METRIC_NAMES, zip(*all_grades, strict=True), strict=True)
    graded = {
        name: [grade for grade in column if isinstance(grade, int)] for name, column in columns
    }
    return {name: sum(grades) / len(grades) for name, grades in graded.items()}


def test_only_replies_that_were_cut_off_fail(tmp_path: Path) -> None:
    faults = RandomFaults(
        rate_limited=RATE_LIMITED,
        server_error=SERVER_ERROR,
        dropped=DROPPED,
        cut_off=CUT_OFF,
        retry_after=0.02,
    )
    crowd = Crowd()
    with ScriptedServer(crowd, faults=faults, latency=0.02) as server:
        crowd.server = server
        ended = run(*arguments(server, tmp_path), "--quiet", cwd=tmp_path)
        assert server.script_errors == ()
    served = [request for request in server.requests if request.status == 200]
    cut: dict[int, set[str]] = {number: set() for number in range(COUNT)}
    for request in served:
        if faults.cuts_off(request.prompt):
            cut[number_in(request.prompt)].add(str(request.metric))
    wanted = {number: expected(number, frozenset(cut[number])) for number in range(COUNT)}
    failed = sum(bool(metrics) for metrics in cut.values())
    assert failed > 10

    assert ended.code == 3
    assert len(read_rows(tmp_path / "run")) == COUNT
    assert outcomes(tmp_path / "run") == {key: value.grades for key, value in wanted.items()}
    kinds = {
        grade["error_kind"]
        for row in read_rows(tmp_path / "run")
        for grade in row["grades"].values()
        if grade["kind"] == FAILED
    }
    assert kinds == {"cut_off", "dependency"}
    report = read_report(tmp_path / "run")
    assert (report["samples"], report["failed_samples"]) == (COUNT, failed)
    got = {name: summary["mean"] for name, summary in report["metrics"].items()}
    assert got == means([value.grades for value in wanted.values()])

    # Never more in flight than told, and that many there were.
    assert crowd.gathered
    assert server.max_in_flight == LIMIT

    # Each reply was paid for once, the cut-off ones among them, and no other was asked for.
    paid = replies(server)
    assert set(paid) == {(number, call) for number in wanted for call in wanted[number].calls}
    assert set(paid.values()) == {1}
    assert server.paid_calls == server.calls == report["llm_calls"] == len(paid)
    # The trouble was real: the shares that the server was told, within a fifth.
    statuses = Counter(request.status for request in server.requests)
    total = len(server.requests)
    assert abs(statuses[429] / total - RATE_LIMITED) < RATE_LIMITED / 5
    assert abs(statuses[500] / total - SERVER_ERROR) < SERVER_ERROR / 5
    assert statuses[None] > 0
    assert set(statuses) == {200, 429, 500, None}


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    faults = RandomFaults(
        rate_limited=RATE_LIMITED, server_error=SERVER_ERROR, dropped=DROPPED, retry_after=0.02
    )
    with ScriptedServer(script(), faults=faults, latency=0.02) as server:
        told_to = [*arguments(server, tmp_path), "--quiet"]
        process = start(*told_to, cwd=tmp_path)
        wait_until(lambda: count_rows(tmp_path / "run") > COUNT // 4, process)
        known = server.paid_calls
        # What was paid for by now reaches the disk while the run goes on.
        wait_until(lambda: rows_on_disk(tmp_path) >= known, process)
        process.kill()
        assert finish(process).code == -signal.SIGKILL
        while server.in_flight:  # it notices one by one that nobody waits any more
            time.sleep(0.01)
        before = replies(server)
        kept = rows_on_disk(tmp_path)
        done = read_rows(tmp_path / "run")
        assert COUNT // 4 < len(done) < COUNT
        assert kept >= known

        ended = run(*told_to, "--resume", cwd=tmp_path)
        assert (ended.code, ended.stderr) == (0, "")
    wanted = {number: expected(number, frozenset()) for number in range(COUNT)}
    rows = read_rows(tmp_path / "run")
    assert rows[: len(done)] == done
    assert len(rows) == COUNT
    assert outcomes(tmp_path / "run") == {key: value.grades for key, value in wanted.items()}
    assert read_report(tmp_path / "run")["samples"] == COUNT
    assert server.max_in_flight <= LIMIT

    paid = replies(server)
    assert set(paid) == {(number, call) for number in wanted for call in wanted[number].calls}
    twice = paid.total() - len(paid)
    # Again only what was neither on disk nor in a finished row: no more than in the last second,
    # and in flight, when the process died.
    assert max(paid.values()) <= 2
    assert twice <= before.total() - kept
