"""The six evaluators in real LlamaIndex, through each entry point, judged over HTTP."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from index_engines import (
    ANSWERED,
    EXPECTED,
    QUESTION,
    REFERENCES,
    REFUSED,
    SCRIPT,
    ToldLLM,
    bridge_engine,
    bridge_index,
    judge_at,
)
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from pydantic import BaseModel

from grouse_adapters import (
    METRICS,
    ConfigurationError,
    Graded,
    LexicalJudge,
    LLMJudge,
    Usage,
    resolve_judge,
)
from grouse_adapters.llama_index import (
    GrouseAnswerRelevancyEvaluator,
    GrouseCompletenessEvaluator,
    GrouseEvaluationResult,
    GrouseFaithfulnessEvaluator,
    GrouseNegativeRejectionEvaluator,
    GrousePositiveAcceptanceEvaluator,
    GrouseUsefulnessEvaluator,
    all_evaluators,
)
from grouse_adapters.testing import (
    Garbage,
    Script,
    ScriptedServer,
)

KEYS = [metric.key for metric in METRICS.values()]
SCORES = {
    ANSWERED: [5, 3, None, 1, None, None],
    REFUSED: [None, None, 1, 0, 1, 1],
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_at(server) as built:
        yield built


def scores(results: dict[str, Any]) -> list[float | None]:
    return [results[key].score for key in KEYS]


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED])
def test_six_evaluators_grade_an_answer_with_one_judgement(
    server: ScriptedServer, judge: LLMJudge, answer: str
) -> None:
    results: dict[str, Any] = {
        key: evaluator.evaluate(QUESTION, answer, REFERENCES, reference=EXPECTED)
        for key, evaluator in all_evaluators(judge).items()
    }
    assert list(results) == KEYS
    assert scores(results) == SCORES[answer]
    assert server.calls <= 4
    assert sum(result.llm_calls for result in results.values()) == server.calls
    usage = sum((result.usage for result in results.values()), Usage())
    assert usage.input_tokens > 100
    cost = sum(result.cost for result in results.values())
    assert cost == pytest.approx((usage.input_tokens + 10 * usage.output_tokens) / 1e6)
    for result in results.values():
        assert result.query == QUESTION
        assert result.response == answer
        assert result.contexts == REFERENCES
        assert result.judge == "judge-model"
        assert result.prompt_fingerprint == judge.prompt_fingerprint
        assert result.feedback


def test_a_value_passes_or_not_and_says_why(judge: LLMJudge) -> None:
    given: dict[str, Any] = {"query": QUESTION, "response": ANSWERED, "contexts": REFERENCES}
    relevancy = GrouseAnswerRelevancyEvaluator(judge).evaluate(**given)
    assert (relevancy.score, relevancy.passing) == (5.0, True)
    assert relevancy.feedback == "Told by the script."
    assert not relevancy.invalid_result
    completeness = GrouseCompletenessEvaluator(judge).evaluate(**given)
    assert (completeness.score, completeness.passing) == (3.0, False)
    generous = GrouseCompletenessEvaluator(judge, score_threshold=3).evaluate(**given)
    assert (generous.score, generous.passing) == (3.0, True)
    faithfulness = GrouseFaithfulnessEvaluator(judge).evaluate(**given)
    assert (faithfulness.score, faithfulness.passing) == (1.0, True)
    assert [check.is_supported for check in faithfulness.sentences] == [True]
    unfaithful = GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, REFUSED, REFERENCES)
    assert (unfaithful.score, unfaithful.passing) == (0.0, False)


def test_not_applicable_is_invalid_with_its_reason(judge: LLMJudge) -> None:
    result = GrouseUsefulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, REFERENCES)
    assert (result.score, result.passing, result.invalid_result) == (None, None, True)
    assert result.grade.kind == "not_applicable"
    assert result.invalid_reason is not None
    assert result.invalid_reason.startswith("not applicable: ")
    assert result.feedback == result.invalid_reason


def test_without_an_expected_answer_the_derived_metrics_do_not_apply(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    for kind in (GrousePositiveAcceptanceEvaluator, GrouseNegativeRejectionEvaluator):
        result = kind(judge).evaluate(QUESTION, REFUSED, REFERENCES)
        assert result.invalid_reason is not None
        assert result.invalid_reason.startswith("not applicable: ")
        assert "expected answer" in result.invalid_reason
    assert server.calls == 0


def test_nothing_retrieved_is_an_input(judge: LLMJudge) -> None:
    result = GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, [])
    assert result.score == 1
    assert result.contexts == []


@pytest.mark.parametrize(
    ("evaluator", "given", "named"),
    [
        (GrouseAnswerRelevancyEvaluator, {"response": ANSWERED}, "query"),
        (GrouseAnswerRelevancyEvaluator, {}, "query and response"),
        (GrouseFaithfulnessEvaluator, {"query": QUESTION, "response": ANSWERED}, "contexts"),
        (GrouseCompletenessEvaluator, {"query": QUESTION, "contexts": []}, "response"),
    ],
)
def test_a_missing_input_is_named(
    evaluator: type[GrouseAnswerRelevancyEvaluator], given: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{evaluator.__name__} needs {named}.* pass "):
        evaluator("lexical").evaluate(**given)
    with pytest.raises(ValueError, match="needs query and response"):
        evaluator("lexical").evaluate_response()


def test_relevancy_needs_no_references(server: ScriptedServer, judge: LLMJudge) -> None:
    assert GrouseAnswerRelevancyEvaluator(judge).evaluate(QUESTION, ANSWERED).score == 5
    assert server.calls == 1


def test_an_unreadable_row_is_a_failed_row(judge: LLMJudge) -> None:
    result = GrouseFaithfulnessEvaluator(judge).evaluate("Half \ud800?", ANSWERED, REFERENCES)
    assert result.invalid_result
    assert result.invalid_reason is not None
    assert result.invalid_reason.startswith("judge failed: 'query' holds half of a surrogate pair")


def test_the_response_of_an_engine(server: ScriptedServer, judge: LLMJudge) -> None:
    response = bridge_engine().query(QUESTION)
    result = GrouseFaithfulnessEvaluator(judge).evaluate_response(QUESTION, response)
    assert result.score == 1
    assert result.response == ANSWERED
    assert sorted(result.contexts or ()) == sorted(REFERENCES)

    again = asyncio.run(GrouseCompletenessEvaluator(judge).aevaluate_response(QUESTION, response))
    assert again.score == 3
    assert server.calls <= 4


def test_citation_numbers_mean_the_nodes_of_the_answer(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    llm = ToldLLM()
    response = CitationQueryEngine.from_args(bridge_index(), llm=llm).query(QUESTION)
    assert "Source 1:\n" in response.source_nodes[0].node.get_content()
    result = GrouseFaithfulnessEvaluator(judge).evaluate_response(QUESTION, response)
    assert sorted(result.contexts or ()) == sorted(REFERENCES)
    shown = response.source_nodes[0].node.get_content().removeprefix("Source 1:\n").strip()
    assert (result.contexts or [""])[0] == shown
    assert all("Source 1:" not in request.prompt for request in server.requests)


def test_only_a_number_of_its_own_place_is_taken_away(judge: LLMJudge) -> None:
    contexts = ["Source 2:\nA list of sources.", "Source 2:\nThe second.\n"]
    result = GrouseAnswerRelevancyEvaluator(judge).evaluate(QUESTION, ANSWERED, contexts)
    assert result.contexts == ["Source 2:\nA list of sources.", "The second."]


def test_metadata_is_shown_when_it_is_asked_for(judge: LLMJudge) -> None:
    node = TextNode(text="Source 1:\nIt is long.\n", metadata={"title": "Bridges"})
    response = Response(ANSWERED, source_nodes=[NodeWithScore(node=node)])
    plain = GrouseFaithfulnessEvaluator(judge).evaluate_response(QUESTION, response)
    assert plain.contexts == ["It is long."]
    shown = GrouseFaithfulnessEvaluator(judge, metadata_mode=MetadataMode.LLM).evaluate_response(
        QUESTION, response
    )
    assert shown.contexts == ["title: Bridges\n\nIt is long."]


def test_a_stream_is_read_to_its_end(judge: LLMJudge) -> None:
    engine = bridge_engine(streaming=True)
    response = engine.query(QUESTION)
    result = GrouseFaithfulnessEvaluator(judge).evaluate_response(QUESTION, response)
    assert (result.score, result.response) == (1, ANSWERED)
    again = GrouseCompletenessEvaluator(judge).evaluate_response(QUESTION, response)
    assert (again.score, again.response) == (3, ANSWERED)

    async def asynchronous() -> GrouseEvaluationResult:
        streamed = await engine.aquery(QUESTION)
        evaluator = GrouseFaithfulnessEvaluator(judge)
        first, second = await asyncio.gather(
            evaluator.aevaluate_response(QUESTION, streamed),
            evaluator.aevaluate_response(QUESTION, streamed),
        )
        assert first.score == second.score == 1
        return second

    assert asyncio.run(asynchronous()).response == ANSWERED


def test_a_stream_that_was_read_before_is_no_empty_answer(judge: LLMJudge) -> None:
    response = bridge_engine(streaming=True).query(QUESTION)
    assert isinstance(response, StreamingResponse)
    assert "".join(response.response_gen) == ANSWERED
    with pytest.raises(ValueError, match="was read before: keep its text"):
        GrouseFaithfulnessEvaluator(judge).evaluate_response(QUESTION, response)


def test_what_chat_engines_return(judge: LLMJudge) -> None:
    evaluator = GrouseFaithfulnessEvaluator(judge)
    engine = bridge_index().as_chat_engine(chat_mode=ChatMode.CONTEXT, llm=ToldLLM())
    whole = evaluator.evaluate_response(QUESTION, engine.chat(QUESTION))
    assert (whole.score, whole.response) == (1, ANSWERED)
    streamed = evaluator.evaluate_response(QUESTION, engine.stream_chat(QUESTION))
    assert (streamed.score, streamed.response) == (1, ANSWERED)

    async def asynchronous() -> GrouseEvaluationResult:
        return await evaluator.aevaluate_response(QUESTION, await engine.astream_chat(QUESTION))

    assert asyncio.run(asynchronous()).response == ANSWERED


def test_an_engine_that_says_nothing_gave_an_empty_answer(judge: LLMJudge) -> None:
    result = GrouseAnswerRelevancyEvaluator(judge).evaluate_response(QUESTION, Response(None))
    assert result.response == ""
    assert result.grade.kind == "graded"


def test_an_object_as_the_answer_is_judged_as_json(judge: LLMJudge) -> None:
    class Length(BaseModel):
        metres: int

    from llama_index.core.base.response.schema import PydanticResponse

    result = GrouseAnswerRelevancyEvaluator(judge).evaluate_response(
        QUESTION, PydanticResponse(Length(metres=300))
    )
    assert result.response == '{"metres":300}'


def test_evaluators_made_one_by_one_share_as_well(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    for kind in (GrouseAnswerRelevancyEvaluator, GrouseCompletenessEvaluator):
        assert kind("shared-model").evaluate(QUESTION, ANSWERED, REFERENCES).score in (5, 3)
        assert kind("shared-model").evaluate(QUESTION, ANSWERED, REFERENCES).score in (5, 3)
    assert server.calls == 2
    assert GrouseFaithfulnessEvaluator("shared-model").judge is resolve_judge("shared-model")


def test_the_default_judge_is_the_one_of_the_environment(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("GROUSE_JUDGE", "named-outside")
    result = GrouseFaithfulnessEvaluator().evaluate(QUESTION, ANSWERED, REFERENCES)
    assert (result.score, result.judge) == (1, "named-outside")


def test_inside_a_running_loop(judge: LLMJudge) -> None:
    async def notebook() -> GrouseEvaluationResult:
        return GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, REFERENCES)

    assert asyncio.run(notebook()).score == 1


def test_a_wrong_key_stops_with_one_sentence() -> None:
    with ScriptedServer(SCRIPT, api_key="right") as server, judge_at(server) as judge:
        evaluator = GrouseFaithfulnessEvaluator(judge)
        with pytest.raises(ConfigurationError, match=r"refused the key .*: check the key"):
            evaluator.evaluate(QUESTION, ANSWERED, REFERENCES)


def test_a_closed_judge_is_a_failed_row(judge: LLMJudge) -> None:
    judge.close()
    result = GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, REFERENCES)
    assert result.invalid_reason == "judge failed: This judge is closed: build a new one."


def test_building_an_evaluator_builds_no_judge() -> None:
    evaluator = GrouseFaithfulnessEvaluator("gpt-4o")  # there is no key here
    with pytest.raises(ConfigurationError, match="No API key"):
        evaluator.evaluate(QUESTION, ANSWERED, REFERENCES)
    with pytest.raises(ConfigurationError, match="judge must be"):
        GrouseFaithfulnessEvaluator(42).evaluate(QUESTION, ANSWERED, REFERENCES)  # type: ignore[arg-type]  # a user's mistake


def test_citations_can_be_ignored() -> None:
    uncited = "The bridge is 300 m long."
    given: dict[str, Any] = {"query": QUESTION, "response": uncited, "contexts": REFERENCES}
    assert GrouseFaithfulnessEvaluator("lexical").evaluate(**given).score == 0
    assert GrouseFaithfulnessEvaluator("lexical", citations="ignored").evaluate(**given).score == 1
    evaluators = all_evaluators("lexical", citations="ignored", metrics=["faithfulness"])
    assert evaluators["grouse_faithfulness"].evaluate(**given).score == 1
    with LexicalJudge() as finished, pytest.raises(ConfigurationError, match="when it is built"):
        GrouseFaithfulnessEvaluator(finished, citations="ignored").evaluate(**given)


def test_the_prompts_are_the_judges(judge: LLMJudge) -> None:
    evaluator = GrouseFaithfulnessEvaluator(judge)
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})
    with pytest.raises(ConfigurationError, match="prompts belong to the judge"):
        evaluator.update_prompts({"eval_template": PromptTemplate("{query}")})


def test_an_evaluator_can_be_sent_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(GrouseFaithfulnessEvaluator("lexical", score_threshold=0)))
    assert copy.evaluate(QUESTION, "Nothing like it [1].", REFERENCES).passing is True


def test_a_result_survives_json(judge: LLMJudge) -> None:
    result = GrouseFaithfulnessEvaluator(judge).evaluate(QUESTION, ANSWERED, REFERENCES)
    copy = GrouseEvaluationResult.model_validate_json(result.model_dump_json())
    assert copy == result
    assert isinstance(copy.grade, Graded)


def test_a_scripted_reply_out_of_scale_is_no_score() -> None:
    script = Script({ANSWERED: {"answer_relevancy": 5, "completeness": 5, "faithfulness": 1}})
    fault = Garbage('{"answer_1": {"answer_relevancy": 5}}')
    with ScriptedServer(script, faults=fault) as server, judge_at(server) as judge:
        result = GrouseAnswerRelevancyEvaluator(judge).evaluate(
            QUESTION, ANSWERED, REFERENCES, reference=EXPECTED
        )
    assert result.grade.kind == "failed"
    assert result.grade.error_kind == "missing_answer"
    assert result.score is None
