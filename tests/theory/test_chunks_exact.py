"""Prompts in chunks, against a loop over the pieces; bounds on the work; what others wait for meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.chunks import chunk_passes, together
from slmopt.theory.forward import Group
from slmopt.theory.interference import chunked, whole
from slmopt.theory.latency import decode_group, prefill, prefill_group
from slmopt.theory.roofline import ceiling_roof, estimate_roof, run
from tests.theory.oracle import Shape, pieces

CARD = {"bandwidth_gbs": 100, "peak_tflops": 10}
COUNTED = {"params": 1e9, "layers": 10, "kv_heads": 10, "head_dim": 10}
ATTENTION = {"heads": 4, "kv_heads": 2, "head_dim": 16}
LAYERED = {
    "hidden": 64, "vocab": 5000,
    "groups": [
        {"count": 2, "attention": ATTENTION, "mlp": {"width": 128}},
        {"count": 2, "attention": {**ATTENTION, "window": 40}, "moe": {"experts": 8, "active": 2, "width": 32}},
    ],
}  # fmt: skip


def asked(**more: object) -> Setup:
    values = {"model": LAYERED, "device": CARD, "weights": {"bits": 16}, "prompt": 200, "fixed_ms": 0.1}
    return resolve(scenario({**values, **more}))


@pytest.mark.parametrize("chunk", [1, 7, 50, 67, 100, 199, 200, 5000])
@pytest.mark.parametrize("hit", [0, 50])
def test_each_pass_is_a_pass_of_its_piece(chunk, hit):
    setup = asked(batch=5, context=300, prefix_hit=hit)
    for roof in (ceiling_roof(setup, "prefill"), estimate_roof(setup, "prefill", "typical")):
        for beside in (None, decode_group(setup)):
            expected = []
            for one in pieces(Shape(1, 200 - hit, hit), chunk):
                piece = Group(1.0, float(one.new), float(one.past), float(one.logits))
                groups = [piece] if beside is None else [beside, piece]
                expected.append(float(run(setup, groups, roof).seconds))
            found = chunk_passes(setup, roof, prefill_group(setup), chunk, beside)
            assert found.seconds.tolist() == pytest.approx(expected, rel=1e-12)
            assert found.there.all()
            assert float(together(found).seconds) == pytest.approx(sum(expected), rel=1e-12)
        # With everybody's tokens beside: the longest pass is the others' wait, and all of them the newcomer's.
        told = chunked(setup, roof, chunk)
        assert (told.chunk, told.gap_s) == (chunk, pytest.approx(max(expected), rel=1e-12))
        assert told.ttft_s == pytest.approx(sum(expected), rel=1e-12)


def test_a_whole_prompt_is_what_is_not_cached_and_stops_the_others_for_a_step_more():
    setup = asked(model=COUNTED, prefix_hit=150, context=0, batch=4)
    roof = ceiling_roof(setup, "decode")
    # 2 GB at 100 GB/s are 20 ms, in which 100 tokens can be computed; 50 are left and 150 are read.
    found = whole(setup, roof, roof)
    cached = 150 * 4000 / 100e9
    assert found.chunk == 50
    assert found.ttft_s == pytest.approx(0.020 + cached)
    assert found.gap_s == pytest.approx(0.020 + cached + 0.020)


def test_prompts_of_one_array_end_where_each_ends():
    setup = asked()
    roof = ceiling_roof(setup, "prefill")
    prompts = np.array([50.0, 100.0, 101.0, 149.5, 0.25])
    found = chunk_passes(setup, roof, prefill_group(setup, prompts, np.zeros(5)), 50, None)
    assert found.there.sum(axis=-1).tolist() == [1, 2, 3, 3, 1]
    assert (found.seconds[~found.there] == 0).all()
    assert (found.seconds[found.there] > 0).all()
    # Nothing is fed twice or left out, parts of a token included.
    assert together(found).cost.tokens == pytest.approx(prompts, rel=1e-12)
    # Logits are wanted once: two operations for each of 64 · 5,000 weights.
    headless = resolve(setup.scenario.change(model={**LAYERED, "vocab": 1}))
    other = chunk_passes(headless, roof, prefill_group(headless, prompts, np.zeros(5)), 50, None)
    head = together(found).cost.matmul_flops - together(other).cost.matmul_flops
    assert head == pytest.approx(np.full(5, 2 * 64 * 4999.0), rel=1e-9)


@pytest.mark.parametrize(("prompts", "passes"), [(1, 100_000), (3, 100_000), (8, 50_000), (40, 10_000)])
def test_the_passes_of_long_prompts_are_bounded_and_no_fewer_than_that_asks(prompts, passes):
    setup = asked(model=COUNTED)
    lengths = np.full(prompts, 250_000.0)
    found = chunk_passes(setup, ceiling_roof(setup, "prefill"), prefill_group(setup, lengths, 0.0), 1, None)
    # The smallest whole chunk that stays within the bound.
    size = next(chunk for chunk in range(1, 100) if 250_000 / chunk <= passes)
    assert found.there.shape == (prompts, -(-250_000 // size))
    assert together(found).cost.tokens == pytest.approx(lengths)


def test_a_prompt_of_one_chunk_is_the_prompt_at_once():
    setup = asked(prefill_chunk_tokens=200)
    at_once = resolve(setup.scenario.change(prefill_chunk_tokens=None))
    roof = ceiling_roof(setup, "prefill")
    assert prefill(setup, roof).cost == prefill(at_once, roof).cost
    for chunk in (0, -3):
        with pytest.raises(ValueError, match="must be at least 1"):
            chunk_passes(setup, roof, prefill_group(setup), chunk, None)
