"""How closely one judge follows another, or people (arXiv 2409.06595, section 5)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.errors import InputError, MissingExtraError
from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, Metric, MetricName
from grouse_adapters.meta.counts import percent
from grouse_adapters.meta.elsewhere.judged import Judged
from grouse_adapters.meta.elsewhere.matching import same_texts

LEAST_PAIRS: Final = 3
"""With fewer common grades there is no rank correlation worth the name."""

_NULL: Final = "null"


class Confusion(BaseModel):
    """Which grades met which.

    Attributes:
        labels: the metric's grades in ascending order, then null (not applicable).
        counts: a row per grade of the truth, a column per grade of the judge; failed grades are
            left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: tuple[int | None, ...]
    counts: tuple[tuple[int, ...], ...]


class MetricAlignment(BaseModel):
    """One metric.

    Attributes:
        samples: how many samples both were asked about.
        failed_judge: how many of them have a failed grade of the judge; left out below.
        failed_truth: how many of them have a failed grade of the truth; left out below.
        graded: how many have a value, not null, on both sides.
        equal: percent of samples with equal grades, null among them; None without samples.
        spearman: rank correlation over the samples graded on both sides; for metrics of 1-5.
        macro_f1: mean of the F1 over the classes 0, 1 and null that occur on either side; for
            binary metrics. The same whichever side is the truth.
        reason: why ``spearman`` or ``macro_f1`` is None.
        confusion: which grades met which.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: int
    failed_judge: int
    failed_truth: int
    graded: int
    equal: float | None
    spearman: float | None = None
    macro_f1: float | None = None
    reason: str | None = None
    confusion: Confusion


class Alignment(BaseModel):
    """A judge against another that is taken for the truth.

    Attributes:
        judge: name of the judge that is looked at.
        truth: name of the one it is compared with.
        samples: how many samples both judged.
        only_judge: ids of the samples that only the judge judged.
        only_truth: ids of the samples that only the truth judged.
        changed: ids that stand for different questions or answers on the two sides; left out.
        metrics: per metric that both were asked, in table order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: Literal["align"] = "align"
    judge: str
    truth: str
    samples: int
    only_judge: tuple[str, ...] = ()
    only_truth: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    metrics: dict[MetricName, MetricAlignment] = Field(default_factory=dict)


def align(judge: Judged, truth: Judged) -> Alignment:
    """Compares two judges sample by sample; a sample is known by its id.

    Args:
        judge: the one that is looked at.
        truth: a strong judge, or people.

    Raises:
        InputError: they have no sample, or no metric, in common.
        MissingExtraError: scipy or scikit-learn is not installed.
    """
    require_stats(("scipy.stats", "sklearn.metrics"), subject="Alignment")
    one, other = judge.by_id, truth.by_id
    shared = [name for name in one if name in other]
    changed = tuple(n for n in shared if not same_texts(one[n].sample, other[n].sample))
    pairs = [(one[name], other[name]) for name in shared if name not in set(changed)]
    if not pairs:
        raise InputError(
            f"{judge.path} and {truth.path} have no sample in common: name what was judged with "
            "--tests, so that rows are matched to it."
        )
    metrics = {
        metric.name: _metric_alignment(metric, asked)
        for metric in METRICS.values()
        if (asked := _asked(metric.name, pairs))
    }
    if not metrics:
        raise InputError(f"{judge.path} and {truth.path} have no metric in common.")
    first, second = distinct_names([judge, truth])
    return Alignment(
        judge=first,
        truth=second,
        samples=len(pairs),
        only_judge=tuple(name for name in one if name not in other),
        only_truth=tuple(name for name in other if name not in one),
        changed=changed,
        metrics=metrics,
    )


def distinct_names(judged: Sequence[Judged]) -> list[str]:
    """The judges' names; where two are alike, with the names of their files."""
    names = [one.judge for one in judged]
    if len(set(names)) < len(names):
        names = [f"{one.judge} ({one.path.name or one.path})" for one in judged]
    if len(set(names)) < len(names):
        names = [f"{one.judge} ({one.path})" for one in judged]
    return [name if names.index(name) == n else f"{name} #{n + 1}" for n, name in enumerate(names)]


def label(grade: Grade) -> int | None:
    """A grade that did not fail: its value, or None for null."""
    return grade.value if isinstance(grade, Graded) else None


def _asked(
    metric: MetricName, pairs: Sequence[tuple[Judgement, Judgement]]
) -> list[tuple[Grade, Grade]]:
    return [
        (one.grades[metric], other.grades[metric])
        for one, other in pairs
        if metric in one.grades and metric in other.grades
    ]


def _metric_alignment(metric: Metric, pairs: Sequence[tuple[Grade, Grade]]) -> MetricAlignment:
    usable = [
        (label(one), label(other))
        for one, other in pairs
        if not isinstance(one, Failed) and not isinstance(other, Failed)
    ]
    graded = [(a, b) for a, b in usable if a is not None and b is not None]
    spearman = macro_f1 = reason = None
    if len(metric.scale.values) > 2:
        spearman, reason = rank_correlation(graded)
    else:
        macro_f1, reason = class_f1(usable)
    return MetricAlignment(
        samples=len(pairs),
        failed_judge=sum(isinstance(one, Failed) for one, _ in pairs),
        failed_truth=sum(isinstance(other, Failed) for _, other in pairs),
        graded=len(graded),
        equal=percent((sum(a == b for a, b in usable), len(usable))),
        spearman=spearman,
        macro_f1=macro_f1,
        reason=reason,
        confusion=_confusion(metric, usable),
    )


def rank_correlation(pairs: Sequence[tuple[int, int]]) -> tuple[float | None, str | None]:
    """Spearman's correlation of pairs of grades; None, and why, where it is undefined."""
    from scipy.stats import spearmanr

    if len(pairs) < LEAST_PAIRS:
        few = f"fewer than {LEAST_PAIRS} samples have a grade on both sides"
        return None, few
    judge, truth = [a for a, _ in pairs], [b for _, b in pairs]
    for values, whose in ((judge, "the judge"), (truth, "the truth")):
        if len(set(values)) == 1:
            return None, f"{whose} always gave {values[0]}"
    return float(spearmanr(judge, truth).statistic), None


def class_f1(pairs: Sequence[tuple[int | None, int | None]]) -> tuple[float | None, str | None]:
    """Macro F1 of pairs of grades (judge, truth), null being a class of its own."""
    from sklearn.metrics import f1_score  # type: ignore[import-untyped]  # ships no types

    if not pairs:
        return None, "every sample has a failed grade on one side"
    judge, truth = _labels(pairs)
    return float(f1_score(truth, judge, average="macro", zero_division=0)), None


def _confusion(metric: Metric, pairs: Sequence[tuple[int | None, int | None]]) -> Confusion:
    from sklearn.metrics import confusion_matrix

    labels: tuple[int | None, ...] = (*metric.scale.values, None)
    if not pairs:
        return Confusion(labels=labels, counts=tuple((0,) * len(labels) for _ in labels))
    judge, truth = _labels(pairs)
    counts = confusion_matrix(truth, judge, labels=[_word(value) for value in labels])
    return Confusion(labels=labels, counts=tuple(tuple(map(int, row)) for row in counts))


def _labels(pairs: Sequence[tuple[int | None, int | None]]) -> tuple[list[str], list[str]]:
    return [_word(a) for a, _ in pairs], [_word(b) for _, b in pairs]


def _word(value: int | None) -> str:
    return _NULL if value is None else str(value)


def require_stats(modules: Sequence[str], *, subject: str) -> None:
    """Imports modules of the extra ``stats``.

    Raises:
        MissingExtraError: one is not installed.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            missing = error.name or module
            raise MissingExtraError(
                "stats", f"needs {missing.split('.')[0]}, which is not installed", subject=subject
            ) from None


def asked_metrics(judged: Sequence[Mapping[str, Judgement]]) -> tuple[MetricName, ...]:
    """The metrics that any of the judges was asked, in table order."""
    found = {metric for rows in judged for row in rows.values() for metric in row.grades}
    return tuple(name for name in METRIC_NAMES if name in found)
