"""Live judging at the end of a program and after a fork, each as a program of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters import Judgement
from grouse_adapters.testing import Script, ScriptedServer

SCRIPT = Script(default={"answer_relevancy": 5, "completeness": 4, "faithfulness": 1})
LONG = 120.0  # seconds; only a program that hangs takes that long
NEVER = 3600.0

BEGIN = """\
import asyncio, multiprocessing, os, signal, sys, threading, time
from grouse_adapters import LexicalJudge, LLMJudge, OpenAIChat, Sample
from grouse_adapters.core.live import JsonLinesSink, LiveJudging
from grouse_adapters.testing import ScriptedChat, Script

rows = JsonLinesSink(sys.argv[1])

def a_sample(name):
    return Sample(
        input=f"When is {name} open?", references=("Open from 9 to 5.",),
        expected_output="From 9 to 5 [1].", actual_output=f"{name}: from 9 to 5 [1].", id=name,
    )

async def told(prompt, schema):
    await asyncio.sleep(0.1)
    return await Script(default={"completeness": 4})(prompt, schema)

def over_http(url):
    return LLMJudge(OpenAIChat("m", base_url=url))
"""


def program(code: str, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", BEGIN + textwrap.dedent(code), *map(str, arguments)]


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        program(code, *arguments), capture_output=True, text=True, timeout=LONG, check=False
    )


def ids(path: Path) -> list[str]:
    return sorted(str(row.id) for row in rows(path))


def rows(path: Path) -> list[Judgement]:
    return [Judgement.model_validate_json(line) for line in path.read_text().splitlines()]


# --- the end of a program ---


def test_a_program_may_end_right_after_its_answer(tmp_path: Path) -> None:
    """The judge has not connected yet, and looks its server's name up after the last line.

    The program imports nothing else, so that it has used no thread pool before.
    """
    code = """
        import sys
        from grouse_adapters import LLMJudge, OpenAIChat, Sample
        from grouse_adapters.core.live import JsonLinesSink, LiveJudging
        judge = LLMJudge(OpenAIChat("m", base_url=sys.argv[2]))
        live = LiveJudging(judge, sinks=[JsonLinesSink(sys.argv[1])])
        for name in ("one", "two", "three"):
            live.offer(Sample(input=name, references=("r",), actual_output=f"{name} [1].", id=name))
        """
    with ScriptedServer(SCRIPT, latency=0.1) as server:
        url = server.base_url.replace("127.0.0.1", "localhost")
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "live.jsonl"), url],
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert ids(tmp_path / "live.jsonl") == ["one", "three", "two"]
    for row in rows(tmp_path / "live.jsonl"):
        assert [row.value(name) for name in row.grades] == [5, 4, None, 1, None, None]


def test_the_lexical_judge_finishes_as_well(tmp_path: Path) -> None:
    ended = run(
        """
        live = LiveJudging(LexicalJudge(), sinks=[rows])
        for number in range(50):
            live.offer(a_sample(f"{number:02}"))
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ids(tmp_path / "live.jsonl") == [f"{number:02}" for number in range(50)]


def test_a_program_that_fails_keeps_its_results(tmp_path: Path) -> None:
    ended = run(
        """
        live = LiveJudging(LLMJudge(ScriptedChat(told)), sinks=[rows], metrics=["completeness"])
        live.offer(a_sample("one"))
        raise SystemExit(7)
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (7, "")
    assert ids(tmp_path / "live.jsonl") == ["one"]


def test_a_judge_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with ScriptedServer(SCRIPT, latency=NEVER) as server:
        ended = run(
            """
            class Closes:
                def __call__(self, judgement): pass
                def close(self): print("closed")

            live = LiveJudging(over_http(sys.argv[2]), sinks=[rows, Closes()], exit_timeout=0.5)
            for name in ("one", "two", "three"):
                live.offer(a_sample(name))
            print("end")
            """,
            tmp_path / "live.jsonl",
            server.base_url,
        )
    assert (ended.returncode, ended.stdout) == (0, "end\nclosed\n")
    assert ended.stderr == (
        "3 live answers were not judged in time and lost: call flush() before the end, or allow "
        "more time.\n"
    )
    assert rows(tmp_path / "live.jsonl") == []


def test_ctrl_c_ends_the_waiting(tmp_path: Path) -> None:
    with ScriptedServer(SCRIPT, latency=NEVER) as server:
        process = subprocess.Popen(
            program(
                f"""
                class Tells(LiveJudging):
                    def wait_at_exit(self, since):
                        print("waiting", flush=True)
                        super().wait_at_exit(since)

                live = Tells(over_http(sys.argv[2]), sinks=[rows], exit_timeout={NEVER})
                live.offer(a_sample("one"))
                """,
                tmp_path / "live.jsonl",
                server.base_url,
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            time.sleep(0.5)  # it is about to wait
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=LONG)
        finally:
            process.kill()
            process.communicate()
    assert process.returncode == 0
    assert stderr == (
        "1 live answer was not judged in time and lost: call flush() before the end, or allow "
        "more time.\n"
    )


def test_threads_that_outlive_the_main_one_are_heard(tmp_path: Path) -> None:
    ended = run(
        """
        live = LiveJudging(LLMJudge(ScriptedChat(told)), sinks=[rows], metrics=["completeness"])
        def chain():
            live.offer(a_sample("early"))
            threading.main_thread().join()
            time.sleep(0.3)
            live.offer(a_sample("late"))
        threading.Thread(target=chain).start()
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ids(tmp_path / "live.jsonl") == ["early", "late"]


def test_the_judge_may_be_younger_or_older_than_the_callback(tmp_path: Path) -> None:
    """Who registers for the end last is called first: judges must not be closed before."""
    ended = run(
        """
        live = LiveJudging(LexicalJudge(), sinks=[rows])
        live.offer(a_sample("first"))
        live.flush()
        other = LiveJudging(LLMJudge(ScriptedChat(told)), sinks=[rows], metrics=["completeness"])
        other.offer(a_sample("second"))
        live.offer(a_sample("third"))
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ids(tmp_path / "live.jsonl") == ["first", "second", "third"]


# --- forks ---

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def told(ended: subprocess.CompletedProcess[str]) -> list[Any]:
    assert ended.returncode == 0, ended.stderr
    return sorted(json.loads(line) for line in ended.stdout.splitlines())


@forks
@pytest.mark.parametrize("flushes", [True, False])
def test_a_child_of_multiprocessing_starts_anew(tmp_path: Path, flushes: bool) -> None:
    """Without a flush its results are kept as well: it waits at its end like any program."""
    with ScriptedServer(SCRIPT, latency=0.2) as server:
        ended = run(
            f"""
            def show(who):
                print(f'["{{who}}", {{live.pending}}, {{live.counts.seen}}, '
                      f'{{live.counts.judged}}]', flush=True)

            def work():
                show("child before")
                live.offer(a_sample("child"))
                if {flushes}:
                    live.flush()
                    show("child after")

            live = LiveJudging(over_http(sys.argv[2]), sinks=[rows])
            live.offer(a_sample("earlier"))
            live.flush()
            live.offer(a_sample("parent"))
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join(60)
            assert child.exitcode == 0
            live.flush()
            show("parent")
            """,
            tmp_path / "live.jsonl",
            server.base_url,
        )
    after = [["child after", 0, 1, 1]] if flushes else []
    assert told(ended) == [*after, ["child before", 0, 0, 0], ["parent", 0, 2, 2]]
    assert ids(tmp_path / "live.jsonl") == ["child", "earlier", "parent"]


@forks
def test_a_forked_worker_that_exits_keeps_its_results(tmp_path: Path) -> None:
    """As servers do that load the program first and fork their workers then."""
    ended = run(
        """
        live = LiveJudging(LLMJudge(ScriptedChat(told)), sinks=[rows], metrics=["completeness"])
        live.offer(a_sample("parent"))
        pid = os.fork()
        if pid == 0:
            live.offer(a_sample("worker"))
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ids(tmp_path / "live.jsonl") == ["parent", "worker"]


@forks
def test_a_lock_that_was_held_during_the_fork_is_free_in_the_child(tmp_path: Path) -> None:
    ended = run(
        """
        live = LiveJudging(LLMJudge(ScriptedChat(told)), sinks=[rows], metrics=["completeness"])
        live.offer(a_sample("parent"))
        live.flush()
        locked, forked = threading.Event(), threading.Event()
        def hold():
            with live._changed, rows._lock:
                locked.set()
                forked.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        locked.wait()
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            live.offer(a_sample("child"))
            os._exit(0 if live.flush(20) else 1)
        forked.set()
        holder.join()
        assert os.waitpid(pid, 0)[1] == 0
        """,
        tmp_path / "live.jsonl",
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ids(tmp_path / "live.jsonl") == ["child", "parent"]


@forks
def test_children_pick_samples_of_their_own_unless_seeded(tmp_path: Path) -> None:
    ended = run(
        """
        judge = LexicalJudge()
        def picked(live):
            chosen = []
            for _ in range(64):
                before = live.counts.left_out
                live.offer(lambda: None)
                chosen.append(str(int(live.counts.left_out == before)))
            return "".join(chosen)
        free, seeded = (LiveJudging(judge, sample_rate=0.5, seed=seed) for seed in (None, 3))
        for _ in range(2):
            pid = os.fork()
            if pid == 0:
                print(f'["{picked(free)}", "{picked(seeded)}"]', flush=True)
                os._exit(0)
            os.waitpid(pid, 0)
        """,
        tmp_path / "live.jsonl",
    )
    (free, seeded), (other_free, other_seeded) = told(ended)
    assert free != other_free
    assert seeded == other_seeded
