"""One server and one browser for all tests here, a new tab for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.driver import WIDE, Driver, launch
from tests.browser.server import dashboard

HERE = Path(__file__).parent


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the tests of this folder; tests/conftest.py keeps them on one worker, which then needs one server."""
    if HERE in item.path.parents:
        item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Address of the dashboard that the tests share."""
    with dashboard() as address:
        yield address


@pytest.fixture
def fresh_server() -> Iterator[str]:
    """Address of a dashboard that nobody has opened yet."""
    with dashboard() as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    executable = chromium.find()
    if executable is None:
        message = "no Chromium: make test installs one where it can"
        if chromium.required():
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = launch(playwright, executable)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """An empty tab of a wide window, with no cookies and nothing cached."""
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    yield context.new_page()
    context.close()


@pytest.fixture
def driver(tab: Page, server: str) -> Driver:
    """Drives the shared dashboard; tests that need no complaint from the browser assert `driver.errors == []`."""
    return Driver(tab, server)


@pytest.fixture
def page(driver: Driver) -> Page:
    """The tab behind `driver`, for what the driver has no words for."""
    return driver.page
