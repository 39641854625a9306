"""StringEvaluator: langchain-classic's entry points, the judge over real HTTP."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import langchain_cases
import pytest
from conftest import must_run
from langchain_cases import (
    ANSWERED,
    CALLS,
    EXPECTED,
    KEYS,
    QUESTION,
    REFERENCES,
    REFUSED,
    SCORES,
    UNREADABLE,
)
from langchain_core.documents import Document

from grouse_adapters import LLMJudge
from grouse_adapters.testing import ScriptedServer

try:
    import langchain_classic  # noqa: F401
except ImportError:
    must_run("langchain-classic")

from grouse_adapters.langchain.string_evaluators import (
    GrouseCompletenessStringEvaluator,
    GrouseFaithfulnessStringEvaluator,
    GrouseStringEvaluator,
    GrouseUsefulnessStringEvaluator,
    all_string_evaluators,
)

server, judge = langchain_cases.server, langchain_cases.judge


def values(answer: str) -> dict[str, Any]:
    return {
        "prediction": answer,
        "input": QUESTION,
        "reference": EXPECTED,
        "references": REFERENCES,
    }


@pytest.mark.parametrize("answer", [ANSWERED, REFUSED])
def test_six_evaluators_share_one_judgement(
    answer: str, server: ScriptedServer, judge: LLMJudge
) -> None:
    evaluators = all_string_evaluators(judge=judge)
    assert [evaluator.evaluation_name for evaluator in evaluators] == KEYS
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "Ignoring reference ..." would be a lie
        results = [evaluator.evaluate_strings(**values(answer)) for evaluator in evaluators]
    assert tuple(result["score"] for result in results) == SCORES[answer]
    assert server.calls == CALLS[answer]
    for result in results:
        assert set(result) == {"score", "value", "reasoning"}
        assert result["value"] == (None if result["score"] is not None else "n/a")
    assert results[1 if answer == ANSWERED else 2]["reasoning"] == "Told by the script."


def test_awaited_together_they_share_it_too(server: ScriptedServer, judge: LLMJudge) -> None:
    async def main() -> list[dict[str, Any]]:
        evaluators = all_string_evaluators(judge=judge)
        calls = [evaluator.aevaluate_strings(**values(REFUSED)) for evaluator in evaluators]
        return list(await asyncio.gather(*calls))

    results = asyncio.run(main())
    assert tuple(result["score"] for result in results) == SCORES[REFUSED]
    assert server.calls == CALLS[REFUSED]


def test_a_failed_grade_is_neither_a_score_nor_an_exception(judge: LLMJudge) -> None:
    result = GrouseCompletenessStringEvaluator(judge=judge).evaluate_strings(**values(UNREADABLE))
    assert result["score"] is None
    assert result["value"] == "failed"
    assert result["reasoning"].startswith("judge failed: No grade of completeness can be read")


def test_a_missing_input_is_named_as_langchain_names_it() -> None:
    evaluator = GrouseFaithfulnessStringEvaluator(judge="lexical")
    with pytest.raises(
        ValueError, match="GrouseFaithfulnessStringEvaluator requires an input string"
    ):
        evaluator.evaluate_strings(prediction=ANSWERED, references=REFERENCES)
    with pytest.raises(ValueError, match=r"requires the documents: pass references=\[\.\.\.\]"):
        evaluator.evaluate_strings(prediction=ANSWERED, input=QUESTION)
    with pytest.raises(ValueError, match=r"requires the documents: pass references=\[\.\.\.\]"):
        evaluator.evaluate_strings(prediction=ANSWERED, input=QUESTION, references="one text")


def test_documents_go_by_the_usual_names_and_what_needs_none_does_without() -> None:
    documents = [Document(page_content=text) for text in REFERENCES]
    evaluator: GrouseStringEvaluator = GrouseFaithfulnessStringEvaluator(judge="lexical")
    result = evaluator.evaluate_strings(prediction=ANSWERED, input=QUESTION, context=documents)
    assert result["value"] != "failed"
    evaluator = GrouseUsefulnessStringEvaluator(judge="lexical")
    assert evaluator.evaluate_strings(prediction=ANSWERED, input=QUESTION)["value"] == "n/a"


def test_citations_may_be_ignored() -> None:
    given = values("The bridge is 300 m long.")
    strict = GrouseFaithfulnessStringEvaluator(judge="lexical").evaluate_strings(**given)
    lenient = GrouseFaithfulnessStringEvaluator(
        judge="lexical", citations="ignored"
    ).evaluate_strings(**given)
    assert (strict["score"], lenient["score"]) == (0, 1)
