"""The page in headless Chromium, used as a person uses it: by mouse, keys and files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

PATIENCE = 20.0

_BOARD = """
return Object.fromEntries([...document.querySelectorAll("#board [data-point]")]
    .map((cell) => [cell.dataset.point, /(black|white) stone/.exec(cell.ariaLabel)?.[1]])
    .filter(([, stone]) => stone))
"""


@contextmanager
def chromium(downloads: Path) -> Iterator[Page]:
    """A browser with an empty profile. Skips the test where there is none."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--window-size=1280,900",
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Page(browser)
    finally:
        browser.quit()


class Page:
    """The page; what it shows is read from the document, as assistive technology reads it."""

    def __init__(self, browser: webdriver.Chrome) -> None:
        self.browser = browser

    def visit(self, address: str, *, afresh: bool = True) -> None:
        """Open the page; `afresh`: as somebody who was never here."""
        url = f"http://{address}/" if "//" not in address else address
        if afresh and self.browser.current_url.startswith("http"):
            self.script("localStorage.clear(); sessionStorage.clear()")
        self.browser.get(url)
        self.wait(lambda: self.game)

    # --- what is there ---

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def point(self, name: str) -> WebElement:
        return self.find(f'#board [data-point="{name}"]')

    def script(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def text(self, id: str) -> str:
        return str(self.script(f"return document.getElementById('{id}').textContent"))

    @property
    def game(self) -> str:
        return str(self.script("return document.documentElement.dataset.game ?? ''"))

    @property
    def ply(self) -> int:
        return int(self.script("return document.documentElement.dataset.ply ?? -1"))

    @property
    def stones(self) -> dict[str, str]:
        """Points and the colours of the stones on them."""
        return dict(self.script(_BOARD))

    @property
    def choices(self) -> list[str]:
        return [button.get_attribute("data-choice") or "" for button in self.all("#choices button")]

    @property
    def complaints(self) -> list[str]:
        """What the console has said since the last time."""
        return [
            entry["message"]
            for entry in self.browser.get_log("browser")
            # A connection that the test itself has cut.
            if "ERR_CONNECTION" not in entry["message"]
        ]

    def wait(self, condition: Callable[[], Any], what: str = "") -> Any:
        """Wait until something is so."""
        until = time.monotonic() + PATIENCE
        while not (found := condition()):
            if time.monotonic() > until:
                pytest.fail(f"never: {what or condition}; the page says {self.text('error')!r}")
            time.sleep(0.02)
        return found

    # --- what a person does ---

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def click_point(self, name: str) -> None:
        ActionChains(self.browser, duration=0).move_to_element(self.point(name)).click().perform()

    def hover(self, element: WebElement) -> None:
        ActionChains(self.browser, duration=0).move_to_element(element).perform()

    def press(self, *keys: str) -> None:
        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def new_game(self, game: str, opening: str = "none", **choices: str) -> None:
        """Fill in the form; `choices` by the names of its fields, `seat_A` for `seat-A`."""
        before = self.game
        self.click("#new")
        for name, value in {"game": game, "opening": opening, "seat-B": "", **choices}.items():
            field = name.replace("seat_", "seat-").replace("level_", "level-")
            self.choose(f'#new-form [name="{field}"]', value)
        self.click("#start")
        self.wait(lambda: self.game != before, f"a game of {game}; {self.text('new-error')}")

    def choose(self, selector: str, value: str) -> None:
        """Fill in a field of a form."""
        field = self.find(selector)
        if field.tag_name == "select":
            Select(field).select_by_value(value)
        else:
            self.script("arguments[0].closest('details')?.setAttribute('open', '')", field)
            field.clear()
            field.send_keys(value)

    def act(self, actions: str) -> None:
        """Play actions in turn: points by mouse on the board, others by their buttons."""
        for action in actions.split():
            before = self.ply
            if action in self.choices:
                self.click(f'[data-choice="{action}"]')
            else:
                self.click_point(action)
            self.wait(lambda before=before: self.ply > before, f"{action} is played")

    def close_dialog(self, id: str) -> None:
        self.click(f"#{id} [data-close]")
