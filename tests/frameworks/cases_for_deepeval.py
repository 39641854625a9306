"""Test cases, told grades and clean surroundings for the tests of the DeepEval door."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from conftest import must_run

os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"

try:
    import deepeval  # noqa: F401
except ImportError:
    try:
        must_run("deepeval")
    except pytest.skip.Exception as skipped:
        pytest.skip(str(skipped), allow_module_level=True)

from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase

from grouse_adapters import Judge, Judgement, LLMJudge, OpenAIChat, Price, RetryPolicy, Sample
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.deepeval import (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseNegativeRejectionMetric,
    GrousePositiveAcceptanceMetric,
    GrouseUsefulnessMetric,
)
from grouse_adapters.testing import Grades, Script, ScriptedServer

REFERENCES = ["The bridge is 300 m long.", "It was opened in 1932."]
PRICE = Price(input=1.0, output=10.0)
NEVER_AGAIN = RetryPolicy(retries=0)

ANSWERED = "The bridge measures 300 m [1]."
REFUSED = "No document answers this. The bridge was opened in 1932 [2]."
REFUSED_WRONGLY = "No document seems to answer this."
UNREADABLE = "The judge stumbles over this one [1]."

TOLD: dict[str, Grades] = {
    ANSWERED: {"answer_relevancy": 5, "completeness": 4, "faithfulness": 1},
    REFUSED: {
        "answer_relevancy": None,
        "completeness": None,
        "usefulness": 1,
        "faithfulness": 0,
    },
    REFUSED_WRONGLY: {"answer_relevancy": None, "completeness": 1},
}
SCORES: dict[str, dict[str, float | None]] = {
    ANSWERED: {
        "grouse_answer_relevancy": 1.0,
        "grouse_completeness": 0.75,
        "grouse_usefulness": None,
        "grouse_faithfulness": 1.0,
        "grouse_positive_acceptance": None,
        "grouse_negative_rejection": None,
    },
    REFUSED: {
        "grouse_answer_relevancy": None,
        "grouse_completeness": None,
        "grouse_usefulness": 1.0,
        "grouse_faithfulness": 0.0,
        "grouse_positive_acceptance": 1.0,
        "grouse_negative_rejection": 1.0,
    },
    REFUSED_WRONGLY: {
        "grouse_answer_relevancy": None,
        "grouse_completeness": 0.0,
        "grouse_usefulness": None,
        "grouse_faithfulness": None,
        "grouse_positive_acceptance": 0.0,
        "grouse_negative_rejection": None,
    },
}
CLASSES = (
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseUsefulnessMetric,
    GrouseFaithfulnessMetric,
    GrousePositiveAcceptanceMetric,
    GrouseNegativeRejectionMetric,
)
CALLS = {ANSWERED: 3, REFUSED: 4, REFUSED_WRONGLY: 3}
"""Answered calls that the six metrics make in all."""


def script() -> Script:
    """Told grades for the answers above."""
    return Script(TOLD, justification="As told.")


def case(actual_output: str = ANSWERED, **fields: Any) -> LLMTestCase:
    """A test case with this answer."""
    given: dict[str, Any] = {
        "input": "How long is the bridge?",
        "retrieval_context": REFERENCES,
        "expected_output": "It is 300 m long [1].",
        **fields,
    }
    return LLMTestCase(actual_output=actual_output, **given)


def judge_at(server: ScriptedServer) -> LLMJudge:
    """A judge that asks the server and never repeats a call."""
    chat = OpenAIChat("scripted", base_url=server.base_url, price=PRICE)
    return LLMJudge(chat, retries=NEVER_AGAIN)


def run_quietly(
    *, run_async: bool = True, ignore_errors: bool = False, cache: bool = False, **errors: bool
) -> dict[str, Any]:
    """Settings of ``evaluate`` without its output on the terminal."""
    return {
        "async_config": AsyncConfig(run_async=run_async),
        "error_config": ErrorConfig(ignore_errors=ignore_errors, **errors),
        "display_config": DisplayConfig(show_indicator=False, print_results=False),
        "cache_config": CacheConfig(write_cache=cache, use_cache=cache),
    }


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


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepEval writes its files to the working directory and the home folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that tells the grades above; a prompt that is not told is an error of the test."""
    with ScriptedServer(script()) as started:
        yield started
        assert not started.script_errors


@pytest.fixture
def judge(server: ScriptedServer) -> Iterator[LLMJudge]:
    """A judge that asks the server."""
    with judge_at(server) as built:
        yield built
