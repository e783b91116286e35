"""Figures ahead: what a moving thumb is shown is to the letter what the page then sends."""

from __future__ import annotations

import asyncio
import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.applications import Starlette

from pages.ui import ahead, pins, sitemap
from pages.ui.judging import SAMPLE_DEVICE
from slmopt.serving.asked import choices
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from tests.pages.app import open_page
from tests.pages.uploaded import on_the_roofline

ASKED = {"page": "overview", "field": "bandwidth_gbs", "scenario": {}, "values": [500.0]}
# A field of each page that changes a figure there, and a value for it.
MOVES: dict[str, tuple[str, Any]] = {
    "overview": ("bandwidth_gbs", 500.0),
    "roofline": ("peak_tflops", 50.0),
    "batching": ("batch", 32),
    "memory": ("context", 20000),
    "first-token": ("prompt", 2000),
    "speculation": ("bandwidth_gbs", 500.0),
    "measurements": ("bandwidth_gbs", 30.0),
    "plan": ("weight_bits", 8.0),
    "model": ("weight_bits", 8.0),
    "simulate": ("bandwidth_gbs", 500.0),
}


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine must not make a run too long to be foreseen."""
    monkeypatch.setattr(ahead, "_LONGEST_RUN_S", 60.0)


def post(question: Any, accept: str = "") -> tuple[int, bytes]:
    """Status and body of the route's answer; bytes are sent as they are."""
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/ahead",
        "raw_path": b"/ahead",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"accept-encoding", accept.encode())],
    }
    app = Starlette(routes=[ahead.ROUTE])
    # In a thread of its own: where browser tests ran before, this one has a loop already.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def _figures(app) -> dict[str, str]:
    sent = {e.proto.id.split("-", 2)[2]: e.proto.bytes.decode() for e in app.get("bidi_component")}
    return {key: text for key, text in sent.items() if not key.startswith(("_slider", "slm_guide"))}


def _question(app) -> dict[str, Any]:
    told = [e.proto for e in app.get("bidi_component") if "_slider_panel_bandwidth_gbs" in e.proto.id]
    return json.loads(told[0].bytes)["ahead"]


# Pages without a figure.
STILL = {"share", "method"}


def test_every_other_page_with_figures_can_be_foreseen():
    assert ahead.FORESEEN == set(MOVES) == {page.url_path for page in sitemap.PAGES} - STILL


@pytest.mark.parametrize("page", sorted(STILL))
def test_pages_without_figures_ask_for_none(page):
    assert _question(open_page(sitemap.entry(page).file.stem)) is None


@pytest.mark.parametrize("page", MOVES)
def test_what_is_foreseen_is_what_the_page_then_sends(page):
    field, value = MOVES[page]
    device = library().devices[SAMPLE_DEVICE].name
    app = open_page(sitemap.entry(page).file.stem, device=device, prompt="1000", target_ttft_ms="700")
    question = _question(app)
    assert question["page"] == page
    held = {name: held for name, held in question["scenario"].items() if name != field}
    chosen = choices(question.get("choices", {}))
    (foreseen,) = ahead.foreseen(page, held, field, [value], chosen=chosen)
    before = _figures(app)
    app.number_input(key=field).set_value(value).run()
    assert not app.exception
    after = _figures(app)
    # Beside them, the figures of a choice on the page that is not made now.
    assert after.items() <= foreseen.items()
    assert after != before


def test_simulate_is_foreseen_with_what_its_own_fields_say():
    fields = {
        "sim_requests": "40",
        "sim_slots": "4",
        "sim_rate": "3",
        "sim_budget": "300",
    }
    app = open_page("simulate_page", **fields, sim_hit="0.5", sim_seed="7")
    app.selectbox(key="sim_policy").set_value("chunked").run()
    question = _question(app)
    status, body = post({**question, "values": [500.0]})
    assert status == 200
    app.number_input(key="bandwidth_gbs").set_value(500.0).run()
    shown = _figures(app)
    assert "Chunked" in shown["simulate_timeline_0"]
    assert shown.items() == json.loads(body)[0].items()


def test_runs_that_take_long_are_not_foreseen():
    assert _question(open_page("simulate_page", sim_rate="1", sim_requests="1001")) is None


def test_choices_that_contradict_each_other_foresee_nothing():
    """And the panel stands, so that the entry can be mended."""
    app = open_page("simulate_page", sim_budget="2")
    assert _question(app) is not None
    assert _question(app.selectbox(key="sim_policy").set_value("chunked").run()) is None


def test_a_run_that_outlasts_the_thumb_has_no_figures(monkeypatch):
    monkeypatch.setattr(ahead, "_LONGEST_RUN_S", 0.0)
    # No other test's run, which would be kept.
    question = {**ASKED, "page": "simulate", "scenario": {"prompt": 1234, "output": 123}}
    assert post(question) == (200, b"[{}]")


def test_pinned_scenarios_stand_beside_what_is_foreseen():
    app = open_page("overview_page", pins=pins.write([Scenario(batch=16), Scenario(weights="q8_0")]))
    question = _question(app)
    assert list(question["pinned"]) == ["A", "B"]
    status, body = post({**question, "field": "bandwidth_gbs", "values": [500.0]})
    assert status == 200
    app.number_input(key="bandwidth_gbs").set_value(500.0).run()
    assert _figures(app).items() <= json.loads(body)[0].items()


def test_what_others_measured_is_not_foreseen():
    """The figure then shows more than follows from the scenario."""
    app = open_page("measurements_page")
    assert _question(app) is not None
    (switch,) = [box for box in app.toggle if box.label.startswith("Others with this chip")]
    switch.set_value(True).run()
    assert not app.exception
    assert _question(app) is None


def test_a_fitted_scenario_is_foreseen_with_its_fit():
    device = library().devices[SAMPLE_DEVICE].name
    app = open_page(
        "overview_page", device=device, fit='{"bandwidth_gbs": 20, "batched_gbs": 15, "fixed_ms": 2}'
    )
    question = _question(app)
    app.number_input(key="batch").set_value(8).run()
    (foreseen,) = ahead.foreseen("overview", question["scenario"], "batch", [8])
    assert _figures(app).items() <= foreseen.items()
    held = {name: value for name, value in question["scenario"].items() if name != "calibration"}
    assert [foreseen] != ahead.foreseen("overview", held, "batch", [8])


def test_a_wrong_entry_foresees_nothing():
    app = open_page("overview_page")
    app.number_input(key="bandwidth_gbs").set_value(-1.0).run()
    assert _question(app) is None


def test_rows_of_an_upload_are_not_foreseen():
    app = open_page("roofline_page")
    assert _question(app) is not None
    app.session_state["_slmopt_measured_points"] = on_the_roofline()
    assert _question(app.run()) is None


def test_the_answer_follows_the_order_of_the_values():
    status, body = post({**ASKED, "values": [100.0, -1.0, 1000.0]})
    assert status == 200
    first, wrong, last = json.loads(body)
    assert wrong == {}
    assert [first] == ahead.foreseen("overview", {}, "bandwidth_gbs", [100.0])
    assert [last] == ahead.foreseen("overview", {}, "bandwidth_gbs", [1000.0])


def test_the_answer_is_compressed_where_the_browser_can_read_it():
    _, body = post(ASKED, accept="gzip, br")
    assert json.loads(gzip.decompress(body)) == ahead.foreseen("overview", {}, "bandwidth_gbs", [500.0])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        {**ASKED, "page": "start"},
        {**ASKED, "page": {}},
        {**ASKED, "field": "memory"},
        {**ASKED, "field": []},
        {**ASKED, "scenario": 3},
        {**ASKED, "values": 3},
        {**ASKED, "values": [1.0] * 5},
        {**ASKED, "pinned": [1]},
        {**ASKED, "choices": 3},
        {**ASKED, "page": "simulate", "choices": {"requests": 10**9}},
        {**ASKED, "pinned": {"A": {"batch": 0}}},
        {**ASKED, "pinned": {letter: {} for letter in "ABCD"}},
        b" " * 1_000_001,
    ],
)
def test_what_is_no_question_is_refused_in_one_sentence(body):
    status, answer = post(body)
    assert status == 400
    assert json.loads(answer)["error"].endswith(".")


@pytest.mark.parametrize("value", ["x", {}, [], -1.0, 0.0])
def test_a_value_that_makes_no_scenario_has_no_figures(value):
    assert post({**ASKED, "values": [value]}) == (200, b"[{}]")


def test_an_unknown_model_has_no_figures():
    assert post({**ASKED, "scenario": {"model": "../../etc/passwd"}}) == (200, b"[{}]")
