"""Several devices: what each holds and reads, what their link takes, and the limits where it is one device again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import SpecError, evaluate, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.forward import Group
from slmopt.theory.holders import holders, stage_sizes
from slmopt.theory.latency import decode_step
from slmopt.theory.memory import sequences_that_fit
from slmopt.theory.roofline import ceiling_roof, estimate_roof, roofs, run
from tests.strategies import few, scenarios

HIDDEN, VOCAB, WIDTH, LAYERS = 1024, 1000, 4096, 4
GQA = {"heads": 16, "kv_heads": 4, "head_dim": 64}
LATENT = {
    "heads": 16,
    "kv_heads": 16,
    "head_dim": 96,
    "latent": {"kv_rank": 128, "nope_dim": 64, "rope_dim": 32, "v_dim": 64},
}
CARD = {"bandwidth_gbs": 1000, "peak_tflops": 100, "capacity_gb": 1}
EIGHT = {"experts": 8, "active": 2, "width": 512}


def model(attention=GQA, **feed):
    group = {"count": LAYERS, "attention": attention, **(feed or {"mlp": {"width": WIDTH}})}
    return {"hidden": HIDDEN, "vocab": VOCAB, "groups": [group]}


def question(**more):
    base = {"model": model(), "device": CARD, "weights": {"bits": 16}, "prompt": 1000, "context": 1000}
    return scenario({**base, "output": 10, "engine": "exact", "link_gbs": 50, "link_latency_us": 10, **more})


# What a decode step of one sequence reads: every matrix but the embedding's, in 16 bits.
READ = 2 * (LAYERS * (HIDDEN * 1024 * 2 + HIDDEN * 256 * 2 + 3 * HIDDEN * WIDTH) + HIDDEN * VOCAB)
CACHE = 1000 * LAYERS * 2 * 4 * 64 * 2


@pytest.mark.parametrize(("devices", "heads_each"), [(2, 2), (4, 1), (8, 1), (16, 1)])
def test_tensor_parallel_by_hand(devices, heads_each):
    step = evaluate(question(devices=devices)).ceiling.decode
    a_device = READ / devices + CACHE * heads_each / 4
    assert float(step.cost.weight_bytes) == READ
    assert float(step.cost.cache_bytes) == CACHE * heads_each / 4 * devices
    assert float(step.memory_s) == pytest.approx(a_device / 1e12, rel=1e-12)
    # Two all-reduces a layer of one token's hidden values.
    reduce_s = 2 * (devices - 1) / devices * HIDDEN * 2 / 50e9 + 10e-6
    assert float(step.link_s) == pytest.approx(2 * LAYERS * reduce_s, rel=1e-12)
    assert float(step.seconds) == pytest.approx(max(a_device / 1e12, 2 * LAYERS * reduce_s), rel=1e-12)


def test_the_link_grows_with_the_fed_tokens_and_its_messages_do_not():
    setup = resolve(question(devices=4))
    roof = ceiling_roof(setup, "decode")
    one, many = (float(run(setup, [Group(b, 1.0, 1000.0, 1.0)], roof).link_s) for b in (1.0, 9.0))
    assert many - one == pytest.approx(8 * 2 * LAYERS * 2 * 0.75 * HIDDEN * 2 / 50e9, rel=1e-9)


def test_a_latent_is_on_every_device():
    one = evaluate(question(model=model(LATENT), context=5000))
    four = evaluate(question(model=model(LATENT), context=5000, devices=4))
    assert float(four.ceiling.decode.cost.cache_bytes) == 4 * float(one.ceiling.decode.cost.cache_bytes)
    assert four.capacity.bytes_per_sequence == one.capacity.bytes_per_sequence
    assert four.capacity.weight_bytes == pytest.approx(one.capacity.weight_bytes / 4, rel=1e-12)


def test_capacity_is_one_devices():
    one, two, eight = (evaluate(question(devices=n)).capacity for n in (1, 2, 8))
    assert two.bytes_per_sequence == one.bytes_per_sequence / 2
    # Four KV heads go no further than one to a device.
    assert eight.bytes_per_sequence == one.bytes_per_sequence / 4
    room = 1e9 - resolve(question()).weight_bytes / 8
    assert eight.max_sequences == int(room // (one.bytes_per_sequence / 4))


def test_a_model_known_by_its_count_is_split_too():
    by_count = {"params": 1e9, "layers": 10, "kv_heads": 4, "head_dim": 64}
    found = evaluate(question(model=by_count, devices=8))
    cache = 1000 * 10 * 2 * 4 * 64 * 2
    assert float(found.ceiling.decode.memory_s) == pytest.approx((2e9 / 8 + cache / 4) / 1e12, rel=1e-12)
    # How wide it is is not known: only the messages count, and that is said.
    assert float(found.ceiling.decode.link_s) == pytest.approx(20 * 10e-6)
    assert any("width" in line for line in found.setup.warnings)


def test_a_pipeline_takes_the_sum_of_its_stages_for_one_stream():
    one, four = question(), question(devices=4, parallel="pipeline")
    alone, staged = evaluate(one).typical.decode, evaluate(four).typical.decode
    hop = HIDDEN * 2 / 50e9 + 10e-6
    assert float(staged.seconds) == pytest.approx(float(alone.seconds) + 3 * hop, rel=1e-9)
    assert float(staged.cost.weight_bytes) == READ


def test_batches_fill_a_pipeline():
    roof = ceiling_roof(resolve(question()), "decode")
    small = decode_step(resolve(question()), roof, 4.0)
    setup = resolve(question(devices=4, parallel="pipeline"))
    full = decode_step(setup, ceiling_roof(setup, "decode"), 16.0)
    # Four micro-batches of four sequences are under way at once, and each of them reads the weights.
    assert float(full.seconds) == pytest.approx(float(small.seconds), rel=1e-12)
    assert float(full.cost.weight_bytes) == pytest.approx(4 * READ)
    assert float(full.cost.flops) == pytest.approx(4 * float(small.cost.flops), rel=1e-12)
    two = decode_step(setup, ceiling_roof(setup, "decode"), 2.0)
    assert float(two.cost.weight_bytes) == 2 * READ
    assert float(two.seconds) == pytest.approx(float(evaluate(question()).ceiling.decode.seconds), rel=1e-12)


def test_a_prompt_passes_the_stages_in_turn_and_the_ceiling_lets_it_come_in_chunks():
    one, four = (
        evaluate(question(devices=n, parallel="pipeline", fixed_ms=0, link_latency_us=0)) for n in (1, 4)
    )
    assert float(four.typical.prefill.seconds) == pytest.approx(
        float(one.typical.prefill.seconds) + 3 * 1000 * HIDDEN * 2 / 50e9, rel=1e-9
    )
    assert float(four.ceiling.prefill.compute_s) == pytest.approx(float(one.ceiling.prefill.compute_s) / 4)


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"), [(8, 4, (2, 2, 2, 2)), (10, 4, (2, 3, 3, 2)), (5, 2, (3, 2)), (3, 1, (3,))]
)
def test_layers_of_the_stages(layers, stages, sizes):
    assert stage_sizes(layers, stages) == sizes


def test_the_fullest_stage_decides_what_fits():
    setup = resolve(question(devices=3, parallel="pipeline"))
    first, middle, last = holders(setup)
    layer = 2 * (HIDDEN * 1024 * 2 + HIDDEN * 256 * 2 + 3 * HIDDEN * WIDTH)
    assert [h.weight_bytes for h in (first, middle, last)] == pytest.approx(
        [layer + 2 * HIDDEN * VOCAB, 2 * layer, layer + 2 * HIDDEN * VOCAB]
    )
    a_layer = 1008 * 2 * 4 * 64 * 2
    fits = min((1e9 - 2 * layer) // (2 * a_layer), (1e9 - layer - 2 * HIDDEN * VOCAB) // a_layer)
    assert float(sequences_that_fit(setup, 1000.0)) == fits
    assert evaluate(setup.scenario).capacity.max_sequences == fits


def test_whole_experts_by_hand():
    routed = model(moe=EIGHT)
    one = evaluate(question(model=routed)).ceiling.decode
    expert = 2 * 3 * HIDDEN * 512
    for devices, busiest in ((2, 1), (4, 1), (8, 1)):
        step = evaluate(question(model=routed, devices=devices, parallel="expert")).ceiling.decode
        dense = float(one.cost.weight_bytes) - LAYERS * 2 * expert
        a_device = dense / devices + LAYERS * busiest * expert
        cache = CACHE * max(1, 4 // devices) / 4
        assert float(step.memory_s) == pytest.approx((a_device + cache) / 1e12, rel=1e-12)
    # One all-reduce a layer and two more messages; the estimate also sends tokens to their experts and back.
    four = evaluate(question(model=routed, devices=4, parallel="expert"))
    reduce_s = 2 * 0.75 * HIDDEN * 2 / 50e9
    assert float(four.ceiling.decode.link_s) == pytest.approx(LAYERS * (reduce_s + 3 * 10e-6), rel=1e-9)
    routes = LAYERS * 2 * (2 * 0.75) / 4 * HIDDEN * 2 / 50e9
    assert float(four.typical.decode.link_s) == pytest.approx(
        float(four.ceiling.decode.link_s) + routes, rel=1e-9
    )


def test_experts_are_held_whole():
    routed = question(model=model(moe=EIGHT), devices=3, parallel="expert")
    setup = resolve(routed)
    expert = LAYERS * 2 * 3 * HIDDEN * 512
    dense = setup.weight_bytes - 8 * expert
    assert evaluate(routed).capacity.weight_bytes == pytest.approx(dense / 3 + 3 * expert)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"devices": 5, "parallel": "pipeline"}, "devices = 5: "),
        ({"devices": 2, "parallel": "expert"}, "parallel = expert: .* has no experts"),
        ({"devices": 9, "parallel": "expert", "model": model(moe=EIGHT)}, "devices = 9: .* has 8 experts"),
        ({"devices": 2, "gpu_layers": 3}, "devices = 2: partial offload"),
    ],
)
def test_what_cannot_be_shared_out_is_said(change, sentence):
    with pytest.raises(SpecError, match=sentence):
        resolve(question(**change))


def test_a_link_that_nobody_states_costs_nothing_and_is_named():
    silent = evaluate(question(devices=2, link_gbs=None, link_latency_us=None))
    assert float(silent.typical.decode.link_s) == 0
    assert silent.setup.warnings == (
        "No link between the devices is known, so it costs nothing here: give its bandwidth.",
    )
    late = resolve(question(devices=2, link_latency_us=None))
    assert "latency" in late.warnings[0]
    assert resolve(question(link_gbs=None)).warnings == ()


def test_a_slow_link_decides():
    slow = evaluate(question(devices=2, link_gbs=0.01, batch=64))
    assert slow.ceiling.decode.bound == "link"
    assert float(slow.ceiling.decode.seconds) == float(slow.ceiling.decode.link_s)
    typical = slow.typical.decode
    assert float(typical.seconds) == pytest.approx(
        max(float(typical.memory_s), float(typical.compute_s)) + float(typical.link_s) + typical.fixed_s
    )


@few
@given(scenarios(), st.sampled_from(["tensor", "pipeline"]))
def test_one_device_is_itself_whatever_the_way_to_split(s, parallel):
    plain, named = evaluate(s), evaluate(s.change(parallel=parallel, link_gbs=1.0))
    for a, b in ((plain.ceiling, named.ceiling), (plain.typical, named.typical)):
        assert float(a.decode.seconds) == float(b.decode.seconds)
        assert float(a.prefill.seconds) == float(b.prefill.seconds)
    assert plain.capacity == named.capacity


@few
@given(scenarios(), st.integers(2, 9))
def test_an_infinite_link_is_no_link(s, devices):
    fast, none = (
        evaluate(s.change(devices=devices, link_gbs=gbs, link_latency_us=0)) for gbs in (1e300, None)
    )
    for a, b in ((fast.ceiling, none.ceiling), (fast.typical, none.typical)):
        assert float(a.decode.seconds) == pytest.approx(float(b.decode.seconds), rel=1e-12)


@few
@given(scenarios(), st.integers(1, 6), st.integers(1, 6), st.sampled_from(["tensor", "pipeline"]))
def test_more_devices_never_slow_the_ceiling_nor_hold_less(s, few_devices, more, parallel):
    layers = resolve(s).model.layer_count
    counts = (few_devices, few_devices + more) if parallel == "tensor" else (1, min(layers, 1 + more))
    less, much = (evaluate(s.change(devices=n, parallel=parallel)) for n in counts)
    for name in ("decode", "prefill"):
        a, b = getattr(less.ceiling, name), getattr(much.ceiling, name)
        assert float(b.seconds) <= float(a.seconds) * (1 + 1e-12)
    # Without cached tokens any number fits.
    if s.engine == "exact" and less.capacity.max_sequences is not None:
        assert much.capacity.max_sequences >= less.capacity.max_sequences


@few
@given(scenarios(), st.integers(2, 8), st.sampled_from(["tensor", "pipeline"]))
def test_no_estimate_beats_its_ceiling_over_devices(s, devices, parallel):
    devices = min(devices, resolve(s).model.layer_count)
    found = evaluate(s.change(devices=devices, parallel=parallel, link_gbs=20, link_latency_us=3))
    for phases in found.estimate.values():
        for name in ("decode", "prefill"):
            best, usual = getattr(found.ceiling, name), getattr(phases, name)
            assert float(best.seconds) <= float(usual.seconds) * (1 + 1e-12)


def test_arrays_broadcast_over_devices():
    setup = resolve(question(devices=3, parallel="pipeline"))
    roof = estimate_roof(setup, "decode", "typical")
    batch, context = np.array([[1.0], [2.0], [7.0]]), np.array([[0.0, 10.0, 1000.0]])
    grid = np.asarray(decode_step(setup, roof, batch, context).seconds)
    assert grid.shape == (3, 3)
    for i, b in enumerate(batch[:, 0]):
        for j, c in enumerate(context[0]):
            one = float(decode_step(setup, roof, float(b), float(c)).seconds)
            assert grid[i, j] == pytest.approx(one, rel=1e-12)


def test_roofs_are_of_all_devices_together():
    one, four = (roofs(resolve(question(devices=n)), "decode")["ceiling"] for n in (1, 4))
    assert (four.bandwidth, four.peak) == (4 * one.bandwidth, 4 * one.peak)
    assert four.ridge == one.ridge


@pytest.mark.parametrize("parallel", ["tensor", "pipeline"])
def test_the_link_is_in_what_large_batches_approach(parallel):
    found = evaluate(question(devices=4, parallel=parallel, link_gbs=2))
    setup = found.setup
    for phases in (found.ceiling, found.typical):
        far = decode_step(setup, phases.decode_roof, 2.0**34)
        assert 2.0**34 / float(far.seconds) == pytest.approx(phases.crossover.throughput_limit, rel=1e-3)
    assert found.ceiling.decode_roof.link_bandwidth == 2e9
