"""Names from strangers' files on every page: no tag, link, template, icon, formula or hidden direction takes effect."""

from __future__ import annotations

import csv
import io
import json
import re

import pandas as pd
import pytest

from pages.ui import parts, sitemap
from slmopt.figures.named import Named
from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark
from slmopt.reports import measurement_tables as tables
from slmopt.reports.pictures import PAGES as PICTURES
from slmopt.specs.scenario import Scenario, scenario
from tests.pages.app import go, open_page

# Short, since figures cut names: each stands in one piece wherever it is shown.
TAGS = "<b>zz</b>%{zz}<a href=//zz>"
FORMULA = "=zz()<img src=zz>`zz`$z$"
HIDDEN = "\u202e:material/zz:**zz**\u200b#zz"
LINK = "[zz](http://zz.zz)_zz_&lt;b"
PAIRS = [(TAGS, FORMULA), (FORMULA, HIDDEN), (HIDDEN, LINK), (LINK, TAGS)]
PAGES = tuple(page.file.stem for page in sitemap.PAGES)

# What must stand nowhere in Markdown unless a backslash takes its effect away.
LIVE_MARKDOWN = re.compile(
    r"(?<!\\)<(?=[a-z/])[^>]*zz|(?<!\\)\[zz|(?<!\\)\*\*zz|:material/zz|(?<!\\)`zz|(?<!\\)\$z|(?<!\\)_zz|http://zz"
)
LIVE_HTML = re.compile(r"<(?:b|img|a|i)\b[^>]*zz|<b>zz", re.IGNORECASE)
LIVE_FIGURE = re.compile(r"<(?:b|img|a|i)\b[^>]*zz|<b>zz|(?<!%)%\{zz", re.IGNORECASE)
UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]")


def model(name: str) -> dict[str, object]:
    attention = {"heads": 4, "kv_heads": 2, "head_dim": 16, "window": 64}
    state = {"kind": name, "state_elements": 64}
    return {
        "id": "m", "name": name, "hidden": 64, "vocab": 100, "source": name, "note": name, "family": name, "confidence": "memory",
        "groups": [{"count": 2, "attention": attention, "mlp": {"width": 128}}, {"count": 1, "state": state, "mlp": {"width": 128}}],
    }  # fmt: skip


def device(name: str) -> dict[str, object]:
    return {
        "id": "d", "name": name, "bandwidth_gbs": 100, "capacity_gb": 8, "source": name, "note": name, "confidence": "memory",
        "units": [{"name": name, "peak_tflops": {"fp16": 10}}, {"name": name + "2", "peak_tflops": {"fp16": 20}}],
    }  # fmt: skip


def everything(app):
    """(how it is shown, text) of all that the page sends."""
    for element in (*app.markdown, *app.header, *app.caption, *app.subheader):
        yield "markdown", element.value
    for element in (
        *app.button,
        *app.expander,
        *app.selectbox,
        *app.number_input,
        *app.text_input,
        *app.multiselect,
    ):
        yield "markdown", element.label
    for element in app.get("html"):
        yield "html", element.proto.body
    for element in app.get("bidi_component"):
        yield "figure", element.proto.json + "\n" + _shown(element.proto.bytes)


def _shown(data):
    """What a component draws: all but the scenario that a slider asks the server with."""
    try:
        return json.dumps(_without_scenario(json.loads(data)), ensure_ascii=False)
    except ValueError:
        return data.decode("utf-8", "replace")


def _without_scenario(value):
    if isinstance(value, dict):
        return {k: _without_scenario(v) for k, v in value.items() if k not in ("scenario", "pinned")}
    return [_without_scenario(v) for v in value] if isinstance(value, list) else value


def check(app):
    assert not app.exception, app.exception
    seen = 0
    for how, text in everything(app):
        seen += "zz" in text
        if how == "markdown":
            found = LIVE_MARKDOWN.search(text)
        elif how == "html":
            found = LIVE_HTML.search(text)
        else:
            found = LIVE_FIGURE.search(json_text(text))
        assert not found, (how, found.group(0), text[max(0, found.start() - 80) : found.end() + 40])
        assert not UNSEEN.search(text), (how, text[:200])
    return seen


def json_text(text: str) -> str:
    """The text with JSON's escapes undone, as the browser gets it."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text).replace("\\/", "/")


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=["tags", "formula", "hidden", "link"])
def test_own_models_and_devices_on_every_page(first, second):
    app = open_page("model_page")
    records = [model(first), device(second)]
    app.file_uploader(key="model_upload").upload(f"{first}.json", json.dumps(records).encode())
    app.run()
    for key, name in (("model", "zz"), ("device", "zz")):
        box = app.selectbox(key=key)
        box.set_value(next(option for option in box.options if name in option)).run()
        check(app)
    app.button(key="pin").click().run()
    app.number_input(key="batch").set_value(4).run()
    seen = sum(check(go(app, page)) for page in PAGES)
    assert seen > 20


@pytest.mark.parametrize("name", [TAGS, FORMULA, HIDDEN, LINK], ids=["tags", "formula", "hidden", "link"])
def test_names_in_benchmark_files(name):
    rows = [
        {
            "model": name, "weights": "Q4_0", "device": name, "phase": "decode", "tokens_per_s": speed, "prompt_tokens": 0,
            "output_tokens": 10, "params": 1.2e9, "note": name, "tool": name, name: name,
        }
        for speed in (10, 20)
    ]  # fmt: skip
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    content = stream.getvalue().encode()
    app = open_page("measurements_page")
    app.file_uploader[0].upload(f"{name}.csv", content)
    app.file_uploader[0].upload(f"{name}2.csv", b"\x00\x01" * 40)
    app.run()
    assert check(app) > 2
    for page in ("roofline_page", "overview_page"):
        check(go(app, page))
    read = read_benchmark(f"{name}.csv", content)
    assert len(read.rows) == 2


def small_files(name: str) -> dict[str, tuple[str, bytes]]:
    """For each page's upload field, a file that says the name where it is refused or taken."""
    scores = io.StringIO()
    csv.writer(scores).writerows([["format", "score"], [name, "1"]])
    trace = io.StringIO()
    csv.writer(trace).writerows([["arrival_s", "prompt_tokens", name], [name, "1", "1"]])
    whole = {
        "kind": name,
        "version": name,
        name: name,
        "scenario": {name: 1, "model": name, "engine": name, "batch": 2},
    }
    return {
        "share_page": ("scenario_file", json.dumps(whole).encode()),
        "plan_page": ("quality_file", scores.getvalue().encode()),
        "simulate_page": ("sim_trace_0", trace.getvalue().encode()),
        "model_page": ("model_upload", json.dumps({"architectures": [name], "model_type": name}).encode()),
    }


@pytest.mark.parametrize("name", [TAGS, FORMULA, HIDDEN, LINK], ids=["tags", "formula", "hidden", "link"])
@pytest.mark.parametrize("page", small_files(""))
def test_names_in_small_files(page, name):
    key, content = small_files(name)[page]
    app = open_page(page)
    app.session_state["slm_quality"] = True
    app.run()
    app.file_uploader(key=key).upload(
        f"{name}.{'csv' if key.startswith(('q', 'sim')) else 'json'}", content
    ).run()
    # A config that is refused says what it lacks, and nothing of what it holds.
    assert check(app) or page == "model_page"


@pytest.mark.parametrize("name", [TAGS, FORMULA, HIDDEN, LINK], ids=["tags", "formula", "hidden", "link"])
def test_names_in_an_address(name):
    address = dict.fromkeys(("model", "device", "weights", "cache_k", "engine", "batch", "pins", "zz"), name)
    app = open_page("overview_page", **address)
    assert check(app)
    check(go(app, "share_page"))


@pytest.mark.parametrize("page", PICTURES)
@pytest.mark.parametrize("name", [TAGS, FORMULA, LINK], ids=["tags", "formula", "link"])
def test_pictures_of_the_package_escape_what_no_page_has_cleaned(page, name):
    asked: Scenario = scenario(
        {"model": model(name), "device": device(name), "weights": {"id": "w", "name": name, "bits": 4}}
    )
    for picture in PICTURES[page](asked, [Named("A", asked)]):
        text = json_text(picture.figure.to_json() or "")
        found = LIVE_FIGURE.search(text)
        assert not found, text[found.start() - 80 : found.end() + 40]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r=", "\n=", "\uff1d", "a\r="])
def test_no_formula_reaches_a_downloaded_table(start, monkeypatch):
    name = f"{start}cmd|' /C calc'!A0"
    table = pd.DataFrame({name: [name, "plain"], "x": [-1.5, 2.0], "c": pd.Categorical([name, "b"])})
    kept: dict[str, object] = {}
    monkeypatch.setattr(parts.st, "dataframe", lambda *_, **__: None)
    monkeypatch.setattr(parts.st, "download_button", lambda *_, **more: kept.update(more))
    parts.data_table(table, "t.csv")
    text = kept["data"]()
    cells = list(csv.reader(io.StringIO(text, newline="")))
    for cell in [cell for row in cells for cell in row if "cmd" in cell]:
        line = re.sub(r"[\r\n]", " ", name)
        assert cell == (line if start.startswith("a") else f"'{line}")
    assert cells[1][1] == "-1.5"
    assert len(cells) == 3


def test_the_joined_table_holds_no_formula():
    stream = "model,phase,tokens_per_s,device,note,tool\n" + '"=zz()",decode,10,"@zz","+zz","-zz"\n' * 2
    read = read_benchmark("=zz.csv", stream.encode())
    joined = tables.joined(read.rows, compare(read.rows))
    written = tables.download(joined, read.rows)
    for column in written.columns:
        for value in written[column].dropna():
            assert not (isinstance(value, str) and value.startswith(("=", "+", "-", "@"))), (column, value)
