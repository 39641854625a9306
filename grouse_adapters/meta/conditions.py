"""What a unit test demands of each grade (arXiv 2409.06595, section 4.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName

Operator = Literal["==", "<", "<=", ">", ">="]
Outcome = Literal["passed", "failed", "unreadable"]
"""Of one metric in one test; ``unreadable``: the judge gave no usable grade. It never passes."""

_FORM: Final = re.compile(r"(?P<operator>==|<=|>=|<|>)\s*(?P<number>-?\d+(?:\.\d+)?)")
_NULL: Final = re.compile(r"==\s*(?:None|null)")


class Condition(BaseModel):
    """A demand on one grade.

    Attributes:
        operator: compares the grade with ``value``.
        value: in the metric's own unit; None with ``==``: the metric must not apply.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    operator: Operator
    value: float | None

    @classmethod
    def parse(cls, text: str) -> Condition:
        """From ``==5``, ``<5``, ``>=4`` or ``==None``.

        Raises:
            InputError: the text has another form.
        """
        plain = text.strip()
        if _NULL.fullmatch(plain):
            return cls(operator="==", value=None)
        match = _FORM.fullmatch(plain)
        if match is None:
            raise InputError(
                f"{text!r} is not a condition: write an operator (==, <, <=, >, >=) and a number, "
                "or ==None."
            )
        return cls.model_validate({"operator": match["operator"], "value": float(match["number"])})

    @property
    def is_null(self) -> bool:
        """Whether the metric must not apply."""
        return self.value is None

    def holds(self, value: float | None) -> bool:
        """Whether a grade fulfils the condition; None is "not applicable"."""
        if self.value is None or value is None:
            return self.value is None and value is None
        if self.operator == "==":
            return value == self.value
        if self.operator == "<":
            return value < self.value
        if self.operator == "<=":
            return value <= self.value
        if self.operator == ">":
            return value > self.value
        return value >= self.value

    def outcome(self, grade: Grade) -> Outcome:
        """How a grade fares; a failed grade is unreadable, never a pass."""
        if isinstance(grade, Graded):
            return "passed" if self.holds(grade.value) else "failed"
        if isinstance(grade, NotApplicable):
            return "passed" if self.holds(None) else "failed"
        return "unreadable"

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.operator}None"
        return f"{self.operator}{Decimal(str(self.value)).normalize():f}"  # never an exponent


class Conditions(BaseModel):
    """The demands of one unit test on the four judged metrics, and what follows for the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer_relevancy: Condition
    completeness: Condition
    usefulness: Condition
    faithfulness: Condition

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Conditions:
        """From the dataset's object: ``{"answer_relevancy_condition": "==5", ...}``.

        Raises:
            InputError: a condition is missing, unknown, not text, or can never be fulfilled.
        """
        found: dict[str, Condition] = {}
        keys = {f"{metric.name}_condition": metric for metric in JUDGED_METRICS}
        unknown = [str(key) for key in row if key not in keys]
        if unknown:
            raise InputError(f"the condition {unknown[0]!r} is unknown: use {', '.join(keys)}.")
        for key, metric in keys.items():
            text = row.get(key)
            if not isinstance(text, str):
                raise InputError(
                    f"the condition {key!r} is missing or not text: write one like '==5' or "
                    "'==None'."
                )
            condition = Condition.parse(text)
            if not condition.is_null and not any(map(condition.holds, metric.scale.values)):
                raise InputError(
                    f"no grade of {metric.title.lower()} ({metric.scale}) can fulfil {text!r} "
                    f"in {key!r}: correct the number."
                )
            found[metric.name] = condition
        return cls(**found)

    def as_row(self) -> dict[str, str]:
        """The dataset's object; ``parse`` reads it."""
        return {f"{m.name}_condition": str(self.of(m.name)) for m in JUDGED_METRICS}

    def of(self, metric: MetricName) -> Condition:
        """The metric's condition; of the derived two, what follows from which conditions are null.

        Both null: both must be 1. Only relevancy null: acceptance 0. Only completeness null:
        rejection 0. Otherwise neither applies (arXiv 2409.06595, section 3).
        """
        if METRICS[metric].judged:
            condition: Condition = getattr(self, metric)
            return condition
        refuses, unanswerable = self.answer_relevancy.is_null, self.completeness.is_null
        acceptance, rejection = {
            (True, True): (1.0, 1.0),
            (True, False): (0.0, None),
            (False, True): (None, 0.0),
            (False, False): (None, None),
        }[refuses, unanswerable]
        value = acceptance if metric == "positive_acceptance" else rejection
        return Condition(operator="==", value=value)

    def role(self, metric: MetricName) -> Literal["defect", "clean"] | None:
        """What the test is for the metric: ``defect`` when its condition excludes the top grade,
        ``clean`` when it admits it, None when the metric must not apply.
        """
        condition = self.of(metric)
        if condition.is_null:
            return None
        return "clean" if condition.holds(METRICS[metric].scale.values[-1]) else "defect"

    def skipped(self, metric: MetricName) -> bool:
        """Whether the pipeline makes no call for the metric when the others are graded right."""
        if metric == "usefulness":
            return not self.answer_relevancy.is_null
        if metric == "faithfulness":
            return self.answer_relevancy.is_null and self.usefulness.is_null
        return False
