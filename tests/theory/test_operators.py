"""Operators of a pass: each by hand, and all together the pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import evaluate, scenario
from slmopt.specs.library import library
from slmopt.theory.operators import operators_view
from tests.strategies import few, scenarios
from tests.theory.test_parallel import CACHE, EIGHT, HIDDEN, LAYERS, VOCAB, model, question


def totals(found):
    return [
        sum(getattr(one, name) for one in found)
        for name in ("weight_bytes", "cache_bytes", "flops", "seconds")
    ]


def agree(s):
    result = evaluate(s)
    view = operators_view(result)
    for name in ("decode", "prefill"):
        time = getattr(result.ceiling, name)
        found = getattr(view, name)
        whole = (time.cost.weight_bytes, time.cost.cache_bytes, time.cost.flops)
        assert totals(found)[:3] == pytest.approx([float(x) for x in whole], rel=1e-9)
        assert sum(one.share for one in found) == pytest.approx(1)
    return result, view


@given(scenarios())
def test_operators_sum_to_the_pass(s):
    result, view = agree(s)
    for name in ("decode", "prefill"):
        assert totals(getattr(view, name))[3] == pytest.approx(
            float(getattr(result.ceiling, name).seconds), rel=1e-9
        )


@few
@given(scenarios(), st.integers(2, 5), st.sampled_from(["tensor", "pipeline"]))
def test_so_they_do_over_devices(s, devices, parallel):
    agree(s.change(devices=min(devices, evaluate(s).setup.model.layer_count), parallel=parallel))


@few
@given(scenarios(), st.integers(0, 20))
def test_so_they_do_over_two_memories(s, layers):
    host = {"bandwidth_gbs": 50, "peak_tflops": 1e6, "capacity_gb": 64}
    result, view = agree(s.change(gpu_layers=layers, host=host))
    assert totals(view.decode)[3] == pytest.approx(float(result.ceiling.decode.seconds), rel=1e-9)


@pytest.mark.parametrize("name", library().models)
def test_every_models_operators_sum_to_its_pass(name):
    agree(scenario({"model": name, "device": "article-80gb", "batch": 3}))


def test_operators_by_hand():
    view = operators_view(evaluate(question(model=model(moe=EIGHT))))
    found = {(one.kind, one.group): one for one in view.decode}
    assert set(found) == {("attention", 0), ("mlp", 0), ("experts", 0), ("head", None)}
    attention, experts, head = found["attention", 0], found["experts", 0], found["head", None]
    assert attention.weight_bytes == LAYERS * 2 * (2 * HIDDEN * 1024 + 2 * HIDDEN * 256)
    assert attention.cache_bytes == CACHE
    assert attention.flops == attention.weight_bytes + LAYERS * 4 * 16 * 64 * 1001
    assert experts.weight_bytes == LAYERS * 2 * 2 * 3 * HIDDEN * 512
    assert experts.intensity == 1
    assert (head.weight_bytes, head.layers) == (2 * HIDDEN * VOCAB, LAYERS)
    # Memory decides, so each takes its share of the bytes.
    whole = sum(one.bytes for one in view.decode)
    assert experts.share == pytest.approx(experts.bytes / whole)
    assert not experts.compute_first
    prompt = {one.kind: one for one in view.prefill}
    assert prompt["experts"].compute_first
    assert prompt["experts"].share == pytest.approx(
        prompt["experts"].flops / sum(one.flops for one in view.prefill)
    )


def test_a_state_and_a_count_have_their_own():
    mamba = operators_view(evaluate(scenario({"model": "mamba-2.8b", "device": "article-80gb"})))
    assert {one.kind for one in mamba.decode} == {"state", "head", "other"}
    count = operators_view(evaluate(scenario({"model": "article-7b", "device": "article-80gb"})))
    assert [one.kind for one in count.decode] == ["attention", "weights"]
