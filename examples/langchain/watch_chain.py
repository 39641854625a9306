"""Judge what a live chain answers, in the background, and keep the records in a file.

python examples/langchain/watch_chain.py          # no key, no model, no network
python examples/langchain/watch_chain.py gpt-4o   # needs OPENAI_API_KEY
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("LANGSMITH_TRACING", "false")

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from grouse_adapters import Judgement, read_samples
from grouse_adapters.core.metrics import METRICS
from grouse_adapters.core.sinks import JsonLinesSink
from grouse_adapters.langchain import GrouseCallback

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


def show(judgement: Judgement) -> None:
    """A sink of your own: called on another thread for every judgement."""
    grades = ", ".join(
        f"{METRICS[name].short} {grade.value}"
        for name, grade in judgement.grades.items()
        if grade.kind == "graded"
    )
    print(f"judged {judgement.sample.metadata['name']}: {grades or 'no grade applies'}")


def main() -> None:
    """Answers every question of the samples, streaming, while the judge follows."""
    samples = list(read_samples(SAMPLES))
    shelf = {sample.input: sample.references for sample in samples}
    chain = (
        {
            "context": RunnableLambda(
                lambda question: [Document(page_content=text) for text in shelf[str(question)]]
            ),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_template("Answer from {context}: {question}")
        | FakeListChatModel(responses=[sample.actual_output for sample in samples])
        | StrOutputParser()
    )
    judge = sys.argv[1] if len(sys.argv) > 1 else "lexical"
    records = JsonLinesSink("live/judgements.jsonl")
    with GrouseCallback(judge=judge, sinks=[show, records], sample_rate=1.0) as grouse:
        for sample in samples:
            known = {"name": sample.id, "expected_output": sample.expected_output}
            for piece in chain.stream(sample.input, {"callbacks": [grouse], "metadata": known}):
                del piece  # shown to the user, as it comes
    print(f"{grouse.counts.judged} answers judged, {grouse.counts.dropped} dropped")


if __name__ == "__main__":
    main()
