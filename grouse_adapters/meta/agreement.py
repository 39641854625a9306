"""How far annotators, or judges, agree (arXiv 2409.06595, Table 5)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed, Grade, Judgement
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, Metric, MetricName
from grouse_adapters.meta.alignment import asked_metrics, distinct_names, label, require_stats
from grouse_adapters.meta.counts import Share, rounded
from grouse_adapters.meta.elsewhere.judged import Judged
from grouse_adapters.meta.pass_rates import TOTAL, pass_rates_of
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.unit_tests import UnitTest

Level = Literal["ordinal", "nominal"]
Rates = dict[str, float | None]
"""Percent per metric, and ``total``: the mean of the six, None when one is missing."""

_NULL_CODE: Final = -1.0
"""Stands for null where null is a category; no grade is negative."""


class Alpha(BaseModel):
    """Krippendorff's alpha of one metric.

    Attributes:
        level: ``ordinal``: null and failed grades are missing; ``nominal``: null is a category
            beside 0 and 1, failed grades are missing.
        alpha: 1 is perfect agreement, 0 is chance; None where it is undefined.
        reason: why it is None.
        samples: how many samples have a usable grade of two annotators or more.
        null_alpha: nominal alpha over "null" against "graded", for metrics of 1-5: do the
            annotators agree on when the metric applies? None for binary metrics.
        null_reason: why it is None, for metrics of 1-5.
        failed: how many grades failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    alpha: float | None
    reason: str | None = None
    samples: int
    null_alpha: float | None = None
    null_reason: str | None = None
    failed: int = 0


class PairAgreement(BaseModel):
    """Two annotators.

    Attributes:
        annotators: their names.
        samples: how many samples both judged.
        equal_grades: percent of samples that got equal grades, null among them; samples with a
            failed grade are left out.
        equal_outcomes: percent of tests that both pass or both do not pass; None without tests.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    annotators: tuple[str, str]
    samples: int
    equal_grades: Rates
    equal_outcomes: Rates | None = None


class Agreement(BaseModel):
    """Two or more annotators of the same samples.

    Attributes:
        annotators: their names, in the order given.
        samples: how many samples two of them or more judged.
        tests: how many of these are unit tests; None without tests.
        alpha: Krippendorff's alpha per metric, in table order.
        equal_grades: mean of the pairs' rates.
        equal_outcomes: mean of the pairs' rates; None without tests.
        pairs: every two annotators that share a sample.
        pass_rate: per annotator, percent of tests passed; None without tests.
        mean_pass_rate: mean of the annotators' rates; None without tests.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: Literal["agreement"] = "agreement"
    annotators: tuple[str, ...]
    samples: int
    tests: int | None = None
    alpha: dict[MetricName, Alpha] = Field(default_factory=dict)
    equal_grades: Rates
    equal_outcomes: Rates | None = None
    pairs: tuple[PairAgreement, ...] = ()
    pass_rate: dict[str, Rates] | None = None
    mean_pass_rate: Rates | None = None


def agreement(judged: Sequence[Judged], tests: Sequence[UnitTest] | None = None) -> Agreement:
    """Compares annotators sample by sample; a sample is known by its id.

    Args:
        judged: what each annotator said; two or more.
        tests: the unit tests that were judged, for outcomes and pass rates.

    Raises:
        InputError: there are fewer than two annotators, or no two of them share a sample.
        MissingExtraError: krippendorff is not installed.
    """
    require_stats(("krippendorff",), subject="Agreement")
    if len(judged) < 2:
        raise InputError("Agreement needs two files of grades or more: name them all.")
    names = distinct_names(judged)
    rows = [one.by_id for one in judged]
    by_test = None if tests is None else {test.id: test for test in tests}
    pairs = []
    shares: list[_PairShares] = []
    for (first, one), (second, other) in itertools.combinations(zip(names, rows, strict=True), 2):
        found = _pair(one, other, by_test)
        if found.samples:
            shares.append(found)
            pairs.append(found.shown((first, second)))
    if not pairs:
        raise InputError(
            "No two files have a sample in common: name what was judged with --tests, so that rows "
            "are matched to it."
        )
    ids = list(dict.fromkeys(name for found in rows for name in found))
    common = [name for name in ids if sum(name in found for found in rows) > 1]
    passed = None if by_test is None else dict(zip(names, _pass_rates(rows, by_test), strict=True))
    return Agreement(
        annotators=tuple(names),
        samples=len(common),
        tests=None if by_test is None else sum(name in by_test for name in common),
        alpha={m: _alpha(METRICS[m], rows, common) for m in asked_metrics(rows)},
        equal_grades=_mean([pair.grades for pair in shares]),
        equal_outcomes=None if by_test is None else _mean([pair.outcomes for pair in shares]),
        pairs=tuple(pairs),
        pass_rate=passed,
        mean_pass_rate=None if passed is None else _mean_rates(list(passed.values())),
    )


class _PairShares:
    """Equal cells of all cells, per metric, of two annotators."""

    def __init__(self, samples: int, *, with_tests: bool) -> None:
        self.samples = samples
        self.grades: dict[MetricName, Share] = {}
        self.outcomes: dict[MetricName, Share] = {}
        self._with_tests = with_tests

    def shown(self, annotators: tuple[str, str]) -> PairAgreement:
        return PairAgreement(
            annotators=annotators,
            samples=self.samples,
            equal_grades=_mean([self.grades]),
            equal_outcomes=_mean([self.outcomes]) if self._with_tests else None,
        )


def _pair(
    one: Mapping[str, Judgement],
    other: Mapping[str, Judgement],
    tests: Mapping[str, UnitTest] | None,
) -> _PairShares:
    shared = [name for name in one if name in other]
    found = _PairShares(len(shared), with_tests=tests is not None)
    for metric in METRIC_NAMES:
        asked = [n for n in shared if metric in one[n].grades and metric in other[n].grades]
        pairs = [(one[n].grades[metric], other[n].grades[metric]) for n in asked]
        usable = [pair for pair in pairs if not any(isinstance(g, Failed) for g in pair)]
        found.grades[metric] = _share(label(a) == label(b) for a, b in usable)
        if tests is not None:
            passes = [
                [tests[n].conditions.of(metric).outcome(grade) == "passed" for grade in pair]
                for n, pair in zip(asked, pairs, strict=True)
                if n in tests
            ]
            found.outcomes[metric] = _share(a == b for a, b in passes)
    return found


def _share(equal: Iterable[bool]) -> Share:
    cells = list(equal)
    return sum(cells), len(cells)


def _mean(pairs: Sequence[Mapping[MetricName, Share]]) -> Rates:
    """Mean over the pairs that have such cells at all; rounded once."""
    fractions: dict[MetricName, Fraction | None] = {}
    for metric in METRIC_NAMES:
        parts = [Fraction(*share) for pair in pairs if (share := pair[metric])[1]]
        fractions[metric] = sum(parts, Fraction()) / len(parts) if parts else None
    return {**{m: rounded([part]) for m, part in fractions.items()}, TOTAL: _total(fractions)}


def _total(fractions: Mapping[MetricName, Fraction | None]) -> float | None:
    return rounded(fractions.values())


def _pass_rates(
    rows: Sequence[Mapping[str, Judgement]], tests: Mapping[str, UnitTest]
) -> list[Rates]:
    return [
        pass_rates_of(TestResult(tests[name], row) for name, row in found.items() if name in tests)
        for found in rows
    ]


def _mean_rates(rates: Sequence[Rates]) -> Rates:
    mean: Rates = {}
    for key in (*METRIC_NAMES, TOTAL):
        known = [rate for row in rates if (rate := row.get(key)) is not None]
        # two decimals as they are shown, so that the mean is that of the figures above it
        parts = [Fraction(str(rate)) / 100 for rate in known]
        mean[key] = rounded(parts) if len(parts) == len(rates) else None
    return mean


def _alpha(metric: Metric, rows: Sequence[Mapping[str, Judgement]], common: Sequence[str]) -> Alpha:
    grades = [
        [found[name].grades.get(metric.name) if name in found else None for name in common]
        for found in rows
    ]
    wide = len(metric.scale.values) > 2
    level: Level = "ordinal" if wide else "nominal"
    table = _coded(grades, lambda value: math.nan if wide and value is None else _code(value))
    alpha, reason = krippendorff_alpha(table, level)
    null_alpha = null_reason = None
    if wide:
        applies = _coded(grades, lambda value: float(value is not None))
        null_alpha, null_reason = krippendorff_alpha(applies, "nominal")
    return Alpha(
        level=level,
        alpha=alpha,
        reason=reason,
        samples=len(_pairable(table)),
        null_alpha=null_alpha,
        null_reason=null_reason,
        failed=sum(isinstance(grade, Failed) for row in grades for grade in row),
    )


def krippendorff_alpha(
    table: Sequence[Sequence[float]], level: Level
) -> tuple[float | None, str | None]:
    """Krippendorff's alpha; None, and why, where it is undefined.

    Args:
        table: a row per annotator, a column per sample; NaN is missing.
        level: which differences weigh more than others.
    """
    import krippendorff

    units = _pairable(table)
    if not units:
        return None, "no sample has a usable grade of two annotators"
    values = {value for unit in units for value in unit if not math.isnan(value)}
    if len(values) == 1:
        return None, "all usable grades are the same"
    reliability = [list(column) for column in zip(*units, strict=True)]
    alpha = krippendorff.alpha(reliability_data=reliability, level_of_measurement=level)
    return float(alpha), None


def _pairable(table: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    """The samples with two values or more: only they count."""
    return [
        unit
        for unit in zip(*table, strict=True)
        if sum(not math.isnan(value) for value in unit) > 1
    ]


def _coded(
    grades: Sequence[Sequence[Grade | None]], code: Callable[[int | None], float]
) -> list[list[float]]:
    return [
        [
            math.nan if grade is None or isinstance(grade, Failed) else code(label(grade))
            for grade in row
        ]
        for row in grades
    ]


def _code(value: int | None) -> float:
    return _NULL_CODE if value is None else float(value)
