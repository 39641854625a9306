"""What both families of RAGAS metrics share: whom they ask, about what, and in which unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, explain
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.llm_judge import LLMJudge
from grouse_adapters.core.metrics import METRICS, Citations, Metric, MetricName
from grouse_adapters.core.resolve import JudgeSpec, resolve_judge
from grouse_adapters.core.sample import Sample, sample_from_row
from grouse_adapters.ragas.models import adapt

COLUMNS = ("user_input", "response", "retrieved_contexts", "reference")
"""RAGAS' names of question, actual answer, references and expected answer."""


class MissingColumnError(InputError, ValueError):
    """A column is missing; a ``ValueError`` as well, which is what RAGAS' own metrics raise."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One metric's question to the judge.

    Attributes:
        metric: the metric.
        spec: which judge, as the user named it.
        citations: as for ``LLMJudge``.
        unit_scale: values on 0-1 instead of the metric's own unit.
        retries: how long a call is tried; None: as the judge says.
    """

    metric: MetricName
    spec: JudgeSpec | object = None
    citations: Citations = "required"
    unit_scale: bool = False
    retries: RetryPolicy | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Asking:
        """Itself: a copied metric asks the same judge, or it would not share its calls."""
        return self

    @property
    def row(self) -> Metric:
        """The metric's row in the table."""
        return METRICS[self.metric]

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which there is no grade.

        Answer relevancy and usefulness show no references to the judge; all others do, or come
        from one that does. The expected answer may always be absent.
        """
        shows_references = self.metric not in ("answer_relevancy", "usefulness")
        return COLUMNS[:3] if shows_references else COLUMNS[:2]

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        values = self.row.scale.values
        return (0.0, 1.0) if self.unit_scale else (float(values[0]), float(values[-1]))

    def judge(self) -> Judge:
        """The judge, the same one for all metrics that name it alike.

        Raises:
            ConfigurationError: no such judge, or a wrong setting.
        """
        settings: dict[str, Any] = {}
        if self.citations != "required":
            settings["citations"] = self.citations
        judge = resolve_judge(self.spec, adapt=adapt, **settings)
        if self.retries is None or judge is self.spec or not isinstance(judge, LLMJudge):
            return judge
        return resolve_judge(self.spec, adapt=adapt, retries=self.retries, **settings)

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample in a row; columns of other names are passed over.

        An expected answer that is blank, or NaN as tables write it, counts as absent.

        Raises:
            MissingColumnError: a column that the metric needs is missing.
            InputError: a column is of a wrong type.
        """
        for column in self.needs:
            if column not in row or (row[column] is None and column != "retrieved_contexts"):
                raise MissingColumnError(
                    f"{column} is missing: add it, because {self.row.key} needs it."
                )
        given = {column: row[column] for column in COLUMNS if column in row}
        if _blank(given.get("reference")):
            given["reference"] = None
        return sample_from_row({"retrieved_contexts": None, **given})

    def value(self, grade: Grade) -> float | None:
        """The grade as a number, None when there is none."""
        if not isinstance(grade, Graded):
            return None
        return self.row.scale.to_unit(grade.value) if self.unit_scale else grade.value


def told(metric: MetricName, grade: Grade, judgement: Judgement | None) -> dict[str, Any]:
    """All that is known about a grade, as a trace shows it (plain JSON values)."""
    known: dict[str, Any] = {**grade.model_dump(), "explanation": explain(grade)}
    if judgement is None:
        return known
    known |= {
        "judge": judgement.judge,
        "prompt_fingerprint": judgement.prompt_fingerprint,
        "llm_calls": judgement.llm_calls,
        "usage": judgement.usage.model_dump(),
        "cost": judgement.cost,
    }
    if metric == "faithfulness":
        known["sentences"] = [check.model_dump() for check in judgement.sentences]
    return known


def asked(sample: Sample) -> dict[str, Any]:
    """What was judged, under RAGAS' column names."""
    return {
        "user_input": sample.input,
        "response": sample.actual_output,
        "retrieved_contexts": list(sample.references),
        "reference": sample.expected_output,
    }


def missing_input(error: InputError) -> Failed:
    """The grade of a row that cannot be read."""
    return Failed(error_kind="missing_input", error=str(error))


def _blank(value: object) -> bool:
    return (isinstance(value, str) and not value.strip()) or (
        isinstance(value, float) and math.isnan(value)
    )
