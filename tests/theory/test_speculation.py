"""Speculative decoding: expected tokens, speed-up, best length, break-even."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slmopt import evaluate, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.latency import decode_step
from slmopt.theory.roofline import ceiling_roof, estimate_roof
from slmopt.theory.speculation import (
    LONGEST_DRAFT,
    break_even,
    draft_seconds,
    expected_tokens,
    speedup,
    verify_seconds,
)
from tests.strategies import few, scenarios

acceptances = st.floats(0, 1)
lengths = st.integers(0, 64)


@given(lengths)
def test_expected_tokens_at_the_limits(k):
    assert expected_tokens(0.0, k) == 1.0
    assert expected_tokens(1.0, k) == k + 1
    assert expected_tokens(1 - 1e-14, k) == pytest.approx(k + 1, rel=1e-11)
    assert expected_tokens(1e-300, k) == 1.0


@given(acceptances, lengths)
def test_expected_tokens_are_the_sum_of_powers(a, k):
    assert expected_tokens(a, k) == pytest.approx(sum(a**i for i in range(k + 1)), rel=1e-12)


@given(acceptances, acceptances, lengths)
def test_expected_tokens_grow_with_acceptance_and_length(a, b, k):
    low, high = sorted((a, b))
    assert expected_tokens(low, k) <= expected_tokens(high, k) * (1 + 1e-15)
    assert expected_tokens(a, k) <= expected_tokens(a, k + 1) * (1 + 1e-15)
    assert 1 <= expected_tokens(a, k) <= k + 1


def test_expected_tokens_of_arrays_broadcast():
    a, k = np.array([0.0, 0.5, 0.7, 1.0])[:, None], np.arange(5)
    grid = expected_tokens(a, k)
    assert grid.shape == (4, 5)
    assert [[expected_tokens(float(x), int(n)) for n in k] for x in a[:, 0]] == grid.tolist()
    assert grid[2, 4] == pytest.approx(2.7731, rel=1e-12)


@st.composite
def drafting(draw):
    s = draw(scenarios())
    return s.change(
        acceptance=draw(acceptances), draft_tokens=draw(st.integers(1, 16)), draft_cost=draw(st.floats(0, 2))
    )


@few
@given(drafting())
def test_speedup_is_expected_tokens_over_the_time_of_drafting_and_checking(s):
    setup = resolve(s)
    for roof in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "slow")):
        step = float(decode_step(setup, roof).seconds)
        spent = s.draft_tokens * s.draft_cost * step + float(verify_seconds(setup, roof, s.draft_tokens))
        expected = sum(s.acceptance**i for i in range(s.draft_tokens + 1)) * step / spent
        assert speedup(setup, roof, s.acceptance, s.draft_tokens) == pytest.approx(expected, rel=1e-12)
        assert speedup(setup, roof, s.acceptance, 0) == 1.0
        assert verify_seconds(setup, roof, 0) == pytest.approx(step, rel=1e-12)


@few
@given(drafting())
def test_checking_several_tokens_costs_at_least_a_step_and_at_most_as_many_steps(s):
    setup = resolve(s)
    roof = ceiling_roof(setup, "decode")
    step = float(decode_step(setup, roof).seconds)
    assert verify_seconds(setup, roof, s.draft_tokens) >= step * (1 - 1e-12)
    # Free drafts that are never accepted gain nothing; certain ones at most k + 1.
    free = resolve(s.change(draft_cost=0.0))
    assert speedup(free, roof, 0.0, s.draft_tokens) <= 1 + 1e-12
    assert speedup(free, roof, 1.0, s.draft_tokens) <= s.draft_tokens + 1 + 1e-12


@few
@given(drafting())
def test_break_even_is_where_the_speedup_is_one(s):
    setup = resolve(s)
    roof = ceiling_roof(setup, "decode")
    found = break_even(setup, roof, s.draft_tokens)
    if found is None:
        assert speedup(setup, roof, 1.0, s.draft_tokens) < 1
    elif found == 0.0:
        assert speedup(setup, roof, 0.0, s.draft_tokens) >= 1 - 1e-12
    else:
        assert speedup(setup, roof, found, s.draft_tokens) == pytest.approx(1, rel=1e-9)
    assert break_even(setup, roof, 0) is None


@few
@given(drafting())
def test_best_length_is_the_smallest_of_the_best(s):
    for phases in (evaluate(s).ceiling, evaluate(s).typical):
        found, roof = phases.speculation, phases.decode_roof
        gains = [float(speedup(resolve(s), roof, s.acceptance, k)) for k in range(LONGEST_DRAFT + 1)]
        assert found.best_speedup == pytest.approx(max(gains), rel=1e-11)
        assert found.best_draft_tokens == min(k for k, g in enumerate(gains) if g >= max(gains) * (1 - 1e-12))
        assert found.speedup == gains[s.draft_tokens]
        assert found.kind == roof.kind


SMALL = {
    "model": {"params": 1e9},
    "device": {"bandwidth_gbs": 50, "peak_tflops": 4},
    "weights": {"bits": 16},
    "context": 0,
}


@pytest.mark.parametrize(
    "tie",
    [
        {"acceptance": 0.0, "draft_cost": 0.0},  # nothing accepted, nothing spent: every length gains 1
        {"acceptance": 1.0, "draft_cost": 1.0},  # a draft as dear as the target: k + 1 tokens for k + 1 steps
        {"acceptance": 1.0, "draft_cost": 1.0, "model": {"params": 1.1e9}},
        {"acceptance": 1.0, "draft_cost": 1.0, "weights": {"bits": 4.85}},
    ],
)
def test_ties_go_to_not_drafting_at_all(tie):
    found = evaluate(scenario({**SMALL, "draft_tokens": 4, **tie})).ceiling.speculation
    assert found.best_draft_tokens == 0
    assert found.best_speedup == 1.0
    assert found.speedup == pytest.approx(1)
    assert found.break_even == pytest.approx(1 if tie["draft_cost"] else 0)


@few
@given(scenarios(), st.integers(1, 16))
def test_the_target_as_its_own_draft_costs_one_step_a_token(s, k):
    own = s.change(draft_model=s.model, acceptance=0.8, draft_tokens=k)
    result = evaluate(own)
    for phases in (result.ceiling, result.typical):
        assert phases.speculation.cost_ratio == pytest.approx(1, rel=1e-12)
        assert draft_seconds(own_setup := resolve(own), phases.decode_roof) == pytest.approx(
            float(decode_step(own_setup, phases.decode_roof).seconds), rel=1e-12
        )


@few
@given(scenarios())
def test_without_an_acceptance_or_a_cost_nothing_is_invented(s):
    assume(s.acceptance is None or s.draft_cost is None)
    assert evaluate(s).ceiling.speculation is None
    assert evaluate(s.change(acceptance=0.5, draft_cost=None, draft_model=None)).typical.speculation is None


def test_a_compute_bound_batch_loses_by_drafting():
    """Row RC12 in kind: where arithmetic decides, checking k + 1 tokens takes k + 1 times as long."""
    heavy = scenario({**SMALL, "batch": 1000, "acceptance": 0.7, "draft_cost": 0.05, "draft_tokens": 4})
    found = evaluate(heavy).ceiling.speculation
    assert found.speedup == pytest.approx(2.7731 / (4 * 0.05 + 5), rel=1e-12)
    assert found.best_draft_tokens == 0
    assert found.break_even is None


def test_batches_as_an_array_equal_single_calls():
    setup = resolve(
        scenario({**SMALL, "acceptance": 0.7, "draft_cost": 0.05, "draft_tokens": 4, "context": 100})
    )
    roof = ceiling_roof(setup, "decode")
    batches = np.array([1.0, 10.0, 100.0, 1000.0])
    many = speedup(setup, roof, 0.7, 4.0, batches)
    for batch, gain in zip(batches, many, strict=True):
        one = resolve(setup.scenario.change(batch=int(batch)))
        assert gain == pytest.approx(float(speedup(one, roof, 0.7, 4.0)), rel=1e-14)
