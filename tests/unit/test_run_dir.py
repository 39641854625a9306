"""The run directory: nothing is lost, nothing is judged twice, mistakes get one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.cli.run_dir import RunDir, RunSettings, row_key
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable, Usage
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Aggregator

SETTINGS = RunSettings(
    command="evaluate",
    input="samples.jsonl",
    judge="gpt-9",
    model={"model": "gpt-9", "temperature": 0.0},
    prompt_fingerprint="a" * 64,
    metrics=("completeness", "faithfulness"),
    strategy="per-metric",
)
GOOD: dict[Any, Grade] = {
    "completeness": Graded(value=4),
    "faithfulness": NotApplicable(reason="the answer only refuses"),
}
BAD: dict[Any, Grade] = {**GOOD, "faithfulness": Failed(error_kind="timeout", error="too slow")}


def a_sample(number: int, *, key: str | None = None, answer: str = "Noon [1].") -> Sample:
    return Sample(input=f"Question {number}?", actual_output=answer, id=key)


def a_judgement(sample: Sample, grades: dict[Any, Grade] | None = None) -> Judgement:
    return Judgement(
        id=sample.id,
        sample=sample,
        grades=GOOD if grades is None else grades,
        judge="gpt-9",
        llm_calls=2,
        usage=Usage(input_tokens=10, output_tokens=1),
    )


def one_sentence(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def run_code(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_run_writes_its_settings_its_rows_and_its_report(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    sample = a_sample(1, key="one")
    with RunDir.create(path, SETTINGS) as run:
        assert not run.resumed
        assert run.admit(row_key(sample, 1), sample)
        run.append(a_judgement(sample))
        # before the run is closed: a row is on its way to the disk once append returns
        assert json.loads((path / "judgements.jsonl").read_text())["id"] == "one"
        aggregator = Aggregator()
        for judgement in run.latest_rows():
            aggregator.add(judgement)
        report = run.write_report(aggregator.report(command="evaluate", judge="gpt-9"))
    assert json.loads(report.read_text())["metrics"]["completeness"]["mean"] == 4
    assert RunSettings.model_validate_json((path / "run.json").read_text()) == SETTINGS
    assert {entry.name for entry in path.iterdir()} == {
        "run.json",
        "judgements.jsonl",
        "report.json",
    }


def test_a_sample_without_an_id_is_named_by_line_and_content(tmp_path: Path) -> None:
    sample = a_sample(1)
    key = row_key(sample, 7)
    assert key == f"line 7 {sample.content_hash()[:16]}"
    with RunDir.create(tmp_path / "run", SETTINGS) as run:
        assert run.admit(key, sample)
        run.append(a_judgement(sample), key=key)
    with RunDir.resume(tmp_path / "run", SETTINGS) as run:
        assert not run.admit(key, sample)
        assert [row.id for row in run.latest_rows()] == [key]


def test_resume_judges_again_what_failed_was_edited_or_lacks_a_metric(tmp_path: Path) -> None:
    done, failed = a_sample(1, key="done"), a_sample(2, key="failed")
    edited, short = a_sample(3, key="edited"), a_sample(4, key="short")
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(done))
        run.append(a_judgement(failed, BAD))
        run.append(a_judgement(edited))
        run.append(a_judgement(short, {"completeness": Graded(value=5)}))
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert run.resumed
        assert not run.admit("done", done)
        assert run.admit("failed", failed)
        assert run.admit("edited", a_sample(3, key="edited", answer="At one [1]."))
        assert run.admit("short", short)
        assert run.admit("new", a_sample(5, key="new"))


def test_the_last_row_of_a_sample_wins_whatever_came_before(tmp_path: Path) -> None:
    first, second = a_sample(1, key="1"), a_sample(2, key="2")
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(first, BAD))
        run.append(a_judgement(second))
        run.append(a_judgement(first, GOOD))
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert not run.admit("1", first)
        assert not run.admit("2", second)
        rows = list(run.latest_rows())
        assert [(row.id, row.failed) for row in rows] == [("1", False), ("2", False)]
        assert [(row.id, row.failed) for row in run.superseded_rows()] == [("1", True)]


def test_a_sample_that_fails_after_it_was_fine_is_judged_again(tmp_path: Path) -> None:
    sample = a_sample(1, key="1")
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(sample, GOOD))
        run.append(a_judgement(sample, BAD))
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert run.admit("1", sample)


def test_rows_come_in_the_order_of_the_input_without_samples_that_left_it(tmp_path: Path) -> None:
    samples = [a_sample(number, key=str(number)) for number in range(6)]
    with RunDir.create(tmp_path, SETTINGS) as run:
        for sample in samples:
            assert run.admit(row_key(sample, 1), sample)
        for sample in reversed(samples):
            run.append(a_judgement(sample))
        assert [row.id for row in run.latest_rows()] == ["0", "1", "2", "3", "4", "5"]
        assert list(run.superseded_rows()) == []
    with RunDir.resume(tmp_path, SETTINGS) as run:
        edited = a_sample(3, key="3", answer="Edited.")
        assert run.admit("3", edited)
        assert not run.admit("1", samples[1])
        assert [row.id for row in run.latest_rows()] == ["1"]
        run.append(a_judgement(edited))
        assert [row.sample.actual_output for row in run.latest_rows()] == ["Edited.", "Noon [1]."]
        assert sorted(row.id or "" for row in run.superseded_rows()) == ["0", "2", "3", "4", "5"]


def test_an_id_that_is_used_twice_stops_the_run(tmp_path: Path) -> None:
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.admit("a", a_sample(1, key="a"))
        with pytest.raises(InputError, match="'a' is used twice"):
            run.admit("a", a_sample(2, key="a"))


def test_odd_text_survives_the_way_to_the_file_and_back(tmp_path: Path) -> None:
    odd = Sample(input="\x00 \u2028 日本 \U0001f600 \r\n", actual_output="", metadata={"x": [1.5]})
    half: dict[Any, Grade] = {
        **GOOD,
        "faithfulness": Failed(
            error_kind="unreadable", error="half \ud800 a pair", raw_reply="\udfff"
        ),
    }
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(odd), key="odd")
        run.append(a_judgement(a_sample(1), half), key="half")
    assert len((tmp_path / "judgements.jsonl").read_bytes().splitlines()) == 2
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert not run.admit("odd", odd)
        assert run.admit("half", a_sample(1))
        first, second = run.latest_rows()
        assert first.sample == odd
        grade = second.grades["faithfulness"]
        assert isinstance(grade, Failed)
        assert (grade.error, grade.raw_reply) == ("half ? a pair", "?")


def test_metadata_that_json_cannot_hold_is_named(tmp_path: Path) -> None:
    nested: dict[str, Any] = {}
    for _ in range(400):
        nested = {"in": nested}
    sample = Sample(input="q", actual_output="a", id="deep", metadata=nested)
    with RunDir.create(tmp_path, SETTINGS) as run:
        assert "'deep'" in one_sentence(lambda: run.append(a_judgement(sample)))


# --- starting and continuing ---------------------------------------------------------------


def test_create_refuses_a_folder_that_holds_a_run(tmp_path: Path) -> None:
    RunDir.create(tmp_path, SETTINGS).close()
    assert one_sentence(lambda: RunDir.create(tmp_path, SETTINGS)) == (
        f"{tmp_path} already holds a run: add --resume to continue it or choose another "
        "--output-dir."
    )


@pytest.mark.parametrize("start", [RunDir.create, RunDir.resume])
def test_a_folder_of_something_else_is_left_alone(
    tmp_path: Path, start: Callable[[Path, RunSettings], RunDir]
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "is not empty and holds no run" in one_sentence(lambda: start(tmp_path, SETTINGS))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("start", [RunDir.create, RunDir.resume])
def test_judgements_without_their_settings_are_left_alone(
    tmp_path: Path, start: Callable[[Path, RunSettings], RunDir]
) -> None:
    (tmp_path / "judgements.jsonl").write_text("{}\n")
    assert "no run.json" in one_sentence(lambda: start(tmp_path, SETTINGS))
    assert (tmp_path / "judgements.jsonl").read_text() == "{}\n"


@pytest.mark.parametrize("start", [RunDir.create, RunDir.resume])
def test_a_run_starts_where_there_is_none(
    tmp_path: Path, start: Callable[[Path, RunSettings], RunDir]
) -> None:
    (tmp_path / ".hidden").touch()
    (tmp_path / "judgements.jsonl").touch()  # a process that died before it wrote its settings
    with start(tmp_path, SETTINGS) as run:
        assert not run.resumed


def test_resuming_another_run_names_every_difference(tmp_path: Path) -> None:
    RunDir.create(tmp_path, SETTINGS).close()
    other = SETTINGS.model_copy(
        update={
            "judge": "gpt-10",
            "model": {"model": "gpt-9", "temperature": 1.0, "seed": 7},
            "prompt_fingerprint": None,
            "metrics": ("faithfulness",),
            "citations": "ignored",
        }
    )
    message = one_sentence(lambda: RunDir.resume(tmp_path, other))
    for part in (
        "judge was gpt-9 and is now gpt-10",
        "model.temperature was 0.0 and is now 1.0",
        "model.seed was not set and is now 7",
        "prompt_fingerprint was aaaaaaaaaaaa and is now not set",
        "metrics was completeness, faithfulness and is now faithfulness",
        "citations was required and is now ignored",
    ):
        assert part in message
    assert "strategy" not in message
    RunDir.resume(tmp_path, SETTINGS).close()  # a refused resume leaves the run as it was


def test_settings_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    RunDir.create(tmp_path, SETTINGS).close()
    (tmp_path / "run.json").write_text("{")
    assert "run.json cannot be read" in one_sentence(lambda: RunDir.resume(tmp_path, SETTINGS))


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    for path in (tmp_path / "run", tmp_path / "run" / "below", Path("/dev/full")):
        assert "is not a folder" in one_sentence(partial(RunDir.create, path, SETTINGS))


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").mkdir()
    message = one_sentence(lambda: RunDir.create(tmp_path, SETTINGS))
    assert "judgements.jsonl cannot be written (Is a directory)" in message


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that root cannot write")
def test_a_folder_that_cannot_be_made() -> None:
    message = one_sentence(lambda: RunDir.create("/proc/self/run", SETTINGS))
    assert "cannot be written" in message


def test_a_folder_in_use_is_refused_until_it_is_free(tmp_path: Path) -> None:
    code = (
        "import sys; from grouse_adapters.cli.run_dir import RunDir, RunSettings\n"
        "settings = RunSettings.model_validate_json(sys.argv[2])\n"
        "run = RunDir.create(sys.argv[1], settings); print('ready', flush=True); sys.stdin.read()"
    )
    with run_code(code, tmp_path, SETTINGS.model_dump_json()) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        for start in (RunDir.create, RunDir.resume):
            message = one_sentence(partial(start, tmp_path, SETTINGS))
            assert "is in use by another run" in message
        other.kill()
    RunDir.resume(tmp_path, SETTINGS).close()


# --- interruptions ---------------------------------------------------------------------------


def test_kill_9_loses_no_row_that_was_appended(tmp_path: Path) -> None:
    code = (
        "import sys; from grouse_adapters.cli.run_dir import RunDir, RunSettings\n"
        "from grouse_adapters.core.grades import Graded, Judgement\n"
        "from grouse_adapters.core.sample import Sample\n"
        "run = RunDir.create(sys.argv[1], RunSettings.model_validate_json(sys.argv[2]))\n"
        "for number in range(10**9):\n"
        "    grade = Graded(value=1, justification='x' * 5000)\n"
        "    sample = Sample(input='q', actual_output=str(number), id=str(number))\n"
        "    grades = {'completeness': grade, 'faithfulness': grade}\n"
        "    run.append(Judgement(id=sample.id, sample=sample, grades=grades, judge='j'))\n"
        "    print(number, flush=True)\n"
    )
    with run_code(code, tmp_path, SETTINGS.model_dump_json()) as other:
        assert other.stdout is not None
        seen = [int(other.stdout.readline()) for _ in range(50)]
        os.kill(other.pid, signal.SIGKILL)
        seen += [int(line) for line in other.stdout.read().split()]
    with RunDir.resume(tmp_path, SETTINGS) as run:
        for number in seen:
            key = str(number)
            assert not run.admit(key, Sample(input="q", actual_output=key, id=key))
        assert [row.id for row in run.latest_rows()] == [str(number) for number in seen]


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_torn_last_row_is_cut_off(tmp_path: Path, kept: int) -> None:
    first, second = a_sample(1, key="1"), a_sample(2, key="2")
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(first))
        whole = run.judgements_path.read_bytes()
        run.append(a_judgement(second))
        torn = run.judgements_path.read_bytes()[len(whole) : -1][:kept]
        run.judgements_path.write_bytes(whole + torn)
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert run.judgements_path.read_bytes() == whole
        assert not run.admit("1", first)
        assert run.admit("2", second)
        run.append(a_judgement(second))
        assert [row.id for row in run.latest_rows()] == ["1", "2"]


def test_a_whole_last_row_without_its_line_end_is_kept(tmp_path: Path) -> None:
    first, second = a_sample(1, key="1"), a_sample(2, key="2")
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(first))
        run.judgements_path.write_bytes(run.judgements_path.read_bytes().rstrip(b"\n"))
    with RunDir.resume(tmp_path, SETTINGS) as run:
        assert not run.admit("1", first)
        run.append(a_judgement(second))
        assert [row.id for row in run.latest_rows()] == ["1", "2"]


def test_a_broken_row_elsewhere_is_named_and_left(tmp_path: Path) -> None:
    with RunDir.create(tmp_path, SETTINGS) as run:
        run.append(a_judgement(a_sample(1, key="1")))
        content = b"\n" + run.judgements_path.read_bytes() + b'{"id": "2"}\n'
        run.judgements_path.write_bytes(content + run.judgements_path.read_bytes())
    message = one_sentence(lambda: RunDir.resume(tmp_path, SETTINGS))
    assert "judgements.jsonl, line 3 is not a judgement" in message
    assert (tmp_path / "judgements.jsonl").read_bytes().startswith(content)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").symlink_to("/dev/full")
    with RunDir.create(tmp_path, SETTINGS) as run:
        message = one_sentence(lambda: run.append(a_judgement(a_sample(1, key="1"))))
    assert "No space left on device" in message
    assert "--resume" in message


def test_a_disk_that_fills_up_in_the_middle_of_a_row_keeps_the_rows_before(tmp_path: Path) -> None:
    """A file size limit fails like a full disk: first a short write, then an error."""
    code = (
        "import resource, signal, sys\n"
        "from grouse_adapters.cli.run_dir import RunDir, RunSettings\n"
        "from grouse_adapters.core.errors import ConfigurationError\n"
        "from grouse_adapters.core.grades import Graded, Judgement\n"
        "from grouse_adapters.core.sample import Sample\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "run = RunDir.create(sys.argv[1], RunSettings.model_validate_json(sys.argv[2]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "grades = dict.fromkeys(('completeness', 'faithfulness'), Graded(value=1))\n"
        "try:\n"
        "    for number in range(100):\n"
        "        sample = Sample(input='q' * 900, actual_output='a', id=str(number))\n"
        "        run.append(Judgement(id=sample.id, sample=sample, grades=grades, judge='j'))\n"
        "except ConfigurationError as error:\n"
        "    print(number, error)\n"
    )
    with run_code(code, tmp_path, SETTINGS.model_dump_json()) as other:
        output, errors = other.communicate()
    assert errors == ""
    written, message = output.strip().split(" ", 1)
    assert "make room and continue with --resume" in message
    content = (tmp_path / "judgements.jsonl").read_bytes()
    assert content.endswith(b"\n")
    assert len(content.splitlines()) == int(written) > 1
    with RunDir.resume(tmp_path, SETTINGS) as run:
        for number in range(int(written)):
            key = str(number)
            assert not run.admit(key, Sample(input="q" * 900, actual_output="a", id=key))
