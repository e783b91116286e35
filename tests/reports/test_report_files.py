"""Each form of a report, read back by another program than the one that wrote it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zipfile

import pandas as pd
import pytest
from hypothesis import given, settings
from plotly.offline import get_plotlyjs
from pptx import Presentation

from slmopt.figures import theme
from slmopt.reports.marked_text import plain
from slmopt.reports.report import report
from slmopt.reports.report_data import to_data_zip
from slmopt.reports.report_files import FORMS, form_of
from slmopt.reports.report_html import to_html_page
from slmopt.reports.report_markdown import to_markdown
from slmopt.reports.report_pptx import to_pptx
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import scenario
from slmopt.specs.scenario_file import from_file
from tests.reports.reading import DATE, UNPRINTABLE, Page, hostile, hostile_rows, measured, server
from tests.strategies import scenarios

REPORTS = {"server": server, "hostile": hostile, "measured": measured}


@pytest.fixture(scope="module", params=REPORTS)
def one(request):
    return REPORTS[request.param]()


@pytest.fixture(scope="module")
def page(one):
    return Page(to_html_page(one))


def test_html_asks_nothing_of_any_other_place(page):
    assert not any(page.having("src"))
    assert all(attrs["href"].startswith("#") for attrs in page.having("href"))
    (policy,) = [attrs["content"] for attrs in page.having("http-equiv")]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy


def test_html_runs_two_scripts_and_names_both(page):
    policy = next(attrs["content"] for attrs in page.having("http-equiv"))
    data, library, own = page.scripts
    for script in (library, own):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert library == get_plotlyjs()
    assert "<" not in data


def test_html_says_everything(one, page):
    for section in one.sections:
        assert section.question in page.text
        assert "".join(plain(section.answer).split()) in "".join(page.text.split())
    for fact in one.headline:
        assert " ".join(fact.ceiling.split()) in page.text
    assert one.origin in page.text
    assert "□" in page.text
    assert "◆" in page.text


def test_html_holds_every_figure_with_its_words(one, page):
    drawn = {picture.key: picture for section in one.sections for picture in section.pictures}
    assert page.figures().keys() == drawn.keys()
    assert [attrs["data-figure"] for attrs in page.having("data-figure")] == list(drawn)
    labels = {attrs["aria-label"] for attrs in page.having("aria-label")}
    assert {picture.alt for picture in drawn.values()} <= labels
    assert not re.search(theme.SLOT, json.dumps(page.figures()))


@pytest.mark.parametrize("made", [hostile, hostile_rows])
def test_html_lets_no_name_become_a_tag(made):
    text = to_html_page(made())
    found = Page(text)
    assert [tag for tag, _ in found.elements].count("script") == 3
    assert "alert(1)" in found.text
    assert not any(name.startswith("on") for _, attrs in found.elements for name in attrs)


def test_dark_values_stand_for_every_light_one(page):
    held = json.loads(page.scripts[0])["dark"]
    light, dark = theme.palette("light"), theme.palette("dark")
    assert held == {light[slot]: dark[slot] for slot in light}


def test_markdown_has_tables_and_no_pictures(one):
    text = to_markdown(one)
    assert "![" not in text
    assert text.count("<details>") == text.count("</details>")
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        widths = {len(re.sub(r"\\.", "", line).split("|")) for line in block.strip().splitlines()}
        assert len(widths) == 1
    assert "□ Ceiling" in text
    assert "○ Estimate" in text


@pytest.mark.parametrize("made", [hostile, hostile_rows])
def test_markdown_lets_no_name_take_effect(made):
    text = to_markdown(made())
    assert "<script" not in text.replace("\\<script", "")
    assert "@me" not in text.replace("\u2060", "|")


def test_a_deck_has_a_slide_for_every_question(one):
    deck = Presentation(io.BytesIO(to_pptx(one)))
    assert deck.slide_width / deck.slide_height == pytest.approx(16 / 9, rel=1e-3)
    told = ["\n".join(s.text_frame.text for s in slide.shapes if s.has_text_frame) for slide in deck.slides]
    for section in one.sections:
        assert any(section.question in text and plain(section.answer) in text for text in told)
    assert all(slide.shapes.title.text_frame.text for slide in deck.slides)
    assert all(one.origin in text for text in told)


def test_a_deck_s_charts_are_native_described_and_right():
    deck = Presentation(io.BytesIO(to_pptx(server())))
    shapes = [shape for slide in deck.slides for shape in slide.shapes if shape.has_chart or shape.has_table]
    assert sum(shape.has_chart for shape in shapes) >= 15
    assert all(shape._element._nvXxPr.cNvPr.get("descr") for shape in shapes)
    numbers = next(t for key, _, t in server().tables() if key == "batching_steps")
    series = [
        list(chart.plots[0].series[0].values)
        for chart in (shape.chart for shape in shapes if shape.has_chart)
        if chart.plots[0].series[0].name == "Weights (ms)"
    ]
    assert series[0][0] == pytest.approx(numbers["weights_ms"].iloc[0])
    assert series[0][-1] == pytest.approx(numbers["weights_ms"].iloc[-1])


@pytest.mark.parametrize("made", [hostile, hostile_rows])
def test_a_deck_s_workbooks_hold_no_formula(made):
    deck = Presentation(io.BytesIO(to_pptx(made())))
    books = 0
    for slide in deck.slides:
        for shape in slide.shapes:
            if shape.has_chart:
                books += 1
                book = zipfile.ZipFile(io.BytesIO(shape.chart.part.chart_workbook.xlsx_part.blob))
                assert "<f>" not in book.read("xl/worksheets/sheet1.xml").decode()
    assert books


def test_the_archive_has_every_table_three_times(one):
    with zipfile.ZipFile(io.BytesIO(to_data_zip(one))) as held:
        assert held.testzip() is None
        assert from_file(held.read("scenario.json")).scenario == one.scenario
        for key, heading, table in one.tables():
            csv = pd.read_csv(io.BytesIO(held.read(f"csv/{key}.csv")))
            parquet = pd.read_parquet(io.BytesIO(held.read(f"parquet/{key}.parquet")))
            read = json.loads(held.read(f"json/{key}.json"))
            assert len(csv) == len(parquet) == len(read["rows"]) == len(table)
            assert read["title"] == heading
            for name in table.select_dtypes("number").columns:
                told = table[name].astype(float).to_numpy()
                assert parquet[str(name)].astype(float).to_numpy() == pytest.approx(told, nan_ok=True)
                assert csv[str(name)].astype(float).to_numpy() == pytest.approx(told, nan_ok=True)


def test_the_archive_is_the_same_each_time():
    assert to_data_zip(server()) == to_data_zip(server())


def test_csv_texts_are_guarded():
    told = 0
    with zipfile.ZipFile(io.BytesIO(to_data_zip(hostile_rows()))) as held:
        for name in held.namelist():
            if name.endswith(".csv"):
                cells = pd.read_csv(io.BytesIO(held.read(name)), header=None, dtype=str).to_numpy().ravel()
                texts = [cell for cell in cells if isinstance(cell, str) and "cmd|" in cell]
                told += len(texts)
                assert not any(text.startswith(("=", "+", "-", "@")) for text in texts), name
    assert told


@pytest.mark.parametrize("ending", FORMS)
def test_every_form_writes_bytes(ending):
    assert len(form_of(f"a.b{ending.upper()}").write(server())) > 1000


def test_characters_that_no_file_may_hold_are_marked():
    model = {"id": "m", "name": UNPRINTABLE, "params": 7e9, "source": UNPRINTABLE, "assumed": [UNPRINTABLE]}
    device = {"id": "d", "name": UNPRINTABLE, "bandwidth_gbs": 100, "peak_tflops": 10, "note": UNPRINTABLE}
    one = report(scenario({"model": model, "device": device}), date=DATE)
    assert all(form.write(one) for form in FORMS.values())
    assert "a\ufffd\ufffd\ufffd\ufffdb" in to_markdown(one)


@given(scenarios())
@settings(max_examples=8)
def test_every_scenario_can_be_handed_over(made):
    one = report(made, date=DATE)
    for form in FORMS.values():
        assert form.write(one)


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.exe"])
def test_another_ending_is_named(name):
    with pytest.raises(SpecError, match=r"\.html, \.pptx, \.md, \.zip"):
        form_of(name)
