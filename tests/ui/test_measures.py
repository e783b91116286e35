"""The reader's units on every page: no page shows two, the address carries the choice, the scenario does not change."""

from __future__ import annotations

import html
import json
import re

import pytest

from pages.ui import ahead, measures
from pages.ui.field_list import FIELDS
from pages.ui.sitemap import PAGES
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.order import stack
from slmopt.specs.scenario import scenario
from slmopt.words import units
from tests.pages.app import figures, go, open_page, opened, said, title
from tests.ui.test_ahead import _figures, _question, post

DECIMAL = re.compile(r"\b[kMGT]B\b(?!/s)")
BINARY = re.compile(r"\b[KMGT]iB\b")
# Method tells the two apart, and explains in the units of its sources; Share names the files' own limits.
BOTH = {"method"}


def _words(app: object) -> str:
    text = said(app) + figures(app)  # type: ignore[arg-type]
    return html.unescape(text.replace("\\302\\240", " "))


@pytest.mark.parametrize("page", [page.url_path for page in PAGES if page.url_path not in BOTH])
@pytest.mark.parametrize("sizes", ["GB", "GiB"])
def test_no_page_mixes_units(page: str, sizes: str):
    app = open_page(f"{page.replace('-', '_')}_page", sizes=sizes, capacity_gb="30")
    wrong = (DECIMAL if sizes == "GiB" else BINARY).findall(_words(app))
    assert wrong == []
    assert app.session_state["capacity_gb"] == 30
    labels = [field.label for field in app.sidebar.number_input if "slm_unseen" not in str(field.proto)]
    assert f"Memory ({sizes}) · changed" in labels


def test_a_field_in_gib_writes_the_scenario_in_gb():
    app = open_page("memory_page", sizes="GiB")
    view = app.sidebar.number_input(key="_view_capacity_gb")
    assert view.value is None
    view.set_value(24.0).run()
    assert app.session_state["capacity_gb"] == pytest.approx(24 * 2**30 / 1e9)
    assert app.sidebar.number_input(key="_view_capacity_gb").value == pytest.approx(24.0)
    go(app, "overview_page")
    assert "24 GiB" in said(app)
    app.sidebar.button_group(key="sizes").set_value("GB").run()
    assert app.sidebar.number_input(key="capacity_gb").value == pytest.approx(25.769803776)
    assert "25.8 GB" in said(app)


def test_what_a_slider_foresees_is_in_the_reader_s_units():
    held = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
    with units.using(units.Units("GiB")):
        (drawn,) = ahead.foreseen("memory", held, "batch", [8])
    assert "GiB" in drawn["memory_what_ifs"]
    assert "slm_unseen" not in drawn
    assert FIELDS["capacity_gb"].label.endswith("(GB)")


def test_readers_of_different_units_share_no_cached_words():
    for sizes, wrong in (("GB", BINARY), ("GiB", DECIMAL), ("GB", BINARY)):
        assert wrong.findall(_words(open_page("plan_page", sizes=sizes))) == []


TIMED = re.compile(r"Time per token|time per token|\bms a token")
SPEED = re.compile(r"Each user \(|[Ee]ach user's speed|each user [\d.,]+× (?:faster|slower)")


@pytest.mark.parametrize("page", [page.url_path for page in PAGES if page.url_path not in BOTH])
@pytest.mark.parametrize("speed", ["ms", "tokens/s"])
def test_no_page_says_a_user_s_speed_in_two_ways(page: str, speed: str):
    app = open_page(f"{page.replace('-', '_')}_page", speed=speed, target_tpot_ms="20")
    # The panel's hidden field, under its scenario's name, is no part of what is read.
    assert (TIMED if speed == "tokens/s" else SPEED).findall(_words(app)) == []
    assert (
        title(app, "targets").replace("\u00a0", " ")
        == f"Targets · 500 ms, {'50 tokens/s' if speed == 'tokens/s' else '20 ms'}"
    )
    assert app.session_state["target_tpot_ms"] == 20


def test_the_target_is_entered_as_a_speed_and_kept_in_ms():
    app = opened(open_page("overview_page", speed="tokens/s"), "targets")
    view = app.sidebar.number_input(key="_view_target_tpot_ms")
    assert view.label == "Each user (tokens/s)"
    assert view.placeholder == "25"
    assert view.help.startswith("Tokens a second of one reply")
    view.set_value(206.0).run()
    held = app.session_state["target_tpot_ms"]
    assert held == pytest.approx(1e3 / 206)
    assert app.session_state["speed"] == "tokens/s"
    view = app.sidebar.number_input(key="_view_target_tpot_ms")
    assert view.value == pytest.approx(206.0)
    assert view.label == "Each user (tokens/s) · changed"
    assert "Preset: 25" in said(app)
    assert "target 206" in said(app)
    app.sidebar.button_group(key="speed").set_value("ms").run()
    field = app.sidebar.number_input(key="target_tpot_ms")
    assert (field.label, field.value) == ("Time per token (ms) · changed", held)
    assert "target 4.85" in said(app)
    app.sidebar.button_group(key="speed").set_value("tokens/s").run()
    app.sidebar.number_input(key="_view_target_tpot_ms").set_value(None).run()
    assert app.session_state["target_tpot_ms"] is None
    assert "target 25" in said(app)


@pytest.mark.parametrize("entered", [0.0, -3.0])
def test_what_is_no_speed_is_refused_and_can_be_mended(entered: float):
    app = opened(open_page("overview_page", speed="tokens/s"), "targets")
    app.sidebar.number_input(key="_view_target_tpot_ms").set_value(entered).run()
    assert not app.exception
    assert "target_tpot_ms" in said(app)
    assert app.sidebar.number_input(key="_view_target_tpot_ms").value == entered
    app.sidebar.number_input(key="_view_target_tpot_ms").set_value(50.0).run()
    assert app.session_state["target_tpot_ms"] == 20.0
    assert "target 50" in said(app)


def test_stacks_and_smallest_changes_share_no_cached_words():
    held = scenario({"residency": "cold", "target_ttft_ms": 1000.0})
    for sizes, wrong in (("GB", BINARY), ("GiB", DECIMAL), ("GB", BINARY)):
        with units.using(units.Units(sizes)):
            steps = stack(held, "ttft", "best").steps
            ways = [way for _, found in smallest_changes(held) for way in found]
        told = " ".join([*(step.change.what for step in steps), *(way.change for way in ways)])
        assert "for the file of" in told
        assert wrong.findall(told.replace("\u00a0", " ")) == []


def test_both_switches_hold_together():
    app = open_page("overview_page", sizes="GiB", speed="tokens/s")
    assert "Each user (tokens/s)" in said(app)
    assert "4.57 GiB" in said(app)
    assert measures.KEYS == ("sizes", "speed")


def test_the_link_carries_what_is_not_usual():
    link = open_page("share_page", speed="tokens/s").code[0].value
    assert "speed=tokens%2Fs" in link
    assert "sizes=" not in link
    assert "speed=" not in open_page("share_page").code[0].value


def test_the_question_ahead_carries_units_only_where_they_are_not_usual():
    assert not {"sizes", "speed"} & set(_question(open_page("overview_page")))
    app = open_page("overview_page", sizes="GiB", speed="tokens/s")
    asked = _question(app)
    assert (asked["sizes"], asked["speed"]) == ("GiB", "tokens/s")
    status, body = post({**asked, "field": "prompt", "values": [2000]})
    assert status == 200
    (drawn,) = json.loads(body)
    shown = _figures(app)
    assert {key: shown[key] for key in drawn} == drawn
    assert "tokens/s" in drawn["overview_targets"]
    _, body = post({**asked, "field": "prompt", "values": [2000], "speed": ["no", "unit"]})
    assert "Time per token" in json.loads(body)[0]["overview_targets"]


def test_solving_takes_the_target_as_it_is_read():
    app = open_page("plan_page", speed="tokens/s")
    app.session_state["slm_solve"] = True
    app.run()
    assert "just gives a speed of at least 50 tokens/s a user by the typical estimate" in said(app)
    app.number_input(key="solve_speed").set_value(100.0).run()
    assert "speed of at least 100 tokens/s a user" in said(app)
    app.sidebar.button_group(key="speed").set_value("ms").run()
    assert "just gives a time per token of at most 20 ms by the typical estimate" in said(app)
