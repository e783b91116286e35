"""Measurements in a browser: a real file changes the answer, stays while pages change, and never takes effect as code."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Dialog

from slmopt.specs.library import preset_root
from tests.browser.driver import Driver

FILE = Path(str(preset_root() / "this_machine" / "llama-bench_1b_Q4_0.csv"))
DEVICE = "AMD EPYC, 2 virtual cores"
HOSTILE = (
    "model,weights,phase,output_tokens,tokens_per_s,device,params\n"
    "\"<img src=x onerror=alert(1)><b id='evil'>b</b> [l](http://e.vil/) https://e.vil/ :material/home: $x$ %{x}\","
    "Q4_0,decode,128,50,NVIDIA GeForce RTX 4090,7123456789\n"
    "Llama-3.1-8B,Q4_0,decode,128,120,NVIDIA GeForce RTX 4090,8030261312\n"
)


@pytest.fixture
def measurements(driver: Driver) -> Driver:
    driver.goto("measurements")
    return driver


def shares(driver: Driver) -> list[float]:
    return [share for trace in driver.chart_data("measurement_shares") for share in trace["x"]]


def test_a_real_file_changes_the_answer_and_stays(measurements: Driver):
    driver = measurements
    sample = driver.answer_text()
    assert "sample" in driver.scenario_text()
    assert len(shares(driver)) > 20
    driver.upload(FILE)
    assert "The device is not known" in driver.answer_text()
    driver.choose("Device of AMD EPYC", DEVICE)
    answer = driver.answer_text()
    assert "ceiling" in answer
    assert answer != sample
    assert "sample" not in driver.scenario_text()
    assert len(shares(driver)) == 4
    driver.open_page("Memory")
    driver.open_page("Measurements")
    assert driver.answer_text() == answer
    assert FILE.name not in driver.query()
    with driver.rerun():
        driver.page.get_by_role("button", name="Remove all").click()
    assert driver.answer_text() == sample
    assert driver.exceptions() == []
    assert driver.errors == []


def test_a_sentence_for_what_is_no_benchmark_beside_what_is(measurements: Driver, tmp_path: Path):
    picture = tmp_path / "photo.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    measurements.upload(FILE, picture, empty)
    text = measurements.main_text()
    assert "photo.png is a picture" in text
    assert "empty.csv is empty" in text
    assert FILE.name in text
    assert measurements.exceptions() == []
    assert measurements.errors == []


def test_names_of_strangers_are_shown_and_do_nothing(measurements: Driver, tmp_path: Path):
    dialogs: list[str] = []

    def opened(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    measurements.page.on("dialog", opened)
    file = tmp_path / "names [l](http:e.vil) :material--home: $a$.csv"
    file.write_text(HOSTILE, encoding="utf-8")
    measurements.upload(file)
    for title in ("Show the arithmetic", "Data", "Sources"):
        measurements.expand(title)
    main = measurements.page.get_by_test_id("stMain")
    assert main.locator("#evil, img[src=x], a[href*='e.vil'], .katex").count() == 0
    assert main.locator("[data-testid=stMarkdownContainer] [data-testid=stIconMaterial]").count() == 0
    assert "<img src=x" in measurements.plot("measurement_shares").inner_text()
    assert dialogs == []
    assert measurements.exceptions() == []
    assert measurements.errors == []


def test_the_joined_table_is_a_download(measurements: Driver):
    with measurements.page.expect_download() as waiting:
        measurements.page.get_by_role("button", name="Download the joined table").click()
    path = waiting.value.path()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert waiting.value.suggested_filename == "slmopt-measurements.csv"
    assert "share_of_ceiling" in lines[0]
    assert len(lines) == 1 + 28
