"""Judge the answers of a live query engine in the background, without slowing it down.

python examples/llama_index/watch_engine.py                  # no key, no model

The index is real; its model is a stand-in that copies from the sources it is shown, so that this
runs anywhere. Put your own LLM and embeddings in its place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import TextNode
from llama_index_instrumentation.dispatcher import instrument_tags

from grouse_adapters import Judgement
from grouse_adapters.llama_index import GrouseEventHandler

PASSAGES = [
    "A starter that is baked with rarely keeps best in the refrigerator. Feed it once a week.",
    "Rye flour makes a starter rise faster than white flour does.",
]
QUESTIONS = {
    "How often do I feed a starter that I rarely use?": "Feed it once a week [1].",
    "Who invented sourdough?": "No document seems to precisely answer your question.",
}


class Copyist(CustomLLM):
    """Answers with the first sentence of its first source, cited."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="copyist")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        *_, source = re.findall(r"^Source 1:\n(.*?[.!?])(?:\s|$)", prompt, re.MULTILINE)
        return CompletionResponse(text=f"{source.rstrip('.')} [1].")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        def words() -> Iterator[CompletionResponse]:
            text = self.complete(prompt).text
            for end in range(1, len(text) + 1):
                yield CompletionResponse(text=text[:end], delta=text[end - 1])

        return words()


def show(judgement: Judgement) -> None:
    """Prints what became of one answer; called in the background."""
    print(f"{judgement.sample.input}\n  {judgement.sample.actual_output}")
    for metric, grade in judgement.grades.items():
        print(f"  {metric}: {grade.value if grade.kind == 'graded' else grade.kind}")


def main() -> None:
    """Asks two questions; the second one has no answer in the passages."""
    judge = sys.argv[1] if len(sys.argv) > 1 else "lexical"
    index = VectorStoreIndex(
        [TextNode(text=text) for text in PASSAGES], embed_model=MockEmbedding(embed_dim=8)
    )
    engine = CitationQueryEngine.from_args(index, llm=Copyist())
    with GrouseEventHandler(judge, sinks=[show]) as handler:
        for question, expected in QUESTIONS.items():
            with instrument_tags({"expected_output": expected}):
                engine.query(question)
    print(f"{handler.counts.judged} of {handler.counts.seen} answers judged")


if __name__ == "__main__":
    main()
