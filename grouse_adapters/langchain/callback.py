"""GrouseCallback: judges what live chains answer, in the background."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeAlias
from uuid import UUID

from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.schemas import Run

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.live import LiveCounts, LiveJudging, Sink
from grouse_adapters.core.metrics import Citations
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.core.sample import Sample
from grouse_adapters.langchain.extract import (
    Found,
    answer_in,
    expected_in_metadata,
    question_in,
    references_in,
    retrieved_in,
    unfinished,
)
from grouse_adapters.langchain.grading import NamedJudge
from grouse_adapters.langchain.models import JUDGE_TAG

_log = logging.getLogger(__name__)

LiveExtractor: TypeAlias = Callable[[Any], Sample | Mapping[str, Any] | None]
"""``(root run) -> Sample``, some of its fields (the others are found as usual), or None: nothing
to judge. Runs on the chain's thread: keep it short."""


class GrouseCallback(BaseTracer):
    """Judges every answer of the chains that it is given to, without their waiting for it.

    ``chain.invoke(question, config={"callbacks": [GrouseCallback(...)]})``; the same for stream,
    batch and their async forms. Only whole chains are judged (root runs), and only when question,
    answer and documents are found: in what the chain gets and gives, in its retrievers, in lists
    of documents that its steps hand on, in messages. The expected answer is
    ``config["metadata"]["expected_output"]``. Chains that fail and streams whose reader went away
    are not judged.

    Nothing it does, and nothing that the judge does, reaches the chain: errors are logged and
    counted. The judge's own calls are in no trace.

    Args:
        judge: a judge, a model's name, a LangChain model, or None for the default judge.
        metrics: names of the metrics; None: all six.
        citations: ``"required"`` or ``"ignored"``, as for ``LLMJudge``.
        extract: finds the sample, or some of its fields, in the root run.
        sinks: who gets the judgements: a function, a ``JsonLinesSink``, or several of them.
            Called on a thread of their own.
        sample_rate: share of the answers to judge, 0-1.
        max_pending: how many answers may wait or be in work; more are dropped and counted.
        keep: how many of the last judgements ``judgements`` holds.
        seed: makes the sampling repeatable.
        exit_timeout: seconds that the end of the program waits for answers under way.

    Raises:
        ConfigurationError: the judge or a setting is wrong.
    """

    # On the thread of the event loop: handing each event to another thread costs more than it.
    run_inline = True

    def __init__(
        self,
        *,
        judge: JudgeSpec | object = None,
        metrics: Iterable[str] | None = None,
        citations: Citations = "required",
        extract: LiveExtractor | None = None,
        sinks: Sink | Iterable[Sink] = (),
        sample_rate: float = 1.0,
        max_pending: int = 1000,
        keep: int = 100,
        seed: int | None = None,
        exit_timeout: float = 10.0,
    ) -> None:
        super().__init__()
        self._extract = extract
        self._recent: deque[Judgement] = deque(maxlen=keep)
        self._skipped: dict[str, int] = {}
        self._warned = False
        self._lock = threading.Lock()
        self._live = LiveJudging(
            NamedJudge(judge, citations).get(),
            metrics=metrics,
            sample_rate=sample_rate,
            max_pending=max_pending,
            sinks=(self._keep, *([sinks] if callable(sinks) else sinks)),
            seed=seed,
            exit_timeout=exit_timeout,
        )

    @property
    def counts(self) -> LiveCounts:
        """What became of the answers; runs without anything to judge are in ``skipped``."""
        return replace(self._live.counts)

    @property
    def skipped(self) -> Mapping[str, int]:
        """Why root runs were not judged, and how many: ``failed``, ``abandoned``, ``extractor``
        (it gave None), ``no question``, ``no answer``, ``no documents``."""
        with self._lock:
            return dict(self._skipped)

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """The last judgements, oldest first. A judgement's id is the id of the run."""
        return tuple(self._recent)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all answers so far are judged; whether that was done in ``timeout`` s."""
        return self._live.flush(timeout)

    def close(self, timeout: float | None = 10.0) -> bool:
        """Flushes, then closes the sinks. The judge stays open."""
        return self._live.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> Run:
        """Nothing: the tokens come again as a whole, keeping each would only cost memory."""
        return self._get_run(run_id)

    def _keep(self, judgement: Judgement) -> None:
        self._recent.append(judgement)

    def _end_trace(self, run: Run) -> None:
        super()._end_trace(run)
        # BaseTracer forgets this one only with itself, and a callback may live for months.
        self.order_map.pop(run.id, None)

    def _persist_run(self, run: Run) -> None:
        if JUDGE_TAG not in (run.tags or ()):
            self._live.offer(lambda: self._sample(run))

    def _sample(self, run: Run) -> Sample | None:
        read = self._read(run)
        if isinstance(read, Sample):
            return read
        with self._lock:
            self._skipped[read] = self._skipped.get(read, 0) + 1
            # A bare model or retriever is no chain that ought to have had documents.
            warn = read.startswith("no ") and run.run_type == "chain" and not self._warned
            self._warned |= warn
        if warn:
            _log.warning(
                "GrouseCallback does not judge the run %r (%s): give extract=... if it should be "
                "judged; further such runs are only counted, in skipped.",
                run.name,
                read,
            )
        return None

    def _read(self, run: Run) -> Sample | str:
        """The sample, or why there is none."""
        if run.error:
            return "abandoned" if run.error.startswith("GeneratorExit") else "failed"
        if unfinished(run):
            return "abandoned"
        given = {} if self._extract is None else self._extract(run)
        if given is None:
            return "extractor"
        if isinstance(given, Sample):
            return given if given.id else given.model_copy(update={"id": str(run.id)})
        found = _found(run).completed(given)
        if found.missing:
            return f"no {found.missing}"
        return found.sample(id=str(run.id), metadata=_metadata(run))


def _found(run: Run) -> Found:
    references = retrieved_in(run)
    if references is None:
        references = references_in(run.outputs, run.inputs)
    return Found(
        input=question_in(run.inputs),
        references=references,
        actual_output=answer_in(run.outputs),
        expected_output=expected_in_metadata(_given_metadata(run)),
    )


def _given_metadata(run: Run) -> Mapping[str, Any]:
    metadata = (run.extra or {}).get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _metadata(run: Run) -> dict[str, Any]:
    """What goes into the record beside the sample: plain values only, for it becomes JSON."""
    told: dict[str, Any] = {"run_name": run.name}
    if run.tags:
        told["tags"] = list(run.tags)
    for name, value in _given_metadata(run).items():
        if (
            isinstance(value, str | bool | int | float)
            and expected_in_metadata({name: value}) is None
        ):
            told[str(name)] = value
    return told
