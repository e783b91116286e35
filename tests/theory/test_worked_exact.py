"""The articles' functions at the edges of what they take, and each argument's part in the result."""

from __future__ import annotations

import pytest

from slmopt import SpecError, decode_ceiling, expected_tokens_per_pass, prefill_seconds

WEIGHTS = 2e9 * 5 / 8


def test_every_argument_of_decode_counts_as_it_should():
    # 2·10⁹ weights of 5 bits, and keys and values of 3 layers of 5 heads of 7 elements of 1.5 bytes.
    cache = 2 * 3 * 5 * 7 * 1.5 * 1e6
    found = decode_ceiling(2e9, 5, 100, ctx=1e6, layers=3, kv_heads=5, head_dim=7, kv_bytes=1.5)
    assert found == pytest.approx(100e9 / (WEIGHTS + cache), rel=1e-12)
    # Unless told: nothing cached; 16 layers of 8 heads of 64 elements of 2 bytes.
    assert decode_ceiling(2e9, 5, 100) == pytest.approx(100e9 / WEIGHTS, rel=1e-12)
    usual = 2 * 16 * 8 * 64 * 2 * 1000
    assert decode_ceiling(2e9, 5, 100, 1000) == pytest.approx(100e9 / (WEIGHTS + usual), rel=1e-12)


def test_every_argument_of_prefill_counts_as_it_should():
    assert prefill_seconds(3e9, 700, 8) == pytest.approx(2 * 3e9 * 700 / 8e12, rel=1e-12)
    assert prefill_seconds(3e9, 0.5, 8) == pytest.approx(3e9 / 8e12, rel=1e-12)


def test_ends_of_the_ranges_are_inside():
    assert decode_ceiling(1e9, 64, 8) == pytest.approx(1.0)
    assert decode_ceiling(1e9, 16, 50, ctx=0, layers=0, kv_heads=0, head_dim=0, kv_bytes=8) == 25.0
    # Single numbers count too: one layer of one head of one element.
    assert decode_ceiling(1, 8, 1e-9, ctx=1, layers=1, kv_heads=1, head_dim=1, kv_bytes=1) == pytest.approx(
        1 / 3
    )
    assert prefill_seconds(0.25, 1, 1) == 0.5e-12
    assert expected_tokens_per_pass(0.0, 0) == expected_tokens_per_pass(1.0, 0) == 1.0
    assert expected_tokens_per_pass(0.5, 1) == 1.5


@pytest.mark.parametrize(
    "call",
    [
        lambda: decode_ceiling(1e9, 64.5, 50),
        lambda: decode_ceiling(1e9, 16, 50, kv_bytes=8.5),
        lambda: decode_ceiling(1e9, 16, 50, kv_bytes=0),
        lambda: decode_ceiling(1e9, 0, 50),
        lambda: decode_ceiling(1e9, 16, 0),
        lambda: decode_ceiling(1e9, 16, 50, ctx=-0.5),
        lambda: decode_ceiling(1e9, 16, 50, layers=-1),
        lambda: decode_ceiling(1e9, 16, 50, head_dim=0.5),
        lambda: decode_ceiling(1e9, 16, 50, head_dim=float("inf")),
        lambda: prefill_seconds(1e9, 1000, 0),
        lambda: expected_tokens_per_pass(-0.1, 4),
        lambda: expected_tokens_per_pass(1.1, 4),
        lambda: expected_tokens_per_pass(0.5, -0.5),
    ],
)
def test_what_lies_outside_is_refused(call):
    with pytest.raises(SpecError):
        call()
