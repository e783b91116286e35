"""Halving against numbers that are known."""

from __future__ import annotations

import math

import pytest

from slmopt.theory.search import turns_true


@pytest.mark.parametrize(
    ("square", "low", "high"),
    [(2.0, 0.0, 2.0), (2.0, 1.0, 100.0), (9.0, 2.0, 3.0), (1e-6, 0.0, 1.0), (5.0, 2.23, 2.24)],
)
def test_a_square_root(square, low, high):
    found = turns_true(lambda x: x * x >= square, low, high)
    assert found == pytest.approx(math.sqrt(square), abs=2e-12 * (high - low))
    assert found * found >= square, "from above"


def test_where_it_is_true_only_at_the_end_or_everywhere():
    assert turns_true(lambda x: x >= 7.0, 3.0, 7.0) == 7.0
    assert turns_true(lambda _: True, 3.0, 7.0) == pytest.approx(3.0, abs=1e-11)
