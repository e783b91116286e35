"""How a scenario serves: prompts in chunks, fixed groups, a cold start, attention that is not fused. By hand and exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import prompt_curve
from slmopt.theory.forward import Group
from slmopt.theory.interference import chunked, whole
from slmopt.theory.latency import prefill
from slmopt.theory.queueing import under_load
from slmopt.theory.roofline import ceiling_roof, estimate_roof, pass_cost
from slmopt.theory.static_groups import harmonic, longest_of
from tests.strategies import bits as any_bits
from tests.strategies import few, models, scenarios
from tests.theory.oracle import Shape, count_pass, pieces

CARD = {"bandwidth_gbs": 100.0, "peak_tflops": 10.0, "capacity_gb": 24.0}
PLAIN = {
    "model": {"params": 1e9, "layers": 10, "kv_heads": 10, "head_dim": 10},
    "device": CARD,
    "weights": {"bits": 16},
    "cache_k": {"bits": 16},
    "bandwidth_fraction": 1.0,
    "compute_fraction": 1.0,
    "fixed_ms": 0.0,
    "prompt": 1000,
    "output": 101,
}
LEVEL = "typical"


def made(**values: object) -> Scenario:
    return scenario({**PLAIN, **values})


def test_chunks_read_the_weights_again_by_hand():
    # 2 GB of weights take 20 ms at 100 GB/s; a chunk of 50 tokens is 0.1 TFLOP, 10 ms: 20 chunks are 20 readings.
    best = evaluate(made(prefill_chunk_tokens=50)).ceiling
    cached = 4000 * sum(range(0, 1000, 50)) / 100e9
    assert best.latency.ttft_s == pytest.approx(20 * 0.020 + cached)
    # Whole, arithmetic decides: 1,000 tokens are 2 TFLOP.
    assert evaluate(made()).ceiling.latency.ttft_s == pytest.approx(0.2)
    # Chunks of 500 tokens are compute-bound, so nothing is lost.
    assert evaluate(made(prefill_chunk_tokens=500)).ceiling.latency.ttft_s == pytest.approx(0.2)


def test_the_others_wait_for_a_chunk_and_not_for_a_prompt_by_hand():
    s = made(batch=11, context=0)
    # Whole: 200 ms of prefill and a step of 20 ms. In chunks of 500: (500 + 11) tokens of 2 GFLOP each.
    assert evaluate(s).ceiling.stall_s == pytest.approx(0.220)
    best = evaluate(s.change(prefill_chunk_tokens=500)).ceiling
    assert best.stall_s == pytest.approx(0.1022)
    assert best.latency.ttft_s == pytest.approx(0.2044), "everybody's tokens come along"
    alone = evaluate(made(batch=1, prefill_chunk_tokens=500)).ceiling
    assert np.isnan(alone.stall_s), "nobody decodes beside a single sequence"
    fixed = evaluate(s.change(prefill_chunk_tokens=500, batching="static")).ceiling
    assert np.isnan(fixed.stall_s)
    assert fixed.latency.ttft_s == pytest.approx(0.2), "nor before a fixed group starts"


@settings(max_examples=60)
@given(models, any_bits, st.integers(1, 30), st.integers(0, 12), st.integers(1, 9), st.booleans())
def test_a_prompt_in_chunks_costs_the_sum_of_its_passes(model, bits, new, hit, chunk, estimate):
    s = scenario(
        {
            **PLAIN,
            "model": model,
            "weights": {"bits": float(bits.weights)},
            "cache_k": {"bits": float(bits.k)},
            "cache_v": {"bits": float(bits.v)},
            "prompt": hit + new,
            "prefix_hit": hit,
            "prefill_chunk_tokens": chunk,
        }
    )
    setup = resolve(s)
    roof = estimate_roof(setup, "prefill", LEVEL) if estimate else ceiling_roof(setup, "prefill")
    cost = prefill(setup, roof).cost
    exact = [count_pass(model, bits, [one], estimate) for one in pieces(Shape(1, new, hit), chunk)]
    for got, part in (
        (cost.weight_bytes, "weight_bytes"),
        (cost.cache_bytes, "cache_bytes"),
        (cost.flops, "flops"),
    ):
        assert got == pytest.approx(float(sum(getattr(one, part) for one in exact)), rel=1e-12, abs=1e-9)


@settings(max_examples=60)
@given(models, st.integers(1, 400), st.integers(1, 300), st.integers(1, 40), st.sampled_from(["f16", "q8_0"]))
def test_no_chunk_makes_a_prompt_faster_or_a_stall_longer(model, prompt, chunk, batch, weights):
    s = scenario(
        {**PLAIN, "model": model, "weights": weights, "prompt": prompt, "batch": batch, "fixed_ms": 0.1}
    )
    for cut in (s.change(prefill_chunk_tokens=chunk), s.change(prefill_chunk_tokens=chunk, batch=1)):
        pieces_, at_once = evaluate(cut), evaluate(cut.change(prefill_chunk_tokens=None))
        for mine, plain in ((pieces_.ceiling, at_once.ceiling), (pieces_.typical, at_once.typical)):
            assert mine.latency.ttft_s >= plain.latency.ttft_s * (1 - 1e-12)
            if cut.batch > 1:
                # A mixed pass is no longer than its two parts one after the other, but that a later piece reads what
                # earlier ones cached.
                cached = pass_cost(pieces_.setup, [Group(batch=1.0, new=1.0, past=float(prompt), logits=1.0)])
                reread = cached.cache_bytes / mine.decode_roof.bandwidth
                assert mine.stall_s <= (plain.stall_s + reread) * (1 + 1e-9)


def test_the_scenarios_chunks_are_those_of_the_batching_page():
    s = scenario({"model": "llama-3.1-8b", "batch": 8, "prompt": 5000})
    e = evaluate(s.change(prefill_chunk_tokens=512))
    told = chunked(e.setup, e.typical.prefill_roof, 512)
    assert (e.typical.stall_s, e.typical.latency.ttft_s) == pytest.approx((told.gap_s, told.ttft_s))
    plain = evaluate(s).typical
    assert plain.stall_s == pytest.approx(whole(e.setup, plain.decode_roof, plain.prefill_roof).gap_s)


def test_curves_of_many_prompts_are_each_prompts_own():
    s = scenario({"model": "llama-3.1-8b", "prompt": 3000, "prefix_hit": 600, "prefill_chunk_tokens": 700})
    setup = resolve(s)
    roof = ceiling_roof(setup, "prefill")
    prompts, hits = np.array([701.0, 900.0, 3000.0, 12_345.0]), np.array([0.0, 899.0, 600.0, 4.0])
    many = prefill(setup, roof, prompts, hits)
    for at, (prompt, hit) in enumerate(zip(prompts, hits, strict=True)):
        one = prefill(setup, roof, float(prompt), float(hit))
        assert many.seconds[at] == pytest.approx(one.seconds)
        assert many.cost.weight_bytes[at] == pytest.approx(one.cost.weight_bytes)
    assert np.isfinite(prompt_curve(setup).ceiling).all()


def test_a_cold_start_waits_for_the_file_by_hand():
    # 2 GB at 4 GB/s are half a second, whoever counts.
    e = evaluate(made(residency="cold", storage_gbs=4.0))
    assert e.ceiling.latency.load_s == pytest.approx(0.5)
    assert e.ceiling.latency.ttft_s == pytest.approx(0.2 + 0.5)
    assert e.typical.latency.reply_s - evaluate(made()).typical.latency.reply_s == pytest.approx(0.5)
    assert e.ceiling.latency.tpot_s == evaluate(made()).ceiling.latency.tpot_s
    assert made().residency == "resident"
    assert evaluate(made(storage_gbs=4.0)).ceiling.latency.load_s == 0.0


def test_where_no_storage_rate_is_known_the_bound_leaves_it_out_and_the_estimate_says_what_it_takes():
    e = evaluate(made(residency="cold"))
    assert e.ceiling.latency.load_s == 0.0
    assert e.typical.latency.load_s == pytest.approx(1.0)
    assert "2 GB/s" in e.setup.warnings[0]
    known = evaluate(made(residency="cold", device={**CARD, "storage_gbs": 8.0}))
    assert known.ceiling.latency.load_s == pytest.approx(0.25)
    assert not known.setup.warnings


def test_a_draft_is_loaded_with_its_target():
    drafting = {"draft_tokens": 3, "acceptance": 0.5, "draft_model": {"params": 5e8}}
    e = evaluate(made(residency="cold", storage_gbs=1.0, **drafting))
    assert e.ceiling.latency.load_s == pytest.approx(2.0 + 1.0)


@pytest.mark.parametrize(
    ("spread", "expected"), [(0.0, 1.0), (1.0, 1 + 1 / 2 + 1 / 3 + 1 / 4), (0.5, 1.5417)]
)
def test_the_longest_of_four_by_hand(spread, expected):
    assert longest_of(4.0, spread) == pytest.approx(expected, rel=1e-4)


def test_the_longest_of_drawn_lengths_is_as_long_as_the_formula_says():
    rng = np.random.default_rng(1)
    for count, spread in ((2, 1.0), (16, 1.0), (16, 0.4), (64, 0.7)):
        drawn = (1 - spread) + spread * rng.exponential(size=(40_000, count))
        assert drawn.std() == pytest.approx(spread, rel=0.02)
        assert drawn.max(axis=1).mean() == pytest.approx(longest_of(float(count), spread), rel=0.01)


@given(st.integers(1, 3000))
def test_harmonic_numbers(count):
    assert harmonic(float(count)) == pytest.approx(
        float(sum(Fraction(1, k) for k in range(1, min(count, 60) + 1)))
        + sum(1.0 / k for k in range(61, count + 1)),
        rel=1e-11,
    )


def test_fixed_groups_lose_the_tokens_of_their_idle_slots_and_a_bound_does_not():
    plain, fixed = evaluate(made(batch=4)), evaluate(made(batch=4, batching="static"))
    lost = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert fixed.typical.device_tokens_per_s == pytest.approx(plain.typical.device_tokens_per_s / lost)
    assert fixed.ceiling.device_tokens_per_s == plain.ceiling.device_tokens_per_s
    assert fixed.typical.latency == plain.typical.latency
    alike = evaluate(made(batch=4, batching="static", output_spread=0.0))
    assert alike.typical.device_tokens_per_s == pytest.approx(plain.typical.device_tokens_per_s)


def test_scores_that_leave_the_chip_by_hand():
    # Llama-2-7B: 32 layers of 32 heads; 2,000·2,001/2 pairs; 2 bytes, four trips: 16.4 GB beside 13.2 GB of weights.
    values = {
        "model": "llama-2-7b",
        "device": CARD,
        "weights": "f16",
        "prompt": 2000,
        "bandwidth_fraction": 1.0,
    }
    plain, unfused = (evaluate(scenario({**values, "attention_kernels": k})) for k in ("fused", "unfused"))
    extra = 32 * 32 * (2000 * 2001 / 2) * 8
    step = 32 * 32 * (2200 + 1) * 8
    for phase, bytes_ in (("prefill", extra), ("decode", step)):
        more, less = getattr(unfused.typical, phase), getattr(plain.typical, phase)
        assert more.cost.score_bytes == pytest.approx(bytes_)
        assert more.cost.bytes - less.cost.bytes == pytest.approx(bytes_)
        assert more.memory_s - less.memory_s == pytest.approx(bytes_ / 100e9)
        assert getattr(unfused.ceiling, phase) == getattr(plain.ceiling, phase)


@pytest.mark.parametrize("more", [{"devices": 2}, {"devices": 4, "parallel": "pipeline"}, {"gpu_layers": 12}])
def test_scores_count_wherever_the_layers_lie(more):
    s = scenario({"model": "llama-2-7b", "device": "rtx-4090", "weights": "f16", "prompt": 3000, **more})
    extra = 32 * 32 * (3000 * 3001 / 2) * 8
    assert evaluate(s.change(attention_kernels="unfused")).typical.prefill.cost.score_bytes == pytest.approx(
        extra
    )


def test_the_load_of_fixed_groups_by_hand():
    # Equal replies of 101 tokens: a group of n takes n·0.2 s of prefill (compute-bound) and 100 steps of about 20 ms.
    s = made(batching="static", output_spread=0.0, cache_k={"bits": 1e-6})
    setup = resolve(s)
    roof = ceiling_roof(setup, "decode")
    light = under_load(setup, roof, roof, 0.1)
    assert light.sequences == 1.0
    # A request finds a group of 2.2 s running with the chance 0.22, and waits 1.1 s for the rest of it.
    assert light.wait_s == pytest.approx(0.22 * 1.1, rel=1e-6)
    assert light.ttft_p95_s == pytest.approx(0.2 + 2.2 * (1 - 0.05 / 0.22), rel=1e-6)
    # At 2 a second: n = 2·(0.2 n + 2), so n = 6.67 and a group lasts 3.33 s.
    busy = under_load(setup, roof, roof, 2.0)
    assert busy.sequences == pytest.approx(20 / 3, rel=1e-6)
    assert busy.ttft_p95_s == pytest.approx(20 / 3 * 0.2 + 0.95 * 10 / 3, rel=1e-6)
    # Beyond 5 a second prefill alone fills the device.
    assert under_load(setup, roof, roof, 6.0).saturated == "decode"


def test_the_load_in_chunks_by_hand():
    # Two chunks of 500 tokens of 0.1 s each at 1 request a second: a fifth of the time, in which a stream gets 2 tokens
    # and not the 10 of its plain steps.
    s = made(prefill_chunk_tokens=500, cache_k={"bits": 1e-6}, output=2)
    setup = resolve(s)
    roof = ceiling_roof(setup, "decode")
    load = under_load(setup, roof, roof, 1.0)
    n = load.sequences
    one = 0.1 + n * 2e-4
    share = 2 * one
    assert load.prefill_share == pytest.approx(share)
    assert load.tpot_s == pytest.approx(1 / (share / one + (1 - share) / 0.020), rel=1e-6)
    assert n == pytest.approx(load.tpot_s, rel=1e-3), "Little's law: one token a reply after the first"
    whole_prompt = under_load(resolve(s.change(prefill_chunk_tokens=None)), roof, roof, 1.0)
    assert load.ttft_p95_s >= whole_prompt.ttft_p95_s
    assert under_load(setup, roof, roof, 6.0).saturated == "prefill"


@few
@given(scenarios(ways=True))
def test_however_it_serves_no_estimate_is_faster_than_its_ceiling(s):
    result = evaluate(s)
    for typical in result.estimate.values():
        for one in ("ttft_s", "reply_s", "load_s"):
            assert getattr(result.ceiling.latency, one) <= getattr(typical.latency, one) * (1 + 1e-9)
        assert typical.device_tokens_per_s <= result.ceiling.device_tokens_per_s * (1 + 1e-9)
        assert np.isnan(typical.stall_s) or result.ceiling.stall_s <= typical.stall_s * (1 + 1e-9)


def test_what_is_not_asked_for_changes_nothing():
    plain = scenario({"model": "qwen3-30b-a3b", "batch": 4, "prompt": 777})
    told = plain.change(
        prefill_chunk_tokens=None, batching="continuous", residency="resident", attention_kernels="fused"
    )
    assert told == plain
    held = plain.change(output_spread=0.3, storage_gbs=7.0, draft_heads_gb=1.0)
    for phases, same in (
        (evaluate(held).typical, evaluate(plain).typical),
        (evaluate(held).ceiling, evaluate(plain).ceiling),
    ):
        assert phases.latency == same.latency
        assert phases.device_tokens_per_s == same.device_tokens_per_s
    assert evaluate(held).capacity == evaluate(plain).capacity
