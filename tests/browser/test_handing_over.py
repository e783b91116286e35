"""What leaves the server: a report that asks nobody for anything, and a dashboard below another path."""

from __future__ import annotations

import pytest

from slmopt.reports.report_html import to_html_page
from tests.browser.driver import Driver
from tests.browser.server import dashboard
from tests.reports.reading import server as articles_server

BANDWIDTH = "Bandwidth (GB/s)"


@pytest.fixture
def report(tab, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(to_html_page(articles_server()), encoding="utf-8")
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    tab.goto(file.as_uri())
    yield tab
    assert said == []


def test_a_report_draws_every_figure_and_asks_nobody(report):
    assert (
        report.locator(".plot").count() == report.locator(".plot[data-drawn=screen] .main-svg").count() // 3
    )
    assert report.locator("h2").count() >= 9


def test_a_report_follows_the_reader_s_theme(report):
    def ink() -> str:
        return str(report.locator(".plot .xtick text").first.evaluate("e => getComputedStyle(e).fill"))

    light = ink()
    report.emulate_media(color_scheme="dark")
    report.wait_for_function(
        "before => getComputedStyle(document.querySelector('.xtick text')).fill != before", arg=light
    )
    assert ink() == "rgb(232, 236, 241)"


def test_a_report_prints_in_light_and_without_the_long_tables(report):
    report.emulate_media(color_scheme="dark", media="print")
    report.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert report.locator(".plot[data-drawn=print]").count() == report.locator(".plot").count()
    assert not report.locator(".numbers").first.is_visible()
    report.evaluate("dispatchEvent(new Event('afterprint'))")
    assert report.locator(".plot[data-drawn=screen]").count() == report.locator(".plot").count()


def test_figures_and_sliders_work_below_a_base_path(tab):
    with dashboard("tools/slmopt") as address:
        answers: list[int] = []
        tab.on(
            "response",
            lambda answer: answers.append(answer.status) if answer.url.endswith("/ahead") else None,
        )
        driver = Driver(tab, address)
        driver.goto()
        assert tab.evaluate("document.querySelector('img[src$=\"/app/static/logo.svg\"]').naturalWidth") > 0
        before = driver.chart_data()
        driver.press_key_on_slider(BANDWIDTH, "ArrowRight", times=2)
        assert driver.chart_data() != before
        assert answers
        assert set(answers) == {200}
        assert driver.errors == []
