"""Files that are not quite a scenario: every trouble is told with its line, none is swallowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scenario_copies import GOOD, OUT, changed, good, problems, written

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.scenarios import build_tests, check_scenario, load_scenario
from grouse_adapters.meta.scenarios.files import read_scenario

TEXT = GOOD.read_text(encoding="utf-8")


def with_line(number: int, line: str) -> str:
    """The good scenario with another line in place of this one, from 1."""
    lines = TEXT.splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"


LINE = {line: number for number, line in enumerate(TEXT.splitlines(), start=1)}
KEEP = next(n for line, n in LINE.items() if line.startswith("    keep: Every evening"))
O1 = next(n for line, n in LINE.items() if line.startswith("    o1: A tent"))

# the file's text: the lines told, and a part of what is told
SYNTAX: dict[str, tuple[str, list[tuple[int | None, str]]]] = {
    "empty": ("", [(None, "is empty: 'scenario new' writes a template.")]),
    "only comments": ("# nothing\n\n", [(None, "is empty")]),
    "a list": ("- a\n- b\n", [(1, "holds no keys")]),
    "one text": ("just a text\n", [(1, "holds no keys")]),
    "indented with a tab": (with_line(KEEP, "\tkeep: x [feeding]."), [(KEEP, "with a tab")]),
    "two documents": (f"{TEXT}---\nformat: 1\n", [(None, "write one scenario per file")]),
    "a colon in a text": (with_line(KEEP, "    keep: Thrift: a bit [feeding]."), [(KEEP, "': '")]),
    "a bracket in front": (with_line(KEEP, "    keep: [feeding] says so."), [(KEEP, "with [")]),
    "an asterisk in front": (with_line(KEEP, "    keep: *big* [feeding]."), [(KEEP, "with *")]),
    "a percent sign in front": (with_line(KEEP, "    keep: %5 [feeding]."), [(KEEP, "character")]),
    "an open quotation mark": (with_line(O1, '    o1: "A tent [tents].'), [(None, "close it")]),
    "a control character": (with_line(KEEP, "    keep: a\x07 [feeding]."), [(KEEP, "#0007")]),
    "a key that is no text": (with_line(KEEP, "    ? [a, b]\n    : c"), [(KEEP, "not text")]),
    "half a surrogate pair": (
        with_line(KEEP, '    keep: "a\\ud800 [feeding]."'),
        [(KEEP, "answer.statements.keep holds half of a surrogate pair")],
    ),
    "an escape of nothing": (
        with_line(KEEP, '    keep: "a\\U00110000 [feeding]."'),
        [(None, "escapes a character that does not exist")],
    ),
    "too deep": ("a: " + "[" * 3000, [(None, "nested too deeply")]),
    "a key twice": (
        f"{TEXT}omitted: [keep]\n",
        [(len(TEXT.splitlines()) + 1, f"twice, first on line {LINE['omitted: [feed, cover]']}")],
    ),
    "two keys twice": (
        f"{TEXT}omitted: [keep]\nid: again\n",
        [(len(TEXT.splitlines()) + 1, "twice"), (len(TEXT.splitlines()) + 2, "twice")],
    ),
    "an alias": (
        TEXT.replace("statements:\n    r1", "statements: &r\n    r1").replace(
            "off_topic:", "extra: *r\noff_topic:"
        ),
        [(None, "extra is an alias (*)")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SYNTAX.values(), ids=list(SYNTAX))
def test_what_is_not_a_scenario(
    text: str, expected: list[tuple[int | None, str]], tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    scenario, found = read_scenario(path)
    assert scenario is None
    assert len(found) == len(expected)
    for problem, (line, part) in zip(found, expected, strict=True):
        assert line is None or problem.line == line
        assert part in f"{problem.place} {problem.message}"
        assert str(problem).startswith(str(path))
    with pytest.raises(InputError) as raised:
        load_scenario(path)
    assert str(raised.value) == str(found[0])


Changes = dict[str, Any]
FORM: dict[str, tuple[Changes, dict[str, str]]] = {
    "another format": ({"format": 2}, {"format": "this version reads format 1"}),
    "parts are missing": (
        {"distorted": OUT, "question": OUT},
        {"distorted": "is missing: add it", "question": "is missing"},
    ),
    "a misspelt part": (
        {"offtopic": good()["off_topic"], "off_topic": OUT},
        {
            "off_topic": "is missing",
            "offtopic": "is no key of a scenario: did you mean 'off_topic'",
        },
    ),
    "a misspelt key": (
        {"answer.statments": {}},
        {"answer.statments": "did you mean 'statements'?"},
    ),
    "a misspelt key in a list": (
        {"paraphrases.1.from": "list"},
        {"paraphrases.2.from": "did you mean 'form'?"},
    ),
    "a misspelt key of a reference": (
        {"references.tents.teg": "x"},
        {"references.tents.teg": "did you mean 'tag'?"},
    ),
    "a key of nothing known": (
        {"wrong_citation.xyzzy": "x"},
        {"wrong_citation.xyzzy": "use statement, cites."},
    ),
    "a comma in braces": (
        {"references.tents.dry it": None},
        {"references.tents.dry it": "put the text in quotes"},
    ),
    "an unknown tag": (
        {"references.tents.tag": "irrelevant"},
        {"references.tents.tag": "is 'irrelevant': use relevant, related, off-topic or absurd."},
    ),
    "an unknown form": ({"answer.form": "table"}, {"answer.form": "use prose or list"}),
    "an id with a slash": ({"id": "a/b"}, {"id": "use letters, digits and dashes"}),
    "a language in words": ({"language": "English"}, {"language": "two letters of a language"}),
    "a text without value": (
        {"answer.statements.keep": None},
        {"answer.statements.keep": "has no value"},
    ),
    "an empty text": ({"question": " "}, {"question": "is empty"}),
    "no statements": ({"answer.statements": {}}, {"answer.statements": "is empty"}),
    "no paraphrases": ({"paraphrases": []}, {"paraphrases": "is empty"}),
    "a text for a part": (
        {"answer": "It is fed."},
        {"answer": "must hold keys, not text: indent 'key: value' lines below it."},
    ),
    "a text for a list": ({"omitted": "keep"}, {"omitted": "must be a list, not text"}),
    "keys for a text": (
        {"question": {"who": "what"}},
        {"question": "must be text, not keys"},
    ),
    "a list for keys": (
        {"answer.statements": ["It is fed [feeding]."]},
        {"answer.statements": "must hold keys, not a list"},
    ),
    "an absurd part in the wrong form": (
        {"absurd.expected": "A singer reads to it."},
        {"absurd.expected": "must hold keys, not text"},
    ),
}


@pytest.mark.parametrize(("changes", "expected"), FORM.values(), ids=list(FORM))
def test_every_fault_of_form_is_told_at_once(
    changes: Changes, expected: dict[str, str], tmp_path: Path
) -> None:
    found = problems(tmp_path, changed(changes))
    assert {problem.place for problem in found} == set(expected)
    for problem in found:
        assert expected[problem.place] in problem.message
        assert problem.severity == "error"
    first = next(iter(found))
    if "missing" not in first.message:
        assert first.line is not None


# what authors may do as well: it changes nothing
HARMLESS: dict[str, Callable[[str], str]] = {
    "a byte order mark": lambda text: f"\ufeff{text}",
    "Windows line breaks": lambda text: text.replace("\n", "\r\n"),
    "off_topic as a tag": lambda text: text.replace("tag: off-topic", "tag: Off_Topic"),
    "a document mark": lambda text: f"---\n{text}...\n",
    "an empty opening": lambda text: text.replace(
        "- form: prose\n    st", "- form: prose\n    opening:\n    st"
    ),
    "the long form of absurd": lambda text: text.replace(
        "  expected:\n    novel:", "  expected:\n    statements:\n      novel:"
    ),
    "a quoted format": lambda text: text.replace("format: 1", 'format: "1"'),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=list(HARMLESS))
def test_what_is_harmless_changes_no_test(change: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    path.write_bytes(change(TEXT).encode("utf-8"))
    scenario = load_scenario(path)
    assert check_scenario(scenario) == []
    assert build_tests(scenario) == build_tests(load_scenario(GOOD))


def test_values_are_what_was_typed(tmp_path: Path) -> None:
    """YAML takes ``no`` for false, 1 for a number and 2024-01-01 for a date; scenarios do not."""
    text = TEXT.replace("domain: baking", "domain: no").replace("language: en", "language: NO")
    text = text.replace("keep:", "1:").replace(" feed:", " no:")
    text = text.replace("[feed, cover]", "[no, 1]").replace("after: feed", "after: no")
    scenario = load_scenario(written(tmp_path, text))
    assert scenario.domain == "no"
    assert scenario.language == "no"
    assert scenario.omitted == ("no", "1")
    assert list(scenario.answer.statements)[:2] == ["1", "no"]
    assert [p for p in check_scenario(scenario) if p.severity == "error"] == []


def test_a_text_that_a_comment_cuts_is_told(tmp_path: Path) -> None:
    text = with_line(KEEP, "    keep: Loaf #7 is kept [feeding].")
    found = {problem.place: problem for problem in problems(tmp_path, text)}
    assert found["answer.statements.keep"].line == KEEP
    both = [p.message for p in problems(tmp_path, text) if p.place == "answer.statements.keep"]
    assert any("cites nothing" in message for message in both)
    assert any("begins a comment" in message for message in both)
    assert load_scenario(written(tmp_path, text)).answer.statements["keep"] == "Loaf"


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "copy.yaml"
    path.write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(InputError, match="is not UTF-8: save it with UTF-8 encoding"):
        load_scenario(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml does not exist"):
        load_scenario(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="is a folder: name a scenario in it"):
        load_scenario(tmp_path)
