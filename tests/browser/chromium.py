"""A page in a real browser, and what a test does with it. Its fixture: ``chromium_fixtures``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import must_run

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.remote.webelement import WebElement
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    must_run("selenium")

PATIENCE = 20
"""Seconds until a test gives up; what it waits for is there at once."""


class Browser:
    """What the tests do with a page, and what the browser noticed meanwhile."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, path: Path, hash_: str = "") -> None:
        """Opens a page afresh and forgets what came before."""
        self.driver.get("about:blank")
        self._log("browser")
        self._log("performance")
        self.driver.get(f"{path.as_uri()}{hash_}")
        self.settle()

    def settle(self) -> None:
        """Waits until two frames have been drawn, so that all that was asked for is there."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def js(self, script: str, *arguments: object) -> Any:
        """Runs a script as the body of a function."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> WebElement:
        """The first element; waits for it."""
        return WebDriverWait(self.driver, PATIENCE).until(
            lambda driver: driver.find_element(By.CSS_SELECTOR, selector)
        )

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return int(self.js("return document.querySelectorAll(arguments[0]).length", selector))

    def text(self, selector: str) -> str:
        """The text of the first element."""
        return str(self.js("return document.querySelector(arguments[0]).innerText", selector))

    def until(self, condition: str) -> None:
        """Waits until an expression of JavaScript is true."""
        WebDriverWait(self.driver, PATIENCE).until(
            lambda _: self.js(f"return Boolean({condition})"), f"never true: {condition}"
        )

    def click(self, selector: str) -> None:
        """Clicks as a user does."""
        element = self.find(selector)
        self.js("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        self.settle()
        element.click()
        self.settle()

    def keys(self, *keys: str) -> None:
        """Types into whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def tab(self, *, back: bool = False) -> None:
        """Goes to the next or the previous tab stop."""
        actions = ActionChains(self.driver)
        if back:
            actions.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        else:
            actions.send_keys(Keys.TAB).perform()
        self.settle()

    def focused(self, attribute: str) -> str:
        """An attribute of the element that has the focus; empty without it."""
        return str(
            self.js("return document.activeElement.getAttribute(arguments[0]) || ''", attribute)
        )

    def hash(self) -> str:
        """The decoded part of the address after #."""
        return str(self.js("return decodeURIComponent(location.hash.slice(1))"))

    def emulate(self, *, scheme: str = "light", width: int = 1440, height: int = 900) -> None:
        """Sets what the user prefers and the size of the window."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def complaints(self) -> list[str]:
        """Everything on the console since the page was opened."""
        return [str(entry["message"]) for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened, the page's own left out."""
        own = str(self.js("return location.href.split('#')[0]"))
        asked = []
        for entry in self._log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"].split("#")[0])
        return [url for url in asked if url not in (own, "about:blank", "data:,")]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        read: Callable[[str], list[dict[str, Any]]] = self.driver.get_log
        return read(kind)
