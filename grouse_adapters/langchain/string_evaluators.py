"""A LangChain ``StringEvaluator`` per metric; needs the extra ``langchain-classic``."""

from __future__ import annotations

from typing import Any, ClassVar

from grouse_adapters.langchain._needs import needs

needs("langchain-classic", package="langchain-classic", lowest="1.0", below="2")

from langchain_classic.evaluation import StringEvaluator  # noqa: E402  # checked before

from grouse_adapters.core.grades import explain  # noqa: E402
from grouse_adapters.core.metrics import METRICS, Citations, MetricName  # noqa: E402
from grouse_adapters.core.resolve import JudgeSpec  # noqa: E402
from grouse_adapters.langchain.extract import (  # noqa: E402
    Found,
    answer_in,
    question_in,
    references_in,
)
from grouse_adapters.langchain.grading import (  # noqa: E402
    Grading,
    Verdict,
    missing_for,
    score_and_value,
)

__all__ = [
    "GrouseAnswerRelevancyStringEvaluator",
    "GrouseCompletenessStringEvaluator",
    "GrouseFaithfulnessStringEvaluator",
    "GrouseNegativeRejectionStringEvaluator",
    "GrousePositiveAcceptanceStringEvaluator",
    "GrouseStringEvaluator",
    "GrouseUsefulnessStringEvaluator",
    "all_string_evaluators",
]


class GrouseStringEvaluator(StringEvaluator):
    """One GroUSE metric (arXiv 2409.06595) for ``evaluate_strings`` and ``aevaluate_strings``.

    ``evaluate_strings(prediction=..., input=..., reference=..., references=[...])`` gives
    ``score`` (the metric's own unit, None unless graded), ``value`` (``n/a`` or ``failed``, else
    None) and ``reasoning``. ``reference`` is the expected answer, ``references`` (or ``context``,
    ``documents``) the list of documents or strings that the answer cites.

    Args:
        judge: a judge, a model's name, a LangChain model, or None for the default judge.
            Evaluators of the same judge share its calls.
        citations: ``"required"`` or ``"ignored"``, as for ``LLMJudge``.

    Raises:
        ConfigurationError: a setting is wrong.
    """

    metric: ClassVar[MetricName]

    def __init__(
        self, *, judge: JudgeSpec | object = None, citations: Citations = "required"
    ) -> None:
        self._grading = Grading(judge, [self.metric], citations)

    @property
    def evaluation_name(self) -> str:
        """The key of the result, e.g. ``grouse_faithfulness``."""
        return METRICS[self.metric].key

    @property
    def requires_input(self) -> bool:
        """Always: no metric can do without the question."""
        return True

    def _check_evaluation_args(
        self, reference: str | None = None, input_: str | None = None
    ) -> None:
        # The expected answer is welcome and not required: LangChain knows only "required" and
        # "ignored, with a warning".
        super()._check_evaluation_args(reference=None, input_=input_)

    def _evaluate_strings(
        self,
        *,
        prediction: str | Any,
        reference: str | Any | None = None,
        input: str | Any | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        found = self._found(prediction, reference, input, kwargs)
        return self._result(self._grading.grade(found))

    async def _aevaluate_strings(
        self,
        *,
        prediction: str | Any,
        reference: str | Any | None = None,
        input: str | Any | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        found = self._found(prediction, reference, input, kwargs)
        return self._result(await self._grading.agrade(found))

    def _found(self, prediction: Any, reference: Any, input_: Any, more: dict[str, Any]) -> Found:
        found = Found(
            input=question_in(input_),
            references=references_in(more),
            actual_output=answer_in(prediction),
            expected_output=answer_in(reference),
        )
        missing = missing_for(METRICS[self.metric], found)
        if missing is not None:
            said = {"question": "an input string", "answer": "a prediction string"}.get(
                missing, "the documents: pass references=[...], a list of documents or strings"
            )
            raise ValueError(f"{type(self).__name__} requires {said}.")
        return found

    def _result(self, verdict: Verdict) -> dict[str, Any]:
        grade = verdict.grades[self.metric]
        score, value = score_and_value(grade)
        return {"score": score, "value": value, "reasoning": explain(grade)}


class GrouseAnswerRelevancyStringEvaluator(GrouseStringEvaluator):
    """Answer relevancy, 1-5."""

    metric = "answer_relevancy"


class GrouseCompletenessStringEvaluator(GrouseStringEvaluator):
    """Completeness, 1-5."""

    metric = "completeness"


class GrouseUsefulnessStringEvaluator(GrouseStringEvaluator):
    """Usefulness, 0 or 1."""

    metric = "usefulness"


class GrouseFaithfulnessStringEvaluator(GrouseStringEvaluator):
    """Faithfulness, 0 or 1."""

    metric = "faithfulness"


class GrousePositiveAcceptanceStringEvaluator(GrouseStringEvaluator):
    """Positive acceptance, 0 or 1."""

    metric = "positive_acceptance"


class GrouseNegativeRejectionStringEvaluator(GrouseStringEvaluator):
    """Negative rejection, 0 or 1."""

    metric = "negative_rejection"


def all_string_evaluators(
    *, judge: JudgeSpec | object = None, citations: Citations = "required"
) -> list[GrouseStringEvaluator]:
    """One evaluator per metric, in table order, that share one judgement per sample."""
    kinds: tuple[type[GrouseStringEvaluator], ...] = (
        GrouseAnswerRelevancyStringEvaluator,
        GrouseCompletenessStringEvaluator,
        GrouseUsefulnessStringEvaluator,
        GrouseFaithfulnessStringEvaluator,
        GrousePositiveAcceptanceStringEvaluator,
        GrouseNegativeRejectionStringEvaluator,
    )
    return [kind(judge=judge, citations=citations) for kind in kinds]
