"""What a page must never do, whatever stands in samples, and what anybody must be able to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser
from page_runs import evaluation, figures, meta_figures, meta_results

from grouse_adapters.core.grades import Failed, Graded, Judgement, NotApplicable, SentenceCheck
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.conditions import Conditions
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.report.page import write_evaluation_page, write_meta_page

pytest_plugins = ("chromium_fixtures",)

HOSTILE = (
    "</script><script>window.hit = 1</script><!--<script>"
    "<img src=x onerror='window.hit = 2'><svg onload=window.hit=3>"
    "\u2028\u2029\ufeff]]>{{ 7 * 7 }}{% raw %} ${window.hit = 4} `\\u003c` "
    "<a href='javascript:window.hit=5'>x</a><style>body{display:none}</style>"
    "<meta http-equiv=refresh content='0;url=https://example.com/'> [1] [99]\u202e\0"
)

CONTRAST = """
// In the middle of a transition a colour is half there.
for (const animation of document.getAnimations()) animation.finish();
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    if (colour[3] !== 0) throw new Error(`half transparent: ${at.className}`);
  }
  return [255, 255, 255];
};
const found = [];
let checked = 0;
for (const element of document.body.querySelectorAll('*')) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const sign = getComputedStyle(element, '::before').content;
  if (!own && (sign === 'none' || sign === 'normal')) continue;
  if (element.closest('script, style, noscript, .unseen, .skip, :disabled, option')) continue;
  if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
  const colour = parse(getComputedStyle(element).color).slice(0, 3);
  const [light, dark] = [luminance(colour), luminance(ground(element))].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05);
  checked += 1;
  if (ratio >= 4.5) continue;
  const name = `${element.tagName}.${element.className}`;
  found.push(`${name} ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
}
return [checked, [...new Set(found)]];
"""


NAMELESS = """
const text = (id) => id && document.getElementById(id)?.textContent.trim();
const named = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length
  || (e.getAttribute('aria-labelledby') || '').split(' ').some(text);
const places = 'button, input, select, a, summary, aside, form, fieldset, main > section,'
  + '[tabindex="0"], [role=grid], [role=region], [role=gridcell], [role=row], [role=columnheader]';
return [...document.querySelectorAll(places)].filter((e) => !named(e))
  .map((e) => e.outerHTML.slice(0, 120));
"""


def hostile_judgement() -> Judgement:
    sample = Sample(
        id=HOSTILE,
        input=HOSTILE,
        references=(HOSTILE, HOSTILE),
        expected_output=HOSTILE,
        actual_output=HOSTILE,
        metadata={HOSTILE: {HOSTILE: [HOSTILE]}},
    )
    return Judgement(
        id=HOSTILE,
        sample=sample,
        grades={
            "answer_relevancy": Graded(value=3, justification=HOSTILE),
            "completeness": NotApplicable(reason=HOSTILE),
            "usefulness": Failed(error_kind="unreadable", error=HOSTILE, raw_reply=HOSTILE),
        },
        sentences=(
            SentenceCheck(sentence=HOSTILE, has_citation=True, is_supported=False),
            SentenceCheck(sentence=f"{HOSTILE} not in it", is_supported=False),
        ),
        judge=HOSTILE,
    )


def assert_harmless(browser: Browser) -> None:
    assert browser.js("return typeof window.hit") == "undefined"
    assert browser.count("img, a:not(.skip), iframe, object, embed, form form") == 0
    assert browser.count("script:not([type])") == 1
    assert browser.count("script[type]") == 2  # the page's data, and the details of one block
    assert browser.count("style") == 1
    assert browser.count("meta[http-equiv]") == 1
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_sample_full_of_html_does_nothing(browser: Browser, tmp_path: Path) -> None:
    rows = [hostile_judgement(), *evaluation()]
    report = figures(rows).model_copy(update={"judge": HOSTILE})
    path = tmp_path / "report.html"
    write_evaluation_page(path, rows, report, title=HOSTILE)
    browser.open(path)
    browser.click(".list-body .list-row")
    shown = "return document.querySelector(arguments[0]).textContent"
    assert browser.js(shown, "#detail .question") == HOSTILE
    assert browser.js(shown, ".reference-text") == HOSTILE
    assert browser.js(shown, "#detail .raw") == HOSTILE
    assert browser.js(shown, "#detail .why") == HOSTILE.strip()
    assert browser.js(shown, "#detail-title") == HOSTILE
    assert browser.count("#detail .lost .sentence.bad") == 1
    assert browser.count("#detail .cite.missing") > 0
    assert_harmless(browser)


def test_a_test_full_of_html_does_nothing(browser: Browser, tmp_path: Path) -> None:
    judgement = hostile_judgement()
    demands = {"answer_relevancy": "<5", "completeness": "==5", "usefulness": "==None"}
    conditions = {f"{name}_condition": demand for name, demand in demands.items()}
    test = UnitTest(
        id=HOSTILE,
        set_id=HOSTILE,
        test_type=HOSTILE,
        sample=judgement.sample,
        conditions=Conditions.parse({**conditions, "faithfulness_condition": "==1"}),
        goal=HOSTILE,
        annotations=[HOSTILE],
    )
    results = [TestResult(test, judgement)]
    report = meta_figures(results, judge=HOSTILE)
    path = tmp_path / "report.html"
    write_meta_page(path, results, report, title=HOSTILE, other=(results, report))
    browser.open(path)
    browser.click(".matrix .square")
    assert browser.js("return document.querySelector('#detail-title').textContent") == HOSTILE
    assert browser.js("return document.querySelector('#type').options[1].text.length") > 100
    assert_harmless(browser)
    address = str(browser.js("return location.hash"))
    browser.open(path, address)
    assert browser.js("return document.querySelector('#detail-title').textContent") == HOSTILE


def test_the_policy_stops_what_a_mistake_of_ours_would_let_in(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    write_evaluation_page(path, evaluation(), figures(evaluation()), title="samples")
    browser.open(path)
    refused = browser.js(
        "try { document.body.innerHTML = '<p>x</p>'; return '' }catch (error) { return error.name }"
    )
    assert refused == "TypeError"
    browser.js(
        "const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x.png';"
        "document.body.append(image); fetch('http://127.0.0.1:9/y').catch(() => { window.cut = 1 })"
    )
    browser.until("window.cut")
    refusals = [said for said in browser.complaints() if "Content Security Policy" in said]
    for address in ("http://127.0.0.1:9/x.png", "http://127.0.0.1:9/y"):
        assert any(address in said for said in refusals)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["evaluation", "meta", "compare"])
def test_all_text_stands_out(browser: Browser, tmp_path: Path, kind: str, scheme: str) -> None:
    path = tmp_path / "report.html"
    if kind == "evaluation":
        write_evaluation_page(path, evaluation(), figures(evaluation()), title="samples")
        addresses = [
            f"#sample={name}"
            for name in (
                "missing-citation-lease",
                "off-topic-refusal-insulin",
                "no-expected-answer-compost",
                "distorted-number-glacier",
            )
        ]
    else:
        one = meta_results(2)
        two = meta_results(2, citations="ignored")
        other = (two, meta_figures(two)) if kind == "compare" else None
        write_meta_page(path, one, meta_figures(one), title="tests", other=other)
        addresses = ["#test=set-1/14", "#test=set-2/10"]
    browser.emulate(scheme=scheme, height=2400)
    for address in addresses:
        browser.open(path, address)
        browser.js("document.querySelectorAll('details').forEach(d => { d.open = true })")
        checked, faint = browser.js(CONTRAST)
        assert checked > 100
        assert faint == []


@pytest.mark.parametrize("kind", ["evaluation", "meta"])
def test_everything_has_a_name(browser: Browser, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.html"
    if kind == "evaluation":
        write_evaluation_page(path, evaluation(), figures(evaluation()), title="samples")
        address = "#sample=missing-citation-lease"
    else:
        results = meta_results(2)
        write_meta_page(path, results, meta_figures(results), title="tests")
        address = "#test=set-1/14"
    browser.open(path, address)
    nameless = browser.js(NAMELESS)
    assert nameless == []
    repeated = browser.js(
        "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
        "return ids.filter((id, at) => ids.indexOf(id) !== at)"
    )
    assert repeated == []
    assert browser.js(
        "return [...document.querySelectorAll('[role=row]')].every(r => r.querySelector("
        "'[role=gridcell], [role=columnheader], [role=rowheader]') && r.closest('[role=grid]'))"
    )
    assert browser.count("main") == browser.count("h1") == 1
