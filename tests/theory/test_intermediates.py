"""Bytes that attention's scores would move without a fused kernel."""

import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.forward import Group
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


def test_chunks_see_their_own_tokens_and_sparse_attention_its_picks():
    def asked(**attention: object) -> float:
        heads = {"heads": 4, "kv_heads": 2, "head_dim": 16, **attention}
        group = {"count": 3, "attention": heads, "mlp": {"width": 64}}
        model = {"id": "m", "name": "m", "hidden": 64, "vocab": 100, "groups": [group]}
        return score_bytes(resolve(scenario({"model": model, "prompt": 100, "output": 1})))

    # A whole chunk of 64 and 36 of the next: 64·65/2 + 36·37/2 pairs; a window of 10: 10·11/2 + 90·10.
    assert asked(chunk=64) == pytest.approx(3 * 4 * (2080 + 666) * 8)
    assert asked(window=10) == pytest.approx(3 * 4 * (55 + 900) * 8)
    assert asked(indexer={"heads": 1, "head_dim": 8, "top_k": 10}) == asked(window=10)


def test_every_sequence_of_a_group_has_its_own_scores():
    setup = resolve(scenario({"model": "llama-2-7b", "weights": "f16"}))
    one = score_bytes(setup, Group(1.0, 100.0, 0.0, 1.0))
    assert one == pytest.approx(32 * 32 * 5050 * 8)
    assert score_bytes(setup, Group(3.0, 100.0, 0.0, 1.0)) == pytest.approx(3 * one)
