"""A presentation in a real browser: nothing but the page, turned by keys, left by Escape."""

from __future__ import annotations


def test_keys_turn_pages_and_escape_ends(driver):
    driver.goto("overview", present="true")
    page = driver.page
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert not page.get_by_test_id("stHeader").is_visible()
    for key, path in (("ArrowRight", "roofline"), ("PageDown", "batching"), ("ArrowLeft", "roofline")):
        page.keyboard.press(key)
        page.wait_for_url(f"**/{path}?present=true")
        driver.settle()
    title = driver.chart("roofline_roof").locator(".slm-title")
    assert float(title.evaluate("(title) => parseFloat(getComputedStyle(title).fontSize)")) > 24
    with driver.rerun():
        page.keyboard.press("Escape")
    assert page.get_by_test_id("stHeader").is_visible()
    assert "present" not in page.url
    assert driver.errors == []


def test_arrows_move_a_slider_that_has_the_focus(driver):
    driver.goto("roofline", present="true")
    before = driver.slider_value("Bandwidth", area="page")
    driver.press_key_on_slider("Bandwidth", "ArrowRight", area="page")
    assert driver.slider_value("Bandwidth", area="page") != before
    assert "/roofline" in driver.page.url
