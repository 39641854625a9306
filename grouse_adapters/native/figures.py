"""From native scores and annotations to the report of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final

from grouse_adapters.core.grades import Judgement, Usage
from grouse_adapters.meta.counts import Counts, Key, percent
from grouse_adapters.meta.figures import type_order
from grouse_adapters.meta.intervals import Bootstrap
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.reaction import reactions
from grouse_adapters.native.report import (
    AnnotationKind,
    AnnotatorFigures,
    BenchmarkReport,
    Beside,
    NativeRun,
    NativeTypeFigures,
    NothingToRate,
    WorstCase,
)
from grouse_adapters.native.rows import NATIVE_METRICS, NativeMetric, NativeScore
from grouse_adapters.native.rules import (
    RATED,
    THRESHOLD,
    NativeResult,
    RunKey,
    results,
    without_score,
)
from grouse_adapters.native.shares import annotated

LEAST_PAIRS: Final = 3
"""With fewer scores there is no rank correlation worth the name."""

WORST: Final = 5
"""How many of the worst cases a report names."""

_HINT: Final = "Spearman's correlation needs scipy: pip install 'grouse-adapters[stats]'."


def benchmark_report(
    scores: Iterable[NativeScore],
    tests: Sequence[UnitTest],
    annotations: Iterable[Annotation],
    *,
    source: str,
    threshold: Decimal = THRESHOLD,
    judged: Iterable[Judgement] | None = None,
) -> BenchmarkReport:
    """All figures of a benchmark, whatever the order of scores and annotations.

    Args:
        scores: all rows of a run. The last of a test counts, all of them are paid for.
        tests: the unit tests.
        annotations: of these tests; see ``check_annotations``.
        source: where the tests come from, as the user named it.
        threshold: a success is strictly nearer to the annotators' mean than this.
        judged: what a judge's GroUSE metrics say about the same tests, to stand beside it.

    Raises:
        ConfigurationError: the threshold makes no sense.
    """
    rows, notes = list(scores), list(annotations)
    known = {test.id for test in tests}
    notes = [note for note in notes if note.test_id in known]
    kind = annotation_kind(notes)
    found = results(rows, tests, notes, threshold=threshold)
    beside = judged_results(tests, judged)
    judge = next((result.judgement.judge for result in beside.values()), None)
    spent = _spending(rows)
    runs = [
        _run(
            key,
            each,
            spent[key],
            threshold=threshold,
            annotations=kind,
            beside=None if judge is None else (judge, beside),
        )
        for key, each in found.items()
    ]
    return BenchmarkReport(
        annotations=kind,
        source=source,
        tests=len(tests),
        sets=len({test.set_id for test in tests}),
        threshold=float(threshold),
        annotators=annotator_figures(notes),
        judge=judge,
        runs=tuple(runs),
        hint=_HINT if any(run.spearman_reason == _HINT for run in runs) else None,
    )


def annotation_kind(annotations: Iterable[Annotation]) -> AnnotationKind | None:
    """What the annotations are, taken together; None without any."""
    sources = {annotation.source for annotation in annotations}
    if len(sources) > 1:
        return "mixed"
    return next(iter(sources), None)


def annotator_figures(annotations: Iterable[Annotation]) -> dict[NativeMetric, AnnotatorFigures]:
    """How the annotators agree, per metric."""
    tests = annotated(annotations)
    figures: dict[NativeMetric, AnnotatorFigures] = {}
    for metric in NATIVE_METRICS:
        said = [test.shares[metric] for test in tests.values() if metric in test.shares]
        differences = [apart for one in said for apart in one.differences]
        figures[metric] = AnnotatorFigures(
            tests=sum(one.mean is not None for one in said),
            nothing_to_rate=sum(one.mean is None for one in said),
            split=sum(one.annotators > 0 and one.without > 0 for one in said),
            several=sum(one.annotators > 1 for one in said),
            pairs=len(differences),
            largest_difference=shown(max(differences, default=None)),
            mean_difference=shown(mean(differences)),
        )
    return figures


def judged_results(
    tests: Sequence[UnitTest], judged: Iterable[Judgement] | None
) -> dict[str, TestResult]:
    """A judge's results by test id; the last judgement of a test counts."""
    by_id = {test.id: test for test in tests}
    return {
        judgement.id: TestResult(by_id[judgement.id], judgement)
        for judgement in judged or ()
        if judgement.id is not None and judgement.id in by_id
    }


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """Exact mean; None of nothing."""
    return sum(values, Fraction()) / len(values) if values else None


def shown(value: Fraction | None) -> float | None:
    """With the four decimals of the report."""
    return None if value is None else float(round(value, 4))


def spearman(
    pairs: Sequence[tuple[Fraction, Fraction]],
) -> tuple[float | None, str | None]:
    """Rank correlation of pairs (native score, annotators' mean); None, and why, without one."""
    if len(pairs) < LEAST_PAIRS:
        return None, f"fewer than {LEAST_PAIRS} scores"
    for place, whose in enumerate(("the framework", "the annotators")):
        if len({pair[place] for pair in pairs}) == 1:
            return None, f"{whose} always gave {float(round(pairs[0][place], 4)):g}"
    try:
        from scipy.stats import spearmanr
    except ImportError:
        return None, _HINT
    native, share = [float(one) for one, _ in pairs], [float(other) for _, other in pairs]
    return round(float(spearmanr(native, share).statistic), 4), None


def _run(
    key: RunKey,
    found: Sequence[NativeResult],
    spent: _Spent,
    *,
    threshold: Decimal,
    annotations: AnnotationKind | None,
    beside: tuple[str, Mapping[str, TestResult]] | None,
) -> NativeRun:
    verdicts = Counter(result.verdict for result in found)
    rated = [result for result in found if result.verdict in RATED]
    scored = [(r.native, r.share) for r in rated if r.difference is not None]
    pairs = [(one, other) for one, other in scored if one is not None and other is not None]
    correlation, reason = spearman(pairs)
    counts = Counts()
    everywhere = Key("all", "", "asked", key.metric)
    for result in rated:
        counts.add(result.test.set_id, everywhere, passed=result.verdict == "success")
    last = [result.score for result in found if result.score is not None]
    cpu = [score.cpu_seconds for score in last if score.cpu_seconds is not None]
    return NativeRun(
        **key._asdict(),
        threshold=float(threshold),
        annotations=annotations,
        tests=len(found),
        rated=len(rated),
        scored=len(pairs),
        successes=verdicts["success"],
        success_rate=counts.percent(everywhere),
        interval=Bootstrap(counts).interval(everywhere),
        mae=shown(mean([abs(r.difference) for r in rated if r.difference is not None])),
        spearman=correlation,
        spearman_reason=reason,
        not_scored=verdicts["not_scored"],
        errors=verdicts["error"],
        nothing_to_rate=verdicts["nothing_to_rate"],
        nothing_to_rate_as=_nothing_to_rate(found),
        no_annotation=verdicts["no_annotation"],
        not_run=verdicts["not_run"],
        calls=spent.calls,
        embedding_calls=spent.embedding_calls,
        tokens=spent.usage.input_tokens + spent.usage.output_tokens,
        usage=spent.usage,
        cpu_seconds=round(sum(cpu), 3) if last and len(cpu) == len(last) else None,
        wall_seconds=round(sum(score.wall_seconds for score in last), 3),
        by_type=_by_type(found, key.metric, beside[1] if beside else {}),
        by_failure_mode=reactions(
            found, key.metric, threshold=threshold, judged=beside[1] if beside else {}
        ),
        worst=_worst(rated),
        judge=None if beside is None else _beside(rated, key.metric, *beside),
    )


class _Spent:
    """Calls and tokens of all rows, also of those that a later one replaced."""

    def __init__(self) -> None:
        self.calls = 0
        self.embedding_calls = 0
        self.usage = Usage()

    def add(self, score: NativeScore) -> None:
        self.calls += score.calls
        self.embedding_calls += score.embedding_calls
        self.usage = self.usage + score.usage


def _spending(rows: Iterable[NativeScore]) -> dict[RunKey, _Spent]:
    spent: dict[RunKey, _Spent] = {}
    for row in rows:
        spent.setdefault(RunKey.of(row), _Spent()).add(row)
    return spent


def _nothing_to_rate(found: Iterable[NativeResult]) -> NothingToRate:
    made = Counter[str]()
    for result in found:
        if result.verdict == "nothing_to_rate" and result.score is not None:
            made[without_score(result.score) or "scored"] += 1
            made["perfect"] += result.native == 1
    return NothingToRate(
        scored=made["scored"],
        perfect=made["perfect"],
        not_scored=made["not_scored"],
        errors=made["error"],
    )


def _by_type(
    found: Sequence[NativeResult], metric: NativeMetric, judged: Mapping[str, TestResult]
) -> dict[str, NativeTypeFigures]:
    types: dict[str, list[NativeResult]] = {}
    for result in found:
        types.setdefault(result.test.test_type, []).append(result)
    figures = {}
    for name in sorted(types, key=type_order):
        rated = [result for result in types[name] if result.verdict in RATED]
        successes = sum(result.verdict == "success" for result in rated)
        passed = _passed(rated, metric, judged)
        figures[name] = NativeTypeFigures(
            tests=len(types[name]),
            rated=len(rated),
            scored=sum(result.difference is not None for result in rated),
            success_rate=percent((successes, len(rated))),
            judge_pass_rate=percent((sum(passed.values()), len(passed))),
        )
    return figures


def _passed(
    rated: Iterable[NativeResult], metric: NativeMetric, judged: Mapping[str, TestResult]
) -> dict[str, bool]:
    """Whether the judge fulfils the GroUSE condition, for the tests that it judged."""
    passed = {}
    for result in rated:
        beside = judged.get(result.test.id)
        outcome = beside.outcomes.get(metric) if beside else None
        if outcome is not None:
            passed[result.test.id] = outcome == "passed"
    return passed


def _beside(
    rated: Sequence[NativeResult],
    metric: NativeMetric,
    judge: str,
    judged: Mapping[str, TestResult],
) -> Beside:
    passed = _passed(rated, metric, judged)
    counts = Counts()
    key = Key("all", "", "asked", metric)
    for test_id, well in passed.items():
        counts.add(judged[test_id].test.set_id, key, passed=well)
    return Beside(
        judge=judge,
        tests=len(passed),
        pass_rate=counts.percent(key),
        interval=Bootstrap(counts).interval(key),
        unreadable=sum(judged[name].outcomes[metric] == "unreadable" for name in passed),
    )


def _worst(rated: Sequence[NativeResult]) -> tuple[WorstCase, ...]:
    """The largest differences; where two are equal, in the order of the tests."""
    apart = [
        (result.difference, result.native, result.share, result)
        for result in rated
        if result.difference
    ]
    cases = []
    for found, native, share, result in sorted(apart, key=lambda one: -abs(one[0]))[:WORST]:
        if native is None or share is None:
            continue
        cases.append(
            WorstCase(
                test_id=result.test.id,
                set_id=result.test.set_id,
                test_type=result.test.test_type,
                verdict=result.verdict,
                score=float(round(native, 4)),
                annotated=float(round(share, 4)),
                difference=float(round(found, 4)),
                reason=result.score.reason if result.score else None,
            )
        )
    return tuple(cases)
