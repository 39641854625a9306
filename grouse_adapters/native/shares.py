"""From annotations to shares: what one annotator says, and the mean of several, exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import combinations
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation, Source
from grouse_adapters.native.rows import NATIVE_METRICS, NativeMetric

_NAMED: Final = 3


class Missing(Enum):
    """Type of ``MISSING``."""

    ANNOTATION = "no annotation"


MISSING: Final = Missing.ANNOTATION
"""Stands where nobody annotated; None stands where there was nothing to rate."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What one annotator says about one answer.

    Attributes:
        answer_relevancy: share of the statements that answer the question, 0-1; None without.
        faithfulness: share of the statements that a reference holds, 0-1; None without.
    """

    answer_relevancy: Fraction | None
    faithfulness: Fraction | None

    def of(self, metric: NativeMetric) -> Fraction | None:
        """The metric's share."""
        return self.faithfulness if metric == "faithfulness" else self.answer_relevancy

    @property
    def nothing_to_rate(self) -> bool:
        """Whether the answer has no statements, e.g. because it only refuses."""
        return self.answer_relevancy is None and self.faithfulness is None


@dataclass(frozen=True, slots=True)
class AnnotatedShare:
    """What all annotators say about one answer under one metric.

    Attributes:
        mean: of their shares, exact; None when all of them found nothing to rate.
        annotators: how many gave a share.
        without: how many found nothing to rate.
        differences: between each two of those who gave a share.
    """

    mean: Fraction | None
    annotators: int
    without: int
    differences: tuple[Fraction, ...] = ()

    @property
    def largest_difference(self) -> Fraction | None:
        """Between two annotators; None with fewer than two."""
        return max(self.differences, default=None)

    @property
    def mean_difference(self) -> Fraction | None:
        """Over all pairs of annotators; None with fewer than two."""
        if not self.differences:
            return None
        return sum(self.differences, Fraction()) / len(self.differences)


@dataclass(frozen=True, slots=True)
class Annotated:
    """All annotations of one test.

    Attributes:
        test_id: the test.
        shares: per metric that somebody annotated.
        sources: where the annotations come from.
    """

    test_id: str
    shares: Mapping[NativeMetric, AnnotatedShare]
    sources: frozenset[Source]

    def mean(self, metric: NativeMetric) -> Fraction | Missing | None:
        """The annotators' mean; None with nothing to rate, MISSING where nobody annotated."""
        found = self.shares.get(metric)
        return MISSING if found is None else found.mean


def shares(annotation: Annotation) -> Shares:
    """The shares of one annotation, as exact fractions.

    Statements are counted. Shares that were given as numbers are read as the decimals that stand in
    the file: 0.7 is 7/10. No statements means no share.
    """
    statements = annotation.statements
    if statements is None:
        return Shares(_exact(annotation.answer_relevancy), _exact(annotation.faithfulness))
    if not statements:
        return Shares(None, None)
    count = len(statements)
    return Shares(
        Fraction(sum(statement.relevant for statement in statements), count),
        Fraction(sum(statement.faithful for statement in statements), count),
    )


def annotated(annotations: Iterable[Annotation]) -> dict[str, Annotated]:
    """The annotations per test: means over the annotators and how far these are apart.

    The mean is over those who gave a share. Who gave one of the two shares alone did not annotate
    the other metric: an answer that has statements has both shares.
    """
    rows: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        rows.setdefault(annotation.test_id, []).append(annotation)
    return {test_id: _annotated(test_id, found) for test_id, found in rows.items()}


def check_annotations(tests: Collection[UnitTest], annotations: Collection[Annotation]) -> None:
    """Finds out, before anything is paid for, whether annotations and tests belong together.

    Raises:
        InputError: an annotation is of a test that is not there, an annotator is there twice for
            one test, or no test is annotated at all.
    """
    known = {test.id for test in tests}
    unknown = list(dict.fromkeys(a.test_id for a in annotations if a.test_id not in known))
    if unknown:
        named = ", ".join(map(repr, unknown[:_NAMED]))
        more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        raise InputError(
            f"The annotations are about tests that are not there ({named}{more}): name the tests "
            "that were annotated, or remove these annotations."
        )
    seen: set[tuple[str, str]] = set()
    for annotation in annotations:
        who = (annotation.test_id, annotation.annotator)
        if who in seen:
            raise InputError(
                f"{annotation.annotator!r} annotated {annotation.test_id!r} twice: keep one of "
                "the two annotations."
            )
        seen.add(who)
    if not annotations:
        raise InputError(
            "No test is annotated: name a file with --annotations, or make one with "
            "'grouse-adapters annotate'."
        )


def _annotated(test_id: str, rows: Sequence[Annotation]) -> Annotated:
    said = [shares(row) for row in rows]
    found = {metric: _share(metric, said) for metric in NATIVE_METRICS}
    return Annotated(
        test_id=test_id,
        shares={metric: share for metric, share in found.items() if share is not None},
        sources=frozenset(row.source for row in rows),
    )


def _share(metric: NativeMetric, said: Sequence[Shares]) -> AnnotatedShare | None:
    given = [share for one in said if (share := one.of(metric)) is not None]
    without = sum(one.nothing_to_rate for one in said)
    if not given and not without:
        return None
    return AnnotatedShare(
        mean=sum(given, Fraction()) / len(given) if given else None,
        annotators=len(given),
        without=without,
        differences=tuple(abs(one - other) for one, other in combinations(given, 2)),
    )


def _exact(share: float | None) -> Fraction | None:
    # repr gives the shortest decimal, which is what was written; the float itself is next to it
    return None if share is None else Fraction(repr(share))
