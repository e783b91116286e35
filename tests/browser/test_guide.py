"""The guide in a real browser: it greets once, and stays closed where it was closed."""

from __future__ import annotations


def test_a_closed_guide_stays_closed_and_can_be_called_back(driver):
    driver.goto("overview")
    guide = driver.page.locator(".st-key-slm_guide")
    assert guide.is_visible()
    asked = driver.reruns_asked
    driver.page.get_by_role("button", name="Close the guide").click()
    assert not guide.is_visible()
    assert driver.reruns_asked == asked
    driver.reload()
    assert not guide.is_visible()
    driver.page.get_by_role("button", name="Show the guide").click()
    assert guide.is_visible()
    assert driver.errors == []
