"""``grouse-adapters report`` as a user runs it: on runs, on live files, on damaged ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, Finished, read_report, read_rows, run
from told import CALLS, script

from grouse_adapters.cli.kept_rows import read_kept
from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Failed, Graded, Judgement, Usage
from grouse_adapters.core.rows import to_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.core.sinks import JsonLinesSink
from grouse_adapters.testing import FirstAttempts, Garbage, ScriptedServer, When

LEXICAL = ("--judge", "lexical", "--quiet", "--output-dir")


def a_judgement(name: str | None, value: int | None = 4, judge: str = "model-1") -> Judgement:
    grade = Failed(error_kind="timeout", error="too slow") if value is None else Graded(value=value)
    return Judgement(
        id=name,
        sample=Sample(input=f"Question {name}?", actual_output="At noon [1]."),
        grades={"completeness": grade},
        judge=judge,
        llm_calls=1,
        usage=Usage(input_tokens=10, output_tokens=2),
        cost=0.25,
    )


def write(path: Path, *judgements: Judgement) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(to_line, judgements)))
    return path


def report(*arguments: str | Path, cwd: Path) -> Finished:
    return run("report", *arguments, cwd=cwd)


def as_json(*arguments: str | Path, cwd: Path) -> dict[str, Any]:
    ended = report(*arguments, "--json", cwd=cwd)
    assert (ended.code, ended.stderr) == (0, "")
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


# --- a run ---


@pytest.fixture(name="lexical_run", scope="module")
def _lexical_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lexical") / "run"
    ended = run("evaluate", EXAMPLES, *LEXICAL, folder, "--limit", "12", cwd=folder.parent)
    assert ended.code == 0, ended
    return folder


def test_a_run_gives_the_same_table_and_report_again(tmp_path: Path) -> None:
    with ScriptedServer(script()) as server:
        judge = ("--judge", "judge-9", "--base-url", server.base_url, "--price", "1,2")
        first = run("evaluate", EXAMPLES, *judge, "--output-dir", "run", cwd=tmp_path)
    again = report("run", cwd=tmp_path)
    assert (again.code, again.stderr) == (0, "")
    assert f"{CALLS} calls" in again.stdout
    totals = "Metric  "
    shown, wanted = (text[text.index(totals) :] for text in (again.stdout, first.stdout))
    assert shown.splitlines() == [line for line in wanted.splitlines() if "report.json" not in line]
    # samples come in the order in which they were complete
    assert sorted(again.stdout.splitlines()) == sorted(
        line for line in first.stdout.splitlines() if "report.json" not in line
    )
    assert as_json("run", cwd=tmp_path) == read_report(tmp_path / "run")


def test_the_file_of_a_run_stands_for_the_run(lexical_run: Path, tmp_path: Path) -> None:
    told = as_json(lexical_run / "judgements.jsonl", cwd=tmp_path)
    assert told == read_report(lexical_run)
    assert told["command"] == "evaluate"


def written(folder: Path) -> dict[str, int]:
    """When each file was written, but for the page, which is made again."""
    return {
        entry.name: entry.stat().st_mtime_ns
        for entry in folder.iterdir()
        if entry.name != "report.html"
    }


def test_output_writes_the_report_and_makes_the_page_again(
    lexical_run: Path, tmp_path: Path
) -> None:
    before = written(lexical_run)
    page = (lexical_run / "report.html").read_bytes()
    ended = report(lexical_run, "--output", "again.json", cwd=tmp_path)
    assert str(Path("again.json")) in ended.stdout
    assert [entry.name for entry in tmp_path.iterdir()] == ["again.json"]
    assert json.loads((tmp_path / "again.json").read_text()) == read_report(lexical_run)
    assert written(lexical_run) == before
    assert (lexical_run / "report.html").read_bytes() == page


def test_quiet_prints_nothing(lexical_run: Path, tmp_path: Path) -> None:
    assert report(lexical_run, "--quiet", cwd=tmp_path) == Finished(0, "", "")


def test_the_last_row_of_a_sample_wins_and_all_spending_counts(tmp_path: Path) -> None:
    """A failed row, judged again by ``--resume``."""
    options = ("--judge", "judge-9", "--no-cache", "--output-dir", "run", "--quiet")
    failing = When(lambda request: request.metric == "completeness", FirstAttempts(Garbage()))
    with ScriptedServer(script(), faults=failing) as server:
        first = run("evaluate", EXAMPLES, *options, "--base-url", server.base_url, cwd=tmp_path)
        assert first.code == 3
        broken = report("run", cwd=tmp_path)
        assert broken.code == 3
        assert "A grade failed in 13 of 13 samples: their rows say why, and evaluate --resume" in (
            broken.stderr
        )
        again = ("--base-url", server.base_url, "--resume")
        assert run("evaluate", EXAMPLES, *options, *again, cwd=tmp_path).code == 0
    assert len(read_rows(tmp_path / "run")) == 26
    told = as_json("run", cwd=tmp_path)
    assert told == read_report(tmp_path / "run")
    assert (told["samples"], told["failed_samples"]) == (13, 0)
    assert told["llm_calls"] == server.calls > CALLS


def test_a_killed_run_without_a_report_is_read(lexical_run: Path, tmp_path: Path) -> None:
    rows = (lexical_run / "judgements.jsonl").read_bytes()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_bytes((lexical_run / "run.json").read_bytes())
    (tmp_path / "run" / "judgements.jsonl").write_bytes(rows[:-50])
    ended = report("run", "--json", cwd=tmp_path)
    assert ended.code == 0
    path = Path("run") / "judgements.jsonl"
    assert ended.stderr == (
        f"Note: {path}, line 12 was cut off while it was written, and is left out.\n"
    )
    assert json.loads(ended.stdout)["samples"] == 11


def test_a_run_that_lost_its_settings_is_read_from_its_rows(tmp_path: Path) -> None:
    write(tmp_path / "run" / "judgements.jsonl", a_judgement("one"), a_judgement("two", 2))
    told = as_json("run", cwd=tmp_path)
    assert (told["command"], told["judge"]) == ("evaluate", "model-1")
    assert told["metrics"]["completeness"]["mean"] == 3


# --- live files ---


def test_every_row_of_live_files_counts(tmp_path: Path) -> None:
    """An id may come back: the same question, asked again."""
    write(tmp_path / "live.jsonl", *(a_judgement("same", value) for value in (1, 2, 3)))
    told = as_json("live.jsonl", cwd=tmp_path)
    assert (told["command"], told["judge"], told["samples"]) == ("live", "model-1", 3)
    assert told["metrics"]["completeness"] == {
        "mean": 2,
        "graded": 3,
        "not_applicable": 0,
        "failed": 0,
    }
    assert (told["llm_calls"], told["cost"]) == (3, 0.75)
    assert told["usage"] == {"input_tokens": 30, "output_tokens": 6}


def test_rotated_files_belong_to_their_file(tmp_path: Path) -> None:
    size = len(to_line(a_judgement("00")))
    sink = JsonLinesSink(tmp_path / "live.jsonl", max_bytes=5 * size, keep=20)
    for number in range(53):
        sink(a_judgement(f"{number:02}"))
    assert (tmp_path / "live.jsonl.10").exists()
    (tmp_path / "live.jsonl.bak").write_text("not a row\n")
    ended = report("live.jsonl", cwd=tmp_path)
    assert (ended.code, ended.stderr) == (0, "")
    assert "53 samples" in ended.stdout
    # the newest are shown, the last of them at the end
    table = ended.stdout[: ended.stdout.index("33 more in live.jsonl")]
    shown = [int(line[:2]) for line in table.splitlines() if line[:2].isdecimal()]
    assert shown == list(range(33, 53))


def test_files_named_twice_count_once(tmp_path: Path) -> None:
    size = len(to_line(a_judgement("00")))
    sink = JsonLinesSink(tmp_path / "live.jsonl", max_bytes=size)
    for number in range(4):
        sink(a_judgement(f"{number:02}"))
    everything = sorted(entry.name for entry in tmp_path.iterdir())  # what live.jsonl* means
    assert len(everything) == 4
    assert as_json(*everything, cwd=tmp_path)["samples"] == 4
    assert as_json("live.jsonl.2", cwd=tmp_path)["samples"] == 1


def test_files_of_several_workers_are_one_report(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", a_judgement("one", judge="b-model"), a_judgement("two"))
    write(tmp_path / "b.jsonl", a_judgement("three"))
    told = as_json("a.jsonl", "b.jsonl", cwd=tmp_path)
    assert (told["samples"], told["judge"]) == (3, "b-model, model-1")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_half_a_row_of_a_live_file_is_left_out_with_a_note(tmp_path: Path, place: int) -> None:
    lines = [to_line(a_judgement(str(number))) for number in range(3)]
    lines[place] = lines[place][:60] + (b"" if place == 2 else b"\n")
    (tmp_path / "live.jsonl").write_bytes(b"".join(lines))
    ended = report("live.jsonl", "--json", cwd=tmp_path)
    assert ended.stderr == (
        f"Note: live.jsonl, line {place + 1} was cut off while it was written, and is left out.\n"
    )
    assert (ended.code, json.loads(ended.stdout)["samples"]) == (0, 2)


def test_a_last_row_without_a_line_break_counts(tmp_path: Path) -> None:
    (tmp_path / "live.jsonl").write_bytes(to_line(a_judgement("one")).rstrip())
    assert as_json("live.jsonl", cwd=tmp_path)["samples"] == 1


def test_nothing_judged_yet_is_no_error(tmp_path: Path) -> None:
    JsonLinesSink(tmp_path / "live.jsonl")
    ended = report("live.jsonl", cwd=tmp_path)
    assert ended == Finished(0, "", "Note: live.jsonl holds no judgements yet.\n")
    assert as_json("live.jsonl", cwd=tmp_path)["metrics"] == {}


def test_memory_does_not_grow_with_live_files(tmp_path: Path) -> None:
    line = to_line(a_judgement("one"))
    program = (
        "import resource, sys; from pathlib import Path;"
        "from grouse_adapters.cli.kept_rows import read_kept;"
        "print(read_kept([Path(sys.argv[1])]).report.samples,"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for count in (1_000, 100_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("wb") as stream:
            for _ in range(count // 1000):
                stream.write(line * 1000)
        done = subprocess.run(
            [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
        )
        samples, peak = map(int, done.stdout.split())
        assert samples == count
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 10_000  # KiB; the rows themselves are 30,000


def test_a_file_that_is_rotated_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: after the file itself was opened and before its siblings are."""
    size = len(to_line(a_judgement("00")))
    path = tmp_path / "live.jsonl"
    sink = JsonLinesSink(path, max_bytes=2 * size, keep=20)
    for number in range(6):
        sink(a_judgement(f"{number:02}"))
    open_path = Path.open

    def opens(opened: Path, *arguments: Any) -> Any:
        stream = open_path(opened, *arguments)
        if opened == path:
            sink(a_judgement("06"))
        return stream

    monkeypatch.setattr(Path, "open", opens)
    kept = read_kept([path])
    # the seventh row is in a file that was not there when this one was opened
    assert [row.id for row in kept.shown] == ["00", "01", "02", "03", "04", "05"]


# --- exit codes ---


def test_below_a_threshold(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", a_judgement("one", 3))
    assert report("live.jsonl", "-q", "--fail-under", "completeness=3", cwd=tmp_path).code == 0
    ended = report("live.jsonl", "-q", "--fail-under", "completeness=3.5", cwd=tmp_path)
    assert ended == Finished(1, "", "Below threshold: completeness is 3, wanted at least 3.5.\n")
    ended = report("live.jsonl", "-q", "--fail-under", "usefulness=0", cwd=tmp_path)
    assert ended == Finished(
        1, "", "Below threshold: usefulness has no graded sample, wanted at least 0.\n"
    )


def test_failed_grades(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", a_judgement("one", 3), a_judgement("two", None))
    ended = report("live.jsonl", cwd=tmp_path)
    assert ended.code == 3
    assert ended.stderr == "A grade failed in 1 of 2 samples: their rows say why.\n"
    assert "C failed (timeout): too slow" in " ".join(ended.stdout.split())


def damaged(folder: Path) -> None:
    write(folder / "live.jsonl", a_judgement("one"))
    with (folder / "live.jsonl").open("ab") as stream:
        stream.write(b"hello\n")
    write(folder / "run" / "judgements.jsonl", a_judgement("one"))
    with (folder / "run" / "judgements.jsonl").open("ab") as stream:
        stream.write(to_line(a_judgement("two"))[:-20] + b"\n" + to_line(a_judgement("three")))
    (folder / "samples.jsonl").write_bytes(EXAMPLES.read_bytes())
    (folder / "empty").mkdir()
    write(folder / "fine.jsonl", a_judgement("one"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl does not exist: check the path."),
        (["live.jsonl"], "live.jsonl, line 2 is not a judgement: delete that line"),
        (["run"], "run/judgements.jsonl, line 2 is not a judgement: delete that line"),
        (["samples.jsonl"], "samples.jsonl has no column for a metric"),
        (["empty"], "empty holds no run: name the folder of a run"),
        (["run", "live.jsonl"], "run is a run, and a run is reported on its own"),
        (["fine.jsonl", "-o", "no/where.json"], "choose another --output."),
        (["fine.jsonl", "--fail-under", "completeness=9"], "is off the scale"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: Sequence[str], message: str) -> None:
    damaged(tmp_path)
    ended = report(*arguments, cwd=tmp_path)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", a_judgement("one")).chmod(0)
    with pytest.raises(InputError, match=r"live.jsonl cannot be read \(Permission denied\)"):
        read_kept([tmp_path / "live.jsonl"])


def test_grades_made_elsewhere_are_reported_like_our_own(tmp_path: Path) -> None:
    lines = ["id,faithfulness,completeness", "a,1,5", "b,0,4", "c,null,3", "d,failed,null"]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    told = report("people.csv", "--json", "--page", "people.html", cwd=tmp_path)
    assert told.code == 3, told
    figures = json.loads(told.stdout)
    assert figures["metrics"] == {
        "completeness": {"mean": 4.0, "graded": 3, "not_applicable": 1, "failed": 0},
        "faithfulness": {"mean": 0.5, "graded": 2, "not_applicable": 1, "failed": 1},
    }
    assert (figures["judge"], figures["samples"]) == ("people", 4)
    assert (tmp_path / "people.html").read_text().startswith("<!DOCTYPE html>")


def test_how_to_read_tables_is_not_asked_for_runs(lexical_run: Path, tmp_path: Path) -> None:
    refused = report(lexical_run, "--nan", "failed", cwd=tmp_path)
    assert refused.code == 2
    assert "leave them out" in refused.stderr
