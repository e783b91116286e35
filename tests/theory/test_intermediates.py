"""Bytes that attention's scores would move without a fused kernel."""

import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.intermediates import score_bytes


def test_llama_2_7b_by_hand():
    # 32 layers of 32 heads, 2,000·2,001/2 pairs, 2 bytes, four trips.
    setup = resolve(scenario({"model": "llama-2-7b", "weights": "f16", "prompt": 2000}))
    assert score_bytes(setup) == pytest.approx(32 * 32 * 2000 * 2001 / 2 * 2 * 4)


def test_a_window_bounds_them_and_a_bare_count_has_none():
    long = {"prompt": 20_000, "output": 10}
    windowed = score_bytes(resolve(scenario({"model": "gemma-3-27b", **long})))
    doubled = score_bytes(resolve(scenario({"model": "gemma-3-27b", "prompt": 40_000, "output": 10})))
    assert windowed > 0
    assert doubled < 4 * windowed
    assert score_bytes(resolve(scenario({"model": {"params": 7e9}}))) == 0.0
