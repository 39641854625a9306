"""The six GroUSE metrics in one table (arXiv 2409.06595, section 3).

Everything else asks this table: a metric's scale, what it needs of a sample, what its prompt
shows, the keys of its reply and its 0-1 form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from grouse_adapters.core.errors import ConfigurationError

MetricName = Literal[
    "answer_relevancy",
    "completeness",
    "usefulness",
    "faithfulness",
    "positive_acceptance",
    "negative_rejection",
]
SampleField = Literal["input", "references", "expected_output", "actual_output"]
Citations = Literal["required", "ignored"]
JsonSchema = dict[str, Any]

METRIC_NAMES: Final[tuple[MetricName, ...]] = get_args(MetricName)


@dataclass(frozen=True, slots=True)
class Scale:
    """The grades a metric can have, in ascending order."""

    values: tuple[int, ...]

    def to_unit(self, value: float) -> float:
        """``value`` (in the metric's own unit) on 0-1, e.g. 1-5 becomes ``(value - 1) / 4``."""
        low, high = self.values[0], self.values[-1]
        return (value - low) / (high - low)

    def __str__(self) -> str:
        return f"{self.values[0]}-{self.values[-1]}" if len(self.values) > 2 else "0 or 1"


@dataclass(frozen=True, slots=True)
class ReplyField:
    """One key of the judge's reply about one answer.

    ``check`` and ``analysis`` are the reasoning that leads to the grade.
    """

    name: str
    role: Literal["check", "analysis", "justification", "grade"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    Attributes:
        name: the name used everywhere in this package and in its files.
        title: the name shown to people.
        short: the abbreviation used in tables.
        scale: possible grades.
        better_if: what the top grade means, in a few words.
        applies_when: when the metric has a grade at all.
        shows: the fields of the sample that its prompt shows.
        reply_fields: keys of the reply per answer, in the order the judge writes them.
        derived_from: metrics it is computed from, without a call of its own.
    """

    name: MetricName
    title: str
    short: str
    scale: Scale
    better_if: str
    applies_when: str
    shows: tuple[SampleField, ...] = ()
    reply_fields: tuple[ReplyField, ...] = ()
    derived_from: tuple[MetricName, ...] = ()

    @property
    def key(self) -> str:
        """The result key in the frameworks, e.g. ``grouse_faithfulness``."""
        return f"grouse_{self.name}"

    @property
    def judged(self) -> bool:
        """Whether the metric is asked of a judge (else it is derived)."""
        return not self.derived_from

    @property
    def needs_expected_output(self) -> bool:
        """Whether the metric does not apply without an expected answer (derived metrics)."""
        return not self.judged

    @property
    def template(self) -> str:
        """File name of the metric's prompt template in a prompt pack."""
        return f"{self.name}.txt.jinja"

    @property
    def grade_key(self) -> str:
        """Key of the grade in the reply (the metric's own name)."""
        return self.name

    def answer_schema(
        self, *, reasoning: bool, justification: bool, citations: Citations
    ) -> JsonSchema:
        """Strict JSON schema of what the judge says about one answer."""
        properties: dict[str, JsonSchema] = {}
        for field in self.reply_fields:
            if field.role in ("check", "analysis") and not reasoning:
                continue
            if field.role == "justification" and not justification:
                continue
            properties[field.name] = self._field_schema(field, citations)
        return _closed_object(properties)

    def _field_schema(self, field: ReplyField, citations: Citations) -> JsonSchema:
        if field.role == "check":
            return {"type": "boolean"}
        if field.role == "justification":
            return {"type": "string"}
        if field.role == "grade":
            return {"type": ["integer", "null"], "enum": [*self.scale.values, None]}
        criteria = CRITERIA if citations == "required" else CRITERIA[2:]
        item: dict[str, JsonSchema] = {"sentence": {"type": "string"}}
        item.update({criterion: {"type": "boolean"} for criterion in criteria})
        return {"type": "array", "items": _closed_object(item)}


CRITERIA: Final = ("criterion_1", "criterion_2", "criterion_3")
"""Per sentence: is there a citation, is it the right one, does the sentence keep to it."""

_GRADE_1_TO_5: Final = Scale((1, 2, 3, 4, 5))
_GRADE_BINARY: Final = Scale((0, 1))

_TABLE: Final[tuple[Metric, ...]] = (
    Metric(
        name="answer_relevancy",
        title="Answer relevancy",
        short="AR",
        scale=_GRADE_1_TO_5,
        better_if="everything said answers the question",
        applies_when="the answer responds instead of refusing",
        shows=("input", "expected_output", "actual_output"),
        reply_fields=(
            ReplyField("answer_affirms_no_document_answers", "check"),
            ReplyField("answer_relevancy_justification", "justification"),
            ReplyField("answer_relevancy", "grade"),
        ),
    ),
    Metric(
        name="completeness",
        title="Completeness",
        short="C",
        scale=_GRADE_1_TO_5,
        better_if="all relevant information of the references is in the answer",
        applies_when="the references hold an answer",
        shows=("input", "references", "expected_output", "actual_output"),
        reply_fields=(
            ReplyField("completeness_justification", "justification"),
            ReplyField("completeness", "grade"),
        ),
    ),
    Metric(
        name="usefulness",
        title="Usefulness",
        short="U",
        scale=_GRADE_BINARY,
        better_if="a refusal is followed by related information",
        applies_when="the answer refuses and still gives information",
        shows=("input", "expected_output", "actual_output"),
        reply_fields=(
            ReplyField("answer_affirms_no_document_answers", "check"),
            ReplyField("answer_contains_related_information", "check"),
            ReplyField("usefulness_justification", "justification"),
            ReplyField("usefulness", "grade"),
        ),
    ),
    Metric(
        name="faithfulness",
        title="Faithfulness",
        short="F",
        scale=_GRADE_BINARY,
        better_if="every statement is cited and keeps to its citation",
        applies_when="the answer says more than a refusal",
        shows=("references", "expected_output", "actual_output"),
        reply_fields=(
            ReplyField("answer_only_asserts_no_document_answers", "check"),
            ReplyField("content_analysis_sentence_by_sentence", "analysis"),
            ReplyField("faithfulness_justification", "justification"),
            ReplyField("faithfulness", "grade"),
        ),
    ),
    Metric(
        name="positive_acceptance",
        title="Positive acceptance",
        short="PA",
        scale=_GRADE_BINARY,
        better_if="an answerable question is not refused",
        applies_when="the answer refuses",
        derived_from=("answer_relevancy", "completeness"),
    ),
    Metric(
        name="negative_rejection",
        title="Negative rejection",
        short="NR",
        scale=_GRADE_BINARY,
        better_if="an unanswerable question is refused",
        applies_when="the references hold no answer",
        derived_from=("answer_relevancy", "completeness"),
    ),
)

METRICS: Final[Mapping[MetricName, Metric]] = MappingProxyType({m.name: m for m in _TABLE})
JUDGED_METRICS: Final[tuple[Metric, ...]] = tuple(m for m in _TABLE if m.judged)


def parse_metrics(names: Iterable[str] | None) -> tuple[MetricName, ...]:
    """Metric names in table order; None means all six.

    Framework keys (``grouse_faithfulness``) and dashes are accepted.

    Raises:
        ConfigurationError: a name is unknown, or none is given.
    """
    if names is None:
        return METRIC_NAMES
    wanted: set[str] = set()
    for name in names:
        plain = name.strip().lower().replace("-", "_").removeprefix("grouse_")
        if plain not in METRICS:
            raise ConfigurationError(
                f"Unknown metric {name!r}: choose from {', '.join(METRIC_NAMES)}."
            )
        wanted.add(plain)
    if not wanted:
        raise ConfigurationError(f"No metric given: choose from {', '.join(METRIC_NAMES)}.")
    return tuple(name for name in METRIC_NAMES if name in wanted)


def reply_schema(
    metric: Metric, *, answers: int, reasoning: bool, justification: bool, citations: Citations
) -> JsonSchema:
    """Strict JSON schema of a per-metric reply: ``{"answer_1": ..., "answer_2": ...}``.

    Args:
        answers: 2 when the prompt shows the expected answer first, else 1.
    """
    answer = metric.answer_schema(
        reasoning=reasoning, justification=justification, citations=citations
    )
    return _closed_object({f"answer_{n}": answer for n in range(1, answers + 1)})


def single_call_schema(
    *, answers: int, reasoning: bool, justification: bool, citations: Citations
) -> JsonSchema:
    """Strict JSON schema of a single-call reply: one per-metric reply under each metric's name."""
    return _closed_object(
        {
            metric.name: reply_schema(
                metric,
                answers=answers,
                reasoning=reasoning,
                justification=justification,
                citations=citations,
            )
            for metric in JUDGED_METRICS
        }
    )


def _closed_object(properties: Mapping[str, JsonSchema]) -> JsonSchema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
