"""How large report pages are and how quickly they answer: ``python -m tests.bench.pages FOLDER``.

Makes a page of 10,000 evaluated samples and one of 1,440 tests, each text of its own, opens both
in Chromium and prints a line per figure. The times are from the user's action to the second frame
after it, so that even nothing at all takes about 30 ms; a search begins 120 ms after the last key.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from grouse_adapters import LexicalJudge, Sample
from grouse_adapters.core.grades import Judgement
from grouse_adapters.meta.figures import meta_report
from grouse_adapters.meta.report import TestResult
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests
from grouse_adapters.report.aggregates import Aggregator
from grouse_adapters.report.page import write_evaluation_page, write_meta_page

from .made_samples import make_samples

SAMPLES: Final = 10_000
SETS: Final = 90
REPEATS: Final = 7
TESTS: Final = Path(__file__).parents[1] / "data" / "unit_tests_dev.jsonl"

ACTIONS: Final = {
    "evaluation": {
        "filter": "document.querySelectorAll('#show input')[turn % 2 ? 0 : 2].click()",
        "search": "search.value = `quay ${turn}`; search.dispatchEvent(new Event('input'))",
        "jump": "scrollTo(0, document.body.scrollHeight * turn / 8)",
        "open a sample": "document.querySelectorAll('.list-row')[3].click()",
    },
    "meta": {
        "filter": "document.querySelectorAll('#show input')[turn % 2 ? 0 : 2].click()",
        "search": "search.value = `ants ${turn}`; search.dispatchEvent(new Event('input'))",
        "jump": "document.querySelector('.matrix-scroll').scrollLeft = 200 * turn",
        "open a test": "document.querySelectorAll('.matrix .square')[turn].click()",
    },
}
MEASURE: Final = """
const [action, turn, done] = arguments;
const search = document.getElementById('search');
const count = document.getElementById('count');
const frames = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
(async () => {
  document.querySelector('.matrices, #list').scrollIntoView();
  search.focus({preventScroll: true});
  await frames();
  const start = performance.now();
  const changed = new Promise((go) => new MutationObserver(go).observe(count, {childList: true}));
  new Function('search', 'turn', action)(search, turn);
  if (action.startsWith('search')) await changed;
  await frames();
  done(performance.now() - start);
})();
"""


def main(folder: Path) -> None:
    """Makes both pages in the folder and measures them."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in (("evaluation", _evaluation(folder)), ("meta", _meta(folder))):
        print(f"{kind}: {path.stat().st_size / 1e6:.1f} MB")
        for name, figures in _measured(kind, path).items():
            middle, worst = statistics.median(figures), max(figures)
            print(f"{kind}: {name}: median {middle:.0f} ms, worst {worst:.0f} ms")


def _evaluation(folder: Path) -> Path:
    with LexicalJudge() as judge:
        rows = list(judge.judge_many(make_samples(SAMPLES)))
    totals = Aggregator()
    for row in rows:
        totals.add(row)
    report = totals.report(command="evaluate", judge="lexical")
    path = folder / "evaluation.html"
    start = time.perf_counter()
    write_evaluation_page(path, rows, report, title=f"{SAMPLES:,} samples")
    print(f"evaluation: written in {time.perf_counter() - start:.1f} s")
    return path


def _meta(folder: Path) -> Path:
    with LexicalJudge() as judge:
        judged = [(test, judge.judge(test.sample)) for test in read_unit_tests(TESTS)]
    results = [result for number in range(SETS) for result in _set_of_its_own(judged, number)]
    report = meta_report(results, command="meta-evaluate", judge="lexical", source=TESTS.name)
    path = folder / "meta.html"
    start = time.perf_counter()
    write_meta_page(path, results, report, title=f"{len(results):,} tests")
    print(f"meta: written in {time.perf_counter() - start:.1f} s")
    return path


def _set_of_its_own(judged: list[tuple[UnitTest, Judgement]], number: int) -> Iterator[TestResult]:
    for test, judgement in judged:
        name = f"set-{number}/{test.id}"
        sample = Sample(
            id=name,
            input=f"{test.sample.input} ({number})",
            references=tuple(f"{text} ({number})" for text in test.sample.references),
            expected_output=f"{test.sample.expected_output} ({number})",
            actual_output=f"{test.sample.actual_output} ({number})",
        )
        changes = {"id": name, "set_id": f"set-{number}", "sample": sample}
        yield TestResult(
            test.model_copy(update=changes),
            judgement.model_copy(update={"id": name, "sample": sample}),
        )


def _measured(kind: str, path: Path) -> dict[str, list[float]]:
    options = Options()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options, service=Service(shutil.which("chromedriver") or "chromedriver")
    )
    try:
        driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})  # for MEASURE's own sake
        figures: dict[str, list[float]] = {"open": []}
        for _ in range(REPEATS):
            _open(driver, path)
            figures["open"].append(
                driver.execute_script(
                    "return performance.getEntriesByType('navigation')[0].loadEventEnd"
                )
            )
        for name, action in ACTIONS[kind].items():
            _open(driver, path)
            figures[name] = [
                driver.execute_async_script(MEASURE, action, turn) for turn in range(REPEATS)
            ]
        return figures
    finally:
        driver.quit()


def _open(driver: webdriver.Chrome, path: Path) -> None:
    driver.get("about:blank")
    driver.get(path.as_uri())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
