"""What is annotated: answers, each annotator's order of them, and how an answer is cut."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.sample import Sample
from grouse_adapters.native.annotate.drafts import MOST_CHARACTERS, MOST_STATEMENTS, DraftStatement


@dataclass(frozen=True, slots=True)
class Task:
    """An answer to annotate.

    Attributes:
        test_id: the unit test, or the id of the sample.
        sample: question, references and answer. The expected answer is never shown.
        content: hash of what is shown; a changed answer is annotated afresh.
        group: hash of question and references: answers that share them come one after another.
    """

    test_id: str
    sample: Sample
    content: str
    group: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """An answer as cut by code.

    Attributes:
        statements: what it states; uncited ones have their citation marked wrong.
        left_out: headings, lead-ins and refusals, which state nothing.
    """

    statements: tuple[DraftStatement, ...]
    left_out: tuple[str, ...]


def tasks_of(samples: Iterable[Sample]) -> list[Task]:
    """One task per sample; each sample must have an id of its own.

    Raises:
        InputError: there is no sample, or an id is used twice.
    """
    found: dict[str, Task] = {}
    for sample in samples:
        name = str(sample.id)
        if name in found:
            raise InputError(f"The id {name!r} is used twice: give every test an id of its own.")
        shown = sample.model_copy(update={"expected_output": None})
        asked = shown.model_copy(update={"actual_output": ""})
        found[name] = Task(name, shown, shown.content_hash(), asked.content_hash())
    if not found:
        raise InputError("There is nothing to annotate: name a file that holds answers.")
    return list(found.values())


def order(tasks: Sequence[Task], annotator: str) -> list[Task]:
    """The tasks as this annotator gets them.

    Tests with the same question and references stay together, so that references are read once.
    The order of these groups and the order within each follow from hashes of the annotator's name:
    annotators get different orders, and each gets the same one again.
    """
    return sorted(
        tasks, key=lambda task: (_digest(annotator, task.group), _digest(annotator, task.test_id))
    )


def key_of(task: Task, annotator: str) -> str:
    """What the page calls the task. Ids would give away what kind of test it is."""
    return _digest("key", annotator, task.test_id)[:20]


def cut(sample: Sample) -> Proposal:
    """The answer's statements: each clause up to its citation, as the lexical judge reads it."""
    from grouse_adapters.lexical.refusal import RefusalReader
    from grouse_adapters.lexical.sentences import split_answer
    from grouse_adapters.lexical.text import detect_language

    code = detect_language(sample.actual_output, sample.input)
    sentences = split_answer(sample.actual_output, code)
    opening = RefusalReader().read(sentences, question=sample.input, code=code)
    statements: list[DraftStatement] = []
    left_out: list[str] = []
    for sentence in opening.sentences:
        if sentence.kind == "lead_in":
            if re.search(r"\w", sentence.text):
                left_out.append(sentence.text)
            continue
        for claim in sentence.claims:
            if len(statements) == MOST_STATEMENTS or len(claim.text) > MOST_CHARACTERS:
                left_out.append(claim.text)
                continue
            statements.append(
                DraftStatement(
                    text=claim.text,
                    citations=claim.citations,
                    # what is not there cannot be right; the annotator may still say otherwise
                    citation_right=None if claim.citations else False,
                )
            )
    return Proposal(tuple(statements), tuple(left_out))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()
