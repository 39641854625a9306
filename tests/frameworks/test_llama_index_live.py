"""The event handler on real engines: what it sees, and that the engine never notices."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from index_engines import (
    ANSWERED,
    EXPECTED,
    QUESTION,
    REFERENCES,
    REFUSED,
    SCRIPT,
    OwnPrompt,
    ToldLLM,
    asking_engine,
    bridge_engine,
    bridge_index,
    judge_at,
)
from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.chat_engine import CondenseQuestionChatEngine
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags

from grouse_adapters import Judgement, LLMJudge
from grouse_adapters.llama_index import GrouseEventHandler
from grouse_adapters.testing import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_at(server) as built:
        yield built


@pytest.fixture
def handler(judge: LLMJudge) -> Iterator[GrouseEventHandler]:
    with GrouseEventHandler(judge) as attached:
        yield attached


@pytest.fixture(autouse=True)
def _no_handler_stays() -> Iterator[None]:
    dispatcher = get_dispatcher()
    before = list(dispatcher.event_handlers)
    yield
    dispatcher.event_handlers = before


def seen(handler: GrouseEventHandler) -> list[Judgement]:
    """What was judged, when all is, by question: they finish in any order."""
    assert handler.flush(60)
    return sorted(handler.judgements, key=lambda judgement: judgement.sample.input)


def only(handler: GrouseEventHandler) -> Judgement:
    (judgement,) = seen(handler)
    return judgement


def test_a_query_is_judged(server: ScriptedServer, handler: GrouseEventHandler) -> None:
    response = bridge_engine().query(QUESTION)
    judgement = only(handler)
    assert judgement.sample.input == QUESTION
    assert judgement.sample.actual_output == ANSWERED
    assert judgement.sample.references == tuple(
        node.node.get_content() for node in response.source_nodes
    )
    assert sorted(judgement.sample.references) == sorted(REFERENCES)
    assert judgement.sample.expected_output is None
    assert judgement.value("answer_relevancy") == 5
    assert judgement.value("faithfulness") == 1
    assert judgement.grades["positive_acceptance"].kind == "not_applicable"
    assert server.calls == 3
    assert handler.counts.seen == handler.counts.judged == 1


def test_the_frameworks_own_way_to_register(judge: LLMJudge) -> None:
    handler = GrouseEventHandler(judge)
    get_dispatcher().add_event_handler(handler)
    bridge_engine().query(QueryBundle(QUESTION))
    assert only(handler).sample.input == QUESTION
    assert handler.close()
    bridge_engine().query(QUESTION)
    assert handler.counts.seen == 1


def test_it_listens_from_attach_to_detach(judge: LLMJudge) -> None:
    handler = GrouseEventHandler(judge)
    engine = bridge_engine()
    engine.query("Before?")
    assert handler.attach() is handler.attach()
    engine.query("Between?")
    handler.detach()
    handler.detach()
    engine.query("After?")
    assert [j.sample.input for j in seen(handler)] == ["Between?"]
    assert handler not in get_dispatcher().event_handlers


def test_expected_answer_and_id_travel_in_tags(handler: GrouseEventHandler) -> None:
    tags = {"expected_output": EXPECTED, "id": 7, "user": "ann", "when": Path("x"), "n": 1.5}
    with instrument_tags(tags):
        bridge_engine(ToldLLM(REFUSED)).query(QUESTION)
    judgement = only(handler)
    assert judgement.id == "7"
    assert judgement.sample.expected_output == EXPECTED
    assert judgement.value("positive_acceptance") == 1
    assert judgement.value("negative_rejection") == 1
    assert judgement.sample.metadata == {"user": "ann", "when": "x", "n": 1.5}


def test_each_answer_has_the_id_of_its_span(handler: GrouseEventHandler) -> None:
    bridge_engine().query(QUESTION)
    bridge_engine().query(QUESTION)
    first, second = seen(handler)
    assert first.id is not None
    assert first.id.startswith("RetrieverQueryEngine.query-")
    assert first.id != second.id


def test_asynchronous_queries_at_once(handler: GrouseEventHandler) -> None:
    async def many() -> None:
        engine = bridge_engine()
        await asyncio.gather(*(engine.aquery(f"{QUESTION} {n}") for n in range(6)))

    asyncio.run(many())
    assert sorted(j.sample.input for j in seen(handler)) == [f"{QUESTION} {n}" for n in range(6)]


def test_queries_of_many_threads(handler: GrouseEventHandler) -> None:
    engine = bridge_engine()
    threads = [threading.Thread(target=engine.query, args=(f"{QUESTION} {n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen(handler)) == 6


@pytest.mark.parametrize("use_async", [False, True])
def test_of_sub_questions_only_the_whole_is_judged(
    handler: GrouseEventHandler, use_async: bool
) -> None:
    engine = asking_engine(use_async=use_async)
    engine.query(QUESTION)
    judgement = only(handler)
    assert judgement.sample.input == QUESTION
    assert judgement.sample.actual_output == ANSWERED
    assert judgement.sample.references[0].startswith("Sub question: How long?")
    assert set(REFERENCES) <= set(judgement.sample.references)

    async def again() -> None:
        await engine.aquery("And again?")

    asyncio.run(again())
    assert [j.sample.input for j in seen(handler)] == sorted([QUESTION, "And again?"])


@pytest.mark.skipif(
    "copy_context" not in inspect.getsource(asyncio_run),
    reason="this LlamaIndex starts its threads without their parent's context",
)
def test_sub_questions_asked_from_a_notebook(handler: GrouseEventHandler) -> None:
    async def notebook() -> None:
        asking_engine(use_async=True).query(QUESTION)  # it starts a thread with a loop of its own

    asyncio.run(notebook())
    assert only(handler).sample.input == QUESTION


def test_routed_and_transformed_queries_count_once(handler: GrouseEventHandler) -> None:
    def says(prompt: str) -> str:
        return '[{"choice": 1, "reason": "The only one."}]' if "choice" in prompt else ANSWERED

    llm = ToldLLM(says)
    tool = QueryEngineTool.from_defaults(bridge_engine(llm), description="All about the bridge.")
    router = RouterQueryEngine(
        selector=LLMSingleSelector.from_defaults(llm=llm), query_engine_tools=[tool], llm=llm
    )
    TransformQueryEngine(router, IdentityQueryTransform()).query(QUESTION)
    assert only(handler).sample.actual_output == ANSWERED


def test_a_query_that_ended_unheard_is_forgotten(judge: LLMJudge) -> None:
    handler = GrouseEventHandler(judge).attach()

    def says(prompt: str) -> str:
        handler.detach()
        return ANSWERED

    bridge_engine(ToldLLM(says)).query("Unheard?")
    handler.attach()
    bridge_engine().query(QUESTION)
    assert only(handler).sample.input == QUESTION


def test_a_query_after_one_inside_another_is_a_root_again(handler: GrouseEventHandler) -> None:
    asking_engine(use_async=False).query("First?")
    bridge_engine().query("Second?")
    assert [j.sample.input for j in seen(handler)] == sorted(["First?", "Second?"])


def test_citations_of_the_citation_engine(
    server: ScriptedServer, handler: GrouseEventHandler
) -> None:
    engine = CitationQueryEngine.from_args(
        bridge_index(), llm=ToldLLM(), citation_chunk_size=64, citation_chunk_overlap=0
    )
    response = engine.query(QUESTION)
    judgement = only(handler)
    assert [node.node.get_content() for node in response.source_nodes] == [
        f"Source {n}:\n{text}\n" for n, text in enumerate(judgement.sample.references, 1)
    ]
    assert sorted(judgement.sample.references) == sorted(REFERENCES)
    assert all("Source 1:" not in request.prompt for request in server.requests)


def test_metadata_is_shown_when_it_is_asked_for(judge: LLMJudge) -> None:
    index = bridge_index(metadata={"title": "Bridges"})
    with GrouseEventHandler(judge, metadata_mode=MetadataMode.LLM) as handler:
        index.as_query_engine(llm=ToldLLM()).query(QUESTION)
    assert sorted(only(handler).sample.references) == sorted(
        f"title: Bridges\n\n{text}" for text in REFERENCES
    )


def test_nothing_retrieved(handler: GrouseEventHandler) -> None:
    class Finds(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return []

    RetrieverQueryEngine.from_args(Finds(), llm=ToldLLM()).query(QUESTION)
    judgement = only(handler)
    assert judgement.sample.references == ()
    assert judgement.sample.actual_output == "Empty Response"


def test_a_synthesizer_used_without_an_engine(handler: GrouseEventHandler) -> None:
    nodes = bridge_index().as_retriever().retrieve(QUESTION)
    get_response_synthesizer(llm=ToldLLM()).synthesize(QUESTION, nodes)
    assert sorted(only(handler).sample.references) == sorted(REFERENCES)


def test_an_engine_without_source_nodes_used_what_it_retrieved(
    handler: GrouseEventHandler,
) -> None:
    engine = OwnPrompt(retriever=bridge_index().as_retriever())
    assert str(engine.query(QUESTION)) == ANSWERED
    judgement = only(handler)
    assert sorted(judgement.sample.references) == sorted(REFERENCES)
    assert judgement.sample.actual_output == ANSWERED
    assert (judgement.id or "").startswith("OwnPrompt.query-")

    with instrument_tags({"expected_output": EXPECTED}):
        asyncio.run(engine.aquery(QueryBundle("Again?")))
    assert [j.sample.input for j in seen(handler)] == sorted([QUESTION, "Again?"])
    assert seen(handler)[0].sample.expected_output == EXPECTED


def test_an_engine_of_ones_own_that_fails_or_synthesizes(handler: GrouseEventHandler) -> None:
    class Synthesizes(OwnPrompt):
        def custom_query(self, query_str: str) -> Any:
            nodes = self.retriever.retrieve(query_str)
            if "fail" in query_str:
                raise RuntimeError("it failed")
            return get_response_synthesizer(llm=ToldLLM(), streaming=True).synthesize(
                query_str, nodes[:1]
            )

    engine = Synthesizes(retriever=bridge_index().as_retriever())
    with pytest.raises(RuntimeError, match="it failed"):
        engine.query("Will it fail?")
    assert str(engine.query(QUESTION)) == ANSWERED
    judgement = only(handler)
    assert judgement.sample.input == QUESTION
    assert len(judgement.sample.references) == 1


def test_nodes_that_an_engine_sorted_out_are_no_references(handler: GrouseEventHandler) -> None:
    from llama_index.core.postprocessor import KeywordNodePostprocessor

    sieve = KeywordNodePostprocessor.model_construct(
        required_keywords=[], exclude_keywords=[], lang="en"
    )
    sieve._postprocess_nodes = lambda *_: []  # type: ignore[method-assign]  # spaCy is not needed
    bridge_engine(node_postprocessors=[sieve]).query(QUESTION)
    judgement = only(handler)
    assert judgement.sample.references == ()
    assert judgement.sample.actual_output == "Empty Response"


@pytest.mark.parametrize("mode", [ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT])
def test_chat_engines(handler: GrouseEventHandler, mode: ChatMode) -> None:
    engine = bridge_index().as_chat_engine(chat_mode=mode, llm=ToldLLM())
    assert engine.chat(QUESTION).response == ANSWERED
    judgement = only(handler)
    assert judgement.sample.input == QUESTION
    assert judgement.sample.actual_output == ANSWERED
    assert sorted(judgement.sample.references) == sorted(REFERENCES)


def test_a_chat_engine_over_a_query_engine(handler: GrouseEventHandler) -> None:
    llm = ToldLLM()
    engine = CondenseQuestionChatEngine.from_defaults(query_engine=bridge_engine(llm), llm=llm)
    engine.chat(QUESTION)
    assert only(handler).sample.input == QUESTION


def test_a_streaming_chat(handler: GrouseEventHandler) -> None:
    engine = bridge_index().as_chat_engine(chat_mode=ChatMode.CONTEXT, llm=ToldLLM())
    assert "".join(engine.stream_chat(QUESTION).response_gen) == ANSWERED
    assert only(handler).sample.actual_output == ANSWERED

    async def asynchronous() -> str:
        streamed = await engine.astream_chat("Again?")
        return "".join([word async for word in streamed.async_response_gen()])

    assert asyncio.run(asynchronous()) == ANSWERED
    assert [j.sample.input for j in seen(handler)] == sorted([QUESTION, "Again?"])


def test_a_stream_is_judged_when_it_was_read(handler: GrouseEventHandler) -> None:
    response = bridge_engine(streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    words = iter(response.response_gen)
    first = next(words)
    assert handler.counts.seen == 0
    assert first + "".join(words) == ANSWERED
    judgement = only(handler)
    assert judgement.sample.actual_output == ANSWERED
    assert sorted(judgement.sample.references) == sorted(REFERENCES)


@pytest.mark.parametrize("read", [str, lambda response: response.get_response().response])
def test_a_stream_that_is_read_as_a_whole(
    handler: GrouseEventHandler, read: Callable[[Any], str]
) -> None:
    response = bridge_engine(streaming=True).query(QUESTION)
    assert read(response) == read(response) == ANSWERED
    assert only(handler).sample.actual_output == ANSWERED


def test_an_asynchronous_stream(handler: GrouseEventHandler) -> None:
    async def asked() -> str:
        with instrument_tags({"expected_output": EXPECTED}):
            response = await bridge_engine(streaming=True).aquery(QUESTION)
        assert isinstance(response, AsyncStreamingResponse)
        return "".join([word async for word in response.async_response_gen()])

    assert asyncio.run(asked()) == ANSWERED
    judgement = only(handler)
    assert judgement.sample.actual_output == ANSWERED
    assert judgement.sample.expected_output == EXPECTED


def test_a_stream_that_is_left_is_not_judged(handler: GrouseEventHandler) -> None:
    engine = bridge_engine(streaming=True)
    left = engine.query("Left?")
    assert isinstance(left, StreamingResponse)
    next(iter(left.response_gen))
    left.response_gen.close()
    never = engine.query("Never read?")
    del left, never
    gc.collect()

    async def leave() -> None:
        response = await engine.aquery("Left as well?")
        assert isinstance(response, AsyncStreamingResponse)
        stream: Any = response.async_response_gen()
        await anext(stream)
        await stream.aclose()
        await response.response_gen.aclose()

    asyncio.run(leave())
    str(engine.query(QUESTION))
    assert only(handler).sample.input == QUESTION
    assert handler.counts.seen == 1
