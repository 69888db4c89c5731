"""A server with a real, untrained bot, and a browser, for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.loading import load_bot
from tests.web.browser import Page, chromium
from tests.web.served import serving


@pytest.fixture(scope="session")
def address(exported_bot: Path) -> Iterator[str]:
    """A server with one exported bot."""
    bot = load_bot(exported_bot)
    with serving({bot.name: bot}, analysis=300, review=64, connections_each=100) as address:
        yield address


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads: Path) -> Iterator[Page]:
    """One browser for all tests: it takes seconds to start."""
    with chromium(downloads) as page:
        yield page


@pytest.fixture
def page(browser: Page, address: str) -> Iterator[Page]:
    """The page as somebody sees it for the first time."""
    browser.visit(address)
    yield browser
    assert browser.complaints == [], "the console stays empty"
