"""LLMJudge: a chat model with a prompt pack, behind one loop, one limit and one memory."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, get_args

from grouse_adapters.core.cache import ReplyCache, cache_key, default_cache_path
from grouse_adapters.core.chat import ChatModel, ChatReply
from grouse_adapters.core.errors import ChatError, ConfigurationError, ErrorKind, JudgeClosedError
from grouse_adapters.core.gate import CallGate, RetryPolicy
from grouse_adapters.core.grades import Failed, Grade, Judgement, SentenceCheck, Usage
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import (
    JUDGED_METRICS,
    METRIC_NAMES,
    METRICS,
    Citations,
    MetricName,
)
from grouse_adapters.core.openai_chat import OpenAIChat
from grouse_adapters.core.pipeline import run_pipeline
from grouse_adapters.core.prompt_pack import (
    MissingInputError,
    PromptPack,
    RenderedPrompt,
    Switches,
)
from grouse_adapters.core.reply import ReadReply, read_reply, read_single_call
from grouse_adapters.core.runtime import LoopThread, Memory, SharedWork, mark_error_seen
from grouse_adapters.core.sample import Sample

Strategy = Literal["per-metric", "single-call"]

_CallName = MetricName | Literal["all metrics"]

_ALL: Final = "all metrics"


class LLMJudge(Judge):
    """A judge whose grades come from a chat model (arXiv 2409.06595, section 3).

    All metrics that ask about the same sample share its calls, whoever asks and from wherever:
    at most four calls a sample, or one with ``strategy="single-call"``.

    Args:
        model: a chat model, or the name of an OpenAI model (key in ``OPENAI_API_KEY``).
        prompts: a prompt pack: its name, its folder, or a loaded one.
        strategy: one call per metric, or one call for all of them.
        citations: ``"required"``: every statement must cite a reference that holds it;
            ``"ignored"``: a statement is faithful when any reference holds it.
        expected_answer: show the expected answer to the judge, as the first of two answers.
        justification: ask for a justification with each grade.
        reasoning: ask for the checks and the sentence analysis that lead to the grade.
        concurrency: calls in flight at most, over all callers.
        retries: repetitions of a call after a server error or a lost connection; a
            ``RetryPolicy`` sets more.
        cache: replies on disk: True for the user's cache folder, a path, an open cache, or
            False.
        memory: how many samples' finished calls are remembered.

    Raises:
        ConfigurationError: a setting is wrong, a pack unknown, or no key is found.
    """

    def __init__(
        self,
        model: ChatModel | str,
        *,
        prompts: PromptPack | str | Path = "grouse",
        strategy: Strategy = "per-metric",
        citations: Citations = "required",
        expected_answer: bool = True,
        justification: bool = True,
        reasoning: bool = True,
        concurrency: int = 20,
        retries: int | RetryPolicy = RetryPolicy(),  # noqa: B008  # frozen
        cache: ReplyCache | str | Path | bool = False,
        memory: int = 4096,
    ) -> None:
        if concurrency < 1:
            raise ConfigurationError("concurrency must be at least 1.")
        if memory < 1:
            raise ConfigurationError("memory must be at least 1 sample.")
        if strategy not in get_args(Strategy):
            raise ConfigurationError(f"strategy must be one of {', '.join(get_args(Strategy))}.")
        if citations not in get_args(Citations):
            raise ConfigurationError(f"citations must be one of {', '.join(get_args(Citations))}.")
        self._chat: ChatModel = OpenAIChat(model) if isinstance(model, str) else model
        self._pack = prompts if isinstance(prompts, PromptPack) else PromptPack.load(prompts)
        self._switches = Switches(
            expected_answer=expected_answer,
            justification=justification,
            reasoning=reasoning,
            citations=citations,
        )
        self._strategy: Strategy = strategy
        self._check_pack()
        self._fingerprint = self._pack.fingerprint(self._switches)
        self._pack.try_out(self._switches, single_call=strategy == "single-call")
        self._retries = retries if isinstance(retries, RetryPolicy) else RetryPolicy(retries)
        self._concurrency = concurrency
        self.window = 2 * concurrency
        self._memory_size = memory
        self._cache = _opened(cache)
        self._owns_cache = not isinstance(cache, ReplyCache)
        self._lock = threading.Lock()
        self._runtime: _Runtime | None = None
        self._closed = False
        _forkable.add(self)

    @property
    def name(self) -> str:
        """The chat model's name."""
        return self._chat.name

    @property
    def prompt_fingerprint(self) -> str:
        """SHA-256 of the prompt pack with its switches."""
        return self._fingerprint

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def submit(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Future[Judgement]:
        """See ``Judge.submit``."""
        runtime = self._running()
        return runtime.thread.submit(self._judge(runtime, sample, metrics))

    def close(self) -> None:
        """Cancels calls in flight, writes cached replies to disk, closes connections."""
        with self._lock:
            self._closed = True
            runtime, self._runtime = self._runtime, None
        if runtime is not None:
            runtime.finalizer()
        elif self._cache is not None and self._owns_cache:
            self._cache.close()

    def _check_pack(self) -> None:
        if self._strategy == "single-call":
            if not self._pack.supports_single_call:
                raise ConfigurationError(
                    f"The prompt pack {self._pack.name!r} has no template for all metrics: "
                    "use the strategy per-metric."
                )
        elif not any(self._pack.supports(metric.name) for metric in JUDGED_METRICS):
            raise ConfigurationError(
                f"The prompt pack {self._pack.name!r} has no template per metric: "
                "use the strategy single-call."
            )

    def _running(self) -> _Runtime:
        with self._lock:
            if self._closed:
                raise JudgeClosedError("This judge is closed: build a new one.")
            if self._runtime is None or self._runtime.thread.pid != os.getpid():
                if self._runtime is not None:
                    self._leave_to_parent(self._runtime)
                self._runtime = _Runtime(self)
            return self._runtime

    def _leave_to_parent(self, runtime: _Runtime) -> None:
        """After a fork: loop, connections and open files stay the parent process's."""
        runtime.finalizer.detach()
        _inherited.append((runtime, self._cache))
        if self._cache is not None:
            self._cache = ReplyCache(self._cache.path)
            self._owns_cache = True

    async def _judge(
        self, runtime: _Runtime, sample: Sample, metrics: tuple[MetricName, ...]
    ) -> Judgement:
        mark_error_seen()
        if self._strategy == "per-metric":
            self._require_templates(metrics)
        record = runtime.record_of(sample)
        tally = _Tally()
        sentences: tuple[SentenceCheck, ...] = ()

        async def ask(metric: MetricName) -> Grade:
            nonlocal sentences
            call: _CallName = metric if self._strategy == "per-metric" else _ALL
            outcome = await self._shared(runtime, record, sample, call, metrics)
            tally.add(outcome)
            read = outcome.replies[metric]
            if metric == "faithfulness":
                sentences = read.sentences
            return read.grade

        grades = await run_pipeline(sample, metrics, ask)
        return Judgement(
            id=sample.id,
            sample=sample,
            grades=grades,
            sentences=sentences,
            judge=self.name,
            prompt_fingerprint=self._fingerprint,
            llm_calls=tally.calls,
            cached_calls=tally.cached,
            usage=tally.usage,
            cost=tally.cost,
        )

    def _require_templates(self, metrics: tuple[MetricName, ...]) -> None:
        for metric in metrics:
            for name in METRICS[metric].derived_from or (metric,):
                if not self._pack.supports(name):
                    raise ConfigurationError(
                        f"The prompt pack {self._pack.name!r} has no {METRICS[name].template}: "
                        f"leave {metric} out or add the template."
                    )

    async def _shared(
        self,
        runtime: _Runtime,
        record: _Record,
        sample: Sample,
        call: _CallName,
        metrics: tuple[MetricName, ...],
    ) -> _Outcome:
        """The outcome of a call, joined while in flight and remembered afterwards.

        A failed call is told to every metric that has not heard of it; a metric that asks again
        has it repeated.
        """
        asking = _mask(metrics)
        known = record.calls.get(call)
        if known is not None and known.work is not None and known.work.task.done():
            known.end(known.work.task)  # before the loop has told it so
        if known is not None and known.outcome is not None:
            if not (known.outcome.failed and known.told & asking):
                known.told |= asking
                return known.outcome
        elif known is not None and known.work is not None and not known.work.over:
            known.told |= asking
            return await known.work.wait()
        work = SharedWork(self._call(runtime, sample, call))
        fresh = record.calls[call] = _Call(work, asking)
        work.task.add_done_callback(fresh.end)
        return await work.wait()

    async def _call(self, runtime: _Runtime, sample: Sample, call: _CallName) -> _Outcome:
        try:
            prompt = self._rendered(sample, call)
        except MissingInputError as error:
            return _failed(call, "missing_input", str(error))
        key = None
        if self._cache is not None:
            key = cache_key(self._chat.cache_key(), prompt.text, prompt.schema)
            if (stored := self._cache.get(key)) is not None:
                return _Outcome(self._read(stored, prompt, call), cached=1)
        try:
            reply = await runtime.gate.run(
                lambda: self._chat.complete(prompt.text, schema=prompt.schema)
            )
        except ChatError as error:
            return _failed(call, error.kind, f"{str(error).rstrip('.')}.")
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever another's chat model raises
            return _failed(call, "internal", f"the chat model raised {error!r}.")
        outcome = _Outcome(
            self._read(reply, prompt, call), calls=1, usage=reply.usage, cost=reply.cost
        )
        if self._cache is not None and key is not None and not outcome.failed:
            self._cache.put(key, reply)
        return outcome

    def _rendered(self, sample: Sample, call: _CallName) -> RenderedPrompt:
        if call == _ALL:
            return self._pack.render_single_call(sample, self._switches)
        return self._pack.render(METRICS[call], sample, self._switches)

    def _read(
        self, reply: ChatReply, prompt: RenderedPrompt, call: _CallName
    ) -> Mapping[MetricName, ReadReply]:
        text, answers, finish = reply.text, prompt.answers, reply.finish_reason
        if call == _ALL:
            return read_single_call(
                text, answers=answers, finish_reason=finish, form=self._pack.form
            )
        metric = METRICS[call]
        read = read_reply(text, metric, answers=answers, finish_reason=finish, form=self._pack.form)
        return {call: read}


# Held for ever: what a forked child drops it would also close, under its parent's feet.
_inherited: list[object] = []
_forkable: weakref.WeakSet[LLMJudge] = weakref.WeakSet()


def _renew_locks() -> None:
    for judge in _forkable:
        judge._lock = threading.Lock()  # another thread of the parent may have held the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


@dataclass(slots=True)
class _Outcome:
    """What one call brought; its costs are claimed by whoever asks first."""

    replies: Mapping[MetricName, ReadReply]
    calls: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    claimed: bool = False

    @property
    def failed(self) -> bool:
        return any(isinstance(read.grade, Failed) for read in self.replies.values())


@dataclass(slots=True)
class _Call:
    """A call under way, then only its outcome: thousands of these are remembered.

    ``told`` holds one bit per metric that knows of it.
    """

    work: SharedWork[_Outcome] | None
    told: int
    outcome: _Outcome | None = None

    def end(self, task: asyncio.Task[_Outcome]) -> None:
        """Lets go of the task; an error or a cancellation leaves nothing to remember."""
        self.work = None
        if not task.cancelled() and task.exception() is None:
            self.outcome = task.result()


@lru_cache(maxsize=64)
def _mask(metrics: tuple[MetricName, ...]) -> int:
    return sum(1 << METRIC_NAMES.index(metric) for metric in metrics)


@dataclass(slots=True)
class _Record:
    """The calls made for one sample."""

    calls: dict[_CallName, _Call] = field(default_factory=dict)


@dataclass(slots=True)
class _Tally:
    """What one judgement paid."""

    calls: int = 0
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0

    def add(self, outcome: _Outcome) -> None:
        if outcome.claimed:
            return
        outcome.claimed = True
        self.calls += outcome.calls
        self.cached += outcome.cached
        if outcome.calls:
            self.usage += outcome.usage
            known = self.cost is not None and outcome.cost is not None
            self.cost = self.cost + outcome.cost if known else None  # type: ignore[operator]  # both are numbers here


class _Runtime:
    """What belongs to one event loop in one process; a fork gets a new one."""

    def __init__(self, judge: LLMJudge) -> None:
        self.thread = LoopThread(f"grouse-judge-{judge.name}")
        self.gate = CallGate(judge._concurrency, judge._retries)
        self.memory: Memory[_Record] = Memory(judge._memory_size)
        cache = judge._cache if judge._owns_cache else None
        # Ends the loop when the judge is closed or forgotten, and when the program ends.
        self.finalizer = weakref.finalize(judge, _shut_down, self.thread, judge._chat, cache)

    def record_of(self, sample: Sample) -> _Record:
        key = sample.content_hash()
        record = self.memory.get(key)
        if record is None:
            record = _Record()
            self.memory.put(key, record)
        return record


def _shut_down(thread: LoopThread, chat: ChatModel, cache: ReplyCache | None) -> None:
    thread.stop(chat.aclose())
    if cache is not None and thread.pid == os.getpid():
        cache.close()


def _opened(cache: ReplyCache | str | Path | bool) -> ReplyCache | None:
    if isinstance(cache, ReplyCache):
        return cache
    if isinstance(cache, bool):
        return ReplyCache(default_cache_path()) if cache else None
    return ReplyCache(cache)


def _failed(call: _CallName, kind: ErrorKind, error: str) -> _Outcome:
    names = [metric.name for metric in JUDGED_METRICS] if call == _ALL else [call]
    grade = Failed(error_kind=kind, error=error)
    return _Outcome({name: ReadReply(grade) for name in names})
