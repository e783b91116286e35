"""Drafting by hand: 1e9 weights in 16 bits at 50 GB/s and 4 TFLOP/s, 40 ms a step and 0.5 ms of arithmetic a token."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory import speculation
from slmopt.theory.latency import decode_step
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import ceiling_roof, estimate_roof
from slmopt.theory.speculation import (
    LONGEST_DRAFT,
    best_length,
    break_even,
    draft_seconds,
    expected_tokens,
    place_acceptance,
    speedup,
    verify_seconds,
)
from slmopt.theory.speculation_curves import LENGTHS, speculation_curves

STEP, TOKEN = 0.04, 0.5e-3
PLAIN = {
    "model": {"params": 1e9, "layers": 4, "kv_heads": 2, "head_dim": 8},
    "device": {"bandwidth_gbs": 50, "peak_tflops": 4},
    "weights": {"bits": 16},
    "context": 0,
    "bandwidth_fraction": 1.0,
    "compute_fraction": 1.0,
    "fixed_ms": 0.0,
}


def asked(**more: object) -> Scenario:
    return scenario({**PLAIN, **more})


def on(s: Scenario) -> tuple[Setup, Roof]:
    setup = resolve(s)
    return setup, ceiling_roof(setup, "decode")


def counted(acceptance: float, width: int, length: int) -> float:
    """Tokens of a pass over every outcome: each candidate of each place is accepted or not."""
    total = 0.0
    for outcome in product((True, False), repeat=width * length):
        places = [any(outcome[at : at + width]) for at in range(0, width * length, width)]
        passed = places.index(False) if False in places else length
        accepted = sum(outcome)
        total += acceptance**accepted * (1 - acceptance) ** (width * length - accepted) * (passed + 1)
    return total


@pytest.mark.parametrize(("width", "length"), [(1, 1), (1, 5), (2, 1), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("acceptance", [0.0, 0.1, 0.55, 0.9, 1.0])
def test_tokens_of_a_tree_are_the_mean_over_all_its_outcomes(acceptance, width, length):
    exact = counted(acceptance, width, length)
    assert expected_tokens(place_acceptance(acceptance, width), length) == pytest.approx(exact, rel=1e-12)
    setup, roof = on(asked(acceptance=acceptance, draft_tokens=length, draft_width=width, draft_cost=0.05))
    # A tree's candidates are all checked: width · length + 1 tokens, all of them within 40 ms of reading.
    spent = length * 0.05 * STEP + STEP
    assert float(speedup(setup, roof, acceptance, length)) == pytest.approx(exact * STEP / spent, rel=1e-12)
    told = speculation.speculation(setup, roof)
    assert told is not None
    assert (told.acceptance, told.draft_tokens, told.kind) == (acceptance, length, "ceiling")
    assert (told.expected_tokens, told.speedup) == pytest.approx((exact, exact * STEP / spent), rel=1e-12)
    assert told.cost_ratio == pytest.approx(0.05)


@pytest.mark.parametrize("batch", [1, 10, 40])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("length", [0, 1, 4, 9])
def test_checking_by_hand(batch, width, length):
    setup, roof = on(asked(draft_width=width, batch=batch))
    expected = max(STEP, batch * (width * length + 1) * TOKEN)
    assert float(verify_seconds(setup, roof, length)) == pytest.approx(expected, rel=1e-12)
    assert float(verify_seconds(setup, roof, length, 3.0)) == pytest.approx(
        max(STEP, 3 * (width * length + 1) * TOKEN), rel=1e-12
    )


def test_checking_wants_logits_at_every_token_and_reads_the_cache_once():
    layers = {"attention": {"heads": 4, "kv_heads": 2, "head_dim": 8}, "mlp": {"width": 64}, "count": 2}
    model = {"hidden": 32, "vocab": 100_000, "groups": [layers]}
    setup, roof = on(asked(model=model, context=500, device={"bandwidth_gbs": 1e6, "peak_tflops": 4}))
    # Three drafts and one more: the head four times, each token through layers that see what came before.
    matrices = 2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 64) + 32 * 100_000
    pairs = sum(500 + i for i in range(1, 5))
    flops = 2 * 4 * matrices + 2 * 4 * 4 * 8 * pairs
    assert float(verify_seconds(setup, roof, 3)) == pytest.approx(flops / 4e12, rel=1e-12)
    shared = resolve(asked(model=model, context=500, shared_prefix=200, batch=7, device={"bandwidth_gbs": 1}))
    reading = ceiling_roof(shared, "decode")
    weights = 2 * matrices
    cached = (200 + 7 * 300) * 2 * 2 * 2 * 8 * 2
    assert float(verify_seconds(shared, reading, 3)) == pytest.approx((weights + cached) / 1e9, rel=1e-12)


@pytest.mark.parametrize(
    ("cost", "length", "seconds"), [(0.5, 2, 2.0), (0.5, 4, 3.0), (0.0, 4, 1.0), (None, 9, 1.0)]
)
def test_an_estimate_is_lengthened_for_each_checked_token(cost, length, seconds):
    setup = resolve(asked(verify_cost=cost))
    usual = estimate_roof(setup, "decode", "typical")
    step = float(decode_step(setup, usual).seconds)
    assert float(verify_seconds(setup, usual, length)) == pytest.approx(seconds * step, rel=1e-3)
    assert float(verify_seconds(setup, ceiling_roof(setup, "decode"), length)) == pytest.approx(STEP)
    # Arithmetic that takes longer decides.
    heavy = resolve(asked(verify_cost=0.01, batch=80))
    found = float(verify_seconds(heavy, estimate_roof(heavy, "decode", "typical"), 4))
    assert found == pytest.approx(80 * 5 * TOKEN, rel=1e-3)


def test_a_tree_s_candidates_all_lengthen_an_estimate():
    setup = resolve(asked(verify_cost=0.1, draft_width=3))
    usual = estimate_roof(setup, "decode", "typical")
    step = float(decode_step(setup, usual).seconds)
    assert float(verify_seconds(setup, usual, 2)) == pytest.approx(1.6 * step, rel=1e-6)


def test_what_a_drafted_token_takes():
    drafts = {"params": 1e8, "layers": 2, "kv_heads": 2, "head_dim": 8}
    # 0.2 GB and 2·2·2·8·2 bytes for each of 1,000 cached tokens, 400 of them shared by the three.
    cached = (400 + 3 * 600) * 128
    s = asked(draft_model=drafts, context=1000, shared_prefix=400, batch=3, draft_tokens=2)
    setup, roof = on(s)
    assert float(draft_seconds(setup, roof)) == pytest.approx((2e8 + cached) / 50e9, rel=1e-12)
    one = (2e8 + 1000 * 128) / 50e9
    assert float(draft_seconds(setup, roof, 1.0)) == pytest.approx(one, rel=1e-12)
    # On another device at its own rates, in the same formats and at the same context.
    there, _ = on(s.change(draft_device={"bandwidth_gbs": 10, "peak_tflops": 100}))
    assert float(draft_seconds(there, roof)) == pytest.approx((2e8 + cached) / 10e9, rel=1e-12)
    usual = estimate_roof(there, "decode", "slow")
    assert float(draft_seconds(there, usual)) > (2e8 + cached) / 10e9
    # As a share of the target's step, which itself is read by all.
    share, _ = on(asked(draft_cost=0.25, context=0, batch=3))
    assert float(draft_seconds(share, roof)) == pytest.approx(0.25 * STEP)
    assert float(draft_seconds(share, roof, 160.0)) == pytest.approx(0.25 * 160 * TOKEN)
    assert math.isnan(float(draft_seconds(on(asked())[0], roof)))


def test_a_draft_with_layers_computes_its_head_once_a_sequence():
    layers = {"attention": {"heads": 4, "kv_heads": 2, "head_dim": 8}, "mlp": {"width": 64}, "count": 2}
    model = {"hidden": 32, "vocab": 100_000, "groups": [layers]}
    setup, roof = on(asked(draft_model=model, context=500, device={"bandwidth_gbs": 1e6, "peak_tflops": 4}))
    matrices = 2 * (32 * 32 * 2 + 32 * 16 * 2 + 3 * 32 * 64) + 32 * 100_000
    flops = 5 * (2 * matrices + 2 * 4 * 4 * 8 * 501)
    assert float(draft_seconds(setup, roof, 5.0)) == pytest.approx(flops / 4e12, rel=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("cost", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_break_even_by_hand(cost, width, length):
    # Checking is free within 79 tokens, so that E = 1 + length · cost.
    setup, roof = on(asked(draft_cost=cost, draft_tokens=length, draft_width=width))
    found = break_even(setup, roof, length)
    assert found is not None
    passed = 1 - (1 - found) ** width
    assert sum(passed**i for i in range(length + 1)) == pytest.approx(1 + length * cost, rel=1e-9)
    told = speculation.speculation(resolve(setup.scenario.change(acceptance=0.5)), roof)
    assert told is not None
    assert told.break_even == found


def test_ends_of_break_even():
    # A draft as dear as the target is even where all is accepted; a dearer one nowhere; a free one everywhere.
    for cost, expected in ((1.0, 1.0), (1.001, None), (0.0, 0.0)):
        setup, roof = on(asked(draft_cost=cost))
        for length in (1, 3):
            found = break_even(setup, roof, length)
            if expected == 1.0:
                assert found is not None
                assert 1 - 1e-9 < found <= 1.0
            else:
                assert found == expected
    # Rounding may put what is spent a digit above what certain acceptance makes up for.
    for size in (1.1e9, 0.7e9, 1e9 / 7, 3e8):
        setup, roof = on(asked(draft_cost=1.0, model={**PLAIN["model"], "params": size}))
        for length in (1, 3, 6, 7):
            found = break_even(setup, roof, length)
            assert found is not None
            assert 1 - 1e-9 < found <= 1.0
    setup, roof = on(asked(draft_cost=0.5))
    assert break_even(setup, roof, 0) is None
    assert break_even(setup, roof, 1) == pytest.approx(0.5)


@pytest.mark.parametrize("batch", [1, 8, 20, 80])
@pytest.mark.parametrize("acceptance", [0.0, 0.3, 0.8, 0.99])
def test_the_best_length_by_trying_all(acceptance, batch):
    setup, roof = on(asked(draft_cost=0.05, batch=batch))

    def gain(length: int) -> float:
        if not length:
            return 1.0
        step = max(STEP, batch * TOKEN)
        spent = length * 0.05 * step + max(STEP, batch * (length + 1) * TOKEN)
        return sum(acceptance**i for i in range(length + 1)) * step / spent

    gains = [gain(length) for length in range(17)]
    best, most = best_length(setup, roof, acceptance)
    assert (best, most) == (gains.index(max(gains)), pytest.approx(max(gains), rel=1e-12))
    assert speedup(setup, roof, acceptance, np.arange(17.0)) == pytest.approx(gains, rel=1e-12)
    told = speculation.speculation(resolve(setup.scenario.change(acceptance=acceptance)), roof)
    assert told is not None
    assert (told.best_draft_tokens, told.best_speedup) == (best, most)


def test_long_drafts_are_tried_up_to_sixteen():
    setup, roof = on(asked(draft_cost=0.0))
    assert best_length(setup, roof, 0.999) == (16, pytest.approx(sum(0.999**i for i in range(17))))
    assert LONGEST_DRAFT == 16
    # Of equals the shortest: nothing is accepted, nothing spent.
    assert best_length(setup, roof, 0.0) == (0, 1.0)


def test_without_a_draft_s_cost_or_an_acceptance_there_is_nothing_to_say():
    for more in ({"acceptance": 0.5}, {"draft_cost": 0.1}, {}):
        assert speculation.speculation(*on(asked(**more))) is None
    # Not drafting gains nothing, whatever a draft would cost.
    setup, roof = on(asked())
    assert speedup(setup, roof, 0.5, 0) == 1.0


def test_curves_by_hand():
    s = asked(acceptance=0.6, draft_tokens=3, draft_cost=0.1, batch=2)
    setup, roof = on(s)
    found = speculation_curves(setup, roof, 100.0, points=5)

    def gain(acceptance: float, length: float, batch: float) -> float:
        step = max(STEP, batch * TOKEN)
        spent = length * 0.1 * step + max(STEP, batch * (length + 1) * TOKEN)
        return sum(acceptance**i for i in range(int(length) + 1)) * step / spent

    assert found.acceptance.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert LENGTHS == (1, 2, 4, 8, 16)
    assert sorted(found.by_acceptance) == [1, 2, 3, 4, 8, 16]
    for length, line in found.by_acceptance.items():
        assert line == pytest.approx([gain(a, length, 2) for a in found.acceptance])
    assert found.lengths.tolist() == list(range(17))
    assert found.by_length == pytest.approx([gain(0.6, k, 2) for k in range(17)])
    assert found.expected == pytest.approx([sum(0.6**i for i in range(k + 1)) for k in range(17)])
    assert found.batch == pytest.approx(np.geomspace(1, 100, 5))
    assert found.by_batch == pytest.approx([gain(0.6, 3, b) for b in found.batch])
    # At least 64 sequences, and twice the present ones.
    assert speculation_curves(setup, roof, 10.0, points=3).batch == pytest.approx([1, 8, 64])
    many, _ = on(s.change(batch=50))
    assert speculation_curves(many, roof, 10.0, points=3).batch == pytest.approx([1, 10, 100])
    untold, _ = on(s.change(acceptance=None))
    assert speculation_curves(untold, roof, 10.0).expected == pytest.approx(np.ones(17))
    assert len(speculation_curves(setup, roof, 10.0).batch) == 61
