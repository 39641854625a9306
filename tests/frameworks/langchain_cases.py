"""Answers with told grades, small real chains and a quiet LangSmith client."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from conftest import must_run

try:
    import langchain_core  # noqa: F401
except ImportError:
    must_run("langchain-core")

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.tracers.context import tracing_v2_enabled
from langsmith import Client
from langsmith.run_helpers import tracing_context
from langsmith.schemas import Example

from grouse_adapters import LLMJudge, OpenAIChat, Price, RetryPolicy
from grouse_adapters.testing import Garbage, Script, ScriptedServer, When

QUESTION = "How long is the bridge?"
REFERENCES = ["The bridge is 300 m long.", "It was opened in 1932."]
EXPECTED = "It is 300 m long [1]."

ANSWERED = "The bridge measures 300 m [1]."
REFUSED = "No document answers this. The bridge was opened in 1932 [2]."
REFUSED_WRONGLY = "No document seems to answer this."
UNREADABLE = "The judge stumbles over this one [1]."

TOLD: dict[str, dict[str, int | None]] = {
    ANSWERED: {"answer_relevancy": 5, "completeness": 4, "faithfulness": 1},
    REFUSED: {"completeness": None, "usefulness": 1, "faithfulness": 0},
    REFUSED_WRONGLY: {"completeness": 1},
    UNREADABLE: {"answer_relevancy": 5, "completeness": 5, "faithfulness": 1},
}
SCORES = {
    ANSWERED: (5, 4, None, 1, None, None),
    REFUSED: (None, None, 1, 0, 1, 1),
    REFUSED_WRONGLY: (None, 1, None, None, 0, None),
}
CALLS = {ANSWERED: 3, REFUSED: 4, REFUSED_WRONGLY: 3}
KEYS = [
    "grouse_answer_relevancy",
    "grouse_completeness",
    "grouse_usefulness",
    "grouse_faithfulness",
    "grouse_positive_acceptance",
    "grouse_negative_rejection",
]


def script() -> Script:
    return Script(TOLD)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script(), faults=When(UNREADABLE, Garbage("Hard to say."))) as running:
        yield running
        assert not running.script_errors


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_at(server) as made:
        yield made


def judge_at(server: ScriptedServer) -> LLMJudge:
    chat = OpenAIChat("m", base_url=server.base_url, price=Price(input=1.0, output=10.0))
    return LLMJudge(chat, retries=RetryPolicy(retries=0))


class FixedRetriever(BaseRetriever):
    """Finds the same documents whatever is asked."""

    texts: list[str] = REFERENCES

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=text) for text in self.texts]


def says(*answers: str) -> FakeListChatModel:
    return FakeListChatModel(responses=list(answers))


PROMPT = ChatPromptTemplate.from_template("Answer from {context}: {question}")


def rag(
    *answers: str, retriever: Runnable[Any, Any] | None = None, model: Any = None
) -> Runnable[Any, Any]:
    """An LCEL chain from a question to an answer."""
    return (
        {"context": retriever or FixedRetriever(), "question": RunnablePassthrough()}
        | PROMPT
        | (model or says(*answers))
        | StrOutputParser()
    )


class QuietClient(Client):
    """Posts nothing, and keeps what it was to post."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="none", info={})
        self.created: list[dict[str, Any]] = []

    def create_run(self, name: Any, inputs: Any, run_type: Any, **more: Any) -> None:
        self.created.append({"name": name, "inputs": inputs, "run_type": run_type, **more})

    def update_run(self, *arguments: Any, **more: Any) -> None:
        pass


@contextmanager
def traced(client: QuietClient) -> Iterator[None]:
    """Traced as by ``LANGSMITH_TRACING=true``, also by a LangChain that asks only the first."""
    with (
        tracing_v2_enabled(project_name="p", client=client),
        tracing_context(enabled=True, client=client, project_name="p"),
    ):
        yield


def example(question: str = QUESTION, expected: str | None = EXPECTED, **outputs: Any) -> Example:
    known = {} if expected is None else {"answer": expected}
    return Example(
        id=uuid.uuid4(),
        dataset_id=uuid.uuid4(),
        inputs={"question": question},
        outputs={**known, **outputs},
        created_at=datetime.now(UTC),
    )
