"""No text makes the reader raise what it should not, and what it accepts builds sound tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_copies import GOOD, changed, good, written

from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.scenarios import (
    Scenario,
    build_annotations,
    build_tests,
    check_scenario,
    load_scenario,
)
from grouse_adapters.meta.scenarios.citations import (
    cited_keys,
    citing_instead,
    numbered,
    without_citations,
)
from grouse_adapters.meta.scenarios.files import read_scenario
from grouse_adapters.meta.scenarios.yaml_text import read_yaml
from grouse_adapters.meta.unit_tests import write_unit_tests

BOUNDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
CHEAP = settings(BOUNDED, max_examples=300)
LINES = GOOD.read_text(encoding="utf-8").splitlines()
PIECE = st.sampled_from(
    [
        *" \t-:[]{},|'\"#?%@~é字\U0001f600\x00\ufeff\u2028",
        *("- ", ": ", "key: ", "  ", " #", "[feeding]", "[shelf][", ">-", "&a", "*a", "!!int"),
        *("---", "...", "null", "no", "TODO", "text", "1", "statements:", "<<: *a"),
        *('"\\ud800"', '"\\U00110000"'),
    ]
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=80), st.lists(PIECE, max_size=30).map("".join))
WORDS = st.lists(st.sampled_from(["water", "flour", "§ 4", "3.5", "(a)", "it's", "É"]), min_size=1)
KEYS = st.lists(st.sampled_from(["a", "b-1", "c_2", "4", "é"]), min_size=1, max_size=3)


@CHEAP
@given(TEXT)
def test_any_text_is_yaml_or_has_a_fault(text: str) -> None:
    document = read_yaml(text)
    assert document.faults or isinstance(document.value, dict | list | str | None)


@BOUNDED
@given(data=st.data())
def test_a_mangled_scenario_is_told_or_sound(tmp_path: Path, data: st.DataObject) -> None:
    lines = list(LINES)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["drop", "double", "insert", "replace", "indent"])):
            case "drop":
                del lines[at]
            case "double":
                lines.insert(at, lines[at])
            case "insert":
                lines.insert(at, data.draw(TEXT))
            case "replace":
                start = data.draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:start] + data.draw(PIECE)
            case "indent":
                lines[at] = f"  {lines[at]}"
    path = written(tmp_path, "\n".join(lines))
    scenario, problems = read_scenario(path)
    assert (scenario is None) == bool(problems)
    for problem in problems:
        assert problem.severity == "error"
        assert "\n" not in f"{problem.place} {problem.message}"
    if scenario is not None:
        check_sound(scenario)


def check_sound(scenario: Scenario) -> None:
    """Building either tells the first error or makes 16 tests whose citations are in range."""
    errors = [problem for problem in check_scenario(scenario) if problem.severity == "error"]
    if errors:
        with pytest.raises(InputError) as raised:
            build_tests(scenario)
        assert str(raised.value) == str(errors[0])
        return
    tests, labels = build_tests(scenario), build_annotations(scenario)
    write_unit_tests(tests).encode("utf-8")
    assert [test.id for test in tests] == [label.test_id for label in labels]
    for test in tests:
        for text in (test.sample.expected_output or "", test.sample.actual_output):
            inside = re.findall(r"\[([^\[\]]*\w[^\[\]]*)\]", text)
            assert all(1 <= int(number) <= len(test.sample.references) for number in inside)


def leaves(node: Any = None, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and value of every text of the good scenario."""
    node = good() if node is None else node
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, str(node)


@settings(BOUNDED, max_examples=40)
@given(data=st.data())
def test_a_scenario_with_its_texts_mixed_up_is_told_or_sound(
    tmp_path: Path, data: st.DataObject
) -> None:
    texts = list(leaves())
    choice = st.sampled_from(texts)
    changes = {data.draw(choice)[0]: data.draw(choice)[1] for _ in range(2)}
    scenario, _ = read_scenario(written(tmp_path, changed(changes)))
    if scenario is not None:
        check_sound(scenario)


@settings(BOUNDED, max_examples=40)
@given(
    order=st.permutations(list(good()["references"])),
    paraphrase=st.permutations(list(good()["answer"]["statements"])),
)
def test_the_order_of_the_file_decides_nothing_but_the_order_of_statements(
    tmp_path: Path, order: list[str], paraphrase: list[str]
) -> None:
    references, first = good()["references"], good()["paraphrases"][0]["statements"]
    tree = changed(
        {
            "references": {key: references[key] for key in order},
            "paraphrases.0.statements": {id: first[id] for id in paraphrase},
        }
    )
    tests = build_tests(load_scenario(written(tmp_path, tree)))
    usual = build_tests(load_scenario(GOOD))
    for test, other in zip(tests, usual, strict=True):
        assert test.sample.references == other.sample.references
        assert test.sample.expected_output == other.sample.expected_output
        sentences, others = (
            sorted(re.split(r"(?<=\])\. ?", one.sample.actual_output)) for one in (test, other)
        )
        assert sentences == others


@CHEAP
@given(st.lists(st.tuples(WORDS, KEYS), min_size=1, max_size=4))
def test_citations_are_numbered_exchanged_and_taken_out(
    claims: list[tuple[list[str], list[str]]],
) -> None:
    text = " ".join(f"{' '.join(words)} {cite(keys)}" for words, keys in claims) + "."
    order = [key for _, keys in claims for key in keys]
    assert cited_keys(text) == tuple(dict.fromkeys(order))
    numbers = {key: number for number, key in enumerate(sorted(set(order)), start=1)}
    groups = re.findall(r"(?:\[\d\])+", numbered(text, numbers))
    assert groups == [
        "".join(f"[{number}]" for number in sorted({numbers[key] for key in keys}))
        for _, keys in claims
    ]
    plain = " ".join(" ".join(words) for words, _ in claims) + "."
    assert without_citations(text) == plain
    assert without_citations(numbered(text, numbers)) == plain
    assert cited_keys(citing_instead(text, "z")) == ("z",)
    assert without_citations(citing_instead(text, "z")) == plain


def cite(keys: list[str]) -> str:
    """In one of the forms that authors use, depending on how many there are."""
    if len(keys) == 2:
        return f"[{keys[0]}, {keys[1]}]"
    return " ".join(f"[{key}]" for key in keys)


@CHEAP
@given(st.text(max_size=60))
def test_brackets_never_trip_the_reader_of_citations(text: str) -> None:
    numbers = dict.fromkeys(cited_keys(text), 1)
    assert set(cited_keys(numbered(text, numbers))) <= {"1"}
    assert isinstance(without_citations(text), str)
