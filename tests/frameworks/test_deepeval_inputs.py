"""What a DeepEval metric takes: test cases, settings, copies, threads, and DeepEval itself."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cases_for_deepeval import (
    ANSWERED,
    CLASSES,
    REFERENCES,
    REFUSED,
    REFUSED_WRONGLY,
    SCORES,
    case,
    elsewhere,
    judge,
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
    LexicalJudge,
    LLMJudge,
)
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.deepeval import (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseMetric,
    GrouseUsefulnessMetric,
    all_metrics,
)
from grouse_adapters.testing import ScriptedServer

__all__ = ["elsewhere", "judge", "server"]


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
