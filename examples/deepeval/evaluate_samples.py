"""The six GroUSE metrics in DeepEval's ``evaluate``.

python examples/deepeval/evaluate_samples.py             # no key, no model
python examples/deepeval/evaluate_samples.py gpt-4o      # needs OPENAI_API_KEY
"""

from __future__ import annotations

import sys
from pathlib import Path

from deepeval.evaluate import evaluate
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase

from grouse_adapters import read_samples
from grouse_adapters.deepeval import all_metrics

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


def main() -> None:
    """Prints, per sample, what each metric says."""
    samples = list(read_samples(SAMPLES))
    test_cases = [
        LLMTestCase(
            name=sample.id,
            input=sample.input,
            retrieval_context=list(sample.references),
            expected_output=sample.expected_output,
            actual_output=sample.actual_output,
        )
        for sample in samples
    ]
    result = evaluate(
        test_cases,
        all_metrics(judge=sys.argv[1] if len(sys.argv) > 1 else "lexical"),
        async_config=AsyncConfig(max_concurrent=20),
        # A judge that fails marks its row; the others go on.
        error_config=ErrorConfig(ignore_errors=True),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    # Rows come back in the order in which they finished.
    for row in sorted(result.test_results, key=lambda row: row.index or 0):
        print(f"{row.name}: {'NONE' if row.success is None else row.success}")
        for data in row.metrics_data or []:
            score = "-" if data.score is None else f"{data.score:.2f}"
            print(f"  {data.name:<28} {score:>4}  {data.error or data.reason}")


if __name__ == "__main__":
    main()
