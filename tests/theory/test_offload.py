"""Partial offload: which layers are where, two rooflines in turn, and the ends where it is one device alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import SpecError, evaluate, scenario
from slmopt.specs.places import HOST
from slmopt.specs.setup import resolve
from slmopt.theory.holders import holders
from slmopt.theory.latency import decode_step, prefill
from slmopt.theory.memory import sequences_that_fit
from slmopt.theory.offload import placed
from slmopt.theory.offload_curve import layers_curve
from slmopt.theory.roofline import ceiling_roof
from tests.strategies import few, scenarios
from tests.theory.test_parallel import CACHE, EIGHT, HIDDEN, LAYERS, VOCAB, model

CARD = {
    "bandwidth_gbs": 1000,
    "peak_tflops": 100,
    "capacity_gb": 1,
    "host_link": {"gbs": 25},
}
BESIDE = {"bandwidth_gbs": 80, "peak_tflops": 2, "capacity_gb": 4}
LAYER = 2 * (HIDDEN * 1024 * 2 + HIDDEN * 256 * 2 + 3 * HIDDEN * 4096)
HEAD = 2 * HIDDEN * VOCAB


def question(**more):
    base = {"model": model(), "device": CARD, "host": BESIDE, "weights": {"bits": 16}, "prompt": 1000}
    return scenario({**base, "context": 1000, "output": 10, "engine": "exact", **more})


def step(**more):
    return evaluate(question(**more)).ceiling.decode


@pytest.mark.parametrize(
    ("slots", "layers", "head"), [(0, 0, 0), (1, 0, 1), (3, 2, 1), (4, 3, 1), (5, 4, 1), (99, 4, 1)]
)
def test_decode_by_hand(slots, layers, head):
    """The head is the last slot, and layers follow it from the last to the first."""
    found = step(gpu_layers=slots)
    card = layers * (LAYER + CACHE / LAYERS) + head * HEAD
    rest = (LAYERS - layers) * (LAYER + CACHE / LAYERS) + (1 - head) * HEAD
    assert float(found.seconds) == pytest.approx(card / 1e12 + rest / 80e9, rel=1e-12)
    assert float(found.cost.weight_bytes) == LAYERS * LAYER + HEAD
    assert float(found.cost.cache_bytes) == CACHE
    assert found.bound == "memory"


def test_each_part_has_its_own_roof():
    """At a batch where the host computes and the card reads, the pass is the sum of both, not the longer side."""
    found = evaluate(question(gpu_layers=3, batch=40, context=0, link_gbs=1)).ceiling.decode
    card, rest = 2 * LAYER + HEAD, 2 * LAYER
    host_compute = 40 * rest / 2e12
    assert host_compute > rest / 80e9
    assert float(found.seconds) == pytest.approx(card / 1e12 + host_compute, rel=1e-3)


def test_all_layers_are_the_card_alone_and_none_the_host_alone():
    card = evaluate(question().change(host=None))
    for count in (LAYERS + 1, 99):
        whole = evaluate(question(gpu_layers=count))
        for name in ("decode", "prefill"):
            assert float(getattr(whole.ceiling, name).seconds) == float(getattr(card.ceiling, name).seconds)
            assert float(getattr(whole.typical, name).seconds) == float(getattr(card.typical, name).seconds)
        assert whole.capacity.max_sequences == pytest.approx(card.capacity.max_sequences, abs=1)
    host = evaluate(question(device=BESIDE, host=None))
    none = evaluate(question(gpu_layers=0))
    assert float(none.ceiling.decode.seconds) == float(host.ceiling.decode.seconds)
    assert none.capacity.max_sequences == host.capacity.max_sequences
    assert none.capacity.place == "host"


def test_experts_kept_on_the_host():
    routed = model(moe=EIGHT)
    whole, kept = (evaluate(question(model=routed, cpu_moe_layers=n or None)).ceiling.decode for n in (0, 3))
    moved = 3 * 2 * (2 * 3 * HIDDEN * 512)
    assert float(kept.seconds) == pytest.approx(
        float(whole.seconds) + moved * (1 / 80e9 - 1 / 1e12), rel=1e-9
    )
    card, host = holders(resolve(question(model=routed, cpu_moe_layers=3)))
    assert host.weight_bytes == 3 * 8 * (2 * 3 * HIDDEN * 512) + 2 * HIDDEN * VOCAB
    assert card.weight_bytes + host.weight_bytes == resolve(question(model=routed)).weight_bytes
    # Layers on the host keep their experts there, whatever else is asked.
    found = placed(resolve(question(model=routed)).model, 2, 2)
    assert (found.layers, found.experts, found.head) == ((1,), (1,), True)
    assert placed(resolve(question(model=routed)).model, 5, 3).experts == (1,)


def test_memory_lies_with_its_layers():
    setup = resolve(question(gpu_layers=3))
    card, host = holders(setup)
    a_layer = 1008 * 2 * 4 * 64 * 2
    assert (card.weight_bytes, host.weight_bytes) == (2 * LAYER + HEAD, 2 * LAYER + HEAD)
    expected = min((1e9 - 2 * LAYER - HEAD) // (2 * a_layer), (4e9 - 2 * LAYER - HEAD) // (2 * a_layer))
    assert float(sequences_that_fit(setup, 1000.0)) == expected
    found = evaluate(setup.scenario).capacity
    assert (found.max_sequences, found.place, found.bytes_per_sequence) == (expected, "card", 2 * a_layer)


def test_a_tied_table_is_held_twice():
    tied = {**model(), "tied": True}
    card, host = holders(resolve(question(model=tied, gpu_layers=2)))
    assert card.weight_bytes == LAYER + HEAD
    assert host.weight_bytes == 3 * LAYER + HEAD


def test_a_prompt_is_sent_to_the_card_where_that_is_faster():
    near, far = (
        evaluate(question(gpu_layers=1, link_gbs=gbs, link_latency_us=0)).ceiling.prefill
        for gbs in (60, 0.001)
    )
    flops = float(near.cost.flops)
    head = 2 * HIDDEN * VOCAB
    # Slow link: the host computes. Fast one: the card does, while the weights come in at the link's pace.
    assert float(far.seconds) == pytest.approx((flops - head) / 2e12, rel=1e-2)
    assert float(near.seconds) == pytest.approx(max(LAYERS * LAYER / 60e9, flops / 100e12), rel=1e-2)
    # What comes over the link is read from the host's memory first.
    faster = evaluate(question(gpu_layers=1, link_gbs=1e6)).ceiling.prefill
    assert float(faster.memory_s) >= LAYERS * LAYER / 80e9


def test_an_estimate_copies_then_computes_and_never_for_a_few_tokens():
    exact = {
        "bandwidth_fraction": 1.0,
        "compute_fraction": 1.0,
        "fixed_ms": 0,
        "host": {**BESIDE, "peak_tflops": None},
    }
    setup = question(gpu_layers=1, link_gbs=20, **exact)
    found = evaluate(setup).typical
    flops = float(found.prefill.cost.flops)
    # The entries that the prompt leaves go back over the link.
    copied = (LAYERS * LAYER + CACHE) / 20e9
    assert float(found.prefill.seconds) == pytest.approx(copied + flops / 100e12, rel=1e-2)
    host_share = resolve(setup).host.factors.bandwidth[1]
    assert float(found.decode.memory_s) == pytest.approx(
        (LAYERS * LAYER + CACHE) / (80e9 * host_share) + HEAD / 1e12, rel=1e-3
    )
    # Without a link and without the host's rate a prompt's time is not known, and no number is made up.
    card = {name: value for name, value in CARD.items() if name != "host_link"}
    silent = evaluate(question(gpu_layers=1, device=card, **exact))
    assert np.isnan(float(silent.typical.prefill.compute_s))
    assert silent.ceiling.decode.bound == "memory"
    assert "give its bandwidth" in silent.setup.warnings[0]


def test_a_host_is_taken_where_none_is_named():
    setup = resolve(question(gpu_layers=1, host=None))
    assert (setup.host.device.id, setup.host.assumed) == (HOST, True)
    assert setup.host.capacity == 128 * 2**30
    assert resolve(question(host=BESIDE)).host is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cpu_moe_layers": 2}, "cpu_moe_layers = 2: .* has no experts"),
        ({"gpu_layers": 2, "model": {"params": 1e9}}, "gpu_layers = 2: how many layers"),
        ({"gpu_layers": -1}, "gpu_layers = -1 layers"),
        ({"gpu_layers": 2, "host": "no-such-host"}, "host = 'no-such-host' is not known"),
    ],
)
def test_what_cannot_be_is_said(change, sentence):
    with pytest.raises(SpecError, match=sentence):
        resolve(question(**change))


def test_a_model_known_by_its_count_is_shared_by_layers():
    by_count = {"params": 1e9, "layers": 10, "kv_heads": 4, "head_dim": 64}
    found = step(model=by_count, gpu_layers=4, context=0)
    assert float(found.seconds) == pytest.approx(0.4 * 2e9 / 1e12 + 0.6 * 2e9 / 80e9, rel=1e-12)
    assert float(step(model=by_count, gpu_layers=10, context=0).seconds) == 2e9 / 1e12


@few
@given(scenarios(), st.integers(0, 40))
def test_more_layers_on_a_faster_card_never_slow_decode(s, layers):
    slower = {"bandwidth_gbs": s.device.bandwidth_gbs / 7, "peak_tflops": 0.05, "capacity_gb": 64}
    less, more = (evaluate(s.change(gpu_layers=n, host=slower)) for n in (layers, layers + 1))
    alone = evaluate(s)
    slack = 1 + 1e-9
    assert float(more.ceiling.decode.seconds) <= float(less.ceiling.decode.seconds) * slack
    assert float(alone.ceiling.decode.seconds) <= float(more.ceiling.decode.seconds) * slack
    for linked in (less, evaluate(less.setup.scenario.change(link_gbs=9))):
        for name in ("decode", "prefill"):
            best, usual = getattr(linked.ceiling, name), getattr(linked.typical, name)
            assert float(best.seconds) <= float(usual.seconds) * slack


def test_the_curve_runs_from_the_host_to_the_card():
    s = question(gpu_layers=3)
    curve = layers_curve(s)
    assert list(curve.layers) == [0, 1, 2, 3, 4, 5]
    assert np.all(np.diff(curve.ceiling) > 0)
    assert curve.speed(3) == evaluate(s).ceiling.device_tokens_per_s
    assert curve.speed(99, "slow") == evaluate(question(gpu_layers=99)).estimate["slow"].device_tokens_per_s
    assert (curve.now, curve.whole, curve.fit) == (3, 5, 5)
    tight = layers_curve(question(capacity_gb=0.07))
    assert tight.fit == int((0.07e9 - HEAD) // (LAYER + 1008 * 2 * 4 * 64 * 2)) + 1
    assert tight.now is None
    assert layers_curve(question(capacity_gb=0.0001, host={**BESIDE, "capacity_gb": 0.001})).fit is None


def test_arrays_broadcast_over_both_memories():
    setup = resolve(question(gpu_layers=2))
    roof = ceiling_roof(setup, "decode")
    batch = np.array([[1.0], [64.0], [4096.0]])
    grid = np.asarray(decode_step(setup, roof, batch, np.array([[0.0, 1000.0]])).seconds)
    for i, b in enumerate(batch[:, 0]):
        for j, c in enumerate((0.0, 1000.0)):
            assert grid[i, j] == pytest.approx(
                float(decode_step(setup, roof, float(b), c).seconds), rel=1e-12
            )
    prompts = np.array([1.0, 31.0, 32.0, 500.0])
    many = np.asarray(prefill(setup, roof, prompts, np.zeros(4)).seconds)
    assert list(many) == pytest.approx([float(prefill(setup, roof, float(p), 0.0).seconds) for p in prompts])


@few
@given(scenarios(), st.integers(0, 60), st.booleans())
def test_the_curve_is_the_scenario_at_every_number_of_layers(s, layers, linked):
    host = {"bandwidth_gbs": 70, "peak_tflops": 1.5, "capacity_gb": 64}
    s = s.change(gpu_layers=layers, host=host, link_gbs=20 if linked else None)
    curve, found = layers_curve(s), evaluate(s)
    assert curve.speed(layers) == pytest.approx(found.ceiling.device_tokens_per_s, rel=1e-9)
    assert curve.speed(layers, "typical") == pytest.approx(found.typical.device_tokens_per_s, rel=1e-9)
