"""The folder of a run: what decided it, every judgement as soon as it is there, the report.

``judgements.jsonl`` only grows. A sample that is judged again gets a new row, and the last row of
a sample wins, so that nothing that was paid for is ever overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict

from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import Citations, MetricName
from grouse_adapters.core.rows import read_line, to_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Report

if sys.platform != "win32":
    import fcntl

RUN_FILE: Final = "run.json"
JUDGEMENTS_FILE: Final = "judgements.jsonl"
REPORT_FILE: Final = "report.json"
TESTS_FILE: Final = "tests.jsonl"
PAGE_FILE: Final = "report.html"

_NO_ROW: Final = -1
_SHOWN_CHARACTERS: Final = 60


class RunSettings(BaseModel):
    """What decides the judgements of a run: ``run.json``. Two runs are one when these are equal.

    Attributes:
        command: e.g. ``evaluate``.
        input: name of the input file, without its folder. Its content is compared sample by
            sample instead, so that samples can be added or edited between two sittings.
        judge: name of the judge.
        model: everything but the prompt that decides a reply, free of secrets
            (``ChatModel.cache_key()``); empty for a judge without a model.
        prompt_fingerprint: SHA-256 of the prompt pack and its switches, None without prompts.
        metrics: the metrics that are asked for, in table order.
        strategy: ``per-metric`` or ``single-call``; None for a judge without calls.
        citations: whether answers must cite.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: str
    input: str
    judge: str
    model: dict[str, Any] = {}
    prompt_fingerprint: str | None = None
    metrics: tuple[MetricName, ...]
    strategy: str | None = None
    citations: Citations = "required"


def row_key(sample: Sample, line_number: int) -> str:
    """The sample's name within a run: its id, else its 1-based line number and content hash."""
    if sample.id is not None:
        return sample.id
    return f"line {line_number} {sample.content_hash()[:16]}"


class RunDir:
    """A run directory in use by this process alone. Use one thread at a time.

    Every sample of the input goes through ``admit``; those it says yes to are judged and given to
    ``append``. Rows of samples that were not admitted (an earlier state of the input) stay in the
    file and out of ``latest_rows``.

    Attributes:
        path: the folder.
        settings: what decides the run.
        resumed: whether there was a run to continue.
    """

    def __init__(self, path: Path, settings: RunSettings, *, resume: bool) -> None:
        self.path = path
        self.settings = settings
        # One 16-byte digest and one offset per row; the rows themselves stay on disk. Rows that
        # were found go by key and content, since an edited sample is judged again.
        self._found: dict[bytes, tuple[int, bool]] = {}
        self._admitted: dict[bytes, int] = {}
        self._descriptor = -1
        self._size = 0
        self._made = _make_folder(path)
        _refuse_foreign(path)
        try:
            self._descriptor = _open_for_appending(self.judgements_path)
            self._lock()
            self.resumed = self._begin(resume=resume)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | Path, settings: RunSettings) -> RunDir:
        """Starts a run in a new or empty folder (hidden files do not count).

        Raises:
            ConfigurationError: the folder holds a run or something else, is in use by another
                process, or cannot be written. One sentence.
        """
        return cls(Path(path), settings, resume=False)

    @classmethod
    def resume(cls, path: str | Path, settings: RunSettings) -> RunDir:
        """Continues the run in ``path``; starts one when there is none yet.

        Starting is what a script that always says ``--resume`` means by it. A last row that was
        cut off when the process was killed is removed.

        Raises:
            ConfigurationError: the run there had other settings (all differences are named), a
                row cannot be read, or any reason of ``create``. One sentence.
        """
        return cls(Path(path), settings, resume=True)

    @property
    def judgements_path(self) -> Path:
        """One judgement a line."""
        return self.path / JUDGEMENTS_FILE

    @property
    def report_path(self) -> Path:
        """The figures of the run, there once ``write_report`` was called."""
        return self.path / REPORT_FILE

    @property
    def page_path(self) -> Path:
        """The page that shows the run to people."""
        return self.path / PAGE_FILE

    @property
    def has_rows(self) -> bool:
        """Whether anything was judged yet, in this sitting or an earlier one."""
        return self._size > 0

    @property
    def judged_count(self) -> int:
        """How many admitted samples have a row."""
        return sum(offset != _NO_ROW for offset in self._admitted.values())

    def discard_if_empty(self) -> None:
        """Takes back what starting left behind when no row was written, so that the same command
        can be given again once its trouble is mended.
        """
        if self.has_rows:
            return
        for name in (RUN_FILE, JUDGEMENTS_FILE, TESTS_FILE):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: somebody else uses it by now
            for folder in self._made:
                folder.rmdir()

    def admit(self, key: str, sample: Sample) -> bool:
        """Takes a sample of the input into the run; True when it has yet to be judged.

        It is done when its last row holds every metric of the run and no failed grade. With an
        id, the content must be the same too: an edited sample is judged again.

        Raises:
            InputError: the key was admitted before.
        """
        name = _digest(key)
        if name in self._admitted:
            raise InputError(f"The id {key!r} is used twice: give every sample an id of its own.")
        offset, done = self._found.pop(_digest(key, sample.content_hash()), (_NO_ROW, False))
        self._admitted[name] = offset
        return not done

    def append(self, judgement: Judgement, *, key: str | None = None) -> None:
        """Writes one row and hands it to the operating system at once.

        Args:
            judgement: its ``id`` is the row's key unless ``key`` is given.
            key: the row's key, as ``row_key`` made it; becomes the row's ``id``.

        Raises:
            ConfigurationError: the row cannot be written (disk full); earlier rows are intact.
        """
        key = key if key is not None else judgement.id
        if key is None:
            raise ValueError("a row needs a key: pass key= or a judgement with an id")
        if judgement.id != key:
            judgement = judgement.model_copy(update={"id": key})
        line = to_line(judgement)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):  # resume cuts the torn row off where this fails
                os.ftruncate(self._descriptor, self._size)
            raise ConfigurationError(
                f"{self.judgements_path} cannot be written ({error.strerror or error}): make room "
                "and continue with --resume, the judgements so far are kept."
            ) from None
        self._admitted[_digest(key)] = self._size
        self._size += len(line)

    def latest_rows(self) -> Iterator[Judgement]:
        """The last row of every admitted sample that has one, in the order of admission."""
        with self.judgements_path.open("rb") as stream:
            for offset in self._admitted.values():
                if offset != _NO_ROW:
                    stream.seek(offset)
                    yield Judgement.model_validate_json(stream.readline())

    def superseded_rows(self) -> Iterator[Judgement]:
        """All other rows: attempts that were replaced, and samples no longer in the input.

        They count for what was spent, not for the grades.
        """
        latest = set(self._admitted.values())
        for offset, judgement in self._scan():
            if offset not in latest:
                yield judgement

    def write_report(self, report: Report) -> Path:
        """Writes ``report.json`` whole or not at all, and returns its path.

        Raises:
            ConfigurationError: it cannot be written.
        """
        write_atomically(self.report_path, report.model_dump_json(indent=2) + "\n")
        return self.report_path

    def close(self) -> None:
        """Frees the folder for other processes; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self) -> None:
        """Takes the folder for this process; the kernel frees it however the process ends."""
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"{self.path} is in use by another run: wait for it to end or choose another "
                "--output-dir."
            ) from None
        except OSError:
            # Some network file systems have no locks; working without one beats not working.
            return

    def _begin(self, *, resume: bool) -> bool:
        """Looks at the folder again, now that it is ours; True when it holds our run."""
        run_path = self.path / RUN_FILE
        if not run_path.exists():
            if os.fstat(self._descriptor).st_size:
                raise ConfigurationError(
                    f"{self.path} holds judgements but no {RUN_FILE} that says how they were "
                    "made: choose another --output-dir."
                )
            write_atomically(run_path, self.settings.model_dump_json(indent=2) + "\n")
            return False
        if not resume:
            raise ConfigurationError(
                f"{self.path} already holds a run: add --resume to continue it or choose another "
                "--output-dir."
            )
        _check_same_run(self.path, _read_settings(run_path), self.settings)
        self._mend_last_row()
        wanted = self.settings.metrics
        for offset, row in self._scan():
            done = not row.failed and all(metric in row.grades for metric in wanted)
            self._found[_digest(row.id or "", row.sample.content_hash())] = (offset, done)
        return True

    def _mend_last_row(self) -> None:
        """Cuts off what a killed process left of its last row, or ends a row that is whole."""
        try:
            with self.judgements_path.open("rb") as stream:
                start, last = 0, b""
                for line in stream:
                    start, last = start + len(last), line
            if last and not last.endswith(b"\n"):
                if read_line(last) is not None:
                    os.write(self._descriptor, b"\n")
                else:
                    os.ftruncate(self._descriptor, start)
            self._size = os.fstat(self._descriptor).st_size
        except OSError as error:
            _fail_to_write(self.judgements_path, error)

    def _scan(self) -> Iterator[tuple[int, Judgement]]:
        """(offset in bytes, row) of every row, one at a time."""
        with self.judgements_path.open("rb") as stream:
            offset = 0
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    row = read_line(line)
                    if row is None:
                        raise ConfigurationError(
                            f"{self.judgements_path}, line {number} is not a judgement: delete "
                            "that line, and its sample is judged again."
                        )
                    yield offset, row
                offset += len(line)


def _digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=16).digest()


def _make_folder(path: Path) -> list[Path]:
    """Makes the folder; returns what had to be made for it, innermost first."""
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigurationError(f"{path} is not a folder: choose another --output-dir.") from None
    except OSError as error:
        _fail_to_write(path, error)
    return missing


def _refuse_foreign(path: Path) -> None:
    """Looks before anything is written, so that a wrong folder is left as it was."""
    try:
        visible = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    except OSError as error:
        _fail_to_write(path, error)
    if RUN_FILE not in visible and visible - {JUDGEMENTS_FILE}:
        raise ConfigurationError(
            f"{path} is not empty and holds no run: choose another --output-dir."
        )


def _open_for_appending(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError as error:
        _fail_to_write(path, error)


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        raise ConfigurationError(
            f"{path} cannot be read: restore it or choose another --output-dir."
        )
    return settings


def _check_same_run(path: Path, there: dict[str, Any], settings: RunSettings) -> None:
    here = json.loads(settings.model_dump_json())
    differences = [
        f"{name} was {_shown(name, then)} and is now {_shown(name, now)}"
        for name, then, now in _differences(there, here)
    ]
    if differences:
        raise ConfigurationError(
            f"{path} holds another run ({'; '.join(differences)}): use the same settings or choose "
            "another --output-dir."
        )


def _differences(
    there: dict[str, Any], here: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    for name in {**here, **there}:
        then, now = there.get(name), here.get(name)
        if isinstance(then, dict) and isinstance(now, dict):
            yield from _differences(then, now, f"{prefix}{name}.")
        elif then != now:
            yield f"{prefix}{name}", then, now


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "not set"
    if name == "prompt_fingerprint":
        return str(value)[:12]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def write_atomically(path: Path, text: str, *, option: str = "--output-dir") -> None:
    """Writes a file whole or not at all.

    Args:
        option: the option with which the user named the place.

    Raises:
        ConfigurationError: it cannot be written. One sentence.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        _fail_to_write(path, error, option)


def _fail_to_write(path: Path, error: OSError, option: str = "--output-dir") -> NoReturn:
    raise ConfigurationError(
        f"{path} cannot be written ({error.strerror or error}): choose another {option}."
    ) from None
