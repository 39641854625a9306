"""The page of a benchmark, in Chromium: matrices, scatters, the chosen test, two runs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from benchmark_rows import judged, score, scores, suite
from chromium import Browser
from selenium.webdriver.common.keys import Keys
from test_page_safety import CONTRAST, HOSTILE, NAMELESS, assert_harmless

from grouse_adapters.core.grades import Judgement
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation
from grouse_adapters.native.compare import BenchmarkData, compare_benchmarks
from grouse_adapters.native.panels import BenchmarkView, benchmark_view
from grouse_adapters.report.page.benchmark import write_benchmark_page

pytest_plugins = ("chromium_fixtures",)

TESTS, NOTES = suite()
PANELS = [
    "RAGAS faithfulness (collections)",
    "RAGAS answer relevancy (collections)",
    "DeepEval faithfulness (without-reason)",
    "DeepEval answer relevancy (without-reason)",
    "GroUSE faithfulness (lexical)",
    "GroUSE answer relevancy (lexical)",
]


def view(sets: int = 3, **given: Any) -> BenchmarkView:
    tests, notes = suite(sets)
    return benchmark_view(scores(tests, notes), tests, notes, source="dev", **given)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_benchmark_page(path, view(judged=judged()), title="Native metrics on dev")
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "compare.html"
    old = BenchmarkData(scores(TESTS, NOTES), TESTS, NOTES)
    rows = scores(TESTS, NOTES, nudge=Fraction(1, 10))
    comparison = compare_benchmarks(old, BenchmarkData(rows, TESTS, NOTES))
    write_benchmark_page(
        path, view(), title="Two versions", comparison=comparison, names=("old", "new")
    )
    return path


def square(panel: int, name: str) -> str:
    return f".matrix[aria-labelledby=matrix-panel-{panel}] .square[aria-label^='{name}']"


def classes(browser: Browser, selector: str) -> list[str]:
    return (browser.find(selector).get_attribute("class") or "").split()


def to_matrices(browser: Browser, page: Path, hash_: str = "") -> None:
    """Goes to the squares; those out of view do not exist."""
    browser.open(page, hash_)
    browser.js("document.getElementById('matrices').scrollIntoView()")
    browser.settle()


def names(browser: Browser) -> list[str]:
    return list(
        browser.js("return [...document.querySelectorAll('.list-name')].map(n => n.textContent)")
    )


def test_it_opens_quietly_and_says_first_what_the_annotations_are(
    browser: Browser, page: Path
) -> None:
    to_matrices(browser, page)
    first = browser.js("return document.querySelector('main').innerText.trim().split('\\n')[0]")
    assert first == "Annotations: by construction, from how the tests were made; none is human."
    browser.click(square(0, "Highest marks 1, harbour-fees"))
    assert browser.complaints() == []
    assert browser.requests() == []


def test_figures_stand_without_a_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8").split("<script")[0]
    for run in view().report.runs:
        assert f"<strong>{run.success_rate:.2f}</strong>" in text
        assert f">{run.mae:.3f}<" in text
    assert "at most 0.125, about 0.05 on average" in text


def test_every_verdict_has_its_square(browser: Browser, page: Path) -> None:
    browser.emulate(height=4000)
    to_matrices(browser, page)
    browser.until("document.querySelectorAll('.matrix .square').length === 6 * 48")
    titles = browser.js(
        "return [...document.querySelectorAll('.matrix h3')].map(h => h.firstChild.data)"
    )
    assert titles == PANELS
    assert classes(browser, square(0, "Highest marks 1, harbour-fees")) == ["square", "passed"]
    assert classes(browser, square(0, "Highest marks 1, ferrante-duel")) == ["square", "failed"]
    assert classes(browser, square(0, "Highest marks 2, harbour-fees")) == ["square", "unrated"]
    broken = square(0, "Low completeness 1, station-basse")
    assert classes(browser, broken) == ["square", "unreadable"]
    label = browser.find(broken).get_attribute("aria-label")
    assert label == "Low completeness 1, station-basse: error: no score, annotated 1.00"
    label = browser.find(square(4, "Low faithfulness 3, ferrante-duel")).get_attribute("aria-label")
    assert label == "Low faithfulness 3, ferrante-duel: failed, grade 1, wanted 0"
    rate = next(run for run in view().report.runs)
    tally = browser.text(".matrix[aria-labelledby=matrix-panel-0] h3 .minor")
    assert tally == f"{rate.successes} of {rate.rated} successes"


def test_a_square_opens_scores_reasons_and_annotations(browser: Browser, page: Path) -> None:
    to_matrices(browser, page)
    browser.click(square(2, "Low faithfulness 3, harbour-fees"))
    assert browser.text("#detail-title") == "harbour-fees/16"
    grades = browser.text("#detail .grades")
    for title in PANELS:
        assert title in grades
    assert "claim about the third item" in grades
    assert "The framework gives no reason." in grades
    note = next(note for note in NOTES if note.test_id == "harbour-fees/16")
    statements = note.statements or ()
    shown = browser.js(
        "return [...document.querySelectorAll('.statements tbody tr')]"
        ".map(r => [...r.children].map(c => c.textContent))"
    )
    assert shown == [
        [
            one.text,
            "✓ yes" if one.faithful else "✗ no",
            "✓ yes" if one.relevant else "✗ no",
        ]
        for one in statements
    ]
    assert any(row[1] == "✗ no" for row in shown)
    assert browser.count("#detail .sentence") > 0  # what the judge found in the answer


def test_filters_and_address(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click("label[for=show-no-score]")
    assert names(browser) == ["station-basse/10 · Low completeness 1"]
    browser.click("label[for=show-unrated]")
    assert browser.text("#count") == "9 of 48 tests"
    assert browser.hash() == "show=unrated"
    browser.open(page, "#show=failure&metric=panel-1")
    expected = [
        result.test.id
        for result in view().panels[1].results
        if result.verdict == "failure"
    ]  # fmt: skip
    assert browser.text("#count") == f"{len(expected)} of 48 tests"
    assert browser.count(".matrix:not([hidden])") == 1


def test_a_circle_opens_its_tests(browser: Browser, page: Path) -> None:
    browser.open(page)
    circle = ".scatter-card:nth-child(1) .scatter-dot[aria-label*='native 0.75, annotated 1.00']"
    results = view().panels[0].results
    there = [r.test.id for r in results if r.native == Fraction(3, 4) and r.share == 1]
    assert len(there) > 3
    label = browser.find(circle).get_attribute("aria-label")
    assert label == f"{len(there)} tests: native 0.75, annotated 1.00, failure"
    assert classes(browser, circle) == ["scatter-dot", "failed"]
    browser.click(circle)
    assert browser.text("#detail-title") == there[0]
    assert browser.text(".detail-place") == f"1 of {len(there)}"
    assert browser.text("#count") == f"{len(there)} of 48 tests"
    address = f"#{browser.js('return location.hash.slice(1)')}"
    browser.keys(Keys.ESCAPE)
    assert browser.focused("aria-label") == label
    browser.click("#place-clear")
    assert browser.text("#count") == "48 tests"
    browser.open(page, address)
    assert browser.text("#count") == f"{len(there)} of 48 tests"


def test_circles_hold_every_scored_test(browser: Browser, page: Path) -> None:
    browser.open(page)
    for number, run in enumerate(view().report.runs, start=1):
        labels = browser.js(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(c => c.getAttribute('aria-label'))",
            f".scatter-card:nth-child({number}) .scatter-dot",
        )
        assert sum(int(label.split()[0]) for label in labels) == run.scored
        near = [label for label in labels if label.endswith("success")]
        assert sum(int(label.split()[0]) for label in near) == run.successes


def test_by_keyboard_alone(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js("document.querySelector('.scatter-dot[tabindex=\"0\"]').focus()")
    first = browser.focused("aria-label")
    browser.keys(Keys.ARROW_RIGHT)
    second = browser.focused("aria-label")
    assert second != first
    assert browser.count(".scatter-card:nth-child(1) .scatter-dot[tabindex='0']") == 1
    browser.keys(Keys.END, Keys.ENTER)
    assert browser.js("return document.activeElement.id") == "detail-title"
    browser.keys(Keys.ESCAPE)
    assert browser.focused("role") == "button"
    browser.keys("/", "tram", Keys.ESCAPE)
    browser.tab()
    assert browser.js("return document.activeElement.id") == "type"


def test_worst_cases_open_their_tests(browser: Browser, page: Path) -> None:
    browser.open(page)
    worst = view().report.runs[2].worst[0]
    assert worst.reason is not None
    assert worst.reason in browser.text(".worst-run:nth-child(3)")
    browser.click(".worst-run:nth-child(3) .to-test")
    assert browser.text("#detail-title") == worst.test_id
    browser.keys(Keys.ESCAPE)
    assert browser.js("return document.activeElement.textContent") == worst.test_id


def test_two_runs_name_the_tests_that_flipped(browser: Browser, compared: Path) -> None:
    browser.open(compared)
    text = browser.text("section[aria-labelledby=compared-title]")
    assert "Only B succeeds" in text
    assert "A old · B new" in text
    browser.click(".flips .to-test")
    assert browser.text("#detail-title") == "ferrante-duel/8"
    assert browser.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out(browser: Browser, compared: Path, scheme: str) -> None:
    browser.emulate(scheme=scheme, height=3000)
    for address in ("", "#test=ferrante-duel%2F16", "#test=station-basse%2F10"):
        browser.open(compared, address)
        browser.js("document.querySelectorAll('details').forEach(d => { d.open = true })")
        checked, faint = browser.js(CONTRAST)
        assert checked > 100
        assert faint == []


def test_everything_has_a_name(browser: Browser, page: Path) -> None:
    browser.open(page, "#test=ferrante-duel%2F16")
    assert browser.js(NAMELESS) == []
    assert (
        browser.js("return document.querySelectorAll('.scatter-dot:not([aria-label])').length") == 0
    )
    repeated = browser.js(
        "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
        "return ids.filter((id, at) => ids.indexOf(id) !== at)"
    )
    assert repeated == []


def test_a_narrow_window(browser: Browser, compared: Path) -> None:
    browser.emulate(width=360, height=740)
    browser.open(compared)
    assert browser.js("return document.documentElement.scrollWidth") <= 360
    browser.open(compared, "#test=ferrante-duel%2F16")
    assert browser.js(
        "const d = document.getElementById('detail'); return d.scrollWidth <= d.clientWidth"
    )


def hostile() -> tuple[UnitTest, Annotation, Judgement]:
    test = TESTS[0]
    sample = test.sample.model_copy(
        update={
            "id": HOSTILE,
            "input": HOSTILE,
            "references": (HOSTILE,),
            "expected_output": HOSTILE,
            "actual_output": HOSTILE,
        }
    )
    bad = test.model_copy(
        update={
            "id": HOSTILE,
            "set_id": HOSTILE,
            "test_type": HOSTILE,
            "goal": HOSTILE,
            "sample": sample,
        }
    )
    statement = AnnotatedStatement(text=HOSTILE, relevant=True, faithful=False)
    note = Annotation(
        test_id=HOSTILE, annotator=HOSTILE, source="human", statements=(statement, statement)
    )
    said = judged()[0].model_copy(update={"id": HOSTILE, "sample": sample, "judge": HOSTILE})
    return bad, note, said


def test_texts_full_of_html_do_nothing(browser: Browser, tmp_path: Path) -> None:
    test, note, said = hostile()
    rows = [
        score(HOSTILE, 0.9, variant=HOSTILE, model=HOSTILE, reason=HOSTILE),
        score(
            HOSTILE, None, variant="broken", error=HOSTILE, error_kind="internal", reason=HOSTILE
        ),
    ]
    data = BenchmarkData(rows, [test], [note])
    shown = benchmark_view(rows, [test], [note], source=HOSTILE, judged=[said])
    path = tmp_path / "report.html"
    write_benchmark_page(
        path,
        shown,
        title=HOSTILE,
        comparison=compare_benchmarks(data, data),
        names=(HOSTILE, HOSTILE),
    )
    browser.open(path)
    browser.click(".worst-case .to-test")
    text = "return document.querySelector(arguments[0]).textContent"
    assert browser.js(text, "#detail-title") == HOSTILE
    assert browser.js(text, "#detail .why") == HOSTILE.strip()
    assert browser.js(text, ".statements tbody th") == HOSTILE
    assert_harmless(browser)


def test_many_tests_are_there_at_once(browser: Browser, tmp_path: Path) -> None:
    """90 sets: only squares in view exist, whatever their number."""
    path = tmp_path / "report.html"
    write_benchmark_page(path, view(90), title="many")
    to_matrices(browser, path)
    assert browser.text("#count") == "1,440 tests"
    assert 0 < browser.count(".matrix .square") < 4 * 1440
    browser.js(
        "document.querySelector('.matrix .square[tabindex=\"0\"]').focus({preventScroll: false})"
    )
    browser.keys(Keys.END)
    assert "station-basse-29" in browser.focused("aria-label")
