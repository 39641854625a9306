"""What the evaluators return, what they read from a response, and an honest mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.evaluation import EvaluationResult
from llama_index.core.schema import MetadataMode, NodeWithScore

from grouse_adapters.core.grades import (
    Failed,
    Grade,
    Graded,
    Judgement,
    SentenceCheck,
    Usage,
    explain,
)
from grouse_adapters.core.metrics import METRICS, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import MetricSummary

_NOT_APPLICABLE = "not applicable: "


class GrouseEvaluationResult(EvaluationResult):
    """LlamaIndex's result with the whole grade.

    ``score`` is in the metric's own unit (1-5, or 0 and 1), None when the grade is no value;
    ``feedback`` always says why. Not applicable and failed are both ``invalid_result=True``:
    ``invalid_reason`` begins with ``not applicable:`` or ``judge failed:``.

    Attributes:
        metric: the metric's name.
        grade: graded, not applicable or failed.
        sentences: what the faithfulness analysis said, sentence by sentence.
        judge: name of the judge; None when it did not get to judge.
        prompt_fingerprint: SHA-256 of the judge's prompts and switches.
        llm_calls: calls made for this result; calls that several metrics share count once, for
            the first that asked, so that sums are true.
        usage: tokens of ``llm_calls``.
        cost: US dollars of ``llm_calls``; None when the price is unknown.
    """

    metric: MetricName
    grade: Grade
    sentences: tuple[SentenceCheck, ...] = ()
    judge: str | None = None
    prompt_fingerprint: str | None = None
    llm_calls: int = 0
    usage: Usage = Usage()
    cost: float | None = None


def graded_result(
    judgement: Judgement, metric: MetricName, *, score_threshold: float
) -> GrouseEvaluationResult:
    """One metric of a judgement as LlamaIndex shows it.

    Args:
        score_threshold: the lowest score that passes, in the metric's own unit.
    """
    return GrouseEvaluationResult(
        **_verdict(judgement.grades[metric], score_threshold),
        **_inputs(judgement.sample),
        metric=metric,
        sentences=judgement.sentences if metric == "faithfulness" else (),
        judge=judgement.judge,
        prompt_fingerprint=judgement.prompt_fingerprint,
        llm_calls=judgement.llm_calls,
        usage=judgement.usage,
        cost=judgement.cost,
    )


def failed_result(
    metric: MetricName, failure: Failed, *, inputs: Mapping[str, Any]
) -> GrouseEvaluationResult:
    """A row that could not be judged at all.

    Args:
        inputs: ``query``, ``response`` and ``contexts`` as far as they can be shown.
    """
    return GrouseEvaluationResult(**_verdict(failure, 0), **inputs, metric=metric)


def _verdict(grade: Grade, score_threshold: float) -> dict[str, Any]:
    why = explain(grade)
    if isinstance(grade, Graded):
        passing = grade.value >= score_threshold
        return {
            "grade": grade,
            "score": float(grade.value),
            "passing": passing,
            "feedback": why,
        }
    return {"grade": grade, "feedback": why, "invalid_result": True, "invalid_reason": why}


def _inputs(sample: Sample) -> dict[str, Any]:
    return {
        "query": sample.input,
        "response": sample.actual_output,
        "contexts": list(sample.references),
    }


def summarize_results(
    results: Mapping[str, Sequence[EvaluationResult]],
) -> dict[str, MetricSummary]:
    """Mean and counts per evaluator, over what ``BatchEvalRunner`` gives.

    LlamaIndex's own ``get_results_df`` counts a missing score as 0. Here a mean is over the
    graded answers alone, and None when there are none.

    Args:
        results: evaluator's name -> its results; results of other evaluators may be among them
            (one without a score counts as failed).

    Returns:
        The same names, each with ``mean`` (in the unit of its scores), ``graded``,
        ``not_applicable`` and ``failed``.
    """
    return {name: _summary(rows) for name, rows in results.items()}


def _summary(rows: Iterable[EvaluationResult]) -> MetricSummary:
    scores: list[float] = []
    not_applicable = failed = 0
    for row in rows:
        if row.score is not None and not row.invalid_result:
            scores.append(row.score)
        elif (row.invalid_reason or "").startswith(_NOT_APPLICABLE):
            not_applicable += 1
        else:
            failed += 1
    return MetricSummary(
        mean=sum(scores) / len(scores) if scores else None,
        graded=len(scores),
        not_applicable=not_applicable,
        failed=failed,
    )


def default_threshold(metric: MetricName) -> float:
    """The lowest passing score: 4 of 1-5, as LlamaIndex's CorrectnessEvaluator has it, else 1."""
    values = METRICS[metric].scale.values
    return float(values[-2] if len(values) > 2 else values[-1])


def references_of(
    nodes: Iterable[NodeWithScore], mode: MetadataMode = MetadataMode.NONE
) -> tuple[str, ...]:
    """The references that ``[1]``, ``[2]``, ... in an answer mean: its source nodes, in order.

    Args:
        mode: which of a node's metadata the judge sees in front of its text.
    """
    return without_source_lines(node.node.get_content(metadata_mode=mode) for node in nodes)


def without_source_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts without the ``Source n:`` line that ``CitationQueryEngine`` writes into them.

    Only a number that is the text's own place is taken away: any other is the document's.
    """
    plain = []
    for number, text in enumerate(texts, start=1):
        bare, found = re.subn(rf"^Source {number}:\n", "", text, count=1, flags=re.MULTILINE)
        plain.append(bare.removesuffix("\n") if found else text)
    return tuple(plain)
