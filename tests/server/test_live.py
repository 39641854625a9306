"""Live judging: what is watched notices nothing, and every answer is accounted for."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
from scripted_calls import wait_until

from grouse_adapters import Judge, Judgement, LexicalJudge, LLMJudge, OpenAIChat, Sample
from grouse_adapters.core import live as live_module
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.live import LiveCounts, LiveJudging
from grouse_adapters.core.metrics import JsonSchema, MetricName
from grouse_adapters.testing import Garbage, HttpError, Script, ScriptedChat, ScriptedServer

SCRIPT = Script(default={"answer_relevancy": 5, "completeness": 4, "faithfulness": 1})
LONG = 60.0  # seconds; only what hangs takes that long


def a_sample(number: int = 0, question: str = "When is it open?") -> Sample:
    return Sample(
        input=question,
        references=("Open from 9 to 5.",),
        expected_output="From 9 to 5 [1].",
        actual_output=f"From 9 to 5 [1]. Variant {number}.",
        id=f"answer-{number}",
    )


class Held:
    """A script that answers nothing until it is released, or lets through what holds a text."""

    def __init__(self) -> None:
        self._gate = threading.Event()
        self._let_through: list[str] = []

    async def __call__(self, prompt: str, schema: JsonSchema | None) -> Any:
        while not self._open_for(prompt):  # noqa: ASYNC110  # released from another thread
            await asyncio.sleep(0.002)
        return await SCRIPT(prompt, schema)

    def _open_for(self, prompt: str) -> bool:
        return self._gate.is_set() or any(text in prompt for text in self._let_through)

    def release(self, text: str | None = None) -> None:
        if text is None:
            self._gate.set()
        else:
            self._let_through.append(text)


@pytest.fixture(name="held")
def _held() -> Iterator[Held]:
    held = Held()
    yield held
    held.release()


@pytest.fixture(name="slow")
def _slow(held: Held) -> Iterator[LLMJudge]:
    with LLMJudge(ScriptedChat(held), concurrency=50) as judge:
        yield judge


@pytest.fixture(name="quick")
def _quick() -> Iterator[LLMJudge]:
    with LLMJudge(ScriptedChat(SCRIPT)) as judge:
        yield judge


def accounted_for(live: LiveJudging) -> LiveCounts:
    """The counts, once nothing is pending and they add up."""
    assert live.flush(LONG)
    counts = live.counts
    assert live.pending == 0
    assert counts.seen == counts.left_out + counts.dropped + counts.judged + counts.errors
    return counts


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == live_module.__name__]


# --- what is watched ---


def test_the_answer_is_out_before_a_slow_judge_has_finished(held: Held) -> None:
    events: list[str] = []
    with (
        ScriptedServer(held) as server,
        LLMJudge(OpenAIChat("m", base_url=server.base_url)) as judge,
    ):
        live = LiveJudging(judge, sinks=[lambda judgement: events.append(f"{judgement.id} judged")])
        assert live.offer(a_sample(1))
        events.append("answer-1 returned")
        wait_until(lambda: server.in_flight > 0)  # the judge is at it
        assert live.offer(lambda: a_sample(2))
        events.append("answer-2 returned")
        assert not live.flush(0.0)
        assert live.pending == 2
        held.release()
        assert accounted_for(live) == LiveCounts(seen=2, judged=2)
        assert server.calls == 6  # faithfulness, relevancy, completeness: each once per answer
    assert events[:2] == ["answer-1 returned", "answer-2 returned"]
    assert sorted(events[2:]) == ["answer-1 judged", "answer-2 judged"]


def test_a_sink_gets_what_the_judge_says(quick: LLMJudge) -> None:
    got: list[Judgement] = []
    live = LiveJudging(quick, sinks=[got.append])
    live.offer(a_sample(3))
    accounted_for(live)
    (judgement,) = got
    assert judgement.id == "answer-3"
    assert judgement.sample == a_sample(3)
    values = [judgement.value(name) for name in judgement.grades]
    assert values == [5, 4, None, 1, None, None]


def test_only_the_wanted_metrics_are_paid_for(quick: LLMJudge) -> None:
    got: list[Judgement] = []
    live = LiveJudging(quick, metrics=["grouse_completeness"], sinks=[got.append])
    live.offer(a_sample())
    accounted_for(live)
    assert [(list(judgement.grades), judgement.llm_calls) for judgement in got] == [
        (["completeness"], 1)
    ]


def test_a_running_loop_goes_on(held: Held, slow: LLMJudge) -> None:
    live = LiveJudging(slow)

    async def chain() -> list[str]:
        steps = []
        for number in range(3):
            assert live.offer(a_sample(number))
            steps.append("offered")
            await asyncio.sleep(0)
        held.release()
        assert await asyncio.to_thread(live.flush, LONG)
        return [*steps, "flushed"]

    assert asyncio.run(chain()) == ["offered", "offered", "offered", "flushed"]
    assert accounted_for(live).judged == 3


def test_the_judge_does_not_see_the_context_of_the_chain() -> None:
    """Tracers find their run in context variables: a judge's call must not become a part of it."""
    run: ContextVar[str] = ContextVar("run", default="none")
    seen: list[str] = []

    async def reply(prompt: str, schema: JsonSchema | None) -> Any:
        seen.append(run.get())
        return await SCRIPT(prompt, schema)

    with LLMJudge(ScriptedChat(reply)) as judge:
        live = LiveJudging(judge)
        token = run.set("the user's chain")
        live.offer(a_sample())
        run.reset(token)
        accounted_for(live)
    assert seen == ["none"] * 3


# --- what is not judged ---


def test_a_full_queue_drops_counts_and_warns_once(held: Held, slow: LLMJudge) -> None:
    live = LiveJudging(slow, max_pending=2)
    with pytest.warns(RuntimeWarning, match="More than 2 live answers wait") as caught:
        taken = [live.offer(a_sample(number)) for number in range(5)]
    assert taken == [True, True, False, False, False]
    assert len(caught) == 1
    assert live.counts == LiveCounts(seen=5, dropped=3)
    held.release()
    assert accounted_for(live) == LiveCounts(seen=5, dropped=3, judged=2)
    assert live.offer(a_sample(9))  # there is room again
    assert accounted_for(live) == LiveCounts(seen=6, dropped=3, judged=3)


def test_warnings_that_are_errors_do_not_reach_the_chain(
    held: Held, slow: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveJudging(slow, max_pending=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [live.offer(a_sample(number)) for number in range(3)] == [True, False, False]
    held.release()
    assert accounted_for(live) == LiveCounts(seen=3, dropped=2, judged=1)
    assert messages(caplog) == []


def sampled(judge: Judge, seed: int | None, rate: float = 0.5) -> list[bool]:
    chosen = []
    live = LiveJudging(judge, sample_rate=rate, seed=seed)
    for _ in range(1000):
        before = live.counts.left_out
        live.offer(lambda: None)
        chosen.append(live.counts.left_out == before)
    return chosen


def test_sampling_is_repeatable_and_true_to_its_rate(quick: LLMJudge) -> None:
    assert sampled(quick, seed=7) == sampled(quick, seed=7)
    assert sampled(quick, seed=7) != sampled(quick, seed=8)
    assert sampled(quick, seed=None) != sampled(quick, seed=None)
    assert 200 < sum(sampled(quick, seed=7, rate=0.25)) < 300
    assert all(sampled(quick, seed=7, rate=1.0))


def test_what_is_left_out_is_not_even_built(quick: LLMJudge) -> None:
    built = []
    live = LiveJudging(quick, sample_rate=0.0)
    assert not live.offer(lambda: built.append("built"))
    assert built == []
    assert accounted_for(live) == LiveCounts(seen=1, left_out=1)


def test_an_answer_with_nothing_to_judge_is_not_counted(quick: LLMJudge) -> None:
    live = LiveJudging(quick, max_pending=1)
    assert not live.offer(lambda: None)
    assert live.offer(a_sample())  # its place is free again
    assert accounted_for(live) == LiveCounts(seen=1, judged=1)


# --- what goes wrong ---


def broken() -> Sample:
    raise KeyError("no such run")


def test_a_builder_that_raises_is_logged_once_and_counted(
    quick: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveJudging(quick)
    assert [live.offer(broken) for _ in range(3)] == [False] * 3
    assert accounted_for(live) == LiveCounts(seen=3, errors=3)
    assert messages(caplog) == ["A live answer could not be taken for judging: 'no such run'"]
    assert caplog.records[0].exc_info is not None


def test_a_wrong_key_is_logged_once_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    with (
        ScriptedServer(api_key="right") as server,
        LLMJudge(OpenAIChat("m", base_url=server.base_url, api_key="wrong")) as judge,
    ):
        live = LiveJudging(judge)
        for number in range(3):
            assert live.offer(a_sample(number))
        assert accounted_for(live) == LiveCounts(seen=3, errors=3)
    (message,) = messages(caplog)
    assert message.startswith("A live answer could not be judged: ")
    assert "key" in message
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("fault", [Garbage(), HttpError(400, "no")])
def test_a_failed_judgement_is_given_out_as_such(fault: Any) -> None:
    got: list[Judgement] = []
    with (
        ScriptedServer(SCRIPT, faults=lambda request: fault) as server,
        LLMJudge(OpenAIChat("m", base_url=server.base_url)) as judge,
    ):
        live = LiveJudging(judge, sinks=[got.append])
        live.offer(a_sample())
        assert accounted_for(live) == LiveCounts(seen=1, judged=1)
    assert [judgement.failed for judgement in got] == [True]


def test_one_sink_that_raises_leaves_the_others_theirs(
    quick: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    got: list[str | None] = []

    def leaves(judgement: Judgement) -> None:
        raise SystemExit(3)

    def fails(judgement: Judgement) -> None:
        raise OSError("disk full")

    live = LiveJudging(quick, sinks=[leaves, fails, lambda judgement: got.append(judgement.id)])
    for number in range(3):
        live.offer(a_sample(number))
    assert accounted_for(live) == LiveCounts(seen=3, judged=3, sink_errors=6)
    assert sorted(map(str, got)) == ["answer-0", "answer-1", "answer-2"]
    assert messages(caplog) == [
        "A sink of live judgements raised: 3",
        "A sink of live judgements raised: disk full",
    ]


def test_a_sink_that_waits_for_itself_is_told(
    quick: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    def waits(judgement: Judgement) -> None:
        live.flush()

    live = LiveJudging(quick, sinks=[waits])
    live.offer(a_sample())
    assert accounted_for(live) == LiveCounts(seen=1, judged=1, sink_errors=1)
    assert messages(caplog) == [
        "A sink of live judgements raised: "
        "A sink cannot wait for its own judgement: flush from elsewhere."
    ]


def test_an_error_without_a_text_or_with_a_broken_one_ends_nothing(
    quick: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def raises(judgement: Judgement) -> None:
        raise UnspeakableError if judgement.id == "answer-1" else ZeroDivisionError

    live = LiveJudging(quick, sinks=[raises])
    for number in range(3):
        assert live.offer(a_sample(number))
        assert live.flush(LONG)
    assert accounted_for(live) == LiveCounts(seen=3, judged=3, sink_errors=3)
    assert messages(caplog) == ["A sink of live judgements raised: ZeroDivisionError"]


def test_a_thread_that_cannot_start_loses_only_this_answer(
    quick: LLMJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LiveJudging(quick)
    start = threading.Thread.start

    def refuses(thread: threading.Thread) -> None:
        if thread.name == "grouse-live":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuses)
        assert not live.offer(a_sample(1))
    assert accounted_for(live) == LiveCounts(seen=1, errors=1)
    assert live.offer(a_sample(2))
    assert accounted_for(live) == LiveCounts(seen=2, judged=1, errors=1)


# --- a judge that is closed ---


def test_closing_the_judge_settles_what_was_under_way(
    slow: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveJudging(slow)
    for number in range(3):
        assert live.offer(a_sample(number))
    slow.close()
    assert accounted_for(live) == LiveCounts(seen=3, errors=3)
    assert not live.offer(a_sample(9))
    assert accounted_for(live) == LiveCounts(seen=4, errors=4)
    assert messages(caplog) == [
        "A live answer could not be judged: its judge was closed",
        "A live answer could not be taken for judging: This judge is closed: build a new one.",
    ]


class LosesOne(LexicalJudge):
    """Closes in the moment in which it is asked: the work comes too late for its loop."""

    def submit(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Future[Judgement]:
        self.close()
        return Future()


def test_what_a_closing_judge_forgets_is_not_waited_for() -> None:
    live = LiveJudging(LosesOne())
    assert live.offer(a_sample())
    assert accounted_for(live) == LiveCounts(seen=1, errors=1)


def test_judges_are_closed_while_threads_offer() -> None:
    for _ in range(20):
        judge = LLMJudge(ScriptedChat(SCRIPT))
        live = LiveJudging(judge)
        threads = [
            threading.Thread(target=live.offer, args=[a_sample(number)]) for number in range(4)
        ]
        for thread in threads:
            thread.start()
        judge.close()
        for thread in threads:
            thread.join()
        counts = accounted_for(live)
        assert (counts.seen, counts.dropped) == (4, 0)


# --- flush and close ---


def test_flush_does_not_wait_for_what_comes_after_it(held: Held, slow: LLMJudge) -> None:
    live = LiveJudging(slow)
    # both the question and the answer: no prompt of a judge holds all of a sample
    live.offer(a_sample(1, "First?"))
    done: list[bool] = []
    flushing = threading.Thread(target=lambda: done.append(live.flush(LONG)))
    flushing.start()
    live.offer(a_sample(2, "Second?"))
    held.release("First?")
    held.release("Variant 1.")
    flushing.join()
    assert done == [True]
    assert live.pending == 1
    held.release()
    assert accounted_for(live).judged == 2


def test_many_threads_offer_while_others_flush() -> None:
    got: list[str | None] = []
    with LexicalJudge() as judge:
        live = LiveJudging(judge, sinks=[lambda judgement: got.append(judgement.id)])

        def offer(first: int) -> None:
            for number in range(first, first + 25):
                assert live.offer(partial(a_sample, number))
                if number % 10 == 0:
                    assert live.flush(LONG)

        threads = [threading.Thread(target=offer, args=[25 * place]) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert accounted_for(live) == LiveCounts(seen=200, judged=200)
    assert sorted(map(str, got)) == sorted(f"answer-{number}" for number in range(200))


class Closable:
    """A sink that notes what happens to it."""

    def __init__(self) -> None:
        self.events: list[str | None] = []

    def __call__(self, judgement: Judgement) -> None:
        self.events.append(judgement.id)

    def close(self) -> None:
        self.events.append("closed")


def test_close_gives_out_everything_and_takes_no_more(quick: LLMJudge) -> None:
    sink = Closable()
    with LiveJudging(quick, sinks=[sink, print]) as live:
        for number in range(3):
            live.offer(a_sample(number))
    assert sorted(map(str, sink.events[:3])) == ["answer-0", "answer-1", "answer-2"]
    assert sink.events[3:] == ["closed"]
    assert live.closed
    assert not quick.closed
    with pytest.warns(RuntimeWarning, match="Live judging was closed") as caught:
        assert [live.offer(a_sample()) for _ in range(2)] == [False, False]
    assert len(caught) == 1
    assert live.close()
    assert sink.events[3:] == ["closed"]
    assert accounted_for(live) == LiveCounts(seen=5, judged=3, errors=2)


def test_close_cancels_what_is_not_judged_in_time(
    slow: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    chat = slow._chat
    assert isinstance(chat, ScriptedChat)
    sink = Closable()
    live = LiveJudging(slow, sinks=[sink])
    for number in range(3):
        live.offer(a_sample(number))
    wait_until(lambda: chat.in_flight > 0)
    assert not live.close(0.01)
    assert accounted_for(live) == LiveCounts(seen=3, errors=3)
    wait_until(lambda: chat.in_flight == 0)  # nobody pays for them any more
    assert {type(call.error) for call in chat.calls} == {asyncio.CancelledError}
    assert sink.events == ["closed"]
    (message,) = messages(caplog)
    assert message.startswith("3 live answers were not judged in time and lost")


def test_a_sink_that_hangs_does_not_hold_up_close(quick: LLMJudge) -> None:
    hanging, freed = threading.Event(), threading.Event()
    events: list[str] = []

    class Hangs:
        def __call__(self, judgement: Judgement) -> None:
            hanging.set()
            freed.wait(LONG)

        def close(self) -> None:
            events.append("closed")

    live = LiveJudging(quick, sinks=[Hangs()])
    live.offer(a_sample())
    assert hanging.wait(LONG)
    assert not live.close(0.01)
    assert events == []  # it is in use
    freed.set()
    assert accounted_for(live) == LiveCounts(seen=1, judged=1)


def test_a_forgotten_one_leaves_no_thread_and_no_memory(
    quick: LLMJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "_IDLE_SECONDS", 0.01)
    others = set(threading.enumerate())
    live = LiveJudging(quick)
    live.offer(a_sample(1))
    accounted_for(live)
    wait_until(lambda: "grouse-live" not in {t.name for t in set(threading.enumerate()) - others})
    live.offer(a_sample(2))  # the thread begins again
    assert accounted_for(live).judged == 2
    reference = weakref.ref(live)
    del live

    def gone() -> bool:
        gc.collect()
        return reference() is None

    wait_until(gone)


# --- settings ---


async def an_async_sink(judgement: Judgement) -> None:
    """Would never be awaited."""


class AsyncSink:
    """The same as an object."""

    async def __call__(self, judgement: Judgement) -> None:
        """Would never be awaited."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample_rate": 1.1}, "sample_rate must lie between 0 and 1"),
        ({"sample_rate": float("nan")}, "sample_rate must lie between 0 and 1"),
        ({"max_pending": 0}, "max_pending must be at least 1"),
        ({"exit_timeout": -1.0}, "exit_timeout must be a number of seconds"),
        ({"exit_timeout": float("inf")}, "exit_timeout must be a number of seconds"),
        ({"metrics": ["truth"]}, "Unknown metric 'truth'"),
        ({"sinks": ["live.jsonl"]}, "A sink must be a function that takes a judgement, not str"),
        ({"sinks": [an_async_sink]}, "A sink must be a plain function"),
        ({"sinks": [AsyncSink()]}, "A sink must be a plain function"),
    ],
)
def test_wrong_settings_are_told_at_once(
    quick: LLMJudge, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LiveJudging(quick, **settings)


def test_nothing_begins_before_the_first_answer(quick: LLMJudge) -> None:
    before = threading.active_count()
    live = LiveJudging(quick)
    assert threading.active_count() == before
    assert live.flush(0)
    assert live.close()


def test_the_log_is_quiet_when_all_is_well(
    quick: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger=live_module.__name__)
    with LiveJudging(quick) as live:
        live.offer(a_sample())
    assert messages(caplog) == []
