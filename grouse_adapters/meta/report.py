"""The figures of a meta-evaluation: ``report.json``. Rates are percent with two decimals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.report.aggregates import Report

Interval = tuple[float, float]
"""95 % interval in percent, by bootstrap over sets; None stands where there is one set only."""


@dataclass(frozen=True)
class TestResult:
    """A unit test and what the judge said about it."""

    __test__ = False  # no test class, whatever pytest thinks of the name

    test: UnitTest
    judgement: Judgement

    @cached_property
    def outcomes(self) -> dict[MetricName, Outcome]:
        """How each judged or derived metric fared, in table order."""
        return self.test.outcomes(self.judgement)


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Detection(_Figures):
    """How well defects are told from clean answers, for one metric.

    A test is a defect test when its condition excludes the metric's top grade, and a clean test
    when it admits it; tests in which the metric must not apply are left out. Detected means that
    the grade fulfils the condition.

    Attributes:
        sensitivity: percent of defect tests that are detected; None without any.
        specificity: percent of clean tests whose condition is fulfilled; None without any.
        balanced_accuracy: mean of the two; None when either is None.
        defect: number of defect tests.
        clean: number of clean tests.
        sensitivity_interval: 95 % interval of ``sensitivity``.
        specificity_interval: 95 % interval of ``specificity``.
        balanced_accuracy_interval: 95 % interval of ``balanced_accuracy``.
    """

    sensitivity: float | None
    specificity: float | None
    balanced_accuracy: float | None
    defect: int
    clean: int
    sensitivity_interval: Interval | None = None
    specificity_interval: Interval | None = None
    balanced_accuracy_interval: Interval | None = None


class TypeFigures(_Figures):
    """One test type.

    Attributes:
        tests: number of tests.
        pass_rate: percent passed per metric, and ``total``.
        pass_rate_interval: 95 % intervals under the same keys.
        detection: per judged metric that applies in this type.
    """

    __test__ = False

    tests: int
    pass_rate: dict[str, float | None]
    pass_rate_interval: dict[str, Interval | None] = Field(default_factory=dict)
    detection: dict[MetricName, Detection] = Field(default_factory=dict)


class FailureModeFigures(Detection):
    """One failure mode: its defect tests against the clean tests of the metric that must see it.

    Attributes:
        title: what goes wrong.
        metric: the metric that must see it.
    """

    title: str
    metric: MetricName


class Floor(_Figures):
    """What a judge that hardly reads reaches on the same tests.

    Attributes:
        title: what it does.
        pass_rate: percent passed per metric, and ``total``.
        detection: per judged metric.
    """

    title: str
    pass_rate: dict[str, float | None]
    detection: dict[MetricName, Detection]


class PublishedJudge(_Figures):
    """A judge's published pass rates on the published tests, made with other prompts.

    Attributes:
        judge: its name in the paper.
        setting: how it was asked, e.g. ``one prompt per metric``.
        source: where the figures stand.
        pass_rate: percent passed per metric, and ``total``.
    """

    judge: str
    setting: str
    source: str
    pass_rate: dict[str, float | None]


class MetaReport(Report):
    """The figures of a meta-evaluation; ``Report`` holds what it cost and the means.

    Attributes:
        tests: how many tests were judged.
        sets: how many sets they form.
        source: where the tests come from, e.g. ``bundled``.
        pass_rate: percent passed per metric, and ``total``, the mean of the six (None when not
            all six were graded).
        pass_rate_interval: 95 % intervals under the same keys.
        unreadable: per metric, how many grades were missing because a reply could not be used.
        detection: per judged metric.
        by_type: per test type, in the order of the types.
        by_failure_mode: per failure mode FM1 to FM7 that has tests.
        floors: ``constant`` and ``refusal_only``.
        published: published judges; None unless the tests are the published ones.
    """

    tests: int
    sets: int
    source: str
    pass_rate: dict[str, float | None]
    pass_rate_interval: dict[str, Interval | None] = Field(default_factory=dict)
    unreadable: dict[MetricName, int] = Field(default_factory=dict)
    detection: dict[MetricName, Detection]
    by_type: dict[str, TypeFigures]
    by_failure_mode: dict[str, FailureModeFigures]
    floors: dict[Literal["constant", "refusal_only"], Floor]
    published: tuple[PublishedJudge, ...] | None = None
