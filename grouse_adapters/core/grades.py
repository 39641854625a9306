"""What a judge says: three kinds of grade that are never confused, and the judgement."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.errors import ErrorKind
from grouse_adapters.core.metrics import MetricName
from grouse_adapters.core.sample import Sample

SCHEMA_VERSION: Final = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Graded(_Frozen):
    """The metric applies and has a value in its own unit (1-5, or 0 or 1)."""

    kind: Literal["graded"] = "graded"
    value: int
    justification: str = ""


class NotApplicable(_Frozen):
    """The metric does not apply to this answer (the paper's null)."""

    kind: Literal["not_applicable"] = "not_applicable"
    reason: str


class Failed(_Frozen):
    """The judge gave no usable grade; never to be read as not applicable."""

    kind: Literal["failed"] = "failed"
    error_kind: ErrorKind
    error: str
    raw_reply: str | None = None


Grade = Annotated[Graded | NotApplicable | Failed, Field(discriminator="kind")]


def explain(grade: Grade) -> str:
    """The grade's reason in one text, as the frameworks show it."""
    if isinstance(grade, Graded):
        return grade.justification
    if isinstance(grade, NotApplicable):
        return f"not applicable: {grade.reason}"
    return f"judge failed: {grade.error}"


class SentenceCheck(_Frozen):
    """What the faithfulness analysis said about one sentence; None where it did not say."""

    sentence: str
    has_citation: bool | None = None
    citation_is_right: bool | None = None
    is_supported: bool | None = None


class Usage(_Frozen):
    """Tokens of the calls that were really made."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Judgement(_Frozen):
    """All that a judge said about one sample: one line of ``judgements.jsonl``.

    Attributes:
        id: the sample's id, or the key a run gave it.
        grades: one grade per metric that was asked for, in table order.
        sentences: the faithfulness analysis of the actual answer, sentence by sentence.
        judge: name of the judge.
        prompt_fingerprint: SHA-256 of the prompt pack and its switches; None without prompts.
        llm_calls: answered calls made for this judgement; shared calls count once, for whoever
            asked first, so that sums over judgements are true.
        cached_calls: replies that came from the cache on disk instead.
        usage: tokens of ``llm_calls``.
        cost: US dollars of ``llm_calls``; None when the price is unknown.
    """

    schema_version: Literal[1] = 1
    id: str | None = None
    sample: Sample
    grades: dict[MetricName, Grade]
    sentences: tuple[SentenceCheck, ...] = ()
    judge: str
    prompt_fingerprint: str | None = None
    llm_calls: int = 0
    cached_calls: int = 0
    usage: Usage = Usage()
    cost: float | None = None

    @property
    def failed(self) -> bool:
        """Whether any grade failed."""
        return any(grade.kind == "failed" for grade in self.grades.values())

    def value(self, metric: MetricName) -> int | None:
        """The metric's value, None when it is not applicable, failed or was not asked for."""
        grade = self.grades.get(metric)
        return grade.value if isinstance(grade, Graded) else None
