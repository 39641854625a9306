"""GrouseCallback on real chains: every way to run them, and everything that goes wrong."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import langchain_cases
import pytest
from langchain_cases import (
    ANSWERED,
    EXPECTED,
    QUESTION,
    REFERENCES,
    REFUSED,
    SCORES,
    UNREADABLE,
    FixedRetriever,
    QuietClient,
    rag,
    says,
    script,
    traced,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableLambda

from grouse_adapters import (
    METRIC_NAMES,
    ConfigurationError,
    Judgement,
    LLMJudge,
    OpenAIChat,
    RetryPolicy,
    Sample,
)
from grouse_adapters.core.live import LiveCounts
from grouse_adapters.core.sinks import JsonLinesSink
from grouse_adapters.langchain import GrouseCallback
from grouse_adapters.testing import HttpError, ScriptedChat, ScriptedServer

server, judge = langchain_cases.server, langchain_cases.judge


def watching(callback: GrouseCallback, **metadata: Any) -> Any:
    return {"callbacks": [callback], "metadata": {"expected_output": EXPECTED, **metadata}}


def scores(judgement: Judgement) -> tuple[Any, ...]:
    return tuple(judgement.value(name) for name in METRIC_NAMES)


def assert_forgotten(callback: GrouseCallback) -> None:
    assert not callback.run_map
    assert not callback.order_map


Way = Callable[[Runnable[Any, Any], Any], str]


def streamed(chain: Runnable[Any, Any], config: Any) -> str:
    return "".join(chain.stream(QUESTION, config))


def astreamed(chain: Runnable[Any, Any], config: Any) -> str:
    async def main() -> str:
        return "".join([piece async for piece in chain.astream(QUESTION, config)])

    return asyncio.run(main())


def events_streamed(chain: Runnable[Any, Any], config: Any) -> str:
    async def main() -> str:
        events = chain.astream_events(QUESTION, config, version="v2")
        ends = [e async for e in events if e["event"] == "on_chain_end" and not e["parent_ids"]]
        return str(ends[0]["data"]["output"])

    return asyncio.run(main())


WAYS: dict[str, Way] = {
    "invoke": lambda chain, config: chain.invoke(QUESTION, config),
    "ainvoke": lambda chain, config: asyncio.run(chain.ainvoke(QUESTION, config)),
    "stream": streamed,
    "astream": astreamed,
    "astream_events": events_streamed,
    "batch": lambda chain, config: chain.batch([QUESTION], config)[0],
    "abatch": lambda chain, config: asyncio.run(chain.abatch([QUESTION], config))[0],
}


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run_a_chain_is_judged(way: str, answer: str, judge: LLMJudge) -> None:
    given: list[Judgement] = []
    callback = GrouseCallback(judge=judge, sinks=given.append)
    assert WAYS[way](rag(answer), watching(callback, user="u7")) == answer
    assert callback.flush(30)
    (judgement,) = given
    assert scores(judgement) == SCORES[answer]
    assert judgement.sample.input == QUESTION
    assert judgement.sample.references == tuple(REFERENCES)
    assert judgement.sample.actual_output == answer
    assert judgement.sample.expected_output == EXPECTED
    assert judgement.sample.metadata["user"] == "u7"
    assert judgement.sample.metadata["run_name"] == "RunnableSequence"
    assert "expected_output" not in judgement.sample.metadata
    assert callback.judgements == (judgement,)
    assert callback.counts == LiveCounts(seen=1, judged=1)
    assert_forgotten(callback)


@pytest.mark.parametrize("way", ["batch", "abatch"])
def test_a_batch_keeps_questions_answers_and_ids_together(way: str, judge: LLMJudge) -> None:
    chain = {
        "question": RunnableLambda(lambda question: question),
        "context": FixedRetriever(),
        "answer": RunnableLambda(lambda question: ANSWERED if question == "a" else REFUSED),
    }
    chain_of: Runnable[Any, Any] = RunnableLambda(lambda question: question) | chain
    callback = GrouseCallback(judge=judge)
    configs = [watching(callback, number=number) for number in range(4)]
    questions = ["a", "b", "a", "b"]
    if way == "batch":
        chain_of.batch(questions, configs)
    else:
        asyncio.run(chain_of.abatch(questions, configs))
    assert callback.flush(30)
    judged = sorted(callback.judgements, key=lambda j: int(j.sample.metadata["number"]))
    assert [j.sample.input for j in judged] == questions
    assert [scores(j) for j in judged] == [SCORES[ANSWERED], SCORES[REFUSED]] * 2
    assert len({j.id for j in judged}) == 4


class SlowJudge:
    """A judge that answers when it is let."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        told = script()

        async def reply(prompt: str, schema: Any) -> Any:
            await asyncio.to_thread(self.gate.wait)
            return await told(prompt, schema)

        self.judge = LLMJudge(ScriptedChat(reply))


@pytest.fixture
def slow() -> Iterator[SlowJudge]:
    made = SlowJudge()
    yield made
    made.gate.set()
    made.judge.close()


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_there_before_a_slow_judge_has_finished(way: str, slow: SlowJudge) -> None:
    events: list[str] = []
    callback = GrouseCallback(judge=slow.judge, sinks=lambda judgement: events.append("judged"))
    assert WAYS[way](rag(ANSWERED), watching(callback)) == ANSWERED
    events.append("answered")
    assert callback.counts.judged == 0
    slow.gate.set()
    assert callback.flush(30)
    assert events == ["answered", "judged"]


def test_a_full_queue_drops_and_counts_and_the_chain_goes_on(slow: SlowJudge) -> None:
    callback = GrouseCallback(judge=slow.judge, max_pending=2)
    chain = rag(ANSWERED)
    with pytest.warns(RuntimeWarning, match="More than 2 live answers"):
        answers = [chain.invoke(QUESTION, watching(callback)) for _ in range(5)]
    assert answers == [ANSWERED] * 5
    assert callback.counts == LiveCounts(seen=5, dropped=3)
    slow.gate.set()
    assert callback.flush(30)
    assert callback.counts == LiveCounts(seen=5, dropped=3, judged=2)


def test_a_share_of_the_answers_is_judged() -> None:
    callback = GrouseCallback(judge="lexical", sample_rate=0.5, seed=3)
    chain = rag(ANSWERED)
    for _ in range(40):
        chain.invoke(QUESTION, watching(callback))
    assert callback.flush(30)
    counts = callback.counts
    assert counts.seen == 40
    assert counts.judged + counts.left_out == 40
    assert 8 <= counts.judged <= 32
    none = GrouseCallback(judge="lexical", sample_rate=0.0)
    chain.invoke(QUESTION, watching(none))
    assert none.counts == LiveCounts(seen=1, left_out=1)


def test_an_abandoned_stream_is_not_judged() -> None:
    callback = GrouseCallback(judge="lexical")
    stream = rag(ANSWERED).stream(QUESTION, watching(callback))
    next(iter(stream))
    stream.close()  # type: ignore[attr-defined]  # it is a generator
    del stream
    gc.collect()
    assert callback.flush(30)
    assert callback.skipped == {"abandoned": 1}
    assert callback.counts.judged == 0
    assert_forgotten(callback)


@pytest.mark.parametrize("how", ["closed", "dropped", "cancelled"])
def test_an_abandoned_async_stream_is_not_judged(how: str) -> None:
    callback = GrouseCallback(judge="lexical")

    async def main() -> None:
        stream: Any = rag(ANSWERED).astream(QUESTION, watching(callback))
        if how == "cancelled":
            began = asyncio.Event()

            async def read(pieces: Any) -> None:
                async for _ in pieces:
                    began.set()
                    await asyncio.sleep(60)

            reading = asyncio.create_task(read(stream))
            await began.wait()
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            del reading
        else:
            await anext(stream)
            if how == "closed":
                await stream.aclose()
        del stream
        gc.collect()
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert callback.flush(30)
    assert callback.skipped == {"abandoned": 1}
    assert callback.counts.judged == 0
    assert_forgotten(callback)


def breaking(question: str) -> str:
    raise RuntimeError("the chain broke")


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_in_the_chain_is_the_chains_alone(way: str) -> None:
    callback = GrouseCallback(judge="lexical")
    chain = rag(ANSWERED) | RunnableLambda(breaking)
    with pytest.raises(RuntimeError, match="the chain broke"):
        WAYS[way](chain, watching(callback))
    assert callback.flush(30)
    assert callback.skipped == {"failed": 1}
    assert callback.counts.judged == 0
    assert_forgotten(callback)


def test_a_failing_call_of_the_judge_is_a_failed_grade_in_the_record(judge: LLMJudge) -> None:
    callback = GrouseCallback(judge=judge)
    chain = rag(UNREADABLE, ANSWERED)
    assert chain.invoke(QUESTION, watching(callback)) == UNREADABLE
    assert chain.invoke(QUESTION, watching(callback)) == ANSWERED
    assert callback.flush(30)
    by_answer = {j.sample.actual_output: j for j in callback.judgements}
    assert by_answer[UNREADABLE].failed
    assert scores(by_answer[ANSWERED]) == SCORES[ANSWERED]


def test_a_judge_whose_server_breaks_does_not_reach_the_chain() -> None:
    with ScriptedServer(script(), faults=lambda request: HttpError.server_error()) as server:
        chat = OpenAIChat("m", base_url=server.base_url)
        with LLMJudge(chat, retries=RetryPolicy(retries=0)) as judge:
            callback = GrouseCallback(judge=judge)
            assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
            assert callback.flush(30)
    assert callback.judgements[0].failed


def test_a_judge_that_cannot_be_used_is_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ScriptedServer(api_key="sk-right") as server:
        with LLMJudge(OpenAIChat("m", base_url=server.base_url, api_key="sk-wrong")) as judge:
            callback = GrouseCallback(judge=judge)
            assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
            assert callback.flush(30)
            assert callback.counts == LiveCounts(seen=1, errors=1)
        assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
        assert callback.counts.errors == 2
    assert "refused the key" in caplog.text


def test_sinks_and_extractors_that_raise_do_not_reach_the_chain(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def breaks(anything: Any) -> Any:
        raise RuntimeError("the user's own mistake")

    given: list[Judgement] = []
    callback = GrouseCallback(judge="lexical", sinks=[breaks, given.append])
    assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
    assert callback.flush(30)
    assert len(given) == 1
    callback = GrouseCallback(judge="lexical", extract=breaks)
    assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
    assert callback.counts.errors == 1
    callback = GrouseCallback(judge="lexical", extract=lambda run: {"anwser": "x"})
    assert rag(ANSWERED).invoke(QUESTION, watching(callback)) == ANSWERED
    assert callback.counts.errors == 1
    assert "the user's own mistake" in caplog.text
    assert "The extractor gave 'anwser'" in caplog.text


def test_an_extractor_may_give_all_some_or_nothing() -> None:
    whole = Sample(input="Q", references=("R",), actual_output="A [1].", metadata={"mine": 1})
    seen: list[str] = []

    def some(run: Any) -> dict[str, Any]:
        seen.append(run.run_type)
        return {"references": [REFERENCES[0]], "expected_output": "So."}

    for extract in (some, lambda run: whole, lambda run: None):
        callback = GrouseCallback(judge="lexical", extract=extract)
        rag(ANSWERED).invoke(QUESTION, watching(callback))
        assert callback.flush(30)
        samples = [judgement.sample for judgement in callback.judgements]
        if extract is some:
            assert seen == ["chain"]
            assert samples[0].references == (REFERENCES[0],)
            assert samples[0].expected_output == "So."
            assert samples[0].actual_output == ANSWERED
        elif samples:
            assert samples[0] == whole.model_copy(update={"id": samples[0].id})
            assert samples[0].id
        else:
            assert callback.skipped == {"extractor": 1}


def test_runs_without_documents_are_counted_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    callback = GrouseCallback(judge="lexical")
    with caplog.at_level(logging.WARNING, "grouse_adapters"):
        says(ANSWERED).invoke("a bare model", {"callbacks": [callback]})
        FixedRetriever().invoke("a bare retriever", {"callbacks": [callback]})
        assert not caplog.messages
        plain: Runnable[str, str] = RunnableLambda(lambda question: ANSWERED)
        plain.invoke(QUESTION, {"callbacks": [callback]})
        plain.invoke(QUESTION, {"callbacks": [callback]})
    assert callback.skipped == {"no question": 1, "no answer": 1, "no documents": 2}
    (message,) = caplog.messages
    assert "does not judge the run 'RunnableLambda' (no documents)" in message
    assert callback.counts.judged == 0
    assert_forgotten(callback)


def test_only_the_whole_chain_is_judged_and_a_part_only_where_it_is_watched() -> None:
    outer = GrouseCallback(judge="lexical")
    inner = GrouseCallback(judge="lexical")
    part = rag(ANSWERED).with_config(callbacks=[inner])
    chain = RunnableLambda(lambda question: question) | part
    chain.invoke(QUESTION, watching(outer))
    assert outer.flush(30)
    assert inner.flush(30)
    assert (outer.counts.judged, inner.counts.judged) == (1, 1)


class Watcher(BaseCallbackHandler):
    def __init__(self) -> None:
        self.prompts: list[str] = []

    def on_llm_start(self, serialized: Any, prompts: list[str], **more: Any) -> None:
        self.prompts += prompts


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_the_judges_calls_are_not_in_the_users_trace(way: str) -> None:
    """The judge's model is a LangChain model, and the chain is traced and watched."""
    told = script()
    judged: list[str] = []

    def answer(prompt: str) -> str:
        judged.append(prompt)
        return json.dumps(asyncio.run(told(prompt)))

    model: Runnable[Any, str] = RunnableLambda(lambda prompt: answer(str(prompt)))
    client, watcher = QuietClient(), Watcher()
    callback = GrouseCallback(judge=model)
    config = {**watching(callback), "callbacks": [callback, watcher]}
    with traced(client):
        assert WAYS[way](rag(ANSWERED), config) == ANSWERED
        assert callback.flush(30)
    assert len(judged) == 3
    assert scores(callback.judgements[0]) == SCORES[ANSWERED]
    assert callback.counts == LiveCounts(seen=1, judged=1)
    assert not set(judged) & set(watcher.prompts)
    posted = [str(run["inputs"]) for run in client.created]
    assert len(posted) == 7
    assert not any("answer_2" in inputs for inputs in posted)


def test_records_go_to_a_file_and_come_back_as_judgements(tmp_path: Path) -> None:
    path = tmp_path / "live" / "judgements.jsonl"
    with GrouseCallback(judge="lexical", sinks=JsonLinesSink(path)) as callback:
        for answer in (ANSWERED, REFUSED):
            rag(answer).with_config(tags=["blue"]).invoke(QUESTION, watching(callback))
    rows = [Judgement.model_validate_json(line) for line in path.read_text().splitlines()]
    assert [row.sample.actual_output for row in rows] == [ANSWERED, REFUSED]
    assert [row.id for row in rows] == [judgement.id for judgement in callback.judgements]
    assert rows[0].sample.metadata["tags"] == ["blue"]


def test_the_run_id_is_the_records_id() -> None:
    callback, run_id = GrouseCallback(judge="lexical"), uuid.uuid4()
    rag(ANSWERED).with_config(run_id=run_id).invoke(QUESTION, watching(callback))
    assert callback.flush(30)
    assert callback.judgements[0].id == str(run_id)


def test_many_threads_share_one_callback() -> None:
    callback = GrouseCallback(judge="lexical", keep=7)
    chain = rag(ANSWERED)

    def work() -> None:
        for _ in range(10):
            chain.invoke(QUESTION, watching(callback))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert callback.flush(30)
    assert callback.counts == LiveCounts(seen=40, judged=40)
    assert len(callback.judgements) == 7
    assert_forgotten(callback)


def test_settings_are_checked_at_once() -> None:
    with pytest.raises(ConfigurationError, match="sample_rate"):
        GrouseCallback(judge="lexical", sample_rate=2)
    with pytest.raises(ConfigurationError, match="Unknown metric"):
        GrouseCallback(judge="lexical", metrics=["faith"])
    with pytest.raises(ConfigurationError, match="a model's name or None, not int"):
        GrouseCallback(judge=7)
    assert GrouseCallback(judge="lexical", citations="ignored", metrics=["usefulness"])
