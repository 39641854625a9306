"""A user's mistakes: one sentence that says what to do, exit code 2, nothing paid, nothing left."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import EXAMPLES, ROOT, Finished, run, write_lines
from told import SAMPLES, script

from grouse_adapters.testing import HttpError, ScriptedServer

Row = dict[str, object]


@dataclass(frozen=True)
class Place:
    """A folder to make mistakes in, and a server that would answer."""

    folder: Path
    server: ScriptedServer

    def samples(self, *rows: Row, name: str = "mine.jsonl") -> Path:
        return write_lines(self.folder / name, rows)

    def text(self, text: str, name: str = "mine.jsonl") -> Path:
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    def judge(self, name: str = "judge-9") -> list[str | Path]:
        return ["--judge", name, "--base-url", self.server.base_url]

    def evaluate(self, *options: str | Path, samples: Path | str = EXAMPLES) -> list[str | Path]:
        """The command with a judge that answers; later options win over it."""
        return ["evaluate", samples, *self.judge(), "--output-dir", "out", *options]


@pytest.fixture(name="place")
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    with ScriptedServer(script(), api_key="sk-right", models=["judge-9"]) as server:
        yield Place(folder, server)


def one(**changes: object) -> Row:
    row = {**SAMPLES[0], **changes}
    return {key: value for key, value in row.items() if value is not ...}


def bad_line_7(place: Place) -> list[str | Path]:
    lines = [json.dumps(sample) for sample in SAMPLES[:8]]
    lines[6] = lines[6][:-5]
    return place.evaluate(samples=place.text("\n".join(lines)))


def pack(place: Place, **templates: str) -> list[str | Path]:
    folder = place.folder / "pack"
    shutil.copytree(ROOT / "prompts" / "grouse", folder)
    for name, text in templates.items():
        (folder / f"{name}.txt.jinja").write_text(text, encoding="utf-8")
    return place.evaluate("--prompts", folder)


def cut_gzip(place: Place) -> list[str | Path]:
    path = place.folder / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(EXAMPLES.read_bytes())[:-600])
    return place.evaluate(samples=path)


def folder_of_another_kind(place: Place) -> list[str | Path]:
    (place.folder / "out").mkdir()
    (place.folder / "out" / "thesis.tex").write_text("Chapter 1", encoding="utf-8")
    return place.evaluate()


def unreachable(place: Place) -> list[str | Path]:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    return place.evaluate("--base-url", f"http://127.0.0.1:{port}/v1")


def a_file(place: Place, output: str) -> list[str | Path]:
    place.text("not a folder", name="file")
    return place.evaluate("--output-dir", output)


INPUT: dict[str, tuple[Callable[[Place], list[str | Path]], str]] = {
    "missing file": (
        lambda p: p.evaluate(samples="no-such.jsonl"),
        "no-such.jsonl does not exist: check the path.",
    ),
    "folder as file": (lambda p: p.evaluate(samples="."), "is a folder: name a JSON-lines file"),
    "empty file": (lambda p: p.evaluate(samples=p.text("")), "mine.jsonl holds no samples: write"),
    "blank file": (lambda p: p.evaluate(samples=p.text("\n \n")), "holds no samples"),
    "bad JSON on line 7": (bad_line_7, "mine.jsonl, line 7 is not valid JSON"),
    "one JSON document": (
        lambda p: p.evaluate(samples=p.text(json.dumps(SAMPLES, indent=1))),
        "write one JSON object per line",
    ),
    "a list on one line": (
        lambda p: p.evaluate(samples=p.text(json.dumps(SAMPLES))),
        "line 1: a sample must be an object with named fields, not a list",
    ),
    "not UTF-8": (
        lambda p: p.evaluate(samples=latin_1(p)),
        "line 2 is not UTF-8: save the file with UTF-8 encoding.",
    ),
    "cut gzip": (cut_gzip, "Is the copy complete?"),
    "missing field": (
        lambda p: p.evaluate(samples=p.samples(one(), one(id="b", actual_output=...))),
        "line 2: the field 'actual_output' is missing",
    ),
    "misspelt field": (
        lambda p: p.evaluate(samples=p.samples(one(expected_output=..., expected_ouput="x"))),
        "did you mean 'expected_output'?",
    ),
    "references not a list": (
        lambda p: p.evaluate(samples=p.samples(one(references="The pier."))),
        "line 1: 'references' must be a list of strings, not text.",
    ),
    "a reference not text": (
        lambda p: p.evaluate(samples=p.samples(one(references=["a", 2]))),
        "reference 2 is a int",
    ),
    "duplicate id": (
        lambda p: p.evaluate(samples=p.samples(one(), one(id="b"), one())),
        "line 3: the id 'perfect-sourdough' was used on line 1 already",
    ),
}
OPTIONS: dict[str, tuple[Callable[[Place], list[str | Path]], str]] = {
    "unknown metric": (
        lambda p: p.evaluate("--metrics", "completeness,truth"),
        "Unknown metric 'truth': choose from answer_relevancy,",
    ),
    "no metric": (lambda p: p.evaluate("--metrics", ","), "No metric given: choose from"),
    "threshold without value": (
        lambda p: p.evaluate("--fail-under", "faithfulness"),
        "is not of the form METRIC=VALUE",
    ),
    "threshold not a number": (
        lambda p: p.evaluate("--fail-under", "faithfulness=high"),
        "is not of the form METRIC=VALUE",
    ),
    "threshold nan": (lambda p: p.evaluate("--fail-under", "faithfulness=nan"), "off the scale"),
    "threshold in percent": (
        lambda p: p.evaluate("--fail-under", "faithfulness=80"),
        "faithfulness lies between 0 and 1",
    ),
    "threshold of no metric": (
        lambda p: p.evaluate("--fail-under", "truth=1"),
        "Unknown metric 'truth'",
    ),
    "threshold left out": (
        lambda p: p.evaluate("--metrics", "completeness", "--fail-under", "faithfulness=1"),
        "--fail-under names faithfulness, which --metrics leaves out",
    ),
    "price": (lambda p: p.evaluate("--price", "2"), "--price '2' is not of the form IN,OUT"),
    "price in words": (lambda p: p.evaluate("--price", "a,b"), "is not of the form IN,OUT"),
    "negative price": (lambda p: p.evaluate("--price", "1,-1"), "--price '1,-1' is no price"),
    "endless price": (lambda p: p.evaluate("--price", "nan,1"), "is no price: give numbers"),
    "timeout": (lambda p: p.evaluate("--timeout", "0"), "must be greater than 0"),
    "no tokens": (lambda p: p.evaluate("--max-tokens", "0"), "must be greater than 0"),
    "base URL": (lambda p: p.evaluate("--base-url", "localhost:80"), "write it like http://"),
    "empty model": (lambda p: p.evaluate("--judge", " "), "The model's name is empty"),
    "lexical with a server": (
        lambda p: p.evaluate("--judge", "lexical"),
        "The lexical judge has no use for --base-url: add --judge MODEL",
    ),
    "no judge, but a server": (
        lambda p: ["evaluate", EXAMPLES, "--base-url", p.server.base_url, "--no-cache"],
        "The lexical judge has no use for --base-url, --cache: add --judge MODEL",
    ),
    "resume without folder": (
        lambda p: ["evaluate", EXAMPLES, *p.judge(), "--resume"],
        "--resume needs --output-dir",
    ),
    "unknown pack": (lambda p: p.evaluate("--prompts", "goose"), "goose"),
    "missing pack folder": (lambda p: p.evaluate("--prompts", "./goose"), "goose"),
    "broken template": (
        lambda p: pack(p, completeness="{% if %}"),
        "completeness.txt.jinja",
    ),
    "template with an unknown variable": (
        lambda p: pack(p, completeness="{{ inputs }} {{ actual_output }}"),
        "inputs",
    ),
    "pack without single call": (
        lambda p: [*pack_without_single_call(p), "--strategy", "single-call"],
        "has no template for all metrics: use the strategy per-metric.",
    ),
}
SURROUNDINGS: dict[str, tuple[Callable[[Place], list[str | Path]], str]] = {
    "unknown model": (
        lambda p: p.evaluate("--judge", "judge-10"),
        "does not know the model 'judge-10' (404: ",
    ),
    "unreachable server": (unreachable, "No server answers at http://127.0.0.1:"),
    "wrong address": (
        lambda p: p.evaluate("--base-url", p.server.base_url.removesuffix("/v1")),
        "check the model's name and the base URL.",
    ),
    "unset key variable": (lambda p: p.evaluate("--api-key-env", "NO_SUCH"), "set NO_SUCH"),
    "output is a file": (lambda p: a_file(p, "file"), "file is not a folder: choose another"),
    "output below a file": (lambda p: a_file(p, "file/run"), "is not a folder: choose another"),
    "folder of another kind": (folder_of_another_kind, "out is not empty and holds no run"),
}


def latin_1(place: Place) -> Path:
    path = place.folder / "mine.jsonl"
    row = json.dumps(one(id="b", input="À quoi ?"), ensure_ascii=False)
    path.write_bytes(f"{json.dumps(one())}\n{row}\n".encode("latin-1", errors="replace"))
    return path


def pack_without_single_call(place: Place) -> list[str | Path]:
    told = pack(place)
    (place.folder / "pack" / "all_metrics.txt.jinja").unlink()
    return told


def files(place: Place) -> dict[str, bytes | None]:
    """All that is there, with content."""
    return {
        str(path.relative_to(place.folder)): path.read_bytes() if path.is_file() else None
        for path in place.folder.rglob("*")
    }


def assert_one_sentence(ended: Finished, said: str) -> None:
    assert ended.code == 2, ended
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    line = ended.stderr.strip()
    assert line.startswith("Error: ")
    assert line.endswith((".", "?"))
    assert said in line


@pytest.mark.parametrize("mistake", [*INPUT, *OPTIONS, *SURROUNDINGS])
def test_one_sentence_and_nothing_paid(place: Place, mistake: str) -> None:
    prepare, said = {**INPUT, **OPTIONS, **SURROUNDINGS}[mistake]
    told = prepare(place)
    before = files(place)
    assert_one_sentence(run(*told, cwd=place.folder), said)
    assert place.server.paid_calls == 0
    if mistake not in SURROUNDINGS:
        assert place.server.requests == ()
    assert files(place) == before


@pytest.mark.parametrize("folder", [["--output-dir", "deep/down/out"], []], ids=["named", "new"])
def test_a_wrong_key_leaves_nothing_behind(
    place: Place, monkeypatch: pytest.MonkeyPatch, folder: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-4711")
    ended = run("evaluate", EXAMPLES, *place.judge(), *folder, cwd=place.folder)
    assert_one_sentence(ended, "refused the key (401: ")
    assert "sk-wrong-4711" not in ended.stderr
    assert place.server.paid_calls == 0
    assert files(place) == {}


def test_no_key(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    ended = run("evaluate", EXAMPLES, "--judge", "gpt-4o", cwd=place.folder)
    assert_one_sentence(ended, "No API key: set OPENAI_API_KEY")
    assert files(place) == {}


def test_no_credit(place: Place) -> None:
    with ScriptedServer(faults=HttpError.quota()) as broke:
        told = place.evaluate("--base-url", broke.base_url)
        assert_one_sentence(run(*told, cwd=place.folder), "has no credit left")
        assert files(place) == {}


def test_a_run_that_is_there_is_left_alone(place: Place) -> None:
    told = place.evaluate("--limit", "1")
    assert run(*told, cwd=place.folder).code == 0
    before = files(place)
    place.server.reset()
    assert_one_sentence(run(*told, cwd=place.folder), "already holds a run: add --resume")
    other = run(*told, "--resume", "--citations", "ignored", cwd=place.folder)
    assert_one_sentence(other, "out holds another run (")
    assert files(place) == before
    assert place.server.requests == ()


def test_a_run_that_was_damaged_is_left_alone(place: Place) -> None:
    told = place.evaluate("--limit", "2")
    run(*told, cwd=place.folder)
    rows = place.folder / "out" / "judgements.jsonl"
    rows.write_text("nonsense\n" + rows.read_text(encoding="utf-8"), encoding="utf-8")
    before = files(place)
    ended = run(*told, "--resume", cwd=place.folder)
    assert_one_sentence(ended, "judgements.jsonl, line 1 is not a judgement: delete that line")
    (place.folder / "out" / "run.json").write_text("{", encoding="utf-8")
    ended = run(*told, "--resume", cwd=place.folder)
    assert_one_sentence(ended, "run.json cannot be read: restore it")
    assert files(place) == {**before, "out/run.json": b"{"}


@pytest.mark.parametrize("place_of_cache", ["file/replies.sqlite", "."])
def test_a_cache_that_cannot_be_opened(place: Place, place_of_cache: str) -> None:
    place.text("not a folder", name="file")
    before = files(place)
    env = {"GROUSE_CACHE": str(place.folder / place_of_cache)}
    ended = run(*place.evaluate(), cwd=place.folder, env=env)
    assert_one_sentence(ended, "choose another file or switch the cache off")
    assert files(place) == before
    assert place.server.requests == ()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_a_full_disk_stops_the_run_before_more_is_paid(place: Place) -> None:
    told = place.evaluate("--concurrency", "1", "--no-cache")
    (place.folder / "out").mkdir()
    (place.folder / "out" / "judgements.jsonl").symlink_to("/dev/full")
    ended = run(*told, cwd=place.folder)
    assert_one_sentence(ended, "judgements.jsonl cannot be written")
    assert place.server.calls < 13


@pytest.mark.parametrize(
    "wrong",
    [
        ["evaluate"],
        ["evaluate", "a.jsonl", "--no-such-option"],
        ["evaluate", "a.jsonl", "--limit", "0"],
        ["evaluate", "a.jsonl", "--concurrency", "many"],
        ["evaluate", "a.jsonl", "--strategy", "guess"],
        ["evaluate", "a.jsonl", "--citations", "sometimes"],
        ["evaluate", "a.jsonl", "b.jsonl"],
        ["evaluated", "a.jsonl"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_with_the_usage(tmp_path: Path, wrong: list[str]) -> None:
    ended = run(*wrong, cwd=tmp_path)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Usage: ")
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []
