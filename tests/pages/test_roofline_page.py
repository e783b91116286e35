"""The Roofline shows the package's numbers: from an address, after a preset, an edit, its own sliders."""

import pytest

from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.operators import operators_view
from slmopt.theory.roofline_points import roofline_view
from slmopt.words import roofline as words
from tests.figures.roof_cases import CASES, SERVER
from tests.pages.app import figures, go, open_page, said, slider
from tests.pages.app import shows as shows_words
from tests.pages.uploaded import on_the_roofline

ADDRESS = {
    "model": "7B, 32 KV heads (article)",
    "device": "80 GB card, 2 TB/s, 400 TFLOPS (article)",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "batch": "16",
    "context": "4000",
}


def shows(app, case):
    """Whether answer and tiles are those of the case."""
    view = roofline_view(evaluate(case))
    return shows_words(app, words.answer(view), words.tiles(view))


def test_an_address_brings_the_articles_numbers():
    app = open_page("roofline_page", **ADDRESS)
    assert shows(app, SERVER)
    text = said(app)
    for number in (
        "6.68 FLOP/byte",
        "200",
        "4.71",
        "2,000",
        "≤ 9.42",
        "42.5× left of the ridge",
        "2 % of the peak",
    ):
        assert number in text


def test_the_figures_say_their_findings():
    drawn = figures(open_page("roofline_page", **ADDRESS))
    assert "Batching stops 30 times short of the ridge" in drawn
    assert "Above 133 cached tokens no batch reaches the ridge" in drawn
    assert "measured" not in drawn


def test_a_preset_and_an_edit_change_the_numbers():
    app = open_page("roofline_page", **ADDRESS)
    app.selectbox(key="model").set_value("7B, 8 KV heads (article)").run()
    assert shows(app, SERVER.change(model="article-7b-gqa"))
    app.number_input(key="batch").set_value(64).run()
    assert shows(app, SERVER.change(model="article-7b-gqa", batch=64))


def test_the_page_s_own_sliders_show_the_fields():
    app = open_page("roofline_page", **ADDRESS)
    assert slider(app, "_slider_roofline_bandwidth_gbs") == "2,000"
    app.number_input(key="peak_tflops").set_value(1000.0).run()
    assert slider(app, "_slider_roofline_peak_tflops") == "1,000"
    assert slider(app, "_slider_panel_peak_tflops") == "1,000"
    assert shows(app, SERVER.change(peak_tflops=1000.0))


def test_a_value_between_the_stops_is_shown_as_it_is():
    app = open_page("roofline_page", **ADDRESS)
    assert slider(app, "_slider_roofline_peak_tflops") == "400"
    app.number_input(key="peak_tflops").set_value(321.0).run()
    assert slider(app, "_slider_roofline_peak_tflops") == "321"


def test_an_unknown_rate_is_asked_for():
    phone = CASES["no rate known"]
    app = open_page(
        "roofline_page", model="Llama-3.2-1B", device="Qualcomm Snapdragon 8 Elite", prompt="1000"
    )
    assert shows(app, phone)
    assert "No matrix rate is known" in figures(app)
    assert slider(app, "_slider_roofline_peak_tflops") == "–"
    app.number_input(key="peak_tflops").set_value(2.0).run()
    assert not app.exception
    assert shows(app, phone.change(peak_tflops=2.0))


def test_uploaded_rows_are_drawn():
    app = open_page("roofline_page", **ADDRESS)
    held = on_the_roofline()
    app.session_state["_slmopt_measured_points"] = held
    app.run()
    assert not app.exception
    assert [point.label for point in held.points] == ["Llama-3.1-8B Q4_0, tg128"]
    assert held.points[0].label in figures(app)


def test_the_scenario_survives_the_way_to_batching():
    app = open_page("roofline_page", **ADDRESS)
    app.number_input(key="bandwidth_gbs").set_value(1000.0).run()
    go(app, "batching_page")
    assert app.number_input(key="bandwidth_gbs").value == 1000
    go(app, "roofline_page")
    assert shows(app, SERVER.change(bandwidth_gbs=1000.0))


@pytest.mark.parametrize(
    "address",
    [
        {"model": "Qwen3-30B-A3B", "device": "NVIDIA H100 SXM 80 GB", "batch": "64"},
        {"model": "SmolLM2-135M", "device": "AMD EPYC, 2 virtual cores (this project's sweep)"},
        {"model": "Llama-3.1-70B", "device": "NVIDIA GeForce RTX 4090"},
        {"model": "Mamba-2.8B", "device": "NVIDIA L4", "batch": "8"},
        {"context": "0"},
        {"batch": "10000000"},
        {"bandwidth_gbs": "0.001", "peak_tflops": "0.0001"},
    ],
    ids=["experts", "cpu", "too-large", "state", "no-cache", "huge-batch", "tiny"],
)
def test_no_scenario_breaks_the_page(address):
    assert not open_page("roofline_page", **address).exception


def test_operators_of_both_phases():
    app = open_page("roofline_page", model="Qwen3-30B-A3B")
    view = operators_view(evaluate(scenario({"model": "qwen3-30b-a3b", "target_ttft_ms": 500.0})))
    assert "of a decode step" in figures(app)
    app.button_group(key="roofline_phase").set_value("prefill").run()
    assert not app.exception
    assert "of a prefill" in figures(app)
    assert "of a decode step" not in figures(app)
    table = app.session_state["_slmopt_tables"]["roofline_operators_prefill"].numbers()
    assert len(table) == len(view.decode) + len(view.prefill)
