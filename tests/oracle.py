"""A scripted judge that knows the conditions of unit tests and fulfils every one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grouse_adapters.core.metrics import JUDGED_METRICS, MetricName
from grouse_adapters.core.quoting import quote
from grouse_adapters.meta.conditions import Conditions
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.testing import Script, ScriptedRequest

Changes = Mapping[str, Mapping[MetricName, int | None]]
"""Grades to give instead, by the id of the test."""


def fulfilling(conditions: Conditions) -> dict[MetricName, int | None]:
    """A grade per judged metric that fulfils its condition, the best one that does."""
    grades: dict[MetricName, int | None] = {}
    for metric in JUDGED_METRICS:
        condition = conditions.of(metric.name)
        fitting = [value for value in metric.scale.values if condition.holds(value)]
        grades[metric.name] = max(fitting) if fitting else None
    return grades


def oracle(tests: Sequence[UnitTest], changed: Changes | None = None) -> Script:
    """Answers every prompt about one of ``tests`` with grades that fulfil its conditions.

    Args:
        changed: exceptions.
    """
    changed = changed or {}

    def grades(request: ScriptedRequest) -> dict[str, int | None]:
        test = shown(tests, request.prompt)
        given = changed.get(test.id, {})
        return {
            str(name): given.get(name, grade) for name, grade in fulfilling(test.conditions).items()
        }

    return Script(grades, justification="As the conditions demand.")


def shown(tests: Iterable[UnitTest], prompt: str) -> UnitTest:
    """The test whose texts the prompt shows: the longest ones, since some answers begin others."""

    def length(test: UnitTest) -> int:
        texts = [quote(test.sample.expected_output or ""), quote(test.sample.actual_output)]
        if not all(text in prompt for text in texts):
            return -1
        more = [quote(text) for text in (test.sample.input, *test.sample.references)]
        return sum(map(len, texts)) + sum(len(text) for text in more if text in prompt)

    return max(tests, key=length)
