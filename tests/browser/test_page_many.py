"""Pages of 10,000 samples and of 1,440 tests: only what is in view exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser
from page_runs import evaluation, figures, meta_figures, meta_results
from selenium.webdriver.common.keys import Keys

from grouse_adapters.report.page import write_evaluation_page, write_meta_page

pytest_plugins = ("chromium_fixtures",)

SAMPLES = 10_000
SETS = 90


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_evaluation_page(path, evaluation(SAMPLES), figures(evaluation(SAMPLES)), title="many")
    return path


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    one, two = meta_results(SETS), meta_results(SETS, citations="ignored")
    head = meta_figures(meta_results(2))  # the bootstrap of so many sets takes longer than it shows
    write_meta_page(path, one, head, title="many", other=(two, head))
    return path


def elements(browser: Browser) -> int:
    return browser.count("body *:not(script)")


def test_ten_thousand_samples(browser: Browser, samples: Path) -> None:
    browser.open(samples)
    assert browser.text("#count") == "10,000 samples"
    few = elements(browser)
    assert few < 1_500
    browser.js("document.querySelector('.list-row[tabindex=\"0\"]').focus()")
    browser.keys(Keys.END)
    assert browser.focused("aria-rowindex") == str(SAMPLES + 1)
    assert elements(browser) < 1_500
    browser.keys(Keys.ENTER)
    assert browser.text(".detail-place") == "10,000 of 10,000"
    browser.keys(Keys.ESCAPE)
    assert browser.focused("aria-rowindex") == str(SAMPLES + 1)
    browser.keys("/", "(no. 700) glacier")
    browser.until("document.getElementById('count').textContent === '1 of 10,000 samples'")
    assert browser.text(".list-name") == "distorted-number-glacier-700"
    browser.keys(Keys.ESCAPE)
    browser.until("document.getElementById('count').textContent === '10,000 samples'")
    browser.click("label[for=show-failed]")
    failed = sum(row.failed for row in evaluation(SAMPLES))
    assert browser.text("#count") == f"{failed:,} of 10,000 samples"
    for place in (0.2, 0.5, 1):
        browser.js("scrollTo(0, document.body.scrollHeight * arguments[0])", place)
        browser.settle()
        assert elements(browser) < 1_500
    assert browser.complaints() == []


def test_a_row_that_scrolled_away_keeps_the_focus(browser: Browser, samples: Path) -> None:
    browser.open(samples)
    browser.js("document.querySelector('.list-row[tabindex=\"0\"]').focus()")
    browser.js("scrollTo(0, 200000)")
    browser.settle()
    assert browser.focused("aria-rowindex") == "2"
    browser.keys(Keys.ARROW_DOWN)
    assert browser.focused("aria-rowindex") == "3"
    assert browser.js(
        "const r = document.activeElement.getBoundingClientRect();"
        "return r.top >= 0 && r.bottom <= innerHeight"
    )


def test_ninety_sets_of_tests(browser: Browser, tests: Path) -> None:
    browser.open(tests)
    assert browser.text("#count") == "1,440 tests"
    grid = "[aria-labelledby=matrix-answer_relevancy]"
    assert browser.find(f".matrix-grid{grid}").get_attribute("aria-colcount") == str(SETS + 1)
    browser.js(f"document.querySelector('.matrix{grid} .square[tabindex=\"0\"]').focus()")
    browser.settle()
    bound = 9_000
    assert elements(browser) < bound
    browser.keys(Keys.END)
    assert browser.focused("aria-label").startswith("Highest marks 1, set-90:")
    assert browser.js(
        "const r = document.activeElement.getBoundingClientRect();"
        "return r.left >= 0 && r.right <= innerWidth"
    )
    assert elements(browser) < bound
    browser.keys(Keys.ENTER)
    assert browser.text("#detail-title") == "set-90/1"
    browser.keys(Keys.ESCAPE)
    assert browser.focused("aria-label").startswith("Highest marks 1, set-90:")
    browser.click("label[for=show-differs]")
    pairs = zip(meta_results(), meta_results(citations="ignored"), strict=True)
    differing = SETS * sum(one.outcomes != two.outcomes for one, two in pairs)
    assert browser.text("#count") == f"{differing:,} of 1,440 tests"
    assert elements(browser) < bound
    assert browser.complaints() == []


def test_squares_are_as_many_at_900_sets_as_at_90(browser: Browser, tmp_path: Path) -> None:
    counts = []
    head = meta_figures(meta_results(2))
    for sets in (SETS, 10 * SETS):
        path = tmp_path / f"{sets}.html"
        results = meta_results(sets)
        write_meta_page(path, results, head, title="many")
        browser.open(path)
        browser.js("document.getElementById('matrices').scrollIntoView()")
        browser.until("document.querySelectorAll('.matrix .square').length > 500")
        counts.append(browser.count(".matrix .square"))
    assert counts[0] == counts[1]
