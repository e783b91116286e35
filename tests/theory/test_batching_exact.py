"""What a batch buys, against loops over every context and batch; exact ties in powers of two; links and fits."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory import batching
from slmopt.theory.batch_points import batching_view
from slmopt.theory.batching import (
    batch_curve,
    cache_outgrows_weights,
    crossover,
    largest_batch_within,
    slopes,
    weights_alone,
)
from slmopt.theory.evaluation import evaluate
from slmopt.theory.latency import decode_step
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import ceiling_roof, estimate_roof

CARD = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}
COUNTED = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}


def asked(**more: object) -> Setup:
    return resolve(scenario({"model": COUNTED, "device": CARD, "weights": {"bits": 16}, **more}))


# 2³⁰ weights of 16 bits on 2³¹ bytes/s and 2⁴¹ operations/s: a step reads for one second, and a sequence takes 2⁻¹⁰ s of
# arithmetic. A cached token is 256 bytes, so 2¹³ of them take as long to read.
EVEN = {
    "model": {"params": float(2**30), "layers": 1, "kv_heads": 1, "head_dim": 64},
    "device": {"bandwidth_gbs": 2**31 / 1e9, "peak_tflops": 2**41 / 1e12},
    "weights": {"bits": 16},
    "cache_k": {"bits": 16},
}


def test_where_reading_takes_just_as_long_as_arithmetic_there_is_no_crossover():
    setup = asked(**EVEN)
    roof = ceiling_roof(setup, "decode")
    assert (roof.bandwidth, roof.peak) == (2.0**31, 2.0**41)
    tie = crossover(setup, roof, 8192.0)
    assert tie.batch is None
    assert tie.context_limit == 8192
    assert (tie.weights_only, tie.throughput_limit) == (1024, 1024)
    # Half the context leaves half of the arithmetic's time: 1 s of weights over 2⁻¹¹ s.
    assert crossover(setup, roof, 4096.0).batch == 2048
    half = asked(**{**EVEN, "model": {**EVEN["model"], "params": float(2**16)}})
    assert crossover(half, ceiling_roof(half, "decode")).context_limit == 0.5


def test_ties_in_time_belong_to_the_smaller_side():
    setup = asked(**EVEN, context=2**20)
    roof = ceiling_roof(setup, "decode")
    # A sequence's cache is 2²⁸ bytes, an eighth of the weights.
    assert cache_outgrows_weights(setup, roof, 1000) == 9
    assert cache_outgrows_weights(setup, roof, 8) is None
    assert largest_batch_within(setup, roof, 1 + 12 / 8, 100) == 12
    assert largest_batch_within(setup, roof, np.nextafter(1 + 12 / 8, 0), 100) == 11
    assert largest_batch_within(setup, roof, 1 + 12 / 8, 5) == 5
    assert largest_batch_within(setup, roof, 1.0, 5) == 0
    assert np.asarray(weights_alone(setup, roof, np.array([1.0, 512, 4096]))).tolist() == [1, 512, 1024]


HEADS = {"heads": 16, "kv_heads": 2, "head_dim": 64}
FEED = {"mlp": {"width": 256}}
SPARSE = {"indexer": {"heads": 2, "head_dim": 32, "top_k": 150}}
LATENT = {"latent": {"kv_rank": 64, "nope_dim": 32, "rope_dim": 8, "v_dim": 32}}
STATE = {"state": {"kind": "mamba2", "state_elements": 3000, "scan_flops": 9000}}
KINDS = {
    "full": [HEADS],
    "window": [{**HEADS, "window": 90}],
    "window of one": [{**HEADS, "window": 1}, HEADS],
    "two windows": [{**HEADS, "window": 90}, {**HEADS, "window": 400}, HEADS],
    "chunk": [{**HEADS, "chunk": 70}, HEADS],
    "chunks alone": [{**HEADS, "chunk": 64}],
    "sparse": [{**HEADS, **SPARSE}],
    "latent": [{**HEADS, "kv_heads": 16, **LATENT}],
    "compressed": [{**HEADS, "kv_heads": 1, "window": 30, "single_kv": True, "compress": 8}],
    "compressed and picked": [{**HEADS, "kv_heads": 1, "window": 30, "compress": 4, **SPARSE}, HEADS],
    "state": [STATE, HEADS],
    "state alone": [STATE],
}


def stacked(kind: str, tflops: float, **more: object) -> Setup:
    groups = [{"count": 4, **(a if "state" in a else {"attention": a}), **FEED} for a in KINDS[kind]]
    model = {"hidden": 256, "vocab": 1000, "groups": groups}
    device = {"bandwidth_gbs": 100, "peak_tflops": tflops}
    return asked(model=model, device=device, cache_k={"bits": 16}, prompt=3000, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [0, 200])
def test_the_context_limit_is_found_by_trying_every_context(kind, shared):
    contexts = np.arange(6000.0)
    found = set()
    # At the fastest nothing but a first token's arithmetic is left, and less than its entry takes to write.
    for tflops in (*np.geomspace(0.3, 80, 14), 5000.0):
        setup = stacked(kind, float(tflops), shared_prefix=shared)
        for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
            # What one more sequence of a large batch adds to both sides.
            step = decode_step(setup, roof, np.array([[1e6], [1e6 + 1]]), contexts)
            gap = np.diff(np.broadcast_to(step.compute_s - step.memory_s, (2, 6000)), axis=0)[0]
            sure = np.abs(gap) > 1e-6 * np.abs(step.compute_s[0] - step.memory_s[0]).max() * 1e-6
            above = np.flatnonzero((gap > 0) & sure)
            limit = crossover(setup, roof).context_limit
            found.add("none" if limit is None else "some" if 0 < limit < 6000 else "far")
            if limit is None or limit >= 6000:
                assert above.size
                assert above[-1] > 6000 - 600
            elif not above.size:
                assert limit == 0
            else:
                assert above[-1] <= limit < above[-1] + 1
                assert limit > 0
    assert found & {"none", "some"}


@pytest.mark.parametrize("kind", ["chunk", "compressed", "compressed and picked"])
@pytest.mark.parametrize("at_once", [1, 7, 64, 199, 200, 201])
@pytest.mark.parametrize("shared", [0, 200])
def test_contexts_may_be_tried_in_parts(kind, shared, at_once, monkeypatch):
    for tflops in (0.3, 1.2, 4.8, 9.6, 5000.0):
        setup = stacked(kind, tflops, shared_prefix=shared)
        for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
            whole = crossover(setup, roof).context_limit
            with monkeypatch.context() as patched:
                patched.setattr(batching, "_AT_ONCE", at_once)
                assert crossover(setup, roof).context_limit == whole


@pytest.mark.parametrize("kind", ["full", "two windows", "chunk", "sparse"])
@pytest.mark.parametrize("way", [{}, {"devices": 2, "link_gbs": 3}, {"devices": 4, "link_gbs": 0.5, "parallel": "pipeline"}, {"calibration": {"bandwidth_gbs": 50, "batched_gbs": 40, "matrix_tflops": 3, "overlap": "none"}}, {"calibration": {"bandwidth_gbs": 50, "matrix_tflops": 1, "attention_tflops": 0.1, "overlap": "products"}}])  # fmt: skip
def test_a_step_of_any_large_batch_lies_on_the_line(kind, way):
    setup = stacked(kind, 9.0, context=500, shared_prefix=100, **way)
    for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
        line = slopes(setup, roof, 500.0)
        one, many = (decode_step(setup, roof, batch) for batch in (4.0, 3000.0))
        for batch, step in ((4.0, one), (3000.0, many)):
            assert step.memory_s == pytest.approx(line.fixed_memory_s + batch * line.memory_s, rel=1e-9)
            assert step.compute_s == pytest.approx(batch * line.compute_s, rel=1e-9)
        link, serial = (getattr(many, name) - getattr(one, name) for name in ("link_s", "serial_s"))
        assert link == pytest.approx(2996 * line.link_s, rel=1e-9, abs=1e-15)
        if roof.overlap != "products":
            assert serial == pytest.approx(2996 * line.serial_s, rel=1e-6, abs=1e-15)
        limit = crossover(setup, roof).throughput_limit
        assert batch_curve(setup, roof, 1e10).device_tokens_per_s == pytest.approx(limit, rel=1e-4)


def rough(setup: Setup, roof: Roof, highest: float) -> float:
    """Where compute first takes as long as memory: halved from the first of many batches."""
    batches = np.linspace(0, highest, 200_001)[1:]
    step = decode_step(setup, roof, batches)
    at = int(np.argmax(step.compute_s >= step.memory_s))
    return float(batches[at])


@pytest.mark.parametrize(("experts", "active", "share", "width"), [(2048, 1, 0.013, 64), (2048, 1, 0.0101, 64), (4096, 1, 0.004, 512), (64, 4, 0.05, 64), (8, 2, 0.4, 64)])  # fmt: skip
def test_experts_that_few_sequences_miss_bring_the_crossing_closer(experts, active, share, width):
    groups = [{"count": 2, "attention": HEADS, "moe": {"experts": experts, "active": active, "width": width}}]
    model = {"hidden": 128, "vocab": 100, "groups": groups}
    s = {"model": model, "context": 4, "bandwidth_fraction": 1.0, "fixed_ms": 0, "cache_k": {"bits": 16}}
    setup = asked(**s, compute_fraction=share, device={"bandwidth_gbs": 100, "peak_tflops": 10})
    roof = estimate_roof(setup, "decode", "typical")
    line = slopes(setup, roof, 4.0)
    assert line.compute_s > line.memory_s
    far = line.fixed_memory_s / (line.compute_s - line.memory_s)
    found = crossover(setup, roof).batch
    assert found is not None
    assert found < far
    assert found == pytest.approx(rough(setup, roof, far), abs=far / 100_000)
    at = decode_step(setup, roof, found)
    assert at.compute_s == pytest.approx(at.memory_s, rel=1e-9)


def test_an_estimate_with_experts_may_be_held_by_arithmetic_before_the_first_sequence():
    groups = [{"count": 2, "attention": HEADS, "moe": {"experts": 8, "active": 2, "width": 64}}]
    model = {"hidden": 128, "vocab": 100, "groups": groups}
    setup = asked(model=model, context=4, device={"bandwidth_gbs": 1000, "peak_tflops": 0.1})
    roof = estimate_roof(setup, "decode", "typical")
    found = crossover(setup, roof).batch
    assert found is not None
    assert 0 < found < 1
    at = decode_step(setup, roof, found)
    assert at.compute_s == pytest.approx(at.memory_s, rel=1e-9)


@pytest.mark.parametrize("way", ["continuous", "static"])
def test_a_curves_rates_are_the_scenarios_and_idle_slots_yield_nothing(way):
    s = scenario({"model": COUNTED, "device": CARD, "weights": {"bits": 16}, "context": 1000, "fixed_ms": 0})
    for batch, longest in ((1, 1.0), (3, 1 + 1 / 2 + 1 / 3)):
        e = evaluate(s.change(batch=batch, batching=way))
        for phases in (e.ceiling, e.typical):
            lost = longest if way == "static" and phases is e.typical else 1.0
            step = float(decode_step(e.setup, phases.decode_roof).seconds)
            curve = batch_curve(e.setup, phases.decode_roof, float(batch))
            assert curve.user_tokens_per_s == phases.user_tokens_per_s == pytest.approx(1 / step, rel=1e-12)
            assert curve.device_tokens_per_s == pytest.approx(batch / step / lost, rel=1e-9)
            assert phases.device_tokens_per_s == pytest.approx(batch / step / lost, rel=1e-9)


# The page's points


def view(**more: object):
    values = {
        "model": COUNTED,
        "device": CARD,
        "weights": {"bits": 16},
        "cache_k": {"bits": 16},
        "context": 4000,
    }
    return batching_view(evaluate(scenario({**values, **more})))


def step_s(batch: float) -> float:
    return (14e9 + batch * 4000 * 524_288) / 2e12


@pytest.mark.parametrize("batch", [1, 12, 30])
def test_as_many_hold_the_target_as_have_short_enough_steps(batch):
    for target, held in ((step_s(batch) * 1.0002, batch), (step_s(batch) * 0.9998, batch - 1)):
        found = view(target_tpot_ms=target * 1e3)
        assert found.holds["ceiling"] == sum(step_s(b) <= target for b in range(1, 32)) == held
        slow = found.evaluation.estimate["slow"].decode_roof
        times = decode_step(found.evaluation.setup, slow, np.arange(1.0, 32.0)).seconds
        assert found.holds["slow"] == int(np.sum(np.asarray(times) <= target))


@pytest.mark.parametrize(("tflops", "shown"), [(2.9, True), (1.9, False), (1.0, False)])
def test_a_crossing_is_a_point_of_the_curve_from_one_sequence_on(tflops, shown):
    # 7 ms of reading at a few tokens; the crossing is at tflops / 2 sequences.
    found = view(device={**CARD, "peak_tflops": tflops}, context=1)
    assert found.crossing is not None
    assert found.crossing.batch == pytest.approx(tflops / 2, rel=1e-3)
    assert (found.crossing.batch in found.wide.batch) is shown
    assert found.wide.batch[0] == 1
    assert (np.diff(found.wide.batch) > 0).all()


def test_batches_up_to_64_are_shown_one_by_one_and_more_on_decades():
    card = {"bandwidth_gbs": 2000, "peak_tflops": 400}
    few = view(device=card, batch=16)
    assert few.near.batch.tolist() == list(range(1, 65))
    more = view(device=card, batch=20)
    assert (more.reach, more.linear) == (80, False)
    assert (more.near.batch[0], more.near.batch[-1]) == (1, 80)
    assert len(more.near.batch) in (72, 73)
    assert 20 in more.near.batch


@pytest.mark.parametrize("tflops", [0.2, 2.0, 9.0])
@pytest.mark.parametrize("shared", [0, 90])
def test_at_the_crossover_of_a_pipeline_both_sides_take_the_same_time(tflops, shared):
    setup = stacked("full", tflops, context=100, shared_prefix=shared, devices=4, parallel="pipeline")
    for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
        found = crossover(setup, roof).batch
        if found is None:
            assert not decode_step(setup, roof, 1e9).compute_bound
            continue
        at = decode_step(setup, roof, found)
        assert at.compute_s == pytest.approx(at.memory_s, rel=1e-9)
        # Below four sequences each stage has one or none.
        alone = decode_step(setup, roof, 1.0)
        assert bool(alone.compute_bound) is (found < 1)
