"""Streams of samples: order, back-pressure, bounded memory, sources that stall or break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from grouse_adapters import (
    ConfigurationError,
    Failed,
    InputError,
    Judge,
    JudgeClosedError,
    Judgement,
    LexicalJudge,
    LLMJudge,
    Sample,
)
from grouse_adapters.core.errors import ChatError
from grouse_adapters.testing import Script, ScriptedChat

GRADES = Script(default={"answer_relevancy": 5, "completeness": 5, "faithfulness": 1})


def sample(number: int) -> Sample:
    return Sample(
        id=str(number),
        input=f"question {number}",
        references=(f"reference {number}",),
        expected_output=f"expected {number} [1].",
        actual_output=f"answer {number} [1].",
    )


def judges() -> list[Judge]:
    return [LLMJudge(ScriptedChat(GRADES), concurrency=3), LexicalJudge()]


@pytest.fixture(params=[0, 1], ids=["llm", "lexical"])
def judge(request: pytest.FixtureRequest) -> Iterator[Judge]:
    with judges()[request.param] as judge:
        yield judge


def ids(judgements: list[Judgement]) -> list[str | None]:
    return [judgement.id for judgement in judgements]


def test_every_sample_comes_out_once(judge: Judge) -> None:
    found = list(judge.judge_many(map(sample, range(40))))
    assert sorted(ids(found), key=lambda name: int(name or 0)) == [str(n) for n in range(40)]
    assert not any(judgement.failed for judgement in found)


def test_in_order_when_asked(judge: Judge) -> None:
    assert ids(list(judge.judge_many(map(sample, range(40)), ordered=True))) == [
        str(n) for n in range(40)
    ]


def test_async_in_order_from_both_kinds_of_source(judge: Judge) -> None:
    async def source() -> AsyncIterator[Sample]:
        for number in range(40):
            await asyncio.sleep(0)
            yield sample(number)

    async def go() -> list[list[str | None]]:
        from_async = [j async for j in judge.ajudge_many(source(), ordered=True)]
        from_plain = [j async for j in judge.ajudge_many(map(sample, range(40)), ordered=True)]
        return [ids(from_async), ids(from_plain)]

    assert asyncio.run(go()) == [[str(n) for n in range(40)]] * 2


def test_the_source_is_read_only_when_there_is_room(judge: Judge) -> None:
    taken = 0

    def endless() -> Iterator[Sample]:
        nonlocal taken
        while True:
            taken += 1
            yield sample(taken)

    stream = judge.judge_many(endless())
    for given in range(1, 31):
        next(stream)
        assert taken <= given + judge.window
    assert isinstance(stream, Iterator)


def test_the_async_source_is_read_only_when_there_is_room(judge: Judge) -> None:
    async def go() -> None:
        taken = 0
        closed = asyncio.Event()

        async def endless() -> AsyncIterator[Sample]:
            nonlocal taken
            try:
                while True:
                    taken += 1
                    yield sample(taken)
            finally:
                closed.set()

        stream = judge.ajudge_many(endless())
        for given in range(1, 31):
            await anext(stream)
            assert taken <= given + judge.window + 1
        await stream.aclose()  # type: ignore[attr-defined]  # an async generator
        source_is_let_go = asyncio.wait_for(closed.wait(), 5)
        await source_is_let_go

    asyncio.run(go())


def test_judgements_come_out_while_the_async_source_waits(judge: Judge) -> None:
    """A live source that pauses does not hold back what is finished."""

    async def go() -> list[str]:
        events: list[str] = []
        first_is_out = asyncio.Event()

        async def live() -> AsyncIterator[Sample]:
            yield sample(1)
            await first_is_out.wait()
            events.append("source goes on")
            yield sample(2)

        async for judgement in judge.ajudge_many(live()):
            events.append(f"judged {judgement.id}")
            first_is_out.set()
        return events

    assert asyncio.run(asyncio.wait_for(go(), 30)) == ["judged 1", "source goes on", "judged 2"]


def test_a_source_that_breaks_loses_nothing_under_way(judge: Judge) -> None:
    def broken() -> Iterator[Sample]:
        yield sample(1)
        yield sample(2)
        raise OSError("the disk is gone")

    found: list[Judgement] = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(judge.judge_many(broken()))  # extend keeps what came before the error
    assert len(found) == 2

    kept: list[Judgement] = []

    async def go() -> None:
        async for judgement in judge.ajudge_many(broken()):
            kept.append(judgement)  # keeps what came before the error

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(go())
    assert len(kept) == 2


def test_rows_of_a_framework_are_samples_too(judge: Judge) -> None:
    row = {"user_input": "q", "retrieved_contexts": ["r"], "reference": "e", "response": "a"}
    assert len(list(judge.judge_many([row, row]))) == 2
    with pytest.raises(InputError, match="'input' is missing"):
        list(judge.judge_many([{"response": "a"}]))


def test_an_unknown_metric_is_refused_before_the_first_sample(judge: Judge) -> None:
    with pytest.raises(ConfigurationError, match="Unknown metric 'truth'"):
        judge.judge_many(iter(()), metrics=["truth"])
    with pytest.raises(ConfigurationError, match="Unknown metric 'truth'"):
        judge.ajudge_many(iter(()), metrics=["truth"])


def test_a_closed_judge_says_so(judge: Judge) -> None:
    judge.close()
    judge.close()
    assert judge.closed
    with pytest.raises(JudgeClosedError, match="build a new one"):
        judge.judge(sample(1))


def test_leaving_a_stream_early_cancels_what_is_under_way() -> None:
    chat = ScriptedChat(GRADES, latency=0.005)
    with LLMJudge(chat, concurrency=3) as judge:
        for _ in judge.judge_many(map(sample, range(1000))):
            break
        judge.judge(sample(5000))  # goes through the same loop, so the rest is settled by now
        assert len(chat.calls) < 3 * (judge.window + 4)


def test_a_wrong_configuration_ends_the_stream_at_once() -> None:
    chat = ScriptedChat(ConfigurationError("The key is refused."))
    with (
        LLMJudge(chat, concurrency=3) as judge,
        pytest.raises(ConfigurationError, match="The key is refused"),
    ):
        list(judge.judge_many(map(sample, range(1000))))
    assert len(chat.calls) < 30


def test_a_failed_call_is_a_row_not_an_end() -> None:
    chat = ScriptedChat(ChatError("too long", kind="context_length"))
    with LLMJudge(chat) as judge:
        found = list(judge.judge_many(map(sample, range(50))))
    assert len(found) == 50
    assert {j.grades["completeness"].kind for j in found} == {"failed"}


def test_a_chat_model_that_breaks_is_a_failed_grade() -> None:
    with LLMJudge(ScriptedChat(ZeroDivisionError("oops"))) as judge:
        grade = judge.judge(sample(1)).grades["completeness"]
    assert isinstance(grade, Failed)
    assert (grade.error_kind, grade.error) == (
        "internal",
        "the chat model raised ZeroDivisionError('oops').",
    )


def test_the_memory_of_finished_calls_is_bounded() -> None:
    chat = ScriptedChat(GRADES)
    with LLMJudge(chat, memory=10) as judge:
        list(judge.judge_many(map(sample, range(200))))
        assert judge._runtime is not None
        assert len(judge._runtime.memory) == 10
        made = len(chat.calls)
        assert judge.judge(sample(0)).llm_calls == 3, "long forgotten"
        assert judge.judge(sample(0)).llm_calls == 0, "just asked"
        assert len(chat.calls) == made + 3


def test_the_limit_holds_over_all_callers() -> None:
    chat = ScriptedChat(GRADES, latency=0.002)
    with LLMJudge(chat, concurrency=4) as judge:

        def stream(start: int) -> None:
            list(judge.judge_many(map(sample, range(start, start + 20))))

        threads = [threading.Thread(target=stream, args=(100 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert chat.max_in_flight == 4
    assert len(chat.calls) == 240
