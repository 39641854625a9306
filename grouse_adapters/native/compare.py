"""Two benchmarks side by side: which tests flipped, and how the scores moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.compare import HINT, mcnemar
from grouse_adapters.meta.counts import percent
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.figures import mean, shown
from grouse_adapters.native.rows import Framework, NativeMetric, NativeScore
from grouse_adapters.native.rules import RATED, THRESHOLD, NativeResult, results

MOVED: Final = 5
"""How many of the largest moves are named."""


class MetricKey(NamedTuple):
    """A run as far as it must agree to be compared; version and models may differ."""

    framework: Framework
    metric: NativeMetric
    variant: str


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """What a benchmark's folder holds."""

    scores: Sequence[NativeScore]
    tests: Sequence[UnitTest]
    annotations: Sequence[Annotation]


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Side(_Figures):
    """One of the two runs.

    Attributes:
        framework: whose metric it is.
        metric: the metric.
        variant: how it was used.
        framework_versions: versions of the package.
        models: the models it asked.
        success_rate: percent of the compared tests that are a success.
    """

    framework: Framework
    metric: NativeMetric
    variant: str
    framework_versions: tuple[str, ...]
    models: tuple[str, ...]
    success_rate: float | None


class Move(_Figures):
    """A test whose score differs.

    Attributes:
        test_id: the test.
        test_type: its type.
        first: score in the first benchmark.
        second: score in the second.
        annotated: the annotators' mean.
    """

    test_id: str
    test_type: str
    first: float
    second: float
    annotated: float


class RunComparison(_Figures):
    """One framework's metric in both benchmarks, on the tests that count in both.

    Attributes:
        first: in the first benchmark.
        second: in the second.
        tests: how many tests are compared: rated in both, with the same content and mean.
        gained: ids of the tests that only the second is a success on, in the order of the first.
        lost: ids of the tests that only the first is a success on.
        p_value: McNemar's exact test, two-sided; None when scipy is missing.
        scored: how many of the tests have a score in both.
        mean_difference: second minus first score, over ``scored``.
        mean_absolute_difference: without sign.
        moved: the largest differences, the largest first.
    """

    first: Side
    second: Side
    tests: int
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    p_value: float | None = None
    scored: int
    mean_difference: float | None
    mean_absolute_difference: float | None
    moved: tuple[Move, ...] = ()


class BenchmarkComparison(_Figures):
    """Two benchmarks side by side.

    Attributes:
        threshold: of both.
        runs: what both hold; where they share no framework, metric and variant, the only run of a
            metric in the one against the only one in the other.
        only_first: runs that only the first holds, as ``framework metric variant``.
        only_second: runs that only the second holds.
        changed: ids that stand for other content, or other annotations, in the two; left out.
        hint: what to install when p-values are missing.
    """

    schema_version: Literal[1] = 1
    command: Literal["compare"] = "compare"
    threshold: float
    runs: tuple[RunComparison, ...]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    hint: str | None = None


def compare_benchmarks(
    first: BenchmarkData, second: BenchmarkData, *, threshold: Decimal = THRESHOLD
) -> BenchmarkComparison:
    """Compares two benchmarks test by test; a test is known by its id.

    A test counts where both were run on it and its annotation has a share. Not scored and failed
    calls are no success: from one to the other is no flip.

    Raises:
        InputError: they have no metric in common.
        ConfigurationError: the threshold makes no sense.
    """
    one, other = _by_metric(first, threshold), _by_metric(second, threshold)
    pairs = _pairs(list(one), list(other))
    if not pairs:
        raise InputError(
            "The two benchmarks have no metric in common: compare runs of the same framework, "
            "metric and variant, e.g. with two versions of the framework."
        )
    changed: dict[str, None] = {}
    runs = tuple(_compared(a, one[a], b, other[b], changed) for a, b in pairs)
    return BenchmarkComparison(
        threshold=float(threshold),
        runs=runs,
        only_first=tuple(" ".join(key) for key in one if key not in {a for a, _ in pairs}),
        only_second=tuple(" ".join(key) for key in other if key not in {b for _, b in pairs}),
        changed=tuple(changed),
        hint=HINT if any(run.p_value is None for run in runs) else None,
    )


def _by_metric(data: BenchmarkData, threshold: Decimal) -> dict[MetricKey, dict[str, NativeResult]]:
    found: dict[MetricKey, dict[str, NativeResult]] = {}
    runs = results(data.scores, data.tests, data.annotations, threshold=threshold)
    for key, rows in runs.items():
        by_id = found.setdefault(MetricKey(key.framework, key.metric, key.variant), {})
        by_id.update({row.test.id: row for row in rows if row.score is not None})
    return found


def _pairs(
    one: Sequence[MetricKey], other: Sequence[MetricKey]
) -> list[tuple[MetricKey, MetricKey]]:
    same = [(key, key) for key in one if key in set(other)]
    if same:
        return same
    pairs = []
    for metric in dict.fromkeys(key.metric for key in one):
        left = [key for key in one if key.metric == metric]
        right = [key for key in other if key.metric == metric]
        if len(left) == len(right) == 1:
            pairs.append((left[0], right[0]))
    return pairs


def _compared(
    key: MetricKey,
    one: Mapping[str, NativeResult],
    other_key: MetricKey,
    other: Mapping[str, NativeResult],
    changed: dict[str, None],
) -> RunComparison:
    pairs = []
    for name, before in one.items():
        after = other.get(name)
        if after is None:
            continue
        if before.mean != after.mean or not _same_content(before.test, after.test):
            changed[name] = None
        elif before.verdict in RATED and after.verdict in RATED:
            pairs.append((before, after))
    won = [(a.test.id, a.verdict == "success", b.verdict == "success") for a, b in pairs]
    gained = tuple(name for name, before, after in won if after and not before)
    lost = tuple(name for name, before, after in won if before and not after)
    moves = [
        (b.native - a.native, _move(a, b, a.native, b.native, a.share))
        for a, b in pairs
        if a.native is not None and b.native is not None and a.share is not None
    ]
    largest = sorted(moves, key=lambda move: -abs(move[0]))[:MOVED]
    return RunComparison(
        first=_side(key, [a for a, _ in pairs]),
        second=_side(other_key, [b for _, b in pairs]),
        tests=len(pairs),
        gained=gained,
        lost=lost,
        p_value=mcnemar(len(gained), len(lost)),
        scored=len(moves),
        mean_difference=shown(mean([apart for apart, _ in moves])),
        mean_absolute_difference=shown(mean([abs(apart) for apart, _ in moves])),
        moved=tuple(move for apart, move in largest if apart),
    )


def _side(key: MetricKey, rows: Sequence[NativeResult]) -> Side:
    scores = [row.score for row in rows if row.score is not None]
    return Side(
        framework=key.framework,
        metric=key.metric,
        variant=key.variant,
        framework_versions=tuple(sorted({score.framework_version for score in scores})),
        models=tuple(sorted({score.model for score in scores})),
        success_rate=percent((sum(row.verdict == "success" for row in rows), len(rows))),
    )


def _move(
    before: NativeResult, after: NativeResult, first: Fraction, second: Fraction, share: Fraction
) -> Move:
    return Move(
        test_id=before.test.id,
        test_type=after.test.test_type,
        first=float(round(first, 4)),
        second=float(round(second, 4)),
        annotated=float(round(share, 4)),
    )


def _same_content(one: UnitTest, other: UnitTest) -> bool:
    return one.sample.content_hash() == other.sample.content_hash()
