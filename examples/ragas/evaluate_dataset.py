"""The six metrics in ``ragas.evaluate``, with the embedded judge or a model of your choice.

python examples/ragas/evaluate_dataset.py                # no key, no model
python examples/ragas/evaluate_dataset.py gpt-4o         # needs OPENAI_API_KEY
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")  # RAGAS reports usage unless it is told not to

from ragas import EvaluationDataset, evaluate
from ragas.dataset_schema import EvaluationResult

from grouse_adapters.ragas import GrouseScore, evaluate_metrics

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


def main() -> None:
    """Prints the means, then every row's scores and why faithfulness is what it is."""
    samples = [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
    dataset = EvaluationDataset.from_list(
        [
            {
                "user_input": sample["input"],
                "retrieved_contexts": sample["references"],
                "response": sample["actual_output"],
                "reference": sample.get("expected_output"),
            }
            for sample in samples
        ]
    )
    metrics = evaluate_metrics(judge=sys.argv[1] if len(sys.argv) > 1 else "lexical")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # RAGAS prefers experiments
        result = evaluate(dataset, metrics=metrics, show_progress=False)
    assert isinstance(result, EvaluationResult)
    print(result)
    for sample, scores in zip(samples, result.scores, strict=True):
        print(f"{sample['id']}: ", scores)
        faithfulness = scores["grouse_faithfulness"]
        if isinstance(faithfulness, GrouseScore):
            print("  faithfulness:", faithfulness.reason)


if __name__ == "__main__":
    main()
