"""GroUSE metrics on the span of a RAG application that DeepEval traces.

python examples/deepeval/trace_rag_app.py                # no key, no model
python examples/deepeval/trace_rag_app.py gpt-4o         # judged by a model; needs OPENAI_API_KEY
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate.configs import DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from deepeval.tracing import observe, update_current_span

from grouse_adapters import read_samples
from grouse_adapters.deepeval import GrouseCompletenessMetric, GrouseFaithfulnessMetric

SAMPLES = {
    sample.input: sample
    for sample in read_samples(Path(__file__).parents[1] / "samples.jsonl")
    if sample.expected_output is not None
}
JUDGE = sys.argv[1] if len(sys.argv) > 1 else "lexical"
METRICS: list[BaseMetric] = [
    GrouseFaithfulnessMetric(judge=JUDGE),
    GrouseCompletenessMetric(judge=JUDGE),
]


@observe(type="retriever")  # type: ignore[untyped-decorator]  # DeepEval's
def retrieve(question: str) -> list[str]:
    """Stands for a search in an index."""
    return list(SAMPLES[question].references)


@observe(type="llm")  # type: ignore[untyped-decorator]  # DeepEval's
async def answer(question: str, references: list[str]) -> str:
    """Stands for a model that answers from the references."""
    return SAMPLES[question].actual_output


@observe(metrics=METRICS)  # type: ignore[untyped-decorator]  # DeepEval's
async def rag(question: str) -> str:
    """The application: retrieval, then an answer. The metrics judge this span."""
    references: list[str] = retrieve(question)
    text: str = await answer(question, references)
    update_current_span(
        test_case=LLMTestCase(
            input=question,
            retrieval_context=[*references],
            expected_output=SAMPLES[question].expected_output,
            actual_output=text,
        )
    )
    return text


def main() -> None:
    """Runs the application over a dataset; DeepEval prints what the metrics say."""
    dataset = EvaluationDataset(
        goldens=[Golden.model_validate({"input": question}) for question in SAMPLES]
    )
    for golden in dataset.evals_iterator(display_config=DisplayConfig(show_indicator=False)):
        dataset.evaluate(asyncio.create_task(rag(golden.input)))


if __name__ == "__main__":
    main()
