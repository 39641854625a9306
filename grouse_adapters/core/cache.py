"""Replies on disk, so that what was paid for once is not paid for again.

SQLite in WAL mode: safe for several processes, survives a kill at any moment. Values are JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Usage
from grouse_adapters.core.metrics import JsonSchema

FLUSH_SECONDS: Final = 0.5
"""Replies reach the disk at most this long after they came (promised: within a second)."""

_FLUSH_ROWS: Final = 100
_BUSY_SECONDS: Final = 30.0
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS replies"
    " (key BLOB PRIMARY KEY, reply TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID"
)


def default_cache_path() -> Path:
    """``GROUSE_CACHE``, else ``replies.sqlite`` in the user's cache folder (XDG_CACHE_HOME)."""
    if named := os.environ.get("GROUSE_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "grouse-adapters" / "replies.sqlite"


def cache_key(model: Mapping[str, Any], prompt: str, schema: JsonSchema | None) -> bytes:
    """SHA-256 over everything that decides a reply: model, parameters, schema and prompt."""
    text = json.dumps([model, schema, prompt], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()


class ReplyCache:
    """A file of replies. Reads at once, writes in batches from a thread of its own.

    A file that is damaged is set aside with a warning and a new one is begun. When the disk
    refuses writes the judge goes on without cache, with one warning.

    Args:
        path: the SQLite file; made readable for its owner only (0600).

    Raises:
        ConfigurationError: the file cannot be created or opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self._pending: dict[bytes, str] = {}
        self._lock = threading.Lock()  # guards the pending replies and the reading connection
        self._write_lock = threading.Lock()  # guards the writing one: it may wait for the disk
        self._wake = threading.Event()
        self._closed = False
        self._writable = True
        self._reading = self._open()
        self._writing = self._connect()
        self._writer: threading.Thread | None = None

    def get(self, key: bytes) -> ChatReply | None:
        """The stored reply, None when there is none."""
        with self._lock:
            text = self._pending.get(key)
            if text is None and not self._closed:
                text = self._select(key)
        return None if text is None else _reply_from(text)

    def put(self, key: bytes, reply: ChatReply) -> None:
        """Stores a reply; it is on disk after ``FLUSH_SECONDS`` at most."""
        with self._lock:
            if self._closed or not self._writable:
                return
            self._pending[key] = _text_of(reply)
            if self._writer is None:
                self._writer = threading.Thread(
                    target=self._write_on, name="grouse-cache", daemon=True
                )
                self._writer.start()
            if len(self._pending) >= _FLUSH_ROWS:
                self._wake.set()

    def flush(self) -> None:
        """Writes what is pending."""
        with self._write_lock:
            with self._lock:
                batch = dict(self._pending)
            if batch and self._writable:
                now = int(time.time())
                self._insert([(key, text, now) for key, text in batch.items()])
            with self._lock:
                for key, text in batch.items():
                    if self._pending.get(key) is text:
                        del self._pending[key]

    def close(self) -> None:
        """Flushes and closes; later ``put`` calls are ignored."""
        self.flush()
        with self._write_lock, self._lock:
            self._closed = True
            self._reading.close()
            self._writing.close()
        self._wake.set()

    def _write_on(self) -> None:
        while not self._closed:
            self._wake.wait(FLUSH_SECONDS)
            self._wake.clear()
            if not self._closed:
                self.flush()

    def _insert(self, rows: list[tuple[bytes, str, int]]) -> None:
        statement = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)"
        try:
            with self._writing as db:
                db.executemany(statement, rows)
        except sqlite3.OperationalError as error:  # full disk, read-only, locked for long
            self._writable = False
            _warn(f"The reply cache {self.path} cannot be written ({error}): going on without it.")
        except sqlite3.DatabaseError:
            with self._lock:
                self._replace()
            with suppress(sqlite3.DatabaseError), self._writing as db:
                db.executemany(statement, rows)

    def _select(self, key: bytes) -> str | None:
        query = "SELECT reply FROM replies WHERE key = ?"
        try:
            row = self._reading.execute(query, (key,)).fetchone()
        except sqlite3.DatabaseError:
            # Only the writer replaces a damaged file: it holds both connections.
            return None
        return None if row is None else str(row[0])

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise ConfigurationError(
                f"The reply cache {self.path} cannot be opened ({error.strerror}): "
                "choose another file or switch the cache off."
            ) from None
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            raise ConfigurationError(
                f"The reply cache {self.path} cannot be opened ({error}): "
                "choose another file or switch the cache off."
            ) from None
        except sqlite3.DatabaseError:
            self._set_aside()
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        # The file exists already with mode 0600; SQLite gives its -wal and -shm the same mode.
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(_TABLE)
            db.execute("SELECT key, reply, created FROM replies LIMIT 1").fetchone()
            db.commit()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _replace(self) -> None:
        self._reading.close()
        self._writing.close()
        self._set_aside()
        self._reading = self._connect()
        self._writing = self._connect()

    def _set_aside(self) -> None:
        kept = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        try:
            self.path.rename(kept)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise ConfigurationError(
                f"The reply cache {self.path} is damaged and cannot be set aside "
                f"({error.strerror}): remove it or switch the cache off."
            ) from None
        _warn(f"The reply cache {self.path} was damaged: set aside as {kept.name}, begun anew.")


def _text_of(reply: ChatReply) -> str:
    fields = {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
    }
    return json.dumps(fields, ensure_ascii=True)


def _reply_from(text: str) -> ChatReply | None:
    try:
        fields = json.loads(text)
        return ChatReply(
            text=fields["text"],
            finish_reason=fields["finish_reason"],
            usage=Usage(input_tokens=fields["input_tokens"], output_tokens=fields["output_tokens"]),
        )
    except (ValueError, KeyError, TypeError):
        return None  # a row of another program or version: ask again


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)
