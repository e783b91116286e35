"""Extreme but valid passes against exact rational arithmetic: 1 bit, 10^7 tokens, 10^4 experts, a batch of 10^6, 1 PB/s.

The oracle counts one by one and is too slow here; what it says of matrices is kept, and what depends on lengths and
batches stands below in closed form, in fractions (the expected experts in decimals of 80 digits).
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Attention, LayerGroup, Mlp, Model, Moe
from slmopt.theory.forward import Group, forward
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.terms import pass_terms
from tests.theory import oracle

HIDDEN, VOCAB, LAYERS = 4096, 128_256, 60
HEADS, KV_HEADS, HEAD = 64, 8, 128
EXPERTS, ACTIVE = 10_000, 8
ATTENTION = Attention(heads=HEADS, kv_heads=KV_HEADS, head_dim=HEAD)
DENSE = LayerGroup(count=LAYERS, attention=ATTENTION, mlp=Mlp(width=14_336))
SPARSE = LayerGroup(
    count=LAYERS, attention=ATTENTION, moe=Moe(experts=EXPERTS, active=ACTIVE, width=512, shared_width=512)
)
CASES = [
    # bits, sequences, new, past
    (Fraction(1), 1, 1, 10_000_000),
    (Fraction(1), 1_000_000, 1, 10_000_000),
    (Fraction(64), 1_000_000, 1, 0),
    (Fraction(9, 2), 1, 9_000_000, 1_000_000),
    (Fraction(79, 50), 1_000, 100_000, 9_900_000),
]


def model(layer: LayerGroup) -> Model:
    return Model(id="m", name="m", hidden=HIDDEN, vocab=VOCAB, groups=(layer,))


def experts_read(tokens: int, estimate: bool) -> Fraction:
    if not estimate:
        return Fraction(ACTIVE)
    with localcontext() as context:
        context.prec = 80
        missed = (1 - Decimal(ACTIVE) / EXPERTS) ** tokens
        return Fraction(EXPERTS * (1 - missed))


def exact(layer: LayerGroup, bits: Fraction, batch: int, new: int, past: int, estimate: bool) -> oracle.Cost:
    """Weights are read once; every token sees all before it and itself; an estimate also writes the new entries."""
    tokens, one = batch * new, 0
    weights = Fraction(HIDDEN * VOCAB)
    flops = Fraction(2 * batch * HIDDEN * VOCAB)
    dense = sum(rows * cols for rows, cols in oracle._matrices(layer, HIDDEN))
    weights += LAYERS * (dense + oracle._vectors(layer, HIDDEN))
    if layer.moe is not None:
        one = oracle._expert(layer, HIDDEN)
        weights += LAYERS * experts_read(tokens, estimate) * one
    flops += 2 * tokens * LAYERS * (dense + (layer.moe.active * one if layer.moe is not None else 0))
    pairs = batch * (new * past + Fraction(new * (new + 1), 2))
    flops += LAYERS * 4 * HEADS * HEAD * pairs
    entries = batch * (past + (new if estimate else 0))
    return oracle.Cost(weights * bits / 8, LAYERS * entries * 2 * KV_HEADS * HEAD * bits / 8, flops)


@pytest.mark.parametrize("estimate", [False, True])
@pytest.mark.parametrize("layer", [DENSE, SPARSE], ids=["dense", "ten thousand experts"])
@pytest.mark.parametrize("case", CASES)
def test_costs_and_times_agree_to_twelve_digits(case, layer, estimate):
    bits, batch, new, past = case
    wanted = exact(layer, bits, batch, new, past, estimate)
    weights = WeightFormat(id="w", name="w", bits=float(bits))
    cache = CacheFormat(id="c", name="c", bits=float(bits))
    terms = pass_terms(model(layer), weights, cache, cache)
    groups = [Group(float(batch), float(new), float(past), 1.0, 0.0)]
    cost = forward(terms, groups, "estimate" if estimate else "ceiling")
    for got, asked in (
        (cost.weight_bytes, wanted.weight_bytes),
        (cost.cache_bytes, wanted.cache_bytes),
        (cost.flops, wanted.flops),
    ):
        assert np.asarray(got).dtype == np.float64
        assert float(got) == pytest.approx(float(asked), rel=1e-12)
    bandwidth, peak = 10**15, 10**18
    roof = Roof(float(bandwidth), float(peak), float(peak), 0.0, "ceiling", "")
    moved = (wanted.weight_bytes + wanted.cache_bytes) / bandwidth
    seconds = pass_time(cost, roof).seconds
    assert seconds is not None
    assert float(seconds) == pytest.approx(float(max(moved, wanted.flops / peak)), rel=1e-12)


def test_an_expert_is_expected_even_where_almost_none_is():
    """The share of experts that one token of many misses is no difference of nearly equal numbers."""
    got = [float(experts_read(tokens, True)) for tokens in (1, 1250, 10**6)]
    assert got[0] == pytest.approx(ACTIVE, rel=1e-15)
    assert got[1] == pytest.approx(EXPERTS * (1 - np.exp(-1)), rel=1e-3)
    assert got[2] == EXPERTS
