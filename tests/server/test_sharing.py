"""One judgement per sample: however many ask, and from wherever, counted at a real server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import must_run

from grouse_adapters import (
    METRIC_NAMES,
    Judge,
    Judgement,
    LLMJudge,
    OpenAIChat,
    Sample,
    resolve_judge,
)
from grouse_adapters.testing import Garbage, HttpError, Script, ScriptedServer

RESPONDS = Sample(
    input="How long is the bridge?",
    references=("The bridge is 300 m long.",),
    expected_output="It is 300 m long [1].",
    actual_output="The bridge measures 300 m [1].",
)
REFUSES = RESPONDS.model_copy(
    update={"actual_output": "No document answers this. The bridge has two towers [1]."}
)
SCRIPT = Script(
    {
        RESPONDS.actual_output: {"answer_relevancy": 5, "completeness": 4, "faithfulness": 1},
        REFUSES.actual_output: {
            "answer_relevancy": None,
            "completeness": None,
            "usefulness": 1,
            "faithfulness": 0,
        },
    }
)
VALUES = {
    "answer_relevancy": None,
    "completeness": None,
    "usefulness": 1,
    "faithfulness": 0,
    "positive_acceptance": 1,
    "negative_rejection": 1,
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT, latency=0.02) as server:
        yield server


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with LLMJudge(OpenAIChat("m", base_url=server.base_url)) as judge:
        yield judge


def asked(server: ScriptedServer) -> Counter[str | None]:
    return Counter(request.metric for request in server.requests)


FOUR = Counter(["answer_relevancy", "completeness", "usefulness", "faithfulness"])


@pytest.mark.parametrize(
    ("metric", "sample", "calls"),
    [
        ("answer_relevancy", REFUSES, 1),
        ("completeness", REFUSES, 1),
        ("usefulness", RESPONDS, 1),
        ("usefulness", REFUSES, 2),
        ("faithfulness", RESPONDS, 2),
        ("faithfulness", REFUSES, 3),
        ("positive_acceptance", REFUSES, 2),
        ("negative_rejection", RESPONDS, 2),
    ],
)
def test_one_metric_costs_only_what_the_pipeline_needs(
    server: ScriptedServer, judge: LLMJudge, metric: str, sample: Sample, calls: int
) -> None:
    judgement = judge.judge(sample, metrics=[metric])
    assert list(judgement.grades) == [metric]
    assert server.calls == judgement.llm_calls == calls


def test_all_at_once_are_four_calls(server: ScriptedServer, judge: LLMJudge) -> None:
    judgement = judge.judge(REFUSES)
    assert {name: judgement.value(name) for name in METRIC_NAMES} == VALUES
    assert asked(server) == FOUR
    assert judgement.llm_calls == 4


def test_one_after_another_are_four_calls_and_each_is_billed_once(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    judgements = [judge.judge(REFUSES, metrics=[name]) for name in METRIC_NAMES]
    assert asked(server) == FOUR
    assert sum(judgement.llm_calls for judgement in judgements) == 4
    total = sum(judgement.usage.input_tokens for judgement in judgements)
    assert total == judge_alone(server).usage.input_tokens


def judge_alone(server: ScriptedServer) -> Judgement:
    with LLMJudge(OpenAIChat("m", base_url=server.base_url)) as fresh:
        return fresh.judge(REFUSES)


def test_at_once_from_threads(server: ScriptedServer, judge: LLMJudge) -> None:
    barrier = threading.Barrier(6)

    def ask(name: str) -> int | None:
        barrier.wait()
        return judge.judge(REFUSES, metrics=[name]).value(name)  # type: ignore[arg-type]  # a metric

    with ThreadPoolExecutor(6) as pool:
        assert dict(zip(METRIC_NAMES, pool.map(ask, METRIC_NAMES), strict=True)) == VALUES
    assert asked(server) == FOUR


def test_from_several_event_loops_at_once_and_one_after_another(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    """As RAGAS does, with an ``asyncio.run`` per call, and DeepEval, with helper threads."""

    def own_loop(name: str) -> int | None:
        return asyncio.run(judge.ajudge(REFUSES, metrics=[name])).value(name)  # type: ignore[arg-type]  # a metric

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(own_loop, METRIC_NAMES))
    found += [own_loop(name) for name in METRIC_NAMES]
    assert found == list(VALUES.values()) * 2
    assert asked(server) == FOUR


def test_sync_calls_inside_a_running_loop(server: ScriptedServer, judge: LLMJudge) -> None:
    async def cell() -> list[int | None]:
        waiting = asyncio.create_task(judge.ajudge(REFUSES))
        await asyncio.sleep(0)
        sync = judge.judge(REFUSES)
        return [sync.value("faithfulness"), (await waiting).value("faithfulness")]

    assert asyncio.run(cell()) == [0, 0]
    assert asked(server) == FOUR


def test_judges_named_separately_are_one_judge(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As six metric objects do that were each given the same specification."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("GROUSE_JUDGE", "named")
    chat = OpenAIChat("object", base_url=server.base_url)
    for spec in ("named", None, chat):
        judges: list[Judge] = [resolve_judge(spec) for _ in METRIC_NAMES]
        assert len(set(map(id, judges))) == 1
    server.reset()
    for name in METRIC_NAMES:
        resolve_judge(chat).judge(REFUSES, metrics=[name])
    assert asked(server) == FOUR
    other = resolve_judge(chat, citations="ignored")
    assert other is not resolve_judge(chat)
    resolve_judge(chat).close()
    assert not resolve_judge(chat).closed


NOTEBOOK = """
import asyncio
from grouse_adapters import METRIC_NAMES, resolve_judge
asyncio.get_running_loop()  # a cell does run inside a loop
row = {row!r}
for name in METRIC_NAMES[:3]:
    resolve_judge("m").judge(row, metrics=[name])
"""


def test_from_notebook_cells(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        import ipykernel  # noqa: F401  # the kernel that the notebook runs in
        import nbclient
        import nbformat
    except ImportError:
        must_run("a notebook kernel")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    row = REFUSES.model_dump(mode="json", exclude={"id"})
    cells = [
        NOTEBOOK.format(row=row),
        'again = [(await resolve_judge("m").ajudge(row, metrics=[n])).value(n)'
        " for n in METRIC_NAMES]",
        "print(again)",
    ]
    code = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    notebook = nbformat.from_dict(  # type: ignore[no-untyped-call]  # it has no types
        {"cells": code, "metadata": {}, "nbformat": 4}
    )
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    assert notebook.cells[-1].outputs[0].text == f"{list(VALUES.values())}\n"
    assert asked(server) == FOUR


def test_a_failed_call_is_told_to_each_metric_once_and_then_repeated() -> None:
    with (
        ScriptedServer(SCRIPT, faults=lambda request: Garbage() if broken else None) as server,
        LLMJudge(OpenAIChat("m", base_url=server.base_url)) as judge,
    ):
        broken = True
        first = [judge.judge(RESPONDS, metrics=[name]) for name in METRIC_NAMES]
        assert {judgement.failed for judgement in first} == {True}
        assert asked(server) == Counter(["answer_relevancy", "completeness"])
        broken = False
        second = [judge.judge(RESPONDS, metrics=[name]) for name in METRIC_NAMES]
        assert {judgement.failed for judgement in second} == {False}
        assert server.calls == 2 + 3


def test_a_refused_key_reaches_every_caller_and_is_not_remembered() -> None:
    with (
        ScriptedServer(SCRIPT, faults=lambda request: HttpError(401, "no") if wrong else None) as s,
        LLMJudge(OpenAIChat("m", base_url=s.base_url)) as judge,
    ):
        wrong = True
        with ThreadPoolExecutor(6) as pool:
            errors = list(pool.map(lambda _: error_of(judge), range(6)))
        assert {type(error).__name__ for error in errors} == {"ConfigurationError"}
        wrong = False
        assert judge.judge(RESPONDS).value("completeness") == 4


def error_of(judge: LLMJudge) -> BaseException | None:
    try:
        judge.judge(RESPONDS)
    except Exception as error:  # noqa: BLE001  # handed to the test
        return error
    return None


def test_cancelling_one_caller_leaves_the_others_theirs(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    async def go() -> int | None:
        impatient = asyncio.create_task(judge.ajudge(REFUSES))
        patient = asyncio.create_task(judge.ajudge(REFUSES))
        while not server.in_flight:  # noqa: ASYNC110  # the server is in another thread
            await asyncio.sleep(0.001)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        return (await patient).value("faithfulness")

    assert asyncio.run(go()) == 0
    assert asked(server) == FOUR


def test_when_the_last_caller_has_gone_no_further_call_is_paid(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    async def go() -> None:
        tasks = [asyncio.create_task(judge.ajudge(REFUSES)) for _ in range(3)]
        while not server.in_flight:  # noqa: ASYNC110  # the server is in another thread
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(go())
    judge.judge(RESPONDS)  # on the same loop, so what was to follow would have followed by now
    assert asked(server)["usefulness"] == 0
    assert judge.judge(REFUSES).value("faithfulness") == 0  # what was cancelled is asked anew


def test_a_fork_gets_a_loop_of_its_own(server: ScriptedServer, tmp_path: Path) -> None:
    """The child judges with the judge it inherited; parent and child share the cache file."""
    program = textwrap.dedent(
        """
        import multiprocessing, sys
        from grouse_adapters import LLMJudge, OpenAIChat
        judge = LLMJudge(OpenAIChat("m", base_url=sys.argv[1]), cache=sys.argv[2])
        row = dict(input="q", references=["r"], expected_output="e", actual_output=sys.argv[3])

        def show(who):
            judgement = judge.judge({**row, "input": who})
            print(who, judgement.llm_calls, judgement.failed, flush=True)

        show("before")
        judge._cache.flush()
        child = multiprocessing.get_context("fork").Process(target=show, args=["child"])
        child.start()
        show("parent")
        child.join()
        assert child.exitcode == 0
        judge.close()
        """
    )
    output = run_python(program, server.base_url, str(tmp_path / "c"), RESPONDS.actual_output)
    # The faithfulness prompt shows no question: that one reply comes from the shared cache.
    assert sorted(output.splitlines()) == ["before 3 False", "child 2 False", "parent 2 False"]


def test_a_program_may_end_without_closing(server: ScriptedServer, tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from grouse_adapters import LLMJudge, OpenAIChat
        judge = LLMJudge(OpenAIChat("m", base_url=sys.argv[1]), cache=sys.argv[2])
        row = dict(input="q", references=["r"], expected_output="e", actual_output=sys.argv[3])
        print(judge.judge(row).llm_calls)
        """
    )
    arguments = (server.base_url, str(tmp_path / "c"), RESPONDS.actual_output)
    assert run_python(program, *arguments) == "3\n"
    assert run_python(program, *arguments) == "0\n", "the cache was written at exit"


def run_python(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
