"""Where question, documents and answer are found: real chains, agents and what LangSmith keeps."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import must_run
from langchain_cases import (
    ANSWERED,
    EXPECTED,
    PROMPT,
    QUESTION,
    REFERENCES,
    FixedRetriever,
    rag,
    says,
)
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool, tool

from grouse_adapters import Sample
from grouse_adapters.langchain import GrouseCallback
from grouse_adapters.langchain.extract import (
    answer_in,
    documents_in,
    expected_in,
    question_in,
    references_in,
)


@pytest.fixture
def callback() -> Iterator[GrouseCallback]:
    with GrouseCallback(judge="lexical") as made:
        yield made


def seen(callback: GrouseCallback, chain: Runnable[Any, Any], value: Any) -> Sample:
    chain.invoke(value, {"callbacks": [callback]})
    assert callback.flush(30)
    assert not callback.skipped
    return callback.judgements[-1].sample


def documents(*texts: str) -> list[Document]:
    return [Document(page_content=text) for text in texts]


def test_a_vector_store_behind_a_chain(callback: GrouseCallback) -> None:
    pytest.importorskip("numpy")
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts(REFERENCES)
    found = store.similarity_search(QUESTION, k=2)
    sample = seen(callback, rag(ANSWERED, retriever=store.as_retriever()), QUESTION)
    assert sample.references == tuple(document.page_content for document in found)


def test_a_retriever_written_as_a_function(callback: GrouseCallback) -> None:
    finds: Runnable[Any, Any] = RunnableLambda(lambda question: documents(*REFERENCES))
    assert seen(callback, rag(ANSWERED, retriever=finds), QUESTION).references == tuple(REFERENCES)


@pytest.mark.parametrize("texts", [REFERENCES, []])
def test_a_function_that_gives_texts_as_context(texts: list[str], callback: GrouseCallback) -> None:
    finds: Runnable[Any, Any] = RunnableLambda(lambda question: texts)
    assert seen(callback, rag(ANSWERED, retriever=finds), QUESTION).references == tuple(texts)


def test_what_is_handed_on_counts_and_in_that_order(callback: GrouseCallback) -> None:
    retriever = FixedRetriever(texts=["a", "b", "c"])
    reranked = retriever | RunnableLambda(lambda found: [found[2], found[0]])
    assert seen(callback, rag(ANSWERED, retriever=reranked), QUESTION).references == ("c", "a")


def test_several_retrievals_are_put_together_without_doubles(callback: GrouseCallback) -> None:
    first, second = FixedRetriever(texts=["a", "b"]), FixedRetriever(texts=["b", "c"])

    def both(question: str, config: Any) -> str:
        found = [*first.invoke(question, config), *second.invoke(question, config)]
        return "\n".join(document.page_content for document in found)

    chain = rag(ANSWERED, retriever=RunnableLambda(both))
    assert seen(callback, chain, QUESTION).references == ("a", "b", "c")


def test_doubles_of_one_retrieval_stay_for_citations_count_them(callback: GrouseCallback) -> None:
    chain = rag(ANSWERED, retriever=FixedRetriever(texts=["a", "a", "b"]))
    assert seen(callback, chain, QUESTION).references == ("a", "a", "b")


def test_reranking_one_of_two_retrievals_leaves_the_other(callback: GrouseCallback) -> None:
    first = FixedRetriever(texts=["a", "b"]) | RunnableLambda(lambda found: found[:1])
    second = FixedRetriever(texts=["c", "d"]) | RunnableLambda(lambda found: found[::-1])

    def both(question: str, config: Any) -> str:
        return f"{first.invoke(question, config)} {second.invoke(question, config)}"

    chain = rag(ANSWERED, retriever=RunnableLambda(both))
    assert seen(callback, chain, QUESTION).references == ("a", "d", "c")


def test_a_retriever_inside_of_a_retriever_is_not_what_the_model_saw(
    callback: GrouseCallback,
) -> None:
    class Picky(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            inner = FixedRetriever(texts=["a", "b", "c"])
            found = inner.invoke(query, {"callbacks": run_manager.get_child()})
            return [Document(page_content=f"{found[1].page_content}, shortened")]

    assert seen(callback, rag(ANSWERED, retriever=Picky()), QUESTION).references == (
        "b, shortened",
    )


def test_retrieval_that_finds_nothing_is_judged_without_references(
    callback: GrouseCallback,
) -> None:
    chain = rag("No document answers this.", retriever=FixedRetriever(texts=[]))
    assert seen(callback, chain, QUESTION).references == ()


def test_documents_that_the_caller_brought_along(callback: GrouseCallback) -> None:
    chain = PROMPT | says(ANSWERED) | StrOutputParser()
    given = {"question": QUESTION, "context": documents(*REFERENCES)}
    sample = seen(callback, chain, given)
    assert (sample.input, sample.references) == (QUESTION, tuple(REFERENCES))


def test_an_answer_that_is_a_message(callback: GrouseCallback) -> None:
    chain: Runnable[Any, Any] = (
        {"context": FixedRetriever(), "question": RunnablePassthrough()} | PROMPT | says(ANSWERED)
    )
    assert seen(callback, chain, QUESTION).actual_output == ANSWERED


def test_retrieval_chains_of_langchain_classic(callback: GrouseCallback) -> None:
    try:
        from langchain_classic.chains import RetrievalQA, create_retrieval_chain
        from langchain_classic.chains.combine_documents import create_stuff_documents_chain
    except ImportError:
        must_run("langchain-classic")
    prompt = ChatPromptTemplate.from_messages([("system", "Use {context}"), ("human", "{input}")])
    stuffing = create_stuff_documents_chain(says(ANSWERED), prompt)
    chain = create_retrieval_chain(FixedRetriever(), stuffing)
    chat = [HumanMessage("Hello"), AIMessage("Good day")]
    modern = seen(callback, chain, {"input": QUESTION, "chat_history": chat})
    older = RetrievalQA.from_llm(
        llm=says(ANSWERED), retriever=FixedRetriever(), return_source_documents=True
    )
    for sample in (modern, seen(callback, older, {"query": QUESTION})):
        assert sample.input == QUESTION
        assert sample.references == tuple(REFERENCES)
        assert sample.actual_output == ANSWERED


class Caller(GenericFakeChatModel):
    """Calls the search tool, then answers."""

    def bind_tools(self, tools: Any, **more: Any) -> Runnable[Any, Any]:
        return self.bind()


def caller() -> Caller:
    call = {"name": "search", "args": {"query": "bridge"}, "id": "1", "type": "tool_call"}
    again = {**call, "id": "2"}
    return Caller(
        messages=iter(
            [
                AIMessage("Let me look.", tool_calls=[call]),
                AIMessage("And again.", tool_calls=[again]),
                AIMessage(ANSWERED),
            ]
        )
    )


def history() -> dict[str, Any]:
    return {
        "messages": [
            SystemMessage("Be brief."),
            HumanMessage("An earlier question?"),
            AIMessage("An earlier answer."),
            HumanMessage(QUESTION),
        ]
    }


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Searches."""
    return "found", documents(*REFERENCES)


@pytest.mark.parametrize("kind", ["retriever tool", "artifact"])
def test_agents(kind: str, callback: GrouseCallback) -> None:
    try:
        from langchain.agents import create_agent
    except ImportError:
        must_run("langchain 1.0")
    looking = (
        create_retriever_tool(FixedRetriever(), "search", "Searches.")
        if kind == "retriever tool"
        else search
    )
    sample = seen(callback, create_agent(caller(), [looking]), history())
    assert sample.input == QUESTION
    assert sample.references == tuple(REFERENCES)
    assert sample.actual_output == ANSWERED


def test_a_loop_of_messages_with_a_retriever_tool(callback: GrouseCallback) -> None:
    """An agent without any agent package."""
    model = caller()
    looking = create_retriever_tool(FixedRetriever(), "search", "Searches.")

    def loop(state: dict[str, Any], config: Any) -> dict[str, Any]:
        messages = list(state["messages"])
        while True:
            said = model.invoke(messages, config)
            messages.append(said)
            assert isinstance(said, AIMessage)
            if not said.tool_calls:
                return {"messages": messages}
            messages += [looking.invoke(call, config) for call in said.tool_calls]

    sample = seen(callback, RunnableLambda(loop), history())
    assert sample.input == QUESTION
    assert sample.references == tuple(REFERENCES)
    assert sample.actual_output == ANSWERED


def test_a_graph_that_carries_its_documents(callback: GrouseCallback) -> None:
    try:
        from langgraph.graph import END, START, StateGraph
    except ImportError:
        must_run("langgraph")
    from typing import TypedDict

    class State(TypedDict, total=False):
        question: str
        context: list[Document]
        answer: str

    graph = StateGraph(State)
    graph.add_node("retrieve", lambda state: {"context": documents(*REFERENCES)})
    graph.add_node("generate", lambda state: {"answer": ANSWERED})
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", END)
    sample = seen(callback, graph.compile(), {"question": QUESTION})
    assert (sample.input, sample.actual_output) == (QUESTION, ANSWERED)
    assert sample.references == tuple(REFERENCES)


HUMAN, AI = HumanMessage(QUESTION), AIMessage(ANSWERED)
CALL = AIMessage("Hm.", tool_calls=[{"name": "s", "args": {}, "id": "1", "type": "tool_call"}])


@pytest.mark.parametrize(
    "value",
    [
        QUESTION,
        HUMAN,
        [HumanMessage("Before?"), AI, HUMAN],
        [("system", "Be brief."), ("human", QUESTION)],
        {"input": QUESTION, "chat_history": [AI]},
        {"input": {"question": QUESTION}, "config": None},
        {"inputs": {"query": QUESTION}},
        {"user_input": QUESTION},
        {"topic": QUESTION},
        {"messages": [{"role": "user", "content": QUESTION}]},
        {"messages": [{"type": "human", "content": [{"type": "text", "text": QUESTION}]}]},
        {"messages": [dumpd(HUMAN)]},
        ChatPromptTemplate.from_messages([("system", "s"), ("human", "{x}")]).invoke(
            {"x": QUESTION}
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_questions_are_found(value: Any) -> None:
    assert question_in(value) == QUESTION


@pytest.mark.parametrize(
    "value",
    [
        ANSWERED,
        AI,
        {"output": ANSWERED, "intermediate_steps": []},
        {"input": QUESTION, "context": documents("d"), "answer": ANSWERED},
        {"query": QUESTION, "result": ANSWERED},
        {"messages": [HUMAN, CALL, ToolMessage("t", tool_call_id="1"), AI]},
        {"messages": [dumpd(HUMAN), dumpd(AI)]},
        {"output": SimpleNamespace(return_values={"output": ANSWERED})},
        AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ANSWERED}]),
        {"my_text": ANSWERED},
    ],
    ids=lambda value: type(value).__name__,
)
def test_answers_are_found(value: Any) -> None:
    assert answer_in(value) == ANSWERED


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        7,
        {"output": None},
        {"a": "one", "b": "two"},
        {"messages": [AI, HUMAN]},
        {"messages": [HUMAN, CALL]},
        CALL,
        [1, 2],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_answer_is_none(value: Any) -> None:
    assert answer_in(value) is None


def test_an_empty_answer_is_an_answer() -> None:
    assert answer_in({"output": ""}) == ""


def test_expected_answers_of_datasets() -> None:
    for name in ("expected_output", "reference", "ground_truth", "answer", "output", "whatever"):
        assert expected_in({name: EXPECTED}) == EXPECTED
    assert expected_in({"reference": EXPECTED, "answer": "other"}) == EXPECTED
    assert expected_in({"contexts": ["a"]}) is None


def test_lists_of_documents() -> None:
    assert documents_in(documents("a", "b")) == ("a", "b")
    assert documents_in([{"page_content": "a"}, dumpd(Document(page_content="b"))]) == ("a", "b")
    assert documents_in(["a"]) is None
    assert documents_in(["a"], strings=True) == ("a",)
    assert documents_in([]) is None
    assert documents_in([], strings=True) == ()
    for other in (None, "text", 7, {"a": "b"}, [*documents("a"), 3], iter(["a"])):
        assert documents_in(other, strings=True) is None
    assert references_in({"context": "one text"}, {"documents": documents("a")}) == ("a",)
    assert references_in({"answer": ANSWERED}, None) is None


def test_a_question_with_half_a_surrogate_pair_does_not_reach_the_chain(
    callback: GrouseCallback, caplog: pytest.LogCaptureFixture
) -> None:
    rag(ANSWERED).invoke("\ud800?", {"callbacks": [callback], "run_id": uuid.uuid4()})
    assert callback.counts.errors == 1
    assert "surrogate" in caplog.text
