"""The worked examples of the two articles that the product implements, through the functions and through a scenario.

Sources: "SLM Inference Optimization, in depth" (1e9 weights on 50 GB/s, 4 TFLOPS) and "LLM Inference Optimization"
(7e9 weights on 2,000 GB/s, 400 TFLOPS, 80 GB). Both give a model by its count: bytes = params·bits/8, operations =
2·params a token.
"""

from __future__ import annotations

import math

import pytest

from slmopt import SpecError, decode_ceiling, evaluate, expected_tokens_per_pass, prefill_seconds, scenario
from slmopt.theory.batching import batch_curve
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.forward import Group
from slmopt.theory.latency import prefill
from slmopt.theory.memory import cache_bytes
from slmopt.theory.roofline import ceiling_roof, run

SMALL = {"params": 1e9, "layers": 16, "kv_heads": 8, "head_dim": 64}
SMALL_DEVICE = {"bandwidth_gbs": 50, "peak_tflops": 4}
LARGE = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}
LARGE_DEVICE = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}
GROUPED = {**LARGE, "kv_heads": 8}


def exactly(value: float) -> object:
    return pytest.approx(value, rel=1e-12)


def small(bits: float = 16, **more: object) -> Evaluation:
    return evaluate(
        scenario({"model": SMALL, "device": SMALL_DEVICE, "weights": {"bits": bits}, "context": 0, **more})
    )


def large(model: dict[str, object] = LARGE, bits: float = 16, **more: object) -> Evaluation:
    return evaluate(
        scenario({"model": model, "device": LARGE_DEVICE, "weights": {"bits": bits}, "context": 0, **more})
    )


DECODE = [(16, 0, 25.0), (4.5, 0, 88.88888888888889), (4.5, 4096, 71.76507499461819)]


@pytest.mark.parametrize(("bits", "context", "tokens_per_s"), DECODE)
def test_decode_ceiling(bits, context, tokens_per_s):
    assert decode_ceiling(1e9, bits, 50, ctx=context) == exactly(tokens_per_s)
    assert small(bits, context=context).ceiling.user_tokens_per_s == exactly(tokens_per_s)
    assert small(bits, context=context).ceiling.device_tokens_per_s == exactly(tokens_per_s)


def test_decode_ceiling_takes_the_arguments_of_the_article_in_its_order():
    by_place = decode_ceiling(1e9, 4.5, 50, 4096, 16, 8, 64, 2)
    by_name = decode_ceiling(
        params=1e9,
        bits_per_weight=4.5,
        bandwidth_gbs=50,
        ctx=4096,
        layers=16,
        kv_heads=8,
        head_dim=64,
        kv_bytes=2,
    )
    assert by_place == by_name == exactly(71.76507499461819)


def test_prefill_of_the_small_model():
    assert prefill_seconds(params=1e9, prompt_tokens=1000, effective_tflops=4) == exactly(0.5)
    first = small(prompt=1000).ceiling
    assert first.prefill.compute_s == exactly(0.5)
    assert first.latency.ttft_s == exactly(0.5)
    assert first.prefill.bound == "compute"


def test_small_model_stands_far_left_of_its_ridge():
    ceiling = small().ceiling
    assert ceiling.decode_roof.ridge == exactly(80)
    assert ceiling.decode.cost.intensity == exactly(1.0)
    assert ceiling.decode.bound == "memory"


def test_gain_of_fewer_bits():
    gain = small(16).ceiling.decode.seconds / small(4.5).ceiling.decode.seconds
    assert gain == exactly(3.5555555555555554)
    assert small(4.5).capacity.weight_bytes == 562_500_000


def test_cache_of_the_small_model():
    held = small(context=4096)
    assert held.capacity.bytes_per_token == 32_768
    assert held.capacity.bytes_per_sequence == 134_217_728
    assert held.ceiling.decode.cost.cache_bytes == 134_217_728
    assert cache_bytes(held.setup.model, *held.setup.cache, 4096) == 134_217_728


def test_reply_of_200_tokens_takes_eight_seconds_after_the_first():
    # 40 ms a token is 1e9 weights of 16 bits at 50 GB/s without a cache; 201 tokens are 200 steps after the first.
    reply = small(model={"params": 1e9}, prompt=1000, output=201).ceiling.latency
    assert reply.tpot_s == exactly(0.040)
    assert reply.reply_s - reply.ttft_s == exactly(8.0)


# Also row RC16 of the replay cases (GenZ's llm_spec_decode capped the count at k; the target adds one).
EXPECTED = [(0.7, 4, 2.7731), (0.5, 1, 1.5), (1.0, 5, 6.0), (0.9, 4, 4.0951)]


@pytest.mark.parametrize(("acceptance", "draft", "tokens"), EXPECTED)
def test_expected_tokens_per_pass(acceptance, draft, tokens):
    assert expected_tokens_per_pass(acceptance, draft) == exactly(tokens)
    drafting = small(acceptance=acceptance, draft_tokens=draft, draft_cost=0.1).ceiling.speculation
    assert drafting is not None
    assert drafting.expected_tokens == exactly(tokens)


def test_decode_of_the_large_model():
    ceiling = large().ceiling
    assert ceiling.decode.cost.weight_bytes == 14_000_000_000
    assert ceiling.decode.memory_s == exactly(7.0e-3)
    assert ceiling.decode.compute_s == exactly(0.035e-3)
    assert ceiling.decode.compute_s / ceiling.decode.memory_s == exactly(0.005)
    assert ceiling.user_tokens_per_s == pytest.approx(142.857, abs=5e-4)


BATCHES = [(1, 0.035, 142.857), (16, 0.56, 2285.714), (64, 2.24, 9142.857), (200, 7.0, 28571.43)]


@pytest.mark.parametrize(("batch", "compute_ms", "tokens_per_s"), BATCHES)
def test_batch_table_without_cache_reads(batch, compute_ms, tokens_per_s):
    ceiling = large(batch=batch).ceiling
    assert ceiling.decode.memory_s == exactly(7.0e-3)
    assert ceiling.decode.compute_s == exactly(compute_ms / 1e3)
    assert ceiling.device_tokens_per_s == pytest.approx(tokens_per_s, abs=6e-3)
    assert ceiling.user_tokens_per_s == exactly(ceiling.device_tokens_per_s / batch)
    curve = batch_curve(large().setup, ceiling.decode_roof, float(batch))
    assert curve.device_tokens_per_s == exactly(ceiling.device_tokens_per_s)


def test_crossover_by_weights_alone():
    assert large().ceiling.crossover.weights_only == exactly(200)
    assert large().ceiling.crossover.batch == exactly(200)
    assert large(context=4000).ceiling.crossover.weights_only == exactly(200)
    assert large(context=4000).ceiling.crossover.batch is None


def test_prefill_of_2000_tokens():
    ceiling = large(prompt=2000).ceiling
    assert ceiling.prefill.memory_s == exactly(7.0e-3)
    assert ceiling.prefill.compute_s == exactly(70.0e-3)
    assert ceiling.latency.ttft_s == exactly(70.0e-3)


@pytest.mark.parametrize(
    ("model", "a_token", "a_sequence", "fit"),
    [(LARGE, 524_288, 2_097_152_000, 31), (GROUPED, 131_072, 524_288_000, 125)],
)
@pytest.mark.parametrize("allocation", ["paged", "reserved"])
def test_sequences_of_4000_tokens_in_80_gb(model, a_token, a_sequence, fit, allocation):
    held = large(model, context=4000, allocation=allocation).capacity
    assert held.weight_bytes == 14_000_000_000
    assert held.bytes_per_token == a_token
    assert held.bytes_per_sequence == a_sequence
    assert held.max_sequences == fit
    assert held.fits


def test_four_bit_decode():
    assert large(bits=4).ceiling.decode.memory_s == exactly(1.75e-3)


# Hand arithmetic of the replay cases, for the large article model: rows RC25 and RC26.
def test_crossover_with_cache_reads():
    ceiling = large(context=100).ceiling
    assert ceiling.crossover.batch == pytest.approx(796.8, abs=0.05)
    assert ceiling.crossover.context_limit == pytest.approx(133.5, abs=0.05)
    # (2·P/peak) / (kv/bw) = 35 us / 262.144 ns.
    assert ceiling.crossover.context_limit == exactly(35e-6 / (524_288 / 2e12))


def test_throughput_limit_of_large_batches():
    assert large(context=256).ceiling.crossover.throughput_limit == pytest.approx(14901, abs=0.5)
    assert large(context=0).ceiling.crossover.throughput_limit == exactly(1 / 35e-6)


# Row RC24: the speed-up of a memory-bound target is the expected tokens over 1 + k·cost.
def test_speedup_of_a_memory_bound_target():
    drafting = small(acceptance=0.7, draft_tokens=4, draft_cost=0.1).ceiling.speculation
    assert drafting is not None
    assert drafting.speedup == exactly(2.7731 / 1.4)
    assert drafting.speedup == pytest.approx(1.9808, abs=5e-5)
    assert drafting.cost_ratio == exactly(0.1)


def test_prefill_of_a_batch_is_a_pass_over_all_its_tokens():
    setup = large(prompt=2000).setup
    roof = ceiling_roof(setup, "prefill")
    together = run(setup, [Group(8.0, 2000.0, 0.0, 1.0)], roof)
    assert together.seconds == exactly(8 * 70.0e-3)
    assert prefill(setup, roof, 2000.0).seconds == exactly(70.0e-3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: decode_ceiling(0, 16, 50), "params = 0: it must be a finite number above 0."),
        (
            lambda: decode_ceiling(1e9, -4, 50),
            "bits_per_weight = -4: it must be a finite number above 0 and at most 64.",
        ),
        (
            lambda: decode_ceiling(1e9, 16, 50, kv_bytes=16),
            "kv_bytes = 16: it must be a finite number above 0 and at most 8.",
        ),
        (
            lambda: decode_ceiling(1e9, 16, math.nan),
            "bandwidth_gbs = nan: it must be a finite number above 0.",
        ),
        (
            lambda: decode_ceiling(1e9, 16, math.inf),
            "bandwidth_gbs = inf: it must be a finite number above 0.",
        ),
        (
            lambda: decode_ceiling("1e9", 16, 50),
            "params = '1e9': it must be a finite number above 0.",
        ),
        (lambda: decode_ceiling(1e9, 16, 50, ctx=-1), "ctx = -1: it must be a finite number, 0 or above."),
        (
            lambda: decode_ceiling(1e9, 16, 50, layers=-1),
            "layers = -1: it must be a whole number, 0 or above.",
        ),
        (
            lambda: decode_ceiling(1e9, 16, 50, kv_heads=1.5),
            "kv_heads = 1.5: it must be a whole number, 0 or above.",
        ),
        (lambda: prefill_seconds(1e9, 0, 4), "prompt_tokens = 0: it must be a finite number above 0."),
        (
            lambda: prefill_seconds(1e9, 1000, None),
            "effective_tflops = None: it must be a finite number above 0.",
        ),
        (lambda: expected_tokens_per_pass(1.5, 4), "acceptance = 1.5: it must be a number between 0 and 1."),
        (
            lambda: expected_tokens_per_pass("x", 4),
            "acceptance = 'x': it must be a number between 0 and 1.",
        ),
        (
            lambda: expected_tokens_per_pass(0.5, -1),
            "draft_tokens = -1: it must be a finite number, 0 or above.",
        ),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(call, sentence):
    with pytest.raises(SpecError) as caught:
        call()
    assert str(caught.value) == sentence
