"""A folder in which a run keeps what decided it and rows that only grow; one process at a time.

A row is written as soon as it is there, and nothing that was paid for is ever overwritten.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NoReturn, Self

from pydantic import BaseModel

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.files import AppendFile, replaced_whole

RUN_FILE: Final = "run.json"
REPORT_FILE: Final = "report.json"
TESTS_FILE: Final = "tests.jsonl"
SCORES_FILE: Final = "scores.jsonl"
PAGE_FILE: Final = "report.html"

_SHOWN_CHARACTERS: Final = 60


class RunFolder:
    """The folder of a run, in use by this process alone. Use one thread at a time.

    Attributes:
        path: the folder.
        resumed: whether there was a run to continue.
    """

    rows_file: ClassVar[str]
    """The file of the rows."""
    rows_are: ClassVar[str]
    """What the rows are, for messages: ``judgements``."""
    own_files: tuple[str, ...] = ()
    """Other files that starting a run may leave."""

    def __init__(
        self, path: Path, settings: BaseModel, *, resume: bool, run_file: str = RUN_FILE
    ) -> None:
        self.path = path
        self._run_file = run_file
        self._made = _make_folder(path)
        _refuse_foreign(path, self.rows_file)
        self._rows = self._open()
        try:
            self.resumed = self._begin(settings, resume=resume)
        except BaseException:
            self.close()
            raise

    @property
    def rows_path(self) -> Path:
        """The file of the rows."""
        return self.path / self.rows_file

    @property
    def report_path(self) -> Path:
        """The figures of the run, there once they were written."""
        return self.path / REPORT_FILE

    @property
    def page_path(self) -> Path:
        """The page that shows the run to people."""
        return self.path / PAGE_FILE

    @property
    def has_rows(self) -> bool:
        """Whether any row was written yet, in this sitting or an earlier one."""
        return self._rows.size > 0

    def discard_if_empty(self) -> None:
        """Takes back what starting left behind when no row was written, so that the same command
        can be given again once its trouble is mended.
        """
        if self.has_rows:
            return
        for name in (self._run_file, self.rows_file, *self.own_files):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: somebody else uses it by now
            for folder in self._made:
                folder.rmdir()

    def close(self) -> None:
        """Frees the folder for other processes; may be called twice."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _is_row(self, line: bytes) -> bool:
        """Whether a line is a whole row."""
        raise NotImplementedError

    def _append_line(self, line: bytes) -> int:
        """Hands a row to the operating system at once; returns its offset.

        Raises:
            ConfigurationError: it cannot be written (disk full); earlier rows are intact.
        """
        try:
            return self._rows.append(line)
        except OSError as error:
            raise ConfigurationError(
                f"{self.rows_path} cannot be written ({error.strerror or error}): make room "
                f"and continue with --resume, the {self.rows_are} so far are kept."
            ) from None

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """(line number, offset in bytes, line) of every line that is not blank."""
        with self.rows_path.open("rb") as stream:
            offset = 0
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, offset, line
                offset += len(line)

    def _open(self) -> AppendFile:
        try:
            return AppendFile(self.rows_path)
        except BlockingIOError:
            raise ConfigurationError(
                f"{self.path} is in use by another run: wait for it to end or choose another "
                "--output-dir."
            ) from None
        except OSError as error:
            fail_to_write(self.rows_path, error)

    def _begin(self, settings: BaseModel, *, resume: bool) -> bool:
        """Looks at the folder again, now that it is ours; True when it holds our run."""
        run_path = self.path / self._run_file
        if not run_path.exists():
            if self._rows.length():
                raise ConfigurationError(
                    f"{self.path} holds {self.rows_are} but no {self._run_file} that says how they "
                    "were made: choose another --output-dir."
                )
            write_atomically(run_path, settings.model_dump_json(indent=2) + "\n")
            return False
        if not resume:
            raise ConfigurationError(
                f"{self.path} already holds a run: add --resume to continue it or choose another "
                "--output-dir."
            )
        _check_same_run(self.path, _read_settings(run_path), settings)
        self._mend_last_row()
        return True

    def _mend_last_row(self) -> None:
        """Cuts off what a killed process left of its last row, or ends a row that is whole."""
        try:
            with self.rows_path.open("rb") as stream:
                start, last = 0, b""
                for line in stream:
                    start, last = start + len(last), line
            if last and not last.endswith(b"\n"):
                if self._is_row(last):
                    self._rows.write(b"\n")
                else:
                    self._rows.cut(start)
            self._rows.size = self._rows.length()
        except OSError as error:
            fail_to_write(self.rows_path, error)


def write_atomically(path: Path, text: str, *, option: str = "--output-dir") -> None:
    """Writes a file whole or not at all.

    Args:
        option: the option with which the user named the place.

    Raises:
        ConfigurationError: it cannot be written. One sentence.
    """
    try:
        with replaced_whole(path) as stream:
            stream.write(text)
    except OSError as error:
        fail_to_write(path, error, option)


def fail_to_write(path: Path, error: OSError, option: str = "--output-dir") -> NoReturn:
    """Says in one sentence that a file cannot be written."""
    raise ConfigurationError(
        f"{path} cannot be written ({error.strerror or error}): choose another {option}."
    ) from None


def _make_folder(path: Path) -> list[Path]:
    """Makes the folder; returns what had to be made for it, innermost first."""
    try:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigurationError(f"{path} is not a folder: choose another --output-dir.") from None
    except OSError as error:
        fail_to_write(path, error)
    return missing


def _refuse_foreign(path: Path, rows_file: str) -> None:
    """Looks before anything is written, so that a wrong folder is left as it was."""
    try:
        visible = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    except OSError as error:
        fail_to_write(path, error)
    if RUN_FILE not in visible and visible - {rows_file}:
        raise ConfigurationError(
            f"{path} is not empty and holds no run: choose another --output-dir."
        )


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


def _check_same_run(path: Path, there: dict[str, Any], settings: BaseModel) -> None:
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
