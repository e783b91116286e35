"""What is said of several devices, of a link that decides, and of layers on the host."""

import pytest

from slmopt import evaluate, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.offload_curve import layers_curve
from slmopt.words import arithmetic, first_token, memory, overview
from slmopt.words.places import devices_words, layers_title, offload_words, place_words
from slmopt.words.scenario_line import scenario_line
from slmopt.words.sources import source_lines

LARGE = {"model": "llama-3.3-70b", "device": "rtx-4090"}


def question(**more):
    return scenario({**LARGE, **more})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "NVIDIA GeForce RTX 4090"),
        ({"devices": 2}, "2 × NVIDIA GeForce RTX 4090, tensor parallel"),
        ({"devices": 3, "parallel": "pipeline"}, "3 × NVIDIA GeForce RTX 4090, pipeline"),
        ({"gpu_layers": 3, "host": "epyc-9654"}, "NVIDIA GeForce RTX 4090 + AMD EPYC 9654 (12ch DDR5-4800)"),
    ],
)
def test_devices(changes, said):
    assert devices_words(resolve(question(**changes))) == said


def test_what_is_on_the_card():
    assert offload_words(resolve(question(gpu_layers=0))) == "0 of 80 layers without the head on the card"
    assert offload_words(resolve(question(gpu_layers=81))) == "80 of 80 layers and the head on the card"
    kept = resolve(scenario({"model": "qwen3-30b-a3b", "cpu_moe_layers": 5}))
    assert offload_words(kept).endswith("on the card, experts of 5 of them on the host")


def test_whose_memory():
    assert place_words(resolve(question()), "device") == ""
    assert place_words(resolve(question(devices=2)), "device") == " of each device"
    assert memory.answer(evaluate(question(devices=4))).startswith("On each device: ")
    assert memory.answer(evaluate(question(gpu_layers=10))).startswith("On the ")
    short = overview.answer(evaluate(question(devices=2, device="gtx-1080-ti")))
    assert short.startswith("The weights do not fit: each device needs **21.3")


def test_a_link_that_decides_is_named():
    slow = evaluate(question(devices=8, link_gbs=0.05, batch=32, parallel="tensor"))
    assert "The link between the devices limits decode" in overview.answer(slow)
    assert "The link between the devices decides the first token" in first_token.answer(slow, None)
    lines = "\n".join(arithmetic.overview(slow))
    assert "**Decode step, link**" in lines
    assert "so the link decides" in lines


def test_arithmetic_shows_the_rate_that_it_divides_by():
    lines = arithmetic.pass_lines(
        "Decode step",
        evaluate(question(gpu_layers=40)).ceiling.decode,
        evaluate(question(gpu_layers=40)).ceiling.decode_roof,
    )
    assert "the mean of what takes turns" in lines[0]
    assert "card, then host" in lines[-1]


def test_sources_name_host_link_and_what_is_not_counted():
    lines = "\n".join(source_lines(evaluate(question(gpu_layers=10))))
    assert "**Host**: Desktop CPU" in lines
    assert "assumed with the most memory" in lines
    several = "\n".join(source_lines(evaluate(question(devices=2))))
    assert "**Link**: PCIe 4\\.0 x16, 32.0 GB/s per direction".replace(".0 GB", " GB") in several.replace(
        "\u00a0", " "
    )
    assert "**Mind**: The latency" in several


def test_findings_of_layers():
    assert "of 81 layers fit the card" in layers_title(layers_curve(question()))
    small = layers_curve(scenario({"model": "llama-3.2-1b", "device": "rtx-4090"}))
    assert layers_title(small).startswith("All layers fit the card: ")
    assert "does all" in layers_title(layers_curve(question(capacity_gb=0.1)))
    none = {"bandwidth_gbs": 50, "capacity_gb": 0.1}
    assert layers_title(layers_curve(question(capacity_gb=0.1, host=none))).endswith("✕")
    unknown = {"bandwidth_gbs": 50}
    assert "not known" in layers_title(layers_curve(question(host=unknown)))


def test_hostile_names_are_escaped():
    device = {"bandwidth_gbs": 50, "name": "<b>[x](y)"}
    line = scenario_line(question(device=device, devices=2))
    assert "<b>" not in line
    assert "[x]" not in line
