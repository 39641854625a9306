"""Sample: one grounded-QA answer to judge; built from rows of any of the four frameworks."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import SampleField

ALIASES: Final[Mapping[SampleField, tuple[str, ...]]] = {
    "input": ("input", "user_input", "question", "query"),
    "references": ("references", "retrieved_contexts", "retrieval_context", "contexts"),
    "expected_output": ("expected_output", "reference", "ground_truth"),
    "actual_output": ("actual_output", "response", "answer"),
}
"""Column names of the GroUSE dataset, RAGAS (new and old), DeepEval and LlamaIndex."""

_CITATION: Final = re.compile(r"\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]")
_OPTIONAL: Final = frozenset({"expected_output"})
_TEST_COLUMNS: Final = frozenset({"conditions", "annotations"})
_KNOWN: Final = frozenset(
    {"id", "metadata", *_TEST_COLUMNS, *(alias for names in ALIASES.values() for alias in names)}
)


class Sample(BaseModel):
    """A question, numbered references, an expected and an actual answer.

    Attributes:
        input: the question.
        references: the passages the answer may cite, ``[1]`` being the first; may be empty
            (retrieval found nothing).
        expected_output: the expected answer; None when there is none.
        actual_output: the answer to judge; may be empty.
        id: the caller's name for the sample.
        metadata: anything else; kept, never shown to the judge.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    input: str
    references: tuple[str, ...] = ()
    expected_output: str | None = None
    actual_output: str
    id: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("references", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    def __hash__(self) -> int:
        return hash((self.input, self.references, self.expected_output, self.actual_output))

    def content_hash(self) -> str:
        """SHA-256 (hex) of the four judged fields; equal content has an equal hash."""
        fields = [self.input, list(self.references), self.expected_output, self.actual_output]
        text = json.dumps(fields, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()


def sample_from_row(row: Mapping[str, Any]) -> Sample:
    """A sample from a framework's row; columns it does not know go to ``metadata``.

    Accepted names per field are those of ``ALIASES``. ``references`` must be there, as a list of
    strings, but may be empty or null.

    Raises:
        InputError: a field is missing, given twice with different values, or of a wrong type.
    """
    if not isinstance(row, Mapping):
        raise InputError(
            f"a sample must be an object with named fields, not {_type_name(row)}; "
            "see the field names in the documentation."
        )
    fields: dict[str, Any] = {}
    for field, aliases in ALIASES.items():
        present = [alias for alias in aliases if alias in row]
        if not present:
            _check_absence(field, row)
            continue
        value = row[present[0]]
        if any(row[other] != value for other in present[1:]):
            raise InputError(
                f"the fields {_quoted(present)} disagree: they mean the same, keep one of them."
            )
        fields[field] = _checked(field, present[0], value)
    identifier = row.get("id")
    if identifier is not None:
        if isinstance(identifier, bool) or not isinstance(identifier, str | int):
            raise InputError(f"'id' must be text or a whole number, not {_type_name(identifier)}.")
        fields["id"] = str(identifier)
    fields["metadata"] = _metadata(row)
    try:
        return Sample(**fields)
    except ValidationError as error:  # what the checks above did not foresee
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place!r} cannot be read: {first['msg']}.") from None


def samples_from_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Sample]:
    """Samples from rows (list of dicts, a dataset), one at a time; errors name the row, from 1."""
    for number, row in enumerate(rows, start=1):
        try:
            yield sample_from_row(row)
        except InputError as error:
            raise InputError(f"Row {number}: {error}") from None


def cites(text: str) -> bool:
    """Whether ``text`` cites any reference as ``[1]``, ``[1, 2]`` or ``[1-3]``."""
    return _CITATION.search(text) is not None


def _check_absence(field: SampleField, row: Mapping[str, Any]) -> None:
    unknown = [key for key in row if isinstance(key, str) and key not in _KNOWN]
    for alias in ALIASES[field]:
        close = difflib.get_close_matches(alias, unknown, n=1, cutoff=0.85)
        if close:
            raise InputError(f"the field {close[0]!r} is unknown: did you mean {alias!r}?")
    if field not in _OPTIONAL:
        others = _quoted(ALIASES[field][1:])
        raise InputError(f"the field {field!r} is missing (also accepted: {others}).")


def _checked(field: SampleField, name: str, value: Any) -> Any:
    if field == "references":
        if value is None:
            return ()
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise InputError(f"{name!r} must be a list of strings, not {_type_name(value)}.")
        references = tuple(value)
        for number, reference in enumerate(references, start=1):
            if not isinstance(reference, str):
                raise InputError(
                    f"{name!r} must be a list of strings, but reference {number} is "
                    f"{_type_name(reference)}."
                )
        return tuple(_well_formed(name, reference) for reference in references)
    if value is None and field in _OPTIONAL:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name!r} must be text, not {_type_name(value)}.")
    return _well_formed(name, value)


def _well_formed(name: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{name!r} holds half of a surrogate pair, which no server accepts: "
            "fix the encoding of the source."
        ) from None
    return text


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("metadata")
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"'metadata' must be an object, not {_type_name(given)}.")
    metadata = {str(key): value for key, value in row.items() if key not in _KNOWN}
    metadata.update({str(key): value for key, value in (given or {}).items()})
    return metadata


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "text", bool: "true/false"}
    return names.get(type(value), f"a {type(value).__name__}")
