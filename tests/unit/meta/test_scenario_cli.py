"""``grouse-adapters scenario`` as a user runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import read_lines, run
from scenario_copies import GOOD, changed, good, written

from grouse_adapters.meta.scenarios import build_tests, check_scenario, load_scenario
from grouse_adapters.meta.scenarios.parts import GAP, texts
from grouse_adapters.meta.unit_tests import read_unit_tests
from grouse_adapters.native.annotations import read_annotations


def test_new_writes_a_template_whose_gaps_check_names(tmp_path: Path) -> None:
    made = run("scenario", "new", "mine/roof-tiles.yaml", cwd=tmp_path)
    assert made.code == 0
    assert "scenario check mine/roof-tiles.yaml" in made.stdout
    path = tmp_path / "mine" / "roof-tiles.yaml"
    scenario = load_scenario(path)
    assert scenario.id == "roof-tiles"
    gaps = [place for place, text in texts(scenario) if text.startswith(GAP)]
    assert len(gaps) > 40
    todo = [n for n, line in enumerate(path.read_text().splitlines(), 1) if "TODO:" in line]
    checked = run("scenario", "check", path, cwd=tmp_path)
    assert checked.code == 2
    lines = checked.stdout.splitlines()
    told = [line for line in lines if ": error: " in line]
    assert len(told) == len(gaps) == len(todo)
    assert all(re.match(rf"{path}:\d+: error: \S+ is still to be written: ", line) for line in told)
    assert lines[-1] == f"{path}: {len(gaps)} errors, 1 warning"
    built = run("scenario", "build", path, "-o", "tests.jsonl", cwd=tmp_path)
    assert built.code == 2
    assert built.stderr.startswith(f"Error: {path}, line 16: domain is still to be written")
    assert not (tmp_path / "tests.jsonl").exists()


def test_a_template_that_is_filled_in_has_no_error(tmp_path: Path) -> None:
    """Every TODO replaced by a text of its own, and nothing else touched."""
    assert run("scenario", "new", "full.yaml", cwd=tmp_path).code == 0
    path = tmp_path / "full.yaml"
    count = iter(range(10_000))

    def fill(match: re.Match[str]) -> str:
        number = next(count)
        words = " ".join(f"w{number}x{n}" for n in range(60 if match[0].endswith(".\n") else 8))
        citation = re.search(r" \[[\w-]+\]", match[0])
        end = "\n" if match[0].endswith("\n") else '"'
        return f"{words}{citation[0] if citation else ''}.{end}"

    text = re.sub(r'TODO: [^"\n]*["\n]', fill, path.read_text(encoding="utf-8"))
    text = re.sub(r"question: .*", "question: How are roof tiles made?", text)
    path.write_text(text, encoding="utf-8")
    assert [p.place for p in check_scenario(load_scenario(path))] == ["paraphrases"]
    assert len(build_tests(load_scenario(path))) == 16


def test_new_numbers_the_files_of_a_folder_and_overwrites_none(tmp_path: Path) -> None:
    for number in (1, 2):
        assert run("scenario", "new", "mine", cwd=tmp_path).code == 0
        assert load_scenario(tmp_path / "mine" / f"scenario-{number}.yaml").id == (
            f"scenario-{number}"
        )
    path = tmp_path / "mine" / "scenario-1.yaml"
    path.write_text("mine", encoding="utf-8")
    again = run("scenario", "new", "mine/scenario-1.yaml", cwd=tmp_path)
    assert again.code == 2
    assert again.stderr == "Error: mine/scenario-1.yaml exists already: choose another name.\n"
    assert path.read_text(encoding="utf-8") == "mine"
    below = run("scenario", "new", "mine/scenario-1.yaml/more.yaml", cwd=tmp_path)
    assert below.code == 2
    assert "choose another one" in below.stderr


def test_check_tells_every_file_and_counts(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(folder, changed({"omitted": ["feed", "covers"], "id": "a"}), "a.yaml")
    written(folder, changed({"id": "b"}), "b.yml")
    written(folder, "format: 1\nid: [", "c.yaml")
    (folder / "notes.txt").write_text("no scenario", encoding="utf-8")
    done = run("scenario", "check", "mine", GOOD, cwd=tmp_path)
    assert done.code == 2
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [line for line in lines if not re.search(r":\d+: (error|warning): ", line)] == [
        "mine/a.yaml: 1 error, 1 warning",
        "mine/b.yml: no problems",
        "mine/c.yaml: 1 error, 0 warnings",
        f"{GOOD}: no problems",
    ]


def test_strict_fails_for_warnings(tmp_path: Path) -> None:
    path = written(tmp_path, changed({"refusal": "The shelf is bare."}))
    assert run("scenario", "check", path, cwd=tmp_path).code == 0
    assert run("scenario", "check", path, "--strict", cwd=tmp_path).code == 2
    assert run("scenario", "check", GOOD, "--strict", cwd=tmp_path).code == 0


def test_build_writes_tests_and_annotations(tmp_path: Path) -> None:
    other = written(tmp_path, changed({"id": "b", "refusal": "The shelf is bare."}))
    done = run(
        *("scenario", "build", GOOD, other, "-o", "tests.jsonl", "--annotations", "labels.jsonl"),
        cwd=tmp_path,
    )
    assert done.code == 0
    assert done.stdout == (
        "Wrote 32 unit tests of 2 scenarios to tests.jsonl and their annotations to labels.jsonl.\n"
    )
    assert done.stderr == "Note: 1 warning: 'grouse-adapters scenario check' lists them.\n"
    tests = read_unit_tests(tmp_path / "tests.jsonl")
    assert tests == [*build_tests(load_scenario(GOOD)), *build_tests(load_scenario(other))]
    labels = read_annotations(tmp_path / "labels.jsonl")
    assert [label.test_id for label in labels] == [test.id for test in tests]


def test_built_tests_are_samples_that_a_judge_takes(tmp_path: Path) -> None:
    assert run("scenario", "build", GOOD, "-o", "tests.jsonl", cwd=tmp_path).code == 0
    done = run(*("evaluate", "tests.jsonl", "--judge", "lexical", "-q", "-o", "run"), cwd=tmp_path)
    assert done.code == 0
    rows = read_lines(tmp_path / "run" / "judgements.jsonl")
    assert [row["id"] for row in rows] == [f"sourdough-starter/{n}" for n in range(1, 17)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "none.yaml"), "none.yaml does not exist: check the path."),
        (("build", "none.yaml", "-o", "t.jsonl"), "none.yaml does not exist: check the path."),
        (("check", "empty"), "empty holds no scenarios (.yaml): name a folder that does."),
        (("build", "good.yaml", "again.yaml", "-o", "t.jsonl"), "again.yaml, line 2: id is 'sour"),
        (
            ("build", "good.yaml", "-o", "t.jsonl", "--annotations", "./t.jsonl"),
            "--output and --annotations name the same file: name two.",
        ),
        (("build", "good.yaml", "-o", "none/t.jsonl"), "none/t.jsonl cannot be written (No such"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    written(tmp_path, good(), "good.yaml")
    written(tmp_path, good(), "again.yaml")
    done = run("scenario", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert done.stderr.startswith(f"Error: {told}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "t.jsonl").exists()


def test_the_same_id_in_two_files_is_told(tmp_path: Path) -> None:
    written(tmp_path, good(), "a.yaml")
    written(tmp_path, good(), "b.yaml")
    done = run("scenario", "check", ".", cwd=tmp_path)
    assert done.code == 2
    assert "b.yaml:2: error: id is 'sourdough-starter', as in a.yaml: give each" in done.stdout
