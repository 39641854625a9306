"""Report pages as files: what is in them, and what no text can make of them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import weakref
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_runs import evaluation, figures, judged_examples, meta_figures, meta_results

import grouse_adapters.report.page
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Judgement, SentenceCheck
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.core.rows import to_line
from grouse_adapters.meta.report import MetaReport, PublishedJudge, TestResult
from grouse_adapters.report.page import write_evaluation_page, write_meta_page
from grouse_adapters.report.page.payload import script_json
from grouse_adapters.report.page.sentences import marks

FOLDER = Path(grouse_adapters.report.page.__file__).parent


class Parsed(HTMLParser):
    """A page as a browser reads it: tags with attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.inline: list[tuple[str, dict[str, str], str]] = []
        self.visible = ""
        self._open: tuple[str, dict[str, str]] | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        if tag in ("script", "style"):
            self._open = (tag, found)

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.visible += data
        else:
            self.inline.append((*self._open, data))

    def json(self, name: str) -> list[Any]:
        """The data of a class or id."""
        return [
            json.loads(text)
            for tag, attributes, text in self.inline
            if tag == "script" and name in (attributes.get("class"), attributes.get("id"))
        ]

    def rows(self) -> list[list[Any]]:
        return [row for block in self.json("rows") for row in block]


def evaluation_page(tmp_path: Path, rows: list[Judgement], title: str = "samples") -> str:
    path = tmp_path / "report.html"
    write_evaluation_page(path, iter(rows), figures(rows), title=title)
    return path.read_text(encoding="utf-8")


def meta_page(
    tmp_path: Path,
    results: list[TestResult],
    *,
    other: list[TestResult] | None = None,
    report: MetaReport | None = None,
) -> str:
    path = tmp_path / "report.html"
    second = (other, meta_figures(other)) if other is not None else None
    write_meta_page(path, results, report or meta_figures(results), title="tests", other=second)
    return path.read_text(encoding="utf-8")


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_survives_and_holds_nothing_for_a_parser(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029\ufeff\x00-\x1f]", text)


def test_half_a_surrogate_pair_is_written_as_a_question_mark() -> None:
    assert json.loads(script_json("a\ud800b")) == "a?b"


@pytest.mark.parametrize("kind", ["evaluation", "meta"])
def test_the_policy_names_the_page_s_own_script_and_style(tmp_path: Path, kind: str) -> None:
    page = (
        evaluation_page(tmp_path, list(evaluation()))
        if kind == "evaluation"
        else meta_page(tmp_path, meta_results())
    )
    parsed = Parsed(page)
    policy = next(a["content"] for t, a in parsed.tags if a.get("http-equiv"))
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "connect-src" not in directives
    assert "unsafe" not in policy
    for directive, tag in (("script-src", "script"), ("style-src", "style")):
        inline = [text for t, a, text in parsed.inline if t == tag and "type" not in a]
        assert len(inline) == 1
        digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"


@pytest.mark.parametrize("kind", ["evaluation", "meta"])
def test_nothing_is_named_that_would_have_to_be_fetched(tmp_path: Path, kind: str) -> None:
    page = (
        evaluation_page(tmp_path, list(evaluation()))
        if kind == "evaluation"
        else meta_page(tmp_path, meta_results(2), other=meta_results(2, citations="ignored"))
    )
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert "url(" not in page
    for _, attributes in Parsed(page).tags:
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#list") in ("#list", "data:,")


def test_the_scripts_build_no_markup_and_reach_nowhere() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|"
        r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|console\."
    )
    scripts = sorted(FOLDER.glob("*.js"))
    assert len(scripts) > 5
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert not forbidden.search(text)
        assert text.count("\n") < 400


def test_every_sample_is_there_whole(tmp_path: Path) -> None:
    rows = list(evaluation(200))
    parsed = Parsed(evaluation_page(tmp_path, rows))
    assert [row[0] for row in parsed.rows()] == [row.id for row in rows]
    assert len(parsed.json("details")) > 1
    blocks = [
        (block["texts"], detail) for block in parsed.json("details") for detail in block["details"]
    ]
    for judgement, (texts, detail) in zip(rows, blocks, strict=True):
        assert texts[detail["question"]] == judgement.sample.input
        assert texts[detail["answer"]] == judgement.sample.actual_output
        assert [texts[n] for n in detail["references"]] == list(judgement.sample.references)
        expected = detail["expected"]
        assert (None if expected is None else texts[expected]) == judgement.sample.expected_output
        kinds = [grade["kind"] for grade in detail["runs"][0]["grades"]]
        assert kinds == [judgement.grades[name].kind for name in METRIC_NAMES]


def test_figures_stand_in_the_page_without_any_script(tmp_path: Path) -> None:
    rows = list(evaluation())
    report = figures(rows)
    words = Parsed(evaluation_page(tmp_path, rows, title="<b>mine</b>")).visible
    assert "<b>mine</b>" in words
    for summary in report.metrics.values():
        assert f"{summary.mean:.2f}" in words
    results = meta_results(2)
    meta = meta_figures(results)
    words = Parsed(meta_page(tmp_path, results)).visible
    for rate in meta.pass_rate.values():
        assert f"{rate:.2f}" in words
    for floor in meta.floors.values():
        assert floor.title in words
    for mode in meta.by_failure_mode.values():
        assert mode.title in words


def test_published_judges_are_shown_as_made_with_other_prompts(tmp_path: Path) -> None:
    results = meta_results()
    published = PublishedJudge(
        judge="A published judge", setting="s", source="a paper", pass_rate={"total": 12.34}
    )
    report = meta_figures(results).model_copy(update={"published": (published,)})
    words = Parsed(meta_page(tmp_path, results, report=report)).visible
    assert "made with other prompts" in words
    assert "A published judge" in words
    assert "12.34" in words
    assert "published judge" not in Parsed(meta_page(tmp_path, results)).visible


def test_the_size_stays_near_that_of_the_judgements(tmp_path: Path) -> None:
    rows = list(evaluation(1_000))
    size = len(evaluation_page(tmp_path, rows).encode())
    assert size < sum(len(to_line(row)) for row in rows)


def test_tests_of_a_set_share_their_texts(tmp_path: Path) -> None:
    results = meta_results(4)
    size = len(meta_page(tmp_path, results).encode())
    assert size < sum(len(to_line(result.judgement)) for result in results)


def test_rows_are_taken_one_block_at_a_time(tmp_path: Path) -> None:
    """A run of any length fits: what was written is no longer held."""
    alive: list[weakref.ref[Judgement]] = []
    most = 0

    def rows() -> Iterator[Judgement]:
        nonlocal most
        for number in range(600):
            judgement = judged_examples()[0].model_copy(update={"id": str(number)})
            alive.append(weakref.ref(judgement))
            most = max(most, sum(ref() is not None for ref in alive))
            yield judgement
            del judgement

    write_evaluation_page(tmp_path / "p.html", rows(), figures(evaluation()), title="t")
    assert most < 10


def test_an_interrupted_page_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def rows() -> Iterator[Judgement]:
        yield from evaluation(100)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_evaluation_page(path, rows(), figures(evaluation()), title="t")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"cannot be written .*: name a file") as caught:
        write_evaluation_page(
            tmp_path / "file" / "p.html", evaluation(), figures(evaluation()), title="t"
        )
    assert str(caught.value).count(". ") == 0


def test_metadata_of_any_kind_is_shown_as_text(tmp_path: Path) -> None:
    judgement = judged_examples()[0]
    odd = {"big": 2**70, "nan": float("nan"), "nested": {"a": [1, None]}, "text": "plain"}
    sample = judgement.sample.model_copy(update={"metadata": odd})
    parsed = Parsed(evaluation_page(tmp_path, [judgement.model_copy(update={"sample": sample})]))
    block = parsed.json("details")[0]
    shown = {block["texts"][n]: block["texts"][v] for n, v in block["details"][0]["metadata"]}
    assert shown == {"big": str(2**70), "nan": "NaN", "nested": '{"a": [1, null]}', "text": "plain"}


# Squares


def renamed(result: TestResult, **changes: str) -> TestResult:
    return replace(result, test=result.test.model_copy(update=changes))


def test_types_are_rows_and_sets_are_columns(tmp_path: Path) -> None:
    results = meta_results(2)
    own = renamed(results[0], id="own", test_type="Our own type", set_id="ours")
    parsed = Parsed(meta_page(tmp_path, [own, *reversed(results)]))
    data = parsed.json("page-data")[0]
    assert data["types"][:2] == ["Highest marks 1", "Highest marks 2"]
    assert data["types"][-1] == "Our own type"
    assert [name for _, name in data["columns"]] == ["ours", "set-2", "set-1"]
    places = {row[0]: (data["types"][row[2]], data["columns"][row[3]][1]) for row in parsed.rows()}
    assert places["own"] == ("Our own type", "ours")
    assert all(places[r.test.id] == (r.test.test_type, r.test.set_id) for r in results)


def test_several_tests_of_one_type_in_a_set_have_columns_of_their_own(tmp_path: Path) -> None:
    first = meta_results()[0]
    results = [first, renamed(first, id="again"), renamed(first, id="third")]
    parsed = Parsed(meta_page(tmp_path, results))
    assert parsed.json("page-data")[0]["columns"] == [
        ["set-1", "set-1"],
        ["set-1 (2)", "set-1"],
        ["set-1 (3)", "set-1"],
    ]
    assert sorted(row[3] for row in parsed.rows()) == [0, 1, 2]


def test_outcomes_are_those_of_the_results(tmp_path: Path) -> None:
    results = meta_results(2)
    parsed = Parsed(meta_page(tmp_path, results))
    rows = {row[0]: row for row in parsed.rows()}
    conditions = parsed.json("page-data")[0]["conditions"]
    for result in results:
        row = rows[result.test.id]
        expected = "".join(result.outcomes[name][0] for name in METRIC_NAMES)
        assert row[6] == [expected]
        skipped = [result.test.conditions.skipped(name) for name in METRIC_NAMES]
        assert [sign == "1" for sign in row[5]] == skipped
        assert conditions[row[4]] == [str(result.test.conditions.of(n)) for n in METRIC_NAMES]


def test_two_runs_meet_in_their_tests(tmp_path: Path) -> None:
    one = meta_results()
    two = meta_results(citations="ignored", unreadable=False)
    changed = renamed(two[1])
    changed = replace(
        changed,
        test=changed.test.model_copy(
            update={"sample": changed.test.sample.model_copy(update={"actual_output": "Other."})}
        ),
    )
    parsed = Parsed(meta_page(tmp_path, one[:-1], other=[two[0], changed, *two[2:]]))
    rows = parsed.rows()
    assert len(rows) == 17  # 14 shared, one changed (twice), one that only B has
    blank = " " * 6
    assert [row[0] for row in rows if row[6][1] == blank] == ["set-1/2"]
    assert [row[0] for row in rows if row[6][0] == blank] == ["set-1/16", "set-1/2"]
    wrong_citation = next(row for row in rows if row[0] == "set-1/14")
    assert [found[3] for found in wrong_citation[6]] == ["p", "f"]


# Sentences in answers

ANSWER = "Yes, **it** is open [1]. The 𝒻erry leaves at 7 [2][3]! Prices: see [4]."


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Yes, **it** is open [1].", "Yes, **it** is open [1]."),
        ("yes, it is  open", "Yes, **it** is open [1]."),
        ("Yes, it is open [1].", "Yes, **it** is open [1]."),
        ("The 𝒻erry leaves at 7.", "The 𝒻erry leaves at 7 [2][3]!"),
        ("Prices: see [4]", "Prices: see [4]"),
        ("Nothing of the kind.", None),
        ("", None),
        ("…", None),
    ],
)
def test_where_a_quoted_sentence_stands(sentence: str, found: str | None) -> None:
    (mark,) = marks(ANSWER, [SentenceCheck(sentence=sentence, is_supported=False)])
    assert mark[2] == "--0"
    if found is None:
        assert mark == (-1, -1, "--0", sentence)
    else:
        units = ANSWER.encode("utf-16-le")
        assert units[2 * mark[0] : 2 * mark[1]].decode("utf-16-le") == found


def test_a_repeated_sentence_is_found_each_time() -> None:
    checks = [SentenceCheck(sentence="It is so.", is_supported=value) for value in (True, False)]
    found = marks("It is so. And: It is so.", checks)
    assert found == [(0, 9, "--1"), (15, 24, "--0")]


def test_sentences_out_of_order_come_in_the_order_of_the_answer() -> None:
    checks = [SentenceCheck(sentence=text) for text in ("Three.", "One.", "Two.", "One.")]
    found = marks("One. Two. Three.", checks)
    assert [mark[:2] for mark in found] == [(0, 4), (5, 9), (10, 16), (-1, -1)]


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4))
def test_marks_never_overlap_or_leave_the_answer(answer: str, sentences: list[str]) -> None:
    found = marks(answer, [SentenceCheck(sentence=text) for text in sentences])
    assert len(found) == len(sentences)
    end = 0
    for mark in found:
        if mark[0] < 0:
            break
        assert end <= mark[0] < mark[1]
        end = mark[1]
    assert end <= len(answer.encode("utf-16-le", "surrogatepass")) // 2
