"""What an annotator has said about an answer so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import JUDGED_METRICS, METRICS, MetricName
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation

State = Literal["new", "open", "skipped", "done"]
"""``new``: never touched; ``open``: begun; ``skipped``: put off; ``done``: said to be."""

MOST_STATEMENTS: Final = 2000
MOST_CHARACTERS: Final = 20_000

_LABELS: Final = (
    ("relevant", "relevant"),
    ("faithful", "faithful"),
    ("citation_right", "citation"),
)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DraftStatement(_Part):
    """A statement on its way.

    Attributes:
        text: as cut from the answer or edited, without citations.
        citations: the references that the answer cites for it, from 1.
        relevant: whether it answers the question; None: not said yet.
        faithful: whether a reference holds it.
        citation_right: whether it cites, and cites the reference that holds it.
    """

    text: Annotated[str, Field(max_length=MOST_CHARACTERS)]
    citations: Annotated[
        tuple[Annotated[int, Field(ge=0, le=999)], ...], Field(max_length=100, strict=False)
    ] = ()
    relevant: bool | None = None
    faithful: bool | None = None
    citation_right: bool | None = None


class Draft(_Part):
    """All that an annotator has said about one answer.

    Attributes:
        state: what the annotator made of it.
        statements: in the order of the answer.
        nothing_to_rate: the answer states nothing, e.g. because it only refuses. The statements
            then do not count.
        grades: of the judged metrics that were given; None: does not apply.
    """

    state: Literal["open", "skipped", "done"] = "open"
    statements: Annotated[
        tuple[DraftStatement, ...], Field(max_length=MOST_STATEMENTS, strict=False)
    ] = ()
    nothing_to_rate: bool = False
    grades: dict[MetricName, int | None] = Field(default_factory=dict)

    @field_validator("grades")
    @classmethod
    def _on_scale(cls, grades: dict[MetricName, int | None]) -> dict[MetricName, int | None]:
        for name, value in grades.items():
            metric = METRICS[name]
            if not metric.judged or (value is not None and value not in metric.scale.values):
                raise ValueError(f"{value} is no grade of {name}")
        return grades

    def lacks_labels(self) -> str | None:
        """What is missing before the labels are complete, in words; None: nothing."""
        if self.nothing_to_rate:
            return None
        if not self.statements:
            return "add a statement, or mark that there is nothing to rate"
        for number, statement in enumerate(self.statements, start=1):
            if not statement.text.strip():
                return f"statement {number} has no text"
            for field, name in _LABELS:
                if getattr(statement, field) is None:
                    return f"statement {number}: {name}?"
        return None

    def lacks_grades(self) -> str | None:
        """The first judged metric without a grade, in words; None: there is none."""
        for metric in JUDGED_METRICS:
            if metric.name not in self.grades:
                return f"grade {metric.title.lower()}"
        return None

    def lacks(self, *, grades: bool) -> str | None:
        """What is missing before it is complete; None: nothing."""
        return self.lacks_labels() or (self.lacks_grades() if grades else None)

    def annotation(self, test_id: str, annotator: str) -> Annotation:
        """The labels as an annotation.

        Raises:
            InputError: they are not complete.
        """
        missing = self.lacks_labels()
        if missing is not None:
            raise InputError(f"The annotation of {test_id!r} is not complete: {missing}.")
        statements: Sequence[DraftStatement] = () if self.nothing_to_rate else self.statements
        return Annotation(
            test_id=test_id,
            annotator=annotator,
            source="human",
            statements=tuple(
                AnnotatedStatement(
                    text=one.text.strip(),
                    relevant=bool(one.relevant),
                    faithful=bool(one.faithful),
                    citation_right=bool(one.citation_right),
                )
                for one in statements
            ),
        )


def draft_of(annotation: Annotation) -> Draft | None:
    """The draft that an annotation ends; None when it holds shares instead of statements."""
    if annotation.statements is None:
        return None
    return Draft(
        state="done",
        nothing_to_rate=not annotation.statements,
        statements=tuple(
            DraftStatement.model_validate(statement.model_dump())
            for statement in annotation.statements
        ),
    )
