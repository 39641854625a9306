"""The six metrics as DeepEval runs them: ``evaluate``, ``assert_test``, pytest, ``@observe``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final, get_args

from deepeval.metrics import BaseMetric
from deepeval.metrics.indicator import metric_progress_indicator
from deepeval.metrics.utils import check_llm_test_case_params, construct_verbose_logs
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams

from grouse_adapters.core.chat import ChatModel
from grouse_adapters.core.errors import (
    ConfigurationError,
    GrouseError,
    GrouseJudgeError,
    InputError,
)
from grouse_adapters.core.grades import (
    Failed,
    Grade,
    Graded,
    Judgement,
    SentenceCheck,
    Usage,
    explain,
)
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import METRICS, Citations, Metric
from grouse_adapters.core.resolve import resolve_judge
from grouse_adapters.core.sample import Sample, sample_from_row
from grouse_adapters.deepeval.models import adapt
from grouse_adapters.deepeval.outcome import Outcome, keep, keeps_outcomes, outcome_of

_ANSWER: Final = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]


def _required(metric: Metric) -> list[SingleTurnParams]:
    # An empty list of references is an outcome of retrieval, but none at all is a field that was
    # forgotten: judged as empty, every answer would be called unfaithful.
    asked = [METRICS[name] for name in metric.derived_from or (metric.name,)]
    shown = {field for row in asked for field in row.shows}
    return [*_ANSWER, SingleTurnParams.RETRIEVAL_CONTEXT] if "references" in shown else _ANSWER


@keeps_outcomes
class GrouseMetric(BaseMetric):  # type: ignore[no-untyped-call]  # DeepEval's __init_subclass__
    """Base of the six metrics; see them for what each one grades.

    A test case is read as: question ``input``, references ``retrieval_context`` (strings or
    ``RetrievedContextData``; may be empty), expected answer ``expected_output`` (may be missing),
    answer to judge ``actual_output``. All metrics that measure equal test cases with an equal
    ``judge`` share its calls.

    Args:
        judge: a judge, a model's name, a DeepEval model, a chat model, or None for the default
            judge. Nothing is built or called before the first measurement.
        threshold: lowest ``score`` (0-1) that passes; None: the metric only informs.
        citations: ``"required"``: every statement must cite a reference that holds it;
            ``"ignored"``: any reference will do. A finished judge has its own setting.
        include_reason: keep the judge's justification.
        strict_mode: only the best grade passes; ``score`` is 1 or 0 and ``threshold`` 1.
        verbose_mode: print what the judge said.
        async_mode: only shown by DeepEval; ``measure`` works on any thread and in any loop.
        flaky: DeepEval's mark of a metric that must not decide about a test case.

    Attributes:
        score: the grade on 0-1 (1-5 is ``(grade - 1) / 4``); None when the metric does not apply
            or the judge failed.
        score_breakdown: ``grade`` in the metric's own unit, its ``scale``, and ``score`` before
            ``strict_mode``; None when the judge failed.
        reason: grade and justification, or why the metric does not apply.
        success: as ``is_successful``.
        error: why the judge failed, None otherwise.
        evaluation_cost: US dollars of the calls made for this metric, None when the price is
            unknown. A call that several metrics share counts for one of them: sums are true.
        input_tokens, output_tokens: of the same calls; None when the model did not tell.
        evaluation_model: name of the judge and fingerprint of its prompts and settings, by which
            DeepEval's cache tells judges apart.

    Raises:
        ConfigurationError: ``threshold`` is not on 0-1 or ``citations`` is unknown.
    """

    _metric: ClassVar[Metric]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)  # type: ignore[no-untyped-call]  # DeepEval's
        cls._required_params = _required(cls._metric)  # type: ignore[assignment]  # meant: a list

    def __init__(
        self,
        *,
        judge: Judge | DeepEvalBaseLLM | ChatModel | str | None = None,
        threshold: float | None = 0.5,
        citations: Citations = "required",
        include_reason: bool = True,
        strict_mode: bool = False,
        verbose_mode: bool = False,
        async_mode: bool = True,
        flaky: bool = False,
    ) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise ConfigurationError(
                f"threshold is compared with the score on 0-1, not with the grade: {threshold!r} "
                "must lie between 0 and 1 (grade 4 of 1-5 is 0.75)."
            )
        if citations not in get_args(Citations):
            raise ConfigurationError(f"citations must be one of {', '.join(get_args(Citations))}.")
        # DeepEval copies a metric by reading each parameter from the attribute of its name.
        self.judge = judge
        self.threshold = 1 if strict_mode else threshold
        self.citations = citations
        self.include_reason = include_reason
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.async_mode = async_mode
        self.flaky = flaky

    @property
    def __name__(self) -> str:
        """The result key, e.g. ``grouse_faithfulness``: never that of a native metric."""
        return self._metric.key

    @property
    def evaluation_model(self) -> str | None:
        """Name and fingerprint of the judge; None when it cannot be had."""
        try:
            judge = _judge_of(self)
        except GrouseError:  # raised, and told, by the measurement
            return None
        fingerprint = judge.prompt_fingerprint
        return f"{judge.name} (fingerprint {fingerprint[:12]})" if fingerprint else judge.name

    @evaluation_model.setter
    def evaluation_model(self, value: str | None) -> None:
        """DeepEval sets it from a cached row, which it found because the two are equal."""

    def measure(  # type: ignore[override]  # None: not applicable
        self, test_case: LLMTestCase, _show_indicator: bool = True, _in_component: bool = False
    ) -> float | None:
        """Judges one test case.

        Returns:
            ``score``.

        Raises:
            MissingTestCaseParamsError: the test case lacks a field that the metric needs.
            GrouseJudgeError: the judge failed; DeepEval's ``ignore_errors`` decides what follows.
            ConfigurationError: no judge can be had, or the test case cannot be read.
        """
        with _measuring(self, test_case, False, _show_indicator, _in_component) as sample:
            judgement = _judge_of(self).judge(sample, metrics=[self._metric.name])
        return _tell(self, judgement)

    async def a_measure(  # type: ignore[override]  # None: not applicable
        self, test_case: LLMTestCase, _show_indicator: bool = True, _in_component: bool = False
    ) -> float | None:
        """Like ``measure``, on any event loop."""
        with _measuring(self, test_case, True, _show_indicator, _in_component) as sample:
            judgement = await _judge_of(self).ajudge(sample, metrics=[self._metric.name])
        return _tell(self, judgement)

    def is_successful(self) -> bool | None:
        """Whether the score reaches the threshold; False when the judge failed.

        None when the metric does not apply or has no threshold: it then decides nothing.
        """
        if self.error is not None:
            self.success = False
        elif self.score is None or self.threshold is None:
            self.success = None
        else:
            self.success = self.score >= self.threshold
        return self.success

    def __getstate__(self) -> dict[str, Any]:
        # A copy that shared the outcome would change its original's.
        return {**vars(self), "_outcome": replace(outcome_of(self))}


class GrouseAnswerRelevancyMetric(GrouseMetric):
    """How much of the answer answers the question, 1-5; not applicable to a refusal."""

    _metric = METRICS["answer_relevancy"]


class GrouseCompletenessMetric(GrouseMetric):
    """How much of what the references hold is in the answer, 1-5.

    Not applicable when the references do not answer the question.
    """

    _metric = METRICS["completeness"]


class GrouseUsefulnessMetric(GrouseMetric):
    """Whether what a refusal adds is related to the question, 0 or 1.

    Not applicable to an answer that does not refuse, or refuses and adds nothing.
    """

    _metric = METRICS["usefulness"]


class GrouseFaithfulnessMetric(GrouseMetric):
    """Whether every statement cites a reference and keeps to it, 0 or 1.

    Not applicable to an answer that only refuses.
    """

    _metric = METRICS["faithfulness"]


class GrousePositiveAcceptanceMetric(GrouseMetric):
    """0: an answerable question was refused. 1: a refusal was right.

    Not applicable to an answer that does not refuse, nor without ``expected_output``.
    """

    _metric = METRICS["positive_acceptance"]


class GrouseNegativeRejectionMetric(GrouseMetric):
    """0: a question that the references do not answer was answered. 1: it was refused.

    Not applicable to an answerable question, nor without ``expected_output``.
    """

    _metric = METRICS["negative_rejection"]


def all_metrics(
    *,
    judge: Judge | DeepEvalBaseLLM | ChatModel | str | None = None,
    threshold: float | None = 0.5,
    citations: Citations = "required",
    include_reason: bool = True,
    strict_mode: bool = False,
    verbose_mode: bool = False,
) -> list[BaseMetric]:
    """The six metrics, as the list that DeepEval wants; at most four LLM calls per test case.

    Arguments and errors are those of ``GrouseMetric``.
    """
    classes: tuple[type[GrouseMetric], ...] = (
        GrouseAnswerRelevancyMetric,
        GrouseCompletenessMetric,
        GrouseUsefulnessMetric,
        GrouseFaithfulnessMetric,
        GrousePositiveAcceptanceMetric,
        GrouseNegativeRejectionMetric,
    )
    return [
        metric(
            judge=judge,
            threshold=threshold,
            citations=citations,
            include_reason=include_reason,
            strict_mode=strict_mode,
            verbose_mode=verbose_mode,
        )
        for metric in classes
    ]


# Functions, not methods: DeepEval wraps every method of a metric into a span of its tracer.


def _judge_of(metric: GrouseMetric) -> Judge:
    # An equal specification without settings must stay the judge that other doors share.
    settings = {} if metric.citations == "required" else {"citations": metric.citations}
    return resolve_judge(metric.judge, adapt=adapt, **settings)


@contextmanager
def _measuring(
    metric: GrouseMetric, test_case: LLMTestCase, async_mode: bool, indicator: bool, inside: bool
) -> Iterator[Sample]:
    """Checks the test case, shows the spinner, and notes what goes wrong."""
    try:
        sample = _sample(metric, test_case)
        with metric_progress_indicator(
            metric, async_mode=async_mode, _show_indicator=indicator, _in_component=inside
        ):
            yield sample
    except TypeError as error:
        # DeepEval takes a TypeError for a measure() of another signature and would run it again.
        keep(metric, Outcome(error=str(error), success=False))
        raise GrouseJudgeError(f"judge failed: TypeError: {error}") from error
    except Exception as error:
        keep(metric, Outcome(error=str(error), success=False))
        raise


def _sample(metric: GrouseMetric, test_case: LLMTestCase) -> Sample:
    required = _required(metric._metric)
    check_llm_test_case_params(test_case, required, None, None, metric)
    if test_case.multimodal:
        raise InputError(
            f"{metric.__name__} reads text only: leave test cases with images or audio to another "
            "metric."
        )
    row = {
        "input": test_case.input,
        "retrieval_context": [
            part if isinstance(part, str) else part.context
            for part in test_case.retrieval_context or ()
        ],
        # What a table had no value for often arrives as an empty text.
        "expected_output": test_case.expected_output or None,
        "actual_output": test_case.actual_output,
    }
    return sample_from_row(row)


def _tell(metric: GrouseMetric, judgement: Judgement) -> float | None:
    """Keeps what the judge said; no await after, so that nobody sees half of it."""
    grade = judgement.grades[metric._metric.name]
    unit = metric._metric.scale.to_unit(grade.value) if isinstance(grade, Graded) else None
    score = unit
    if unit is not None and metric.strict_mode and unit < (metric.threshold or 1):
        score = 0.0
    untold = judgement.llm_calls > 0 and judgement.usage == Usage()
    outcome = Outcome(
        score=score,
        score_breakdown=None if isinstance(grade, Failed) else _breakdown(metric, grade, unit),
        reason=_reason(metric, grade),
        evaluation_cost=judgement.cost,
        input_tokens=None if untold else judgement.usage.input_tokens,
        output_tokens=None if untold else judgement.usage.output_tokens,
        verbose_logs=construct_verbose_logs(metric, steps=_steps(metric, judgement, grade, score)),
    )
    if isinstance(grade, Failed):
        keep(metric, replace(outcome, error=explain(grade), success=False))
        raise GrouseJudgeError(explain(grade))
    keep(metric, outcome)
    metric.is_successful()
    return score


def _breakdown(metric: GrouseMetric, grade: Grade, unit: float | None) -> dict[str, Any]:
    value = grade.value if isinstance(grade, Graded) else None
    return {"grade": value, "scale": str(metric._metric.scale), "score": unit}


def _reason(metric: GrouseMetric, grade: Grade) -> str | None:
    if not isinstance(grade, Graded):
        return explain(grade)  # no justification to leave out, but all that is known
    if not metric.include_reason:
        return None
    shown = f"grade {grade.value} ({metric._metric.scale})"
    return f"{shown}: {explain(grade)}" if explain(grade) else shown


def _steps(
    metric: GrouseMetric, judgement: Judgement, grade: Grade, score: float | None
) -> list[str]:
    usage = judgement.usage
    steps = [
        f"Judge: {metric.evaluation_model}\n"
        f"Calls made for this metric: {judgement.llm_calls}, from the cache: "
        f"{judgement.cached_calls}, tokens in: {usage.input_tokens}, out: {usage.output_tokens}"
    ]
    if judgement.sentences:
        steps.append("Sentences:\n" + "\n".join(map(_sentence, judgement.sentences)))
    if isinstance(grade, Failed) and grade.raw_reply is not None:
        steps.append(f"Reply that could not be used:\n{grade.raw_reply}")
    return [*steps, f"Score: {score}\nReason: {_reason(metric, grade)}"]


def _sentence(check: SentenceCheck) -> str:
    said = {
        "cited": check.has_citation,
        "rightly": check.citation_is_right,
        "supported": check.is_supported,
    }
    words = {True: "yes", False: "no", None: "not said"}
    shown = ", ".join(f"{name} {words[value]}" for name, value in said.items())
    return f"- {check.sentence} ({shown})"
