"""The file of live judgements: rows stay whole and none is lost, whoever writes and rotates."""

from __future__ import annotations

import fcntl
import json
import math
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core import sinks
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Graded, Judgement
from grouse_adapters.core.rows import is_torn, to_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.core.sinks import JsonLinesSink


def a_judgement(name: str, **more: Any) -> Judgement:
    return Judgement(
        id=name,
        sample=Sample(input="When?", actual_output="At noon [1].", **more),
        grades={"completeness": Graded(value=4)},
        judge="test",
    )


ROW_BYTES = len(to_line(a_judgement("000")))


def files(path: Path) -> list[Path]:
    """All files of a sink, the oldest first."""
    older = [entry for entry in path.parent.iterdir() if entry.name.startswith(f"{path.name}.")]
    older.sort(key=lambda entry: -int(entry.suffix[1:]))
    return [*older, path]


def ids(*paths: Path) -> list[str | None]:
    """Ids of the rows; fails when a line is no whole row."""
    return [
        Judgement.model_validate_json(line).id
        for path in paths
        for line in path.read_bytes().splitlines()
    ]


def test_a_row_is_there_when_the_call_returns(tmp_path: Path) -> None:
    sink = JsonLinesSink(tmp_path / "deep" / "live.jsonl")
    judgement = a_judgement("one", metadata={"user": "é"})
    sink(judgement)
    (line,) = sink.path.read_text(encoding="utf-8").splitlines()
    assert Judgement.model_validate_json(line) == judgement
    assert "é" in line


def test_rotation_keeps_every_row_in_order(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=3 * ROW_BYTES, keep=10)
    for number in range(11):
        sink(a_judgement(f"{number:03}"))
    assert [entry.name for entry in files(path)] == [
        "live.jsonl.3",
        "live.jsonl.2",
        "live.jsonl.1",
        "live.jsonl",
    ]
    assert [len(ids(entry)) for entry in files(path)] == [3, 3, 3, 2]
    assert ids(*files(path)) == [f"{number:03}" for number in range(11)]
    assert all(entry.stat().st_size <= 3 * ROW_BYTES for entry in files(path))


def test_only_the_newest_older_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=ROW_BYTES, keep=2)
    for number in range(6):
        sink(a_judgement(f"{number:03}"))
    assert ids(*files(path)) == ["003", "004", "005"]


def test_a_row_that_is_too_large_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=10)
    for name in ("one", "two", "three"):
        sink(a_judgement(name))
    assert [ids(entry) for entry in files(path)] == [["one"], ["two"], ["three"]]


def test_threads_share_one_sink(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=20 * ROW_BYTES, keep=50)

    def write(first: int) -> None:
        for number in range(first, first + 50):
            sink(a_judgement(f"{number:03}"))

    threads = [threading.Thread(target=write, args=[50 * place]) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, ids(*files(path)))) == [f"{number:03}" for number in range(300)]


WRITER = """
import sys
sys.path.insert(0, sys.argv[3])
from test_sinks import JsonLinesSink, ROW_BYTES, a_judgement
sink = JsonLinesSink(sys.argv[1], max_bytes=7 * ROW_BYTES, keep=200)
first = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(first, first + 150):
    sink(a_judgement(f"{number:03}"))
"""


def test_processes_share_one_file_and_rotate_it(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    here = str(Path(__file__).parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(first), here],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in (0, 150, 300)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    assert sorted(map(str, ids(*files(path)))) == [f"{number:03}" for number in range(450)]
    assert all(len(ids(entry)) == 7 for entry in files(path)[:-1])  # nobody rotated early


def test_a_forked_child_writes_to_the_same_file(tmp_path: Path) -> None:
    """The child's lock on the file is its own, not one that it shares with its parent."""
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=5 * ROW_BYTES, keep=100)
    sink(a_judgement("before"))
    child = os.fork()
    if child == 0:
        try:
            for number in range(100):
                sink(a_judgement(f"{number:03}"))
        finally:
            os._exit(0)
    for number in range(100, 200):
        sink(a_judgement(f"{number:03}"))
    os.waitpid(child, 0)
    expected = sorted(["before", *(f"{number:03}" for number in range(200))])
    assert sorted(map(str, ids(*files(path)))) == expected


def test_a_forked_child_does_not_share_its_parents_lock(tmp_path: Path) -> None:
    """The fork comes while the parent is writing: the child has to wait for it."""
    sink = JsonLinesSink(tmp_path / "live.jsonl")
    with sink._lock:
        sink._hold()
        child = os.fork()
        if child == 0:
            try:
                sink(a_judgement("child"))
            finally:
                os._exit(0)
        time.sleep(0.3)  # the child could write by now if it did not wait
        sink._write(to_line(a_judgement("parent")), 0)
        sink._let_go()
    os.waitpid(child, 0)
    assert ids(sink.path) == ["parent", "child"]


def test_half_a_row_costs_no_second_one(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    torn = to_line(a_judgement("torn"))[:-20]
    path.write_bytes(to_line(a_judgement("whole")) + torn)
    sink = JsonLinesSink(path)
    sink(a_judgement("next"))
    whole, rest, following = path.read_bytes().splitlines()
    assert Judgement.model_validate_json(whole).id == "whole"
    assert rest == torn
    assert is_torn(rest)
    assert Judgement.model_validate_json(following).id == "next"


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    """As rotation programs of the system do."""
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path)
    sink(a_judgement("one"))
    path.rename(tmp_path / "moved")
    sink(a_judgement("two"))
    (tmp_path / "moved").unlink()
    path.unlink()
    sink(a_judgement("three"))
    assert ids(path) == ["three"]


def test_a_change_of_folder_does_not_move_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    sink = JsonLinesSink("live.jsonl", max_bytes=1)
    monkeypatch.chdir(tmp_path / "elsewhere")
    sink(a_judgement("one"))
    sink(a_judgement("two"))
    assert ids(tmp_path / "live.jsonl.1", tmp_path / "live.jsonl") == ["one", "two"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_it_opens_again_after_close(tmp_path: Path) -> None:
    sink = JsonLinesSink(tmp_path / "live.jsonl")
    sink(a_judgement("one"))
    sink.close()
    sink.close()
    sink(a_judgement("two"))
    assert ids(sink.path) == ["one", "two"]


def test_odd_samples_lose_no_row(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path)
    circle: dict[str, Any] = {}
    circle["itself"] = circle
    for number, metadata in enumerate(
        [{"run": object()}, {"share": math.nan}, {"half": "\ud83d"}, {"circle": circle}]
    ):
        sink(a_judgement(f"{number:03}", metadata=metadata))
    sink(a_judgement("half").model_copy(update={"judge": "\ud83d"}))
    assert ids(path) == ["000", "001", "002", "003", "half"]
    first = json.loads(path.read_text().splitlines()[0])
    assert first["sample"]["metadata"]["run"].startswith("<object object")


# --- what goes wrong ---


def sentence(caught: pytest.ExceptionInfo[ConfigurationError]) -> str:
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "live.jsonl"):
        with pytest.raises(ConfigurationError, match="Judgements cannot be written to") as caught:
            JsonLinesSink(path)
        assert "name another file" in sentence(caught)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"max_bytes": 0}, "max_bytes must be at least 1"), ({"keep": 0}, "keep must be at least 1")],
)
def test_wrong_settings_are_told_at_once(
    tmp_path: Path, settings: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        JsonLinesSink(tmp_path / "live.jsonl", **settings)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_earlier_rows_whole(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the second row does not fit as a whole."""
    path = tmp_path / "live.jsonl"
    program = textwrap.dedent(
        """
        import resource, signal, sys
        sys.path.insert(0, sys.argv[2])
        from test_sinks import ConfigurationError, JsonLinesSink, ROW_BYTES, a_judgement
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sink = JsonLinesSink(sys.argv[1])
        sink(a_judgement("one"))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROW_BYTES + 50, hard))
        try:
            sink(a_judgement("two"))
        except ConfigurationError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        sink(a_judgement("three"))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"Judgements cannot be written to {path} (File too large): make room or name another "
        "file.\n"
    )
    assert ids(path) == ["one", "three"]


def test_a_file_that_another_program_holds_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "_LOCK_SECONDS", 0.05)
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ConfigurationError, match="is held by another program") as caught:
            sink(a_judgement("one"))
        sentence(caught)
    sink(a_judgement("two"))
    assert ids(path) == ["two"]


@pytest.mark.parametrize(
    ("line", "torn"),
    [
        (b'{"schema_version":1,"id":"a', True),
        (b'{"schema_version":1,"sample":{}\n', True),
        (b'{"sch', True),
        (b"{", True),
        (b'{"schema_version":1}', False),
        (b'{"id":"a"', False),
        (b"hello", False),
        (b"[1", False),
        (b'{"schema_version":' + b"[" * 100_000, True),
    ],
)
def test_half_a_row_is_told_from_other_lines(line: bytes, torn: bool) -> None:
    assert is_torn(line) == torn
