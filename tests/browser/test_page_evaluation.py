"""The page of an evaluation, in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser
from page_runs import evaluation, figures
from selenium.webdriver.common.keys import Keys

from grouse_adapters.report.page import write_evaluation_page

pytest_plugins = ("chromium_fixtures",)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_evaluation_page(path, evaluation(26), figures(evaluation(26)), title="samples.jsonl")
    return path


def rows(browser: Browser) -> list[str]:
    return list(
        browser.js("return [...document.querySelectorAll('.list-name')].map(n => n.textContent)")
    )


def test_it_opens_quietly_and_asks_nobody(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(".list-body .list-row")
    assert browser.text("#count") == "26 samples"
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.js("return performance.getEntriesByType('resource').length") == 0


def test_a_sample_shows_what_the_judge_found(browser: Browser, page: Path) -> None:
    browser.open(page, "#sample=wrong-citation-battery")
    assert browser.text("#detail-title") == "wrong-citation-battery"
    sentences = browser.js(
        "return [...document.querySelectorAll('#detail .sentence')]"
        ".map(s => [s.className, s.innerText])"
    )
    judgement = next(row for row in evaluation() if row.id == "wrong-citation-battery")
    checks = judgement.sentences
    assert len(sentences) == len(checks) == 2
    assert checks[1].citation_is_right is False
    for (name, text), check in zip(sentences, checks, strict=True):
        assert text.startswith(check.sentence[:40])
        assert ("not supported" in text) == (check.is_supported is False)
        assert ("wrong citation" in text) == (check.citation_is_right is False)
        assert ("sentence good" in name) == (
            (check.citation_is_right, check.is_supported) == (True, True)
        )
    assert "Never charge the battery of the Kestrel" in browser.text("#reference-2")
    assert "Faithfulness" in browser.text("#detail .grades")


@pytest.mark.parametrize("how", ["focus", "hover", "click"])
def test_a_sentence_shows_its_references(browser: Browser, page: Path, how: str) -> None:
    browser.open(page, "#sample=wrong-citation-battery")
    assert browser.count(".reference.cited") == 0
    if how == "focus":
        browser.js("document.querySelectorAll('#detail .sentence')[1].focus()")
    elif how == "hover":
        from selenium.webdriver.common.action_chains import ActionChains

        element = browser.find("#detail .sentence:nth-of-type(2)")
        ActionChains(browser.driver).move_to_element(element).perform()
    else:
        browser.click("#detail .sentence:nth-of-type(2) .cite")
    browser.settle()
    cited = "return [...document.querySelectorAll('.reference.cited')].map(r => r.id)"
    assert browser.js(cited) == ["reference-3"]
    assert browser.text(".reference.cited .reference-number") == "[3] cited"


def test_a_failed_grade_says_why(browser: Browser, page: Path) -> None:
    browser.open(page, "#sample=no-expected-answer-compost")
    assert "The judge failed: undecidable" in browser.text("#detail .grades")
    assert browser.text("#detail .tiles li") == "!\nAR"


def test_filters_search_and_address(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click("label[for=show-failed]")
    assert rows(browser) == [row.id for row in evaluation(26) if row.failed] != []
    assert browser.hash() == "show=failed"
    browser.click("label[for=show-lowest]")
    browser.js(
        "const m = document.getElementById('metric'); m.value = 'faithfulness';"
        "m.dispatchEvent(new Event('change'))"
    )
    unfaithful = [row.id for row in evaluation(26) if row.value("faithfulness") == 0]
    assert rows(browser) == unfaithful != []
    assert browser.text("label[for=show-lowest] .chip-count") == str(len(unfaithful))
    browser.find("#search").send_keys("glacier")
    browser.until("document.getElementById('count').textContent.startsWith('2 of')")
    assert rows(browser) == ["distorted-number-glacier", "distorted-number-glacier-1"]
    shared = browser.hash()
    browser.open(page, f"#{shared}&sample=distorted-number-glacier-1")
    assert rows(browser) == ["distorted-number-glacier", "distorted-number-glacier-1"]
    assert browser.text("#detail-title") == "distorted-number-glacier-1"
    assert browser.text(".detail-place") == "2 of 2"


def test_search_reads_answers_too(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.find("#search").send_keys("lamp trim zebra")
    browser.until("document.getElementById('count').textContent.startsWith('0 of')")
    assert browser.js("return document.querySelector('.none').innerText").startswith("Nothing")
    browser.keys(Keys.ESCAPE)
    browser.until("document.getElementById('count').textContent === '26 samples'")
    browser.find("#search").send_keys("loan can be renewed")
    browser.until("document.getElementById('count').textContent === '2 of 26 samples'")
    assert rows(browser)[0] == "superfluous-library"


def test_nothing_fits_and_the_filter_is_told(browser: Browser, page: Path) -> None:
    browser.open(page, "#q=no-such-word-anywhere")
    browser.until("document.getElementById('said').textContent === '0 of 26 samples'")
    assert browser.find("#list .none").is_displayed()


def test_by_keyboard_alone(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.tab()
    assert browser.js("return document.activeElement.className") == "skip"
    browser.keys(Keys.ENTER)
    assert browser.focused("aria-rowindex") == "2"
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert browser.focused("aria-rowindex") == "4"
    assert browser.js("return document.activeElement.matches(':focus-visible')")
    browser.keys(Keys.ENTER)
    assert browser.text("#detail-title") == "superfluous-library"
    assert browser.js("return document.activeElement.id") == "detail-title"
    assert browser.hash() == "sample=superfluous-library"
    browser.keys(Keys.ESCAPE)
    assert not browser.find("#detail").is_displayed()
    assert browser.focused("aria-rowindex") == "4"
    assert browser.hash() == ""
    browser.keys(Keys.END)
    assert browser.focused("aria-rowindex") == "27"
    browser.keys(Keys.HOME, "/")
    assert browser.js("return document.activeElement.id") == "search"
    browser.keys("violin")
    browser.until("document.getElementById('count').textContent.startsWith('2 of')")


def test_next_and_back(browser: Browser, page: Path) -> None:
    browser.open(page, "#show=failed")
    browser.click(".list-body .list-row")
    browser.click(".go-next")
    assert browser.text("#detail-title") == "no-expected-answer-compost-1"
    assert browser.js("return document.querySelector('.go-next').disabled")
    browser.driver.back()
    browser.until("document.getElementById('detail').hidden")
    assert browser.hash() == "show=failed"


def test_a_narrow_window_shows_one_thing_at_a_time(browser: Browser, page: Path) -> None:
    browser.emulate(width=360, height=740)
    browser.open(page)
    assert browser.js("return document.documentElement.scrollWidth") <= 360
    browser.click(".list-body .list-row")
    assert browser.find("#detail").get_attribute("role") == "dialog"
    assert browser.js("return document.getElementById('main').inert")
    assert browser.js(
        "const d = document.getElementById('detail'); return d.scrollWidth <= d.clientWidth"
    )
    browser.keys(Keys.ESCAPE)
    assert not browser.js("return document.getElementById('main').inert")
    assert browser.focused("aria-rowindex") == "2"


def test_dark_and_light(browser: Browser, page: Path) -> None:
    def background() -> str:
        return str(browser.js("return getComputedStyle(document.body).backgroundColor"))

    browser.emulate(scheme="dark")
    browser.open(page)
    browser.js("localStorage.removeItem('grouse-theme')")
    browser.open(page)
    dark = background()
    assert browser.focused("x") == ""
    assert browser.find("#theme").get_attribute("aria-pressed") == "true"
    browser.click("#theme")
    light = background()
    assert light != dark
    browser.open(page)
    assert background() == light
    browser.js("localStorage.removeItem('grouse-theme')")


def test_it_prints_the_samples(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert len(rows(browser)) == 26
    browser.js("dispatchEvent(new Event('afterprint'))")
    browser.settle()
    assert len(rows(browser)) < 26
