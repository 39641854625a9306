"""Replies on disk: found again, private, safe from kills, damage and full disks."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from grouse_adapters.core.cache import ReplyCache, cache_key, default_cache_path
from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Usage

REPLY = ChatReply("{} \U0001f9a2 é", Usage(input_tokens=3, output_tokens=2), "stop", 0.5)


def key(text: str) -> bytes:
    return cache_key({"model": "m"}, text, None)


def test_a_reply_is_found_at_once_and_after_closing_without_its_cost(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "replies.sqlite"
    with_cost_gone = ChatReply(REPLY.text, REPLY.usage, "stop", None)
    cache = ReplyCache(path)
    cache.put(key("a"), REPLY)
    assert cache.get(key("a")) == with_cost_gone
    cache.close()
    again = ReplyCache(path)
    assert again.get(key("a")) == with_cost_gone
    assert again.get(key("b")) is None
    again.close()


def test_the_key_covers_model_parameters_schema_and_prompt() -> None:
    settings = {"model": "m", "temperature": 0.0}
    keys = {
        cache_key(settings, "p", {"type": "object"}),
        cache_key({**settings, "model": "n"}, "p", {"type": "object"}),
        cache_key({**settings, "temperature": 0.1}, "p", {"type": "object"}),
        cache_key(settings, "p ", {"type": "object"}),
        cache_key(settings, "p", None),
    }
    assert len(keys) == 5
    reordered = {"temperature": 0.0, "model": "m"}
    assert cache_key(reordered, "p", {"type": "object"}) in keys


def test_files_are_for_the_owner_only(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "replies.sqlite")
    cache.put(key("a"), REPLY)
    cache.flush()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    cache.close()
    assert set(modes) == {"replies.sqlite", "replies.sqlite-wal", "replies.sqlite-shm"}
    assert set(modes.values()) == {0o600}


def test_replies_outlive_a_kill(tmp_path: Path) -> None:
    """Whatever was flushed is there after SIGKILL, and the file is sound."""
    path = tmp_path / "replies.sqlite"
    program = textwrap.dedent(
        """
        import sys, time
        from grouse_adapters.core.cache import ReplyCache, cache_key
        from grouse_adapters.core.chat import ChatReply
        cache = ReplyCache(sys.argv[1])
        for n in range(250):
            cache.put(cache_key({"model": "m"}, str(n), None), ChatReply(str(n)))
        while cache._pending:
            time.sleep(0.01)
        for n in range(250, 260):
            cache.put(cache_key({"model": "m"}, str(n), None), ChatReply(str(n)))
        print("ready", flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
    cache = ReplyCache(path)
    found = [cache.get(key(str(n))) for n in range(250)]
    cache.close()
    assert [reply.text for reply in found if reply] == [str(n) for n in range(250)]


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    program = textwrap.dedent(
        """
        import sys
        from grouse_adapters.core.cache import ReplyCache, cache_key
        from grouse_adapters.core.chat import ChatReply
        cache = ReplyCache(sys.argv[1])
        for n in range(300):
            cache.put(cache_key({"model": sys.argv[2]}, str(n), None), ChatReply(sys.argv[2]))
            if n % 10 == 0:
                cache.flush()
        cache.close()
        """
    )
    writers = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", program, str(path), name])
        for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = ReplyCache(path)
    for name in ("a", "b", "c"):
        for n in range(300):
            reply = cache.get(cache_key({"model": name}, str(n), None))
            assert reply is not None
            assert reply.text == name
    cache.close()


def test_a_damaged_file_is_set_aside_with_a_message(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.warns(RuntimeWarning, match="was damaged: set aside as replies.sqlite.damaged-"):
        cache = ReplyCache(path)
    cache.put(key("a"), REPLY)
    cache.close()
    (kept,) = tmp_path.glob("*.damaged-*")
    assert kept.read_bytes().startswith(b"no database")
    again = ReplyCache(path)
    assert again.get(key("a")) is not None
    again.close()


def test_a_file_damaged_while_in_use_is_replaced_and_nothing_pending_is_lost(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replies.sqlite"
    first = ReplyCache(path)
    for n in range(300):
        first.put(key(str(n)), ChatReply("x" * 500))
    first.close()
    cache = ReplyCache(path)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(os.urandom(size - 4096))
    assert cache.get(key("7")) is None
    cache.put(key("new"), REPLY)
    with pytest.warns(RuntimeWarning, match="set aside"):
        cache.flush()
    assert cache.get(key("new")) is not None
    cache.close()


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE replies (other TEXT)")
    db.close()
    with pytest.raises(ConfigurationError, match="choose another file or switch the cache off"):
        ReplyCache(path)


def test_a_place_that_cannot_hold_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="choose another file or switch the cache off"):
        ReplyCache(tmp_path / "file" / "replies.sqlite")
    with pytest.raises(ConfigurationError, match="choose another file or switch the cache off"):
        ReplyCache(tmp_path)


def test_a_disk_that_refuses_writes_costs_the_cache_not_the_run(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "replies.sqlite")
    cache._writing.execute("PRAGMA query_only = ON")  # SQLite's own way to refuse every write
    cache.put(key("a"), REPLY)
    with pytest.warns(RuntimeWarning, match="cannot be written .*: going on without it"):
        cache.flush()
    cache.put(key("b"), REPLY)
    assert cache.get(key("b")) is None
    cache.close()


def test_the_default_place_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_cache_path() == Path("/caches/grouse-adapters/replies.sqlite")
    monkeypatch.setenv("GROUSE_CACHE", str(tmp_path / "mine.sqlite"))
    assert default_cache_path() == tmp_path / "mine.sqlite"
