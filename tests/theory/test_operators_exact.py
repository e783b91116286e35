"""Operators over stages, devices and two memories: their times add up to the pass, and each has its own sides."""

from __future__ import annotations

import math

import pytest

from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.operators import operators_view
from tests.theory.test_parallel import EIGHT, HIDDEN, LAYERS, VOCAB, model, question

SPLITS = [
    {"devices": 4, "parallel": "tensor"},
    {"devices": 4, "parallel": "pipeline"},
    {"devices": 3, "parallel": "pipeline"},
    {"gpu_layers": 2, "host": {"bandwidth_gbs": 80, "peak_tflops": 2, "capacity_gb": 4}},
]


def unlinked(**more: object) -> Scenario:
    """No link is known, so that a pass is what its operators take."""
    return question(link_gbs=None, link_latency_us=None, **more)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("batch", [1, 6, 5000])
def test_times_add_up_to_the_pass_however_it_is_shared_out(split, batch):
    result = evaluate(unlinked(batch=batch, **split))
    view = operators_view(result)
    for found, time in ((view.decode, result.ceiling.decode), (view.prefill, result.ceiling.prefill)):
        assert sum(one.seconds for one in found) == pytest.approx(float(time.seconds), rel=1e-9)
        assert sum(one.bytes for one in found) == pytest.approx(float(time.cost.bytes), rel=1e-9)
        assert sum(one.flops for one in found) == pytest.approx(float(time.cost.flops), rel=1e-9)
        for one in found:
            assert one.share == pytest.approx(one.seconds / float(time.seconds), rel=1e-9)


def test_an_operator_of_a_pipeline_by_hand():
    # Four sequences in two micro-batches of two: each reads the head, and each stage is half of all devices.
    view = operators_view(evaluate(unlinked(devices=2, parallel="pipeline", batch=4, context=0)))
    head = next(one for one in view.decode if one.kind == "head")
    assert head.weight_bytes == 2 * (2 * HIDDEN * VOCAB)
    assert head.flops == 4 * 2 * HIDDEN * VOCAB
    assert head.seconds == pytest.approx(2 * HIDDEN * VOCAB / 1e12)
    assert not head.compute_first


def test_operators_stand_in_the_order_of_the_layers_and_the_head_last():
    base = model(moe=EIGHT)
    two = {**base, "groups": [{"count": 1, **{k: base["groups"][0][k] for k in ("attention", "moe")}}] * 2}
    found = operators_view(evaluate(unlinked(model=two))).decode
    assert [(one.kind, one.group, one.layers) for one in found] == [
        ("attention", 0, 1),
        ("mlp", 0, 1),
        ("experts", 0, 1),
        ("attention", 1, 1),
        ("mlp", 1, 1),
        ("experts", 1, 1),
        ("head", None, 2),
    ]
    assert {one.layer_kind for one in found if one.group is None} == {""}
    assert "" not in {one.layer_kind for one in found if one.group is not None}


def test_what_moves_no_byte_has_no_end_to_its_intensity():
    # A model known by its count, whose cache is empty: attention neither moves nor does anything.
    counted = {"params": 1e9, "layers": LAYERS, "kv_heads": 4, "head_dim": 64}
    attention, weights = operators_view(evaluate(unlinked(model=counted, context=0))).decode
    assert (attention.kind, attention.bytes, attention.share) == ("attention", 0.0, 0.0)
    assert math.isinf(attention.intensity)
    assert (weights.intensity, weights.share) == (1.0, 1.0)
