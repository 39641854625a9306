"""LangSmith's evaluate and aevaluate with GroUSE, offline, the judge over real HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import langchain_cases
import pytest
from langchain_cases import (
    ANSWERED,
    CALLS,
    EXPECTED,
    KEYS,
    QUESTION,
    REFERENCES,
    REFUSED,
    REFUSED_WRONGLY,
    SCORES,
    UNREADABLE,
    FixedRetriever,
    QuietClient,
    example,
    judge_at,
    rag,
)
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnablePassthrough
from langsmith import aevaluate, evaluate, traceable
from langsmith.evaluation import RunEvaluator
from langsmith.run_trees import RunTree
from langsmith.schemas import Example

from grouse_adapters import ConfigurationError, LexicalJudge, LLMJudge, OpenAIChat, Sample
from grouse_adapters.langchain import GrouseRunEvaluator, agrouse_evaluator, grouse_evaluator
from grouse_adapters.testing import ScriptedServer

server, judge = langchain_cases.server, langchain_cases.judge

OLD_LANGSMITH = version("langsmith").startswith("0.1.")

Target = Callable[[dict[str, Any]], dict[str, Any]]


def answering(answer: str, **more: Any) -> Target:
    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": answer, "context": REFERENCES, **more}

    return target


def run(target: Any, data: list[Example], *evaluators: Any, **more: Any) -> list[dict[str, Any]]:
    """Per row: results by key."""
    rows = evaluate(
        target,
        data=data,
        evaluators=list(evaluators),
        client=QuietClient(),
        upload_results=False,
        **more,
    )
    return in_order(list(rows), data)


async def arun(target: Any, data: list[Example], *evaluators: Any) -> list[dict[str, Any]]:
    async def answer(inputs: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = target(inputs)
        return result

    rows = await aevaluate(
        answer,
        data=data,
        evaluators=list(evaluators),
        client=QuietClient(),
        upload_results=False,
    )
    return in_order([row async for row in rows], data)


def in_order(rows: list[Any], data: list[Example]) -> list[dict[str, Any]]:
    """Rows come as they finish."""
    by_id = {row["example"].id: row["evaluation_results"]["results"] for row in rows}
    return [{result.key: result for result in by_id[example.id]} for example in data]


def scores(results: dict[str, Any]) -> tuple[Any, ...]:
    assert list(results) == KEYS
    return tuple(result.score for result in results.values())


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED, REFUSED_WRONGLY])
def test_a_run_evaluator_gives_six_keys_from_one_judgement(
    answer: str, server: ScriptedServer, judge: LLMJudge
) -> None:
    (results,) = run(answering(answer), [example()], GrouseRunEvaluator(judge=judge))
    assert scores(results) == SCORES[answer]
    assert server.calls == CALLS[answer]
    for result in results.values():
        assert result.comment
        if result.score is None:
            assert result.value == "n/a"
            assert result.comment.startswith("not applicable: ")
        else:
            assert result.value is None
            if result.key in KEYS[:4]:
                assert result.comment == "Told by the script."


def test_what_a_result_carries_besides_the_score(judge: LLMJudge) -> None:
    evaluator = GrouseRunEvaluator(judge=judge, metrics=["completeness", "grouse_usefulness"])
    assert evaluator.feedback_keys == ["grouse_completeness", "grouse_usefulness"]
    seen: list[Any] = []

    class Watching(RunEvaluator):
        def evaluate_run(self, run: Any, example: Any = None, evaluator_run_id: Any = None) -> Any:
            seen.append((run, evaluator.evaluate_run(run, example, evaluator_run_id)))
            return seen[0][1]

    run(answering(ANSWERED), [example()], Watching())
    ((judged, given),) = seen
    completeness, usefulness = given["results"]
    assert completeness.target_run_id == judged.id
    assert completeness.feedback_config == {"type": "continuous", "min": 1, "max": 5}
    assert usefulness.feedback_config == {"type": "continuous", "min": 0, "max": 1}
    assert "completeness, usefulness" in repr(evaluator)


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED])
def test_async_evaluation_gives_the_same(
    answer: str, server: ScriptedServer, judge: LLMJudge
) -> None:
    data = [example()]
    (results,) = asyncio.run(arun(answering(answer), data, GrouseRunEvaluator(judge=judge)))
    assert scores(results) == SCORES[answer]
    assert server.calls == CALLS[answer]


def test_six_evaluators_on_fifty_samples_make_two_hundred_calls(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    """Each of them of its own, on several threads, then on two fresh event loops."""
    data = [example(f"{QUESTION} ({number})") for number in range(50)]
    names = [key.removeprefix("grouse_") for key in KEYS]

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": REFUSED, "context": REFERENCES}

    alone = [grouse_evaluator(name, judge=judge) for name in names]
    rows = run(target, data, *alone, max_concurrency=4)
    assert [scores(row) for row in rows] == [SCORES[REFUSED]] * 50
    assert server.calls == 200
    awaited = [agrouse_evaluator(name, judge=judge) for name in names]
    for evaluators in ([GrouseRunEvaluator(judge=judge)], awaited):
        rows = asyncio.run(arun(target, data, *evaluators))
        assert [scores(row) for row in rows] == [SCORES[REFUSED]] * 50
    assert server.calls == 200


def test_equal_specifications_share_their_calls(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    evaluators = [
        GrouseRunEvaluator(judge="some-model"),
        grouse_evaluator("faithfulness", judge="some-model"),
        GrouseRunEvaluator(judge="some-model", metrics=["completeness"]),
    ]
    run(answering(ANSWERED), [example()], *evaluators)
    assert server.calls == CALLS[ANSWERED]


def test_one_metric_costs_only_what_it_needs(server: ScriptedServer, judge: LLMJudge) -> None:
    run(answering(ANSWERED), [example()], grouse_evaluator("completeness", judge=judge))
    assert server.calls == 1


def test_a_failing_judge_leaves_the_other_rows_intact(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    answers = {"a": ANSWERED, "b": UNREADABLE, "c": REFUSED}

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": answers[inputs["question"]], "context": REFERENCES}

    rows = run(target, [example(name) for name in answers], GrouseRunEvaluator(judge=judge))
    assert scores(rows[0]) == SCORES[ANSWERED]
    assert scores(rows[2]) == SCORES[REFUSED]
    assert scores(rows[1]) == (None,) * 6
    for result in rows[1].values():
        assert result.value == "failed"
        assert result.comment.startswith("judge failed: ")
    assert "No grade of completeness can be read" in rows[1]["grouse_completeness"].comment


def test_a_wrong_key_is_told_in_every_result_and_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ScriptedServer(api_key="sk-right") as server:
        chat = OpenAIChat("m", base_url=server.base_url, api_key="sk-wrong")
        with LLMJudge(chat) as judge:
            (results,) = run(answering(ANSWERED), [example()], GrouseRunEvaluator(judge=judge))
    assert "refused the key" in caplog.text
    if not OLD_LANGSMITH:  # which drops the results of an evaluator that raised
        assert scores(results) == (None,) * 6
        for result in results.values():
            assert "refused the key" in result.comment


def test_a_target_that_raised_has_nothing_to_judge(
    server: ScriptedServer, judge: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("the vector store is down")

    caplog.set_level(logging.CRITICAL, logger="langsmith")
    (results,) = run(target, [example()], GrouseRunEvaluator(judge=judge))
    for result in results.values():
        assert result.value == "failed"
        assert "The run failed and gave no answer to judge" in result.comment
        assert "the vector store is down" in result.comment
    (alone,) = run(target, [example()], grouse_evaluator("usefulness", judge=judge))
    assert "the vector store is down" in alone["grouse_usefulness"].comment
    assert server.calls == 0


def test_what_a_failed_run_had_given_so_far_is_not_judged(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    failed: Any = RunTree(
        name="target",
        run_type="chain",
        inputs={"question": QUESTION},
        outputs={"answer": ANSWERED, "context": REFERENCES},
        error="TimeoutError('half-way')",
    )
    given = GrouseRunEvaluator(judge=judge).evaluate_run(failed, example())
    assert {result.value for result in given["results"]} == {"failed"}
    assert server.calls == 0


def test_without_documents_only_what_needs_none_is_graded(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": ANSWERED}

    (results,) = run(target, [example()], GrouseRunEvaluator(judge=judge))
    assert scores(results) == (5, None, None, None, None, None)
    values = [result.value for result in results.values()]
    assert values == [None, "failed", "n/a", "failed", "failed", "failed"]
    comment = results["grouse_faithfulness"].comment
    assert comment.startswith("judge failed: No documents found in the run: return them")
    assert [request.metric for request in server.requests] == ["answer_relevancy"]


def test_retrieval_that_found_nothing_is_not_a_missing_field(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    evaluator = GrouseRunEvaluator(judge=judge)
    (results,) = run(answering(REFUSED_WRONGLY, context=[]), [example()], evaluator)
    assert all(result.value != "failed" for result in results.values())


def test_without_an_expected_answer_the_derived_metrics_do_not_apply(judge: LLMJudge) -> None:
    evaluator = GrouseRunEvaluator(judge=judge)
    (results,) = run(answering(ANSWERED), [example(expected=None)], evaluator)
    assert scores(results)[:4] == SCORES[ANSWERED][:4]
    for key in KEYS[4:]:
        assert results[key].value == "n/a"
        assert "no expected answer" in results[key].comment


def chain_of_documents() -> Any:
    return RunnablePassthrough.assign(
        context=(lambda x: x["question"]) | FixedRetriever()
    ) | RunnablePassthrough.assign(answer=(lambda x: x["question"]) | rag(ANSWERED))


def with_a_traced_retriever(inputs: dict[str, Any]) -> dict[str, Any]:
    @traceable(run_type="retriever")
    def search(question: str) -> list[dict[str, Any]]:
        return [{"page_content": text, "type": "Document"} for text in REFERENCES]

    search(inputs["question"])
    return {"output": ANSWERED}


SHAPES: dict[str, Any] = {
    "texts": answering(ANSWERED),
    "documents": answering(ANSWERED, context=[Document(page_content=text) for text in REFERENCES]),
    "messages": lambda inputs: {
        "messages": [HumanMessage(QUESTION), AIMessage(ANSWERED)],
        "documents": REFERENCES,
    },
    "messages as dicts": lambda inputs: {
        "messages": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": ANSWERED},
        ],
        "retrieved_contexts": REFERENCES,
    },
    "one other name": lambda inputs: {"reply": ANSWERED, "contexts": REFERENCES},
    "a traced retriever": with_a_traced_retriever,
    "a chain": chain_of_documents,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_common_shapes_of_outputs_are_understood(
    shape: str, server: ScriptedServer, judge: LLMJudge
) -> None:
    target = SHAPES[shape]() if shape == "a chain" else SHAPES[shape]
    (results,) = run(target, [example()], GrouseRunEvaluator(judge=judge))
    assert scores(results) == SCORES[ANSWERED]
    shown = {text for text in REFERENCES if text in server.requests[-1].prompt}
    assert shown == set(REFERENCES)
    assert any(EXPECTED in request.prompt for request in server.requests)


def test_a_chain_inside_of_the_target_is_looked_through(judge: LLMJudge) -> None:
    if OLD_LANGSMITH:
        pytest.skip("this LangSmith hands no inner runs to evaluators")

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": rag(ANSWERED).invoke(inputs["question"])}

    for evaluator in (GrouseRunEvaluator(judge=judge), grouse_evaluator(judge=judge)):
        (results,) = run(target, [example()], evaluator)
        assert scores(results) == SCORES[ANSWERED]


def test_references_may_come_from_the_dataset(judge: LLMJudge) -> None:
    data = [example(contexts=REFERENCES)]

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": ANSWERED}

    (results,) = run(target, data, GrouseRunEvaluator(judge=judge))
    assert scores(results) == SCORES[ANSWERED]


def test_an_extractor_may_give_all_some_or_nothing(server: ScriptedServer, judge: LLMJudge) -> None:
    whole = Sample(
        input=QUESTION,
        references=tuple(REFERENCES),
        expected_output=EXPECTED,
        actual_output=REFUSED,
    )

    def odd(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"said": {"it": ANSWERED}, "hits": [{"body": text} for text in REFERENCES]}

    def some(run: Any, example: Any) -> dict[str, Any]:
        return {
            "response": run.outputs["said"]["it"],
            "context": [hit["body"] for hit in run.outputs["hits"]],
        }

    (results,) = run(odd, [example()], GrouseRunEvaluator(judge=judge, extract=some))
    assert scores(results) == SCORES[ANSWERED]
    evaluator = GrouseRunEvaluator(judge=judge, extract=lambda run, example: whole)
    (results,) = run(odd, [example()], evaluator)
    assert scores(results) == SCORES[REFUSED]
    calls = server.calls
    evaluator = GrouseRunEvaluator(judge=judge, extract=lambda run, example: None)
    (results,) = run(odd, [example()], evaluator)
    assert {result.value for result in results.values()} == {"n/a"}
    assert server.calls == calls


def test_an_extractor_that_gives_an_unknown_name_is_told_so(
    judge: LLMJudge, caplog: pytest.LogCaptureFixture
) -> None:
    evaluator = GrouseRunEvaluator(judge=judge, extract=lambda run, example: {"anwser": "x"})
    (results,) = run(answering(ANSWERED), [example()], evaluator)
    assert "The extractor gave 'anwser'" in caplog.text
    if not OLD_LANGSMITH:
        assert scores(results) == (None,) * 6


def test_a_function_called_as_openevals_evaluators_are(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    values: dict[str, Any] = {
        "inputs": {"question": QUESTION},
        "outputs": {"answer": ANSWERED},
        "reference_outputs": {"answer": EXPECTED},
        "context": REFERENCES,
    }
    one = grouse_evaluator("faithfulness", judge=judge)(**values)
    assert isinstance(one, dict)
    assert one["key"] == "grouse_faithfulness"
    assert one["score"] == 1
    assert one["comment"] == "Told by the script."
    assert one["metadata"]["kind"] == "graded"
    assert one["metadata"]["score_0_1"] == 1.0
    assert one["metadata"]["judge"] == "m"
    assert len(one["metadata"]["prompt_fingerprint"]) == 64
    assert one["metadata"]["judgement"]["llm_calls"] == 2
    assert one["metadata"]["judgement"]["cost"] > 0
    assert "value" not in one
    several = asyncio.run(as_coroutine(agrouse_evaluator(judge=judge)(**values)))
    assert [row["key"] for row in several] == KEYS
    assert tuple(row["score"] for row in several) == SCORES[ANSWERED]
    assert server.calls == CALLS[ANSWERED]
    plain = grouse_evaluator("completeness", judge=judge)(
        inputs=QUESTION, outputs=ANSWERED, reference_outputs=EXPECTED, context=REFERENCES
    )
    assert isinstance(plain, dict)
    assert plain["score"] == 4
    assert plain["metadata"]["score_0_1"] == 0.75
    assert server.calls == CALLS[ANSWERED]


async def as_coroutine(awaitable: Any) -> Any:
    return await awaitable


def test_a_function_with_an_extractor(judge: LLMJudge) -> None:
    def extract(inputs: Any, outputs: Any, reference_outputs: Any) -> dict[str, Any]:
        return {"references": outputs["found"].split("; ")}

    evaluator = grouse_evaluator("faithfulness", judge=judge, extract=extract)
    outputs = {"answer": ANSWERED, "found": "; ".join(REFERENCES)}
    row = evaluator(inputs=QUESTION, outputs=outputs, reference_outputs=EXPECTED)
    assert isinstance(row, dict)
    assert row["score"] == 1


def test_citations_are_a_setting_of_every_evaluator() -> None:
    values = {"inputs": QUESTION, "outputs": "The bridge is 300 m long.", "context": REFERENCES}
    strict = grouse_evaluator("faithfulness", judge="lexical")(**values)
    lenient = grouse_evaluator("faithfulness", judge="lexical", citations="ignored")(**values)
    assert isinstance(strict, dict)
    assert isinstance(lenient, dict)
    assert (strict["score"], lenient["score"]) == (0, 1)
    with pytest.raises(ConfigurationError, match="citations must be one of required, ignored"):
        GrouseRunEvaluator(judge="lexical", citations="none")  # type: ignore[arg-type]  # tested
    with pytest.raises(ConfigurationError, match="takes no further settings"):
        agrouse_evaluator(judge=LexicalJudge(), citations="ignored")


def test_wrong_settings_are_told_at_once_and_a_wrong_judge_at_the_first_run() -> None:
    with pytest.raises(ConfigurationError, match="Unknown metric 'faithfullness'"):
        grouse_evaluator("faithfullness")
    evaluator = grouse_evaluator("faithfulness", judge=7)
    with pytest.raises(ConfigurationError, match="a model's name or None, not int"):
        evaluator(inputs=QUESTION, outputs=ANSWERED, context=REFERENCES)


def test_the_judge_is_asked_inside_a_running_loop_too(judge: LLMJudge) -> None:
    async def main() -> Any:
        return grouse_evaluator("completeness", judge=judge)(
            inputs=QUESTION, outputs=ANSWERED, context=REFERENCES
        )

    assert asyncio.run(main())["score"] == 4


def test_a_closed_judge_that_was_named_is_built_anew(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grouse_adapters import resolve_judge

    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    evaluator = grouse_evaluator("completeness", judge="another-model")
    values = {"inputs": QUESTION, "outputs": ANSWERED, "context": REFERENCES}
    evaluator(**values)
    resolve_judge("another-model").close()
    row = evaluator(**values)
    assert isinstance(row, dict)
    assert row["score"] == 4
    assert server.calls == 2


def test_a_finished_judge_is_used_as_it_is(server: ScriptedServer) -> None:
    with judge_at(server) as judge:
        (results,) = run(answering(ANSWERED), [example()], GrouseRunEvaluator(judge=judge))
        assert scores(results) == SCORES[ANSWERED]
        assert not judge.closed
