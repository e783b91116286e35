"""The crossover and what belongs to it: at B* both sides are equal, beyond the context limit there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slmopt import Scenario, scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.batching import batch_curve, crossover, largest_batch_within
from slmopt.theory.latency import decode_step
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import ceiling_roof, estimate_roof
from tests.strategies import few, scenarios


def both_roofs(setup: Setup) -> list[Roof]:
    return [ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")]


@few
@given(scenarios(), st.sampled_from([0, 1, 17, 300, 4096]))
def test_at_the_crossover_both_sides_take_the_same_time(s, context):
    setup = resolve(s.change(context=context, shared_prefix=min(s.shared_prefix, context)))
    for roof in both_roofs(setup):
        found = crossover(setup, roof)
        if found.batch is None:
            # The gap to memory only widens: even a huge batch is bound by it.
            assert not decode_step(setup, roof, 1e9).compute_bound
            continue
        at = decode_step(setup, roof, found.batch)
        assert at.compute_s == pytest.approx(at.memory_s, rel=1e-9)
        if found.batch > 1:
            assert not decode_step(setup, roof, found.batch * 0.99).compute_bound
            assert decode_step(setup, roof, found.batch * 1.01).compute_bound


@few
@given(scenarios())
def test_beyond_the_context_limit_there_is_no_crossover_and_just_below_there_is(s):
    setup = resolve(s)
    for roof in both_roofs(setup):
        limit = crossover(setup, roof).context_limit
        if limit is None:
            assert crossover(setup, roof, 2.0**39).batch is not None
            continue
        for factor in (1.001, 1.3, 2.0, 1000.0):
            assert crossover(setup, roof, limit * factor + 0.01).batch is None
        if limit > 1:
            assert crossover(setup, roof, limit * (1 - 1e-9)).batch is not None


@few
@given(scenarios())
def test_throughput_rises_with_the_batch_towards_its_limit_and_never_above(s):
    setup = resolve(s)
    batches = np.geomspace(1, 1e6, 25)
    for roof in both_roofs(setup):
        curve = batch_curve(setup, roof, batches)
        limit = crossover(setup, roof).throughput_limit
        assert np.all(np.diff(curve.device_tokens_per_s) >= -1e-9 * curve.device_tokens_per_s[1:])
        assert np.all(np.diff(curve.user_tokens_per_s) <= 1e-9 * curve.user_tokens_per_s[1:])
        assert np.all(curve.device_tokens_per_s <= limit * (1 + 1e-9))
        assert batch_curve(setup, roof, 1e12).device_tokens_per_s == pytest.approx(limit, rel=1e-3)


@few
@given(scenarios())
def test_without_cache_reads_the_crossover_is_the_one_by_weights_alone(s):
    attentive = s.change(context=0, shared_prefix=0)
    assume(isinstance(attentive.model, str) or attentive.model.by_count)
    setup = resolve(attentive)
    # The estimate writes a cache entry for the new token even at context 0.
    roof = ceiling_roof(setup, "decode")
    found = crossover(setup, roof)
    assert found.batch == pytest.approx(found.weights_only, rel=1e-9)
    assert found.throughput_limit == pytest.approx(roof.peak / (2 * setup.model.params), rel=1e-9)


CARD = {"bandwidth_gbs": 2000, "peak_tflops": 400}
HEADS = {"heads": 32, "kv_heads": 32, "head_dim": 128}
FEED = {"mlp": {"width": 11008}}


def stacked(*attentions: dict[str, object], **more: object) -> Scenario:
    groups = [{"count": 16, "attention": {**HEADS, **a}, **FEED} for a in attentions]
    model = {"hidden": 4096, "vocab": 32000, "groups": groups}
    return scenario({"model": model, "device": CARD, "weights": {"bits": 16}, **more})


def test_context_limit_of_full_attention_is_the_closed_form():
    """ctx* = (2·P/peak) / (kv/bw − att/peak), with the new token's own pair in the numerator."""
    setup = resolve(stacked({}, {}))
    active = setup.model.total_params - 32000 * 4096
    kv, pair = 32 * 2 * 32 * 128 * 2, 32 * 4 * 32 * 128
    expected = (2 * active + pair) / 400e12 / (kv / 2e12 - pair / 400e12)
    found = crossover(setup, ceiling_roof(setup, "decode"))
    assert found.context_limit == pytest.approx(expected, rel=1e-9)


def test_windows_may_plateau_below_the_limit():
    small, large = (resolve(stacked({"window": w}, {"window": w})) for w in (16, 4096))
    roofs = [ceiling_roof(setup, "decode") for setup in (small, large)]
    plateau = crossover(small, roofs[0])
    assert plateau.context_limit is None
    assert crossover(small, roofs[0], 1e6).batch == pytest.approx(
        crossover(small, roofs[0], 1e9).batch, rel=1e-12
    )
    full = resolve(stacked({}, {}))
    limit = crossover(full, ceiling_roof(full, "decode")).context_limit
    assert crossover(large, roofs[1]).context_limit == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize("window", [30, 64, 100])
def test_a_window_that_fills_before_the_limit_moves_it_out_exactly(window):
    mixed = resolve(stacked({"window": window}, {}))
    roof = ceiling_roof(mixed, "decode")
    limit = crossover(mixed, roof).context_limit
    full = resolve(stacked({}, {}))
    assert limit > crossover(full, ceiling_roof(full, "decode")).context_limit
    assert crossover(mixed, roof, limit * (1 - 1e-9)).batch is not None
    assert crossover(mixed, roof, limit * (1 + 1e-9)).batch is None


@pytest.mark.parametrize("chunk", [16, 50, 128, 8192])
def test_chunks_make_a_saw_whose_last_tooth_holds_the_limit(chunk):
    mixed = resolve(stacked({"chunk": chunk}, {}))
    roof = ceiling_roof(mixed, "decode")
    limit = crossover(mixed, roof).context_limit
    # Seconds by which another sequence adds more arithmetic than reading, at each context.
    step = decode_step(mixed, roof, np.array([[1.0], [2.0]]), np.arange(20_000.0))
    gap = np.diff(step.compute_s, axis=0)[0] - np.diff(step.memory_s, axis=0)[0]
    last = np.flatnonzero(gap > 0)[-1]
    assert last <= limit < last + 1


@pytest.mark.parametrize("prefix", [10, 120, 4000])
def test_a_shared_prefix_moves_the_limit_out_by_what_is_not_read_again(prefix):
    setup = resolve(stacked({}, {}, prompt=5000, shared_prefix=prefix))
    roof = ceiling_roof(setup, "decode")
    limit = crossover(setup, roof).context_limit
    # Only tokens behind the prefix are read for each sequence: 2·P + pairs = (c − prefix)·kv at the limit.
    assert crossover(setup, roof, limit * (1 - 1e-9)).batch is not None
    assert crossover(setup, roof, limit * (1 + 1e-9)).batch is None
    apart = resolve(stacked({}, {}))
    assert limit > prefix + crossover(apart, ceiling_roof(apart, "decode")).context_limit - 1e-6


def test_attention_may_never_read_longer_than_it_computes():
    # Multi-query attention with many heads: one cached token, 64 heads' worth of arithmetic, on a slow processor.
    slow = {"bandwidth_gbs": 2000, "peak_tflops": 20}
    setup = resolve(stacked({"heads": 64, "kv_heads": 1}).change(device=slow))
    found = crossover(setup, ceiling_roof(setup, "decode"), 1e7)
    assert found.context_limit is None
    assert found.batch is not None


def test_a_crossover_below_one_sequence_means_compute_from_the_start():
    setup = resolve(stacked({}, context=0).change(device={"bandwidth_gbs": 2000, "peak_tflops": 1}))
    roof = ceiling_roof(setup, "decode")
    assert crossover(setup, roof).batch < 1
    assert decode_step(setup, roof, 1.0).compute_bound


def test_an_estimate_with_experts_crosses_where_its_own_bytes_say():
    feed = {"moe": {"experts": 128, "active": 8, "width": 1024}}
    model = {"hidden": 2048, "vocab": 32000, "groups": [{"count": 16, "attention": HEADS, **feed}]}
    s = scenario({"model": model, "device": CARD, "context": 10, "weights": {"bits": 4}})
    setup = resolve(s.change(bandwidth_fraction=1.0, compute_fraction=0.02, fixed_ms=0))
    for roof in both_roofs(setup):
        found = crossover(setup, roof).batch
        at = decode_step(setup, roof, found)
        assert at.compute_s == pytest.approx(at.memory_s, rel=1e-12)
    # Few sequences miss many experts; the line of large batches would cross later.
    assert found < 60


@few
@given(scenarios(), st.floats(1e-4, 10), st.integers(1, 2000))
def test_largest_batch_within_a_time_meets_it_and_one_more_does_not(s, seconds, most):
    setup = resolve(s)
    for roof in both_roofs(setup):
        found = largest_batch_within(setup, roof, seconds, most)
        assert 0 <= found <= most
        if found:
            assert decode_step(setup, roof, float(found)).seconds <= seconds
        if found < most:
            assert decode_step(setup, roof, found + 1.0).seconds > seconds
