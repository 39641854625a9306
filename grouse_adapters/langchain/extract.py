"""Finds question, documents, answer and expected answer in what chains and datasets hold.

Understands what LangChain and LangSmith put into runs: plain values under many names, messages,
prompts and documents, as objects or serialised. Nothing here depends on the kind of chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import SampleField
from grouse_adapters.core.sample import ALIASES, Sample, sample_from_row

QUESTION_KEYS: Final = ("question", "input", "user_input", "query", "inputs", "messages")
ANSWER_KEYS: Final = (
    "answer",
    "output",
    "actual_output",
    "response",
    "result",
    "output_text",
    "generation",
    "messages",
)
REFERENCE_KEYS: Final = (
    *ALIASES["references"],
    "context",
    "documents",
    "docs",
    "source_documents",
    "retrieved_documents",
)
EXPECTED_KEYS: Final = (*ALIASES["expected_output"], "expected", "expected_answer", *ANSWER_KEYS)

_DEPTH: Final = 5
_HUMAN: Final = frozenset({"human", "user", "humanmessage", "humanmessagechunk"})
_ASSISTANT: Final = frozenset({"ai", "assistant", "aimessage", "aimessagechunk"})


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a sample; None: nothing of the kind.

    ``references`` is empty when retrieval ran and found nothing.
    """

    input: str | None = None
    references: tuple[str, ...] | None = None
    actual_output: str | None = None
    expected_output: str | None = None

    @property
    def missing(self) -> str | None:
        """The first of question, answer and documents that was not found."""
        for what, value in (
            ("question", self.input),
            ("answer", self.actual_output),
            ("documents", self.references),
        ):
            if value is None:
                return what
        return None

    def sample(self, *, id: str | None = None, metadata: Mapping[str, Any] | None = None) -> Sample:
        """The sample; references that were not found are none.

        Raises:
            InputError: question or answer were not found, or hold what no server accepts.
        """
        row = {
            "input": self.input,
            "references": self.references or (),
            "actual_output": self.actual_output,
            "expected_output": self.expected_output,
        }
        return sample_from_row({**row, "id": id, "metadata": metadata or {}})

    def completed(self, given: Mapping[str, Any]) -> Found:
        """The same with what an extractor gave, which wins.

        Raises:
            InputError: a name is unknown, or references are no list of documents or strings.
        """
        names = {alias: field for field, aliases in ALIASES.items() for alias in aliases}
        names |= dict.fromkeys(REFERENCE_KEYS, "references")
        fields: dict[SampleField, Any] = {}
        for name, value in given.items():
            field = names.get(name)
            if field is None:
                raise InputError(
                    f"The extractor gave {name!r}: give {', '.join(ALIASES)} or a Sample."
                )
            if field == "references":
                value = documents_in(value, strings=True)
                if value is None:
                    raise InputError(
                        f"The extractor's {name!r} must be a list of documents or strings."
                    )
            fields[field] = value
        return replace(self, **fields)


def found_in_sample(sample: Sample) -> Found:
    """All four fields of a finished sample."""
    return Found(
        input=sample.input,
        references=sample.references,
        actual_output=sample.actual_output,
        expected_output=sample.expected_output,
    )


def question_in(value: Any) -> str | None:
    """The question: a text, the last human message, or what stands under a usual name."""
    return _find(value, QUESTION_KEYS, "human", _DEPTH)


def answer_in(value: Any) -> str | None:
    """The answer: a text, the last message of the assistant that calls no tool, or what stands
    under a usual name."""
    return _find(value, ANSWER_KEYS, "assistant", _DEPTH)


def expected_in(value: Any) -> str | None:
    """The expected answer in a dataset's outputs."""
    return _find(value, EXPECTED_KEYS, "assistant", _DEPTH)


def expected_in_metadata(metadata: Mapping[str, Any]) -> str | None:
    """The expected answer that the caller put in ``config["metadata"]``."""
    for name in ALIASES["expected_output"]:
        if isinstance(metadata.get(name), str):
            return str(metadata[name])
    return None


def references_in(*holders: Any) -> tuple[str, ...] | None:
    """The first list of documents or strings under a usual name."""
    for holder in holders:
        if isinstance(holder, Mapping):
            for key in REFERENCE_KEYS:
                found = documents_in(holder.get(key), strings=True)
                if found is not None:
                    return found
    return None


def documents_in(value: Any, *, strings: bool = False) -> tuple[str, ...] | None:
    """The texts of a list of documents, None when it is no such list.

    Args:
        strings: take strings for documents, and an empty list for no documents.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    if not isinstance(value, Sequence) and not hasattr(value, "__len__"):
        return None  # an iterator belongs to whoever reads it
    texts = [_document(item, strings) for item in value]
    if not texts and not strings:
        return None
    return tuple(text for text in texts if text is not None) if None not in texts else None


def retrieved_in(run: Any) -> tuple[str, ...] | None:
    """The documents that the steps of a run retrieved, in the order in which they were handed on.

    Retrievals are put one after the other, without what an earlier one had found. A later list of
    the same documents (reranked, filtered, the chain's own ``context``) takes their place. What a
    retriever asks inside of another is not shown to the model and does not count. None: nothing
    was retrieved.
    """
    retrievals = _Retrievals()
    _walk(run, retrievals)
    return retrievals.documents if retrievals.any else None


def unfinished(run: Any) -> bool:
    """Whether a step of the run had not ended when the run did: its reader went away."""
    steps = run.child_runs or ()
    return any(step.end_time is None or unfinished(step) for step in steps)


class _Retrievals:
    def __init__(self) -> None:
        self.any = False
        self._parts: list[tuple[str, ...]] = []

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(text for part in self._parts for text in part)

    def add(self, texts: tuple[str, ...]) -> None:
        known = set(self.documents)
        self.any = True
        # Doubles within one list stay: citations count them.
        self._parts.append(tuple(text for text in texts if text not in known))

    def hand_on(self, texts: tuple[str, ...]) -> None:
        wanted = set(texts)
        touched = [part for part in self._parts if wanted & set(part)]
        if not touched or wanted - {text for part in touched for text in part}:
            self.add(texts)
            return
        place = self._parts.index(touched[0])
        rest = [part for part in self._parts if part not in touched]
        self._parts = [*rest[:place], texts, *rest[place:]]


def _walk(run: Any, retrievals: _Retrievals) -> None:
    outputs = run.outputs if isinstance(run.outputs, Mapping) else {}
    if run.run_type == "retriever":
        for value in outputs.values():
            texts = documents_in(value, strings=True)
            if texts is not None:
                retrievals.add(texts)
                return
        return
    for step in run.child_runs or ():
        _walk(step, retrievals)
    for name, value in outputs.items():
        # A tool that retrieves may hand the documents on beside its text.
        texts = documents_in(
            getattr(value, "artifact", None) or value, strings=name in REFERENCE_KEYS
        )
        if texts is not None:
            retrievals.hand_on(texts)


def _document(value: Any, strings: bool) -> str | None:
    if isinstance(value, str):
        return value if strings else None
    text = _field(value, "page_content")
    return text if isinstance(text, str) else None


Speaker = Literal["human", "assistant", "other"]


@dataclass(frozen=True, slots=True)
class _Message:
    speaker: Speaker
    text: str
    calls_tools: bool = False


def _find(value: Any, keys: tuple[str, ...], speaker: Speaker, depth: int) -> str | None:
    if value is None or depth == 0:
        return None
    if isinstance(value, str):
        return value
    if (message := _message(value)) is not None:
        return None if message.calls_tools else message.text
    to_messages = getattr(value, "to_messages", None)
    if callable(to_messages):
        value = to_messages()
    if isinstance(value, Mapping):
        return _find_in_mapping(value, keys, speaker, depth)
    if isinstance(value, list | tuple):
        return _said(value, speaker)
    returned = getattr(value, "return_values", None)  # an agent's last step
    return None if returned is None else _find(returned, keys, speaker, depth - 1)


def _find_in_mapping(
    value: Mapping[str, Any], keys: tuple[str, ...], speaker: Speaker, depth: int
) -> str | None:
    for key in keys:
        found = _find(value.get(key), keys, speaker, depth - 1)
        if found is not None:
            return found
    texts = [text for text in value.values() if isinstance(text, str)]
    return texts[0] if len(texts) == 1 else None


def _said(values: Sequence[Any], speaker: Speaker) -> str | None:
    """What the speaker said last; an answer must follow the last question."""
    for message in map(_message, reversed(values)):
        if message is None:
            return None
        if message.speaker == speaker and not message.calls_tools:
            return message.text
        if message.speaker == "human":
            return None
    return None


def _message(value: Any) -> _Message | None:
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(x, str) for x in value):
        return _Message(_speaker(value[0]), value[1])
    content = _field(value, "content")
    role = _field(value, "role") or _field(value, "type") or _class_name(value)
    if not isinstance(role, str) or not isinstance(content, str | list):
        return None
    return _Message(_speaker(role), content_text(content), bool(_field(value, "tool_calls")))


def content_text(content: Any) -> str:
    """The text of a message's content, which may be a list of blocks; thoughts are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block if isinstance(block, str) else _field(block, "text") for block in content]
    return "".join(text for text in texts if isinstance(text, str))


def _speaker(role: str) -> Speaker:
    plain = role.lower()
    return "human" if plain in _HUMAN else "assistant" if plain in _ASSISTANT else "other"


def _field(value: Any, name: str) -> Any:
    """A field of an object, of its dict, or of what LangChain's serialisation made of it."""
    if isinstance(value, Mapping):
        if value.get("lc") and isinstance(value.get("kwargs"), Mapping):
            value = value["kwargs"]
        return value.get(name)
    return getattr(value, name, None)


def _class_name(value: Any) -> Any:
    path = value.get("id") if isinstance(value, Mapping) else None
    return path[-1] if isinstance(path, list) and path else None
