"""What is built from a scenario: 16 tests that show what their type promises, and their labels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from oracle import Changes, oracle
from scenario_copies import GOOD, changed, good, written

from grouse_adapters import LLMJudge, OpenAIChat
from grouse_adapters.meta.scenarios import build_annotations, build_tests, load_scenario
from grouse_adapters.meta.test_types import TEST_TYPES
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests, write_unit_tests
from grouse_adapters.native.annotations import read_annotations, write_annotations
from grouse_adapters.testing import ScriptedServer

SOURCE = good()
TESTS = dict(enumerate(build_tests(load_scenario(GOOD)), start=1))
LABELS = dict(enumerate(build_annotations(load_scenario(GOOD)), start=1))
REFUSAL = SOURCE["refusal"]

KEY_OF = {reference["text"]: key for key, reference in SOURCE["references"].items()}


def built(folder: Path, changes: dict[str, Any]) -> dict[int, UnitTest]:
    tests = build_tests(load_scenario(written(folder, changed(changes))))
    return dict(enumerate(tests, start=1))


def keys(number: int) -> list[str]:
    """The references of a test, by key."""
    return [KEY_OF[text] for text in TESTS[number].sample.references]


def tags(number: int) -> Counter[str]:
    return Counter(SOURCE["references"][key]["tag"] for key in keys(number))


def by_key(number: int, text: str | None) -> str:
    """A finished text with the references' keys in place of their numbers."""
    shown = keys(number)
    return re.sub(r"\[(\d+)\]", lambda match: f"[{shown[int(match[1]) - 1]}]", text or "")


def prose(wording: dict[str, Any], *, opening: bool = True, **changes: str) -> str:
    statements = {**wording["statements"], **changes}
    start = [wording["opening"]] if opening and "opening" in wording else []
    return " ".join([*start, *statements.values()])


def items(wording: dict[str, Any], *, without: tuple[str, ...] = (), **changes: str) -> str:
    statements = {**wording["statements"], **changes}
    start = [wording["opening"]] if "opening" in wording else []
    lines = [f"- {text}" for id, text in statements.items() if id not in without]
    return "\n".join([*start, *lines])


def test_ids_types_conditions_and_metadata() -> None:
    assert [test.id for test in TESTS.values()] == [f"sourdough-starter/{n}" for n in range(1, 17)]
    assert [test.test_type for test in TESTS.values()] == list(TEST_TYPES)
    for test, kind in zip(TESTS.values(), TEST_TYPES.values(), strict=True):
        assert test.conditions == kind.conditions
        assert test.set_id == "sourdough-starter"
        assert test.sample.input == SOURCE["question"]
        assert test.sample.metadata == {"language": "en", "domain": "baking"}
        if kind.number != 15:
            assert test.failure_modes == kind.failure_modes
    assert len({test.goal for test in TESTS.values()}) == 16


def test_references_are_those_of_the_type() -> None:
    for number in (1, 6, 10, 11, 14, 15, 16):
        assert tags(number)["related"] in (1, 2)
        assert tags(number)["off-topic"] in (1, 2)
    for number in (1, 8, 10, 11, 12, 14, 15, 16):
        assert tags(number)["relevant"] == 3
        assert tags(number)["absurd"] == 0
    for number in (8, 12):
        assert tags(number)["related"] == 2
    for number in (2, 3, 9, 13):
        assert tags(number)["related"] == 2
        assert tags(number)["relevant"] == tags(number)["absurd"] == 0
    assert tags(13)["off-topic"] == 2
    assert tags(5) == {"off-topic": 2}
    assert {"feeding", "shelf"} <= set(keys(4))
    assert "holidays" not in keys(4)
    assert "shelf-absurd" in keys(6)
    assert "shelf" not in keys(6)
    assert tags(6)["relevant"] == 2
    assert {"prices", "family-absurd"} <= set(keys(7))
    assert "family" not in keys(7)
    for number in TESTS:
        assert len(set(keys(number))) == len(keys(number))


def test_references_are_shuffled() -> None:
    orders = {tuple(sorted(keys(n), key=list(SOURCE["references"]).index)) for n in TESTS}
    as_written = sum(tuple(keys(n)) in orders for n in TESTS)
    assert as_written < 4
    assert len({keys(n).index("feeding") for n in TESTS if "feeding" in keys(n)}) > 2


PARAPHRASES = SOURCE["paraphrases"]
RELATED = SOURCE["related"]
FLAW = SOURCE["unsupported"]["text"]
EXPECTED = {
    **dict.fromkeys((1, 8, 10, 11, 12, 14, 15, 16), items(SOURCE["answer"])),
    **dict.fromkeys((2, 3, 9, 13), f"{REFUSAL} {prose(RELATED)}"),
    4: prose(SOURCE["partial"]["expected"]),
    5: REFUSAL,
    6: items(SOURCE["answer"], **SOURCE["absurd"]["expected"]),
    7: f"{REFUSAL} {prose(RELATED, **SOURCE['absurd_related']['expected'])}",
}
ACTUAL = {
    **dict.fromkeys((2, 5, 11), REFUSAL),
    1: prose(PARAPHRASES[0]),
    3: f"{REFUSAL} {prose(RELATED['paraphrases'][0])}",
    4: items(SOURCE["partial"]["actual"]),
    6: items(PARAPHRASES[1], **SOURCE["absurd"]["actual"]),
    7: f"{REFUSAL} {prose(SOURCE['absurd_related']['actual'])}",
    8: f"{prose(PARAPHRASES[2])} {prose(SOURCE['superfluous'])}",
    9: prose(RELATED["paraphrases"][1], opening=False),
    10: items(PARAPHRASES[3], without=("feed", "cover")),
    12: f"{REFUSAL} {prose(RELATED['paraphrases'][2])}",
    13: f"{REFUSAL} {prose(SOURCE['off_topic'])}",
    14: prose(
        PARAPHRASES[0], wake=PARAPHRASES[0]["statements"]["wake"].replace("[holidays]", "[shelf]")
    ),
    15: items(PARAPHRASES[1]).replace("apiece [feeding].", f"apiece [feeding].\n- {FLAW}"),
    16: prose(PARAPHRASES[2], cover=SOURCE["distorted"]["text"]),
}


@pytest.mark.parametrize("number", range(1, 17))
def test_answers_say_what_the_type_promises_and_cite_what_their_author_cited(number: int) -> None:
    sample = TESTS[number].sample
    swap = {6: ("[shelf]", "[shelf-absurd]"), 7: ("[family]", "[family-absurd]")}
    for finished, wanted in (
        (sample.expected_output, EXPECTED[number]),
        (sample.actual_output, ACTUAL[number]),
    ):
        assert by_key(number, finished) == wanted.replace(*swap.get(number, ("", "")))


def test_every_paraphrase_is_used_when_there_are_enough(tmp_path: Path) -> None:
    for used, wanted in (((1, 6, 8, 10), PARAPHRASES), ((3, 9, 12), RELATED["paraphrases"])):
        for number, wording in zip(used, wanted, strict=True):
            assert next(iter(wording["statements"].values())).split(" [")[0] in ACTUAL[number]
    alone = built(tmp_path, {"paraphrases": PARAPHRASES[:1]})
    assert alone[1].sample.actual_output.startswith("The night baker saves")
    assert alone[10].sample.actual_output.startswith("The night baker saves")


def test_citations_that_stand_together_follow_the_numbering(tmp_path: Path) -> None:
    statement = (
        "The night baker saves 200 g of it [shelf][feeding], daily at 9 pm [holidays, shelf]."
    )
    tests = built(tmp_path, {"paraphrases.0.statements.keep": statement})
    text = tests[1].sample.actual_output
    first, second = re.findall(r"200 g of it ((?:\[\d\])+), daily at 9 pm ((?:\[\d\])+)\.", text)[0]
    order = [KEY_OF[reference] for reference in tests[1].sample.references]
    for cited, wanted in ((first, {"shelf", "feeding"}), (second, {"holidays", "shelf"})):
        numbers = [int(number) for number in re.findall(r"\d", cited)]
        assert numbers == sorted(numbers)
        assert {order[number - 1] for number in numbers} == wanted


def test_superfluous_statements_join_a_list(tmp_path: Path) -> None:
    as_list = {"paraphrases.2.form": "list"}
    ends = [
        built(tmp_path, {**as_list, "superfluous.opening": opening})[8].sample.actual_output
        for opening in (None, "Some more.")
    ]
    assert re.search(r"\n- It is closed on Tuesdays \[\d\]\.\n- Its gilded [^\n]*$", ends[0])
    assert re.search(r"\nSome more\. It is closed on Tuesdays \[\d\]\. Its gilded [^\n]*$", ends[1])


@pytest.mark.parametrize(
    ("unsupported", "modes", "statement"),
    [
        ({"text": "Honey is stirred in."}, ("FM6", "FM7"), ("Honey is stirred in.", False)),
        ({"text": "Honey is stirred in [shelf]."}, ("FM7",), ("Honey is stirred in.", False)),
        (
            {"kind": "uncited", "text": "The whisk rusts."},
            ("FM6",),
            ("The whisk rusts.", True),
        ),
        (
            {"kind": "uncited", "after": None, "text": None, "statement": "wake"},
            ("FM6",),
            ("Return: warm water softens those flakes, and the third meal finishes the job.", True),
        ),
        (
            {"kind": "uncited", "after": None, "text": "Flakes like water.", "statement": "wake"},
            ("FM6",),
            ("Flakes like water.", True),
        ),
    ],
)
def test_the_kinds_of_type_15(
    unsupported: dict[str, Any],
    modes: tuple[str, ...],
    statement: tuple[str, bool],
    tmp_path: Path,
) -> None:
    changes = {f"unsupported.{key}": value for key, value in unsupported.items()}
    scenario = load_scenario(written(tmp_path, changed(changes)))
    test = build_tests(scenario)[14]
    assert test.failure_modes == modes
    lines = test.sample.actual_output.splitlines()
    assert len(re.findall(r"\[\d\]", test.sample.actual_output)) == len(lines) - 2 + (
        modes == ("FM7",)
    )
    labels = {label.text: label for label in build_annotations(scenario)[14].statements or ()}
    assert labels[statement[0]].relevant
    assert labels[statement[0]].faithful is statement[1]
    assert sum(not label.faithful for label in labels.values()) == (not statement[1])
    if unsupported.get("after", "feed") == "feed":
        at = next(n for n, line in enumerate(lines) if statement[0].rstrip(".") in line)
        assert lines[at - 1].startswith("- Food:")


def test_a_reference_that_only_the_flaw_cites_is_shown(tmp_path: Path) -> None:
    for key in ("prices", "family", "tents", "parking"):
        tests = built(
            tmp_path,
            {"unsupported.text": f"Honey is stirred in [{key}].", "wrong_citation.cites": key},
        )
        for number in (14, 15):
            assert SOURCE["references"][key]["text"] in tests[number].sample.references


def test_labels_follow_from_the_construction() -> None:
    for number, annotation in LABELS.items():
        assert annotation.test_id == TESTS[number].id
        assert (annotation.annotator, annotation.source) == ("scenario", "by construction")
        statements = annotation.statements or ()
        for statement in statements:
            assert "[" not in statement.text
            assert statement.text in re.sub(r" \[\d+\]", "", TESTS[number].sample.actual_output)
    shares = {
        number: Counter((s.relevant, s.faithful) for s in annotation.statements or ())
        for number, annotation in LABELS.items()
    }
    good, beside, wrong = (True, True), (False, True), (True, False)
    assert shares == {
        1: {good: 6},
        2: {},
        3: {beside: 3},
        4: {good: 4},
        5: {},
        6: {good: 7},
        7: {beside: 1},
        8: {good: 6, beside: 2},
        9: {beside: 3},
        10: {good: 4},
        11: {},
        12: {beside: 3},
        13: {beside: 2},
        14: {good: 6},
        15: {good: 6, wrong: 1},
        16: {good: 5, wrong: 1},
    }
    distorted = next(s for s in LABELS[16].statements or () if not s.faithful)
    assert (
        distorted.text
        == "Linen covers the crock instead of a lid, because the gas must not escape."
    )


def test_built_lines_give_the_tests_and_labels_back(tmp_path: Path) -> None:
    tests, labels = list(TESTS.values()), list(LABELS.values())
    (tmp_path / "tests.jsonl").write_text(write_unit_tests(tests), encoding="utf-8")
    (tmp_path / "labels.jsonl").write_text(write_annotations(labels), encoding="utf-8")
    assert read_unit_tests(tmp_path / "tests.jsonl") == tests
    assert read_annotations(tmp_path / "labels.jsonl") == labels


BUILD = """
import sys
from grouse_adapters.meta.scenarios import build_annotations, build_tests, load_scenario
from grouse_adapters.meta.unit_tests import write_unit_tests
from grouse_adapters.native.annotations import write_annotations
scenario = load_scenario(sys.argv[1])
text = write_unit_tests(build_tests(scenario)) + write_annotations(build_annotations(scenario))
sys.stdout.buffer.write(text.encode())
"""


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_another_process_builds_the_same_bytes(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(GOOD)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    here = write_unit_tests(TESTS.values()) + write_annotations(LABELS.values())
    assert done.stdout == here.encode()


def test_another_id_shuffles_otherwise_and_another_text_does_not(tmp_path: Path) -> None:
    def orders(changes: dict[str, Any]) -> list[list[str]]:
        tests = built(tmp_path, changes)
        return [[text[:40] for text in test.sample.references] for test in tests.values()]

    assert orders({"id": "another"}) != orders({})
    assert orders({"question": "How is it kept?"}) == orders({})


def outcomes(changes: Changes | None = None) -> dict[tuple[str, str], str]:
    """What is not passed when an oracle judges the tests, over HTTP."""
    tests = list(TESTS.values())
    with (
        ScriptedServer(oracle(tests, changes)) as server,
        LLMJudge(OpenAIChat("oracle", base_url=server.base_url, api_key="none")) as judge,
    ):
        return {
            (test.id, metric): outcome
            for test in tests
            for metric, outcome in test.outcomes(judge.judge(test.sample)).items()
            if outcome != "passed"
        }


def test_an_oracle_passes_them_all() -> None:
    assert outcomes() == {}


def test_one_wrong_grade_fails_one_square() -> None:
    wrong: Changes = {TESTS[16].id: {"faithfulness": 1}, TESTS[12].id: {"completeness": 4}}
    assert outcomes(wrong) == {
        ("sourdough-starter/16", "faithfulness"): "failed",
        ("sourdough-starter/12", "completeness"): "failed",
    }
