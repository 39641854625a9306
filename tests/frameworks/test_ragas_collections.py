"""The metrics of RAGAS' present interface, through every way that RAGAS calls them."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases_ragas import (
    ANSWERED,
    ANSWERS,
    CALLS,
    EXPECTED,
    KEYS,
    QUESTION,
    REFERENCES,
    REFUSED,
    UNREADABLE,
    VALUES,
    judge_of,
    many_rows,
    row,
    serving,
)
from ragas import Dataset, experiment
from ragas.metrics.result import MetricResult

from grouse_adapters import ConfigurationError, Failed, Graded, LLMJudge, NotApplicable
from grouse_adapters.core.errors import GrouseJudgeError
from grouse_adapters.ragas import (
    GrouseAnswerRelevancy,
    GrouseCompleteness,
    GrouseFaithfulness,
    GrouseMetric,
    GrouseNegativeRejection,
    GrousePositiveAcceptance,
    GrouseResult,
    GrouseUsefulness,
    all_metrics,
)
from grouse_adapters.testing import HttpError, ScriptedServer

CLASSES = [
    GrouseAnswerRelevancy,
    GrouseCompleteness,
    GrouseUsefulness,
    GrouseFaithfulness,
    GrousePositiveAcceptance,
    GrouseNegativeRejection,
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    with judge_of(server) as running:
        yield running


async def all_of(metrics: list[GrouseMetric], **arguments: Any) -> list[GrouseResult]:
    return list(await asyncio.gather(*(metric.ascore(**arguments) for metric in metrics)))


@pytest.mark.parametrize("answer", ANSWERS)
def test_ascore_gives_values_reasons_and_at_most_four_calls(
    judge: LLMJudge, server: ScriptedServer, answer: str
) -> None:
    metrics = all_metrics(judge)
    results = asyncio.run(all_of(metrics, **row(answer)))
    assert [metric.name for metric in metrics] == KEYS
    assert [type(metric) for metric in metrics] == CLASSES
    assert [result.value for result in results] == VALUES[answer]
    assert all(isinstance(result, MetricResult) for result in results)
    assert all(
        result.reason.startswith("not applicable: ") == (result.value is None)
        for result in results
        if result.reason is not None
    )
    assert results[1].reason == ("not applicable: As told." if answer == REFUSED else "As told.")
    assert server.calls == CALLS[answer]


def test_score_works_without_and_inside_a_running_loop(
    judge: LLMJudge, server: ScriptedServer
) -> None:
    metrics = all_metrics(judge)

    async def inside() -> list[float | None]:
        return [metric.score(**row(REFUSED)).value for metric in metrics]

    assert [metric.score(**row(ANSWERED)).value for metric in metrics] == VALUES[ANSWERED]
    assert asyncio.run(inside()) == VALUES[REFUSED]
    assert server.calls == CALLS[ANSWERED] + CALLS[REFUSED]


def test_a_loop_per_call_shares_the_calls(judge: LLMJudge, server: ScriptedServer) -> None:
    values = [asyncio.run(metric.ascore(**row(REFUSED))).value for metric in all_metrics(judge)]
    assert values == VALUES[REFUSED]
    assert server.calls == CALLS[REFUSED]


def test_arguments_may_be_given_by_position(judge: LLMJudge) -> None:
    metric = GrouseCompleteness(judge)
    assert metric.score(QUESTION, ANSWERED, REFERENCES, EXPECTED).value == 4


@pytest.mark.parametrize("inside", [False, True], ids=["plain", "running loop"])
def test_batch_score_keeps_the_order_and_the_other_rows(judge: LLMJudge, inside: bool) -> None:
    rows = [row(answer) for answer in (REFUSED, UNREADABLE, ANSWERED)]
    rows.insert(1, {"user_input": QUESTION, "retrieved_contexts": REFERENCES})
    rows.insert(2, row(ANSWERED, retrieved_contexts="['a list that a csv file made a text of']"))
    metric = GrouseFaithfulness(judge)

    async def wrapped() -> list[GrouseResult]:
        return metric.batch_score(rows)

    results = asyncio.run(wrapped()) if inside else metric.batch_score(rows)
    assert [result.value for result in results] == [0, None, None, None, 1]
    assert [result.grade.kind for result in results] == [
        "graded",
        "failed",
        "failed",
        "failed",
        "graded",
    ]
    assert results[1].reason == (
        "judge failed: response is missing: add it, because grouse_faithfulness needs it."
    )
    assert results[2].reason is not None
    assert "'retrieved_contexts' must be a list of strings, not text" in results[2].reason
    assert results[3].reason is not None
    assert results[3].reason.startswith("judge failed: answer relevancy failed: ")


def test_abatch_score_is_bounded() -> None:
    rows, script = many_rows(30)
    with ScriptedServer(script, latency=0.02, api_key="sk-secret-key") as server:
        judge = judge_of(server, concurrency=3)
        metric = GrouseCompleteness(judge)
        results = asyncio.run(metric.abatch_score(rows))
        judge.close()
        assert [result.value for result in results] == [1 + number % 4 for number in range(30)]
        assert server.max_in_flight == 3
        assert server.calls == 30


def test_a_batch_without_rows_is_empty(judge: LLMJudge, server: ScriptedServer) -> None:
    assert GrouseFaithfulness(judge).batch_score([]) == []
    assert asyncio.run(GrouseFaithfulness(judge).abatch_score([])) == []
    assert server.requests == ()


@pytest.mark.parametrize("entry", ["ascore", "score", "abatch_score", "batch_score", "experiment"])
def test_six_metrics_on_fifty_samples_make_at_most_200_calls(entry: str, tmp_path: Path) -> None:
    rows, script = many_rows(50)
    with ScriptedServer(script, api_key="sk-secret-key") as server:
        judge = judge_of(server)
        metrics = all_metrics(judge)

        async def each_metric_at_once() -> list[list[GrouseResult]]:
            if entry == "abatch_score":
                return await asyncio.gather(*(metric.abatch_score(rows) for metric in metrics))
            return [
                list(await asyncio.gather(*(metric.ascore(**given) for given in rows)))
                for metric in metrics
            ]

        if entry == "score":
            results = [[metric.score(**given) for given in rows] for metric in metrics]
        elif entry == "batch_score":
            results = [metric.batch_score(rows) for metric in metrics]
        elif entry == "experiment":
            kept = {line["response"]: line for line in run_experiment(metrics, rows, tmp_path)}
            found = [kept[given["response"]]["grouse_faithfulness"] for given in rows]
            assert found == [n % 2 for n in range(50)]
            results = []
        else:
            results = asyncio.run(each_metric_at_once())
        judge.close()
        refusals = 10
        assert server.calls == 3 * 50 + refusals
        if results:
            assert [result.value for result in results[3]] == [n % 2 for n in range(50)]
            assert sum(result.value is None for result in results[0]) == refusals


def run_experiment(
    metrics: list[GrouseMetric], rows: list[dict[str, Any]], folder: Path
) -> list[dict[str, Any]]:
    """What ``@experiment`` wrote to disk, line by line."""
    dataset: Dataset[Any] = Dataset(
        name="bridges", backend="local/jsonl", root_dir=str(folder), data=rows
    )

    @experiment()
    async def judged(given: dict[str, Any]) -> dict[str, Any]:
        results = await all_of(metrics, **given)
        return {
            **given,
            **{m.name: result.value for m, result in zip(metrics, results, strict=True)},
            "reasons": {m.name: result.reason for m, result in zip(metrics, results, strict=True)},
        }

    asyncio.run(judged.arun(dataset, name="first"))
    (file,) = (folder / "experiments").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_an_experiment_keeps_columns_values_and_reasons(
    judge: LLMJudge, server: ScriptedServer, tmp_path: Path
) -> None:
    answers = [*ANSWERS, UNREADABLE]
    kept = run_experiment(all_metrics(judge), [row(answer) for answer in answers], tmp_path)
    by_answer = {line["response"]: line for line in kept}
    assert set(by_answer) == set(answers)
    for answer in ANSWERS:
        assert [by_answer[answer][key] for key in KEYS] == VALUES[answer]
        assert by_answer[answer]["retrieved_contexts"] == REFERENCES
    reasons = by_answer[UNREADABLE]["reasons"]
    assert all(reason.startswith("judge failed: ") for reason in reasons.values())
    assert by_answer[REFUSED]["reasons"]["grouse_usefulness"] == "As told."


def test_a_result_tells_the_three_outcomes_apart_and_carries_all_that_is_known(
    judge: LLMJudge,
) -> None:
    metric = GrouseFaithfulness(judge)
    graded, none, failed = (
        metric.score(**row(answer)) for answer in (ANSWERED, ANSWERS[2], UNREADABLE)
    )
    assert isinstance(graded.grade, Graded)
    assert isinstance(none.grade, NotApplicable)
    assert isinstance(failed.grade, Failed)
    assert graded.traces is not None
    assert graded.traces["input"] == row(ANSWERED)
    output = graded.traces["output"]
    assert output["judge"] == "m"
    assert output["prompt_fingerprint"] == judge.prompt_fingerprint
    assert output["llm_calls"] == 2
    assert output["cost"] > 0
    assert output["sentences"][0]["is_supported"] is True
    json.dumps(graded.traces)


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED, UNREADABLE])
def test_a_result_can_be_copied_and_pickled(judge: LLMJudge, answer: str) -> None:
    result = GrouseCompleteness(judge).score(**row(answer))
    for twin in (
        copy.copy(result),
        copy.deepcopy(result),
        pickle.loads(pickle.dumps(result)),
    ):
        assert (twin.value, twin.reason, twin.grade) == (result.value, result.reason, result.grade)
        assert twin.traces == result.traces


def test_failures_raise_where_that_was_asked_for(judge: LLMJudge) -> None:
    metric = GrouseAnswerRelevancy(judge, raise_on_failure=True)
    with pytest.raises(GrouseJudgeError, match="judge failed: "):
        asyncio.run(metric.ascore(**row(UNREADABLE)))
    with pytest.raises(GrouseJudgeError, match="judge failed: "):
        metric.batch_score([row(ANSWERED), row(UNREADABLE)])
    assert metric.score(**row(ANSWERED)).value == 5


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("column", ["user_input", "response", "retrieved_contexts"])
def test_a_metric_names_the_column_that_it_cannot_do_without(
    judge: LLMJudge, server: ScriptedServer, kind: type[GrouseMetric], column: str
) -> None:
    given = row(ANSWERED)
    del given[column]
    if column == "retrieved_contexts" and kind in (GrouseAnswerRelevancy, GrouseUsefulness):
        assert kind(judge).score(**given).grade.kind in ("graded", "not_applicable")
        return
    for score in (kind(judge).score, lambda **all_: asyncio.run(kind(judge).ascore(**all_))):
        with pytest.raises(ValueError, match=f"^{column} is missing: "):
            score(**given)
    assert server.requests == ()


def test_references_may_be_empty_and_the_expected_answer_absent(judge: LLMJudge) -> None:
    derived = GrousePositiveAcceptance(judge)
    for absent in (None, "", "  ", float("nan")):
        result = derived.score(**row(REFUSED, retrieved_contexts=[], reference=absent))
        assert result.value is None
        assert result.reason is not None
        assert "has no expected answer" in result.reason
    assert GrouseCompleteness(judge).score(**row(ANSWERED, retrieved_contexts=None)).value == 4


def test_values_on_0_to_1(judge: LLMJudge) -> None:
    metrics = all_metrics(judge, unit_scale=True, metrics=["completeness", "faithfulness"])
    assert [metric.score(**row(ANSWERED)).value for metric in metrics] == [0.75, 1.0]
    assert [metric.allowed_values for metric in metrics] == [(0.0, 1.0), (0.0, 1.0)]
    assert GrouseCompleteness(judge).allowed_values == (1.0, 5.0)


def test_metrics_are_chosen_by_name() -> None:
    chosen = all_metrics("lexical", metrics=["grouse_faithfulness", "usefulness"])
    assert [type(metric) for metric in chosen] == [GrouseUsefulness, GrouseFaithfulness]
    with pytest.raises(ConfigurationError, match="Unknown metric 'faith'"):
        all_metrics(metrics=["faith"])


def test_a_judge_that_cannot_be_used_stops_the_batch() -> None:
    refuses = HttpError(401, "Incorrect API key provided.")
    with ScriptedServer(faults=lambda _: refuses) as server, judge_of(server) as judge:
        with pytest.raises(ConfigurationError, match="refused the key"):
            GrouseFaithfulness(judge).batch_score([row()])
        with pytest.raises(ConfigurationError, match="refused the key"):
            asyncio.run(GrouseFaithfulness(judge).abatch_score([row()]))


def test_making_a_metric_needs_no_judge_yet() -> None:
    metric = GrouseFaithfulness("gpt-4o")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        metric.score(**row())


def test_citations_are_a_setting_of_every_metric() -> None:
    uncited = row("The bridge is 300 m long.")
    required = GrouseFaithfulness("lexical").score(**uncited)
    ignored = GrouseFaithfulness("lexical", citations="ignored").score(**uncited)
    assert (required.value, ignored.value) == (0, 1)


def test_a_copied_metric_shares_its_calls_with_the_original(
    judge: LLMJudge, server: ScriptedServer
) -> None:
    metric = GrouseCompleteness(judge)
    twin = copy.deepcopy(metric)
    assert metric.score(**row()).value == twin.score(**row()).value == 4
    assert server.calls == 1


def test_a_metric_with_a_named_judge_can_be_pickled() -> None:
    metric = GrouseFaithfulness("lexical", citations="ignored", unit_scale=True)
    twin = pickle.loads(pickle.dumps(metric))
    assert twin.asking == metric.asking
    assert twin.score(**row("The bridge is 300 m long.")).value == 1.0
