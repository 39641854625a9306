"""GroUSE for LangSmith's ``evaluate``: a run evaluator with six keys, and function evaluators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias
from uuid import UUID

from langsmith.evaluation import EvaluationResult, EvaluationResults, RunEvaluator
from langsmith.schemas import Example, Run

from grouse_adapters.core.metrics import METRICS, Citations, MetricName
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.core.sample import Sample
from grouse_adapters.langchain.extract import (
    Found,
    answer_in,
    expected_in,
    found_in_sample,
    question_in,
    references_in,
    retrieved_in,
)
from grouse_adapters.langchain.grading import Grading, Verdict, feedback

Extracted: TypeAlias = Sample | Mapping[str, Any] | None
"""What an extractor gives: a whole sample; some of its fields, the others are found as usual; or
None: nothing to judge."""

RunExtractor: TypeAlias = Callable[[Any, Any], Extracted]
"""``(run, example) -> Extracted``."""

ValuesExtractor: TypeAlias = Callable[[Any, Any, Any], Extracted]
"""``(inputs, outputs, reference_outputs) -> Extracted``."""

Feedback: TypeAlias = dict[str, Any]
"""``key``, ``score``, ``comment``, ``metadata``, and ``value`` when there is no score."""

Evaluator: TypeAlias = Callable[..., Feedback | list[Feedback]]
AsyncEvaluator: TypeAlias = Callable[..., Awaitable[Feedback | list[Feedback]]]


class GrouseRunEvaluator(RunEvaluator):
    """Grades a run with the GroUSE metrics (arXiv 2409.06595), all from one judgement.

    The question comes from the example's or the run's inputs, the answer from the run's outputs,
    the documents from the outputs, the retriever runs inside or the example, the expected answer
    from the example's outputs.

    Scores are in the metric's own unit (1-5, or 0 or 1). Not applicable: score None, value
    ``n/a``. Failed: score None, value ``failed``. The reason is the comment.

    Args:
        judge: a judge, a model's name, a LangChain model, or None for the default judge.
        metrics: names of the metrics; None: all six.
        citations: ``"required"`` or ``"ignored"``, as for ``LLMJudge``.
        extract: finds the sample, or some of its fields, in ``(run, example)``.

    Raises:
        ConfigurationError: a metric is unknown or a setting is wrong. A wrong judge or key raises
            when the first run is graded.
    """

    def __init__(
        self,
        *,
        judge: JudgeSpec | object = None,
        metrics: Iterable[str] | None = None,
        citations: Citations = "required",
        extract: RunExtractor | None = None,
    ) -> None:
        self._grading = Grading(judge, metrics, citations)
        self._extract = extract

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the results, e.g. ``grouse_faithfulness``."""
        return [METRICS[name].key for name in self._grading.metrics]

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResults:
        """One result per metric.

        Raises:
            ConfigurationError: the judge cannot be used at all (LangSmith logs it and goes on).
        """
        found = self._found(run, example)
        return _results(run, self._grading.grade(found, trouble=_trouble(run)))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> EvaluationResults:
        """Like ``evaluate_run``, without a thread that waits."""
        found = self._found(run, example)
        return _results(run, await self._grading.agrade(found, trouble=_trouble(run)))

    def __repr__(self) -> str:
        return f"GrouseRunEvaluator({', '.join(self._grading.metrics)})"

    def _found(self, run: Run, example: Example | None) -> Found | None:
        def usual() -> Found:
            inputs = example.inputs if example is not None else None
            return _found(
                inputs=inputs or run.inputs,
                outputs=None if run.error else run.outputs,
                reference_outputs=example.outputs if example is not None else None,
                run=run,
            )

        return _extracted(usual, self._extract, run, example)


def grouse_evaluator(
    *metrics: str,
    judge: JudgeSpec | object = None,
    citations: Citations = "required",
    extract: ValuesExtractor | None = None,
) -> Evaluator:
    """A function evaluator in the shape that LangSmith and openevals share.

    ``evaluator(inputs=..., outputs=..., reference_outputs=..., context=...)`` gives a dict with
    ``key``, ``score``, ``comment`` and ``metadata`` for one metric, a list of them for several.
    The documents come from ``context`` (or another usual name), else from ``outputs``, ``inputs``
    or ``reference_outputs``; LangSmith passes the run too, whose retrievers are looked through.

    Args:
        metrics: names of the metrics; none: all six.
        judge: as for ``GrouseRunEvaluator``. Evaluators of the same judge share its calls.
        citations: as for ``GrouseRunEvaluator``.
        extract: finds the sample, or some of its fields, in
            ``(inputs, outputs, reference_outputs)``.

    Raises:
        ConfigurationError: a metric is unknown or a setting is wrong.
    """
    grading = Grading(judge, metrics or None, citations)

    def evaluator(
        inputs: Any = None,
        outputs: Any = None,
        reference_outputs: Any = None,
        run: Any = None,
        **more: Any,
    ) -> Feedback | list[Feedback]:
        found = _found_in_values(extract, inputs, outputs, reference_outputs, run, more)
        return _rows(grading, grading.grade(found, trouble=_trouble(run)))

    evaluator.__name__ = _function_name(grading)
    return evaluator


def agrouse_evaluator(
    *metrics: str,
    judge: JudgeSpec | object = None,
    citations: Citations = "required",
    extract: ValuesExtractor | None = None,
) -> AsyncEvaluator:
    """Like ``grouse_evaluator``, as an async function for ``aevaluate`` and async code."""
    grading = Grading(judge, metrics or None, citations)

    async def evaluator(
        inputs: Any = None,
        outputs: Any = None,
        reference_outputs: Any = None,
        run: Any = None,
        **more: Any,
    ) -> Feedback | list[Feedback]:
        found = _found_in_values(extract, inputs, outputs, reference_outputs, run, more)
        return _rows(grading, await grading.agrade(found, trouble=_trouble(run)))

    evaluator.__name__ = _function_name(grading)
    return evaluator


def _found_in_values(
    extract: ValuesExtractor | None,
    inputs: Any,
    outputs: Any,
    reference_outputs: Any,
    run: Any,
    more: Mapping[str, Any],
) -> Found | None:
    def usual() -> Found:
        failed = run is not None and run.error
        return _found(
            inputs=inputs,
            outputs=None if failed else outputs,
            reference_outputs=reference_outputs,
            run=run,
            given=more,
        )

    return _extracted(usual, extract, inputs, outputs, reference_outputs)


def _extracted(
    usual: Callable[[], Found], extract: Callable[..., Extracted] | None, *run: Any
) -> Found | None:
    if extract is None:
        return usual()
    given = extract(*run)
    if given is None:
        return None
    return found_in_sample(given) if isinstance(given, Sample) else usual().completed(given)


def _found(
    *, inputs: Any, outputs: Any, reference_outputs: Any, run: Any, given: Mapping[str, Any] = {}
) -> Found:
    references = references_in(given, outputs)
    if references is None and run is not None:
        references = retrieved_in(run)
    if references is None:
        references = references_in(inputs, reference_outputs)
    return Found(
        input=question_in(inputs),
        references=references,
        actual_output=answer_in(outputs),
        expected_output=expected_in(reference_outputs),
    )


def _trouble(run: Any) -> str | None:
    """Why there is no answer, when the run itself failed."""
    error = getattr(run, "error", None)
    if not error:
        return None
    first = str(error).partition("Traceback")[0].strip().splitlines()
    return f"The run failed and gave no answer to judge ({first[0][:200] if first else 'error'})."


def _results(run: Run, verdict: Verdict) -> EvaluationResults:
    return EvaluationResults(
        results=[
            EvaluationResult(
                **feedback(name, verdict), target_run_id=run.id, feedback_config=_config(name)
            )
            for name in verdict.grades
        ]
    )


def _config(name: MetricName) -> dict[str, Any]:
    values = METRICS[name].scale.values
    return {"type": "continuous", "min": values[0], "max": values[-1]}


def _rows(grading: Grading, verdict: Verdict) -> Feedback | list[Feedback]:
    rows = [feedback(name, verdict) for name in grading.metrics]
    return rows[0] if len(rows) == 1 else rows


def _function_name(grading: Grading) -> str:
    """LangSmith shows it as the evaluator's name."""
    return METRICS[grading.metrics[0]].key if len(grading.metrics) == 1 else "grouse"
