"""What a specialist would say holds each scenario back, and that every factor is the same pass without one part."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given

from slmopt.advice.diagnosis import METRICS, components, diagnose, without
from slmopt.advice.observed import observe
from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.roof import pass_time
from slmopt.words import diagnosis as words
from slmopt.words.diagnosis import sentences, table_markdown
from tests.strategies import few, scenarios

WITHOUT = {
    "weights": {"weight_bytes": 0.0},
    "cache": {"cache_bytes": 0.0},
    "compute": {"matmul_flops": 0.0},
    "attention": {"attention_flops": 0.0},
}
ARTICLE = {"model": "article-7b", "device": "article-80gb", "weights": "16-bit", "cache_k": "16-bit"}
LLAMA_8B = {"model": "llama-3.1-8b"}
CPU = {"model": "llama-3.2-1b", "device": "cpu-ddr4-2666-dual"}

SPECIALIST = {
    "a phone streams at the speed of its memory": (
        {"model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000},
        {"ttft": "compute", "tpot": "weights", "throughput": "weights"},
    ),
    "a Raspberry Pi too, and its prompt waits for arithmetic": (
        {"model": "qwen2.5-0.5b", "device": "raspberry-pi-5", "weights": "q4_0", "prompt": 200},
        {"ttft": "compute", "tpot": "weights"},
    ),
    "a long prompt on a laptop is arithmetic": (
        {**LLAMA_8B, "device": "apple-m4-max-40c", "prompt": 4000},
        {"ttft": "compute", "tpot": "weights"},
    ),
    "at 100,000 tokens attention and cache have taken over, and memory holds one sequence": (
        {**LLAMA_8B, "device": "rtx-4090", "prompt": 100_000},
        {"ttft": "attention", "tpot": "cache", "throughput": "cache"},
    ),
    "without grouped heads the cache overtakes the weights at 8,000 tokens already": (
        {"model": "llama-2-7b", "device": "rtx-4090", "prompt": 8000},
        {"tpot": "cache"},
    ),
    "a 70B in 16 bits is a matter of its weights, in time and in memory": (
        {"model": "llama-3.1-70b", "device": "h200-sxm-141gb", "weights": "f16", "batch": 4, "prompt": 4000},
        {"ttft": "compute", "tpot": "weights", "throughput": "weights", "capacity": "weights"},
    ),
    "with all seven sequences that fit, memory holds its throughput back": (
        {"model": "llama-3.1-70b", "device": "h200-sxm-141gb", "weights": "f16", "batch": 7, "prompt": 4000},
        {"throughput": "capacity", "capacity": "weights"},
    ),
    "what does not fit is held back by memory": (
        {"model": "llama-3.1-70b", "device": "rtx-4090"},
        {"throughput": "capacity", "capacity": "weights"},
    ),
    "the article's server holds 31 sequences because of their caches": (
        {**ARTICLE, "prompt": 2000, "batch": 16, "context": 4000},
        {"ttft": "compute", "tpot": "cache", "throughput": "cache", "capacity": "cache"},
    ),
    "the article's server at batch 1 waits for weights": (
        {**ARTICLE, "prompt": 500},
        {"ttft": "compute", "tpot": "weights", "throughput": "weights"},
    ),
    "a tiny model on a fast card waits for launches": (
        {"model": "smollm2-135m", "device": "h100-sxm-80gb", "weights": "f16", "prompt": 100},
        {"ttft": "fixed_time", "tpot": "fixed_time", "throughput": "fixed_time"},
    ),
    "so does a mixture with few active weights on one": (
        {"model": "qwen3-30b-a3b", "device": "h100-sxm-80gb", "weights": "fp8", "prompt": 1000},
        {"tpot": "fixed_time"},
    ),
    "a mixture at a large batch reads nearly every expert": (
        {"model": "qwen3-30b-a3b", "device": "h100-sxm-80gb", "weights": "fp8", "batch": 256, "prompt": 1000},
        {"tpot": "weights"},
    ),
    "a small model at 256 sequences is past the ridge": (
        {"model": "llama-3.2-1b", "device": "rtx-4090", "batch": 256, "prompt": 100, "output": 100},
        {"tpot": "compute", "throughput": "compute"},
    ),
    "the popular claim that decode is always memory-bound fails past the crossover": (
        {
            "model": {"params": 7e9},
            "device": "article-80gb",
            "weights": "16-bit",
            "prompt": 1,
            "output": 2,
            "batch": 400,
        },
        {"tpot": "compute", "throughput": "compute"},
    ),
    "the popular claim that prefill is always compute-bound fails for eight tokens": (
        {**LLAMA_8B, "device": "rtx-4090", "weights": "f16", "prompt": 8},
        {"ttft": "weights"},
    ),
    "after a prefix hit the new tokens still attend to the document": (
        {
            **LLAMA_8B,
            "device": "h100-sxm-80gb",
            "weights": "fp8",
            "prompt": 31_000,
            "shared_prefix": 30_000,
            "prefix_hit": 30_000,
        },
        {"ttft": "attention"},
    ),
    "windows keep a long context's steps with the weights": (
        {"model": "gemma-3-27b", "device": "h100-sxm-80gb", "prompt": 60_000, "weights": "q4_0"},
        {"ttft": "compute", "tpot": "weights"},
    ),
    "a state-space model has no cache to shrink": (
        {"model": "mamba-2.8b", "device": "rtx-4090", "weights": "f16", "prompt": 30_000},
        {"tpot": "weights"},
    ),
    "a processor that reaches a fifth of its bandwidth has a software problem": (
        {**CPU, "bandwidth_fraction": 0.2},
        {"tpot": "software", "throughput": "software"},
    ),
    "one that reaches what is usual has none": ({**CPU, "bandwidth_fraction": 0.65}, {"tpot": "weights"}),
    "a queue hides the prefill": (
        {**LLAMA_8B, "device": "rtx-4090", "request_rate": 3.0},
        {"ttft": "queueing", "tpot": "weights"},
    ),
    "an idle server has none": (
        {**LLAMA_8B, "device": "rtx-4090", "request_rate": 0.01},
        {"ttft": "compute"},
    ),
}


@pytest.mark.parametrize("name", SPECIALIST)
def test_the_diagnosis_is_a_specialists(name):
    values, expected = SPECIALIST[name]
    found = diagnose(scenario(values))
    assert {metric: found[metric].part for metric in expected} == expected


@pytest.mark.parametrize("name", SPECIALIST)
def test_every_sentence_names_its_numbers(name):
    s = scenario(SPECIALIST[name][0])
    found = diagnose(s)
    said = sentences(evaluate(s), found)
    assert len(said) == len(METRICS)
    for metric, line in zip(METRICS, said, strict=True):
        assert line.endswith(".")
        if found[metric].part is not None and found[metric].why == "":
            assert any(c.isdigit() for c in line), line
    assert table_markdown(found).count("\n") >= 5


def test_by_hand_the_articles_7_ms_of_weights_and_16_8_ms_of_cache():
    even = {"bandwidth_fraction": 1.0, "compute_fraction": 1.0, "fixed_ms": 0.0}
    found = diagnose(scenario({**ARTICLE, **even, "prompt": 2000, "batch": 16, "context": 4000}))[
        "throughput"
    ]
    weights, cache, compute = 7.0, 16.777216 + 16 * 524_288 / 2e9, 16 * 14e9 / 400e12 * 1e3
    cache = 16.777216 + 16 * 524_288 / 2e12 * 1e3
    assert found.share == pytest.approx(cache / (weights + cache))
    assert found.gains["cache"] == pytest.approx((weights + cache) / weights)
    assert found.gains["weights"] == pytest.approx((weights + cache) / cache)
    assert found.gains["compute"] == pytest.approx(1.0)
    assert compute < weights


@few
@given(scenarios(ways=True))
def test_parts_add_up_to_the_pass_and_removing_one_never_hurts(s):
    typical = evaluate(s).typical
    for time, roof in ((typical.decode, typical.decode_roof), (typical.prefill, typical.prefill_roof)):
        assert sum(components(time).values()) == pytest.approx(float(time.seconds))
        for part, lacking in WITHOUT.items():
            left = without(time, part)
            assert left <= float(time.seconds) * (1 + 1e-12)
            if s.prefill_chunk_tokens is not None and time is typical.prefill:
                # A sum of passes, of which each has a longer side of its own.
                continue
            scores = time.cost.score_bytes
            moved = {
                "cache": {"cache_bytes": scores},
                "attention": {**lacking, "cache_bytes": time.cost.cache_bytes - scores},
            }.get(part, lacking)
            oracle = pass_time(replace(time.cost, **moved), roof)
            assert left == pytest.approx(float(oracle.seconds)), part
        assert without(time, "fixed_time") == pytest.approx(float(time.busy_s))
    found = diagnose(s)
    for metric in METRICS:
        assert all(
            gain >= 1 - 1e-9 or math.isnan(gain)
            for part, gain in found[metric].gains.items()
            if part != "capacity"
        )


@pytest.mark.parametrize("overlap", ["products", "single", "none"])
@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("attention", [None, 0.4])
def test_parts_of_a_fitted_pass_add_up_and_go_as_the_pass_says(overlap, batch, attention):
    """What follows the longer side is a part of its own: removing it takes its whole time."""
    fit = Calibration(
        overlap=overlap,
        bandwidth_gbs=700,
        batched_gbs=500,
        matrix_tflops=3,
        attention_tflops=attention,
        fixed_ms=1,
    )
    s = scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "batch": batch, "calibration": fit})
    typical = evaluate(s).typical
    for time, roof in ((typical.decode, typical.decode_roof), (typical.prefill, typical.prefill_roof)):
        assert sum(components(time).values()) == pytest.approx(float(time.seconds))
        for part, lacking in WITHOUT.items():
            oracle = pass_time(replace(time.cost, **lacking), roof)
            assert without(time, part) == pytest.approx(float(oracle.seconds)), part
        assert without(time, "fixed_time") == pytest.approx(float(time.busy_s))
    found = diagnose(s)
    for metric in METRICS:
        assert all(gain >= 1 - 1e-9 for part, gain in found[metric].gains.items() if part != "capacity")


def test_a_fit_below_what_nine_of_ten_reach_names_the_software():
    slow = Calibration(bandwidth_gbs=100, matrix_tflops=80, fixed_ms=0.1)
    found = diagnose(scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "calibration": slow}))["tpot"]
    assert found.part == "software"
    assert found.next_part == "weights"
    assert found.gains["software"] > 5


def test_what_stays_in_main_memory_and_what_a_link_costs_are_part_of_the_pass():
    offloaded = scenario({"model": "llama-3.1-70b", "device": "rtx-4090", "gpu_layers": 30})
    time = evaluate(offloaded).typical.decode
    assert sum(components(time).values()) == pytest.approx(float(time.seconds))
    assert diagnose(offloaded)["tpot"].part == "weights"
    slow = {"devices": 8, "link_gbs": 1.0, "link_latency_us": 200.0}
    linked = scenario({"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "fp8", **slow})
    found = diagnose(linked)["tpot"]
    assert found.part == "link"
    assert found.gains["link"] > 2


def test_an_unknown_rate_is_said_and_not_guessed():
    found = diagnose(scenario(CPU))["ttft"]
    assert found.part is None
    assert found.why == "no_rate"


def judged(verdict: str, fraction: float) -> pd.DataFrame:
    setup = resolve(scenario({**LLAMA_8B, "device": "rtx-4090"}))
    row = {
        "device": setup.device.name,
        "model": setup.model.name,
        "phase": "decode",
        "fraction": fraction,
        "p50": 0.65,
        "verdict": verdict,
    }
    return pd.DataFrame([row, {**row, "device": "another"}])


def test_measurements_name_software_where_the_scenario_alone_could_not():
    s = scenario({**LLAMA_8B, "device": "rtx-4090"})
    slow = observe(judged("far_below", 0.26), resolve(s))
    found = diagnose(s, slow)["tpot"]
    assert found.part == "software"
    assert found.next_part == "weights"
    assert found.gains["software"] == pytest.approx(2.5)
    assert diagnose(s, observe(judged("typical", 0.6), resolve(s)))["tpot"].part == "weights"
    assert observe(judged("typical", 0.6), resolve(s.change(model="llama-3.2-1b"))) is None


COLD_FIVE = {"model": "llama-2-7b", "device": "rtx-4090", "prompt": 2000, "output": 100}


def test_a_cold_start_is_what_holds_the_first_token_back():
    s = scenario({**COLD_FIVE, "residency": "cold", "storage_gbs": 1.0})
    e, found = evaluate(s), diagnose(s)
    first, load = float(e.typical.prefill.seconds), e.typical.latency.load_s
    assert found["ttft"].part == "fixed_time"
    assert found["ttft"].share == pytest.approx((load + float(e.typical.prefill.fixed_s)) / (load + first))
    assert found["ttft"].next_part == diagnose(scenario(COLD_FIVE))["ttft"].part
    said = words.sentence(e, found, "ttft")
    assert "loading the model from storage" in said
    assert found["tpot"] == diagnose(scenario(COLD_FIVE))["tpot"]
    # From a storage that is fast enough the prompt's own arithmetic is first again, for less of the time.
    quick = diagnose(s.change(storage_gbs=1e5))["ttft"]
    assert quick.part == found["ttft"].next_part


def test_scores_that_leave_the_chip_count_as_attention():
    slow = {"bandwidth_gbs": 200, "peak_tflops": 1000, "capacity_gb": 64}
    s = scenario({"model": "llama-3.1-8b", "device": slow, "prompt": 30_000, "attention_kernels": "unfused"})
    e, found = evaluate(s), diagnose(s)
    assert found["ttft"].part == "attention"
    # Without it neither scores nor its own arithmetic are left: less than what a fused kernel takes.
    fused = float(evaluate(s.change(attention_kernels="fused")).typical.prefill.seconds)
    products = e.typical.prefill.matmul_s + e.typical.prefill.fixed_s
    assert found["ttft"].gains["attention"] == pytest.approx(float(e.typical.prefill.seconds) / products)
    assert products < fused
    assert "scores that leave the chip" in words.sentence(e, found, "ttft")
    assert "Fewer bytes would gain nothing" not in words.sentence(e, found, "ttft")


def test_fixed_groups_are_named_with_what_they_lose():
    s = scenario({**COLD_FIVE, "batch": 8, "batching": "static", "output_spread": 1.0})
    said = words.sentence(evaluate(s), diagnose(s), "throughput")
    assert "A fixed group of 8 sequences waits for its longest reply, 2.72× the mean" in said
    assert "fixed group" not in words.sentence(evaluate(s), diagnose(s), "tpot")
