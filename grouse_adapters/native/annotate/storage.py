"""Where annotations are kept: a log of every change, and the finished ones in their own form.

The log only grows; the last row of a test and annotator counts. Everything else is made from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.files import AppendFile, replaced_whole
from grouse_adapters.core.metrics import JUDGED_METRICS
from grouse_adapters.native.annotate.drafts import Draft, draft_of
from grouse_adapters.native.annotate.tasks import Task
from grouse_adapters.native.annotations import Annotation, read_annotations, write_annotations

_ENDING: Final = re.compile(r"\.jsonl?$")
_Key = tuple[str, str]


class Saved(BaseModel):
    """One row of the log.

    Attributes:
        test_id: the test.
        content: hash of what the annotator saw.
        annotator: who.
        revision: how many times this annotator saved this test, from 1.
        writer: the opened page that sent it; two pages of one annotator must not overwrite each
            other unseen.
        saved_at: when, UTC.
        draft: what was said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    test_id: str
    content: str
    annotator: str
    revision: int
    writer: str
    saved_at: str
    draft: Draft


class AnnotationStore:
    """The annotations of a file, in use by this process alone.

    Beside ``annotations.jsonl`` it keeps ``annotations.log.jsonl``, every change as soon as it is
    made, and, where grades were given, ``annotations.grades/``, one file per annotator.

    Args:
        path: the annotations. What the file holds already stays in it; human rows with statements
            can be continued.
        tasks: what is annotated. A row about another state of an answer does not count.

    Raises:
        ConfigurationError: a file cannot be written, or another process uses it.
        InputError: a file is there and is not what it should be.
    """

    def __init__(self, path: Path, tasks: Sequence[Task]) -> None:
        if path.suffix == ".gz" or path.is_dir():
            raise ConfigurationError(
                f"{path} cannot be kept up to date: name an uncompressed file with --annotations."
            )
        self.path = path
        stem = _ENDING.sub("", path.name)
        self.log_path = path.with_name(f"{stem}.log.jsonl")
        self.grades_path = path.with_name(f"{stem}.grades")
        self.session_path = path.with_name(f".{stem}.session")
        self._tasks = {task.test_id: task for task in tasks}
        self._latest: dict[_Key, Saved] = {}
        self._given: dict[_Key, Annotation] = {}
        if path.exists() and path.stat().st_size:
            self._given = {(a.test_id, a.annotator): a for a in read_annotations(path)}
        self._log = self._open()
        try:
            self._log.size = self._read_log()
            self._written: str | None = None
            self._write_finished()
            for annotator in self.annotators:
                self._write_grades(annotator)
        except BaseException:
            self.close()
            raise

    @property
    def annotators(self) -> list[str]:
        """The people whose work is kept."""
        given = (row.annotator for row in self._given.values() if row.source == "human")
        return list(dict.fromkeys((*given, *(name for _, name in self._latest))))

    def spelling(self, name: str) -> str:
        """The name as its owner wrote it first; capitals make no second annotator.

        Raises:
            InputError: labels by construction have this name.
        """
        for annotation in self._given.values():
            if annotation.annotator.casefold() == name.casefold():
                if annotation.source != "human":
                    raise InputError(
                        f"{annotation.annotator!r} stands for labels by construction: choose "
                        "another name."
                    )
                return annotation.annotator
        return next((n for n in self.annotators if n.casefold() == name.casefold()), name)

    def latest(self, task: Task, annotator: str) -> Saved | None:
        """What this annotator said last about this answer, in this or an earlier sitting."""
        saved = self._latest.get((task.test_id, annotator))
        if saved is not None:
            return saved if saved.content == task.content else None
        given = self._given.get((task.test_id, annotator))
        draft = None if given is None or given.source != "human" else draft_of(given)
        if draft is None:
            return None
        return Saved(
            test_id=task.test_id,
            content=task.content,
            annotator=annotator,
            revision=0,
            writer="",
            saved_at="",
            draft=draft,
        )

    def save(self, task: Task, annotator: str, draft: Draft, *, writer: str) -> Saved:
        """Appends to the log and brings the other files up to date; on disk when it returns.

        Raises:
            ConfigurationError: it cannot be written; what was saved before is intact.
        """
        before = self._latest.get((task.test_id, annotator))
        saved = Saved(
            test_id=task.test_id,
            content=task.content,
            annotator=annotator,
            revision=1 if before is None else before.revision + 1,
            writer=writer,
            saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
            draft=draft,
        )
        self._append(saved.model_dump_json().encode("utf-8") + b"\n")
        self._latest[task.test_id, annotator] = saved
        self._write_finished()
        if draft.grades or (before is not None and before.draft.grades):
            self._write_grades(annotator)
        return saved

    def finished(self) -> list[Annotation]:
        """The complete annotations: those that were in the file, then those of the log."""
        kept = [row for key, row in self._given.items() if key not in self._latest]
        return kept + [
            row.draft.annotation(row.test_id, row.annotator)
            for row in self._in_order()
            if row.draft.state == "done"
            and row.draft.lacks_labels() is None
            and self._is_current(row)
        ]

    def close(self) -> None:
        """Frees the files for other processes; may be called twice."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _in_order(self) -> list[Saved]:
        """The last rows in the order of the tests; of tests that are not there now at the end."""
        place = {name: number for number, name in enumerate(self._tasks)}
        return sorted(self._latest.values(), key=lambda row: place.get(row.test_id, len(place)))

    def _is_current(self, row: Saved) -> bool:
        task = self._tasks.get(row.test_id)
        return task is None or task.content == row.content

    def _open(self) -> AppendFile:
        try:
            self.log_path.parent.mkdir(parents=True, exist_ok=True)
            return AppendFile(self.log_path)
        except BlockingIOError:
            raise ConfigurationError(
                f"{self.path} is in use by another 'annotate': use its page, or name another file "
                "with --annotations."
            ) from None
        except OSError as error:
            _fail(self.log_path, error)

    def _read_log(self) -> int:
        """Reads all rows and mends the last one; returns the size of the log."""
        size = 0
        with self.log_path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                whole = line.endswith(b"\n")
                try:
                    row = Saved.model_validate_json(line) if line.strip() else None
                except ValidationError:
                    if not whole:  # a killed process left half a row
                        self._log.cut(size)
                        return size
                    raise InputError(
                        f"{self.log_path}, line {number} is no row of this log: delete that line."
                    ) from None
                if row is not None:
                    self._latest[row.test_id, row.annotator] = row
                size += len(line)
                if not whole:
                    self._log.write(b"\n")
                    size += 1
        return size

    def _append(self, line: bytes) -> None:
        try:
            self._log.append(line, on_disk=True)
        except OSError as error:
            _fail(self.log_path, error)

    def _write_finished(self) -> None:
        text = write_annotations(self.finished())
        if text != self._written:
            if text or self.path.exists():
                _write_whole(self.path, text)
            self._written = text

    def _write_grades(self, annotator: str) -> None:
        rows = [
            _grades_row(row)
            for row in self._in_order()
            if row.annotator == annotator
            and row.draft.state == "done"
            and row.draft.lacks_grades() is None
            and self._is_current(row)
        ]
        path = self.grades_path / f"{_file_name(annotator)}.jsonl"
        if not rows and not path.exists():
            return
        try:
            self.grades_path.mkdir(exist_ok=True)
        except OSError as error:
            _fail(self.grades_path, error)
        _write_whole(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _grades_row(row: Saved) -> Mapping[str, str | int | None]:
    # in a file of grades null is a grade: the metric does not apply
    return {"id": row.test_id} | {m.name: row.draft.grades[m.name] for m in JUDGED_METRICS}


def _file_name(annotator: str) -> str:
    """The annotator's name as a name of a file; different names have different files."""
    plain = re.sub(r"[^\w-]+", "_", annotator).strip("_")
    if plain == annotator and len(plain) <= 60:
        return plain
    return f"{plain[:60]}-{sha256(annotator.encode('utf-8')).hexdigest()[:6]}".lstrip("-")


def _write_whole(path: Path, text: str) -> None:
    try:
        with replaced_whole(path) as stream:
            stream.write(text)
    except OSError as error:
        _fail(path, error)


def _fail(path: Path, error: OSError) -> NoReturn:
    raise ConfigurationError(
        f"{path} cannot be written ({error.strerror or error}): make room, or name another file "
        "with --annotations."
    ) from None
