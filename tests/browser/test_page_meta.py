"""The page of a meta-evaluation, in Chromium: one run, and two side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser
from page_runs import meta_figures, meta_results
from selenium.webdriver.common.keys import Keys

from grouse_adapters.meta.compare import compare
from grouse_adapters.report.page import write_meta_page

pytest_plugins = ("chromium_fixtures",)

SQUARE = ".matrix[aria-labelledby=matrix-{metric}] .square[aria-label^='{name}']"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    results = meta_results(3)
    write_meta_page(path, results, meta_figures(results), title="lexical on dev")
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run B does without citations, so that it cannot see a wrong one."""
    path = tmp_path_factory.mktemp("page") / "compare.html"
    one, two = meta_results(2), meta_results(2, citations="ignored", unreadable=False)
    write_meta_page(
        path,
        one,
        meta_figures(one),
        title="Two runs",
        other=(two[:-1], meta_figures(two[:-1])),
        names=("required", "ignored"),
    )
    return path


def square(metric: str, name: str) -> str:
    return SQUARE.format(metric=metric, name=name)


def open_matrices(browser: Browser, page: Path) -> None:
    """Opens the page and goes to the squares; those out of view do not exist."""
    browser.open(page)
    browser.js("document.getElementById('matrices').scrollIntoView()")
    browser.settle()


def classes(browser: Browser, selector: str) -> list[str]:
    return (browser.find(selector).get_attribute("class") or "").split()


def choose(browser: Browser, select: str, value: str) -> None:
    browser.js(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('change'))",
        select,
        value,
    )
    browser.settle()


def test_it_opens_quietly_and_asks_nobody(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(square("completeness", "Highest marks 1, set-1"))
    assert browser.complaints() == []
    assert browser.requests() == []


def test_every_test_is_a_square_of_each_metric(browser: Browser, page: Path) -> None:
    open_matrices(browser, page)
    browser.until("document.querySelectorAll('.matrix .square').length === 6 * 48")
    assert browser.count(".matrix") == 6
    assert "unreadable" in classes(browser, square("completeness", "Low completeness 1, set-2"))
    assert "skipped" in classes(browser, square("usefulness", "Highest marks 1, set-1"))


def test_a_square_opens_its_test(browser: Browser, page: Path) -> None:
    open_matrices(browser, page)
    browser.click(square("faithfulness", "Low faithfulness 1, set-2"))
    assert browser.text("#detail-title") == "set-2/14"
    assert browser.hash() == "test=set-2/14"
    shown = browser.text("#detail")
    for expected in ("One citation points to the wrong reference.", "wanted 0", "grade 0 of 1"):
        assert expected in shown
    assert browser.count("#detail .reference") == 5
    result = next(one for one in meta_results(3) if one.test.id == "set-2/14")
    faulty = [
        check
        for check in result.judgement.sentences
        if False in (check.has_citation, check.citation_is_right, check.is_supported)
    ]
    assert browser.count("#detail .sentence.bad, #detail .sentence.doubt") == len(faulty) > 0


def test_the_keyboard_walks_the_squares(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js(
        "const matrix = document.querySelector('.matrix[aria-labelledby=matrix-faithfulness]');"
        "matrix.querySelector('.square[tabindex=\"0\"]').focus()"
    )
    browser.settle()
    start = browser.focused("aria-label")
    assert start.startswith("Highest marks 1, set-1: passed")
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.focused("aria-label").startswith("Highest marks 2, set-3")
    assert browser.count("[aria-labelledby=matrix-faithfulness] .square[tabindex='0']") == 1
    browser.keys(Keys.ARROW_RIGHT, Keys.HOME)
    assert browser.focused("aria-label").startswith("Highest marks 2, set-1")
    browser.keys(Keys.ENTER)
    assert browser.text("#detail-title") == "set-1/2"
    browser.keys(Keys.ESCAPE)
    assert browser.focused("aria-label").startswith("Highest marks 2, set-1")
    assert browser.text("#readout").startswith("Faithfulness · Highest marks 2, set-1")


def test_filters_by_type_set_metric_and_outcome(browser: Browser, page: Path) -> None:
    browser.open(page)
    choose(browser, "set", "set-2")
    assert browser.text("#count") == "16 of 48 tests"
    choose(browser, "type", "Low completeness 1")
    assert browser.text("#count") == "1 of 48 tests"
    choose(browser, "type", "")
    choose(browser, "metric", "completeness")
    assert browser.count(".matrix:not([hidden])") == 1
    browser.click("label[for=show-unreadable]")
    assert browser.text(".list-body .list-name") == "set-2/10 · Low completeness 1"
    assert browser.hash() == "set=set-2&metric=completeness&show=unreadable"
    browser.click("label[for=show-passed]")
    passed = int(browser.text("label[for=show-passed] .chip-count"))
    failed = int(browser.text("label[for=show-failed] .chip-count"))
    assert passed + failed + 1 == 16


def test_two_runs_side_by_side(browser: Browser, compared: Path) -> None:
    browser.open(compared)
    browser.click("label[for=show-lost]")
    names = browser.js(
        "return [...document.querySelectorAll('.list-name')].map(n => n.textContent)"
    )
    assert "set-1/14 · Low faithfulness 1" in names
    chosen = square("faithfulness", "Low faithfulness 1, set-1")
    assert "A passed, grade 0; B failed, grade 1; they differ" in (
        browser.find(chosen).get_attribute("aria-label") or ""
    )
    assert "split to-failed" in (browser.find(chosen).get_attribute("class") or "")
    browser.click(chosen)
    columns = browser.js(
        "return [...document.querySelectorAll('.grade.differs .run-column')]"
        ".map(c => c.innerText.replace(/\\s+/g, ' '))"
    )
    assert len(columns) == 2
    assert columns[0].startswith("A · required passed grade 0 of 1")
    assert columns[1].startswith("B · ignored failed grade 1 of 1")
    assert columns[0] != columns[1]
    assert browser.complaints() == []


def test_the_answer_shows_the_findings_of_either_run(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#test=set-1/14")
    assert browser.count("#detail .sentence.good") < browser.count("#detail .sentence")
    browser.click("label[for=findings-1]")
    assert browser.count("#detail .sentence.good") == browser.count("#detail .sentence")


def test_a_test_of_one_run_alone(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#test=set-2/16")
    assert "This run does not hold the test." in browser.text("#detail .run-column:nth-child(2)")
    assert "they differ" not in browser.text("#detail .grades")


def test_tables_for_two_runs(browser: Browser, compared: Path) -> None:
    browser.open(compared)
    row = browser.js(
        "return [...document.querySelectorAll('section[aria-labelledby=rates-title] tbody tr')]"
        ".map(r => r.innerText.replace(/\\s+/g, ' ').trim())"
    )
    assert len(row) == 7
    one, two = meta_results(2), meta_results(2, citations="ignored", unreadable=False)
    assert row[3].startswith(f"Faithfulness {meta_figures(one).pass_rate['faithfulness']:.2f}")
    found = compare(one, two[:-1]).metrics["faithfulness"]
    assert row[3].split()[-3:-1] == [str(len(found.lost)), str(len(found.gained))]
    assert found.lost


def test_a_page_of_360_pixels(browser: Browser, compared: Path) -> None:
    browser.emulate(width=360, height=740)
    browser.open(compared, "#test=set-1/14")
    assert browser.js("return document.documentElement.scrollWidth") <= 360
    assert browser.js(
        "const d = document.getElementById('detail'); return d.scrollWidth <= d.clientWidth"
    )
