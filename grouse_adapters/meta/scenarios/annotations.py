"""Annotations from a scenario: what its statements are by construction."""

from __future__ import annotations

from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.scenarios.build import test_id
from grouse_adapters.meta.scenarios.checks import scenario_errors
from grouse_adapters.meta.scenarios.citations import without_citations
from grouse_adapters.meta.scenarios.model import Scenario
from grouse_adapters.meta.scenarios.plan import plans
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation

ANNOTATOR: Final = "scenario"
"""The annotator of labels that nobody gave: they follow from how the tests were built."""


def build_annotations(scenario: Scenario) -> list[Annotation]:
    """One annotation for the actual answer of each of the 16 tests, in type order.

    Statements of the answer are relevant and faithful; related, superfluous and off-topic ones are
    faithful and not relevant; the unsupported and the distorted one are relevant and not faithful.
    A statement whose citation is wrong or missing stays faithful: a reference holds its fact, and
    annotators judge facts. Openings and refusals are no statements.

    Raises:
        InputError: the scenario has an error. The first one is told.
    """
    for problem in scenario_errors(scenario):
        raise InputError(str(problem))
    return [
        Annotation(
            test_id=test_id(scenario, plan),
            annotator=ANNOTATOR,
            source="by construction",
            statements=tuple(
                AnnotatedStatement(
                    text=without_citations(statement.text),
                    relevant=statement.relevant,
                    faithful=statement.faithful,
                )
                for statement in plan.actual.statements
            ),
        )
        for plan in plans(scenario)
    ]
