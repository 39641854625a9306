"""The six metrics in a RAGAS experiment, with the embedded judge or a model of your choice.

python examples/ragas/run_experiment.py                  # no key, no model
python examples/ragas/run_experiment.py gpt-4o           # needs OPENAI_API_KEY
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")  # RAGAS reports usage unless it is told not to

from ragas import Dataset, experiment

from grouse_adapters.ragas import all_metrics

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


def rows() -> list[dict[str, Any]]:
    """The samples under RAGAS' column names."""
    lines = SAMPLES.read_text(encoding="utf-8").splitlines()
    return [
        {
            "id": sample["id"],
            "user_input": sample["input"],
            "retrieved_contexts": sample["references"],
            "response": sample["actual_output"],
            "reference": sample.get("expected_output"),
        }
        for sample in map(json.loads, lines)
    ]


async def main() -> None:
    """Judges every row, keeps the results beside the columns and prints them."""
    metrics = all_metrics(judge=sys.argv[1] if len(sys.argv) > 1 else "lexical")

    @experiment()
    async def judged(row: dict[str, Any]) -> dict[str, Any]:
        results = await asyncio.gather(*(metric.ascore(**row) for metric in metrics))
        named = dict(zip((metric.name for metric in metrics), results, strict=True))
        # Values and reasons: a result object cannot be written to a file.
        return {
            **row,
            **{name: result.value for name, result in named.items()},
            "reasons": {name: result.reason for name, result in named.items()},
        }

    dataset: Dataset[Any] = Dataset(name="samples", backend="inmemory", data=rows())
    for row in await judged.arun(dataset, name="first"):
        print(f"{row['id']}: ", {metric.name: row[metric.name] for metric in metrics})
        print("  faithfulness:", row["reasons"]["grouse_faithfulness"])


if __name__ == "__main__":
    asyncio.run(main())
