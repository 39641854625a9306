"""Where judgements of live answers go: a function of the user's, or a rotated file."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Final, NoReturn, Protocol

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.rows import to_line

if sys.platform != "win32":
    import fcntl

_LOCK_SECONDS: Final = 5.0
_LOCK_PAUSE: Final = 0.005


class Sink(Protocol):
    """Takes judgements, one at a time, on a thread that is not the chain's."""

    def __call__(self, judgement: Judgement, /) -> None:
        """Keeps or shows one judgement. What it raises is logged and counted, never passed on."""
        ...


def checked_sink(sink: object) -> Sink:
    """``sink`` as it is.

    Raises:
        ConfigurationError: it cannot be called, or would have to be awaited.
    """
    if not callable(sink):
        raise ConfigurationError(
            f"A sink must be a function that takes a judgement, not {type(sink).__name__}."
        )
    if inspect.iscoroutinefunction(sink) or inspect.iscoroutinefunction(type(sink).__call__):
        raise ConfigurationError("A sink must be a plain function, not an async one.")
    return sink


class JsonLinesSink:
    """A file of judgements, one a line, as ``judgements.jsonl`` has them; rotated by size.

    A row is on its way to the disk when the call returns. Threads, forked children and processes
    of their own may write to the same file: rows stay whole and none is lost over a rotation
    (on Windows, and on file systems without locks, one process at a time).

    Args:
        path: the file; its folder is made. Older files are ``path.1`` (the newest of them),
            ``path.2`` and so on.
        max_bytes: a row that would make the file larger begins a new one.
        keep: how many older files are kept, at least 1.

    Attributes:
        path: the file, absolute: a later change of folder does not move it.

    Raises:
        ConfigurationError: the file cannot be opened, or a setting is out of range.
    """

    def __init__(self, path: str | Path, *, max_bytes: int = 50_000_000, keep: int = 5) -> None:
        if max_bytes < 1:
            raise ConfigurationError("max_bytes must be at least 1.")
        if keep < 1:
            raise ConfigurationError("keep must be at least 1 older file.")
        self.path = Path(path).absolute()
        self._max_bytes = max_bytes
        self._keep = keep
        self._descriptor = -1
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            self._fail(error)
        _forkable.add(self)

    def __call__(self, judgement: Judgement, /) -> None:
        """Appends one row. Metadata that JSON cannot say is written as text.

        Raises:
            ConfigurationError: the row cannot be written (a full disk); earlier rows are intact.
        """
        line = _line_of(judgement)
        with self._lock:
            try:
                self._append(line)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Closes the file; a later judgement opens it again."""
        with self._lock:
            self._drop()

    def _append(self, line: bytes) -> None:
        self._hold()
        try:
            # Again and again: another process may have filled the new file by now.
            while (size := os.fstat(self._descriptor).st_size) and (
                size + len(line) > self._max_bytes
            ):
                self._rotate()
                self._hold()
            self._write(line, size)
        finally:
            self._let_go()

    def _write(self, line: bytes, size: int) -> None:
        if size:
            os.lseek(self._descriptor, -1, os.SEEK_END)
            if os.read(self._descriptor, 1) != b"\n":
                line = b"\n" + line  # a killed process left half a row; it costs no second one
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def _hold(self) -> None:
        """Opens the file and locks it, and makes sure that it still is the one at ``path``."""
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            if self._descriptor < 0:
                self._open()
            if self._try_lock():
                if self._is_current():
                    return
                self._drop()  # rotated by another process, or moved away by hand
            elif time.monotonic() > deadline:
                raise ConfigurationError(
                    f"{self.path} is held by another program: name another file."
                )
            else:
                time.sleep(_LOCK_PAUSE)

    def _try_lock(self) -> bool:
        if sys.platform == "win32":
            return True
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # Some network file systems have no locks; writing without one beats not writing.
            return True
        return True

    def _let_go(self) -> None:
        if sys.platform != "win32" and self._descriptor >= 0:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            except OSError:
                self._drop()

    def _is_current(self) -> bool:
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def _rotate(self) -> None:
        if sys.platform == "win32":
            self._drop()  # an open file cannot be renamed there
        for number in range(self._keep - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self.path.replace(self._numbered(1))
        self._drop()  # the lock goes last: until then nobody else rotates

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o666)

    def _drop(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _fail(self, error: OSError) -> NoReturn:
        raise ConfigurationError(
            f"Judgements cannot be written to {self.path} ({error.strerror or error}): make room "
            "or name another file."
        ) from None

    def _renew(self) -> None:
        # Another thread of the parent may have held the lock, and a lock on a file is shared
        # with the parent as long as its descriptor is.
        self._lock = threading.Lock()
        self._drop()


def _line_of(judgement: Judgement) -> bytes:
    try:
        return to_line(judgement)
    except ConfigurationError:
        sample = judgement.sample
        metadata = {str(key): str(value) for key, value in sample.metadata.items()}
        plain = sample.model_copy(update={"metadata": metadata})
        return to_line(judgement.model_copy(update={"sample": plain}))


_forkable: weakref.WeakSet[JsonLinesSink] = weakref.WeakSet()


def _renew_sinks() -> None:
    for sink in list(_forkable):
        sink._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_sinks)
