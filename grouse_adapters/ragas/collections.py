"""Metrics of RAGAS' present interface: ``ascore``, ``@experiment``, batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from grouse_adapters.core.errors import GrouseJudgeError, InputError
from grouse_adapters.core.grades import Failed, Grade, Judgement, explain
from grouse_adapters.core.metrics import Citations, MetricName, parse_metrics
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.core.sample import Sample
from grouse_adapters.ragas.judging import COLUMNS, Asking, asked, missing_input, told

_ABSENT: Final[Any] = object()


class GrouseResult(MetricResult):
    """RAGAS' result with the grade itself; unlike its base it can be copied and pickled.

    Attributes:
        grade: ``Graded``, ``NotApplicable`` or ``Failed``; told apart by ``grade.kind``.
    """

    def __init__(
        self,
        value: float | None,
        reason: str | None = None,
        traces: dict[str, Any] | None = None,
        *,
        grade: Grade,
    ) -> None:
        super().__init__(value=value, reason=reason, traces=traces)
        self.grade: Grade = grade

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.value, self.reason, self.traces, self.grade)


class GrouseMetric(BaseMetric):
    """A GroUSE metric (arXiv 2409.06595, section 3) for RAGAS' collections interface.

    Use one of its six subclasses. Making one opens no connection; all that name the same judge
    share its calls, at most four a sample for all six.

    Args:
        judge: a judge, a model's name, a model object of RAGAS or LangChain, or None for the
            default judge.
        citations: ``"required"``: every statement must cite a reference that holds it;
            ``"ignored"``: a statement is faithful when any reference holds it. Not for a finished
            judge, which has its own.
        unit_scale: values on 0-1 instead of the metric's own unit (1-5, or 0 and 1).
        raise_on_failure: raise where the judge gave no usable grade, instead of a result without
            a value.

    Attributes:
        name: the result key, e.g. ``grouse_faithfulness``.
        allowed_values: lowest and highest value.
    """

    metric: ClassVar[MetricName]

    def __init__(
        self,
        judge: JudgeSpec | object = None,
        *,
        citations: Citations = "required",
        unit_scale: bool = False,
        raise_on_failure: bool = False,
    ) -> None:
        self.asking = Asking(self.metric, judge, citations, unit_scale)
        self.raise_on_failure = raise_on_failure
        super().__init__(name=self.asking.row.key, allowed_values=self.asking.limits)

    async def ascore(
        self,
        user_input: str = _ABSENT,
        response: str = _ABSENT,
        retrieved_contexts: Sequence[str] | None = _ABSENT,
        reference: str | None = None,
        **_: Any,
    ) -> GrouseResult:
        """The result for one answer; further columns of a row may be given and are ignored.

        Args:
            user_input: the question.
            response: the answer to judge.
            retrieved_contexts: the references, the first being ``[1]``; may be empty. Only answer
                relevancy and usefulness do without.
            reference: the expected answer, if there is one.

        Returns:
            ``value`` is the grade in the metric's own unit (or 0-1), or None where the metric does
            not apply or the judge failed; ``reason`` says why, beginning with ``not applicable:``
            or ``judge failed:`` in these two cases.

        Raises:
            ValueError: a column that the metric needs is missing.
            ConfigurationError: the judge cannot be used, or a column is of a wrong type.
            GrouseJudgeError: the judge failed, under ``raise_on_failure``.
        """
        sample = self._sample(user_input, response, retrieved_contexts, reference)
        return self._result(await self.asking.judge().ajudge(sample, metrics=[self.metric]))

    def score(
        self,
        user_input: str = _ABSENT,
        response: str = _ABSENT,
        retrieved_contexts: Sequence[str] | None = _ABSENT,
        reference: str | None = None,
        **_: Any,
    ) -> GrouseResult:
        """Like ``ascore``, waiting; also from inside a running event loop, as in notebooks."""
        sample = self._sample(user_input, response, retrieved_contexts, reference)
        return self._result(self.asking.judge().judge(sample, metrics=[self.metric]))

    async def abatch_score(  # type: ignore[override]  # a list of results that are more
        self, inputs: Iterable[Mapping[str, Any]]
    ) -> list[GrouseResult]:
        """One result per row, in the order of the rows; a failing row leaves the others alone.

        At most the judge's window of samples is in work at once (twice its ``concurrency``).

        Args:
            inputs: rows with the arguments of ``ascore``. A row that lacks a column, or holds one
                of a wrong type, gets a failed result that says so.

        Raises:
            ConfigurationError: the judge cannot be used.
            GrouseJudgeError: a row failed, under ``raise_on_failure``; after all were judged.
        """
        read = [self._read(row) for row in inputs]
        judgements = self.asking.judge().ajudge_many(
            _samples(read), metrics=[self.metric], ordered=True
        )
        return self._results(read, [judgement async for judgement in judgements])

    def batch_score(  # type: ignore[override]  # a list of results that are more
        self, inputs: Iterable[Mapping[str, Any]]
    ) -> list[GrouseResult]:
        """Like ``abatch_score``, waiting; also from inside a running event loop."""
        read = [self._read(row) for row in inputs]
        judgements = self.asking.judge().judge_many(
            _samples(read), metrics=[self.metric], ordered=True
        )
        return self._results(read, list(judgements))

    def _sample(self, user_input: Any, response: Any, contexts: Any, reference: Any) -> Sample:
        values = (user_input, response, contexts, reference)
        row = dict(zip(COLUMNS, values, strict=True))
        return self.asking.sample({k: v for k, v in row.items() if v is not _ABSENT})

    def _read(self, row: Mapping[str, Any]) -> Sample | Failed:
        try:
            return self.asking.sample(row)
        except InputError as error:
            return missing_input(error)

    def _results(
        self, read: Iterable[Sample | Failed], judgements: Iterable[Judgement]
    ) -> list[GrouseResult]:
        rest = iter(judgements)
        return [
            self._told(row, None) if isinstance(row, Failed) else self._result(next(rest))
            for row in read
        ]

    def _result(self, judgement: Judgement) -> GrouseResult:
        return self._told(judgement.grades[self.metric], judgement)

    def _told(self, grade: Grade, judgement: Judgement | None) -> GrouseResult:
        if self.raise_on_failure and isinstance(grade, Failed):
            raise GrouseJudgeError(explain(grade))
        traces: dict[str, Any] = {"input": asked(judgement.sample)} if judgement else {}
        traces["output"] = told(self.metric, grade, judgement)
        return GrouseResult(self.asking.value(grade), explain(grade), traces, grade=grade)


class GrouseAnswerRelevancy(GrouseMetric):
    """Does everything the answer says answer the question? 1-5; null when it refuses."""

    metric = "answer_relevancy"


class GrouseCompleteness(GrouseMetric):
    """Does the answer hold all relevant information of the references? 1-5."""

    metric = "completeness"


class GrouseUsefulness(GrouseMetric):
    """Is what follows a refusal related to the question? 0 or 1."""

    metric = "usefulness"


class GrouseFaithfulness(GrouseMetric):
    """Is every statement cited, and does it keep to its citation? 0 or 1."""

    metric = "faithfulness"


class GrousePositiveAcceptance(GrouseMetric):
    """Is an answerable question answered? 0 when it is refused; needs an expected answer."""

    metric = "positive_acceptance"


class GrouseNegativeRejection(GrouseMetric):
    """Is an unanswerable question refused? 0 when it is answered; needs an expected answer."""

    metric = "negative_rejection"


_CLASSES: Final[tuple[type[GrouseMetric], ...]] = (
    GrouseAnswerRelevancy,
    GrouseCompleteness,
    GrouseUsefulness,
    GrouseFaithfulness,
    GrousePositiveAcceptance,
    GrouseNegativeRejection,
)


def all_metrics(
    judge: JudgeSpec | object = None,
    *,
    metrics: Iterable[str] | None = None,
    citations: Citations = "required",
    unit_scale: bool = False,
    raise_on_failure: bool = False,
) -> list[GrouseMetric]:
    """One metric object each, sharing one judge: at most four LLM calls a sample.

    Args:
        judge: as for the classes, like the other settings.
        metrics: names of the wanted metrics; None: all six.

    Raises:
        ConfigurationError: a metric is unknown.
    """
    wanted = parse_metrics(metrics)
    return [
        kind(judge, citations=citations, unit_scale=unit_scale, raise_on_failure=raise_on_failure)
        for kind in _CLASSES
        if kind.metric in wanted
    ]


def _samples(read: Iterable[Sample | Failed]) -> list[Sample]:
    return [row for row in read if isinstance(row, Sample)]


def _rebuilt(
    value: float | None, reason: str | None, traces: dict[str, Any] | None, grade: Grade
) -> GrouseResult:
    return GrouseResult(value, reason, traces, grade=grade)
