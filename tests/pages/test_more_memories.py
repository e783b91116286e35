"""Several devices and partial offload on the pages: fields where they apply, and the figures that follow."""

import pytest

from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import memory, overview
from tests.pages.app import answer, open_page, opened, said

TARGETS = {"target_ttft_ms": 500.0, "target_tpot_ms": 40.0}
LARGE = {"model": "llama-3.3-70b", **TARGETS}
LLAMA = {"model": "Llama-3.3-70B", "engine": "llama.cpp"}
FIELDS = {
    "devices",
    "gpu_layers",
    "cpu_moe_layers",
    "micro_batch",
    "gpu_memory_utilization",
    "link_gbs",
    "link_latency_us",
}


def plain(text):
    return text.replace("**", "").replace("\u00a0", " ")


def figures(app):
    """Titles of the figures that were drawn with their data, by key."""
    return {key: picture.heading for key, picture in app.session_state["_slmopt_tables"].items()}


def drawn(app):
    return {field.key for field in app.number_input} & FIELDS


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ({}, {"devices"}),
        ({"engine": "vllm"}, {"devices", "gpu_memory_utilization"}),
        ({"engine": "llama.cpp"}, {"devices", "micro_batch", "gpu_layers"}),
        (
            {"engine": "llama.cpp", "model": "Qwen3-30B-A3B"},
            {"devices", "micro_batch", "gpu_layers", "cpu_moe_layers"},
        ),
        ({"devices": "4"}, {"devices", "link_gbs", "link_latency_us"}),
        ({"engine": "llama.cpp", "devices": "4"}, {"devices", "micro_batch", "link_gbs", "link_latency_us"}),
    ],
)
def test_fields_are_drawn_where_they_apply(address, fields):
    app = opened(open_page("overview_page", **address), "engine")
    assert drawn(app) == fields
    assert ("full_windows" in {box.key for box in app.checkbox}) is False


def test_windows_may_be_kept_in_full():
    app = open_page("memory_page", model="Gemma-3-27B", engine="llama.cpp")
    app.checkbox(key="full_windows").check().run()
    s = scenario({"model": "gemma-3-27b", "engine": "llama.cpp", "full_windows": True, **TARGETS})
    assert answer(app) == plain(memory.answer(evaluate(s)))


def test_an_address_brings_several_devices():
    app = open_page("overview_page", model="Llama-3.3-70B", devices="4", parallel="pipeline", link_gbs="12")
    s = scenario({**LARGE, "devices": 4, "parallel": "pipeline", "link_gbs": 12})
    assert answer(app) == plain(overview.answer(evaluate(s)))
    assert "4 × NVIDIA GeForce RTX 4090, pipeline" in said(app)
    assert "the 4 devices give" in answer(app)
    app.number_input(key="devices").set_value(None).run()
    assert answer(app) == plain(overview.answer(evaluate(scenario(LARGE))))


def test_offload_on_the_memory_page():
    app = open_page("memory_page", **LLAMA, gpu_layers="40")
    s = scenario({**LARGE, "engine": "llama.cpp", "gpu_layers": 40})
    assert answer(app) == plain(memory.answer(evaluate(s)))
    assert "48 of 81 layers fit the card" in figures(app)["memory_layers"]
    app.selectbox(key="engine").set_value("exact").run()
    assert "gpu_layers" not in drawn(app)
    assert answer(app) == plain(memory.answer(evaluate(scenario(LARGE))))


def test_what_does_not_fit_shows_what_a_host_would_give():
    assert "layers fit the card" in figures(open_page("memory_page", model="Llama-3.3-70B"))["memory_layers"]
    for address in ({}, {"model": "Llama-3.3-70B", "devices": "2"}):
        assert "memory_layers" not in figures(open_page("memory_page", **address))


def test_impossible_numbers_of_devices_are_named():
    app = open_page("overview_page", devices="99", parallel="pipeline")
    assert "devices = 99: " in said(app)
    assert not app.exception


@pytest.mark.parametrize(
    "page",
    [
        "overview_page",
        "roofline_page",
        "batching_page",
        "memory_page",
        "first_token_page",
        "speculation_page",
        "plan_page",
    ],
)
@pytest.mark.parametrize(
    "address",
    [
        {**LLAMA, "gpu_layers": "40"},
        {"model": "Llama-3.3-70B", "devices": "4", "parallel": "pipeline", "batch": "16"},
        {"model": "DeepSeek-V3", "devices": "16", "parallel": "expert"},
        {"model": "Llama-3.3-70B", "devices": "8", "link_gbs": "0.1", "batch": "64"},
        {
            "model": "Llama-3.3-70B",
            "devices": "2",
            "acceptance": "0.7",
            "draft_tokens": "4",
            "draft_model": "Llama-3.2-1B",
        },
    ],
    ids=["offload", "pipeline", "experts", "slow link", "drafting"],
)
def test_no_page_breaks(page, address):
    assert not open_page(page, **address).exception
