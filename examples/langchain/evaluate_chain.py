"""Grade a RAG chain with LangSmith's evaluate and the six GroUSE metrics, without an account.

python examples/langchain/evaluate_chain.py          # no key, no model, no network
python examples/langchain/evaluate_chain.py gpt-4o   # needs OPENAI_API_KEY
"""

from __future__ import annotations

import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGSMITH_TRACING", "false")

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langsmith import Client, evaluate
from langsmith.schemas import Example

from grouse_adapters import Sample, read_samples
from grouse_adapters.langchain import GrouseRunEvaluator

SAMPLES = Path(__file__).parents[1] / "samples.jsonl"


class OfflineClient(Client):
    """Sends nothing; with an account, leave ``client`` and ``upload_results`` out instead."""

    def create_run(self, *_: Any, **__: Any) -> None:
        """Nothing."""

    def update_run(self, *_: Any, **__: Any) -> None:
        """Nothing."""


class Shelf(BaseRetriever):
    """Knows the references of every question; put your vector store here."""

    references: dict[str, list[str]]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=text) for text in self.references[query]]


def rag(samples: list[Sample]) -> Runnable[Any, Any]:
    """``{"question"}`` to ``{"question", "context", "answer"}``; put your model here."""
    shelf = Shelf(references={sample.input: list(sample.references) for sample in samples})
    model = FakeListChatModel(responses=[sample.actual_output for sample in samples])
    prompt = ChatPromptTemplate.from_template("Answer from {context}: {question}")
    return RunnablePassthrough.assign(
        context=(lambda given: given["question"]) | shelf
    ) | RunnablePassthrough.assign(answer=prompt | model | StrOutputParser())


def dataset(samples: list[Sample]) -> list[Example]:
    """What a LangSmith dataset gives: inputs, and the expected answer in the outputs."""
    return [
        Example(
            id=uuid.uuid4(),
            dataset_id=uuid.uuid4(),
            inputs={"question": sample.input},
            outputs={"expected_output": sample.expected_output},
            metadata={"name": sample.id},
            created_at=datetime.now(UTC),
        )
        for sample in samples
    ]


def main() -> None:
    """Prints the grades of every sample, and why faithfulness is what it is."""
    samples = list(read_samples(SAMPLES))
    rows = evaluate(
        rag(samples),
        data=dataset(samples),
        evaluators=[GrouseRunEvaluator(judge=sys.argv[1] if len(sys.argv) > 1 else "lexical")],
        client=OfflineClient(api_url="http://offline.invalid", api_key="none", info={}),
        upload_results=False,
        max_concurrency=1,  # the answers of the fake model come one after the other
    )
    for row in rows:
        results = row["evaluation_results"]["results"]
        shown = [str(result.value if result.score is None else result.score) for result in results]
        reason = next(r.comment for r in results if r.key == "grouse_faithfulness")
        print(f"{(row['example'].metadata or {})['name']}: {' '.join(shown)}  {reason}")


if __name__ == "__main__":
    main()
