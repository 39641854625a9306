"""An evaluator per metric: ``evaluate``, ``evaluate_response`` and ``BatchEvalRunner``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.evaluation import BaseEvaluator
from llama_index.core.llms import LLM
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode

from grouse_adapters.core.errors import ConfigurationError, GrouseError, InputError
from grouse_adapters.core.grades import Failed
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import METRICS, Citations, MetricName, parse_metrics
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.core.sample import Sample, sample_from_row
from grouse_adapters.llama_index.models import judge_of
from grouse_adapters.llama_index.results import (
    GrouseEvaluationResult,
    default_threshold,
    failed_result,
    graded_result,
    references_of,
    without_source_lines,
)

_Finished = (
    Response | StreamingResponse | PydanticResponse | AgentChatResponse | StreamingAgentChatResponse
)
AnyResponse = _Finished | AsyncStreamingResponse
"""What query engines and chat engines return."""

_NEED_REFERENCES = ("completeness", "faithfulness", "positive_acceptance", "negative_rejection")


class GrouseEvaluator(BaseEvaluator):
    """Base of the six evaluators; evaluators with an equal judge share one judgement per sample.

    Args:
        judge: a judge, a LlamaIndex LLM, a model's name, or None for the default judge.
        citations: ``"required"``: every statement must cite a reference that holds it;
            ``"ignored"``: a statement is faithful when any reference holds it. A finished judge
            takes this when it is built.
        score_threshold: the lowest score that passes, in the metric's own unit; None: 4 of 1-5,
            or 1.
        metadata_mode: which of a node's metadata the judge sees, where an evaluator is given a
            response with its nodes. The default is LlamaIndex's own: only the node's text.

    Nothing is called or built before the first evaluation.
    """

    metric: ClassVar[MetricName]

    def __init__(
        self,
        judge: JudgeSpec | LLM = None,
        *,
        citations: Citations = "required",
        score_threshold: float | None = None,
        metadata_mode: MetadataMode = MetadataMode.NONE,
    ) -> None:
        self._spec = judge
        self._citations: Citations = citations
        self._metadata_mode = metadata_mode
        self.score_threshold = (
            default_threshold(self.metric) if score_threshold is None else score_threshold
        )

    @property
    def judge(self) -> Judge:
        """The judge, built when it is first asked for.

        Raises:
            ConfigurationError: it cannot be built.
        """
        return judge_of(self._spec, citations=self._citations)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        *,
        reference: str | None = None,
        **kwargs: Any,
    ) -> GrouseEvaluationResult:
        """The grade of one answer.

        A judge that fails gives ``invalid_result=True`` and raises nothing, so that a
        ``BatchEvalRunner`` neither repeats nor ends the batch.

        Args:
            query: the question.
            response: the answer to judge.
            contexts: the references, ``[1]`` being the first; an empty list when retrieval found
                nothing.
            reference: the expected answer; without one positive acceptance and negative rejection
                are not applicable.
            kwargs: what other evaluators of the same batch are given; not read.

        Raises:
            ValueError: an input that the metric cannot do without is None.
            ConfigurationError: the judge is set up wrongly: every row would fail.
        """
        self._check_inputs(query, response, contexts)
        try:
            sample = sample_from_row(
                {
                    "query": query,
                    "response": response,
                    "contexts": contexts,
                    "expected_output": reference,
                }
            )
            sample = sample.model_copy(
                update={"references": without_source_lines(sample.references)}
            )
        except InputError as error:
            return failed_result(
                self.metric, Failed(error_kind="missing_input", error=str(error)), inputs={}
            )
        return await self._judge(sample)

    def evaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> GrouseEvaluationResult:
        """Like ``aevaluate``, also from inside a running event loop (a notebook)."""
        result = super().evaluate(query, response, contexts, **kwargs)
        return cast(GrouseEvaluationResult, result)  # it runs aevaluate

    def evaluate_response(
        self, query: str | None = None, response: AnyResponse | None = None, **kwargs: Any
    ) -> GrouseEvaluationResult:
        """The grade of what an engine returned; a stream is read to its end first.

        Args:
            query: the question.
            response: the answer with its source nodes, from a query engine or a chat engine.
            kwargs: as for ``aevaluate``.

        Raises:
            ValueError: as ``aevaluate``, or the stream was read before and did not keep its text.
            ConfigurationError: as ``aevaluate``.
        """
        _check_unread(response)
        if isinstance(response, AsyncStreamingResponse):
            response = cast(Response, asyncio_run(response.get_response()))
        elif isinstance(response, StreamingAgentChatResponse):
            for _ in response.response_gen:
                pass
        return self.evaluate(query, *self._answer_of(response), **kwargs)

    async def aevaluate_response(
        self, query: str | None = None, response: AnyResponse | None = None, **kwargs: Any
    ) -> GrouseEvaluationResult:
        """Like ``evaluate_response``, awaitable."""
        _check_unread(response)
        if isinstance(response, AsyncStreamingResponse):
            response = await response.get_response()
        elif isinstance(response, StreamingAgentChatResponse):
            async for _ in response.async_response_gen():
                pass
        return await self.aevaluate(query, *self._answer_of(response), **kwargs)

    def _answer_of(self, response: _Finished | None) -> tuple[str | None, tuple[str, ...] | None]:
        if response is None:
            return None, None
        references = references_of(response.source_nodes, self._metadata_mode)
        if isinstance(response, StreamingResponse | PydanticResponse):
            response = response.get_response()
        # An engine whose model said nothing gives None: an empty answer, not a missing one.
        return str(response.response or ""), references

    async def _judge(self, sample: Sample) -> GrouseEvaluationResult:
        try:
            judgement = await self.judge.ajudge(sample, metrics=[self.metric])
        except ConfigurationError:
            raise
        except GrouseError as error:
            shown = {"query": sample.input, "response": sample.actual_output}
            failure = Failed(error_kind="internal", error=str(error))
            return failed_result(self.metric, failure, inputs=shown)
        return graded_result(judgement, self.metric, score_threshold=self.score_threshold)

    def _check_inputs(
        self, query: str | None, response: str | None, contexts: Sequence[str] | None
    ) -> None:
        given: dict[str, object] = {"query": query, "response": response}
        if self.metric in _NEED_REFERENCES:
            given["contexts"] = contexts
        missing = [name for name, value in given.items() if value is None]
        if missing:
            empty = " (an empty list when nothing was retrieved)" if "contexts" in missing else ""
            raise ValueError(
                f"{type(self).__name__} needs {' and '.join(missing)}{empty}: pass "
                f"{'it' if len(missing) == 1 else 'them'} to the evaluator."
            )

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        if prompts:
            raise ConfigurationError(
                "The prompts belong to the judge: give a folder of your own to "
                "LLMJudge(model, prompts=...) and that judge to the evaluator."
            )


def _check_unread(response: AnyResponse | None) -> None:
    if not isinstance(response, StreamingResponse | AsyncStreamingResponse):
        return
    stream: Any = response.response_gen
    ended = None in (getattr(stream, "gi_frame", stream), getattr(stream, "ag_frame", stream))
    if ended and response.response_txt is None:
        raise ValueError(
            "The stream of this response was read before: keep its text and pass it to evaluate()."
        )


class GrouseAnswerRelevancyEvaluator(GrouseEvaluator):
    """Answer relevancy, 1-5: 5 when everything said answers the question (arXiv 2409.06595, 3).

    Not applicable when the answer refuses. Needs ``query`` and ``response``.
    """

    metric = "answer_relevancy"


class GrouseCompletenessEvaluator(GrouseEvaluator):
    """Completeness, 1-5: 5 when all relevant information of the references is in the answer.

    Not applicable when the references hold no answer (arXiv 2409.06595, section 3). Needs
    ``query``, ``response`` and ``contexts``.
    """

    metric = "completeness"


class GrouseUsefulnessEvaluator(GrouseEvaluator):
    """Usefulness, 0 or 1: 1 when a refusal is followed by related information.

    Not applicable unless the answer refuses and still gives information (arXiv 2409.06595,
    section 3). Needs ``query`` and ``response``.
    """

    metric = "usefulness"


class GrouseFaithfulnessEvaluator(GrouseEvaluator):
    """Faithfulness, 0 or 1: 1 when every statement is cited and keeps to its citation.

    Not applicable when the answer only refuses (arXiv 2409.06595, section 3). Needs ``query``,
    ``response`` and ``contexts``.
    """

    metric = "faithfulness"


class GrousePositiveAcceptanceEvaluator(GrouseEvaluator):
    """Positive acceptance, 0 or 1: 0 when an answerable question is refused.

    Not applicable when the answer does not refuse, and without ``reference`` (arXiv 2409.06595,
    section 3). Needs ``query``, ``response`` and ``contexts``.
    """

    metric = "positive_acceptance"


class GrouseNegativeRejectionEvaluator(GrouseEvaluator):
    """Negative rejection, 0 or 1: 0 when an unanswerable question is answered.

    Not applicable when the references hold an answer, and without ``reference`` (arXiv
    2409.06595, section 3). Needs ``query``, ``response`` and ``contexts``.
    """

    metric = "negative_rejection"


_EVALUATORS: tuple[type[GrouseEvaluator], ...] = (
    GrouseAnswerRelevancyEvaluator,
    GrouseCompletenessEvaluator,
    GrouseUsefulnessEvaluator,
    GrouseFaithfulnessEvaluator,
    GrousePositiveAcceptanceEvaluator,
    GrouseNegativeRejectionEvaluator,
)


def all_evaluators(
    judge: JudgeSpec | LLM = None,
    *,
    citations: Citations = "required",
    metrics: Iterable[str] | None = None,
    metadata_mode: MetadataMode = MetadataMode.NONE,
) -> dict[str, BaseEvaluator]:
    """The evaluators as ``BatchEvalRunner`` takes them: ``grouse_faithfulness`` -> evaluator.

    Args:
        judge: as for one evaluator; all share its judgements (at most four calls a sample).
        citations: as for one evaluator.
        metrics: names of some metrics; None: all six.
        metadata_mode: as for one evaluator.

    Raises:
        ConfigurationError: a metric is unknown.
    """
    wanted = parse_metrics(metrics)
    return {
        METRICS[kind.metric].key: kind(judge, citations=citations, metadata_mode=metadata_mode)
        for kind in _EVALUATORS
        if kind.metric in wanted
    }
