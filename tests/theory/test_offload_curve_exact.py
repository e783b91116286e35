"""Layers on a card by hand, a model that is not loaded, and a rate that nobody published."""

from __future__ import annotations

import math

import pytest

from slmopt.specs.rates import PhasePeak
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.forward import PassCost
from slmopt.theory.offload_curve import layers_curve, offload_tells
from slmopt.theory.residency import file_bytes, load_seconds, storage_gbs
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.unknown import bracket

COUNTED = {"params": 1e9, "layers": 4, "kv_heads": 2, "head_dim": 8}
CARD = {"bandwidth_gbs": 1000, "peak_tflops": 100, "capacity_gb": 2.2}
HOST = {"bandwidth_gbs": 50, "peak_tflops": 5, "capacity_gb": 64}
# A layer has half a gigabyte and 2·2·8·2 bytes a cached token.
LAYER = 0.5e9


def asked(**more: object) -> Scenario:
    base = {
        "model": COUNTED,
        "device": CARD,
        "host": HOST,
        "weights": {"bits": 16},
        "context": 0,
        "engine": "exact",
    }
    return scenario({**base, "prompt": 100, "output": 10, **more})


@pytest.mark.parametrize("batch", [1, 3])
def test_a_counted_model_s_layers_go_over_one_by_one(batch):
    curve = layers_curve(asked(batch=batch, context=1000, buffers_gb=0.3))
    each = LAYER + batch * 64 * 1000
    assert curve.layers.tolist() == [0, 1, 2, 3, 4]
    for count, speed in zip(range(5), curve.ceiling, strict=True):
        seconds = count * each / 1e12 + (4 - count) * each / 50e9
        assert speed == pytest.approx(batch / seconds, rel=1e-9)
        assert curve.speed(count) == speed
    assert curve.card_bytes == pytest.approx(
        [0.3e9 + count * (LAYER + batch * 64 * 1008) for count in range(5)]
    )
    # 2.2 GB hold three layers beside 0.3 GB.
    assert (curve.fit, curve.now, curve.whole) == (3, None, 4)
    assert curve.speed(9) == curve.speed(4) == float(curve.ceiling[4])
    assert curve.speed(2, "slow") == float(curve.estimate["slow"][2]) <= curve.speed(2)
    assert list(curve.estimate) == ["slow", "typical", "fast"]


@pytest.mark.parametrize(("asked_for", "now"), [(0, 0), (1, 1), (4, 4), (5, 4), (99, 4), (None, None)])
def test_the_scenario_s_own_place_on_the_curve(asked_for, now):
    assert layers_curve(asked(gpu_layers=asked_for)).now == now


def test_a_head_is_a_slot_of_its_own():
    layers = {"attention": {"heads": 4, "kv_heads": 2, "head_dim": 8}, "mlp": {"width": 64}, "count": 2}
    curve = layers_curve(asked(model={"hidden": 32, "vocab": 1000, "groups": [layers]}))
    assert curve.layers.tolist() == [0, 1, 2, 3]
    assert curve.whole == 3
    assert curve.card_bytes[1] - curve.card_bytes[0] == 2 * 32 * 1000
    assert layers_curve(asked(model={"hidden": 32, "vocab": 1000, "groups": [layers]}, gpu_layers=9)).now == 3


def test_to_the_last_byte():
    # Without a cache: two layers are 1 GB, a byte less holds one.
    plain = {"params": 1e9, "layers": 4}
    for capacity, fit in ((1.0, 2), (1.0 - 1e-9, 1), (2.0, 4), (0.4, 0)):
        card = {**CARD, "capacity_gb": capacity}
        assert layers_curve(asked(model=plain, device=card)).fit == fit
    # The host must hold the rest: none, where it has no room for what is left.
    for room, fit in ((1.0, 2), (1.0 - 1e-9, None)):
        host = {**HOST, "capacity_gb": room}
        found = layers_curve(asked(model=plain, device={**CARD, "capacity_gb": 1.2}, host=host))
        assert found.fit == fit
        assert found.memory_known
    unknown = layers_curve(asked(model=plain, device={"bandwidth_gbs": 1000, "peak_tflops": 100}))
    assert (unknown.fit, unknown.memory_known) == (None, False)
    dark = layers_curve(asked(model=plain, host={"bandwidth_gbs": 50}))
    assert (dark.fit, dark.memory_known) == (None, False)


@pytest.mark.parametrize(
    ("more", "tells"),
    [
        ({"gpu_layers": 2}, True),
        ({}, False),  # 2 GB fit into 2.2
        ({"capacity_gb": 2.0}, False),  # just
        ({"capacity_gb": 1.9}, True),
        ({"capacity_gb": 1.9, "devices": 2}, False),
        ({"capacity_gb": 0.9, "devices": 2}, False),
        ({"capacity_gb": 1.9, "model": {"params": 1e9}}, False),  # no layers to move
        ({"device": {"bandwidth_gbs": 1000}}, False),
        ({"device": {"bandwidth_gbs": 1000}, "gpu_layers": 0}, True),
    ],
)
def test_when_layers_on_a_host_are_worth_showing(more, tells):
    assert offload_tells(evaluate(asked(**more))) is tells


def test_a_file_is_read_at_storage_s_rate():
    cold = {"residency": "cold", "draft_model": {"params": 5e8}, "draft_tokens": 2, "acceptance": 0.5}
    setup = resolve(asked(**cold, storage_gbs=4.0))
    assert (file_bytes(setup), storage_gbs(setup)) == (3e9, 4.0)
    assert load_seconds(setup, "ceiling") == load_seconds(setup, "estimate") == 0.75
    own = resolve(asked(**cold, device={**CARD, "storage_gbs": 8.0}))
    assert (storage_gbs(own), load_seconds(own, "ceiling")) == (8.0, 0.375)
    silent = resolve(asked(**cold))
    assert storage_gbs(silent) is None
    # A bound leaves out what is not known; an estimate takes 2 GB/s.
    assert (load_seconds(silent, "ceiling"), load_seconds(silent, "estimate")) == (0.0, 1.5)
    resident = resolve(asked(storage_gbs=4.0))
    assert (load_seconds(resident, "ceiling"), load_seconds(resident, "estimate")) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("slow", "fast", "bound", "times"),
    # Ten seconds of reading; 50 TFLOP.
    [
        (1.0, 2.0, "compute", (50.0, 25.0)),
        (1.0, 5.0, None, (50.0, 10.0)),
        (1.0, 25.0, None, (50.0, 10.0)),
        (5.0, 25.0, "memory", (10.0, 10.0)),
        (25.0, 50.0, "memory", (10.0, 10.0)),
    ],
)
def test_a_pass_between_two_rates(slow, fast, bound, times):
    time = pass_time(PassCost(9e9, 1e9, 30e12, 20e12), Roof(1e9, math.nan, math.nan, 0.0, "ceiling", ""))
    known = (("slow", slow * 1e12), ("between", slow * 1e12), ("fast", fast * 1e12))
    found = bracket(time, PhasePeak("", None, "", None, "", "", known))
    assert found is not None
    assert (found.slow_s, found.fast_s) == times
    assert (found.memory_s, found.bound) == (10.0, bound)
    assert (found.slow_rate, found.fast_rate) == ("slow", "fast")
    assert bracket(time, PhasePeak("", None, "", None, "", "")) is None
    assert bracket(time, PhasePeak("", 1e12, "", None, "", "", known)) is None
