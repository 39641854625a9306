"""The event handler in trouble: the engine never notices, and nothing is lost unsaid."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from index_engines import (
    ANSWERED,
    QUESTION,
    REFUSED,
    SCRIPT,
    Gate,
    OwnPrompt,
    ToldLLM,
    asking_engine,
    bridge_engine,
    bridge_index,
    judge_at,
)
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags

from grouse_adapters import ConfigurationError, Judgement, LLMJudge
from grouse_adapters.core.sinks import JsonLinesSink
from grouse_adapters.llama_index import GrouseEventHandler
from grouse_adapters.testing import Garbage, ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_at(server) as built:
        yield built


@pytest.fixture
def handler(judge: LLMJudge) -> Iterator[GrouseEventHandler]:
    with GrouseEventHandler(judge) as attached:
        yield attached


@pytest.fixture(autouse=True)
def _no_handler_stays() -> Iterator[None]:
    dispatcher = get_dispatcher()
    before = list(dispatcher.event_handlers)
    yield
    dispatcher.event_handlers = before


def seen(handler: GrouseEventHandler) -> list[Judgement]:
    """What was judged, when all is, by question: they finish in any order."""
    assert handler.flush(60)
    return sorted(handler.judgements, key=lambda judgement: judgement.sample.input)


def only(handler: GrouseEventHandler) -> Judgement:
    (judgement,) = seen(handler)
    return judgement


def test_a_stream_that_breaks_off_raises_as_before(handler: GrouseEventHandler) -> None:
    class BreaksOff(ToldLLM):
        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            yield from list(super().stream_complete(prompt))[:2]
            raise ConnectionResetError("the model went away")

    response = bridge_engine(BreaksOff(), streaming=True).query(QUESTION)
    with pytest.raises(ConnectionResetError, match="the model went away"):
        str(response)
    bridge_engine().query("And now?")
    assert only(handler).sample.input == "And now?"


def test_an_exception_in_the_engine_is_the_engines(handler: GrouseEventHandler) -> None:
    def breaks(prompt: str) -> str:
        raise RuntimeError("the model is down")

    engine = bridge_engine(ToldLLM(breaks))
    with pytest.raises(RuntimeError, match="the model is down"):
        engine.query(QUESTION)

    async def asked() -> None:
        with pytest.raises(RuntimeError, match="the model is down"):
            await engine.aquery(QUESTION)
        await bridge_engine().aquery("After it?")

    asyncio.run(asked())
    bridge_engine().query("After all?")
    assert [j.sample.input for j in seen(handler)] == sorted(["After it?", "After all?"])


def test_a_cancelled_query_is_forgotten(handler: GrouseEventHandler) -> None:
    started = asyncio.Event()

    class Waits(ToldLLM):
        async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

    async def asked() -> None:
        task = asyncio.create_task(bridge_engine(Waits()).aquery("Cancelled?"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await bridge_engine().aquery(QUESTION)

    asyncio.run(asked())
    assert only(handler).sample.input == QUESTION


def test_the_answer_is_there_before_a_slow_judge_has_finished() -> None:
    """A judge's model that only answers when it is let: the query must not wait for it."""
    gate = Gate()
    order: list[str] = []
    slow = ToldLLM(gate)
    with GrouseEventHandler(slow, sinks=[lambda judgement: order.append("judged")]) as handler:
        assert str(bridge_engine().query(QUESTION)) == ANSWERED
        order.append("answered")

        async def asked() -> None:
            await bridge_engine().aquery(QUESTION)
            order.append("answered again")

        asyncio.run(asked())
        str(bridge_engine(streaming=True).query(QUESTION))
        order.append("streamed")
        assert handler.counts.judged == 0
        gate.opened.set()
        assert handler.flush(60)
    assert order == ["answered", "answered again", "streamed", "judged", "judged", "judged"]


def test_a_failing_judge_is_a_failed_grade() -> None:
    with ScriptedServer(SCRIPT, faults=Garbage("Well.")) as server, judge_at(server) as judge:
        with GrouseEventHandler(judge) as handler:
            assert str(bridge_engine().query(QUESTION)) == ANSWERED
        judgement = only(handler)
    assert judgement.failed
    assert judgement.grades["answer_relevancy"].kind == "failed"


def test_a_judge_set_up_wrongly_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(SCRIPT, api_key="right") as server, judge_at(server) as judge:
        with GrouseEventHandler(judge) as handler:
            assert str(bridge_engine().query(QUESTION)) == ANSWERED
        assert handler.counts.errors == 1
        judge.close()
        with GrouseEventHandler(judge) as handler, caplog.at_level(logging.ERROR):
            assert str(bridge_engine().query(QUESTION)) == ANSWERED
    assert handler.counts.errors == 1
    assert "judge is closed" in caplog.text


def test_an_event_that_cannot_be_read_is_logged(
    handler: GrouseEventHandler, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), instrument_tags({"id": _Unprintable()}):
        assert str(bridge_engine().query(QUESTION)) == ANSWERED
    assert "no text today" in caplog.text
    assert handler.counts.errors == 1
    with caplog.at_level(logging.ERROR):
        odd: Any = OwnPrompt(retriever=bridge_index().as_retriever(), says=7)
        assert odd.query("Seven?") == 7
    assert "could not be read for judging" in caplog.text


class _Unprintable:
    def __str__(self) -> str:
        raise OSError("no text today")


def test_a_sink_that_raises_hurts_nobody(judge: LLMJudge) -> None:
    given: list[Judgement] = []

    def broken(judgement: Judgement) -> None:
        raise OSError("disk full")

    with GrouseEventHandler(judge, sinks=[broken, given.append]) as handler:
        assert str(bridge_engine().query(QUESTION)) == ANSWERED
        assert handler.flush(60)
    assert [judgement.sample.input for judgement in given] == [QUESTION]


def test_a_full_queue_drops_and_counts() -> None:
    gate = Gate()
    engine = bridge_engine()
    with GrouseEventHandler(ToldLLM(gate), max_pending=2) as handler:
        with pytest.warns(RuntimeWarning, match="dropped and counted"):
            answers = [str(engine.query(f"{QUESTION} {number}")) for number in range(5)]
        assert answers == [ANSWERED] * 5
        assert (handler.counts.seen, handler.counts.dropped) == (5, 3)
        gate.opened.set()
        assert handler.flush(60)
        assert handler.counts.judged == 2


def test_a_share_of_the_answers(judge: LLMJudge) -> None:
    engine = bridge_engine()

    def sampled() -> list[str]:
        with GrouseEventHandler(judge, sample_rate=0.3, seed=7) as handler:
            for number in range(20):
                engine.query(f"{QUESTION} {number}")
        assert handler.counts.seen == 20
        assert handler.counts.left_out + handler.counts.judged == 20
        return sorted(j.sample.input for j in handler.judgements)

    first = sampled()
    assert 0 < len(first) < 20
    assert sampled() == first


def test_some_metrics_alone(server: ScriptedServer, judge: LLMJudge) -> None:
    with GrouseEventHandler(judge, metrics=["completeness"]) as handler:
        bridge_engine().query(QUESTION)
    assert list(only(handler).grades) == ["completeness"]
    assert server.calls == 1


def test_two_handlers_see_the_same(judge: LLMJudge) -> None:
    with GrouseEventHandler(judge) as one, GrouseEventHandler(judge) as other:
        asking_engine(use_async=True).query("Whole?")
        str(bridge_engine(streaming=True).query("Streamed?"))
        for handler in (one, other):
            assert [j.sample.input for j in seen(handler)] == sorted(["Whole?", "Streamed?"])


def test_the_engines_own_llm_as_the_judge() -> None:
    with ScriptedServer(SCRIPT) as server:
        openai_like = pytest.importorskip("llama_index.llms.openai_like")
        llm = openai_like.OpenAILike(
            model="m", api_base=server.base_url, api_key="k", is_chat_model=True
        )
        with GrouseEventHandler(llm) as handler:
            bridge_engine().query(QUESTION)
        judgement = only(handler)
    assert judgement.value("faithfulness") == 1
    assert (judgement.judge, judgement.llm_calls) == ("m", 3)
    assert judgement.usage.input_tokens > 0


def test_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError, match="sample_rate"):
        GrouseEventHandler("lexical", sample_rate=2)
    with pytest.raises(ConfigurationError, match="Unknown metric"):
        GrouseEventHandler("lexical", metrics=["correctness"])
    with pytest.raises(ConfigurationError, match="No API key"):
        GrouseEventHandler("gpt-4o")


def test_rows_reach_a_file(judge: LLMJudge, tmp_path: Path) -> None:
    path = tmp_path / "live" / "judgements.jsonl"
    with GrouseEventHandler(judge, sinks=[JsonLinesSink(path)]):
        bridge_engine().query(QUESTION)
        bridge_engine(ToldLLM(REFUSED)).query(QUESTION)
    rows = [Judgement.model_validate_json(line) for line in path.read_text().splitlines()]
    assert {row.value("answer_relevancy") for row in rows} == {5, None}


PROGRAM = """
    import os, sys
    sys.path.insert(0, {tests!r})
    sys.path.insert(0, {folder!r})
    from index_engines import ANSWERED, QUESTION, bridge_engine
    from grouse_adapters.core.sinks import JsonLinesSink
    from grouse_adapters.llama_index import GrouseEventHandler

    handler = GrouseEventHandler("lexical", sinks=[JsonLinesSink({path!r})]).attach()
    engine = bridge_engine()
    engine.query("Before?")
"""


def run(program: str, path: Path) -> str:
    folder = Path(__file__).parent
    text = textwrap.dedent(PROGRAM + program).format(
        folder=str(folder), tests=str(folder.parent), path=str(path)
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def questions(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return sorted(Judgement.model_validate_json(line).sample.input for line in lines)


def test_a_program_that_ends_at_once_has_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run("", path)
    assert questions(path) == ["Before?"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_judges_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run(
        # A fork in the middle of the very first judgement may leave the child an import lock.
        """
    handler.flush(60)
    child = os.fork()
    engine.query("In the child?" if child == 0 else "In the parent?")
    handler.flush(60)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """,
        path,
    )
    assert questions(path) == ["Before?", "In the child?", "In the parent?"]
