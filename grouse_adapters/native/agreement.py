"""How far annotators agree: labels statement by statement, shares answer by answer."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.errors import InputError, MissingExtraError
from grouse_adapters.meta.alignment import require_stats
from grouse_adapters.meta.counts import percent
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation, Source
from grouse_adapters.native.rows import NativeMetric
from grouse_adapters.native.shares import MISSING, Missing, shares

Label = Literal["relevant", "faithful", "citation_right"]

LABELS: Final[tuple[Label, ...]] = get_args(Label)
PAPER_LARGEST: Final = 0.125
PAPER_MEAN: Final = 0.05
"""Differences between two annotators' shares in the paper (arXiv 2409.06595, section 4.3)."""

_LISTED: Final = 10
_DECIMALS: Final = 4
_ENDS: Final = " .,;:!?…\"'“”‘’«»()*_-–—"
_METRIC_OF: Final[Mapping[Label, NativeMetric]] = {
    "relevant": "answer_relevancy",
    "faithful": "faithfulness",
}
_Who = tuple[str, Source]
_Rows = Mapping[str, Annotation]
_Said = Fraction | Missing | None


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LabelAgreement(_Figures):
    """How alike annotators label.

    Attributes:
        statements: how many statements both annotators of a pair have and labelled.
        equal_statements: percent of them with the same label; None without any.
        tests: how many answers both annotators of a pair labelled.
        equal_tests: percent of them of which both give the same share of yes, or both say that
            there is nothing to rate. It does not depend on how the answer was cut.
        alpha: Krippendorff's alpha (nominal) over the statements; None where it is undefined.
        alpha_reason: why it is None.
    """

    statements: int
    equal_statements: float | None
    tests: int
    equal_tests: float | None
    alpha: float | None
    alpha_reason: str | None = None


class ShareAgreement(_Figures):
    """How near annotators' shares are.

    Attributes:
        compared: how many times two annotators gave a share of the same answer.
        mean_difference: mean of the differences, 0-1; None without any.
        largest_difference: the largest of them, 0-1.
        alpha: Krippendorff's alpha (interval) over the answers; None where it is undefined.
        alpha_reason: why it is None.
    """

    compared: int
    mean_difference: float | None
    largest_difference: float | None
    alpha: float | None
    alpha_reason: str | None = None


class Comparison(_Figures):
    """Two annotators, or all of them: figures over all are pooled over the pairs.

    Attributes:
        annotators: their names.
        tests: answers that two of them or more annotated.
        statements: statements that both annotators of a pair have, by their words.
        unmatched: statements that one of a pair has alone, because it cut or worded otherwise.
        one_sided: answers of which one of a pair says that there is nothing to rate, and the
            other rated something.
        labels: per label.
        shares: per metric.
    """

    annotators: tuple[str, ...]
    tests: int
    statements: int
    unmatched: int
    one_sided: int
    labels: dict[Label, LabelAgreement]
    shares: dict[NativeMetric, ShareAgreement]


class Disagreement(_Figures):
    """An answer of which two annotators give different shares.

    Attributes:
        test_id: the test.
        metric: whose share.
        annotators: the two.
        shares: what each gave, 0-1; None: nothing to rate.
        difference: between them; 1 when only one of them found something to rate.
    """

    test_id: str
    metric: NativeMetric
    annotators: tuple[str, str]
    shares: tuple[float | None, float | None]
    difference: float


class PaperDifferences(_Figures):
    """Differences between two annotators' shares in the paper, 0-1."""

    mean_difference: float = PAPER_MEAN
    largest_difference: float = PAPER_LARGEST


class AnnotationAgreement(_Figures):
    """The agreement of annotators.

    Attributes:
        annotators: names of the people, in the order of the rows.
        by_construction: names under which labels follow from how tests were made. They are in
            ``pairs``, never in ``together``.
        together: all people; None with fewer than two, or no answer in common.
        pairs: every two that share an answer.
        disagreements: the largest differences between two people, at most ten.
        paper: what the paper reports.
    """

    schema_version: Literal[1] = 1
    command: Literal["annotate"] = "annotate"
    annotators: tuple[str, ...]
    by_construction: tuple[str, ...] = ()
    together: Comparison | None
    pairs: tuple[Comparison, ...]
    disagreements: tuple[Disagreement, ...] = ()
    paper: PaperDifferences = Field(default_factory=PaperDifferences)


def annotation_agreement(annotations: Iterable[Annotation]) -> AnnotationAgreement:
    """Compares annotators answer by answer and statement by statement.

    Two statements are the same when their words are: case, spaces and punctuation at the ends do
    not count. Labels are compared on these alone, shares whatever the cut.

    Raises:
        InputError: somebody annotated a test twice, there are fewer than two annotators, or no
            two of them annotated the same test.
    """
    rows: dict[_Who, dict[str, Annotation]] = {}
    for annotation in annotations:
        own = rows.setdefault((annotation.annotator, annotation.source), {})
        if annotation.test_id in own:
            raise InputError(
                f"{annotation.annotator!r} annotated {annotation.test_id!r} twice: keep one of "
                "the two, or give two people two names."
            )
        own[annotation.test_id] = annotation
    if len(rows) < 2:
        raise InputError(
            "Agreement needs two annotators or more: let somebody else annotate the same tests."
        )
    people = {who: own for who, own in rows.items() if who[1] == "human"}
    pairs = [
        _comparison(dict(two))
        for two in itertools.combinations(rows.items(), 2)
        if two[0][1].keys() & two[1][1].keys()
    ]
    if not pairs:
        raise InputError("No two annotators annotated the same test: compare files of one suite.")
    together = _comparison(people) if len(people) > 1 else None
    return AnnotationAgreement(
        annotators=tuple(name for name, _ in people),
        by_construction=tuple(name for name, source in rows if source != "human"),
        together=together if together is not None and together.tests else None,
        pairs=tuple(pairs),
        disagreements=_disagreements(people),
    )


def _comparison(rows: Mapping[_Who, _Rows]) -> Comparison:
    units = [
        (one[test], other[test])
        for one, other in itertools.combinations(rows.values(), 2)
        for test in one
        if test in other
    ]
    matched = [_matched(one, other) for one, other in units]
    said = {label: [(_share(a, label), _share(b, label)) for a, b in units] for label in LABELS}
    both = [pair for pairs, _ in matched for pair in pairs]
    return Comparison(
        annotators=tuple(_shown(who) for who in rows),
        tests=len({one.test_id for one, _ in units}),
        statements=len(both),
        unmatched=sum(alone for _, alone in matched),
        one_sided=sum(shares(a).nothing_to_rate != shares(b).nothing_to_rate for a, b in units),
        labels={label: _labels_alike(label, both, said[label], rows) for label in LABELS},
        shares={
            metric: _shares_near(label, said[label], rows) for label, metric in _METRIC_OF.items()
        },
    )


def _labels_alike(
    label: Label,
    both: Sequence[tuple[AnnotatedStatement, AnnotatedStatement]],
    said: Sequence[tuple[_Said, _Said]],
    rows: Mapping[_Who, _Rows],
) -> LabelAgreement:
    pairs = [(getattr(one, label), getattr(other, label)) for one, other in both]
    pairs = [pair for pair in pairs if None not in pair]
    tests = [pair for pair in said if MISSING not in pair]
    equal = sum(one == other for one, other in pairs)
    equal_tests = sum(one == other for one, other in tests)
    alpha, reason = _alpha(
        [
            {
                (test, *name): float(value)
                for test, annotation in own.items()
                for name, statement in _named(annotation).items()
                if (value := getattr(statement, label)) is not None
            }
            for own in rows.values()
        ],
        "nominal",
        "statement",
    )
    return LabelAgreement(
        statements=len(pairs),
        equal_statements=percent((equal, len(pairs))),
        tests=len(tests),
        equal_tests=percent((equal_tests, len(tests))),
        alpha=alpha,
        alpha_reason=reason,
    )


def _shares_near(
    label: Label, said: Sequence[tuple[_Said, _Said]], rows: Mapping[_Who, _Rows]
) -> ShareAgreement:
    apart = [
        abs(one - other)
        for one, other in said
        if isinstance(one, Fraction) and isinstance(other, Fraction)
    ]
    alpha, reason = _alpha(
        [
            {
                (test,): float(share)
                for test, annotation in own.items()
                if isinstance(share := _share(annotation, label), Fraction)
            }
            for own in rows.values()
        ],
        "interval",
        "answer",
    )
    return ShareAgreement(
        compared=len(apart),
        mean_difference=_rounded(sum(apart, Fraction()) / len(apart)) if apart else None,
        largest_difference=_rounded(max(apart)) if apart else None,
        alpha=alpha,
        alpha_reason=reason,
    )


def _matched(
    one: Annotation, other: Annotation
) -> tuple[list[tuple[AnnotatedStatement, AnnotatedStatement]], int]:
    """The statements that both have, and how many one has alone."""
    if one.statements is None or other.statements is None:
        return [], 0
    ours, theirs = _named(one), _named(other)
    pairs = [(statement, theirs[name]) for name, statement in ours.items() if name in theirs]
    return pairs, len(ours) + len(theirs) - 2 * len(pairs)


def _named(annotation: Annotation) -> dict[tuple[str, int], AnnotatedStatement]:
    """The statements by their words, and by how often these came before."""
    found: dict[tuple[str, int], AnnotatedStatement] = {}
    seen: Counter[str] = Counter()
    for statement in annotation.statements or ():
        words = _words(statement.text)
        found[words, seen[words]] = statement
        seen[words] += 1
    return found


def _words(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.strip(_ENDS) or plain


def _share(annotation: Annotation, label: Label) -> _Said:
    if label != "citation_right":
        found = shares(annotation)
        share = found.of(_METRIC_OF[label])
        # one share alone: the other metric was not annotated
        return MISSING if share is None and not found.nothing_to_rate else share
    if annotation.statements is None:
        return MISSING
    labels = [statement.citation_right for statement in annotation.statements]
    if None in labels:
        return MISSING
    return Fraction(labels.count(True), len(labels)) if labels else None


def _disagreements(people: Mapping[_Who, _Rows]) -> tuple[Disagreement, ...]:
    found = []
    for (first, one), (second, other) in itertools.combinations(people.items(), 2):
        for test in one:
            if test not in other:
                continue
            for label, metric in _METRIC_OF.items():
                said = _share(one[test], label), _share(other[test], label)
                if MISSING in said or said[0] == said[1]:
                    continue
                exact = [share for share in said if isinstance(share, Fraction)]
                found.append(
                    Disagreement(
                        test_id=test,
                        metric=metric,
                        annotators=(first[0], second[0]),
                        shares=(_figure(said[0]), _figure(said[1])),
                        difference=_rounded(abs(exact[0] - exact[-1])) if len(exact) == 2 else 1.0,
                    )
                )
    found.sort(key=lambda row: -row.difference)
    return tuple(found[:_LISTED])


def _alpha(
    rows: Sequence[Mapping[tuple[object, ...], float]],
    level: Literal["nominal", "interval"],
    unit: str,
) -> tuple[float | None, str | None]:
    """Krippendorff's alpha over what two annotators or more rated; None, and why, without."""
    try:
        require_stats(("krippendorff",), subject="Krippendorff's alpha")
    except MissingExtraError as error:
        return None, str(error).removesuffix(".")
    import krippendorff

    names = Counter(name for row in rows for name in row)
    units = [name for name, times in names.items() if times > 1]
    if not units:
        return None, f"no {unit} was rated by two annotators"
    table = [[row.get(name, math.nan) for name in units] for row in rows]
    if len({value for row in table for value in row if not math.isnan(value)}) == 1:
        return None, "all ratings are the same"
    table = [row for row in table if not all(map(math.isnan, row))]
    alpha = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    return round(float(alpha), _DECIMALS), None


def _shown(who: _Who) -> str:
    name, source = who
    return name if source == "human" else f"{name} ({source})"


def _figure(said: _Said) -> float | None:
    return _rounded(said) if isinstance(said, Fraction) else None


def _rounded(value: Fraction) -> float:
    return float(round(value, _DECIMALS))
