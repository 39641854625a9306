"""DeepEval's own faithfulness and answer relevancy, with the model a user would give them.

``with-reason`` is DeepEval's default; ``without-reason`` sets ``include_reason=False``, which saves
one call. Models that DeepEval knows by name are asked for structured output, others for plain text:
that is DeepEval's choice, and left to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deepeval.metrics import AnswerRelevancyMetric, FaithfulnessMetric
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase

from grouse_adapters.core.sample import Sample
from grouse_adapters.native.model_http import Account, ModelHttp
from grouse_adapters.native.runners import ModelAccess, Part, Said


class DeepEvalRunner:
    """One of DeepEval's metrics; a new object of it per test, for it keeps its state in itself."""

    def __init__(self, part: Part, access: ModelAccess, http: ModelHttp) -> None:
        self._kind: Any = (
            FaithfulnessMetric if part.metric == "faithfulness" else AnswerRelevancyMetric
        )
        self._with_reason = part.variant == "with-reason"
        self._model: Any = OpenAIModel(
            access.model,
            api_key=access.key,
            base_url=access.base_url,
            timeout=access.timeout,
            async_http_client=http.async_client,
        )
        if access.max_tokens is not None:
            reasons = self._model.supports_temperature() is False
            name = "max_completion_tokens" if reasons else "max_tokens"
            self._model.generation_kwargs[name] = access.max_tokens

    async def score(self, sample: Sample, account: Account) -> Said:
        """See ``NativeRunner.score``."""
        native = self._kind(model=self._model, include_reason=self._with_reason)
        case = LLMTestCase(
            input=sample.input,
            actual_output=sample.actual_output,
            expected_output=sample.expected_output,
            retrieval_context=list(sample.references),
        )
        await native.a_measure(case, _show_indicator=False)
        score = None if native.score is None else float(native.score)
        return Said(score, native.reason or "\n".join(_verdicts(native)) or None)


def _verdicts(native: Any) -> Iterator[str]:
    """What the model said against single statements, where DeepEval writes no summary."""
    for verdict in getattr(native, "verdicts", None) or ():
        said = getattr(verdict, "verdict", None)
        reason = getattr(verdict, "reason", None)
        if reason:
            yield f"{getattr(said, 'value', said)}: {reason}"
