"""Which call follows which (arXiv 2409.06595, section 3): at most four per sample.

Answer relevancy and completeness are independent; a refusal asks for usefulness; whatever says
more than a refusal asks for faithfulness; the other two metrics are derived without a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.core.sample import Sample

Ask = Callable[[MetricName], Awaitable[Grade]]
"""Gets the judge's own grade for one judged metric; called at most once per metric."""

_DERIVED: Final[frozenset[MetricName]] = frozenset({"positive_acceptance", "negative_rejection"})


async def run_pipeline(
    sample: Sample, asked: Iterable[MetricName], ask: Ask
) -> dict[MetricName, Grade]:
    """Grades of the asked metrics, in table order, with only the calls that they need.

    Calls: completeness 1, relevancy 1, usefulness at most 2, faithfulness at most 3, the derived
    two share the first two, all six at most 4.
    """
    needed = needed_metrics(sample, asked)
    grades: dict[MetricName, Grade] = {}

    async def answer_branch() -> None:
        relevancy = grades["answer_relevancy"] = await ask("answer_relevancy")
        if needed & {"usefulness", "faithfulness"}:
            usefulness = grades["usefulness"] = await _usefulness(relevancy, ask)
            if "faithfulness" in needed:
                grades["faithfulness"] = await _faithfulness(relevancy, usefulness, ask)

    async def completeness_branch() -> None:
        grades["completeness"] = await ask("completeness")

    if needed == {"completeness"}:
        await completeness_branch()
    elif "completeness" in needed:
        await _both(answer_branch(), completeness_branch())
    elif needed:
        await answer_branch()
    return with_derived(sample, asked, grades)


def needed_metrics(sample: Sample, asked: Iterable[MetricName]) -> set[MetricName]:
    """The judged metrics that the asked ones are or come from."""
    needed = set(asked)
    if needed & _DERIVED and sample.expected_output is not None:
        needed |= {"answer_relevancy", "completeness"}
    return needed - _DERIVED


def with_derived(
    sample: Sample, asked: Iterable[MetricName], judged: Mapping[MetricName, Grade]
) -> dict[MetricName, Grade]:
    """The asked grades in table order: the judged ones as given, the others derived from them."""
    wanted = set(asked)
    grades = dict(judged)
    if wanted & _DERIVED:
        if sample.expected_output is None:
            reason = "The sample has no expected answer that tells what is answerable."
            grades |= dict.fromkeys(_DERIVED, NotApplicable(reason=reason))
        else:
            grades |= derive(grades["answer_relevancy"], grades["completeness"])
    return {name: grades[name] for name in METRIC_NAMES if name in wanted}


def derive(relevancy: Grade, completeness: Grade) -> dict[MetricName, Grade]:
    """Positive acceptance and negative rejection, from whether the answer refuses (relevancy is
    null) and whether the references hold an answer (completeness is not null).
    """
    for metric, source in (("answer_relevancy", relevancy), ("completeness", completeness)):
        if isinstance(source, Failed):
            return dict.fromkeys(_DERIVED, _dependency(metric, source))
    refuses = isinstance(relevancy, NotApplicable)
    answerable = not isinstance(completeness, NotApplicable)
    acceptance: Grade
    rejection: Grade
    if refuses and answerable:
        acceptance = Graded(value=0, justification="The references hold an answer, yet it refuses.")
        rejection = NotApplicable(reason="The references hold an answer: nothing to reject.")
    elif refuses:
        right = "The references hold no answer and the answer rightly says so."
        acceptance = Graded(value=1, justification=right)
        rejection = Graded(value=1, justification=right)
    elif answerable:
        reason = "An answerable question was answered."
        acceptance = NotApplicable(reason=reason)
        rejection = NotApplicable(reason=reason)
    else:
        acceptance = NotApplicable(reason="The answer does not refuse.")
        rejection = Graded(value=0, justification="The references hold no answer, yet it answers.")
    return {"positive_acceptance": acceptance, "negative_rejection": rejection}


async def _usefulness(relevancy: Grade, ask: Ask) -> Grade:
    if isinstance(relevancy, Failed):
        return _dependency("answer_relevancy", relevancy)
    if isinstance(relevancy, Graded):
        return NotApplicable(reason="The answer does not refuse.")
    return await ask("usefulness")


async def _faithfulness(relevancy: Grade, usefulness: Grade, ask: Ask) -> Grade:
    if isinstance(relevancy, Graded):
        return await ask("faithfulness")
    if isinstance(relevancy, Failed):
        return _dependency("answer_relevancy", relevancy)
    if isinstance(usefulness, Failed):
        return _dependency("usefulness", usefulness)
    if isinstance(usefulness, NotApplicable):
        return NotApplicable(reason="The answer only refuses: there is no statement to check.")
    return await ask("faithfulness")


def _dependency(on: str, source: Failed) -> Failed:
    return Failed(error_kind="dependency", error=f"{on.replace('_', ' ')} failed: {source.error}")


async def _both(first: Awaitable[None], second: Awaitable[None]) -> None:
    """Awaits both; when one raises, the other is cancelled, not left running unseen."""
    tasks = [asyncio.ensure_future(first), asyncio.ensure_future(second)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
