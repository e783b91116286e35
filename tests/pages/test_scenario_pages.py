"""Shown numbers equal the package's: as opened, after an edit, after a page switch, from an address."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import sitemap
from slmopt.advice.plan import plan
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import longest_context
from slmopt.words import memory, numbers, overview
from slmopt.words import plan as plan_words
from tests.pages.app import MAIN, answer, go, open_page, opened, said

SERVER_ADDRESS = {
    "model": "7B, 32 KV heads (article)",
    "device": "80 GB card, 2 TB/s, 400 TFLOPS (article)",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "batch": "16",
    "context": "4000",
}
SERVER = scenario(
    {
        "model": "article-7b",
        "device": "article-80gb",
        "weights": "16-bit",
        "cache_k": "16-bit",
        "batch": 16,
        "context": 4000,
        "target_ttft_ms": 500.0,
        "target_tpot_ms": 40.0,
    }
)
TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
PAGES = ["overview_page", "memory_page", "first_token_page", "speculation_page", "plan_page"]


def plain(text: str) -> str:
    return text.replace("**", "").replace("\u00a0", " ")


def test_the_first_screen_is_a_finished_case():
    app = open_page("overview_page")
    assert not app.exception
    assert answer(app) == plain(overview.answer(evaluate(scenario(TARGETS))))


def test_an_address_brings_the_articles_server():
    shown = said(open_page("overview_page", **SERVER_ADDRESS))
    for number in ("33.6 GB", "47.6 GB", "673 tokens/s", "≥ 70.0", "≥ 15.8", "31"):
        assert number in shown
    assert "context 4,000" in shown


def test_fields_that_a_link_changes_say_so_on_the_first_run():
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    app.query_params["prompt"], app.query_params["output"] = "700", "300"
    app.run()
    first = [app.number_input(key=key).label for key in ("prompt", "output", "batch")]
    assert first == ["Prompt (tokens) · changed", "Output (tokens) · changed", "Sequences at once"]
    assert "Preset: prompt 2,000, output 200" in said(app)
    app.run()
    assert [app.number_input(key=key).label for key in ("prompt", "output", "batch")] == first
    app.number_input(key="output").set_value(None).run()
    assert app.number_input(key="output").label == "Output (tokens)"
    assert "Preset: prompt 2,000]" in said(app)


@pytest.mark.parametrize("text", ["abc", "", "7.5", "nan", "1e999"])
def test_what_a_field_does_not_take_from_a_link_is_no_change(text):
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    app.query_params["prompt"] = text
    app.run()
    assert not app.exception
    field = app.number_input(key="prompt")
    assert (field.value is not None) == field.label.endswith("changed")


def test_a_link_in_other_units_shows_its_values_at_once():
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    for name, text in {
        "sizes": "GiB",
        "speed": "tokens/s",
        "capacity_gb": "48",
        "target_tpot_ms": "25",
    }.items():
        app.query_params[name] = text
    app.run()
    memory, speed = (app.number_input(key=f"_view_{name}") for name in ("capacity_gb", "target_tpot_ms"))
    assert (memory.label, round(memory.value, 4)) == ("Memory (GiB) · changed", 44.7035)
    assert (speed.label, speed.value) == ("Each user (tokens/s) · changed", 40)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_speaks_of_the_scenario_in_the_address(page):
    shown = said(open_page(page, **SERVER_ADDRESS))
    assert "7B, 32 KV heads" in shown.replace("\\", "")
    assert "context 4,000" in shown


def test_an_edit_changes_the_answer_to_the_packages():
    app = open_page("overview_page", **SERVER_ADDRESS)
    app.number_input(key="bandwidth_gbs").set_value(1000.0).run()
    assert answer(app) == plain(overview.answer(evaluate(SERVER.change(bandwidth_gbs=1000.0))))
    assert "Preset: 2,000" in said(app)
    app.number_input(key="bandwidth_gbs").set_value(None).run()
    assert answer(app) == plain(overview.answer(evaluate(SERVER)))


def test_a_preset_changes_the_answer_and_keeps_the_overrides():
    app = open_page("overview_page", **SERVER_ADDRESS)
    app.selectbox(key="model").set_value("7B, 8 KV heads (article)").run()
    expected = evaluate(SERVER.change(model="article-7b-gqa"))
    assert answer(app) == plain(overview.answer(expected))
    assert "125" in said(app)


def test_the_scenario_survives_a_page_switch():
    app = open_page("overview_page")
    app.number_input(key="prompt").set_value(5000).run()
    go(app, "memory_page")
    expected = evaluate(scenario({**TARGETS, "prompt": 5000}))
    assert answer(app) == plain(memory.answer(expected))
    go(app, "overview_page")
    assert app.number_input(key="prompt").value == 5000


def test_the_memory_tiles_are_the_packages():
    shown = said(open_page("memory_page", **SERVER_ADDRESS))
    assert "31" in shown
    assert numbers.count(longest_context(evaluate(SERVER).setup, 16)) in shown


def test_the_plan_says_what_each_technique_gains():
    shown = said(open_page("plan_page", **SERVER_ADDRESS))
    trials = plan(SERVER)
    for trial in trials:
        assert plain(plan_words.here(trial)) in shown


def test_what_cannot_be_gives_one_sentence_and_keeps_the_last_answer():
    app = open_page("overview_page", **SERVER_ADDRESS)
    app.number_input(key="bandwidth_gbs").set_value(-5.0).run()
    assert not app.exception
    shown = said(app)
    assert "bandwidth_gbs = -5.0 GB/s" in shown
    assert "673 tokens/s" in shown, "the last valid answer stays"
    assert app.number_input(key="bandwidth_gbs").value == -5.0, "nothing that was entered is lost"
    app.number_input(key="bandwidth_gbs").set_value(2000.0).run()
    assert "it should be" not in said(app)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("prefix_hit", 2000, "at most prompt - 1 = 1999"),
        ("peak_tflops", 0.0, "greater than 0"),
        ("acceptance", 1.5, "between 0 and 1"),
        ("batch", 0, "batch = 0 sequences: it should be"),
    ],
)
def test_impossible_entries_are_named(field, value, words):
    app = opened(open_page("overview_page"), "prefix", "speculation")
    app.number_input(key=field).set_value(value).run()
    assert not app.exception
    shown = said(app)
    assert field in shown
    assert words in shown


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "address",
    [
        {"device": "Qualcomm Snapdragon 8 Elite", "model": "Llama-3.2-1B", "prompt": "1000"},
        {"model": "DeepSeek-V3", "device": "NVIDIA GeForce RTX 4090"},
        {"model": "Gemma-3-27B", "weights": "Q8_0", "batch": "64"},
        {"model": "SmolLM2-135M", "device": "Raspberry Pi 5", "output": "1"},
        {"model": "Mamba-2.8B", "weights": "FP16"},
        {"draft_tokens": "4", "acceptance": "0.5", "draft_model": "Llama-3.2-1B", "batch": "512"},
        {"prompt": "100000", "shared_prefix": "90000", "prefix_hit": "90000", "batch": "8"},
    ],
    ids=["phone", "too-large", "window", "one-token", "state", "drafting", "prefix"],
)
def test_no_scenario_breaks_a_page(page, address):
    assert not open_page(page, **address).exception


def test_names_from_outside_take_no_effect_as_markup():
    app = open_page("overview_page", model="<script>alert(1)</script>")
    assert not app.exception
    assert "<script>" not in said(app)


def test_a_ready_case_sets_the_whole_scenario():
    app = open_page("overview_page", prompt="7", batch="3")
    app.button_group(key="_slmopt_case").set_value("article").run()
    assert not app.exception
    assert answer(app) == plain(overview.answer(evaluate(SERVER)))
    assert app.number_input(key="prompt").value is None


FIT = (
    '{"overlap":"single","bandwidth_gbs":33.0,"batched_gbs":27.0,"matrix_tflops":0.19,"attention_tflops":0.02,'
    '"fixed_ms":2.3,"cache_step":256,"batch":[1,32],"context":[0,2048],"weights_gb":[0.09,2.5],"rows":95,"error":0.116}'
)


@pytest.mark.parametrize("page", [entry.file.stem for entry in sitemap.PAGES])
def test_every_page_draws_a_fitted_scenario(page):
    app = open_page(page, device="AMD EPYC, 2 virtual cores (this project's sweep)", fit=FIT)
    assert not app.exception
    text = said(app)
    if page not in ("measurements_page", "model_page", "method_page"):
        assert "estimates fitted to your rows" in text


def test_a_fit_in_the_address_that_is_none_says_so():
    app = open_page("overview_page", fit='{"bandwidth_gbs": -1}')
    assert "bandwidth_gbs" in said(app)
    assert "it should be greater than 0" in said(app)


@pytest.mark.parametrize("number", ["inf", "-inf", "1e999", "NaN", "9" * 400, "x", "1e308"])
def test_a_link_with_no_number_in_a_field_opens_with_the_preset(number):
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    app.query_params["batch"] = number
    app.query_params["prompt"] = "100"
    app.run()
    assert not app.exception
    assert app.number_input(key="batch").value is None
    assert app.number_input(key="prompt").value == 100


@pytest.mark.parametrize("key", ["model", "device", "weights", "cache_k", "cache_v", "engine", "draft_model"])
def test_a_link_with_an_unknown_choice_opens(key):
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    app.query_params[key] = "no such thing"
    app.run()
    assert not app.exception


def test_the_bits_placeholder_is_that_of_all_stored_weights():
    # Prediction layers are stored too: over the others alone a weight would seem to have more bits.
    app = open_page("overview_page", model="GLM-4.5-Air", device="NVIDIA H100 SXM 80 GB")
    setup = resolve(scenario({"model": "glm-4.5-air", "device": "h100-sxm-80gb"}))
    shown = app.number_input(key="weight_bits").placeholder
    assert float(shown) == pytest.approx(bits_per_weight(setup.weights, setup.model), rel=1e-3)
