"""What must hold of every scenario: bounds are bounds, better hardware never slows, more bits never speed up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slmopt import Scenario, evaluate, scenario
from slmopt.specs.device import RATES
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import Phases
from slmopt.theory.latency import decode_group, decode_step, prefill
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.roofline import LEVELS, ceiling_roof, estimate_roof, roofs, run
from tests.strategies import few, scenarios

# Rounding only: a bound holds to twelve digits.
SLACK = 1 + 1e-12


def no_slower(faster: Phases, slower: Phases) -> None:
    assert faster.decode.seconds <= slower.decode.seconds * SLACK
    assert faster.prefill.seconds <= slower.prefill.seconds * SLACK
    assert faster.latency.reply_s <= slower.latency.reply_s * SLACK


def all_kinds(s: Scenario) -> list[Phases]:
    result = evaluate(s)
    return [result.ceiling, *result.estimate.values()]


@given(scenarios())
def test_no_estimate_is_faster_than_its_ceiling(s):
    result = evaluate(s)
    for level in LEVELS:
        estimate = result.estimate[level]
        no_slower(result.ceiling, estimate)
        assert estimate.device_tokens_per_s <= result.ceiling.device_tokens_per_s * SLACK
        assert estimate.latency.ttft_s <= estimate.latency.reply_s
        limits = (estimate.crossover.throughput_limit, result.ceiling.crossover.throughput_limit)
        if None not in limits:
            assert limits[0] <= limits[1] * SLACK


@few
@given(scenarios(), st.sampled_from([None, *RATES]), st.sampled_from(["llama.cpp", "vllm", "sglang"]))
def test_no_engine_or_compute_type_beats_the_ceiling_even_at_full_fractions(s, compute, engine):
    whole = s.change(
        engine=engine, compute=compute, bandwidth_fraction=1.0, compute_fraction=1.0, fixed_ms=0.0
    )
    result = evaluate(whole)
    assert result.setup.decode.estimate <= result.setup.decode.ceiling
    no_slower(result.ceiling, result.typical)


@few
@given(scenarios())
def test_fractions_of_reference_measurements_are_a_band_from_slow_to_fast(s):
    free = evaluate(s.change(bandwidth_fraction=None, compute_fraction=None)).estimate
    no_slower(free["fast"], free["typical"])
    no_slower(free["typical"], free["slow"])
    fitted = evaluate(s)
    assert fitted.estimate["slow"] == fitted.estimate["typical"] == fitted.estimate["fast"]
    assert fitted.setup.factors.fitted


@few
@given(scenarios(), st.floats(1, 100))
def test_more_bandwidth_or_peak_never_slows(s, factor):
    rates = dict(s.device.units[0].peak_tflops)
    device = {"bandwidth_gbs": s.device.bandwidth_gbs, "peak_tflops": rates}
    wider = s.change(device={**device, "bandwidth_gbs": s.device.bandwidth_gbs * factor})
    quicker = s.change(
        device={**device, "peak_tflops": {kind: rate * factor for kind, rate in rates.items()}}
    )
    for base, more, faster in zip(all_kinds(s), all_kinds(wider), all_kinds(quicker), strict=True):
        no_slower(more, base)
        no_slower(faster, base)


@few
@given(scenarios(), st.sampled_from([1, 2, 4, 4.5, 8, 16]), st.sampled_from([1.5, 2, 4]))
def test_more_bits_never_speed_up(s, bits, factor):
    # One rate for all types, since wider weights may otherwise run on another kernel.
    s = s.change(peak_tflops=100.0)
    few = s.change(weights={"bits": bits}, cache_k={"bits": bits}, cache_v=None)
    for name in ("weights", "cache_k"):
        more = few.change(**{name: {"bits": bits * factor}}, cache_v={"bits": bits})
        for narrow, wide in zip(all_kinds(few.change(cache_v={"bits": bits})), all_kinds(more), strict=True):
            no_slower(narrow, wide)
        assert evaluate(more).capacity.held_now >= evaluate(few).capacity.held_now


@few
@given(scenarios(), st.sampled_from(["prompt", "output", "context", "batch"]), st.integers(1, 5000))
def test_more_work_never_takes_less_time(s, name, more):
    # Layers that attend in chunks read less again at each chunk's start.
    assume(name == "batch" or s.model.by_count or not any(g.attention.chunk for g in s.model.groups))
    s = s.change(context=s.depth)
    larger = s.change(**{name: getattr(s, name) + more})
    for small, big in zip(all_kinds(s), all_kinds(larger), strict=True):
        assert small.decode.seconds <= big.decode.seconds * SLACK
        assert small.prefill.seconds <= big.prefill.seconds * SLACK
        assert small.latency.reply_s <= big.latency.reply_s * SLACK


@few
@given(scenarios(), st.data())
def test_a_prefix_hit_never_raises_prefill_time_and_always_saves_operations(s, data):
    """Tokens already cached are not computed again; but on a device without arithmetic limits they have to be read."""
    miss = s.change(prefix_hit=0)
    hit = s.change(prefix_hit=data.draw(st.integers(0, s.prompt - 1)))
    for without, cached in zip(all_kinds(miss), all_kinds(hit), strict=True):
        assert cached.prefill.compute_s <= without.prefill.compute_s * SLACK
        if not hit.prefix_hit:
            assert cached.prefill.seconds == without.prefill.seconds
        elif cached.prefill.compute_bound:
            assert cached.prefill.seconds <= without.prefill.seconds * SLACK


@few
@given(scenarios(), st.data())
def test_a_shared_prefix_never_raises_bytes_read_or_held(s, data):
    apart = s.change(shared_prefix=0)
    together = s.change(shared_prefix=data.draw(st.integers(0, s.depth)))
    one, other = evaluate(apart), evaluate(together)
    assert other.ceiling.decode.cost.cache_bytes <= one.ceiling.decode.cost.cache_bytes * SLACK
    assert other.ceiling.decode.cost.flops == one.ceiling.decode.cost.flops
    # The estimate reads the prefix once per sequence, since only some engines share the reads.
    assert other.typical.decode.cost.cache_bytes == one.typical.decode.cost.cache_bytes
    assert other.capacity.held_now <= one.capacity.held_now * SLACK


@few
@given(scenarios())
def test_at_batch_1_nothing_is_shared_and_both_rates_are_one(s):
    single = s.change(batch=1)
    for phases in all_kinds(single):
        assert phases.user_tokens_per_s == phases.device_tokens_per_s
    alone = evaluate(single.change(shared_prefix=0)).ceiling
    assert evaluate(single).ceiling.decode.cost.bytes == pytest.approx(alone.decode.cost.bytes, rel=1e-12)


@few
@given(scenarios())
def test_sides_of_the_roof_follow_from_intensity_and_ridge(s):
    for phases in all_kinds(s):
        if phases.decode_roof.peak != phases.decode_roof.attention_peak:
            continue
        for time, roof in (
            (phases.decode, phases.decode_roof),
            (phases.prefill, phases.prefill_roof),
        ):
            if time.cost.intensity == pytest.approx(roof.ridge, rel=1e-9):
                continue
            assert (time.bound == "compute") == (time.cost.intensity > roof.ridge)
            assert time.seconds - time.fixed_s == pytest.approx(max(time.memory_s, time.compute_s), rel=1e-12)


@few
@given(scenarios(), st.floats(1.5, 50))
def test_the_unit_of_time_scales(s, factor):
    """Bandwidth and all rates times ``factor``: every time of a ceiling divided by it."""
    setup = resolve(s)
    roof = ceiling_roof(setup, "decode")
    quick = replace(roof, bandwidth=roof.bandwidth * factor, peak=roof.peak * factor)
    quick = replace(quick, attention_peak=quick.peak)
    slow, fast = decode_step(setup, roof).seconds, decode_step(setup, quick).seconds
    assert slow / fast == pytest.approx(factor, rel=1e-12)


def unrated(**more: object) -> Scenario:
    return scenario({"model": {"params": 1e9}, "device": {"bandwidth_gbs": 50}, **more})


def test_without_a_published_rate_memory_alone_bounds_the_pass():
    result = evaluate(unrated(weights={"bits": 16}, context=0))
    for phases in (result.ceiling, result.typical):
        assert math.isnan(phases.decode.compute_s)
        assert math.isfinite(phases.decode.seconds)
        assert phases.decode.seconds == phases.decode.memory_s + phases.decode.fixed_s
        assert phases.decode.bound == "memory"
        assert phases.crossover.batch is None
    assert result.ceiling.user_tokens_per_s == pytest.approx(25)
    assert evaluate(unrated(peak_tflops=4, prompt=1000)).ceiling.latency.ttft_s == pytest.approx(0.5)


def test_at_the_ridge_both_sides_are_equal_and_memory_is_named():
    setup = resolve(unrated(weights={"bits": 16}, context=0))
    cost = decode_step(setup, ceiling_roof(setup, "decode")).cost
    at_ridge = pass_time(cost, Roof(1e9, 1e9 * cost.intensity, 1e9 * cost.intensity, 0.0, "ceiling", ""))
    assert at_ridge.memory_s == at_ridge.compute_s
    assert at_ridge.bound == "memory"
    above = pass_time(cost, Roof(1e9, 0.999e9 * cost.intensity, 1e9, 0.0, "ceiling", ""))
    assert above.bound == "compute"


def test_attention_runs_at_a_rate_of_its_own_and_never_above_the_peak():
    s = scenario({"device": {"bandwidth_gbs": 1e6, "peak_tflops": 100}, "prompt": 8000, "fixed_ms": 0})
    s = s.change(bandwidth_fraction=1.0, compute_fraction=0.5, model="llama-3.2-1b", weights="f16")
    for tflops, rate in [(10.0, 10e12), (1000.0, 100e12)]:
        time = evaluate(s.change(attention_tflops=tflops)).typical.prefill
        assert time.compute_s == pytest.approx(
            time.cost.matmul_flops / 50e12 + time.cost.attention_flops / rate, rel=1e-12
        )


def test_fixed_time_is_added_once_a_pass():
    s = scenario({"model": "llama-3.2-1b", "device": {"bandwidth_gbs": 50, "peak_tflops": 4}, "output": 11})
    free, fixed = (evaluate(s.change(fixed_ms=ms)).typical for ms in (0, 3))
    assert fixed.decode.seconds - free.decode.seconds == pytest.approx(3e-3)
    assert fixed.latency.ttft_s - free.latency.ttft_s == pytest.approx(3e-3)
    assert fixed.latency.reply_s - free.latency.reply_s == pytest.approx(11 * 3e-3)


def test_every_roof_names_its_kind_and_source():
    setup = resolve(scenario({"device": "article-50gbs", "model": "llama-3.2-1b"}))
    named = roofs(setup, "prefill")
    assert list(named) == ["ceiling", *LEVELS]
    assert {name: roof.kind for name, roof in named.items()} == {
        "ceiling": "ceiling",
        **dict.fromkeys(LEVELS, "estimate"),
    }
    assert all(roof.source for roof in named.values())
    assert estimate_roof(setup, "decode", "slow").bandwidth < named["ceiling"].bandwidth


@few
@given(scenarios(), st.lists(st.integers(1, 4096), min_size=1, max_size=6))
def test_arrays_of_batch_and_context_equal_single_calls(s, sizes):
    setup = resolve(s)
    for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
        batch, context = np.array(sizes, dtype=float)[:, None], np.array([0.0, 1.0, 5000.0])
        grid = decode_step(setup, roof, batch, context)
        assert np.shape(grid.seconds) == (len(sizes), 3)
        for i, b in enumerate(sizes):
            for j, c in enumerate(context):
                one = run(setup, [decode_group(setup, float(b), float(c))], roof)
                assert grid.seconds[i, j] == pytest.approx(one.seconds, rel=1e-13)
                assert grid.compute_bound[i, j] == one.compute_bound
        prompts = np.array(sizes, dtype=float)
        times = prefill(setup, roof, prompts, np.zeros(1)).seconds
        assert times == pytest.approx([prefill(setup, roof, float(p), 0.0).seconds for p in sizes])
