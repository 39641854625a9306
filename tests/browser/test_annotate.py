"""People label answers in Chromium; the server dies meanwhile; nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from annotate_process import ANSWERS, OPENING, Annotating, answers_file
from chromium import Browser
from command_line import read_lines, run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from grouse_adapters.native.annotations import read_annotations

pytest_plugins = ("chromium_fixtures",)

MILL, MUSEUM = ANSWERS["mill/14"], ANSWERS["museum/1"]
FILE, LOG = "annotations.jsonl", "annotations.log.jsonl"
SAVED = "document.getElementById('save-state').textContent === 'Saved'"
REFUSED = "net::ERR_CONNECTION_REFUSED"  # what Chromium itself notes while there is no server


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    return answers_file(tmp_path)


@pytest.fixture
def running(tests: Path, tmp_path: Path, browser: Browser) -> Iterator[Annotating]:
    with Annotating(tests, cwd=tmp_path) as one:
        yield one
        browser.driver.get("about:blank")


def enter(browser: Browser, running: Annotating, name: str, *, fresh: bool = True) -> None:
    """Opens the address in a window that knows nobody, and gives a name."""
    browser.driver.get(f"http://127.0.0.1:{running.port}/annotate.css")
    browser.js("sessionStorage.clear(); if (arguments[0]) localStorage.clear()", fresh)
    browser.complaints()
    browser.driver.get(running.address)
    browser.until("!document.getElementById('login').hidden")
    browser.find("#name").send_keys(name, Keys.ENTER)
    browser.until("!document.getElementById('work').hidden")
    browser.settle()


def answer(browser: Browser) -> str:
    return str(browser.js("return document.getElementById('answer').textContent"))


def label(browser: Browser, number: int, three: str) -> None:
    """Clicks yes or no for relevant, faithful and citation right of a statement, from 1."""
    for name, said in zip(("relevant", "faithful", "citation_right"), three, strict=True):
        word = "yes" if said == "y" else "no"
        browser.click(f"label[for=statement-{number - 1}-{name}-{word}]")


def labels(browser: Browser) -> list[str]:
    """Three letters per statement: y, n, or - for what nobody said."""
    return list(
        browser.js(
            "return [...document.querySelectorAll('.statement')].map(s =>"
            " [...s.querySelectorAll('.pair')].map(p => {"
            " const on = p.querySelector('input:checked');"
            " return on ? on.value[0].toLowerCase() : '-'; }).join(''))"
        )
    )


def statements(browser: Browser) -> list[str]:
    return list(
        browser.js(
            "return [...document.querySelectorAll('.statement-text')].map(s => s.textContent)"
        )
    )


def choose(browser: Browser, wanted: str) -> None:
    """Goes to the answer with this text."""
    browser.js("document.getElementById('all').open = true")
    for number in range(1, 4):
        browser.click(f"#all-list li:nth-child({number}) button")
        browser.until(f"document.getElementById('place').textContent === 'Answer {number} of 3'")
        if answer(browser) == wanted:
            return
    raise AssertionError(f"there is no such answer: {wanted}")


def done(browser: Browser) -> None:
    before = answer(browser)
    browser.click("#done")
    browser.until(
        "document.getElementById('work').hidden || "
        f"document.getElementById('answer').textContent !== {json.dumps(before)}"
    )


def test_two_annotators_a_reload_and_a_kill(browser: Browser, tests: Path, tmp_path: Path) -> None:
    quiet: list[str] = []
    with Annotating(tests, cwd=tmp_path) as running:
        enter(browser, running, "Ada")
        choose(browser, MILL)
        label(browser, 1, "yyy")
        label(browser, 2, "yny")
        browser.until(SAVED)
        browser.driver.refresh()
        browser.until("!document.getElementById('work').hidden")
        assert answer(browser) == MILL
        assert labels(browser) == ["yyy", "yny", "---"]
        label(browser, 3, "nyy")
        done(browser)
        choose(browser, OPENING)
        assert browser.text("#none").startswith("No statement was found")
        browser.click("#nothing")
        done(browser)
        choose(browser, MUSEUM)
        label(browser, 1, "yyy")
        browser.until(SAVED)
        quiet += browser.complaints()
        running.kill()

        browser.until("document.getElementById('trouble').textContent.includes('not answer')")
        assert browser.text("#save-state") == "No server"
        label(browser, 2, "yyy")
        browser.until("document.getElementById('save-state').textContent === 'Not saved'")
        assert "kept in this browser" in browser.text("#trouble")
        address = running.address
    assert len(read_annotations(tmp_path / FILE)) == 2

    with Annotating(tests, cwd=tmp_path) as running:
        assert running.address == address
        browser.until(SAVED)  # it comes back by itself and brings what was said meanwhile
        assert not browser.find("#trouble").is_displayed()
        quiet += [text for text in browser.complaints() if REFUSED not in text]
        rows = read_lines(tmp_path / LOG)
        assert [s["faithful"] for s in rows[-1]["draft"]["statements"]] == [True, True]
        done(browser)
        browser.until("!document.getElementById('finished').hidden")
        browser.until("document.getElementById('agreement').textContent.includes('Nobody else')")

        enter(browser, running, "Bo")
        assert browser.text("#progress-text") == "0 done"
        choose(browser, MUSEUM)
        assert labels(browser) == ["---", "---"]
        browser.click(".statement.active .tools button:nth-child(3)")  # merge with next
        assert statements(browser) == ["Entry costs four euros Children pay half [2]"]
        label(browser, 1, "yny")
        done(browser)
        choose(browser, MILL)
        assert labels(browser) == ["---", "---", "---"]
        for number, three in ((1, "yyy"), (2, "yyy"), (3, "nyn")):
            label(browser, number, three)
        done(browser)
        choose(browser, OPENING)
        browser.click("#nothing")
        done(browser)
        browser.until("document.querySelector('#agreement table') !== null")
        shown = browser.js(
            "return [...document.querySelectorAll('#agreement tbody tr')]"
            ".map(r => [...r.children].map(c => c.textContent))"
        )
        quiet += browser.complaints()
        ended = running.interrupt()
    assert quiet == []
    assert ended.code == 0
    assert "Ada: 3 of 3 answers done" in ended.stdout
    assert "Bo: 3 of 3 answers done" in ended.stdout
    assert FILE in ended.stdout

    # By hand. The mill's three statements are what both have. Ada's shares of faithful statements:
    # mill 2/3, museum 1; Bo's: mill 1, museum 0. Of alpha see test_annotator_agreement.py.
    assert shown == [
        ["Relevant", "100.00 % of 3", "100.00 % of 3", "1.000"],
        ["Faithful", "66.67 % of 3", "33.33 % of 3", "0.000"],
        ["Citation right", "66.67 % of 3", "66.67 % of 3", "0.000"],
        ["Answer relevancy", "0.000", "0.000", "1.000"],
        ["Faithfulness", "0.667", "1.000", "-0.250"],
        ["The paper", "about 0.05", "0.125", "–"],
    ]
    told = json.loads(run("annotate", "--report", FILE, "--json", cwd=tmp_path).stdout)
    (pair,) = told["pairs"]
    assert pair["annotators"] == ["Ada", "Bo"]
    assert (pair["tests"], pair["statements"], pair["unmatched"]) == (3, 3, 3)
    assert pair["labels"]["faithful"]["equal_tests"] == 33.33
    assert pair["shares"]["faithfulness"]["mean_difference"] == 0.6667
    assert pair["shares"]["faithfulness"]["largest_difference"] == 1.0


def test_a_form_of_another_page_is_refused(browser: Browser, running: Annotating) -> None:
    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            field = json.dumps({"annotator": "Eve", "rest": ""}).replace('"', "&quot;")
            page = (
                f"<form method=post enctype=text/plain action=http://127.0.0.1:{running.port}"
                f"/api/begin><input name='{field}'><button>Win</button></form>"
            )
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, format: str, *args: object) -> None:
            return

    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    thread = threading.Thread(target=elsewhere.serve_forever)
    thread.start()
    try:
        browser.driver.get(f"http://127.0.0.1:{elsewhere.server_port}/")
        browser.find("button").click()
        browser.until("document.body && document.body.innerText.includes('refused')")
        assert browser.driver.current_url.endswith("/api/begin")
        status = browser.js("return performance.getEntriesByType('navigation')[0].responseStatus")
        assert status == 403
        # a script of that page gets no further
        browser.driver.get(f"http://127.0.0.1:{elsewhere.server_port}/")
        for mode in ("cors", "no-cors"):
            reached = browser.driver.execute_async_script(
                "const [url, mode, done] = arguments;"
                "fetch(url, {method: 'POST', mode, body: '{}'})"
                ".then(r => r.text()).then(t => done(t), () => done('refused'))",
                f"http://127.0.0.1:{running.port}/api/alive",
                mode,
            )
            assert reached in ("refused", "")
    finally:
        elsewhere.shutdown()
        thread.join()
        elsewhere.server_close()
    assert (running.folder / LOG).read_bytes() == b""


def test_without_the_token_nothing_is_shown(browser: Browser, running: Annotating) -> None:
    browser.driver.get(f"http://127.0.0.1:{running.port}/annotate.css")
    browser.js("sessionStorage.clear()")
    browser.driver.get(f"http://127.0.0.1:{running.port}/")
    browser.find("#name").send_keys("Eve", Keys.ENTER)
    browser.until("document.getElementById('login-error').textContent.includes('terminal')")
    assert browser.find("#login").is_displayed()


def test_by_keyboard_alone(browser: Browser, running: Annotating) -> None:
    enter(browser, running, "Ada")
    choose(browser, MILL)
    browser.keys("a")
    assert labels(browser) == ["yyy", "---", "---"]
    browser.keys("j", "r", "f", "f", "c")
    assert labels(browser)[1] == "yny"
    assert browser.focused("id") == "statement-1"
    assert browser.js("return [...document.querySelectorAll('.cited')].map(r => r.id)") == [
        "reference-1"
    ]
    browser.keys("j")
    assert browser.js("return [...document.querySelectorAll('.cited')].map(r => r.id)") == [
        "reference-2"
    ]
    assert browser.text("#answer mark") == "Dogs come in free"
    browser.keys("d")
    assert answer(browser) == MILL
    assert browser.text("#missing") == "Still open: statement 3: relevant?"
    browser.tab()
    browser.tab()
    assert browser.focused("name") == "statement-2-relevant"
    browser.keys(Keys.SPACE)
    assert labels(browser)[2] == "y--"
    browser.keys(Keys.ARROW_RIGHT)
    assert labels(browser)[2] == "n--"
    browser.keys("f", "c", "d")
    browser.until(f"document.getElementById('answer').textContent !== {json.dumps(MILL)}")
    browser.until("document.getElementById('progress').value === 1")
    assert browser.focused("id") == "place"
    browser.keys("b")
    browser.until(f"document.getElementById('answer').textContent === {json.dumps(MILL)}")
    assert labels(browser) == ["yyy", "yny", "nyy"]
    assert browser.text("#missing") == "This answer is done."
    browser.keys("?")
    assert browser.js("return document.getElementById('help').open")
    keys = browser.js(
        "return [...document.querySelectorAll('#help-keys kbd')].map(k => k.textContent)"
    )
    assert {"j", "r", "f", "c", "d", "0", "?"} <= set(keys)
    browser.click("#keys-on")
    browser.keys(Keys.ESCAPE)
    browser.keys("x")
    assert len(labels(browser)) == 3  # the keys are off
    browser.click("#help-button")
    browser.click("#keys-on")
    browser.keys(Keys.ESCAPE)
    assert browser.complaints() == []


def test_statements_are_cut_otherwise(browser: Browser, running: Annotating) -> None:
    enter(browser, running, "Ada")
    choose(browser, MILL)
    browser.keys("a", "e")
    browser.find("#edit-text").send_keys(", says the sign")
    browser.find("#edit-cites").send_keys(", 2, 7")
    browser.until(SAVED)  # typing is saved before it is said to be ready
    assert read_lines(running.folder / LOG)[-1]["draft"]["statements"][0]["citations"] == [1, 2, 7]
    browser.find("#edit-text").send_keys(Keys.ENTER)
    browser.settle()
    first = "The mill opens at nine, says the sign [1][2][7]"
    assert statements(browser)[0] == first
    assert labels(browser)[0] == "yyy"
    assert browser.count(".statement .cite.missing") == 1
    browser.keys("s")
    text = browser.find("#edit-text")
    browser.js("arguments[0].setSelectionRange(22, 22)", text)
    enter_key = ActionChains(browser.driver).key_down(Keys.SHIFT).send_keys(Keys.ENTER)
    enter_key.key_up(Keys.SHIFT).perform()
    browser.settle()
    assert statements(browser)[:2] == [
        "The mill opens at nine [1][2][7]",
        ", says the sign [1][2][7]",
    ]
    assert labels(browser)[:2] == ["---", "---"]
    browser.keys("j", "x")
    assert len(statements(browser)) == 3
    browser.keys("u", "u")
    assert statements(browser)[0] == first
    assert labels(browser)[0] == "yyy"
    browser.keys("a", "k", "m")
    assert len(statements(browser)) == 2
    assert labels(browser)[0] == "yyy"
    browser.keys("i")
    browser.find("#edit-text").send_keys("It has four sails.", Keys.ENTER)
    browser.settle()
    assert statements(browser)[1].strip() == "It has four sails."
    browser.keys("f", "f", "r", "c", "c", "j", "a", "d")
    browser.until("document.getElementById('progress').value === 1")
    browser.until(SAVED)
    (row,) = read_annotations(running.folder / FILE)
    assert row.statements is not None
    assert [s.text for s in row.statements] == [
        "The mill opens at nine, says the sign It closes at six",
        "It has four sails.",
        "Dogs come in free",
    ]
    assert [(s.relevant, s.faithful, s.citation_right) for s in row.statements] == [
        (True, True, True),
        (True, False, False),
        (True, True, True),
    ]
    choose(browser, OPENING)
    browser.click("#left-out button")
    assert statements(browser)[0].strip() == OPENING
    assert browser.complaints() == []


def test_skipped_answers_come_last(browser: Browser, running: Annotating) -> None:
    enter(browser, running, "Ada")
    first = answer(browser)
    for _ in range(2):
        before = answer(browser)
        browser.click("#skip-test")
        browser.until(f"document.getElementById('answer').textContent !== {json.dumps(before)}")
    last = answer(browser)
    browser.click("#skip-test")
    browser.until(f"document.getElementById('answer').textContent === {json.dumps(first)}")
    states = browser.js(
        "return [...document.querySelectorAll('#all-list button')].map(b => b.dataset.state)"
    )
    assert states == ["skipped"] * 3
    assert last != first
    assert not (running.folder / FILE).exists()


def test_what_a_dead_server_missed_is_sent_by_the_next_page(
    browser: Browser, tests: Path, tmp_path: Path
) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        enter(browser, running, "Ada")
        choose(browser, MILL)
        running.kill()
        label(browser, 1, "nyn")
        browser.until("document.getElementById('save-state').textContent === 'Not saved'")
        browser.driver.get("about:blank")  # the page is closed before the server is back
    with Annotating(tests, cwd=tmp_path) as running:
        browser.driver.get(running.address)
        browser.until("!document.getElementById('work').hidden")
        browser.until(SAVED)
        assert answer(browser) == MILL
        assert labels(browser)[0] == "nyn"
        (row,) = {r["test_id"]: r for r in read_lines(tmp_path / LOG)}.values()
        assert row["draft"]["statements"][0]["relevant"] is False
        assert browser.js("return Object.keys(localStorage).filter(k => k.includes('/Ada/'))") == []
        browser.driver.get("about:blank")


def test_two_windows_of_one_annotator(browser: Browser, running: Annotating) -> None:
    driver = browser.driver
    enter(browser, running, "Ada")
    choose(browser, MILL)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        enter(browser, running, "Ada", fresh=False)
        choose(browser, MILL)
        label(browser, 1, "yyy")
        browser.until(SAVED)
        second = driver.current_window_handle
        driver.switch_to.window(first)
        label(browser, 1, "nnn")
        browser.until("document.getElementById('trouble').textContent.includes('another window')")
        buttons = driver.find_elements(By.CSS_SELECTOR, "#trouble button")
        assert [button.text for button in buttons] == ["Keep mine", "Take the other"]
        buttons[1].click()
        browser.until("document.getElementById('trouble').hidden")
        browser.until("document.querySelector('#statement-0-relevant-yes').checked")
        label(browser, 1, "nyy")
        browser.until(SAVED)
        driver.switch_to.window(second)
        label(browser, 1, "yyn")
        browser.until("document.getElementById('trouble').textContent.includes('another window')")
        driver.find_elements(By.CSS_SELECTOR, "#trouble button")[0].click()
        browser.until(SAVED)
        driver.close()
    finally:
        driver.switch_to.window(first)
    rows = read_lines(running.folder / LOG)
    last = rows[-1]["draft"]["statements"][0]
    assert (last["relevant"], last["faithful"], last["citation_right"]) == (True, True, False)


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    bad = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    tests = answers_file(tmp_path, {"a/1": f"It says {bad} here [1]. </script> too [2]."})
    rows = read_lines(tests)
    rows[0].update(input=bad, references=[bad, bad])
    tests.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Annotating(tests, cwd=tmp_path) as running:
        enter(browser, running, "<b>Eve</b>")
        assert browser.text("#question") == bad
        assert bad in answer(browser)
        assert browser.text("#leave") == "<b>Eve</b>"
        assert browser.count("main img, main script, b") == 0
        assert "owned" not in browser.driver.title
        assert browser.complaints() == []
        browser.driver.get("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_window(browser: Browser, tmp_path: Path, scheme: str) -> None:
    tests = answers_file(tmp_path, {"a/1": f"{'Wide' * 40} [1]. It closes at six [1]."})
    with Annotating(tests, "--grades", cwd=tmp_path) as running:
        browser.emulate(scheme=scheme, width=360, height=740)
        enter(browser, running, "Somebody With A Very Long Name Indeed And More Of It")
        assert browser.js("return document.documentElement.scrollWidth") <= 360
        browser.keys("e")
        assert browser.js("return document.documentElement.scrollWidth") <= 360
        browser.keys(Keys.ESCAPE)
        browser.keys("?")
        assert browser.js("return document.getElementById('help').scrollWidth") <= 360
        browser.keys(Keys.ESCAPE)
        label(browser, 1, "yyy")
        label(browser, 2, "yyy")
        for name, grade in (
            ("answer_relevancy", "5"),
            ("completeness", "4"),
            ("usefulness", "null"),
            ("faithfulness", "1"),
        ):
            browser.click(f"label[for=grade-{name}-{grade}]")
        browser.click("#done")
        browser.until("!document.getElementById('finished').hidden")
        assert browser.js("return document.documentElement.scrollWidth") <= 360
        assert browser.complaints() == []
        browser.driver.get("about:blank")


def test_every_control_has_a_name(browser: Browser, running: Annotating) -> None:
    enter(browser, running, "Ada")
    choose(browser, MILL)
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    controls = [pair for pair in named if pair[0] in ("button", "radio", "textbox", "progressbar")]
    assert len(controls) > 20
    assert [role for role, name in controls if not name] == []
    groups = [name for role, name in named if role == "group"]
    assert groups.count("Citation right") == 3
    assert ("status", "") in named or any(role == "status" for role, _ in named)
