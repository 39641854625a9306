"""Unit tests from a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.scenarios.checks import scenario_errors
from grouse_adapters.meta.scenarios.model import Scenario
from grouse_adapters.meta.scenarios.plan import Plan, plans
from grouse_adapters.meta.unit_tests import UnitTest

GOALS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "A complete, precise and rightly cited answer must get the highest marks.",
        2: "A rightful refusal that adds nothing must leave every grade empty.",
        3: "A rightful refusal with neighbouring, rightly cited facts must count as useful.",
        4: "An answer that gives all that incomplete references hold must get the highest marks.",
        5: "A rightful refusal among off-topic references must leave every grade empty.",
        6: "An absurd fact that a reference holds and the answer reports must cost nothing.",
        7: "An absurd neighbouring fact, reported after a rightful refusal, must cost nothing.",
        8: "Cited facts beside the question must lower answer relevancy and nothing else.",
        9: "Neighbouring facts given as if they were an answer must lower answer relevancy.",
        10: "Relevant facts that are left out must lower completeness and nothing else.",
        11: "A refusal where the references answer must get the lowest completeness.",
        12: "A refusal where the references answer stays incomplete, useful as its additions are.",
        13: "Cited facts on other subjects after a refusal must count as not useful.",
        14: "One citation of a reference that does not hold the fact must cost faithfulness.",
        15: "One statement without a citation or in no reference must cost faithfulness.",
        16: "One fact that says something else than the reference it cites must cost faithfulness.",
    }
)
"""What each type of test is for, by its number."""


def build_tests(scenario: Scenario) -> list[UnitTest]:
    """The 16 tests of a scenario, in type order; their ids are ``<scenario id>/<type number>``.

    Which references a test shows, and in which order, depends on nothing but the scenario's text:
    building again gives the same tests everywhere.

    Raises:
        InputError: the scenario has an error; warnings do not matter. The first one is told.
    """
    for problem in scenario_errors(scenario):
        raise InputError(str(problem))
    return [_test(scenario, plan) for plan in plans(scenario)]


def _test(scenario: Scenario, plan: Plan) -> UnitTest:
    identifier = test_id(scenario, plan)
    metadata = {"language": scenario.language}
    if scenario.domain is not None:
        metadata["domain"] = scenario.domain
    numbers = plan.numbers
    return UnitTest(
        id=identifier,
        set_id=scenario.id,
        test_type=plan.type.name,
        sample=Sample(
            id=identifier,
            input=scenario.question,
            references=tuple(scenario.references[key].text for key in plan.references),
            expected_output=plan.expected.text(numbers),
            actual_output=plan.actual.text(numbers),
            metadata=metadata,
        ),
        conditions=plan.type.conditions,
        goal=GOALS[plan.type.number],
        failure_modes=plan.failure_modes,
    )


def test_id(scenario: Scenario, plan: Plan) -> str:
    """``<scenario id>/<type number>``."""
    return f"{scenario.id}/{plan.type.number}"
