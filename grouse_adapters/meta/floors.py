"""Judges that hardly read. Whoever does not beat them has not judged the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from grouse_adapters.core.grades import Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, METRIC_NAMES, Metric, MetricName
from grouse_adapters.core.pipeline import with_derived
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.unit_tests import UnitTest

JudgedGrades = Mapping[MetricName, int | None]
"""Per judged metric a value; None: not applicable."""

_LOWEST: Final = 1
_TOP: Final = 5


@dataclass(frozen=True)
class FloorJudge:
    """A judge as a pure function.

    Attributes:
        title: what it does, for people.
        judged: its grades of the four judged metrics.
    """

    title: str
    judged: Callable[[UnitTest], JudgedGrades]

    def grades(self, test: UnitTest) -> dict[MetricName, Grade]:
        """All six grades, the derived two by the pipeline's own rule."""
        grades = {metric: _grade(value) for metric, value in self.judged(test).items()}
        return with_derived(test.sample, METRIC_NAMES, grades)

    def outcomes(self, test: UnitTest) -> dict[MetricName, Outcome]:
        """How its six grades fare in the test."""
        return {
            metric: test.conditions.of(metric).outcome(grade)
            for metric, grade in self.grades(test).items()
        }


def constant_judge(tests: Sequence[UnitTest]) -> FloorJudge:
    """Says the same about every answer: per judged metric, what passes most of these tests.

    Null is one of the choices. Where two pass equally many, the higher grade is taken, and any
    grade rather than null.
    """
    best: dict[MetricName, int | None] = {
        metric.name: _best_grade(metric, tests) for metric in JUDGED_METRICS
    }
    shown = ", ".join(
        f"{metric.title.lower()} {'null' if best[metric.name] is None else best[metric.name]}"
        for metric in JUDGED_METRICS
    )
    return FloorJudge(f"says the same about every answer: {shown}", lambda test: best)


def refusal_only_judge(refusals: Sequence[str] = ()) -> FloorJudge:
    """Sees which answers refuse, and whether they say more; takes everything else for perfect.

    Args:
        refusals: refusal sentences of the judged system, besides those that are known anyway.
    """
    # Every command imports this module, and few of them read refusals.
    from grouse_adapters.lexical.answers import Reading
    from grouse_adapters.lexical.refusal import RefusalReader

    reader = RefusalReader(refusals)

    def judged(test: UnitTest) -> JudgedGrades:
        # Without the references: they would cost time, and it must not read them.
        read = Reading(test.sample.model_copy(update={"references": ()}), reader, None)
        refuses, says_more = read.actual.refuses, bool(read.actual.statements)
        unanswerable = read.expected is None or read.expected.refuses
        return {
            "answer_relevancy": None if refuses else _TOP,
            "completeness": None if unanswerable else _LOWEST if refuses else _TOP,
            "usefulness": 1 if refuses and says_more else None,
            "faithfulness": 1 if says_more else None,
        }

    return FloorJudge("reads only refusals and takes everything else for perfect", judged)


def _best_grade(metric: Metric, tests: Sequence[UnitTest]) -> int | None:
    conditions = [test.conditions.of(metric.name) for test in tests]
    # Best first, null last: max keeps the first of equals.
    choices: tuple[int | None, ...] = (*reversed(metric.scale.values), None)
    return max(choices, key=lambda value: sum(each.holds(value) for each in conditions))


def _grade(value: int | None) -> Grade:
    if value is None:
        return NotApplicable(reason="This judge says so without reading on.")
    return Graded(value=value)
