"""The scenario in a real browser: moved by keyboard, kept by the address, and never at the cost of the reader's zoom."""

from __future__ import annotations

import pytest

BANDWIDTH = "Bandwidth (GB/s)"
BATCH = "Sequences at once"


def test_slider_by_keyboard_changes_sentence_and_figure_and_keeps_the_zoom(driver):
    driver.goto("roofline")
    zoomed = driver.zoom()
    sentence, drawn = driver.answer_text(), driver.chart_data()
    driver.press_key_on_slider(BANDWIDTH, "ArrowRight", times=3)
    assert driver.answer_text() != sentence
    assert driver.chart_data() != drawn
    assert driver.chart_ranges()["xaxis"] == pytest.approx(zoomed["xaxis"], rel=1e-6)
    assert driver.errors == []


def test_field_and_sliders_of_page_and_panel_show_one_value(driver):
    driver.goto("roofline")
    driver.press_key_on_slider(BANDWIDTH, "ArrowRight", area="page")
    assert driver.slider_value(BANDWIDTH, area="panel") == driver.slider_value(BANDWIDTH, area="page")
    assert float(driver.field(BANDWIDTH).input_value()) == float(
        driver.slider_value(BANDWIDTH, area="page").replace(",", "")
    )


def test_override_is_marked_and_emptying_goes_back(driver):
    driver.goto("roofline")
    before = driver.answer_text()
    driver.enter(BANDWIDTH, 999)
    assert f"{BANDWIDTH} · changed" in driver.sidebar_text()
    assert driver.answer_text() != before
    driver.enter(BANDWIDTH, "")
    assert "· changed" not in driver.sidebar_text()
    assert driver.answer_text() == before


def test_reload_and_sent_link_find_the_same_scenario(driver, server, browser):
    driver.goto("batching")
    driver.enter(BATCH, 13)
    driver.enter(BANDWIDTH, 1234)
    told = driver.scenario_text(), driver.answer_text(), driver.tiles()
    driver.reload()
    assert (driver.scenario_text(), driver.answer_text(), driver.tiles()) == told
    elsewhere = type(driver)(browser.new_context().new_page(), server)
    elsewhere.goto(driver.page.url.removeprefix(server))
    assert (elsewhere.scenario_text(), elsewhere.answer_text(), elsewhere.tiles()) == told
    elsewhere.page.context.close()
    assert driver.errors == []


def test_scenario_survives_page_changes_and_back_works(driver):
    driver.goto("roofline")
    driver.enter(BATCH, 7)
    roofline = driver.answer_text()
    driver.open_page("Memory")
    memory = driver.answer_text()
    assert memory != roofline
    assert "batch=7" in driver.query()
    assert driver.field(BATCH).input_value() == "7"
    driver.back()
    assert driver.answer_text() == roofline
    assert driver.errors == []


@pytest.mark.parametrize("value", [0, -5])
def test_wrong_entry_gives_a_sentence_and_loses_nothing(driver, value):
    driver.goto("roofline")
    driver.enter(BATCH, 3)
    driver.enter(BANDWIDTH, value)
    assert driver.exceptions() == []
    assert len(driver.error_texts()) == 1
    assert driver.is_dimmed()
    assert driver.answer_text()
    assert driver.field(BATCH).input_value() == "3"
    assert float(driver.field(BANDWIDTH).input_value()) == value
    driver.enter(BANDWIDTH, 100)
    assert driver.error_texts() == []
    assert driver.errors == []


def test_figures_follow_the_thumb_before_it_is_let_go(driver):
    driver.goto("roofline")
    slider = driver.slider(BANDWIDTH, area="page")
    slider.hover()
    # What the browser asks for while the pointer is over the slider: every stop but those without a value.
    stops = int(slider.get_attribute("max")) + 1
    driver.page.wait_for_selector(f'[data-foreseen="{stops}"]')
    asked = driver.reruns_asked
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    driver.page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    driver.page.mouse.down()
    for part in (0.6, 0.7, 0.8, 0.9):
        before = driver.drawings("roofline_roof")
        driver.page.mouse.move(box["x"] + part * box["width"], middle)
        driver.page.wait_for_function(
            "(before) => document.querySelector('.st-key-roofline_roof .slm-chart').dataset.drawn > before",
            arg=before,
        )
    shown, title = driver.drawings("roofline_roof"), driver.chart_title("roofline_roof")
    assert driver.reruns_asked == asked
    with driver.rerun():
        driver.page.mouse.up()
    assert driver.reruns_asked == asked + 1
    # The server's exact answer is the very figure that was shown: nothing is drawn again.
    assert driver.chart_title("roofline_roof") == title
    assert driver.drawings("roofline_roof") == shown


def test_the_zoom_outlives_a_wrong_entry(driver):
    driver.goto("roofline")
    zoomed = driver.zoom()
    driver.enter(BANDWIDTH, -5)
    assert driver.chart_ranges()["xaxis"] == pytest.approx(zoomed["xaxis"], rel=1e-6)
    driver.enter(BANDWIDTH, 900)
    assert driver.chart_ranges()["xaxis"] == pytest.approx(zoomed["xaxis"], rel=1e-6)
    assert driver.errors == []


def test_an_endless_number_in_the_address_leaves_the_page_and_all_else_of_it(driver):
    driver.goto("memory", prompt="inf", batch=7)
    assert driver.field(BATCH).input_value() == "7"
    assert "/memory" in driver.page.url
    assert "inf" not in driver.query()
    driver.open_page("Plan")
    told = driver.scenario_text()
    # The entry that the visitor came by still stands in the browser's history.
    driver.page.evaluate("history.pushState({}, '', '/memory?prompt=inf&batch=5')")
    with driver.rerun():
        driver.page.evaluate("window.dispatchEvent(new PopStateEvent('popstate'))")
    assert driver.exceptions() == []
    assert "This address says prompt = inf, which no field can hold" in driver.main_text()
    driver.back()
    assert driver.scenario_text() == told
    assert driver.exceptions() == driver.errors == []
