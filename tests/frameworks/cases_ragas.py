"""Rows with told grades, servers and judges for the tests of the RAGAS door."""

from __future__ import annotations

from typing import Any

from conftest import must_run

try:
    import ragas  # noqa: F401
except ImportError:
    must_run("ragas")

import openai
from ragas import EvaluationDataset
from ragas.llms import llm_factory

from grouse_adapters import LLMJudge, OpenAIChat, Price, RetryPolicy
from grouse_adapters.testing import Garbage, Grades, Script, ScriptedServer, When

QUESTION = "How long is the bridge?"
REFERENCES = ["The bridge is 300 m long.", "It was opened in 1932."]
EXPECTED = "It is 300 m long [1]."
KEY = "sk-secret-key"
PRICE = Price(input=1.0, output=10.0)
NEVER_AGAIN = RetryPolicy(retries=0)

ANSWERED = "The bridge measures 300 m [1]."
REFUSED = "No document answers this. The bridge was opened in 1932 [2]."
REFUSED_WRONGLY = "No document seems to answer this."
UNREADABLE = "The judge stumbles over this one [1]."

KEYS = [
    "grouse_answer_relevancy",
    "grouse_completeness",
    "grouse_usefulness",
    "grouse_faithfulness",
    "grouse_positive_acceptance",
    "grouse_negative_rejection",
]
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
VALUES: dict[str, list[float | None]] = {
    ANSWERED: [5, 4, None, 1, None, None],
    REFUSED: [None, None, 1, 0, 1, 1],
    REFUSED_WRONGLY: [None, 1, None, None, 0, None],
}
CALLS = {ANSWERED: 3, REFUSED: 4, REFUSED_WRONGLY: 3}
ANSWERS = [ANSWERED, REFUSED, REFUSED_WRONGLY]


def row(answer: str = ANSWERED, **more: Any) -> dict[str, Any]:
    """A row under RAGAS' names."""
    return {
        "user_input": QUESTION,
        "retrieved_contexts": REFERENCES,
        "response": answer,
        "reference": EXPECTED,
        **more,
    }


def dataset(*answers: str) -> EvaluationDataset:
    return EvaluationDataset.from_list([row(answer) for answer in answers or ANSWERS])


def many_rows(count: int) -> tuple[list[dict[str, Any]], Script]:
    """Rows that differ, a refusal among each five, and the script for them."""
    rows, told = [], {}
    for number in range(count):
        answer = f"This is answer number {number} of {count} [1]."
        rows.append(row(answer, user_input=f"What is number {number}?"))
        refuses = number % 5 == 0
        told[answer] = {
            "answer_relevancy": None if refuses else 1 + number % 5,
            "completeness": 1 + number % 4,
            "usefulness": 1 if refuses else None,
            "faithfulness": number % 2,
        }
    return rows, Script(told)


def serving() -> ScriptedServer:
    """Knows the answers above; its replies about ``UNREADABLE`` are none."""
    script = Script({**TOLD, UNREADABLE: TOLD[ANSWERED]}, justification="As told.")
    return ScriptedServer(script, faults=When(UNREADABLE, Garbage()), api_key=KEY)


def judge_of(server: ScriptedServer, **settings: Any) -> LLMJudge:
    chat = OpenAIChat("m", base_url=server.base_url, api_key=KEY, price=PRICE)
    return LLMJudge(chat, **{"retries": NEVER_AGAIN, **settings})


def model_of(server: ScriptedServer, kind: Any = openai.AsyncOpenAI, **settings: Any) -> Any:
    """What a user of RAGAS already has."""
    client = kind(api_key=KEY, base_url=server.base_url)
    return llm_factory("gpt-4o-mini", client=client, **settings)
