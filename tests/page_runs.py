"""Runs to make report pages of: what the lexical judge really says, as often as wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from grouse_adapters import LexicalJudge, Sample
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import Citations
from grouse_adapters.core.readers import read_lines
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests
from grouse_adapters.report.aggregates import Aggregator, Report

ROOT = Path(__file__).parents[1]


@cache
def judged_examples() -> tuple[Judgement, ...]:
    """The shipped samples, judged."""
    with LexicalJudge() as judge:
        samples = [line.sample for line in read_lines(ROOT / "examples" / "samples.jsonl")]
        return tuple(judge.judge_many(samples))


def evaluation(count: int = 13) -> Iterator[Judgement]:
    """``count`` judgements: the shipped samples over and over, each text with its own number."""
    examples = judged_examples()
    for number in range(count):
        judgement = examples[number % len(examples)]
        lap = number // len(examples)
        yield judgement if not lap else _numbered(judgement, lap)


def _numbered(judgement: Judgement, lap: int) -> Judgement:
    sample = judgement.sample
    own = Sample(
        id=f"{sample.id}-{lap}",
        input=f"{sample.input} (no. {lap})",
        references=tuple(f"{text} (Page {lap})" for text in sample.references),
        expected_output=sample.expected_output and f"{sample.expected_output} (no. {lap})",
        actual_output=f"{sample.actual_output} (no. {lap})",
        metadata=sample.metadata,
    )
    return judgement.model_copy(update={"id": own.id, "sample": own})


def figures(rows: Iterable[Judgement]) -> Report:
    """The report of an evaluation."""
    totals = Aggregator()
    for row in rows:
        totals.add(row)
    return totals.report(command="evaluate", judge="lexical")


@cache
def _judged_tests(citations: Citations, unreadable: bool) -> tuple[TestResult, ...]:
    tests = read_unit_tests(ROOT / "tests" / "data" / "unit_tests_dev.jsonl")
    with LexicalJudge(citations=citations) as judge:
        results = [TestResult(test, judge.judge(test.sample)) for test in tests]
        if unreadable:  # without an expected answer the lexical judge cannot say
            bare = results[9].test.sample.model_copy(update={"expected_output": None})
            said = judge.judge(bare).model_copy(update={"sample": results[9].test.sample})
            results[9] = TestResult(results[9].test, said)
    return tuple(results)


def meta_results(
    sets: int = 1, *, citations: Citations = "required", unreadable: bool = True
) -> list[TestResult]:
    """The 16 development tests judged, ``sets`` times under other names."""
    return [
        _in_set(result, f"set-{number}")
        for number in range(1, sets + 1)
        for result in _judged_tests(citations, unreadable)
    ]


def _in_set(result: TestResult, set_id: str) -> TestResult:
    test = result.test
    name = f"{set_id}/{test.id.rsplit('/')[-1]}"
    sample = test.sample.model_copy(update={"id": name, "input": f"{test.sample.input} ({set_id})"})
    renamed = UnitTest.model_validate(
        {**dict(test), "id": name, "set_id": set_id, "sample": sample}
    )
    said = result.judgement.model_copy(update={"id": name, "sample": sample})
    return TestResult(renamed, said)


def meta_figures(results: list[TestResult], judge: str = "lexical") -> MetaReport:
    """The report of a meta-evaluation."""
    return meta_report(results, command="meta-evaluate", judge=judge, source="unit_tests_dev.jsonl")
