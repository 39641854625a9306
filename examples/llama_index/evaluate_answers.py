"""Grade answers with the six GroUSE evaluators in LlamaIndex's batch runner.

python examples/llama_index/evaluate_answers.py              # no key, no model
python examples/llama_index/evaluate_answers.py gpt-4o       # needs OPENAI_API_KEY
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from llama_index.core.evaluation import BatchEvalRunner

from grouse_adapters import read_samples
from grouse_adapters.llama_index import all_evaluators, summarize_results

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


def main() -> None:
    """Prints why each answer is faithful or not, then the mean of each metric."""
    judge = sys.argv[1] if len(sys.argv) > 1 else "lexical"
    samples = list(read_samples(SAMPLES))
    expected: Any = [sample.expected_output for sample in samples]
    results = BatchEvalRunner(all_evaluators(judge), workers=8).evaluate_response_strs(
        queries=[sample.input for sample in samples],
        response_strs=[sample.actual_output for sample in samples],
        contexts_list=[list(sample.references) for sample in samples],
        reference=expected,
    )
    for sample, result in zip(samples, results["grouse_faithfulness"], strict=True):
        score = "–" if result.score is None else f"{result.score:g}"
        print(f"{sample.id}: {score}  {result.feedback}")
    print()
    for name, metric in summarize_results(results).items():
        mean = "–" if metric.mean is None else f"{metric.mean:.2f}"
        counts = f"{metric.graded} graded, {metric.not_applicable} not applicable"
        print(f"{name:28} {mean:>5}   {counts}, {metric.failed} failed")


if __name__ == "__main__":
    main()
