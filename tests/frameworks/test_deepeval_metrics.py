"""One DeepEval metric at a time: what a measurement leaves on the metric, over real HTTP."""

from __future__ import annotations

import asyncio

import pytest
from cases_for_deepeval import (
    ANSWERED,
    CALLS,
    CLASSES,
    PRICE,
    REFERENCES,
    REFUSED,
    SCORES,
    BrokenJudge,
    case,
    elsewhere,
    judge,
    judge_at,
    script,
    server,
)

from grouse_adapters import (
    ConfigurationError,
    LLMJudge,
)
from grouse_adapters.core.errors import GrouseJudgeError
from grouse_adapters.deepeval import (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseMetric,
    GrouseUsefulnessMetric,
    all_metrics,
)
from grouse_adapters.testing import CutOff, FirstAttempts, ScriptedServer

__all__ = ["elsewhere", "judge", "server"]


@pytest.mark.parametrize("answer", SCORES)
@pytest.mark.parametrize("way", ["measure", "a_measure"])
def test_six_metrics_score_one_judgement(
    server: ScriptedServer, judge: LLMJudge, answer: str, way: str
) -> None:
    metrics = all_metrics(judge=judge)
    if way == "measure":
        returned = [metric.measure(case(answer), _show_indicator=False) for metric in metrics]
    else:
        returned = [  # a new loop for each, as scripts do
            asyncio.run(metric.a_measure(case(answer), _show_indicator=False)) for metric in metrics
        ]
    assert {m.__name__: m.score for m in metrics} == SCORES[answer]
    assert returned == [m.score for m in metrics]
    assert server.calls == CALLS[answer]


def test_six_metrics_at_once_share_their_calls(server: ScriptedServer, judge: LLMJudge) -> None:
    metrics = all_metrics(judge=judge)

    async def at_once() -> None:
        await asyncio.gather(*(m.a_measure(case(REFUSED), _show_indicator=False) for m in metrics))

    asyncio.run(at_once())
    assert {m.__name__: m.score for m in metrics} == SCORES[REFUSED]
    assert server.calls == 4


@pytest.mark.parametrize(("metric", "calls"), list(zip(CLASSES, (1, 1, 1, 2, 2, 2), strict=True)))
def test_one_metric_costs_only_what_it_needs(
    server: ScriptedServer, judge: LLMJudge, metric: type[GrouseMetric], calls: int
) -> None:
    metric(judge=judge).measure(case(ANSWERED), _show_indicator=False)
    assert server.calls == calls


def test_grade_score_and_reason(judge: LLMJudge) -> None:
    metric = GrouseCompletenessMetric(judge=judge)
    metric.measure(case(ANSWERED), _show_indicator=False)
    assert metric.score_breakdown == {"grade": 4, "scale": "1-5", "score": 0.75}
    assert metric.reason == "grade 4 (1-5): As told."
    assert metric.success is True
    assert metric.error is None


def test_not_applicable_decides_nothing_and_says_why(judge: LLMJudge) -> None:
    metric = GrouseAnswerRelevancyMetric(judge=judge)
    assert metric.measure(case(REFUSED), _show_indicator=False) is None
    assert metric.score_breakdown == {"grade": None, "scale": "1-5", "score": None}
    assert metric.reason == "not applicable: As told."
    assert metric.is_successful() is None
    assert metric.success is None
    assert metric.error is None


@pytest.mark.parametrize(
    ("threshold", "successful"), [(0.0, True), (0.75, True), (0.76, False), (1, False)]
)
def test_threshold_is_compared_with_the_score(
    judge: LLMJudge, threshold: float, successful: bool
) -> None:
    metric = GrouseCompletenessMetric(judge=judge, threshold=threshold)
    metric.measure(case(ANSWERED), _show_indicator=False)
    assert metric.is_successful() is successful


def test_without_threshold_a_metric_only_informs(judge: LLMJudge) -> None:
    metric = GrouseCompletenessMetric(judge=judge, threshold=None)
    assert metric.measure(case(ANSWERED), _show_indicator=False) == 0.75
    assert metric.is_successful() is None


def test_a_grade_as_threshold_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"grade 4 of 1-5 is 0\.75"):
        GrouseCompletenessMetric(threshold=4)
    with pytest.raises(ConfigurationError, match="citations must be one of required, ignored"):
        GrouseCompletenessMetric(citations="some")  # type: ignore[arg-type]  # the mistake


def test_strict_mode_knows_only_the_best_grade(judge: LLMJudge) -> None:
    metric = GrouseCompletenessMetric(judge=judge, strict_mode=True, threshold=0.2)
    assert metric.threshold == 1
    assert metric.measure(case(ANSWERED), _show_indicator=False) == 0.0
    assert metric.is_successful() is False
    assert metric.score_breakdown == {"grade": 4, "scale": "1-5", "score": 0.75}
    best = GrouseAnswerRelevancyMetric(judge=judge, strict_mode=True)
    assert best.measure(case(ANSWERED), _show_indicator=False) == 1.0
    assert best.is_successful() is True


def test_include_reason_leaves_out_justifications_only(judge: LLMJudge) -> None:
    graded, null = (
        GrouseCompletenessMetric(judge=judge, include_reason=False),
        GrouseUsefulnessMetric(judge=judge, include_reason=False),
    )
    for metric in (graded, null):
        metric.measure(case(ANSWERED), _show_indicator=False)
    assert graded.reason is None
    assert null.reason is not None
    assert null.reason.startswith("not applicable: ")


def test_costs_and_tokens_add_up_to_what_the_server_counted(
    server: ScriptedServer, judge: LLMJudge
) -> None:
    metrics = all_metrics(judge=judge)
    for metric in metrics:
        metric.measure(case(REFUSED), _show_indicator=False)
    single = judge_at(server)
    true = single.judge(
        {
            "input": "How long is the bridge?",
            "references": REFERENCES,
            "expected_output": "It is 300 m long [1].",
            "actual_output": REFUSED,
        }
    )
    single.close()
    assert true.usage.input_tokens > 0
    assert sum(m.input_tokens or 0 for m in metrics) == true.usage.input_tokens
    assert sum(m.output_tokens or 0 for m in metrics) == true.usage.output_tokens
    assert sum(m.evaluation_cost or 0 for m in metrics) == pytest.approx(PRICE.cost(true.usage))
    assert None not in [m.evaluation_cost for m in metrics]


def test_verbose_mode_prints_the_sentences(
    judge: LLMJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    metric = GrouseFaithfulnessMetric(judge=judge, verbose_mode=True)
    metric.measure(case(REFUSED), _show_indicator=False)
    printed = capsys.readouterr().out
    assert "grouse_faithfulness Verbose Logs" in printed
    assert "A sentence of the answer. (cited yes, rightly yes, supported no)" in printed
    assert "Score: 0.0\nReason: grade 0 (0 or 1): As told." in printed
    assert metric.verbose_logs is not None
    assert "Judge: scripted (fingerprint " in metric.verbose_logs
    assert "Sentences:" in metric.verbose_logs
    quiet = GrouseFaithfulnessMetric(judge=judge)
    quiet.measure(case(REFUSED), _show_indicator=False)
    assert capsys.readouterr().out == ""
    assert "Sentences:" in (quiet.verbose_logs or "")


@pytest.mark.parametrize("shown", [True, False])
def test_progress_indicator(
    judge: LLMJudge,
    shown: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    GrouseFaithfulnessMetric(judge=judge).measure(case(ANSWERED), _show_indicator=shown)
    assert ("grouse_faithfulness" in capsys.readouterr().err) is shown


def test_evaluation_model_names_judge_and_prompts(judge: LLMJudge, server: ScriptedServer) -> None:
    metric = GrouseFaithfulnessMetric(judge=judge)
    assert metric.evaluation_model == f"scripted (fingerprint {judge.prompt_fingerprint[:12]})"
    other = LLMJudge(judge._chat, citations="ignored")
    assert GrouseFaithfulnessMetric(judge=other).evaluation_model != metric.evaluation_model
    assert server.requests == ()


def test_a_judge_that_cannot_be_had_is_told_by_the_measurement() -> None:
    metric = GrouseFaithfulnessMetric(judge="gpt-4o")
    assert metric.evaluation_model is None
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        metric.measure(case(), _show_indicator=False)
    assert metric.error is not None
    assert metric.is_successful() is False
    wrong = GrouseFaithfulnessMetric(judge=0.5)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ConfigurationError, match="judge must be"):
        wrong.measure(case(), _show_indicator=False)


class TestFailedJudge:
    """The server's faults; DeepEval's own flags are tested with ``evaluate``."""

    def test_failure_is_raised_and_kept(self, server: ScriptedServer) -> None:
        with ScriptedServer("no JSON at all") as broken, judge_at(broken) as judge:
            metric = GrouseFaithfulnessMetric(judge=judge)
            with pytest.raises(GrouseJudgeError, match="judge failed: ") as raised:
                metric.measure(case(), _show_indicator=False)
        assert metric.error == str(raised.value)
        assert metric.is_successful() is False
        assert metric.score is None
        assert metric.score_breakdown is None

    def test_a_failed_reply_is_paid_for_and_shown(self) -> None:
        with ScriptedServer("no JSON at all") as broken, judge_at(broken) as judge:
            metric = GrouseCompletenessMetric(judge=judge)
            with pytest.raises(GrouseJudgeError):
                asyncio.run(metric.a_measure(case(), _show_indicator=False))
        assert metric.input_tokens
        assert metric.evaluation_cost
        assert "Reply that could not be used:\nno JSON at all" in (metric.verbose_logs or "")

    def test_a_prompt_that_is_too_long_stays_our_error(self) -> None:
        """DeepEval rewrites errors that speak of a context window, raised under its spinner."""
        with ScriptedServer("never", context_length=10) as small, judge_at(small) as judge:
            metric = GrouseCompletenessMetric(judge=judge)
            with pytest.raises(GrouseJudgeError, match="too long"):
                metric.measure(case(), _show_indicator=False)

    def test_the_next_measurement_forgets_the_failure(self) -> None:
        faults = FirstAttempts(CutOff())
        with ScriptedServer(script(), faults=faults) as server, judge_at(server) as judge:
            metric = GrouseCompletenessMetric(judge=judge)
            with pytest.raises(GrouseJudgeError, match="ended before"):
                metric.measure(case(), _show_indicator=False)
            assert metric.measure(case(), _show_indicator=False) == 0.75
        assert metric.error is None
        assert metric.is_successful() is True


@pytest.mark.parametrize("way", ["measure", "a_measure"])
def test_a_type_error_is_wrapped(way: str) -> None:
    """DeepEval would take it for a metric with another signature and measure again."""
    metric = GrouseFaithfulnessMetric(judge=BrokenJudge())
    measured = {
        "measure": lambda: metric.measure(case(), _show_indicator=False),
        "a_measure": lambda: asyncio.run(metric.a_measure(case(), _show_indicator=False)),
    }
    with pytest.raises(GrouseJudgeError, match="unexpected argument"):
        measured[way]()
    assert metric.error == "submit() got an unexpected argument"
