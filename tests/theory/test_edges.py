"""Where a formula turns: exactly full, exactly loaded, exactly one."""

from __future__ import annotations

import math

import pytest

from slmopt.specs.library import library
from slmopt.specs.model import Attention, Indexer, LayerGroup, Mlp, Model
from slmopt.specs.rates import PhasePeak
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.specs.weights import stored_bytes
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engines import most_sequences, tokens_held, total_bytes
from slmopt.theory.evaluation import evaluate
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.holders import holders
from slmopt.theory.interference import chunked
from slmopt.theory.latency import time_per_token
from slmopt.theory.offload import held_bytes, placed
from slmopt.theory.operators import operators_view
from slmopt.theory.queueing import under_load, wait_mean, wait_p95
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.roofline import ceiling_roof, estimate_roof
from slmopt.theory.roofline_points import intensity_limit
from slmopt.theory.speculation import verify_seconds
from slmopt.theory.terms import pass_terms
from slmopt.theory.unknown import Bracket, bracket
from slmopt.theory.worked import expected_tokens_per_pass

F16 = library().caches["f16"]
COUNTED = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}
SMALL = Model(
    id="m",
    name="m",
    hidden=16,
    vocab=20,
    groups=(LayerGroup(count=4, attention=Attention(heads=2, kv_heads=1, head_dim=8), mlp=Mlp(width=16)),),
)


@pytest.mark.parametrize("sequences", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("engine", ["llama.cpp", "vllm", "sglang"])
def test_as_many_fit_as_fill_the_room_to_the_last_byte(engine, sequences):
    cache = Cache(library().models["llama-3.2-1b"], F16, F16)
    room = float(total_bytes(engine, cache, float(sequences), 1000.0))
    assert float(most_sequences(engine, cache, room, 1000.0)) >= sequences
    assert float(most_sequences(engine, cache, 0.99 * room / sequences, 1000.0)) < sequences


def test_llama_holds_the_entry_that_a_last_group_of_tokens_begins():
    entry = Attention(
        heads=2, kv_heads=1, head_dim=8, window=16, single_kv=True, compress=3, indexer=Indexer(heads=1, head_dim=8, top_k=4)
    )  # fmt: skip
    model = SMALL.model_copy(update={"groups": (LayerGroup(count=1, attention=entry, mlp=Mlp(width=16)),)})
    cache = Cache(model, F16, F16)
    # 256 cells leave ⌈256 / 3⌉ = 86 entries of 8 values, and as many index keys; the window keeps a ring of 256.
    assert float(total_bytes("llama.cpp", cache, 1.0, 100.0)) % 2 == 0
    whole = float(total_bytes("llama.cpp", cache, 1.0, 256.0))
    ring = 256 * 8 * 2
    assert whole - ring == 86 * 8 * 2 + 86 * 8 * 2


def test_weights_that_leave_no_byte_hold_any_number_without_a_cache_and_one_less_byte_none():
    def most(capacity: float) -> float | None:
        device = {"bandwidth_gbs": 100, "capacity_gb": capacity}
        held = evaluate(
            scenario({"model": {"params": 7e9}, "device": device, "weights": {"bits": 16}})
        ).capacity
        return held.max_sequences

    assert most(14.0) is None
    assert most(13.9) == 0


def test_one_device_sends_nothing_over_a_link():
    terms = pass_terms(SMALL, library().weights["bf16"], F16, F16)
    cost = forward(terms, [Group(2.0, 1.0, 10.0)])
    assert (cost.link_bytes, cost.messages) == (0.0, 0.0)
    untold = PassCost(1.0, 1.0, 1.0, 1.0)
    assert (untold.link_bytes, untold.messages, untold.tokens) == (0.0, 0.0, 1.0)


def test_the_stages_of_a_pipeline_hold_the_whole_model():
    s = scenario(
        {"model": SMALL, "weights": "bf16", "device": "rtx-4090", "devices": 2, "parallel": "pipeline"}
    )
    held = [holder.weight_bytes for holder in holders(resolve(s))]
    assert sum(held) == pytest.approx(stored_bytes(library().weights["bf16"], SMALL), rel=1e-12)


@pytest.mark.parametrize("layers", [0, 8, 32])
def test_card_and_host_hold_a_counted_model_between_them(layers):
    model = resolve(scenario({"model": COUNTED})).model
    card, host = held_bytes(model, library().weights["bf16"], placed(model, layers, None))
    assert card == pytest.approx(14e9 * layers / 32)
    assert card + host == pytest.approx(14e9)


def test_of_two_memories_that_hold_nothing_the_one_with_least_room_is_told():
    card = {"bandwidth_gbs": 1000, "peak_tflops": 100, "capacity_gb": 10}
    host = {"bandwidth_gbs": 50, "peak_tflops": 1, "capacity_gb": 0.8}
    given = {"model": COUNTED, "device": card, "host": host, "weights": {"bits": 16}, "engine": "llama.cpp"}
    # 30 of 32 layers: 13.1 GB on a card of 10, 0.9 GB on a host of 0.8.
    assert evaluate(scenario({**given, "gpu_layers": 30})).capacity.place == "card"
    lower = {
        **given,
        "host": {**host, "capacity_gb": 0.1},
        "device": {**card, "capacity_gb": 13},
        "gpu_layers": 30,
    }
    assert evaluate(scenario(lower)).capacity.place == "host"


def test_a_queue_at_a_load_of_one_never_empties():
    assert wait_mean(2.0, 0.5) == wait_p95(2.0, 0.5) == math.inf
    assert wait_mean(1.0, 0.5) == pytest.approx(0.25)
    assert math.isfinite(wait_p95(1.999, 0.5))


WINDOWED = {
    "id": "m", "name": "m", "hidden": 64, "vocab": 100,
    "groups": [
        {"count": 2, "attention": {"heads": 4, "kv_heads": 4, "head_dim": 16, "window": 64}, "mlp": {"width": 128}},
        {"count": 2, "attention": {"heads": 4, "kv_heads": 4, "head_dim": 16}, "mlp": {"width": 128}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("shared", [0, 10])
@pytest.mark.parametrize(
    "context", [60.0, 61.5, 62.25, 62.75, 63.0, 63.25, 63.75, 64.5, 72.4, 73.0, 73.3, 74.0]
)
def test_the_crossover_ends_where_a_sequence_adds_as_much_reading_as_arithmetic(context, shared):
    given = {"model": WINDOWED, "context": shared, "shared_prefix": shared}
    ridge = intensity_limit(resolve(scenario({**given, "device": {"bandwidth_gbs": 100}})), context)
    device = {"bandwidth_gbs": 100, "peak_tflops": ridge / 10}
    found = evaluate(scenario({**given, "device": device})).ceiling.crossover.context_limit
    # Between two whole numbers of tokens the line is bent where a window fills.
    assert found == pytest.approx(context, abs=0.02)


def test_cached_tokens_count_in_the_steps_that_a_fit_found():
    given = {
        "model": COUNTED,
        "device": {"bandwidth_gbs": 100, "peak_tflops": 10},
        "weights": {"bits": 16},
        "context": 1000,
    }
    for step, tokens in ((1, 1001), (2, 1002), (3, 1002), (256, 1024)):
        fit = {"bandwidth_gbs": 50, "cache_step": step}
        cost = evaluate(scenario({**given, "calibration": fit})).typical.decode.cost
        # 1000 are cached and one is written.
        assert float(cost.cache_bytes) == tokens * 524_288


def bracket_of(known: tuple[tuple[str, float], ...], ceiling: float | None = None) -> Bracket | None:
    """A pass of 10 ms of reading and 10^10 operations on a device with these other rates."""
    cost = PassCost(1e9, 0.0, 1e10, 0.0)
    time = pass_time(cost, Roof(1e11, math.nan, math.nan, 0.0, "ceiling", ""))
    return bracket(time, PhasePeak("", ceiling, "", None, "", "", known))


def test_other_rates_bracket_an_unknown_one():
    found = bracket_of((("vector", 0.5e12), ("tensor", 2e12)))
    assert found is not None
    assert (found.memory_s, found.fast_s, found.slow_s) == pytest.approx((0.01, 0.01, 0.02))
    assert (found.fast_rate, found.slow_rate, found.bound) == ("tensor", "vector", None)
    compute = bracket_of((("vector", 0.2e12), ("tensor", 0.5e12)))
    assert compute is not None
    assert (compute.fast_s, compute.slow_s, compute.bound) == (
        pytest.approx(0.02),
        pytest.approx(0.05),
        "compute",
    )
    memory = bracket_of((("vector", 1e12), ("tensor", 4e12)))
    assert memory is not None
    # At the slowest rate both sides take the same: memory is named.
    assert (memory.slow_s, memory.bound) == (pytest.approx(0.01), "memory")
    three = bracket_of((("a", 0.25e12), ("b", 0.3e12), ("c", 2e12)))
    assert three is not None
    assert (three.slow_rate, three.fast_rate) == ("a", "c")
    assert bracket_of(()) is None
    assert bracket_of((("vector", 1e12),), ceiling=1e12) is None


def test_a_check_of_drafts_is_no_shorter_than_a_step_lengthened_for_each():
    given = {
        "model": COUNTED, "device": {"bandwidth_gbs": 2000, "peak_tflops": 400}, "weights": {"bits": 16}, "context": 0,
        "draft_tokens": 4, "acceptance": 0.5, "draft_cost": 0.1, "verify_cost": 0.25,
        "bandwidth_fraction": 1.0, "compute_fraction": 1.0, "fixed_ms": 0.0,
    }  # fmt: skip
    s = resolve(scenario(given))
    step = 7e-3
    assert float(verify_seconds(s, estimate_roof(s, "decode", "typical"), 4.0)) == pytest.approx(
        2 * step, rel=1e-3
    )
    assert float(verify_seconds(s, estimate_roof(s, "decode", "typical"), 1.0)) == pytest.approx(
        1.25 * step, rel=1e-3
    )
    assert float(verify_seconds(s, ceiling_roof(s, "decode"), 4.0)) == pytest.approx(step, rel=1e-3)


def test_at_the_ridge_an_operator_is_held_by_memory():
    # 200 sequences: 14·10⁹ bytes at 2 TB/s and 200 · 14·10⁹ operations at 400 TFLOP/s, 7 ms both.
    given = {
        "model": COUNTED,
        "device": {"bandwidth_gbs": 2000, "peak_tflops": 400},
        "weights": {"bits": 16},
        "context": 0,
    }
    for batch, first in ((200, False), (201, True)):
        found = operators_view(evaluate(scenario({**given, "batch": batch}))).decode
        (weights,) = [one for one in found if one.weight_bytes]
        assert weights.compute_first is first


def test_a_link_that_nobody_described_takes_no_time():
    given = {
        "model": SMALL,
        "device": {"bandwidth_gbs": 100, "peak_tflops": 10},
        "devices": 2,
        "parallel": "tensor",
    }
    roof = estimate_roof(resolve(scenario(given)), "decode", "typical")
    assert (roof.link_bandwidth, roof.link_latency_s) == (math.inf, 0.0)


@pytest.mark.parametrize(
    ("engine", "allocation", "held"),
    [
        ("exact", "paged", 112), ("exact", "reserved", 101), ("llama.cpp", "paged", 101), ("llama.cpp", "reserved", 256),
        ("vllm", "paged", 112), ("vllm", "reserved", 112), ("sglang", "reserved", 112),
    ],
)  # fmt: skip
def test_tokens_are_held_in_blocks_or_pads(engine, allocation, held):
    assert tokens_held(engine, 101, 16, allocation) == held


def test_chunks_of_a_long_prompt_count_what_is_fed():
    device = {"bandwidth_gbs": 2000, "peak_tflops": 400}
    given = {
        "model": COUNTED,
        "device": device,
        "weights": {"bits": 16},
        "prompt": 1_000_000,
        "prefix_hit": 999_000,
    }
    s = resolve(scenario(given))
    found = chunked(s, ceiling_roof(s, "decode"), 1)
    # 1,000 passes of a token each, none shorter than reading the weights.
    assert found.ttft_s > 1000 * 7e-3
    assert found.gap_s < found.ttft_s / 900


def test_the_95th_percentile_of_a_crowd():
    device = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}
    given = {
        "model": COUNTED,
        "device": device,
        "weights": {"bits": 16},
        "context": 1000,
        "prompt": 800,
        "output": 201,
    }
    s = resolve(scenario(given))
    decode, fill = ceiling_roof(s, "decode"), ceiling_roof(s, "prefill")
    load = under_load(s, decode, fill, 5.0)
    free = 1 - load.prefill_share
    assert load.sequences == pytest.approx(
        5.0 * 200 * time_per_token(s, decode, load.sequences) / free, rel=1e-6
    )
    crowd = load.sequences + 1.6449 * math.sqrt(load.sequences)
    assert load.tpot_s == pytest.approx(time_per_token(s, decode, load.sequences) / free)
    assert load.tpot_p95_s == pytest.approx(time_per_token(s, decode, crowd) / free)
    room = load.sequences + 0.5
    tight = under_load(s, decode, fill, 5.0, room)
    assert tight.tpot_p95_s == pytest.approx(time_per_token(s, decode, room) / free)
    assert under_load(s, decode, fill, 5.0, load.sequences - 0.5).saturated == "memory"
    one = resolve(scenario({**given, "output": 1}))
    assert math.isnan(under_load(one, decode, fill, 5.0).tpot_s)
    two = resolve(scenario({**given, "output": 2}))
    assert under_load(two, decode, fill, 5.0).tpot_s >= 7e-3


@pytest.mark.parametrize(("acceptance", "tokens"), [(0, 1.0), (1, 5.0), (0.5, 1.9375)])
def test_tokens_of_a_pass_at_both_ends(acceptance, tokens):
    assert expected_tokens_per_pass(acceptance, 4) == pytest.approx(tokens)
