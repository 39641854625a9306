"""The figures of a benchmark: ``report.json``.

Rates are percent with two decimals; shares, scores and their differences have four.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.report import Interval
from grouse_adapters.native.rows import Framework, NativeMetric
from grouse_adapters.native.rules import Verdict

AnnotationKind = Literal["human", "by construction", "mixed"]

CLEAN: Final = "none"
"""Key of the reaction to answers without a failure, next to FM1 to FM7."""


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnnotatorFigures(_Figures):
    """How the annotators of one metric agree.

    Attributes:
        tests: how many tests have a share.
        nothing_to_rate: in how many every annotator found nothing to rate.
        split: in how many some found nothing to rate and others gave a share.
        several: how many have the shares of two or more annotators.
        pairs: how many pairs of annotators these make, over all tests.
        largest_difference: between two annotators of one test; None without a pair.
        mean_difference: over all pairs; None without one.
    """

    tests: int
    nothing_to_rate: int
    split: int
    several: int
    pairs: int
    largest_difference: float | None
    mean_difference: float | None


class PublishedAnnotators(_Figures):
    """The paper's three annotators (arXiv 2409.06595, section 4.3), to compare with."""

    annotators: int = 3
    largest_difference: float = 0.125
    mean_difference: float = 0.05


class NothingToRate(_Figures):
    """What the framework made of answers in which the annotators found nothing to rate.

    Attributes:
        scored: it gave a score all the same.
        perfect: how many of these are 1, mostly because it extracted nothing.
        not_scored: it gave none (RAGAS' NaN, DeepEval's None).
        errors: it failed.
    """

    scored: int = 0
    perfect: int = 0
    not_scored: int = 0
    errors: int = 0


class NativeTypeFigures(_Figures):
    """One test type.

    Attributes:
        tests: how many tests.
        rated: how many of them count: run, and their annotation has a share.
        scored: how many of these have a score.
        success_rate: percent of ``rated`` that are a success; None without any.
        judge_pass_rate: percent of ``rated`` whose GroUSE condition the chosen judge fulfils.
    """

    tests: int
    rated: int
    scored: int
    success_rate: float | None
    judge_pass_rate: float | None = None


class WorstCase(_Figures):
    """A score far from the annotators.

    Attributes:
        test_id: the test.
        set_id: its set.
        test_type: its type.
        verdict: success or failure.
        score: what the framework's metric said.
        annotated: the annotators' mean.
        difference: score minus mean.
        reason: the framework's own reasoning, as far as it gives one.
    """

    test_id: str
    set_id: str
    test_type: str
    verdict: Verdict
    score: float
    annotated: float
    difference: float
    reason: str | None = None


class Reaction(_Figures):
    """How the native score moves from a set's perfect answer to answers with one failure mode.

    The perfect answer is the set's "Highest marks 1". A drop is its score minus the test's.

    Attributes:
        title: what goes wrong.
        metric: the GroUSE metric that must see it; None for answers without a failure.
        tests: tests with the failure mode whose set has a perfect answer; both were run.
        compared: how many of them have a score, and so has the perfect answer.
        mean_drop: over ``compared``; None without any.
        dropped: how many of ``compared`` drop by at least the threshold.
        dropped_rate: the same in percent.
        dropped_interval: 95 % interval of ``dropped_rate``.
        annotated_drop: mean drop of the annotators' mean, over those of ``compared`` where both
            answers have a share: what a metric that follows the annotators would show.
        judge_tests: tests with the failure mode whose GroUSE condition demands that it is seen, and
            which the chosen judge judged.
        judge_seen: percent of them in which the judge's grade fulfils that condition.
    """

    title: str
    metric: MetricName | None
    tests: int
    compared: int
    mean_drop: float | None
    dropped: int
    dropped_rate: float | None
    dropped_interval: Interval | None = None
    annotated_drop: float | None = None
    judge_tests: int = 0
    judge_seen: float | None = None


class Beside(_Figures):
    """What the GroUSE metric of the same name says, by the chosen judge, on the rated tests.

    Attributes:
        judge: its name.
        tests: how many of the rated tests it judged.
        pass_rate: percent of them whose condition its grade fulfils; None without any.
        interval: 95 % interval of ``pass_rate``.
        unreadable: how many have no usable grade; not passed.
    """

    judge: str
    tests: int
    pass_rate: float | None
    interval: Interval | None
    unreadable: int


class NativeRun(_Figures):
    """One framework's metric in one variant.

    ``tests = rated + nothing_to_rate + no_annotation + not_run`` and
    ``rated = scored + not_scored + errors``.

    Attributes:
        framework: whose metric it is.
        framework_version: version of that package.
        metric: the metric.
        variant: how it was used.
        model: the model it asked.
        embedding_model: the model it asked for embeddings; None when it needs none.
        threshold: a success is strictly nearer to the annotators' mean than this.
        annotations: where the annotations come from.
        tests: how many tests there are.
        rated: how many make up the denominator: run, and their annotation has a share.
        scored: how many of these have a score.
        successes: how many of these are near enough.
        success_rate: percent of ``rated`` that are a success; None without any.
        interval: 95 % interval of ``success_rate``; None with fewer than two sets.
        mae: mean absolute difference over ``scored``.
        spearman: rank correlation of scores and means over ``scored``.
        spearman_reason: why there is none.
        not_scored: rated tests without a score and without an error; failures.
        errors: rated tests that ended in an error; failures.
        nothing_to_rate: tests whose annotation has no share; left out of all of the above.
        nothing_to_rate_as: what the framework made of them.
        no_annotation: tests that nobody annotated; left out.
        not_run: annotated tests that the run holds no row of; left out.
        calls: answered calls to the model, those of repeated tests among them.
        embedding_calls: answered calls for embeddings.
        tokens: of both.
        usage: the tokens, in and out apart.
        cpu_seconds: processor time over all tests; None where one was not measured alone.
        wall_seconds: time over all tests, one after the other.
        by_type: per test type, in the order of the types.
        by_failure_mode: per failure mode that has tests, and ``none`` for the set's other answers
            without a failure.
        worst: the scores farthest from the annotators, the farthest first.
        judge: the GroUSE metric of the same name; None without a judge.
    """

    framework: Framework
    framework_version: str
    metric: NativeMetric
    variant: str
    model: str
    embedding_model: str | None
    threshold: float
    annotations: AnnotationKind | None
    tests: int
    rated: int
    scored: int
    successes: int
    success_rate: float | None
    interval: Interval | None
    mae: float | None
    spearman: float | None
    spearman_reason: str | None = None
    not_scored: int
    errors: int
    nothing_to_rate: int
    nothing_to_rate_as: NothingToRate
    no_annotation: int
    not_run: int
    calls: int
    embedding_calls: int
    tokens: int
    usage: Usage
    cpu_seconds: float | None
    wall_seconds: float
    by_type: dict[str, NativeTypeFigures]
    by_failure_mode: dict[str, Reaction] = Field(default_factory=dict)
    worst: tuple[WorstCase, ...] = ()
    judge: Beside | None = None


class BenchmarkReport(_Figures):
    """All runs of a benchmark.

    Attributes:
        annotations: ``human``, ``by construction`` when they follow from how the tests were made,
            or ``mixed``; None without any.
        command: the command that made it.
        source: where the tests come from.
        tests: how many there are.
        sets: how many sets they form.
        annotators: per metric, how the annotators agree.
        published_annotators: the paper's, to compare with.
        judge: name of the judge beside it; None without one.
        runs: RAGAS first, then by metric and variant.
        hint: what to install when figures are missing.
    """

    schema_version: Literal[1] = 1
    annotations: AnnotationKind | None
    command: Literal["benchmark"] = "benchmark"
    source: str
    tests: int
    sets: int
    threshold: float
    annotators: dict[NativeMetric, AnnotatorFigures]
    published_annotators: PublishedAnnotators = PublishedAnnotators()
    judge: str | None = None
    runs: tuple[NativeRun, ...]
    hint: str | None = None

    @property
    def notice(self) -> str:
        """What the annotations are: the first line of everything that shows these figures."""
        return _NOTICES[self.annotations]


_NOTICES: Final[dict[AnnotationKind | None, str]] = {
    "human": "Annotations: human.",
    "by construction": (
        "Annotations: by construction, from how the tests were made; none is human."
    ),
    "mixed": "Annotations: mixed, some human, some by construction (from how tests were made).",
    None: "Annotations: none, so that nothing can be rated.",
}
