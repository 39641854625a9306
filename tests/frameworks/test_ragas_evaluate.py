"""The metrics for ``ragas.evaluate`` and ``ragas.aevaluate``."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import math
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from cases_ragas import (
    ANSWERED,
    ANSWERS,
    CALLS,
    KEY,
    KEYS,
    PRICE,
    REFERENCES,
    REFUSED,
    REFUSED_WRONGLY,
    TOLD,
    UNREADABLE,
    VALUES,
    dataset,
    judge_of,
    many_rows,
    model_of,
    row,
    serving,
)
from datasets import Dataset  # type: ignore[import-untyped]  # has no types
from numpy import array, float64, isnan
from ragas import EvaluationDataset, RunConfig, aevaluate, evaluate
from ragas.cost import (
    get_token_usage_for_anthropic,
    get_token_usage_for_azure_ai,
    get_token_usage_for_bedrock,
    get_token_usage_for_openai,
)
from ragas.dataset_schema import EvaluationResult, SingleTurnSample

from grouse_adapters import ConfigurationError, LLMJudge
from grouse_adapters.core.errors import GrouseJudgeError
from grouse_adapters.ragas import GrouseEvaluateMetric, GrouseScore, all_metrics, evaluate_metrics
from grouse_adapters.testing import Hang, HttpError, Script, ScriptedServer, When

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

WAYS = ["evaluate", "evaluate in a running loop", "aevaluate"]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_of(server) as running:
        yield running


def run(way: str, rows: Any, metrics: Any, **settings: Any) -> EvaluationResult:
    async def inside() -> Any:
        if way == "aevaluate":
            return await aevaluate(rows, metrics, show_progress=False, **settings)
        return evaluate(rows, metrics, show_progress=False, **settings)

    if way == "evaluate":
        result = evaluate(rows, metrics, show_progress=False, **settings)
    else:
        result = asyncio.run(inside())
    assert isinstance(result, EvaluationResult)
    return result


def scores_of(result: EvaluationResult, key: str) -> list[GrouseScore]:
    scores = [score for score in result[key] if isinstance(score, GrouseScore)]
    assert len(scores) == len(result.scores)
    return scores


def values(scores: dict[str, float]) -> list[float | None]:
    return [None if math.isnan(scores[key]) else float(scores[key]) for key in KEYS]


@pytest.mark.parametrize("way", WAYS)
def test_scores_means_and_calls(judge: LLMJudge, server: ScriptedServer, way: str) -> None:
    result = run(way, dataset(), evaluate_metrics(judge))
    assert [values(scores) for scores in result.scores] == [VALUES[a] for a in ANSWERS]
    assert server.calls == sum(CALLS.values())
    means = dict(eval(repr(result), {"nan": math.nan}))
    assert means == {
        "grouse_answer_relevancy": 5.0,
        "grouse_completeness": 2.5,
        "grouse_usefulness": 1.0,
        "grouse_faithfulness": 0.5,
        "grouse_positive_acceptance": 0.5,
        "grouse_negative_rejection": 1.0,
    }


@pytest.mark.parametrize("way", WAYS)
def test_six_metrics_on_fifty_samples_make_at_most_200_calls(way: str) -> None:
    rows, script = many_rows(50)
    with ScriptedServer(script, latency=0.005, api_key=KEY) as server, judge_of(server) as judge:
        result = run(way, EvaluationDataset.from_list(rows), evaluate_metrics(judge))
        assert result["grouse_faithfulness"] == [n % 2 for n in range(50)]
        assert server.calls == 3 * 50 + 10
        assert server.max_in_flight > 1


@pytest.mark.parametrize("way", WAYS)
def test_a_failing_row_leaves_the_others_alone_and_says_why(
    judge: LLMJudge, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="grouse_adapters.ragas"):
        result = run(way, dataset(REFUSED, UNREADABLE, ANSWERED), evaluate_metrics(judge))
    assert values(result.scores[0]) == VALUES[REFUSED]
    assert values(result.scores[1]) == [None] * 6
    assert values(result.scores[2]) == VALUES[ANSWERED]
    for key in KEYS:
        score = scores_of(result, key)[1]
        assert score.kind == "failed"
        assert score.reason.startswith("judge failed: ")
        traced = result.traces[1][key]["grouse_judge"]["output"]
        assert traced["kind"] == "failed"
        assert traced["explanation"] == score.reason
    # Once per call that failed, not once per metric that depends on it.
    assert sorted(record.getMessage().split(":")[0] for record in caplog.records) == KEYS[:2]


@pytest.mark.parametrize("way", WAYS)
def test_failures_raise_under_raise_exceptions_and_only_there(judge: LLMJudge, way: str) -> None:
    for answers, fails in ((ANSWERS, False), ([ANSWERED, UNREADABLE], True)):
        rows, metrics = dataset(*answers), evaluate_metrics(judge)
        if fails:
            with pytest.raises(GrouseJudgeError, match="judge failed: "):
                run(way, rows, metrics, raise_exceptions=True)
        else:
            assert len(run(way, rows, metrics, raise_exceptions=True).scores) == 3


def test_scores_are_floats_that_carry_their_grade(judge: LLMJudge) -> None:
    result = run("evaluate", dataset(REFUSED), evaluate_metrics(judge))
    relevancy, usefulness = (result.scores[0][key] for key in (KEYS[0], KEYS[2]))
    assert isinstance(relevancy, GrouseScore)
    assert (relevancy.kind, relevancy.reason) == ("not_applicable", "not applicable: As told.")
    assert isinstance(usefulness, GrouseScore)
    assert (usefulness, usefulness.kind, usefulness.reason) == (1.0, "graded", "As told.")
    for score in (relevancy, usefulness):
        for twin in (
            copy.copy(score),
            copy.deepcopy(score),
            pickle.loads(pickle.dumps(score)),
        ):
            assert isinstance(twin, GrouseScore)
            assert twin.grade == score.grade
            assert repr(twin) == repr(score)
    assert json.dumps(usefulness) == "1.0"
    assert isnan(array([relevancy, usefulness])).tolist() == [True, False]


def test_the_data_frame_has_numbers_and_the_columns_survive(judge: LLMJudge) -> None:
    frame = run("evaluate", dataset(), evaluate_metrics(judge)).to_pandas()
    assert all(frame[key].dtype == float64 for key in KEYS)
    assert frame["grouse_completeness"].mean() == 2.5
    assert list(frame["response"]) == ANSWERS
    assert list(frame["retrieved_contexts"][0]) == REFERENCES
    assert Dataset.from_pandas(frame[KEYS]).num_rows == 3


@pytest.mark.parametrize("names", ["present", "old"])
def test_datasets_of_hugging_face(judge: LLMJudge, server: ScriptedServer, names: str) -> None:
    rows = [row(answer, reference_contexts=["unused"]) for answer in ANSWERS]
    given = Dataset.from_list(rows)
    if names == "old":
        old = {"user_input": "question", "retrieved_contexts": "contexts", "response": "answer"}
        given = given.rename_columns({**old, "reference": "ground_truth"})
    result = run("evaluate", given, evaluate_metrics(judge))
    assert [values(scores) for scores in result.scores] == [VALUES[a] for a in ANSWERS]
    assert result.to_pandas()["reference_contexts"][0] == ["unused"]
    assert server.calls == sum(CALLS.values())


def test_columns_of_other_names_are_mapped_by_ragas(judge: LLMJudge) -> None:
    given = Dataset.from_list([row(ANSWERED)]).rename_column("response", "our_answer")
    metrics = evaluate_metrics(judge)
    result = run("evaluate", given, metrics, column_map={"response": "our_answer"})
    assert values(result.scores[0]) == VALUES[ANSWERED]


@pytest.mark.parametrize("missing", ["user_input", "response", "retrieved_contexts"])
def test_ragas_names_a_missing_column(
    judge: LLMJudge, server: ScriptedServer, missing: str
) -> None:
    given = row(ANSWERED)
    del given[missing]
    rows = EvaluationDataset.from_list([given])
    with pytest.raises(ValueError, match=rf"grouse_\w+\].*additional columns \['{missing}'\]"):
        run("evaluate", rows, evaluate_metrics(judge))
    assert server.requests == ()


def test_relevancy_and_usefulness_do_without_references(
    judge: LLMJudge, server: ScriptedServer
) -> None:
    given = row(REFUSED)
    del given["retrieved_contexts"], given["reference"]
    metrics = evaluate_metrics(judge, metrics=["answer_relevancy", "usefulness"])
    result = run("evaluate", EvaluationDataset.from_list([given]), metrics)
    assert result["grouse_usefulness"] == [1.0]
    assert server.calls == 2


def test_without_expected_answers_the_derived_metrics_do_not_apply(judge: LLMJudge) -> None:
    given = row(REFUSED)
    del given["reference"]
    result = run("evaluate", EvaluationDataset.from_list([given]), evaluate_metrics(judge))
    for key in KEYS[4:]:
        assert "has no expected answer" in scores_of(result, key)[0].reason
    assert result["grouse_usefulness"] == [1.0]


def test_a_row_that_lacks_a_value_fails_alone(judge: LLMJudge) -> None:
    rows = EvaluationDataset.from_list([row(ANSWERED), row(ANSWERED, response=None)])
    result = run("evaluate", rows, evaluate_metrics(judge, metrics=["completeness"]))
    good, bad = scores_of(result, "grouse_completeness")
    assert float(good) == 4
    assert bad.reason == (
        "judge failed: response is missing: add it, because grouse_completeness needs it."
    )


@pytest.mark.parametrize(
    "parser",
    [
        get_token_usage_for_openai,
        get_token_usage_for_azure_ai,
        get_token_usage_for_anthropic,
        get_token_usage_for_bedrock,
    ],
)
def test_tokens_reach_the_callbacks_of_ragas(
    judge: LLMJudge, server: ScriptedServer, parser: Any
) -> None:
    result = run("evaluate", dataset(), evaluate_metrics(judge), token_usage_parser=parser)
    total = result.total_tokens()
    assert not isinstance(total, list)
    traced = [
        traces[key]["grouse_judge"]["output"] for traces in result.traces or () for key in KEYS
    ]
    assert sum(told["llm_calls"] for told in traced) == server.calls
    assert total.input_tokens == sum(told["usage"]["input_tokens"] for told in traced) > 0
    assert total.output_tokens == sum(told["usage"]["output_tokens"] for told in traced) > 0
    assert total.model == "m"
    assert result.total_cost(PRICE.input / 1e6, PRICE.output / 1e6) == pytest.approx(
        sum(told["cost"] for told in traced)
    )


def test_a_run_without_calls_has_no_tokens_instead_of_an_error() -> None:
    metrics = evaluate_metrics("lexical")
    result = run("evaluate", dataset(), metrics, token_usage_parser=get_token_usage_for_openai)
    total = result.total_tokens()
    assert not isinstance(total, list)
    assert (total.input_tokens, total.output_tokens) == (0, 0)


def test_traces_show_what_was_asked_and_said(judge: LLMJudge) -> None:
    result = run("evaluate", dataset(ANSWERED), evaluate_metrics(judge))
    traced = result.traces[0]["grouse_faithfulness"]["grouse_judge"]
    assert traced["input"] == row(ANSWERED)
    assert traced["output"]["justification"] == "As told."
    assert traced["output"]["prompt_fingerprint"] == judge.prompt_fingerprint
    assert traced["output"]["sentences"][0]["has_citation"] is True
    json.dumps(traced)


def test_the_timeout_of_the_run_is_kept_and_named() -> None:
    hangs = ScriptedServer(Script(TOLD), faults=When(REFUSED_WRONGLY, Hang()), api_key=KEY)
    with hangs as server, judge_of(server) as judge:
        metrics = evaluate_metrics(judge, metrics=["completeness"])
        config = RunConfig(timeout=1)
        result = run("evaluate", dataset(), metrics, run_config=config)
        scores = scores_of(result, "grouse_completeness")
        assert (float(scores[0]), scores[1].kind) == (4, "not_applicable")
        assert scores[2].reason == (
            "judge failed: no judgement within 1 s, the timeout of the run."
        )
        with pytest.raises(GrouseJudgeError, match="within 1 s"):
            run("evaluate", dataset(), metrics, run_config=config, raise_exceptions=True)


@pytest.mark.parametrize(("attempts", "requests"), [(1, 1), (3, 3)])
def test_retries_of_the_run_reach_a_judge_that_is_no_finished_one(
    attempts: int, requests: int
) -> None:
    broken = HttpError.server_error(retry_after=0.01)
    with ScriptedServer(faults=lambda _: broken, api_key=KEY) as server:
        metrics = evaluate_metrics(model_of(server), metrics=["completeness"])
        config = RunConfig(max_retries=attempts)
        result = run("evaluate", dataset(ANSWERED), metrics, run_config=config)
        (score,) = scores_of(result, "grouse_completeness")
        assert score.reason.startswith("judge failed: server error 500")
        assert len(server.requests) == requests


def test_a_finished_judge_keeps_its_own_retries(judge: LLMJudge, server: ScriptedServer) -> None:
    metrics = evaluate_metrics(judge)
    run("evaluate", dataset(ANSWERED), metrics, run_config=RunConfig(max_retries=7))
    assert all(metric.asking.judge() is judge for metric in metrics)


def test_a_judge_that_cannot_be_built_stops_the_run_at_once() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        run("evaluate", dataset(), evaluate_metrics("gpt-4o"))


def test_a_judge_that_the_server_refuses_is_told_in_every_score() -> None:
    refuses = HttpError(401, "Incorrect API key provided.")
    with ScriptedServer(faults=lambda _: refuses) as server, judge_of(server) as judge:
        metrics = evaluate_metrics(judge, metrics=["completeness"])
        result = run("evaluate", dataset(), metrics)
        scores = scores_of(result, "grouse_completeness")
        assert all("refused the key" in score.reason for score in scores)
        with pytest.raises(ConfigurationError, match="refused the key"):
            run("evaluate", dataset(), metrics, raise_exceptions=True)


def test_a_single_sample_is_scored_without_evaluate(judge: LLMJudge) -> None:
    metric = GrouseEvaluateMetric("completeness", judge)
    sample = SingleTurnSample(**row(ANSWERED))
    assert metric.single_turn_score(sample) == 4
    assert asyncio.run(metric.single_turn_ascore(sample)) == 4
    failed = metric.single_turn_score(SingleTurnSample(**row(UNREADABLE)))
    assert isinstance(failed, GrouseScore)
    assert failed.kind == "failed"


def test_values_on_0_to_1(judge: LLMJudge) -> None:
    result = run("evaluate", dataset(ANSWERED), evaluate_metrics(judge, unit_scale=True))
    assert result["grouse_completeness"] == [0.75]
    assert result["grouse_answer_relevancy"] == [1.0]


def test_beside_a_metric_of_ragas(judge: LLMJudge) -> None:
    from ragas.metrics import NonLLMStringSimilarity

    pytest.importorskip("rapidfuzz")
    both = [*evaluate_metrics(judge, metrics=["completeness"]), NonLLMStringSimilarity()]
    frame = run("evaluate", dataset(), both).to_pandas()
    assert {"grouse_completeness", "non_llm_string_similarity"} <= set(frame.columns)


def test_the_two_families_share_their_calls(judge: LLMJudge, server: ScriptedServer) -> None:
    run("evaluate", dataset(REFUSED), evaluate_metrics(judge))
    for metric in all_metrics(judge):
        metric.score(**row(REFUSED))
    assert server.calls == CALLS[REFUSED]


def test_the_families_are_not_mixed_up_silently(judge: LLMJudge, server: ScriptedServer) -> None:
    with pytest.raises(TypeError, match="initialised metric objects"):
        run("evaluate", dataset(), all_metrics(judge))
    assert server.requests == ()


def test_a_copied_metric_asks_the_same_judge(judge: LLMJudge, server: ScriptedServer) -> None:
    run("evaluate", dataset(ANSWERED), copy.deepcopy(evaluate_metrics(judge)))
    run("evaluate", dataset(ANSWERED), evaluate_metrics(judge))
    assert server.calls == CALLS[ANSWERED]


def test_citations_reach_the_judge() -> None:
    rows = dataset("The bridge is 300 m long.")
    for citations, value in (("required", 0.0), ("ignored", 1.0)):
        metrics = evaluate_metrics("lexical", metrics=["faithfulness"], citations=citations)  # type: ignore[arg-type]  # both are
        assert run("evaluate", rows, metrics)["grouse_faithfulness"] == [value]
