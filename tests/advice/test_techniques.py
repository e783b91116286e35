"""Each technique on scenarios whose answer is known by hand, those where the popular advice is wrong among them."""

import math

import pytest

from slmopt.advice.gains import comparable, gain, headline
from slmopt.advice.plan import Trial, plan
from slmopt.advice.techniques import TECHNIQUES, quantise_weights
from slmopt.advice.what_ifs import engine_holdings, memory_what_ifs
from slmopt.specs.scenario import Scenario, scenario
from slmopt.theory.evaluation import evaluate

SERVER = {
    "model": "article-7b",
    "device": "article-80gb",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "prompt": 2000,
    "output": 200,
    "batch": 16,
    "context": 4000,
    "target_tpot_ms": 40.0,
}
# One rate of everything: then gains follow from bytes and operations alone.
EVEN = {"bandwidth_fraction": 0.5, "compute_fraction": 0.5, "fixed_ms": 0.0}


def trials(values: dict[str, object]) -> dict[str, Trial]:
    return {trial.technique.id: trial for trial in plan(scenario(values))}


def test_the_order_is_the_articles():
    assert [t.step for t in TECHNIQUES] == sorted(t.step for t in TECHNIQUES)
    assert {t.step for t in TECHNIQUES} == {2, 3, 4, 5, 6, 7, 8}
    piles = {"fewer_bytes", "more_tokens", "capacity", "prefill", "software", "hardware"}
    assert {t.pile for t in TECHNIQUES} == piles
    assert len({t.id for t in TECHNIQUES}) == len(TECHNIQUES)
    assert {t.rung_of for t in TECHNIQUES if t.rung_of} <= {t.id for t in TECHNIQUES}


def test_quantising_speeds_up_streaming_by_the_bytes_saved_and_leaves_a_compute_bound_first_token():
    found = trials({**SERVER, **EVEN})["quantise_weights"].gain
    assert found is not None
    cache = 16 * 524_288 * 4000
    assert found.throughput == pytest.approx(
        (14e9 + cache + 16 * 524_288) / (14e9 * 4.5 / 16 + cache + 16 * 524_288)
    )
    assert found.ttft == pytest.approx(1.0)
    assert found.capacity == pytest.approx(36 / 31)


def test_an_8_bit_cache_doubles_the_sequences():
    found = trials(SERVER)["quantise_cache"].gain
    assert found is not None
    assert found.capacity == pytest.approx(62 / 31)


def test_grouped_heads_hold_the_articles_125_sequences():
    found = trials(SERVER)["group_heads"].gain
    assert found is not None
    assert found.capacity == pytest.approx(125 / 31)


def test_no_more_is_shared_than_is_cached_when_it_decodes():
    after = trials({"context": 0})["cache_prefix"].change.after
    assert after.prefix_hit > 0
    assert after.shared_prefix == 0


def test_a_cached_prefix_helps_the_first_token_and_not_streaming():
    found = trials({**SERVER, **EVEN, "shared_prefix": 1500})["cache_prefix"].gain
    assert found is not None
    assert found.ttft == pytest.approx(4.0), "500 of 2,000 tokens are left, and prefill is compute-bound"
    assert found.tpot == pytest.approx(1.0)


def test_drafting_at_a_large_batch_is_refused_where_checking_costs_real_arithmetic():
    loaded = {
        "model": {"id": "m", "name": "m", "params": 7e9},
        "device": "article-80gb",
        "weights": "16-bit",
        "prompt": 1,
        "output": 1,
    }
    trial = trials({**loaded, "batch": 400})["speculate"]
    assert trial.gain is None
    assert "no draft length gains" in trial.change.what
    assert trials({**loaded, "batch": 1})["speculate"].gain is not None


def test_a_cache_technique_gains_nothing_where_the_cache_is_a_sliver():
    found = trials(
        {"model": "llama-3.1-70b", "device": "h200-sxm-141gb", "weights": "f16", "prompt": 100, "output": 10}
    )
    assert "tpot" not in found["quantise_cache"].helps


def test_fewer_bits_gain_nothing_where_the_weights_are_small_already():
    change = quantise_weights(scenario({"weights": "q4_k_m"}))
    assert change.after is None
    assert "already" in change.what


def test_batching_stops_at_the_target():
    change = trials(SERVER)["fill_batch"].change
    assert change.after is not None
    within = evaluate(change.after).typical.latency.tpot_s
    beyond = evaluate(change.after.change(batch=change.after.batch + 1)).typical.latency.tpot_s
    assert float(within) <= 0.040 < float(beyond)


def test_paging_holds_57_requests_where_reserving_holds_31():
    found = trials({**SERVER, "allocation": "reserved"})["page_cache"].gain
    assert found is not None
    assert found.capacity == pytest.approx(57 / 31)


def test_every_gain_is_the_ratio_of_the_same_pass_before_and_after():
    before = scenario(SERVER)
    for trial in plan(before):
        if trial.change.after is None:
            assert trial.gain == (None if trial.change.standing else trial.change.worth)
            continue
        old, new = headline(evaluate(before)), headline(evaluate(comparable(before, trial.change.after)))
        assert trial.gain is not None
        assert trial.gain.tpot == pytest.approx(old.tpot_s / new.tpot_s)
        assert trial.gain.throughput == pytest.approx(new.device_tokens_per_s / old.device_tokens_per_s)


def test_techniques_compose():
    start = scenario({**SERVER, **EVEN})
    first = next(t for t in TECHNIQUES if t.id == "quantise_weights").apply(start).after
    assert first is not None
    second = next(t for t in TECHNIQUES if t.id == "quantise_cache").apply(first).after
    assert second is not None
    alone, both = gain(start, first).tpot, gain(start, second).tpot
    assert alone is not None
    assert both is not None
    assert both > alone > 1


def test_an_unknown_rate_gives_the_least_gain_that_holds_at_every_known_rate():
    phone: dict[str, object] = {"model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000}
    assert evaluate(scenario(phone)).setup.prefill.ceiling is None
    least = trials(phone)["cache_prefix"].gain
    at_slow = trials(
        {**phone, "peak_tflops": 3.4, "compute_fraction": 1.0, "bandwidth_fraction": 1.0, "fixed_ms": 0.0}
    )["cache_prefix"].gain
    assert least is not None
    assert at_slow is not None
    assert least.ttft is not None
    assert at_slow.ttft is not None
    assert 1.0 < least.ttft <= at_slow.ttft * (1 + 1e-9)


def test_what_ifs_of_memory_are_the_mocks_rows():
    rows = [(name, evaluate(case).capacity.max_sequences) for name, case in memory_what_ifs(scenario(SERVER))]
    assert rows == [
        ("", 31),
        ("4.5-bit weights", 36),
        ("8-bit cache", 62),
        ("8 KV heads", 125),
        ("8 KV heads, 8-bit cache", 251),
    ]


@pytest.mark.parametrize(
    "model", ["qwen3-30b-a3b", "gemma-3-27b", "deepseek-v3", "lfm2-1.2b", "mamba-2.8b", "smollm2-135m"]
)
def test_the_plan_holds_for_every_architecture(model):
    for trial in plan(Scenario(model=model, device="h100-sxm-80gb", weights="f16")):
        if trial.gain is not None:
            values = (trial.gain.ttft, trial.gain.tpot, trial.gain.throughput)
            assert all(value is None or (math.isfinite(value) and value > 0) for value in values)


def test_the_articles_card_holds_57_paged_requests_where_reserving_holds_31():
    rows = dict(engine_holdings(scenario(SERVER)))
    assert rows["Paged, 2,208 each"] == 57
    assert rows["Reserved, 4,000 each"] == 31
    assert {"llama.cpp, paged", "vllm, paged", "sglang, paged"} <= set(rows)


def test_a_prefix_is_shared_up_to_the_context_that_decode_is_looked_at():
    short = scenario({"prompt": 1000, "context": 2})
    change = next(t for t in TECHNIQUES if t.id == "cache_prefix").apply(short)
    assert change.after is not None
    assert (change.after.prefix_hit, change.after.shared_prefix) == (800, 2)
