"""From what was found in a run to grades, and from grades to what LangChain shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, get_args

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable, explain
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import METRICS, Citations, Metric, MetricName, parse_metrics
from grouse_adapters.core.resolve import JudgeSpec, resolve_judge
from grouse_adapters.core.sample import Sample
from grouse_adapters.langchain.extract import Found
from grouse_adapters.langchain.models import chat_model

_WHERE: Final = {
    "question": "put it into the inputs as 'question' or 'input'",
    "answer": "return it in the outputs as 'answer' or 'output'",
    "documents": "return them in the outputs as 'context', a list of documents or strings",
}


class NamedJudge:
    """The judge that is meant, resolved when it is first asked.

    Raises:
        ConfigurationError: ``citations`` is unknown, or given to a finished judge.
    """

    def __init__(self, spec: JudgeSpec | object, citations: Citations) -> None:
        if citations not in get_args(Citations):
            raise ConfigurationError(f"citations must be one of {', '.join(get_args(Citations))}.")
        # The default is left out, so that a finished judge and other doors' judges fit.
        self._settings = {} if citations == "required" else {"citations": citations}
        if isinstance(spec, Judge) and self._settings:
            raise ConfigurationError(
                "A finished judge takes no further settings: give citations when it is built."
            )
        self._spec = spec
        self._judge: Judge | None = None

    def get(self) -> Judge:
        """The judge.

        Raises:
            ConfigurationError: the specification means no judge, or a setting is wrong.
        """
        if self._judge is None or (self._judge.closed and not isinstance(self._spec, Judge)):
            self._judge = resolve_judge(self._spec, adapt=chat_model, **self._settings)
        return self._judge


@dataclass(frozen=True, slots=True)
class Verdict:
    """Grades of one run, and the judgement that most of them come from (None: no call made)."""

    grades: dict[MetricName, Grade]
    judgement: Judgement | None = None


class Grading:
    """Grades what was found in a run, as far as it has what each metric needs."""

    def __init__(
        self, judge: JudgeSpec | object, metrics: Iterable[str] | None, citations: Citations
    ) -> None:
        self._judge = NamedJudge(judge, citations)
        self.metrics: tuple[MetricName, ...] = parse_metrics(metrics)

    def grade(self, found: Found | None, *, trouble: str | None = None) -> Verdict:
        """The verdict; blocks until it is there.

        Args:
            found: None: the user's extractor says that there is nothing to judge.
            trouble: why a field is missing, when more is known than that.
        """
        plan = self._plan(found, trouble)
        if plan.sample is None:
            return plan.verdict(None)
        return plan.verdict(self._judge.get().judge(plan.sample, metrics=plan.asked))

    async def agrade(self, found: Found | None, *, trouble: str | None = None) -> Verdict:
        """Like ``grade``, awaitable on any event loop."""
        plan = self._plan(found, trouble)
        if plan.sample is None:
            return plan.verdict(None)
        return plan.verdict(await self._judge.get().ajudge(plan.sample, metrics=plan.asked))

    def _plan(self, found: Found | None, trouble: str | None) -> _Plan:
        known: dict[MetricName, Grade] = {}
        if found is None:
            reason = "The extractor found nothing to judge in this run."
            known = dict.fromkeys(self.metrics, NotApplicable(reason=reason))
            return _Plan(self.metrics, known, None, ())
        for name in self.metrics:
            missing = missing_for(METRICS[name], found)
            if missing is not None:
                error = trouble or f"No {missing} found in the run: {_WHERE[missing]}."
                known[name] = Failed(error_kind="missing_input", error=error)
        asked = tuple(name for name in self.metrics if name not in known)
        return _Plan(self.metrics, known, found.sample() if asked else None, asked)


@dataclass(frozen=True, slots=True)
class _Plan:
    metrics: tuple[MetricName, ...]
    known: dict[MetricName, Grade]
    sample: Sample | None
    asked: tuple[MetricName, ...]

    def verdict(self, judgement: Judgement | None) -> Verdict:
        grades = self.known | (judgement.grades if judgement else {})
        return Verdict({name: grades[name] for name in self.metrics}, judgement)


def missing_for(metric: Metric, found: Found) -> str | None:
    """What the metric cannot do without and was not found, in LangChain's words."""
    if found.input is None:
        return "question"
    if found.actual_output is None:
        return "answer"
    sources = [METRICS[name] for name in metric.derived_from] or [metric]
    needed = any("references" in source.shows for source in sources)
    return "documents" if needed and found.references is None else None


def score_and_value(grade: Grade) -> tuple[int | None, str | None]:
    """LangChain's ``score`` (the metric's own unit) and ``value`` of a grade."""
    if isinstance(grade, Graded):
        return grade.value, None
    return None, "n/a" if isinstance(grade, NotApplicable) else "failed"


def feedback(name: MetricName, verdict: Verdict) -> dict[str, Any]:
    """One metric's result with the keys that LangSmith and openevals share.

    ``key``, ``score`` (the metric's own unit, None unless graded), ``value`` (``n/a`` or
    ``failed``, only when not graded), ``comment`` (the reason) and ``metadata``.
    """
    grade = verdict.grades[name]
    score, value = score_and_value(grade)
    row: dict[str, Any] = {"key": METRICS[name].key, "score": score, "comment": explain(grade)}
    if value is not None:
        row["value"] = value
    row["metadata"] = _metadata(name, grade, verdict.judgement)
    return row


def _metadata(name: MetricName, grade: Grade, judgement: Judgement | None) -> dict[str, Any]:
    scale = METRICS[name].scale
    told: dict[str, Any] = {"kind": grade.kind, "scale": str(scale)}
    if isinstance(grade, Graded):
        told["score_0_1"] = scale.to_unit(grade.value)
    if isinstance(grade, Failed):
        told["error_kind"] = grade.error_kind
    if judgement is not None:
        told["judge"] = judgement.judge
        told["prompt_fingerprint"] = judgement.prompt_fingerprint
        told["judgement"] = {
            "llm_calls": judgement.llm_calls,
            "input_tokens": judgement.usage.input_tokens,
            "output_tokens": judgement.usage.output_tokens,
            "cost": judgement.cost,
        }
    return told
