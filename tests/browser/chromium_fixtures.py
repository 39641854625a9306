"""A real browser for tests: Debian's Chromium and its driver, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from chromium import PATIENCE, Browser
from conftest import must_run
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


@pytest.fixture(scope="session")
def _chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        must_run("Chromium with chromedriver")
    options = Options()
    options.binary_location = str(program)
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    driver.set_script_timeout(PATIENCE)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture
def browser(_chromium: Browser) -> Browser:
    """The browser with its usual settings; one for all tests, since starting it takes seconds."""
    _chromium.emulate()
    return _chromium
