"""DeepEval's own entry points with the six metrics, over real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases_for_deepeval import (
    ANSWERED,
    CALLS,
    PRICE,
    REFERENCES,
    REFUSED,
    REFUSED_WRONGLY,
    SCORES,
    TOLD,
    UNREADABLE,
    BrokenJudge,
    case,
    elsewhere,
    judge,
    judge_at,
    run_quietly,
    script,
    server,
)
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import assert_test, evaluate
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
from deepeval.evaluate.types import TestResult as Row
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from deepeval.tracing import observe, update_current_span

from grouse_adapters import LLMJudge, OpenAIChat
from grouse_adapters.core.errors import GrouseJudgeError
from grouse_adapters.deepeval import (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseUsefulnessMetric,
    all_metrics,
)
from grouse_adapters.testing import Garbage, Grades, Hang, Script, ScriptedServer, When

__all__ = ["elsewhere", "judge", "server"]

ANSWERS = [ANSWERED, REFUSED, REFUSED_WRONGLY]
BOTH_WAYS = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


def rows(
    cases: list[LLMTestCase], metrics: list[BaseMetric], **settings: Any
) -> dict[str, dict[str, Any]]:
    """Per answer: the metrics' rows by name, and the row's own verdict as ``success``."""
    result = evaluate(cases, metrics, **run_quietly(**settings))
    return {str(row.actual_output): by_name(row) for row in result.test_results}


def by_name(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {data.name: data for data in row.metrics_data or []}
    return {**found, "success": row.success}


def scores(row: dict[str, Any]) -> dict[str, float | None]:
    return {name: data.score for name, data in row.items() if name != "success"}


@BOTH_WAYS
def test_evaluate(server: ScriptedServer, judge: LLMJudge, run_async: bool) -> None:
    cases = [case(answer) for answer in ANSWERS]
    found = rows(cases, all_metrics(judge=judge), run_async=run_async)
    assert {answer: scores(row) for answer, row in found.items()} == SCORES
    assert server.calls == sum(CALLS.values())
    for answer, row in found.items():
        for name, score in SCORES[answer].items():
            assert row[name].success is (None if score is None else score >= 0.5)
            assert row[name].reason.startswith("not applicable: " if score is None else "grade ")
            assert row[name].error is None
            assert row[name].evaluation_model.startswith("scripted (fingerprint ")
    assert [found[answer]["success"] for answer in ANSWERS] == [True, False, False]


@BOTH_WAYS
def test_evaluate_sums_the_true_cost(
    server: ScriptedServer, judge: LLMJudge, run_async: bool
) -> None:
    cases = [case(answer) for answer in ANSWERS]
    found = rows(cases, all_metrics(judge=judge), run_async=run_async)
    data = [found[answer][name] for answer in ANSWERS for name in SCORES[answer]]
    single = judge_at(server)
    true = [single.judge(sample_of(case)) for case in cases]
    single.close()
    assert sum(d.input_tokens for d in data) == sum(j.usage.input_tokens for j in true)
    assert sum(d.output_tokens for d in data) == sum(j.usage.output_tokens for j in true)
    assert sum(d.evaluation_cost for d in data) == pytest.approx(
        sum(PRICE.cost(j.usage) for j in true)
    )


def sample_of(test_case: LLMTestCase) -> dict[str, Any]:
    return {
        "input": test_case.input,
        "references": REFERENCES,
        "expected_output": test_case.expected_output,
        "actual_output": test_case.actual_output,
    }


@BOTH_WAYS
def test_fifty_cases_make_at_most_two_hundred_calls(run_async: bool) -> None:
    answers: dict[str, Grades] = {
        f"{answer} ({n})": TOLD[answer] for n in range(17) for answer in ANSWERS
    }
    answers = dict(list(answers.items())[:50])
    with ScriptedServer(Script(answers)) as server, judge_at(server) as judge:
        found = rows([case(a) for a in answers], all_metrics(judge=judge), run_async=run_async)
        true = sum(CALLS[answer.rpartition(" (")[0]] for answer in answers)
        assert server.calls == true <= 200
    assert {a: scores(found[a]) for a in answers} == {
        a: SCORES[a.rpartition(" (")[0]] for a in answers
    }


@pytest.fixture
def stumbling() -> Iterator[LLMJudge]:
    """A judge that writes garbage about one of the answers."""
    grades = Script({**TOLD, UNREADABLE: TOLD[ANSWERED]}, justification="As told.")
    faults = When(UNREADABLE, Garbage())
    with ScriptedServer(grades, faults=faults) as server, judge_at(server) as judge:
        yield judge


@BOTH_WAYS
def test_a_failed_judgement_leaves_the_other_rows_intact(
    stumbling: LLMJudge, run_async: bool
) -> None:
    cases = [case(answer) for answer in (ANSWERED, UNREADABLE, REFUSED)]
    found = rows(cases, all_metrics(judge=stumbling), run_async=run_async, ignore_errors=True)
    for answer in (ANSWERED, REFUSED):
        assert scores(found[answer]) == SCORES[answer]
        assert all(found[answer][name].error is None for name in SCORES[answer])
    assert found[UNREADABLE]["success"] is False
    for name in SCORES[ANSWERED]:
        data = found[UNREADABLE][name]
        assert data.score is None
        assert data.success is False
        assert "judge failed: " in data.error


@BOTH_WAYS
def test_without_ignore_errors_a_failed_judgement_stops_the_run(
    stumbling: LLMJudge, run_async: bool
) -> None:
    cases = [case(UNREADABLE)]
    metrics: list[BaseMetric] = [GrouseFaithfulnessMetric(judge=stumbling)]
    settings = run_quietly(run_async=run_async)
    with pytest.raises(GrouseJudgeError, match="judge failed"):
        evaluate(cases, metrics, **settings)


@BOTH_WAYS
def test_deepevals_time_limit_ends_one_case_only(
    run_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "5")
    faults = When(UNREADABLE, Hang())
    with ScriptedServer(script(), faults=faults) as server, judge_at(server) as judge:
        cases = [case(answer) for answer in (REFUSED, UNREADABLE, ANSWERED)]
        found = rows(cases, all_metrics(judge=judge), run_async=run_async, ignore_errors=True)
    assert scores(found[REFUSED]) == SCORES[REFUSED]
    assert scores(found[ANSWERED]) == SCORES[ANSWERED]
    assert found[UNREADABLE]["success"] is False
    for name in SCORES[ANSWERED]:
        assert found[UNREADABLE][name].score is None
        assert "time" in found[UNREADABLE][name].error.lower()


@BOTH_WAYS
def test_a_broken_judge_is_asked_once(run_async: bool) -> None:
    broken = BrokenJudge()
    metrics: list[BaseMetric] = [GrouseFaithfulnessMetric(judge=broken)]
    found = rows([case()], metrics, run_async=run_async, ignore_errors=True)
    assert "unexpected argument" in found[ANSWERED]["grouse_faithfulness"].error
    assert broken.asked == 1


@BOTH_WAYS
def test_missing_fields_follow_deepevals_flags(
    server: ScriptedServer, judge: LLMJudge, run_async: bool
) -> None:
    cases = [case(ANSWERED), case(REFUSED, retrieval_context=None)]
    metrics = all_metrics(judge=judge)
    settings = run_quietly(run_async=run_async)
    with pytest.raises(MissingTestCaseParamsError, match="'retrieval_context' cannot be None"):
        evaluate(cases, metrics, **settings)
    marked = rows(cases, metrics, run_async=run_async, ignore_errors=True)
    assert scores(marked[ANSWERED]) == SCORES[ANSWERED]
    assert "'retrieval_context'" in marked[REFUSED]["grouse_faithfulness"].error
    assert marked[REFUSED]["grouse_usefulness"].score == 1.0
    skipped = rows(cases, metrics, run_async=run_async, skip_on_missing_params=True)
    assert scores(skipped[ANSWERED]) == SCORES[ANSWERED]
    assert set(scores(skipped[REFUSED])) == {"grouse_answer_relevancy", "grouse_usefulness"}


@BOTH_WAYS
def test_one_object_shows_no_result_of_the_case_before(judge: LLMJudge, run_async: bool) -> None:
    """The sync run measures all cases with the same objects and never resets them."""
    metrics = all_metrics(judge=judge)
    for metric in metrics:
        metric.measure(case(REFUSED), _show_indicator=False)
    cases = [case(answer) for answer in reversed(ANSWERS)]
    found = rows(cases, metrics, run_async=run_async)
    assert {answer: scores(row) for answer, row in found.items()} == SCORES


@BOTH_WAYS
def test_nothing_applicable_is_no_failure(judge: LLMJudge, run_async: bool) -> None:
    metrics: list[BaseMetric] = [GrouseUsefulnessMetric(judge=judge)]
    found = rows([case(ANSWERED)], metrics, run_async=run_async)
    assert found[ANSWERED]["grouse_usefulness"].success is None
    assert found[ANSWERED]["success"] is not False


def test_deepevals_cache_tells_judges_apart(server: ScriptedServer) -> None:
    """Rows come from the cache only for the same judge, prompts and settings."""
    chat = OpenAIChat("scripted", base_url=server.base_url)

    def run(judge: LLMJudge, **settings: Any) -> tuple[float | None, int]:
        server.reset()
        metric = GrouseCompletenessMetric(judge=judge, **settings)
        found = rows([case()], [metric], cache=True)
        return found[ANSWERED]["grouse_completeness"].score, server.calls

    with LLMJudge(chat) as first, LLMJudge(chat) as equal, LLMJudge(chat, citations="ignored") as o:
        assert run(first) == (0.75, 1)
        assert run(equal) == (0.75, 0)
        assert run(o) == (0.75, 1)
        assert run(first, threshold=0.9) == (0.75, 0), "the judge remembers, DeepEval does not"


@BOTH_WAYS
def test_assert_test(judge: LLMJudge, run_async: bool) -> None:
    assert_test(case(ANSWERED), all_metrics(judge=judge), run_async=run_async)
    with pytest.raises(AssertionError, match=r"grouse_faithfulness.*score: 0\.0"):
        assert_test(case(REFUSED), all_metrics(judge=judge), run_async=run_async)


@BOTH_WAYS
def test_assert_test_raises_the_judges_failure(stumbling: LLMJudge, run_async: bool) -> None:
    metrics: list[BaseMetric] = [GrouseCompletenessMetric(judge=stumbling)]
    with pytest.raises(GrouseJudgeError):
        assert_test(case(UNREADABLE), metrics, run_async=run_async)


class TestObserve:
    """``@observe(metrics=[...])``: the metrics' objects are shared by all that runs at once."""

    @BOTH_WAYS
    def test_every_span_has_its_own_verdict(self, run_async: bool) -> None:
        """Completeness is back at once; DeepEval reads it when the slower metric is back too."""
        grades: dict[str, dict[str, int]] = {
            f"Answer {n:02} [1].": {"answer_relevancy": 1 + n % 5, "completeness": 5 - n % 5}
            for n in range(12)
        }
        slow_relevancy = slow_for("answer_relevancy", odd_ones)
        with (
            ScriptedServer(Script({**grades}), latency=slow_relevancy) as server,
            judge_at(server) as judge,
        ):
            metrics: list[BaseMetric] = [
                GrouseAnswerRelevancyMetric(judge=judge),
                GrouseCompletenessMetric(judge=judge),
            ]
            spans = self.run(metrics, list(grades), run_async=run_async)
            assert server.calls == 2 * len(grades)
        assert len(spans) == len(grades)
        for answer, found in spans.items():
            told = grades[answer]
            assert found["grouse_answer_relevancy"] == (told["answer_relevancy"] - 1) / 4
            assert found["grouse_completeness"] == (told["completeness"] - 1) / 4

    @BOTH_WAYS
    def test_failures_and_nulls_stay_in_their_span(
        self, stumbling: LLMJudge, run_async: bool
    ) -> None:
        answers = [ANSWERED, UNREADABLE, REFUSED, REFUSED_WRONGLY]
        spans = self.run(all_metrics(judge=stumbling), answers, run_async=run_async)
        for answer in (ANSWERED, REFUSED, REFUSED_WRONGLY):
            assert spans[answer] == SCORES[answer]
        assert set(spans[UNREADABLE].values()) == {"failed"}

    def run(
        self, metrics: list[BaseMetric], answers: list[str], *, run_async: bool
    ) -> dict[str, dict[str, Any]]:
        """Per answer: the metrics' scores on its span; "failed" where there was an error."""

        @observe(metrics=metrics)  # type: ignore[untyped-decorator]  # DeepEval's
        def sync_app(answer: str) -> str:
            update_current_span(test_case=case(answer))
            return answer

        @observe(metrics=metrics)  # type: ignore[untyped-decorator]  # DeepEval's
        async def async_app(answer: str) -> str:
            update_current_span(test_case=case(answer))
            return answer

        goldens = [Golden.model_validate({"input": answer}) for answer in answers]
        dataset = EvaluationDataset(goldens=goldens)
        settings = run_quietly(run_async=run_async, ignore_errors=True)
        del settings["cache_config"]
        for golden in dataset.evals_iterator(**settings):
            if run_async:
                dataset.evaluate(asyncio.create_task(async_app(golden.input)))
            else:
                sync_app(golden.input)
        run = json.loads(Path(".deepeval/.latest_test_run.json").read_text())
        return {
            row["input"]: {
                data["name"]: "failed" if data.get("error") else data.get("score")
                for span in row["trace"]["baseSpans"]
                for data in span["metricsData"]
            }
            for row in run["testRunData"]["testCases"]
        }


def odd_ones(prompt: str) -> bool:
    return any(f"Answer {n:02} " in prompt for n in range(1, 12, 2))


def slow_for(metric: str, chosen: Callable[[str], bool]) -> Callable[[Any], float]:
    """Replies about this metric take longer for the chosen prompts."""
    return lambda request: 0.15 if metric in request.metrics and chosen(request.prompt) else 0.0


SUITE = """
import pytest
from deepeval import assert_test
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from grouse_adapters import LLMJudge, OpenAIChat
from grouse_adapters.deepeval import all_metrics

judge = LLMJudge(OpenAIChat("scripted", base_url={url!r}))

@pytest.mark.parametrize("answer", {answers!r})
def test_answer(answer):
    test_case = LLMTestCase(
        input="How long is the bridge?",
        retrieval_context={references!r},
        expected_output="It is 300 m long [1].",
        actual_output=answer,
    )
    assert_test(test_case, all_metrics(judge=judge))
"""


def test_deepeval_test_run(server: ScriptedServer, tmp_path: Path) -> None:
    suite = SUITE.format(url=server.base_url, answers=[ANSWERED, REFUSED], references=REFERENCES)
    (tmp_path / "test_bridge.py").write_text(suite, encoding="utf-8")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    environment.pop("PYTEST_CURRENT_TEST", None)
    command = Path(sys.executable).with_name("deepeval")
    done = subprocess.run(
        [command, "test", "run", "test_bridge.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 1, printed
    assert "1 failed" in printed
    assert "1 passed" in printed
    assert "grouse_faithfulness (score: 0.0" in printed
    assert "Pass Rate: 50.0% | Passed: 1 | Failed: 1" in printed
    assert server.calls == CALLS[ANSWERED] + CALLS[REFUSED]
    run = json.loads((tmp_path / ".deepeval/.latest_test_run.json").read_text())["testRunData"]
    assert (run["testPassed"], run["testFailed"]) == (1, 1)
    for row in run["testCases"]:
        told = {data["name"]: data.get("score") for data in row["metricsData"]}
        assert told == SCORES[row["actualOutput"]]
        assert row["success"] is (row["actualOutput"] == ANSWERED)


def test_the_report_on_the_terminal(judge: LLMJudge, capsys: pytest.CaptureFixture[str]) -> None:
    settings = run_quietly()
    settings["display_config"] = DisplayConfig(show_indicator=True, print_results=True)
    settings["async_config"] = AsyncConfig(run_async=True)
    evaluate([case(REFUSED)], all_metrics(judge=judge), **settings)
    printed = capsys.readouterr().out
    assert "grouse_usefulness" in printed
    assert "grouse_faithfulness" in printed
