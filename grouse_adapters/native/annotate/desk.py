"""What the page may ask for. One annotator never gets to see what another said."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grouse_adapters.core.errors import GrouseError, InputError
from grouse_adapters.native.agreement import annotation_agreement
from grouse_adapters.native.annotate.drafts import Draft, State
from grouse_adapters.native.annotate.rubrics import rubrics
from grouse_adapters.native.annotate.storage import AnnotationStore, Saved
from grouse_adapters.native.annotate.tasks import Task, cut, key_of, order

LONGEST_NAME: Final = 60

Reply = dict[str, Any]
_T = TypeVar("_T", bound=BaseModel)


class UnknownError(GrouseError):
    """The page asks for an answer that is not among these tests."""


class ConflictError(GrouseError):
    """The answer was changed by another page of the same annotator.

    Attributes:
        now: the revision that counts.
    """

    def __init__(self, now: int) -> None:
        super().__init__("This answer was changed in another window under your name.")
        self.now = now


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NameRequest(_Request):
    """Asks for the work of an annotator."""

    annotator: str


class TaskRequest(NameRequest):
    """Asks for one answer."""

    key: str


class SaveRequest(TaskRequest):
    """Brings what was said about one answer.

    Attributes:
        base: the revision on which it builds; 0: none.
        writer: name of the opened page, made up by it.
        draft: what was said.
    """

    base: Annotated[int, Field(ge=0)]
    writer: Annotated[str, Field(min_length=1, max_length=64)]
    draft: Draft


@dataclass(frozen=True)
class Desk:
    """The tests and what is said about them.

    Attributes:
        store: where it is kept.
        tasks: what is annotated.
        title: name of the tests, for the page.
        grades: whether the judged metrics are graded too.
    """

    store: AnnotationStore
    tasks: Sequence[Task]
    title: str
    grades: bool = False

    def begin(self, request: NameRequest) -> Reply:
        """Where the annotator stands."""
        name = self._name(request.annotator)
        return {
            "annotator": name,
            "title": self.title,
            "desk": hashlib.sha256(str(self.store.path.resolve()).encode()).hexdigest()[:16],
            "grades": rubrics() if self.grades else [],
            "tests": [
                {"key": key_of(task, name), "state": self._state(self.store.latest(task, name))}
                for task in order(self.tasks, name)
            ],
        }

    def show(self, request: TaskRequest) -> Reply:
        """An answer with question and references, and what this annotator said about it."""
        name = self._name(request.annotator)
        task = self._task(name, request.key)
        saved = self.store.latest(task, name)
        proposal = cut(task.sample)
        draft = saved.draft if saved is not None else Draft(statements=proposal.statements)
        return {
            "key": request.key,
            "question": task.sample.input,
            "references": list(task.sample.references),
            "answer": task.sample.actual_output,
            "left_out": list(proposal.left_out),
            "revision": 0 if saved is None else saved.revision,
            "state": self._state(saved),
            "draft": draft.model_dump(mode="json"),
        }

    def save(self, request: SaveRequest) -> Reply:
        """Keeps what was said.

        Raises:
            ConflictError: another page of this annotator saved meanwhile.
            ConfigurationError: it cannot be written.
        """
        name = self._name(request.annotator)
        task = self._task(name, request.key)
        draft = request.draft
        if draft.state == "done" and (missing := draft.lacks(grades=self.grades)) is not None:
            raise InputError(f"This answer is not done yet: {missing}.")
        before = self.store.latest(task, name)
        revision = 0 if before is None else before.revision
        # the same page may not have heard of its last save: it knows what it overwrites
        if before is not None and request.base != revision and before.writer != request.writer:
            if before.draft != draft:
                raise ConflictError(revision)
            saved = before
        else:
            saved = self.store.save(task, name, draft, writer=request.writer)
        return {"revision": saved.revision, "state": self._state(saved)}

    def agreement(self, request: NameRequest) -> Reply:
        """The agreement of those who are through with all tests, for one of them."""
        name = self._name(request.annotator)
        if not self._is_through(name):
            return {"report": None, "why": "You have not rated all answers yet."}
        through = {other for other in self.store.annotators if self._is_through(other)}
        ids = {task.test_id for task in self.tasks}
        rows = [
            row
            for row in self.store.finished()
            if row.test_id in ids and row.source == "human" and row.annotator in through
        ]
        if len({row.annotator for row in rows}) < 2:
            return {"report": None, "why": "Nobody else has rated all answers yet."}
        report = annotation_agreement(rows)
        return {
            "report": report.model_dump(mode="json", exclude={"disagreements", "by_construction"})
        }

    def counts(self) -> dict[str, int]:
        """How many answers each annotator has finished."""
        return {
            name: sum(self._done(task, name) for task in self.tasks)
            for name in self.store.annotators
        }

    def _done(self, task: Task, name: str) -> bool:
        return self._state(self.store.latest(task, name)) == "done"

    def _is_through(self, name: str) -> bool:
        return all(self._done(task, name) for task in self.tasks)

    def _state(self, saved: Saved | None) -> State:
        if saved is None:
            return "new"
        state = saved.draft.state
        if state == "done" and saved.draft.lacks(grades=self.grades) is not None:
            return "open"  # e.g. grades are asked for since
        return state

    def _task(self, name: str, key: str) -> Task:
        for task in self.tasks:
            if key_of(task, name) == key:
                return task
        raise UnknownError("This answer is not among the tests any more: reload the page.")

    def _name(self, given: str) -> str:
        name = " ".join(unicodedata.normalize("NFC", given).split())
        if not name:
            raise InputError("Give your name.")
        if len(name) > LONGEST_NAME or any(unicodedata.category(c)[0] == "C" for c in name):
            raise InputError(f"A name has at most {LONGEST_NAME} characters that can be printed.")
        return self.store.spelling(name)


def read_request(kind: type[_T], body: Any) -> _T:
    """The request in a parsed body.

    Raises:
        InputError: it is none.
    """
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise InputError(f"The request cannot be read: {place}: {first['msg']}.") from None
