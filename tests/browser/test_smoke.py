"""Every page opens, by its link and by its entry in the navigation, with the panel and without complaints."""

from __future__ import annotations

import pytest

from tests.browser.driver import Driver
from tests.browser.pages import TITLES, URL_PATHS, name


def assert_sound(driver: Driver) -> None:
    assert driver.exceptions() == []
    assert driver.page.get_by_role("dialog").count() == 0, driver.page.get_by_role("dialog").all_inner_texts()
    assert driver.page.get_by_test_id("stSidebar").is_visible()
    assert driver.sidebar_text().strip()
    assert [title.strip() for title in driver.nav_links().all_inner_texts()] == TITLES
    assert driver.main_text().strip()
    assert driver.errors == []


@pytest.mark.parametrize("path", URL_PATHS, ids=name)
def test_deep_link_is_the_first_request_of_a_new_server(tab, fresh_server, path):
    driver = Driver(tab, fresh_server)
    driver.goto(path)
    assert_sound(driver)


def test_navigation_reaches_every_page(driver):
    driver.goto()
    shown = []
    for title in TITLES[1:] + TITLES[:1]:
        driver.open_page(title)
        assert_sound(driver)
        shown.append(driver.main_text())
    assert len(set(shown)) == len(TITLES), "two entries show the same page"
