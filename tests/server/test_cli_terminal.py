"""What a person sees: the bar, the colours, the help, the completion; in a real terminal."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
from command_line import EXAMPLES, command, finish, run, start
from told import CALLS, SAMPLES, script

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.testing import Garbage, ScriptedServer, When

SCRIPT = Path(sys.executable).with_name("grouse-adapters")
LATENCY = 0.3  # seconds; so that the bar is drawn before the run is over
COLOUR = re.compile(r"\x1b\[[\d;]*(?:3[1-7]|9[0-7])[\d;]*m")
STYLE = re.compile(r"\x1b\[[\d;]*m")
CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


@dataclass(frozen=True)
class Screen:
    """What a command sent to its terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        return CONTROL.sub("", self.raw).replace("\r\n", "\n")


def on_terminal(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None, columns: int = 80
) -> Screen:
    """Runs the command with a terminal for input, output and errors."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    decided = ("COLUMNS", "LINES", "CI", "FORCE_COLOR", "NO_COLOR")
    inherited = {name: value for name, value in os.environ.items() if name not in decided}
    surroundings = {**inherited, "TERM": "xterm-256color", **(env or {})}
    with closing(os.fdopen(outer, "rb", buffering=0)) as screen:
        process = subprocess.Popen(
            command(*arguments),
            cwd=cwd,
            env=surroundings,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        sent = b"".join(_until_closed(screen.fileno()))
    return Screen(process.wait(), sent.decode("utf-8"))


def _until_closed(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # how Linux says that the other side is closed
                return
            raise
        if not piece:
            return
        yield piece


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script(), latency=LATENCY) as running:
        yield running


def arguments(server: ScriptedServer, tmp_path: Path) -> list[str | Path]:
    judge = ("--judge", "judge-9", "--base-url", server.base_url, "--concurrency", "8")
    return ["evaluate", EXAMPLES, *judge, "--no-cache", "--output-dir", tmp_path / "run"]


# --- the run ---


def test_the_bar_tells_how_far_it_is_and_goes(server: ScriptedServer, tmp_path: Path) -> None:
    seen = on_terminal(*arguments(server, tmp_path), cwd=tmp_path)
    assert seen.code == 0, seen.text
    drawn = seen.raw[: seen.raw.index("perfect-sourdough")]
    frames = [CONTROL.sub("", frame) for frame in re.split(r"[\r\n]+", drawn)]
    bars = [frame for frame in frames if frame.startswith("Judging ")]
    counted = [re.search(r"(\d+)/13 ", bar) for bar in bars]
    counts = [int(found[1]) for found in counted if found]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    moving = [bar for bar in bars if re.search(r"\d\.\d/s", bar)]
    assert moving, bars
    assert any(re.search(r"\d:\d\d:\d\d", bar) for bar in moving), bars
    assert all(re.search(r"0 failed [\d,]+ tokens$", bar.rstrip()) for bar in bars), bars
    assert not bars[-1].rstrip().endswith(" 0 tokens")
    assert max(map(len, bars)) <= 80
    # It leaves its line to the table, and the cursor as it was.
    assert "\x1b[2K" in drawn
    assert seen.raw.count(HIDE_CURSOR) == seen.raw.count(SHOW_CURSOR) == 1
    assert "Judging" not in seen.raw[seen.raw.index(SHOW_CURSOR) :]


def test_the_bar_counts_failures(tmp_path: Path) -> None:
    faults = When("sourdough", Garbage("no"))
    with ScriptedServer(script(), faults=faults, latency=LATENCY) as server:
        seen = on_terminal(*arguments(server, tmp_path), cwd=tmp_path)
    assert seen.code == 3
    assert re.search(r"\d+/13 .* 1 failed ", seen.text)
    assert "A grade failed in 1 of 13 samples" in seen.text


def test_the_table_has_colours_and_fits(server: ScriptedServer, tmp_path: Path) -> None:
    seen = on_terminal(*arguments(server, tmp_path), cwd=tmp_path)
    table = seen.raw[seen.raw.index("Sample ") : seen.raw.index("Files ")]
    assert {"\x1b[32m5\x1b[0m", "\x1b[31m0\x1b[0m", "\x1b[33m3\x1b[0m"} <= set(
        re.findall(r"\x1b\[\d+m\d\x1b\[0m", table)
    )
    assert max(len(line.rstrip()) for line in CONTROL.sub("", table).splitlines()) <= 80
    assert "4.12 / 5" in seen.text
    assert f"{CALLS} calls" in seen.text


@pytest.mark.parametrize("columns", [40, 200])
def test_other_widths(tmp_path: Path, columns: int) -> None:
    told: list[str | Path] = ["evaluate", EXAMPLES, "--judge", "lexical", "--output-dir", "run"]
    seen = on_terminal(*told, cwd=tmp_path, columns=columns)
    assert seen.code == 3
    table = seen.text[seen.text.index("Sample ") : seen.text.index("Files ")]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= columns
    assert table.count("\n") > len(SAMPLES)


@pytest.mark.parametrize(
    ("env", "plain"),
    [({"NO_COLOR": "1"}, COLOUR), ({"TERM": "dumb"}, CONTROL), ({"TERM": "unknown"}, CONTROL)],
    ids=["NO_COLOR", "dumb", "unknown"],
)
def test_no_colours_where_none_are_wanted(
    server: ScriptedServer, tmp_path: Path, env: dict[str, str], plain: re.Pattern[str]
) -> None:
    seen = on_terminal(*arguments(server, tmp_path), cwd=tmp_path, env=env)
    assert seen.code == 0
    assert plain.search(seen.raw) is None
    assert "perfect-sourdough" in seen.text
    assert "4.12 / 5" in seen.text
    if plain is CONTROL:
        assert "13 of 13 judged, 0 failed" in seen.text


def test_no_codes_in_a_pipe(server: ScriptedServer, tmp_path: Path) -> None:
    process = start(*arguments(server, tmp_path), cwd=tmp_path)
    ended = finish(process)
    assert "\x1b" not in ended.stdout + ended.stderr
    lines = ended.stderr.splitlines()
    assert re.fullmatch(r"13 of 13 judged, 0 failed, [\d,]+ tokens", lines[-1])


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=["LC_ALL=C", "ascii", "latin-1"],
)
def test_a_terminal_that_cannot_write_everything(tmp_path: Path, env: dict[str, str]) -> None:
    told: list[str | Path] = ["evaluate", EXAMPLES, "--judge", "lexical", "--output-dir", "run"]
    done = subprocess.run(
        command(*told),
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"partial-velos" in done.stdout
    assert b"/ 5" in done.stdout
    if "latin-1" not in env.values():
        done.stdout.decode("ascii")
        done.stderr.decode("ascii")


def test_an_error_that_a_terminal_cannot_write(tmp_path: Path) -> None:
    ended = run("evaluate", "größe.jsonl", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert ended.code == 2
    assert "does not exist" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("option", ["--json", "--citations=required"])
def test_a_reader_that_has_gone(tmp_path: Path, option: str) -> None:
    nobody, output = os.pipe()
    os.close(nobody)
    told: list[str | Path] = [
        "evaluate",
        EXAMPLES,
        "--judge",
        "lexical",
        "--output-dir",
        "run",
        option,
    ]
    with closing(os.fdopen(output, "wb")) as stdout:
        done = subprocess.run(
            command(*told),
            cwd=tmp_path,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    assert done.returncode not in (0, 3)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert (tmp_path / "run" / "report.json").exists()


# --- help and completion ---


def test_help_names_every_option_and_exit_code(tmp_path: Path) -> None:
    text = run("evaluate", "--help", cwd=tmp_path).stdout
    named = set(re.findall(r"--[a-z-]+", text))
    assert named == {
        *("--judge", "--metrics", "--output-dir", "--resume", "--limit", "--fail-under"),
        *("--quiet", "--json", "--base-url", "--api-key-env", "--timeout", "--max-tokens"),
        *("--price", "--concurrency", "--cache", "--no-cache", "--prompts", "--strategy"),
        *("--citations", "--expected-answer", "--no-expected-answer", "--justification"),
        *("--no-justification", "--reasoning", "--no-reasoning", "--help"),
    }
    words = " ".join(text.split())
    assert (
        "Exit codes: 0 fine, 1 below a threshold, 2 wrong use, 3 some samples failed, 130 stopped."
    ) in words
    assert max(map(len, text.splitlines())) <= 80


def test_version_and_overview(tmp_path: Path) -> None:
    shown = run("--version", cwd=tmp_path)
    assert (shown.code, shown.stdout) == (0, f"grouse-adapters {version('grouse-adapters')}\n")
    assert "evaluate" in run("--help", cwd=tmp_path).stdout
    assert "evaluate" in run(cwd=tmp_path).stdout + run(cwd=tmp_path).stderr


def completed(tmp_path: Path, line: str) -> list[str]:
    """What bash offers for the last word of ``line``."""
    words = line.split(" ")
    done = subprocess.run(
        [SCRIPT],
        cwd=tmp_path,
        env={
            **os.environ,
            "_GROUSE_ADAPTERS_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("grouse-adapters ev", ["evaluate"]),
        ("grouse-adapters evaluate --ju", ["--judge", "--justification"]),
        ("grouse-adapters evaluate --no-ca", ["--no-cache"]),
        ("grouse-adapters evaluate --judge le", ["lexical"]),
        ("grouse-adapters evaluate --citations i", ["ignored"]),
        ("grouse-adapters evaluate --strategy ", ["per-metric", "single-call"]),
        ("grouse-adapters evaluate --metrics ", list(METRIC_NAMES)),
        ("grouse-adapters evaluate --metrics u", ["usefulness"]),
        (
            "grouse-adapters evaluate --metrics completeness,f",
            ["completeness,faithfulness"],
        ),
        (
            "grouse-adapters evaluate --metrics completeness,c",
            [],
        ),
    ],
)
def test_completion(tmp_path: Path, line: str, offered: list[str]) -> None:
    assert completed(tmp_path, line) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_command(tmp_path: Path, shell: str) -> None:
    done = subprocess.run(
        [SCRIPT],
        cwd=tmp_path,
        env={**os.environ, "_GROUSE_ADAPTERS_COMPLETE": f"source_{shell}"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert "_GROUSE_ADAPTERS_COMPLETE" in done.stdout
    assert done.stderr == ""
