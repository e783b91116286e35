"""Pinned scenarios: written into the address and read back, shown beside the present one, returned to, let go."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from pages.ui import pins
from slmopt.specs.calibration import Calibration
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from tests.pages.app import go, open_page, said

PINNED = [
    Scenario(batch=16, target_ttft_ms=500.0, target_tpot_ms=40.0),
    Scenario(weights="q8_0", device="h100-sxm-80gb", cache_v="q8_0", engine="vllm", bandwidth_gbs=2000.0),
    Scenario(model="qwen3-30b-a3b", acceptance=0.7, draft_tokens=3, draft_model="llama-3.2-1b"),
]


def _packed(value: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode().rstrip("=")


def test_what_is_written_is_read():
    text = pins.write(PINNED)
    assert pins.read(text) == (PINNED, "")
    assert len(text) < 400
    assert pins.write([]) == ""
    assert pins.read("") == ([], "")


def test_a_model_of_one_s_own_stays_in_the_session():
    own = library().models["llama-3.2-1b"]
    assert pins.read(pins.write([Scenario(model=own), PINNED[0]])) == ([PINNED[0]], "")


FIT = Calibration(
    overlap="single",
    bandwidth_gbs=33.41,
    batched_gbs=27.62,
    matrix_tflops=0.1913,
    attention_tflops=0.02113,
    fixed_ms=2.317,
    cache_step=256,
    batch=(1, 32),
    context=(0.5, 2048),
    prompt=(16, 4096),
    weights_gb=(0.09121, 2.513),
    rows=95,
    error=0.1161,
)


def test_a_link_brings_the_fits_of_pinned_scenarios_along():
    fitted = [
        Scenario(batch=batch, calibration=FIT.model_copy(update={"bandwidth_gbs": 30.17 + batch}))
        for batch in (1, 2, 3)
    ]
    text = pins.write(fitted)
    assert pins.read(text) == (fitted, "")
    assert len(text) < 1000


def test_going_back_to_a_pinned_scenario_brings_its_fit():
    pinned = [Scenario(batch=4, calibration=FIT), Scenario(batch=2)]
    app = open_page("overview_page", pins=pins.write(pinned))
    app.button(key="go_A").click().run()
    assert not app.exception
    assert Calibration.parse(app.session_state["fit"]) == FIT
    assert "Drop the fit" in [button.label for button in app.button]
    assert "estimates fitted to your rows" in said(app)
    app.button(key="go_B").click().run()
    assert not app.exception
    assert not app.session_state["fit"]
    assert "estimates fitted to your rows" not in said(app)


@pytest.mark.parametrize(
    "text",
    ["x", "é", "A" * 5000, _packed({"a": 1})[:-4], _packed(3), _packed([1, 2]), _packed("x"), _packed([])],
)
def test_a_broken_address_says_so_in_one_sentence(text):
    found, lost = pins.read(text)
    assert found == []
    assert lost.startswith("The pinned scenarios of this link could not be read")


def test_a_bomb_is_not_unpacked():
    found, lost = pins.read(base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000, 9)).decode())
    assert found == []
    assert lost


def test_what_cannot_be_restored_is_named_and_the_rest_kept():
    found, lost = pins.read(_packed([1, {"batch": 4}, {"model": "no-such-model"}]))
    assert found == [Scenario(batch=4)]
    assert "no-such-model" in lost
    assert lost.startswith("A pinned scenario of this link could not be restored")
    assert "older link" in pins.read(_packed([0, {"model": "no-such-model"}]))[1]


def test_pinning_shows_both_and_the_address_carries_it():
    app = open_page("overview_page", batch="16")
    app.button(key="pin").click().run()
    assert not app.exception
    app.number_input(key="batch").set_value(1).run()
    text = said(app)
    assert "Scenario" in text
    assert "16 sequences" in text
    assert "1 sequence" in text
    carried = app.query_params["pins"]
    found, lost = pins.read(carried if isinstance(carried, str) else carried[0])
    assert [one.batch for one in found] == [16]
    assert lost == ""
    go(app, "batching_page")
    assert "Unpin A" in [button.label for button in app.button]


def test_going_back_to_a_pinned_scenario_restores_every_field():
    app = open_page("overview_page", pins=pins.write(PINNED))
    app.button(key="go_B").click().run()
    assert not app.exception
    assert app.selectbox(key="device").value == library().devices["h100-sxm-80gb"].name
    assert app.selectbox(key="cache_v").value == library().caches["q8_0"].name
    assert app.selectbox(key="engine").value == "vllm"
    assert app.number_input(key="bandwidth_gbs").value == 2000
    app.button(key="go_C").click().run()
    assert not app.exception
    assert app.selectbox(key="draft_model").value == library().models["llama-3.2-1b"].name
    assert app.number_input(key="draft_tokens").value == 3
    assert app.number_input(key="bandwidth_gbs").value is None


def test_unpinning_moves_the_letters_up():
    app = open_page("overview_page", pins=pins.write(PINNED))
    assert "pin" not in [button.key for button in app.button]
    app.button(key="unpin_A").click().run()
    assert not app.exception
    assert [button.label for button in app.button if button.label.startswith("Unpin")] == [
        "Unpin A",
        "Unpin B",
    ]
    for letter in "BA":
        app.button(key=f"unpin_{letter}").click().run()
    assert "Unpin A" not in [button.label for button in app.button]
    assert "Sequences that fit</th>" not in "".join(e.proto.body for e in app.get("html"))


def test_a_broken_link_says_so_on_the_page_and_nothing_else_is_lost():
    app = open_page("overview_page", pins="broken", batch="8")
    assert "could not be read" in said(app)
    assert app.number_input(key="batch").value == 8


@pytest.mark.parametrize(
    "page", ["roofline", "batching", "memory", "first_token", "speculation", "plan", "measurements", "model"]
)
def test_every_page_stands_pinned_scenarios(page):
    app = open_page(f"{page}_page", pins=pins.write(PINNED))
    assert not app.exception
