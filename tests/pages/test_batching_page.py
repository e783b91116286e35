"""Batching shows the package's numbers: from an address, after a preset, an edit, its own sliders."""

import pytest

from slmopt.specs.scenario import scenario
from slmopt.theory.batch_points import batching_view
from slmopt.theory.evaluation import evaluate
from slmopt.words import batching as words
from tests.figures.roof_cases import CASES, SERVER, TARGETS
from tests.pages.app import answer, figures, open_page, opened, said, slider
from tests.pages.app import shows as shows_words
from tests.pages.test_roofline_page import ADDRESS


def shows(app, case):
    """Whether answer and tiles are those of the case."""
    view = batching_view(evaluate(case))
    return shows_words(app, words.answer(view), words.tiles(view))


def test_an_address_brings_the_articles_numbers():
    app = open_page("batching_page", **ADDRESS)
    assert shows(app, SERVER)
    text = said(app)
    for number in (
        "≤ 673",
        "≤ 42.1",
        "31",
        "785 tokens/s",
        "39.5 ms a step",
        "never",
        "weights alone would say 200",
    ):
        assert number in text


def test_the_figures_say_their_findings():
    drawn = figures(open_page("batching_page", **ADDRESS))
    assert "16 sequences already earn 86" in drawn
    assert "From 7 sequences on, the cache costs more than the weights" in drawn
    assert "limit 954" in drawn


def test_a_preset_and_an_edit_change_the_numbers():
    app = open_page("batching_page", **ADDRESS)
    app.selectbox(key="model").set_value("7B, 8 KV heads (article)").run()
    assert shows(app, SERVER.change(model="article-7b-gqa"))
    opened(app, "targets").number_input(key="target_tpot_ms").set_value(10.0).run()
    assert shows(app, SERVER.change(model="article-7b-gqa", target_tpot_ms=10.0))


def test_the_page_s_own_sliders_show_batch_and_context():
    app = open_page("batching_page", **ADDRESS)
    assert slider(app, "_slider_batching_context") == "4,000"
    app.number_input(key="batch").set_value(32).run()
    assert slider(app, "_slider_batching_batch") == "32"
    app.number_input(key="context").set_value(1000).run()
    assert slider(app, "_slider_batching_context") == "1,000"
    assert shows(app, SERVER.change(batch=32, context=1000))


def test_the_context_slider_starts_at_prompt_and_output():
    app = open_page("batching_page", prompt="700", output="50")
    assert slider(app, "_slider_batching_context") == "750"
    assert shows(app, scenario({**TARGETS, "prompt": 700, "output": 50}))


@pytest.mark.parametrize(
    "address",
    [
        {"model": "Llama-3.2-1B", "device": "Qualcomm Snapdragon 8 Elite", "prompt": "1000"},
        {"model": "Qwen3-30B-A3B", "device": "NVIDIA H100 SXM 80 GB", "batch": "64"},
        {"model": "SmolLM2-135M", "device": "AMD EPYC, 2 virtual cores (this project's sweep)"},
        {"model": "Llama-3.1-70B", "device": "NVIDIA GeForce RTX 4090"},
        {"model": "Mamba-2.8B", "device": "NVIDIA L4", "batch": "8"},
        {"context": "0"},
        {"batch": "10000000"},
        {"output": "1", "prompt": "1"},
        {"bandwidth_gbs": "0.001", "peak_tflops": "0.0001"},
    ],
    ids=["phone", "experts", "cpu", "too-large", "state", "no-cache", "huge-batch", "one-token", "tiny"],
)
def test_no_scenario_breaks_the_page(address):
    assert not open_page("batching_page", **address).exception


def test_what_does_not_fit_is_an_answer():
    app = open_page("batching_page", model="Llama-3.1-70B", device="NVIDIA GeForce RTX 4090", batch="4")
    assert shows(app, CASES["nothing fits"])
    assert "Nothing to batch" in answer(app)
