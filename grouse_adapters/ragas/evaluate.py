"""Metrics for ``ragas.evaluate`` and ``ragas.aevaluate``."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import FrameType
from typing import Any, Final, Literal, NamedTuple

from langchain_core.callbacks import Callbacks
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from ragas.callbacks import ChainType, new_group
from ragas.cost import CostCallbackHandler
from ragas.dataset_schema import SingleTurnSample
from ragas.executor import Executor
from ragas.metrics.base import MetricType, SingleTurnMetric
from ragas.run_config import RunConfig

from grouse_adapters.core.errors import ConfigurationError, GrouseJudgeError, InputError
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.grades import Failed, Grade, Judgement, explain
from grouse_adapters.core.metrics import Citations, MetricName, parse_metrics
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.ragas.judging import COLUMNS, Asking, missing_input, told

TRACE_NAME: Final = "grouse_judge"
"""Where ``result.traces[row][metric]`` keeps what the judge was asked and said."""

_log: Final = logging.getLogger("grouse_adapters.ragas")


class GrouseScore(float):
    """A score that knows why; NaN where the metric does not apply or the judge failed.

    To RAGAS, numpy and pandas it is a number like any other. A data frame keeps the number alone:
    read ``result["grouse_faithfulness"]`` or ``result.scores`` for the reasons.

    Attributes:
        grade: ``Graded``, ``NotApplicable`` or ``Failed``.
    """

    grade: Grade

    def __new__(cls, value: float, grade: Grade) -> GrouseScore:
        score = super().__new__(cls, value)
        score.grade = grade
        return score

    @property
    def kind(self) -> Literal["graded", "not_applicable", "failed"]:
        """Which of the three the grade is."""
        return self.grade.kind

    @property
    def reason(self) -> str:
        """The justification, or why there is no value."""
        return explain(self.grade)

    def __reduce__(self) -> tuple[Any, ...]:
        return GrouseScore, (float(self), self.grade)


class _Job(NamedTuple):
    """What RAGAS' executor wants of one score."""

    timeout: float | None = None
    raises: bool = False


_NO_JOB: Final = _Job()
_job: ContextVar[_Job] = ContextVar("grouse_ragas_job", default=_NO_JOB)


class GrouseEvaluateMetric(SingleTurnMetric):
    """A GroUSE metric (arXiv 2409.06595, section 3) for ``evaluate`` and ``aevaluate``.

    Scores are ``GrouseScore``s: floats that carry their grade. The same is in the traces, together
    with judge, prompt fingerprint, tokens and cost, under ``TRACE_NAME``. A failed judgement is NaN
    with its error, or raises ``GrouseJudgeError`` under ``raise_exceptions=True``.

    Of ``RunConfig`` the timeout bounds each score; ``max_retries`` and ``max_wait``, where they are
    not RAGAS' defaults, replace the judge's own unless the judge is a finished one.

    Args:
        metric: the metric's name.
        judge: a judge, a model's name, a model object of RAGAS or LangChain, or None for the
            default judge. ``evaluate(llm=...)`` does not reach this metric.
        citations: ``"required"``: every statement must cite a reference that holds it;
            ``"ignored"``: a statement is faithful when any reference holds it. Not for a finished
            judge, which has its own.
        unit_scale: values on 0-1 instead of the metric's own unit (1-5, or 0 and 1).
    """

    def __init__(
        self,
        metric: MetricName,
        judge: JudgeSpec | object = None,
        *,
        citations: Citations = "required",
        unit_scale: bool = False,
    ) -> None:
        self.asking = Asking(metric, judge, citations, unit_scale)
        # All see all columns: RAGAS takes away what is not named, and samples that look different
        # would not share their calls.
        needed = self.asking.needs
        columns = {c if c in needed else f"{c}:optional" for c in COLUMNS}
        super().__init__(
            _required_columns={MetricType.SINGLE_TURN: columns}, name=self.asking.row.key
        )

    def init(self, run_config: RunConfig) -> None:
        """Called by RAGAS before the first score.

        Raises:
            ConfigurationError: the judge cannot be used.
        """
        usual = RunConfig()
        retries = None
        if (run_config.max_retries, run_config.max_wait) != (usual.max_retries, usual.max_wait):
            # RAGAS counts attempts, the first among them.
            retries = RetryPolicy(
                retries=max(0, run_config.max_retries - 1), max_delay=float(run_config.max_wait)
            )
        self.asking = replace(self.asking, retries=retries)
        self.asking.judge()

    async def single_turn_ascore(
        self,
        sample: SingleTurnSample,
        callbacks: Callbacks = None,
        timeout: float | None = None,  # noqa: ASYNC109  # RAGAS' name for it
    ) -> float:
        """See RAGAS. A timeout gives a failed score, which says so, instead of a bare NaN."""
        with _running(_Job(timeout, raises=_asked_to_raise(sys._getframe(1)))):
            return await super().single_turn_ascore(sample, callbacks)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Callbacks) -> float:
        row = {column: getattr(sample, column, None) for column in COLUMNS}
        run, group = new_group(
            TRACE_NAME,
            inputs={"data": row},
            callbacks=[] if callbacks is None else callbacks,
            metadata={"type": ChainType.RAGAS_PROMPT},
        )
        try:
            grade, judgement = await self._judged(row)
        except BaseException as error:
            run.on_chain_error(error)
            raise
        if judgement is not None:
            _report_usage(group, judgement, explain(grade))
        run.on_chain_end({"output": [told(self.asking.metric, grade, judgement)]})
        if isinstance(grade, Failed):
            if _job.get().raises:
                raise GrouseJudgeError(explain(grade))
            if grade.error_kind != "dependency":  # said once, where it happened
                _log.error("%s: %s", self.name, explain(grade))
        value = self.asking.value(grade)
        return GrouseScore(float("nan") if value is None else value, grade)

    async def _judged(self, row: dict[str, Any]) -> tuple[Grade, Judgement | None]:
        metric, job = self.asking.metric, _job.get()
        try:
            given = self.asking.sample(row)
            judging = self.asking.judge().ajudge(given, metrics=[metric])
            judgement = await asyncio.wait_for(judging, job.timeout)
        except InputError as error:
            return missing_input(error), None
        except TimeoutError:
            late = f"no judgement within {job.timeout:g} s, the timeout of the run."
            return Failed(error_kind="timeout", error=late), None
        except ConfigurationError as error:
            if job.raises:
                raise
            # RAGAS would make a NaN of it that says nothing.
            return Failed(error_kind="internal", error=str(error)), None
        return judgement.grades[metric], judgement


def evaluate_metrics(
    judge: JudgeSpec | object = None,
    *,
    metrics: Iterable[str] | None = None,
    citations: Citations = "required",
    unit_scale: bool = False,
) -> list[GrouseEvaluateMetric]:
    """Metrics for ``evaluate(dataset, metrics=...)``, sharing one judge: at most four LLM calls a
    sample for all six.

    Args:
        judge: as for ``GrouseEvaluateMetric``, like the other settings.
        metrics: names of the wanted metrics; None: all six.

    Raises:
        ConfigurationError: a metric is unknown.
    """
    return [
        GrouseEvaluateMetric(name, judge, citations=citations, unit_scale=unit_scale)
        for name in parse_metrics(metrics)
    ]


@contextmanager
def _running(job: _Job) -> Iterator[None]:
    token = _job.set(job)
    try:
        yield
    finally:
        _job.reset(token)


def _asked_to_raise(caller: FrameType) -> bool:
    """Whether the executor that awaits a score was made with ``raise_exceptions=True``.

    RAGAS tells nobody but its executor, which turns every exception into a NaN without a reason
    otherwise. Read at the first step of the score, when the executor's own frame is the caller.
    """
    executor = caller.f_locals.get("self")
    return isinstance(executor, Executor) and executor.raise_exceptions


def _report_usage(group: Any, judgement: Judgement, said: str) -> None:
    """Tells callbacks of the calls made, in the words of each of RAGAS' parsers of token usage."""
    unasked = any(
        isinstance(handler, CostCallbackHandler) and not handler.usage_data
        for handler in group.handlers
    )
    # RAGAS' sum over no call at all is an IndexError: with such a handler there is one, of nothing.
    if not judgement.llm_calls and not unasked:
        return
    spent = {
        "prompt_tokens": judgement.usage.input_tokens,
        "completion_tokens": judgement.usage.output_tokens,
        "input_tokens": judgement.usage.input_tokens,
        "output_tokens": judgement.usage.output_tokens,
    }
    name = judgement.judge
    message = AIMessage(
        content=said, response_metadata={"usage": spent, "model": name, "model_id": name}
    )
    result = LLMResult(
        generations=[[ChatGeneration(message=message)]],
        llm_output={"token_usage": spent, "model_name": name},
    )
    calls = f"{judgement.llm_calls} calls to {name}"
    for run in group.on_llm_start({"name": "grouse"}, [calls]):
        run.on_llm_end(result)
