"""The evaluators in LlamaIndex's BatchEvalRunner, judged over HTTP, and the means of a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
from index_engines import (
    ANSWERED,
    EXPECTED,
    QUESTION,
    REFERENCES,
    REFUSED,
    SCRIPT,
    bridge_engine,
    judge_at,
)
from llama_index.core.base.response.schema import Response
from llama_index.core.evaluation import BatchEvalRunner, EvaluationResult

from grouse_adapters import (
    METRICS,
    LLMJudge,
)
from grouse_adapters.llama_index import (
    GrouseEvaluationResult,
    all_evaluators,
    summarize_results,
)
from grouse_adapters.testing import (
    Garbage,
    HttpError,
    ScriptedServer,
    When,
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


def test_a_batch_of_strings(server: ScriptedServer, judge: LLMJudge) -> None:
    runner = BatchEvalRunner(all_evaluators(judge), workers=6)
    results = runner.evaluate_response_strs(
        queries=[QUESTION, QUESTION],
        response_strs=[ANSWERED, REFUSED],
        contexts_list=[REFERENCES, REFERENCES],
        reference=cast(Any, [EXPECTED, EXPECTED]),
    )
    for row, answer in enumerate((ANSWERED, REFUSED)):
        assert [results[key][row].score for key in KEYS] == SCORES[answer]
    assert server.calls <= 8


def test_a_batch_where_each_evaluator_has_its_own_reference(judge: LLMJudge) -> None:
    evaluators = all_evaluators(judge, metrics=["positive_acceptance", "negative_rejection"])
    results = BatchEvalRunner(evaluators).evaluate_response_strs(
        queries=[QUESTION],
        response_strs=[REFUSED],
        contexts_list=[REFERENCES],
        grouse_positive_acceptance={"reference": [EXPECTED]},
    )
    assert results["grouse_positive_acceptance"][0].score == 1
    assert results["grouse_negative_rejection"][0].invalid_result


def test_a_batch_of_responses_and_one_of_queries(server: ScriptedServer, judge: LLMJudge) -> None:
    engine = bridge_engine()
    runner = BatchEvalRunner(all_evaluators(judge), workers=3)
    given = runner.evaluate_responses(
        [QUESTION], [cast(Response, engine.query(QUESTION))], reference=cast(Any, [EXPECTED])
    )
    assert [given[key][0].score for key in KEYS] == SCORES[ANSWERED]
    asked = runner.evaluate_queries(engine, [QUESTION], reference=cast(Any, [EXPECTED]))
    assert [asked[key][0].score for key in KEYS] == SCORES[ANSWERED]
    assert server.calls <= 4


def test_a_batch_of_queries_that_stream(judge: LLMJudge) -> None:
    runner = BatchEvalRunner(all_evaluators(judge), workers=6)
    engine = bridge_engine(streaming=True)
    asked = asyncio.run(
        runner.aevaluate_queries(engine, [QUESTION], reference=cast(Any, [EXPECTED]))
    )
    assert [asked[key][0].score for key in KEYS] == SCORES[ANSWERED]


def test_fifty_answers_cost_at_most_four_calls_each(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    queries = [f"{QUESTION} ({number})" for number in range(50)]
    results = BatchEvalRunner(all_evaluators(judge), workers=8).evaluate_response_strs(
        queries=queries,
        response_strs=[f"{ANSWERED} ({number})" for number in range(50)],
        contexts_list=[REFERENCES] * 50,
        reference=cast(Any, [EXPECTED] * 50),
    )
    assert server.calls <= 200
    summary = summarize_results(results)
    assert summary["grouse_completeness"].mean == 3
    assert summary["grouse_completeness"].graded == 50
    assert summary["grouse_usefulness"].not_applicable == 50


BROKEN = [
    (When(REFUSED, Garbage("I would rather not say.")), "unreadable"),
    (When(REFUSED, HttpError.server_error()), "server_error"),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN, ids=["unreadable", "server error"])
def test_a_failing_judge_leaves_the_other_rows_intact(fault: When, kind: str) -> None:
    with ScriptedServer(SCRIPT, faults=fault) as server, judge_at(server) as judge:
        results = BatchEvalRunner(all_evaluators(judge), workers=6).evaluate_response_strs(
            queries=[QUESTION] * 3,
            response_strs=[ANSWERED, REFUSED, f"{ANSWERED} Yes."],
            contexts_list=[REFERENCES] * 3,
            reference=cast(Any, [EXPECTED] * 3),
        )
        attempts = max(request.attempt for request in server.requests if request.prompt)
    assert attempts == 1  # LlamaIndex would repeat what raises
    assert [results[key][0].score for key in KEYS] == SCORES[ANSWERED]
    failed = results["grouse_answer_relevancy"][1]
    assert isinstance(failed, GrouseEvaluationResult)
    assert (failed.score, failed.passing, failed.invalid_result) == (None, None, True)
    assert failed.grade.kind == "failed"
    assert failed.grade.error_kind == kind
    assert failed.invalid_reason is not None
    assert failed.invalid_reason.startswith("judge failed: ")
    assert failed.feedback == failed.invalid_reason
    assert results["grouse_faithfulness"][2].score == 1
    summary = summarize_results(results)["grouse_answer_relevancy"]
    assert (summary.mean, summary.graded, summary.failed) == (5, 2, 1)


def test_means_leave_out_what_does_not_apply(judge: LLMJudge) -> None:
    pandas = pytest.importorskip("pandas", reason="LlamaIndex's own means need it")
    from llama_index.core.evaluation.eval_utils import get_results_df

    results = BatchEvalRunner(all_evaluators(judge)).evaluate_response_strs(
        queries=[QUESTION] * 2,
        response_strs=[ANSWERED, REFUSED],
        contexts_list=[REFERENCES] * 2,
    )
    theirs = get_results_df([results], ["run"], ["grouse_answer_relevancy"])
    assert isinstance(theirs, pandas.DataFrame)
    assert theirs["grouse_answer_relevancy"][0] == 2.5  # null counted as 0
    ours = summarize_results(results)
    assert ours["grouse_answer_relevancy"].mean == 5
    assert ours["grouse_answer_relevancy"].not_applicable == 1
    assert ours["grouse_positive_acceptance"].mean is None
    assert ours["grouse_positive_acceptance"].not_applicable == 2


def test_results_of_other_evaluators_are_summarized_too() -> None:
    rows = [
        EvaluationResult(score=0.5),
        EvaluationResult(score=1.0),
        EvaluationResult(invalid_result=True, invalid_reason="Unreadable"),
        EvaluationResult(score=1.0, invalid_result=True),
    ]
    summary = summarize_results({"correctness": rows, "none": []})
    assert (summary["correctness"].mean, summary["correctness"].failed) == (0.75, 2)
    assert (summary["none"].mean, summary["none"].graded) == (None, 0)
