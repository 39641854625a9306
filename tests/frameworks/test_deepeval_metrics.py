"""One DeepEval metric at a time: what a measurement leaves on the metric, over real HTTP."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future
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
    case,
    elsewhere,
    judge,
    judge_at,
    script,
    server,
)
from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric, FaithfulnessMetric
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import (
    ConversationalTestCase,
    MLLMImage,
    RetrievedContextData,
    SingleTurnParams,
    Turn,
)

from grouse_adapters import (
    ConfigurationError,
    InputError,
    Judge,
    Judgement,
    LexicalJudge,
    LLMJudge,
    Sample,
)
from grouse_adapters.core.errors import GrouseJudgeError
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.deepeval import (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseMetric,
    GrouseNegativeRejectionMetric,
    GrousePositiveAcceptanceMetric,
    GrouseUsefulnessMetric,
    all_metrics,
)
from grouse_adapters.testing import CutOff, FirstAttempts, ScriptedServer

__all__ = ["elsewhere", "judge", "server"]

CLASSES = (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseUsefulnessMetric,
    GrouseFaithfulnessMetric,
    GrousePositiveAcceptanceMetric,
    GrouseNegativeRejectionMetric,
)


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


class BrokenJudge(Judge):
    """A user's own judge with a mistake in it."""

    name = "broken"
    prompt_fingerprint = None
    closed = False
    asked = 0

    def submit(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Future[Judgement]:
        self.asked += 1
        raise TypeError("submit() got an unexpected argument")

    def close(self) -> None:
        """Nothing to close."""


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


class TestMissingInputs:
    @pytest.mark.parametrize("metric", CLASSES)
    def test_needed_fields_are_named(self, judge: LLMJudge, metric: type[GrouseMetric]) -> None:
        wants_references = metric not in (GrouseAnswerRelevancyMetric, GrouseUsefulnessMetric)
        measured = metric(judge=judge)
        with pytest.raises(MissingTestCaseParamsError, match="'actual_output'"):
            measured.measure(case(actual_output=""), _show_indicator=False)
        assert measured.error is not None
        without = case(retrieval_context=None)
        if wants_references:
            with pytest.raises(MissingTestCaseParamsError, match="'retrieval_context'"):
                measured.measure(without, _show_indicator=False)
        else:
            measured.measure(without, _show_indicator=False)
            assert measured.error is None
        expected = {SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT}
        if wants_references:
            expected.add(SingleTurnParams.RETRIEVAL_CONTEXT)
        told: Any = measured._required_params
        assert set(told) == expected

    def test_nothing_is_paid_for_an_unreadable_case(
        self, server: ScriptedServer, judge: LLMJudge
    ) -> None:
        metric = GrouseFaithfulnessMetric(judge=judge)
        image = MLLMImage(url="https://example.com/bridge.png")
        with pytest.raises(InputError, match="reads text only"):
            metric.measure(case(input=f"How long is {image}?"), _show_indicator=False)
        turns = [Turn(role="user", content="How long?")]
        with pytest.raises(ValueError, match="LLMTestCase"):
            metric.measure(
                ConversationalTestCase(turns=turns),  # type: ignore[arg-type]  # the mistake
                _show_indicator=False,
            )
        with pytest.raises(InputError, match="surrogate"):
            metric.measure(case(retrieval_context=["half \ud83d"]), _show_indicator=False)
        assert server.requests == ()

    def test_no_references_found_is_judged(self, server: ScriptedServer, judge: LLMJudge) -> None:
        metric = GrouseCompletenessMetric(judge=judge)
        assert metric.measure(case(retrieval_context=[]), _show_indicator=False) == 0.75
        assert REFERENCES[0] not in server.requests[0].prompt

    @pytest.mark.parametrize("expected", [None, ""])
    def test_without_expected_answer_two_metrics_do_not_apply(
        self, judge: LLMJudge, expected: str | None
    ) -> None:
        metrics = all_metrics(judge=judge)
        for metric in metrics:
            metric.measure(case(REFUSED, expected_output=expected), _show_indicator=False)
        scores = {m.__name__: m.score for m in metrics}
        null = {"grouse_positive_acceptance": None, "grouse_negative_rejection": None}
        assert scores == {**SCORES[REFUSED], **null}
        assert all("expected" in (m.reason or "") for m in metrics if m.__name__ in null)

    def test_references_with_their_source(self, server: ScriptedServer, judge: LLMJudge) -> None:
        context = [RetrievedContextData(context=REFERENCES[0], source="a.pdf"), REFERENCES[1]]
        metric = GrouseCompletenessMetric(judge=judge)
        metric.measure(case(retrieval_context=context), _show_indicator=False)
        GrouseCompletenessMetric(judge=judge).measure(case(), _show_indicator=False)
        assert server.calls == 1, "the same sample, so the same judgement"
        assert "a.pdf" not in server.requests[0].prompt


class TestCopies:
    def test_deepeval_copies_every_setting(self, judge: LLMJudge) -> None:
        settings = {
            "judge": judge,
            "threshold": 0.3,
            "citations": "required",
            "include_reason": False,
            "strict_mode": False,
            "verbose_mode": False,
            "async_mode": False,
            "flaky": True,
        }
        metric = GrouseFaithfulnessMetric(**settings)  # type: ignore[arg-type]  # all of them
        metric.measure(case(), _show_indicator=False)
        (copied,) = copy_metrics([metric])
        assert type(copied) is GrouseFaithfulnessMetric
        assert {name: getattr(copied, name) for name in settings} == settings
        assert copied.judge is judge
        assert copied.score is None
        (strict,) = copy_metrics([GrouseFaithfulnessMetric(judge=judge, strict_mode=True)])
        assert (strict.threshold, strict.strict_mode) == (1, True)

    def test_copies_do_not_share_their_result(self, judge: LLMJudge) -> None:
        metric = GrouseCompletenessMetric(judge=judge)
        metric.measure(case(), _show_indicator=False)
        twin = copy.copy(metric)
        twin.measure(case(REFUSED_WRONGLY), _show_indicator=False)
        assert (metric.score, twin.score) == (0.75, 0.0)

    def test_pickled_with_settings_and_result(self) -> None:
        metric = GrouseCompletenessMetric(judge="lexical", threshold=0.2)
        metric.measure(case(), _show_indicator=False)
        back = pickle.loads(pickle.dumps(metric))
        assert (back.judge, back.threshold, back.score) == ("lexical", 0.2, metric.score)
        deep = copy.deepcopy(metric)
        assert deep.reason == metric.reason


def test_metrics_built_apart_share_one_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(script()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        for metric in CLASSES:
            metric(judge="scripted").measure(case(REFUSED), _show_indicator=False)
        assert server.calls == 4


def test_citations_reach_the_judge() -> None:
    uncited = case("The bridge is 300 m long.")
    strict = GrouseFaithfulnessMetric(judge="lexical")
    lenient = GrouseFaithfulnessMetric(judge="lexical", citations="ignored")
    assert strict.measure(uncited, _show_indicator=False) == 0.0
    assert lenient.measure(uncited, _show_indicator=False) == 1.0
    assert strict.evaluation_model != lenient.evaluation_model
    with LexicalJudge() as judge:
        finished = GrouseFaithfulnessMetric(judge=judge, citations="ignored")
        with pytest.raises(ConfigurationError, match="finished judge"):
            finished.measure(uncited, _show_indicator=False)


def test_measure_inside_a_running_loop(judge: LLMJudge) -> None:
    async def notebook_cell() -> float | None:
        return GrouseCompletenessMetric(judge=judge).measure(case(), _show_indicator=False)

    assert asyncio.run(notebook_cell()) == 0.75


def test_one_metric_object_from_many_threads(server: ScriptedServer, judge: LLMJudge) -> None:
    """Each thread clears the error first, as DeepEval does, and then reads what it measured."""
    metric = GrouseCompletenessMetric(judge=judge)
    seen: dict[int, float | None] = {}
    start = threading.Barrier(8)

    def work(number: int) -> None:
        metric.error = None
        start.wait()
        metric.measure(case([ANSWERED, REFUSED_WRONGLY][number % 2]), _show_indicator=False)
        start.wait()
        seen[number] = metric.score

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {n: [0.75, 0.0][n % 2] for n in range(8)}


def test_building_a_metric_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUSE_JUDGE", "gpt-4o")  # without a key
    assert [metric.__name__ for metric in all_metrics()] == [
        f"grouse_{name}" for name in METRIC_NAMES
    ]


def test_names_do_not_collide_with_native_metrics() -> None:
    names = {metric.__name__ for metric in all_metrics()}
    assert names == {f"grouse_{name}" for name in METRIC_NAMES}
    assert not {c.__name__ for c in CLASSES} & {FaithfulnessMetric.__name__}
    assert all(issubclass(c, BaseMetric) for c in CLASSES)


GUARD = """
import sys
import importlib.metadata as metadata
kind = sys.argv[1]
if kind == "absent":
    sys.modules["deepeval"] = None
else:
    true = metadata.version
    metadata.version = lambda name: kind if name == "deepeval" else true(name)
import grouse_adapters
assert "deepeval" not in sys.modules or kind == "absent"
try:
    import grouse_adapters.deepeval
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("absent", "needs deepeval 4.2 or later, below 5, which is not installed"),
        ("4.1.9", "needs deepeval 4.2 or later, below 5, not the installed 4.1.9"),
        ("5.0.0", "needs deepeval 4.2 or later, below 5, not the installed 5.0.0"),
        ("4.10.2", None),
    ],
)
def test_the_door_says_how_to_install_deepeval(
    kind: str, message: str | None, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GUARD, kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    pip = ": pip install 'grouse-adapters[deepeval]'."
    told = f"MissingExtraError grouse_adapters.deepeval {message}{pip}" if message else ""
    assert done.stdout.strip() == told
