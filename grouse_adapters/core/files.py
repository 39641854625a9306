"""Files that survive a crash: replaced whole or not at all, or grown row by row by one process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl


@contextmanager
def replaced_whole(path: Path, *, errors: str = "strict") -> Iterator[IO[str]]:
    """A stream of UTF-8 text whose content takes the place of ``path`` when all was written.

    Args:
        path: the file; its folder must exist.
        errors: what happens to characters that UTF-8 cannot hold.

    Raises:
        OSError: it cannot be written; what was there before is intact.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors=errors, newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # gone when all went well
            temporary.unlink(missing_ok=True)


class AppendFile:
    """A file that only grows, held by this process alone. Use one thread at a time.

    Args:
        path: made when it is not there; its folder must exist.

    Attributes:
        size: its length in bytes, as far as the owner has read or written it: set it once what
            is there is known, since an append that fails goes back to it.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags, 0o666)
        self.size = 0
        try:
            self._lock()
        except BaseException:
            self.close()
            raise

    def length(self) -> int:
        """The length in bytes on disk now."""
        return os.fstat(self._descriptor).st_size

    def append(self, line: bytes, *, on_disk: bool = False) -> int:
        """Hands a row to the operating system at once; returns its offset.

        Args:
            line: the row with its line break.
            on_disk: waits until it is on the disk.

        Raises:
            OSError: it cannot be written (disk full); earlier rows are intact.
        """
        try:
            self.write(line)
            if on_disk:
                os.fsync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):  # else the next start cuts the torn row off
                self.cut(self.size)
            raise
        offset, self.size = self.size, self.size + len(line)
        return offset

    def write(self, text: bytes) -> None:
        """Writes at the end, all of it."""
        written = 0
        while written < len(text):
            written += os.write(self._descriptor, text[written:])

    def cut(self, size: int) -> None:
        """Cuts off what comes after ``size`` bytes."""
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Frees the file for other processes; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _lock(self) -> None:
        """The kernel frees it however the process ends."""
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            # Some network file systems have no locks; working without one beats not working.
            return
