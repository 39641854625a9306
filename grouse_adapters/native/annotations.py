"""Annotations: what people, or the making of a test, say about an answer's statements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.readers import read_json_lines

Source = Literal["human", "by construction"]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

_SHARES: Final = ("answer_relevancy", "faithfulness")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AnnotatedStatement(_Row):
    """One statement of an answer.

    Attributes:
        text: the statement, without citations.
        relevant: whether it answers the question.
        faithful: whether a reference holds it.
        citation_right: whether it cites, and cites the reference that holds it; None: not asked.
    """

    text: Annotated[str, Field(min_length=1)]
    relevant: bool
    faithful: bool
    citation_right: bool | None = None

    @model_serializer(mode="wrap")
    def _without_unasked(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        row: dict[str, Any] = plain(self)
        if self.citation_right is None:
            row.pop("citation_right", None)
        return row


class Annotation(_Row):
    """What one annotator says about the actual answer of one test.

    It holds either shares or statements. An answer without statements has no share: ``statements``
    is empty, or both shares are None.

    Attributes:
        test_id: the unit test.
        annotator: who annotated, by a name of their choice.
        source: ``human``, or ``by construction`` when it follows from how the test was made.
        answer_relevancy: share of the statements that answer the question, 0-1.
        faithfulness: share of the statements that a reference holds, 0-1.
        statements: each statement with its labels; None when shares were given.
    """

    test_id: Annotated[str, Field(min_length=1)]
    annotator: Annotated[str, Field(min_length=1)]
    source: Source
    answer_relevancy: Share | None = None
    faithfulness: Share | None = None
    statements: Annotated[tuple[AnnotatedStatement, ...], Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Annotation:
        shares = self.model_fields_set & set(_SHARES)
        if self.statements is None and not shares:
            raise ValueError(
                "it has neither statements nor shares: add 'statements', or both shares"
            )
        if self.statements is not None and any(getattr(self, name) is not None for name in shares):
            raise ValueError("it has both statements and shares: keep one of the two")
        return self

    def as_row(self) -> dict[str, Any]:
        """The line's object; ``read_annotations`` reads it."""
        left_out = set(_SHARES) if self.statements is not None else {"statements"}
        return self.model_dump(mode="json", exclude=left_out)


def read_annotations(path: str | Path) -> list[Annotation]:
    """The annotations of a JSON-lines file, plain or gzip.

    Raises:
        InputError: the file cannot be read, is empty, a line is not an annotation, or an annotator
            is there twice for one test; the line is named.
    """
    path = Path(path)
    found: list[Annotation] = []
    first: dict[tuple[str, str], int] = {}
    for number, row in read_json_lines(path):
        annotation = annotation_from_row(row, f"{path}, line {number}")
        earlier = first.setdefault((annotation.test_id, annotation.annotator), number)
        if earlier != number:
            raise InputError(
                f"{path}, line {number}: {annotation.annotator!r} annotated "
                f"{annotation.test_id!r} on line {earlier} already: keep one of the two lines."
            )
        found.append(annotation)
    if not found:
        raise InputError(f"{path} holds no annotations: write one JSON object per line.")
    return found


def write_annotations(annotations: Iterable[Annotation]) -> str:
    """The annotations as JSON lines."""
    return "".join(json.dumps(a.as_row(), ensure_ascii=False) + "\n" for a in annotations)


def annotation_from_row(row: Any, place: str) -> Annotation:
    """The annotation that a row holds.

    Raises:
        InputError: it is none; the message begins with ``place``.
    """
    try:
        return Annotation.model_validate(row)
    except ValidationError as error:
        raise InputError(f"{place}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    kind, given = first["type"], first["input"]
    if kind == "value_error":
        return f"{first['msg'].removeprefix('Value error, ')}."
    if kind == "missing":
        return f"{where!r} is missing: add it."
    if kind == "extra_forbidden":
        known = ", ".join(_known(first["loc"]))
        return f"{where!r} is no field of an annotation: use {known}."
    if kind in ("greater_than_equal", "less_than_equal", "finite_number"):
        return f"{where!r} is {given}: write a share from 0 to 1."
    if kind == "float_type":
        return f"{where!r} is {json.dumps(given)}: write a share from 0 to 1, as a number."
    if kind == "bool_type":
        return f"{where!r} is {json.dumps(given)}: write true or false."
    if kind == "literal_error":
        return f'{where!r} is {json.dumps(given)}: write "human" or "by construction".'
    if kind in ("string_type", "string_too_short"):
        return f"{where!r} must be text, and not empty."
    if kind == "tuple_type":
        return "'statements' must be a list of objects with text, relevant and faithful."
    if not where:
        return "an annotation must be an object with named fields."
    return f"{where!r} must be an object with text, relevant and faithful."


def _known(place: tuple[str | int, ...]) -> Iterable[str]:
    return (AnnotatedStatement if len(place) > 1 else Annotation).model_fields
