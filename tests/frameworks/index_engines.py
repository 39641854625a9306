"""Real LlamaIndex engines over a fake model, and told grades, for the tests of that door."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import must_run

try:
    import llama_index.core  # noqa: F401
except ImportError:
    try:
        must_run("llama-index-core")
    except pytest.skip.Exception as skipped:
        pytest.skip(str(skipped), allow_module_level=True)

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.llms import (
    CompletionResponse,
    CompletionResponseGen,
    CustomLLM,
    LLMMetadata,
)
from llama_index.core.query_engine import CustomQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import TextNode
from llama_index.core.tools import QueryEngineTool
from pydantic import PrivateAttr

from grouse_adapters import LLMJudge, OpenAIChat, Price, RetryPolicy
from grouse_adapters.testing import Script, ScriptedServer

QUESTION = "How long is the bridge?"
REFERENCES = ["The bridge is 300 m long.", "It was opened in 1932."]
EXPECTED = "It is 300 m long [1]."
ANSWERED = "The bridge measures 300 m [1]."
REFUSED = "No document answers this. The bridge was opened in 1932 [2]."
TOLD: dict[str, dict[str, int | None]] = {
    ANSWERED: {"answer_relevancy": 5, "completeness": 3, "faithfulness": 1},
    REFUSED: {
        "answer_relevancy": None,
        "completeness": None,
        "usefulness": 1,
        "faithfulness": 0,
    },
}
SCRIPT = Script(TOLD, default={"answer_relevancy": 4, "completeness": 4, "faithfulness": 1})
PRICE = Price(input=1.0, output=10.0)


class ToldLLM(CustomLLM):
    """A model in this process that says what it is told, whole or word by word."""

    _says: Callable[[str], str] = PrivateAttr()
    _prompts: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, says: str | Callable[[str], str] = ANSWERED) -> None:
        super().__init__()
        self._says = says if callable(says) else lambda prompt: says

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=16_384, num_output=256, model_name="told")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        return CompletionResponse(text=self._says(prompt))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        def words() -> Iterator[CompletionResponse]:
            said = ""
            for number, word in enumerate(self._says(prompt).split(" ")):
                delta = word if number == 0 else f" {word}"
                said += delta
                yield CompletionResponse(text=said, delta=delta)

        return words()  # type: ignore[return-value]  # an iterator is all that is asked of it


def bridge_index(**more: Any) -> VectorStoreIndex:
    return VectorStoreIndex(
        [TextNode(text=text, **more) for text in REFERENCES], embed_model=MockEmbedding(embed_dim=4)
    )


def bridge_engine(llm: CustomLLM | None = None, **more: Any) -> BaseQueryEngine:
    return bridge_index().as_query_engine(llm=llm or ToldLLM(), **more)


def asking_engine(*, use_async: bool) -> SubQuestionQueryEngine:
    """An engine that asks another one two sub-questions and answers from what it is told."""

    def says(prompt: str) -> str:
        if "sub-questions" in prompt:
            return (
                '```json\n{"items": [{"sub_question": "How long?", "tool_name": "bridge"},'
                ' {"sub_question": "How old?", "tool_name": "bridge"}]}\n```'
            )
        return ANSWERED if "Sub question: " in prompt else f"Part: {len(prompt)} [1]."

    llm = ToldLLM(says)
    return SubQuestionQueryEngine.from_defaults(
        query_engine_tools=[
            QueryEngineTool.from_defaults(bridge_engine(llm), name="bridge", description="All.")
        ],
        llm=llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm, use_async=use_async),
        verbose=False,
        use_async=use_async,
    )


class OwnPrompt(CustomQueryEngine):
    """An engine of a user's, that retrieves and writes its prompt itself."""

    retriever: BaseRetriever
    says: Any = ANSWERED

    def custom_query(self, query_str: str) -> Any:
        self.retriever.retrieve(query_str)
        return self.says


def chat_model(server: ScriptedServer) -> OpenAIChat:
    return OpenAIChat("judge-model", base_url=server.base_url, price=PRICE)


def judge_at(server: ScriptedServer, **settings: Any) -> LLMJudge:
    return LLMJudge(chat_model(server), retries=RetryPolicy(retries=0), **settings)


class Gate:
    """Latency of a server that answers only when it is let; for the order of events."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def __call__(self, prompt: str) -> str:
        assert self.opened.wait(60)
        return ANSWERED
