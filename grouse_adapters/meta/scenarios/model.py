"""A scenario as its author wrote it: the parsed form of the YAML file, format 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
)

from grouse_adapters.meta.scenarios.problems import Place, Problem, Source, did_you_mean

Tag = Literal["relevant", "related", "off-topic", "absurd"]
Form = Literal["prose", "list"]

FORMAT: Final = "1"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _plain_word(value: Any) -> Any:
    return value.strip().lower().replace("_", "-") if isinstance(value, str) else value


def _long_form(value: Any) -> Any:
    """``{id: text}`` as ``{"statements": {id: text}}``; authors write either."""
    if not isinstance(value, Mapping) or isinstance(value.get("statements"), Mapping):
        return value
    frame = {key: value[key] for key in ("opening", "form") if key in value}
    rest = {key: text for key, text in value.items() if key not in frame}
    return {**frame, "statements": rest}


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Sentence = Annotated[Text, AfterValidator(_on_one_line)]
Key = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Statements = Annotated[dict[str, Sentence], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reference(_Part):
    """A passage.

    Attributes:
        tag: what it is to the question; ``absurd`` ones replace ``instead_of`` in one test.
        text: the passage as a retriever returns it.
        instead_of: the key of the reference whose place an absurd one takes.
    """

    tag: Annotated[Tag, BeforeValidator(_plain_word)]
    text: Text
    instead_of: Key | None = None


class Wording(_Part):
    """Statements in one wording.

    Attributes:
        form: ``prose`` joins them with spaces, ``list`` makes each an item.
        opening: a lead-in without facts.
        statements: text by id, in the order in which they stand; citations by key.
    """

    form: Annotated[Form, BeforeValidator(_plain_word)] = "prose"
    opening: Sentence | None = None
    statements: Statements


Changes = Annotated[Wording, BeforeValidator(_long_form)]
"""Statements that replace those of the same id or are added."""


class Related(Wording):
    """What related references hold about neighbouring matters, and other wordings of it."""

    paraphrases: Annotated[tuple[Wording, ...], Field(min_length=1)]


class Partial(_Part):
    """Type 4: some relevant references only, all that they hold, and the same in other words."""

    references: Annotated[tuple[Key, ...], Field(min_length=1)]
    expected: Wording
    actual: Wording


class Absurd(_Part):
    """Types 6 and 7: an absurd reference, and what is said from it."""

    reference: Key
    expected: Changes
    actual: Changes


class WrongCitation(_Part):
    """Type 14: the statement whose citations are exchanged for one of ``cites``."""

    statement: Key
    cites: Key


class Unsupported(_Part):
    """Type 15: a statement without support or without citation.

    Attributes:
        kind: ``unsupported``: in no reference; ``uncited``: in one, but not cited.
        after: the statement after which ``text`` is put.
        statement: of ``uncited``: the statement that loses its citations instead.
        text: the statement; with ``statement`` it may be left out.
    """

    kind: Annotated[Literal["unsupported", "uncited"], BeforeValidator(_plain_word)]
    after: Key | None = None
    statement: Key | None = None
    text: Sentence | None = None


class Distorted(_Part):
    """Type 16: what the statement of this id says in the actual answer."""

    statement: Key
    text: Sentence


class Scenario(_Part):
    """All that the 16 unit tests of a set are built from; docs/scenarios.md explains each part."""

    format: Literal["1"]
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    language: Annotated[
        str, BeforeValidator(_plain_word), StringConstraints(pattern=r"^[a-z]{2}$")
    ] = "en"
    domain: Sentence | None = None
    question: Sentence
    refusal: Sentence
    references: dict[str, Reference]
    answer: Wording
    paraphrases: Annotated[tuple[Wording, ...], Field(min_length=1)]
    related: Related
    off_topic: Wording
    partial: Partial
    absurd: Absurd
    absurd_related: Absurd
    superfluous: Wording
    omitted: Annotated[tuple[Key, ...], Field(min_length=1)]
    wrong_citation: WrongCitation
    unsupported: Unsupported
    distorted: Distorted

    _source: Source = PrivateAttr(default_factory=Source)

    @property
    def source(self) -> Source:
        """Where its parts stand in its file."""
        return self._source

    def tagged(self, *tags: Tag) -> tuple[str, ...]:
        """Keys of the references with one of these tags, in the author's order."""
        return tuple(key for key, reference in self.references.items() if reference.tag in tags)


def parse_scenario(
    value: Mapping[str, Any], source: Source
) -> tuple[Scenario | None, list[Problem]]:
    """The scenario in ``value``, or every problem with its structure."""
    try:
        scenario = Scenario.model_validate(value)
    except ValidationError as error:
        return None, list(_problems(error, source))
    scenario._source = source
    return scenario, []


def _problems(error: ValidationError, source: Source) -> Iterator[Problem]:
    for one in error.errors():
        place: Place = one["loc"]
        yield source.problem(place, _message(one["type"], place, one["input"], one.get("ctx", {})))


def _message(kind: str, place: Place, value: Any, context: Mapping[str, Any]) -> str:
    if kind == "missing":
        return "is missing: add it ('grouse-adapters scenario new' shows every part)."
    if kind == "extra_forbidden":
        hint = did_you_mean(str(place[-1]), _known_keys(place[:-1]))
        comma = " (if it belongs to a text in braces, put the text in quotes)" * (value is None)
        return f"is no key of a scenario{comma}: {hint}"
    if value is None:
        return "has no value: write one, or take the key out."
    if kind == "literal_error":
        if place == ("format",):
            return (
                f"is {value!r}, and this version reads format {FORMAT}: write 'format: {FORMAT}'."
            )
        return f"is {value!r}: use {context['expected'].replace(chr(39), '')}."
    if kind == "string_type":
        return f"must be text, not {_kind_of(value)}: check the indentation below it."
    if kind in ("model_type", "dict_type"):
        return f"must hold keys, not {_kind_of(value)}: indent 'key: value' lines below it."
    if kind in ("tuple_type", "list_type"):
        return f"must be a list, not {_kind_of(value)}: write '- ' items below it."
    if kind in ("string_too_short", "too_short"):
        return "is empty: write at least one entry."
    if kind == "string_pattern_mismatch" and place == ("id",):
        return f"is {value!r}: use letters, digits and dashes, such as 'tide-mill'."
    if kind == "string_pattern_mismatch":
        return f"is {value!r}: write the two letters of a language, such as 'en'."
    return f"cannot be read: {kind.replace('_', ' ')}."


def _kind_of(value: Any) -> str:
    return "keys" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else "text"


def _known_keys(place: Place) -> list[str]:
    """The keys that may stand at ``place``."""
    current: Any = Scenario
    for part in place:
        if isinstance(current, type) and issubclass(current, _Part):
            current = current.model_fields[str(part)].annotation
        else:
            arguments = get_args(current)  # of dict[str, X] or tuple[X, ...]
            current = arguments[1] if get_origin(current) is dict else arguments[0]
    is_part = isinstance(current, type) and issubclass(current, _Part)
    return list(current.model_fields) if is_part else []
