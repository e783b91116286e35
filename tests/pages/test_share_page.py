"""Share: the link, the reports and the scenario file say what travels and what stays."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest

from pages.ui.handing import JUDGED_KEY, own_records
from pages.ui.state import HOUSE_TARGETS
from slmopt.specs.calibration import Calibration
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.scenario_file import to_file
from slmopt.theory.evaluation import evaluate
from slmopt.words import overview
from slmopt.words import share as words
from tests.pages.app import answer, go, open_page, opened, said
from tests.pages.test_scenario_pages import SERVER, SERVER_ADDRESS

OWN = {
    "model": {
        "id": "own",
        "name": "My <b>model</b>",
        "params": 3e9,
        "layers": 20,
        "kv_heads": 4,
        "head_dim": 64,
    },
    "device": {"id": "mine", "name": "My box", "bandwidth_gbs": 77, "peak_tflops": 5, "capacity_gb": 12},
    "weights": {"bits": 4.25},
    "prompt": 1234,
    "cache_v": "q8_0",
    "engine": "llama.cpp",
    "target_ttft_ms": 500.0,
    "target_tpot_ms": 40.0,
}

OPENED = {
    "model": "qwen3-30b-a3b",
    "device": "snapdragon-8-elite",
    "weights": "q8_0",
    "cache_k": "q8_0",
    "cache_v": "f16",
    "engine": "llama.cpp",
    "allocation": "reserved",
    "compute": "int8",
    "peak_tflops": 12.3456789,
    "prompt": 700,
    "draft_tokens": 3,
    "acceptance": 0.75,
    "draft_model": "qwen3-0.6b",
    "draft_heads_gb": 0.25,
    "prefill_chunk_tokens": 512,
    "batching": "static",
    "output_spread": 0.5,
    "residency": "cold",
    "storage_gbs": 3.5,
    "attention_kernels": "unfused",
}


def upload(app, content, name="a.json"):
    app.file_uploader(key="scenario_file").upload(name, content).run()
    assert not app.exception
    return app


def test_the_link_has_the_whole_scenario():
    app = open_page("share_page", **SERVER_ADDRESS)
    link = app.code[0].value
    opened = dict(pair.split("=") for pair in link.partition("?")[2].split("&"))
    assert {"model", "device", "batch", "context", "v"} <= opened.keys()
    assert opened["batch"] == "16"
    assert "/overview?" in link


def test_there_is_a_button_for_every_form():
    app = open_page("share_page")
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels[:4] == ["HTML report", "PowerPoint", "Markdown", "All tables"]
    assert "Download scenario" in labels


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8501/share", True),
        ("http://127.0.0.1/share", True),
        ("http://127.9.9.9/share", True),
        ("http://[::1]:8501/share", True),
        ("http://0.0.0.0:8501/share", True),
        ("", True),
        ("http://192.168.1.5:8501/share", False),
        ("https://tools.example.org/slmopt/share", False),
    ],
)
def test_a_local_address_says_so_and_offers_the_report(url, local):
    assert words.local(url) is local
    assert ("HTML report" in words.answer(url, own=False)) is local
    assert ("local to this machine" in "".join(words.link_notes(url, uploads=False, own=()))) is local


def test_what_the_link_cannot_carry_is_said():
    notes = " ".join(words.link_notes("https://example.org/share", uploads=True, own=["<b>mine"]))
    assert "never travel in a link" in notes
    assert "\\<b\\>mine" in notes
    assert "own" in words.answer("https://example.org/share", own=True)


def test_a_scenario_file_sets_the_whole_panel():
    app = upload(open_page("share_page", prompt="7", draft_tokens="3"), to_file(SERVER).encode())
    assert words.taken(0) in said(app)
    go(app, "overview_page")
    assert answer(app) == overview.answer(evaluate(SERVER)).replace("**", "").replace("\u00a0", " ")
    assert app.number_input(key="prompt").value is None
    assert opened(app, "speculation").number_input(key="draft_tokens").value is None


def test_the_link_follows_a_file_at_once_and_opens_the_same_scenario():
    app = upload(open_page("share_page", batch="8", bandwidth_gbs="500"), to_file(scenario(OPENED)).encode())
    asked = dict(parse_qsl(app.code[0].value.partition("?")[2]))
    assert asked.keys() == {*OPENED, "v"}
    opened = open_page("overview_page", **asked).session_state["_slmopt_valid"]
    assert opened == scenario({**OPENED, **HOUSE_TARGETS})


def test_a_fit_travels_by_file_and_by_link():
    fit = Calibration(overlap="single", bandwidth_gbs=333.3, batched_gbs=300.1, rows=12, batch=(1, 8))
    made = scenario({"device": "rtx-3090", "calibration": fit, **HOUSE_TARGETS})
    app = upload(open_page("share_page"), to_file(made).encode())
    assert words.taken(0) in said(app)
    assert app.session_state["_slmopt_valid"] == made
    asked = dict(parse_qsl(app.code[0].value.partition("?")[2]))
    assert open_page("overview_page", **asked).session_state["_slmopt_valid"] == made
    upload(app, to_file(made.change(calibration=None)).encode(), "b.json")
    assert app.session_state["_slmopt_valid"].calibration is None


def test_own_records_come_back_and_are_named():
    made = scenario(OWN)
    assert own_records(made) == ["My <b>model</b>", "My box", made.weights.name]
    app = upload(open_page("share_page"), to_file(made).encode())
    assert words.taken(0) in said(app)
    held = app.session_state["_slmopt_valid"]
    assert held.model.params == 3e9
    assert held.device.bandwidth_gbs == 77
    assert held.weights.bits == 4.25
    assert held.change(model="llama-3.1-8b", device="rtx-4090", weights="q4_k_m") == made.change(
        model="llama-3.1-8b", device="rtx-4090", weights="q4_k_m"
    )
    assert "record of your own stays in this session" in said(app)
    assert "<b>" not in said(app)


def test_what_the_panel_cannot_hold_is_said():
    values = {
        "prompt": 50,
        "attention_tflops": 5,
        "warp": 1,
        "model": "no-such-model",
        "cache_k": {"bits": 5},
    }
    app = upload(open_page("share_page"), json.dumps({"version": 1, "scenario": values}).encode())
    shown = said(app).replace("\\", "")
    assert words.taken(4) in shown
    for word in ("attention_tflops", "warp", "no-such-model", "cache_k"):
        assert word in shown
    assert app.session_state["_slmopt_valid"].prompt == 50


def test_what_is_no_scenario_file_changes_nothing():
    app = upload(open_page("share_page", prompt="77"), b"PK\x03\x04")
    assert "no scenario file" in said(app)
    assert app.session_state["_slmopt_valid"].prompt == 77


@pytest.mark.parametrize("case", library().cases)
def test_every_ready_case_comes_back_through_its_file(case):
    made = library().cases[case].scenario
    app = upload(open_page("share_page"), to_file(made).encode())
    held = app.session_state["_slmopt_valid"]
    same = {name: getattr(held, name) for name in Scenario.model_fields if not name.startswith("target_")}
    assert same == {name: getattr(made, name) for name in same}


def test_a_link_that_left_files_behind_says_so():
    assert words.LEFT_FILES in said(open_page("overview_page", files="1"))
    assert words.LEFT_FILES not in said(open_page("overview_page"))


def test_a_link_of_a_session_with_files_is_marked():
    app = open_page("measurements_page")
    rows = (
        b"model,weights,phase,prompt_tokens,output_tokens,tokens_per_s\nLlama-3.2-1B,Q4_0,decode,0,128,50\n"
    )
    app.file_uploader[0].upload("rows.csv", rows).run()
    app.run()
    assert app.session_state[JUDGED_KEY] is not None
    go(app, "share_page")
    assert "files=1" in app.code[0].value
    assert "the page that opens says so" in said(app)
    assert words.LEFT_FILES not in said(app)
