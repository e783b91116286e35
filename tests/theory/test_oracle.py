"""The vectorised pass against the slow, exact count of ``oracle.py``, over models of every layer kind."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Attention, Indexer, Latent, LayerGroup, Model
from slmopt.theory.forward import Group, PassCost, completed_pairs, forward, visible_pairs
from slmopt.theory.terms import operator_terms, pass_terms, with_kernels
from tests.strategies import bits as any_bits
from tests.strategies import models, passes
from tests.theory.oracle import Bits, Shape, count_pass, count_scores

SIXTEEN = Bits(Fraction(16), Fraction(16), Fraction(16))


def product_pass(
    model: Model, bits: Bits, shapes: list[Shape], estimate: bool, merged: bool = True, unfused: bool = False
) -> PassCost:
    weights = WeightFormat(id="w", name="w", bits=float(bits.weights))
    k, v = (CacheFormat(id="c", name="c", bits=float(b)) for b in (bits.k, bits.v))
    terms = (pass_terms if merged else operator_terms)(model, weights, k, v)
    groups = [Group(s.batch, s.new, s.past, s.logits, s.shared) for s in shapes]
    return forward(with_kernels(terms, unfused=unfused), groups, "estimate" if estimate else "ceiling")


def same(got: object, exact: Fraction) -> bool:
    return got == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


@settings(max_examples=400)
@given(models, any_bits, passes(), st.booleans(), st.booleans())
def test_pass_costs_what_counting_one_by_one_gives(model, bits, shapes, estimate, merged):
    exact = count_pass(model, bits, shapes, estimate)
    cost = product_pass(model, bits, shapes, estimate, merged)
    assert same(cost.weight_bytes, exact.weight_bytes)
    assert same(cost.cache_bytes, exact.cache_bytes)
    assert same(cost.flops, exact.flops)


@settings(max_examples=200)
@given(models, any_bits, passes(), st.booleans())
def test_scores_that_leave_the_chip_are_those_counted_one_by_one(model, bits, shapes, merged):
    plain = product_pass(model, bits, shapes, True, merged)
    cost = product_pass(model, bits, shapes, True, merged, unfused=True)
    exact = Fraction(0) if model.params is not None else count_scores(model, shapes)
    assert same(cost.score_bytes, exact)
    assert same(cost.cache_bytes, Fraction(float(plain.cache_bytes)) + exact)
    assert (cost.weight_bytes, cost.flops) == (plain.weight_bytes, plain.flops)
    bound = product_pass(model, bits, shapes, False, merged, unfused=True)
    assert bound.cache_bytes == product_pass(model, bits, shapes, False, merged).cache_bytes
    assert not np.any(plain.score_bytes)


def layer(attention: Attention, count: int = 1) -> LayerGroup:
    return LayerGroup(count=count, attention=attention)


def stack(*groups: LayerGroup) -> Model:
    return Model(id="m", name="m", hidden=4, vocab=8, groups=groups)


def latent(kv_rank: int, rope: int, nope: int, value: int, top_k: int | None = None) -> Attention:
    indexer = None if top_k is None else Indexer(heads=1, head_dim=2, top_k=top_k)
    ranks = Latent(kv_rank=kv_rank, nope_dim=nope, rope_dim=rope, v_dim=value)
    return Attention(heads=1, kv_heads=1, head_dim=1, latent=ranks, indexer=indexer)


def check(model: Model, *shapes: Shape, estimate: bool = False) -> None:
    exact = count_pass(model, SIXTEEN, list(shapes), estimate)
    cost = product_pass(model, SIXTEEN, list(shapes), estimate)
    assert (cost.weight_bytes, cost.cache_bytes, cost.flops) == pytest.approx(
        (float(exact.weight_bytes), float(exact.cache_bytes), float(exact.flops)), rel=1e-12
    )


def test_two_latent_shapes_each_run_their_own_cheaper_way():
    # Both shapes save the same share of operations when expanded, but at a different price: at two tokens on four
    # cached ones the first layer is cheaper expanded, the second absorbed, so their costs must not be added first.
    check(stack(layer(latent(2, 2, 1, 1)), layer(latent(4, 4, 2, 2))), Shape(1, 2, 4))


def test_sparse_layers_choose_shared_tokens_where_that_reads_least():
    check(stack(layer(latent(4, 2, 2, 2, top_k=5))), Shape(batch=3, new=1, past=12, shared=6))


def test_sparse_layers_expand_only_the_tokens_chosen():
    check(stack(layer(latent(40, 2, 1, 1, top_k=2))), Shape(batch=1, new=9, past=30))


def test_estimate_writes_the_indexer_keys_as_well():
    check(stack(layer(latent(4, 2, 2, 2, top_k=5))), Shape(batch=2, new=3, past=1), estimate=True)


@pytest.mark.parametrize(
    ("window", "batch", "past", "shared"), [(4, 3, 10, 8), (4, 3, 10, 6), (4, 3, 10, 10), (4, 2, 2, 2)]
)
def test_window_layers_share_only_the_part_of_the_prefix_that_they_still_see(window, batch, past, shared):
    local = Attention(heads=2, kv_heads=1, head_dim=4, window=window)
    check(stack(layer(local, 2)), Shape(batch, 2, past, shared=shared))


def test_look_ups_towers_and_prediction_layers_are_stored_and_not_read():
    bare = stack(layer(Attention(heads=1, kv_heads=1, head_dim=4)))
    more = bare.model_copy(update={"learned_positions": 9, "tower_params": 77, "mtp_params": 55})
    cost, larger = (product_pass(m, SIXTEEN, [Shape(1, 3, 2)], False) for m in (bare, more))
    assert larger == cost
    assert more.total_params == bare.total_params + 9 * 4 + 77
    assert more.stored_params == bare.stored_params + 9 * 4 + 77 + 55


def test_without_logits_the_head_costs_nothing():
    model = stack(layer(Attention(heads=1, kv_heads=1, head_dim=4)))
    with_head = product_pass(model, SIXTEEN, [Shape(1, 3, 0, logits=1)], False)
    chunk = product_pass(model, SIXTEEN, [Shape(1, 3, 0, logits=0)], False)
    assert with_head.weight_bytes - chunk.weight_bytes == 4 * 8 * 2
    assert with_head.flops - chunk.flops == 2 * 4 * 8


@given(models, passes(), st.data())
def test_arrays_give_what_a_loop_of_single_calls_gives(model, shapes, data):
    """Any field may be an array: here each group's tokens and cache grow along two axes that broadcast."""
    estimate = data.draw(st.booleans())
    more_new, more_past = [0, 1, 4], [0, 3]
    columns = [
        Group(s.batch, np.add(more_new, s.new)[:, None], np.add(more_past, s.past), s.logits, s.shared)
        for s in shapes
    ]
    terms = pass_terms(
        model, *(kind(id="f", name="f", bits=9) for kind in (WeightFormat, CacheFormat, CacheFormat))
    )
    kind = "estimate" if estimate else "ceiling"
    grid = forward(terms, columns, kind)
    assert np.shape(grid.bytes) == np.shape(grid.flops) == (3, 2)
    for i, n in enumerate(more_new):
        for j, p in enumerate(more_past):
            one = forward(
                terms, [Group(s.batch, s.new + n, s.past + p, s.logits, s.shared) for s in shapes], kind
            )
            for name in ("weight_bytes", "cache_bytes", "matmul_flops", "attention_flops"):
                value = getattr(one, name)
                assert isinstance(value, float)
                assert np.asarray(getattr(grid, name))[i, j] == pytest.approx(value, rel=1e-14)


INDEXER = Indexer(heads=4, head_dim=128, top_k=2048)


def decoded(attention: Attention, past: int, estimate: bool = False) -> PassCost:
    """One layer of ``attention`` alone, a token of one sequence on ``past`` cached ones, 16-bit cache."""
    return product_pass(stack(layer(attention)), SIXTEEN, [Shape(1, 1, past, logits=0)], estimate)


def test_sparse_layers_with_plain_heads_read_the_picked_tokens_and_every_index_key():
    # MiniMax M3: 4 KV heads of 128, 2,048 tokens picked by 4 index heads of 128.
    picking = Attention(heads=64, kv_heads=4, head_dim=128, indexer=INDEXER)
    cost = decoded(picking, 10_000)
    assert cost.cache_bytes == 2048 * (2 * 4 * 128 * 2) + 10_000 * 128 * 2
    assert cost.attention_flops == 2 * 64 * 256 * 2048 + 2 * 4 * 128 * 10_001
    short = decoded(picking, 1000)
    assert short.cache_bytes == 1000 * (2 * 4 * 128 * 2 + 128 * 2)
    assert short.attention_flops == 2 * 64 * 256 * 1001 + 2 * 4 * 128 * 1001


def test_an_indexer_that_takes_another_layers_picks_costs_nothing_of_its_own():
    own = Attention(heads=64, kv_heads=4, head_dim=128, indexer=INDEXER)
    taken = own.model_copy(update={"indexer": INDEXER.model_copy(update={"shared": True})})
    for estimate, keys in ((False, 10_000), (True, 10_001)):
        mine, theirs = (decoded(a, 10_000, estimate) for a in (own, taken))
        assert mine.cache_bytes - theirs.cache_bytes == keys * 128 * 2
        assert mine.attention_flops - theirs.attention_flops == 2 * 4 * 128 * 10_001


def test_compressing_layers_read_their_window_and_an_entry_for_every_group_of_tokens():
    # DeepSeek V4: one vector of 512 serves as key and value; a window of 128 tokens; a layer that keeps one entry for
    # every 128 tokens reads all of them, one that keeps one for every 4 reads those that its indexer picks.
    shape = {"heads": 64, "kv_heads": 1, "head_dim": 512, "window": 128, "single_kv": True}
    heavy = Attention(**shape, compress=128)
    cost = decoded(heavy, 10_000)
    assert cost.cache_bytes == (127 + 78) * 512 * 2
    assert cost.attention_flops == 2 * 64 * 1024 * (128 + 78)
    picking = Attention(**shape, compress=4, indexer=Indexer(heads=64, head_dim=128, top_k=512))
    cost = decoded(picking, 10_000)
    assert cost.cache_bytes == (127 + 512) * 512 * 2 + 2500 * 128 * 2
    assert cost.attention_flops == 2 * 64 * 1024 * (128 + 512) + 2 * 64 * 128 * 2500
    # Below 4 · 512 tokens every entry is picked; the fed token itself completes the 500th.
    cost = decoded(picking, 1999)
    assert cost.cache_bytes == (127 + 499) * 512 * 2 + 499 * 128 * 2
    assert cost.attention_flops == 2 * 64 * 1024 * (128 + 500) + 2 * 64 * 128 * 500
    # An estimate writes the token, and the entry with its key only where the token completes one.
    written = decoded(picking, 1999, estimate=True).cache_bytes - cost.cache_bytes
    assert written == 512 * 2 + (512 + 128) * 2
    before = (decoded(picking, 1998, estimate=kind).cache_bytes for kind in (True, False))
    assert next(before) - next(before) == 512 * 2


def test_a_layer_without_a_cache_reads_another_one_again_only_in_an_estimate():
    owner = Attention(heads=8, kv_heads=2, head_dim=256, window=512)
    taker = owner.model_copy(update={"owns_cache": False})
    assert decoded(taker, 4000).cache_bytes == 0
    assert decoded(taker, 4000, estimate=True).cache_bytes == 511 * (2 * 2 * 256 * 2)
    assert decoded(owner, 4000, estimate=True).cache_bytes == 512 * (2 * 2 * 256 * 2)
    assert decoded(taker, 4000).attention_flops == decoded(owner, 4000).attention_flops == 4 * 8 * 256 * 512


@given(st.integers(0, 10**6), st.integers(1, 3000), st.integers(1, 200), st.none() | st.integers(1, 5000))
def test_completed_pairs_are_the_sum_over_queries(past, new, every, top_k):
    most = np.inf if top_k is None else float(top_k)
    exact = sum(min((past + i) // every, most) for i in range(1, new + 1))
    assert completed_pairs(float(past), float(new), every, most) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("field", ["batch", "new", "past", "logits", "shared"])
def test_result_has_the_shape_of_the_groups_even_where_a_field_does_not_matter(field):
    # A model known by its count, without a cache: nothing depends on past, logits or shared.
    terms = pass_terms(
        Model(id="m", name="m", params=100.0),
        *(kind(id="f", name="f", bits=8) for kind in (WeightFormat, CacheFormat, CacheFormat)),
    )
    cost = forward(terms, [Group(**{field: np.ones(5)})])
    assert {np.shape(x) for x in (cost.weight_bytes, cost.cache_bytes, cost.flops, cost.intensity)} == {(5,)}


@given(
    st.integers(0, 10**6),
    st.integers(1, 3000),
    st.sampled_from(["full", "window", "chunk"]),
    st.integers(1, 10**4),
)
def test_visible_pairs_are_the_sum_over_queries(past, new, kind, size):
    if kind == "full":
        got, exact = visible_pairs(past, new), sum(past + i for i in range(1, new + 1))
    elif kind == "window":
        got = visible_pairs(float(past), float(new), window=size)
        exact = sum(min(past + i, size) for i in range(1, new + 1))
    else:
        got = visible_pairs(float(past), float(new), chunk=size)
        exact = sum((past + i - 1) % size + 1 for i in range(1, new + 1))
    assert got == pytest.approx(exact, rel=1e-13)
