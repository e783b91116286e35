"""Fixed groups against exact sums and against distributions whose integrals are known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.specs.scenario import scenario
from slmopt.theory.static_groups import group_left, harmonic, longest_of, steps_per_token


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 100])
def test_harmonic_numbers_to_twelve_digits(count):
    assert harmonic(float(count)) == pytest.approx(
        float(sum(Fraction(1, k) for k in range(1, count + 1))), abs=1.5e-12
    )


def test_harmonic_numbers_between_whole_ones():
    # H(½) = 2 − 2·ln 2, and each next one adds its own fraction.
    assert harmonic(0.5) == pytest.approx(2 - 2 * math.log(2), abs=3e-12)
    assert harmonic(0.0) == pytest.approx(0.0, abs=3e-12)
    for x in (0.5, 1.25, 7.9, 300.3):
        assert harmonic(x + 1.0) - harmonic(x) == pytest.approx(1 / (x + 1), abs=2e-12)


def test_one_reply_is_its_own_longest_to_the_last_digit():
    assert longest_of(1.0, 0.7) == 1.0
    assert np.array_equal(longest_of(np.array([1.0, 1.0]), 1.0), [1.0, 1.0])
    assert longest_of(np.array([1.0, 2.0]), 1.0)[1] == pytest.approx(1.5)
    # As long as the mean and not longer where there is no spread, whatever the group.
    assert longest_of(50.0, 0.0) == 1.0


def mean_left(fixed: float, scale: float, count: int) -> float:
    """E(G²) / 2E(G): the longest of n exponentials has the mean Σ 1/k and the variance Σ 1/k² (Rényi)."""
    mean = fixed + scale * sum(1 / k for k in range(1, count + 1))
    variance = scale * scale * sum(1 / k**2 for k in range(1, count + 1))
    return (mean * mean + variance) / (2 * mean)


@pytest.mark.parametrize("count", [1, 2, 8, 300, 10_000, 100_000])
@pytest.mark.parametrize(("fixed", "scale"), [(0.0, 1.0), (1.0, 1.0), (3.0, 0.2), (0.5, 4.0), (2.0, 0.0)])
def test_what_is_left_of_a_group_on_average(fixed, scale, count):
    assert group_left(fixed, scale, float(count), 0.05)[0] == pytest.approx(
        mean_left(fixed, scale, count), rel=1e-5
    )


def share_above(t: float, fixed: float, scale: float, count: int) -> float:
    """The share of what is left that exceeds t, from (1 − (1 − e^−u)ⁿ) = Σ over j of −(n over j)·(−e^−u)^j."""
    mean = fixed + scale * sum(1 / k for k in range(1, count + 1))
    if t < fixed:
        return 1 - t / mean
    beyond = sum(
        -math.comb(count, j) * (-1) ** j * math.exp(-j * (t - fixed) / scale) / j for j in range(1, count + 1)
    )
    return scale * beyond / mean


@given(
    st.floats(0, 5),
    st.floats(0.1, 5),
    st.integers(1, 12),
    st.floats(0.01, 0.99),
)
def test_only_the_share_asked_for_is_longer(fixed, scale, count, share):
    _, late = group_left(fixed, scale, float(count), share)
    assert share_above(late, fixed, scale, count) == pytest.approx(share, rel=2e-5)


def test_where_less_than_the_share_are_met_nothing_is_left():
    # A group of 2 s, always alike: uniform, so that a quarter exceed 1.5 s, all 0 s and none 2 s.
    for share, left in ((0.25, 1.5), (1.0, 0.0), (1.2, 0.0), (0.0, 2.0)):
        assert group_left(2.0, 0.0, 3.0, share) == (1.0, pytest.approx(left))
    assert group_left(0.0, 1.0, 5.0, 1.0)[1] == 0.0
    assert group_left(0.0, 1.0, 5.0, 7.0)[1] == 0.0


def test_slots_for_each_token_that_is_used():
    base = {"model": {"params": 1e9}, "batch": 3, "output_spread": 1.0}
    fixed, flowing = scenario({**base, "batching": "static"}), scenario(base)
    assert steps_per_token(fixed, "estimate") == pytest.approx(1 + 1 / 2 + 1 / 3)
    assert steps_per_token(fixed, "estimate", 2.0) == pytest.approx(1.5)
    for s, kind in ((fixed, "ceiling"), (flowing, "estimate"), (flowing, "ceiling")):
        assert steps_per_token(s, kind) == 1.0
        assert steps_per_token(s, kind, 9.0) == 1.0
