"""Judge a stream of samples in Python, with the embedded judge or a model of your choice.

python examples/judge_samples.py                  # no key, no model
python examples/judge_samples.py gpt-4o           # needs OPENAI_API_KEY
"""

from __future__ import annotations

import sys
from pathlib import Path

from grouse_adapters import Failed, Graded, read_samples, resolve_judge

SAMPLES = Path(__file__).with_name("samples.jsonl")


def main() -> None:
    """Prints the faithfulness of every sample, and why."""
    name = sys.argv[1] if len(sys.argv) > 1 else "lexical"
    with resolve_judge(name) as judge:
        for judgement in judge.judge_many(read_samples(SAMPLES), metrics=["faithfulness"]):
            grade = judgement.grades["faithfulness"]
            if isinstance(grade, Graded):
                shown = f"{grade.value}  {grade.justification}"
            elif isinstance(grade, Failed):
                shown = f"!  {grade.error}"
            else:
                shown = f"–  {grade.reason}"
            print(f"{judgement.id}: {shown}")


if __name__ == "__main__":
    main()
