"""When a native score is a success (arXiv 2409.06595, section 4.3), and what else can happen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.rows import NATIVE_METRICS, Framework, NativeMetric, NativeScore
from grouse_adapters.native.shares import MISSING, Annotated, Missing, annotated

Verdict = Literal[
    "success", "failure", "not_scored", "error", "nothing_to_rate", "no_annotation", "not_run"
]
"""How a native metric fared on one test.

``success`` and ``failure``: it gave a score, near enough to the annotators' mean or not.
``not_scored`` and ``error``: it gave none where there is something to rate; failures too.
``nothing_to_rate``, ``no_annotation``, ``not_run``: left out of every rate, and counted.
"""

RATED: Final[frozenset[Verdict]] = frozenset({"success", "failure", "not_scored", "error"})
"""The verdicts that make up the denominator of a success rate."""

THRESHOLD: Final = Decimal("0.2")
"""A success is nearer than this; the paper's value."""

DIGITS: Final = 9
"""Decimals that count: what a float adds behind them is no difference."""


class RunKey(NamedTuple):
    """What names a run of one framework's metric: rows that agree in all of this."""

    framework: Framework
    framework_version: str
    metric: NativeMetric
    variant: str
    model: str
    embedding_model: str | None

    @classmethod
    def of(cls, score: NativeScore) -> RunKey:
        """The run that a row belongs to."""
        return cls(
            score.framework,
            score.framework_version,
            score.metric,
            score.variant,
            score.model,
            score.embedding_model,
        )


@dataclass(frozen=True, slots=True)
class NativeResult:
    """One test under one native metric.

    Attributes:
        test: the test.
        score: what the metric said; None when it was not run on the test.
        mean: the annotators' mean, see ``Annotated.mean``.
        verdict: how the two compare.
        difference: native score minus mean, to nine decimals; None unless both are there.
    """

    test: UnitTest
    score: NativeScore | None
    mean: Fraction | Missing | None
    verdict: Verdict
    difference: Fraction | None

    @property
    def native(self) -> Fraction | None:
        """The native score to nine decimals; None without one."""
        said = None if self.score is None else self.score.score
        return None if said is None else exact_score(said)

    @property
    def share(self) -> Fraction | None:
        """The annotators' mean; None without one, whatever the cause."""
        return self.mean if isinstance(self.mean, Fraction) else None


def exact_score(score: float) -> Fraction:
    """A native score as the decimal that its float stands for, to nine decimals."""
    return round(Fraction(repr(score)), DIGITS)


def difference(score: float, mean: Fraction) -> Fraction:
    """Native score minus annotators' mean, rounded to nine decimals.

    2/3 and 7/15 are 0.2 apart, and so are 0.7 and 0.5, whatever their floats say.
    """
    return round(Fraction(repr(score)) - mean, DIGITS)


def verdict(
    score: NativeScore | None,
    mean: Fraction | Missing | None,
    threshold: Decimal = THRESHOLD,
) -> Verdict:
    """How a native metric fared on a test.

    Args:
        score: what it said; None when it was not run.
        mean: the annotators' mean; None with nothing to rate, MISSING without annotation.
        threshold: a success is strictly nearer than this.
    """
    if mean is MISSING:
        return "no_annotation"
    if score is None:
        return "not_run"
    if mean is None:
        return "nothing_to_rate"
    if score.score is None:
        return "error" if _is_error(score) else "not_scored"
    near = abs(difference(score.score, mean)) < Fraction(threshold)
    return "success" if near else "failure"


def without_score(score: NativeScore) -> Literal["not_scored", "error"] | None:
    """How a metric ended without a score; None when it gave one."""
    if score.score is not None:
        return None
    return "error" if _is_error(score) else "not_scored"


def check_threshold(threshold: Decimal) -> None:
    """Scores and shares lie between 0 and 1.

    Raises:
        ConfigurationError: the threshold is not above 0, or is above 1.
    """
    if not (threshold.is_finite() and 0 < threshold <= 1):
        raise ConfigurationError(
            f"The threshold {threshold} makes no sense: scores lie between 0 and 1, so choose a "
            f"number above 0 and up to 1, e.g. {THRESHOLD}."
        )


def last_rows(scores: Iterable[NativeScore]) -> list[NativeScore]:
    """One row per test and metric: the last of each key, in the order of the first."""
    found: dict[object, NativeScore] = {}
    for score in scores:
        found[score.key] = score
    return list(found.values())


def results(
    scores: Iterable[NativeScore],
    tests: Sequence[UnitTest],
    annotations: Iterable[Annotation],
    *,
    threshold: Decimal = THRESHOLD,
) -> dict[RunKey, list[NativeResult]]:
    """Every run's results, one per test and in the order of the tests.

    Rows belong to a test by its id, whatever their order; the last row of a test counts. Rows of
    tests that are not in ``tests`` are left out.

    Raises:
        ConfigurationError: the threshold makes no sense.
    """
    check_threshold(threshold)
    means = annotated(annotations)
    runs: dict[RunKey, dict[str, NativeScore]] = {}
    known = {test.id for test in tests}
    for score in last_rows(scores):
        if score.test_id in known:
            runs.setdefault(RunKey.of(score), {})[score.test_id] = score
    return {
        key: [
            _result(test, runs[key].get(test.id), means.get(test.id), key.metric, threshold)
            for test in tests
        ]
        for key in sorted(runs, key=_order)
    }


def _result(
    test: UnitTest,
    score: NativeScore | None,
    said: Annotated | None,
    metric: NativeMetric,
    threshold: Decimal,
) -> NativeResult:
    mean = MISSING if said is None else said.mean(metric)
    apart = None
    if score is not None and score.score is not None and isinstance(mean, Fraction):
        apart = difference(score.score, mean)
    return NativeResult(test, score, mean, verdict(score, mean, threshold), apart)


def _order(key: RunKey) -> tuple[object, ...]:
    """RAGAS first, as in the paper; then metrics in their order, variants by name."""
    return (
        key.framework != "ragas",
        key.framework_version,
        NATIVE_METRICS.index(key.metric),
        key.variant,
        key.model,
        key.embedding_model or "",
    )


def _is_error(score: NativeScore) -> bool:
    return score.error is not None or score.error_kind is not None
