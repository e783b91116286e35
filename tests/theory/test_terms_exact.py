"""Coefficients of a pass by hand, and what may be added up."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.layers import Attention, Indexer, Latent, LayerGroup, Mlp, Moe, State
from slmopt.specs.model import Matrix, Model
from slmopt.theory.forward import Group, forward
from slmopt.theory.terms import Term, merge, operator_terms, pass_terms, scaled, with_kernels

W4 = WeightFormat(id="w", name="w", bits=4)
K, V = CacheFormat(id="k", name="k", bits=16), CacheFormat(id="v", name="v", bits=4)
COEFFICIENTS = [f.name for f in fields(Term) if f.type == "float" and f.name not in ("window", "top_k")]


def test_a_term_asks_for_nothing_unless_told():
    bare = Term("x")
    assert {getattr(bare, name) for name in COEFFICIENTS} == {0.0}
    assert (bare.experts, bare.active, bare.chunk, bare.compress) == (0, 0, 0, 0)
    assert (bare.window, bare.top_k) == (math.inf, math.inf)
    assert (bare.spread, bare.cache_step) == (1, 1)
    assert bare.turns == (math.inf, math.inf, 0.0)


def test_half_the_layers_have_half_of_every_coefficient():
    whole = Term("x", window=8.0, top_k=4.0, experts=6, active=2, **dict.fromkeys(COEFFICIENTS, 10.0))
    half = scaled(whole, 0.5)
    assert {getattr(half, name) for name in COEFFICIENTS} == {5.0}
    assert (half.window, half.top_k, half.experts, half.active) == (8.0, 4.0, 6, 2)


def test_terms_that_respond_alike_are_added_up():
    near = Term("a", 0, window=8.0, cache_bytes=3.0, pair_flops=2.0)
    far = Term("a", 1, window=16.0, cache_bytes=5.0, pair_flops=7.0)
    plain = Term("m", 0, weight_bytes=1.0, token_flops=4.0)
    found = merge((near, plain, far, near, plain))
    assert len(found) == 3
    assert {(t.window, t.cache_bytes, t.pair_flops, t.weight_bytes) for t in found} == {
        (8.0, 6.0, 4.0, 0.0),
        (16.0, 5.0, 7.0, 0.0),
        (math.inf, 0.0, 0.0, 2.0),
    }
    assert {(t.operator, t.group) for t in found} == {("all", None)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"window": 8.0}, {"window": 9.0}),
        ({"chunk": 8}, {"chunk": 9}),
        ({"chunk": 1}, {}),
        ({"top_k": 8.0}, {"top_k": 9.0}),
        ({"compress": 8}, {"compress": 9}),
        ({"spread": 2}, {}),
        ({"experts": 4, "active": 2}, {"experts": 4, "active": 1}),
        ({"experts": 4}, {"experts": 8}),
        ({"head": True}, {}),
    ],
)
def test_terms_of_other_limits_stay_apart(one, other):
    terms = (Term("a", cache_bytes=1.0, **one), Term("a", cache_bytes=1.0, **other))
    found = merge((*terms, *terms))
    assert [t.cache_bytes for t in found] == [2.0, 2.0]
    assert [
        {name: getattr(t, name) for name in given} for t, given in zip(found, (one, other), strict=True)
    ] == [
        one,
        other,
    ]


def test_latent_layers_are_added_where_their_ways_stand_in_one_proportion():
    def latent(pair: float, expanded: float, each: float) -> Term:
        return Term(
            "a", cache_bytes=1.0, pair_flops=pair, latent_pair_flops=expanded, latent_expand_flops=each
        )

    assert len(merge((latent(10, 2, 30), latent(20, 4, 60), latent(5, 1, 15)))) == 1
    assert len(merge((latent(10, 2, 30), latent(20, 4, 30)))) == 2
    assert len(merge((latent(10, 2, 30), latent(20, 2, 60)))) == 2


def test_where_the_response_turns():
    assert Term("a", window=8.0, top_k=5.0, chunk=3).turns == (8.0, 5.0, 3.0)
    # Picked entries stand for so many tokens each.
    assert Term("a", window=8.0, top_k=5.0, compress=4).turns == (8.0, 20.0, 0.0)


def test_kernels():
    terms = (Term("a", score_pairs=2.0),)
    assert with_kernels(terms, unfused=False) is terms
    assert with_kernels(terms, unfused=True)[0].unfused


def test_a_counted_model_by_hand():
    model = Model(id="m", name="m", params=1e6, layers=3, kv_heads=5, head_dim=7)
    weights, attention = operator_terms(model, W4, K, V)
    assert (weights.operator, weights.weight_bytes, weights.token_flops) == ("weights", 0.5e6, 2e6)
    assert attention.cache_bytes == 3 * 5 * 7 * (16 + 4) / 8
    assert attention.pair_flops == 0


HIDDEN, VOCAB = 8, 50


def model_of(*groups: LayerGroup, **more: object) -> Model:
    return Model(id="m", name="m", hidden=HIDDEN, vocab=VOCAB, groups=groups, **more)


def found_of(*groups: LayerGroup, **more: object) -> dict[str, Term]:
    return {t.operator: t for t in operator_terms(model_of(*groups, **more), W4, K, V)}


def test_every_operator_of_a_layer_by_hand():
    group = LayerGroup(
        count=3,
        attention=Attention(heads=4, kv_heads=2, head_dim=6, v_head_dim=5, window=9),
        moe=Moe(experts=8, active=2, width=7, shared_width=3),
        norm_params=11,
    )
    found = found_of(group, final_norm_params=13)
    projections = 3 * HIDDEN * (4 * 6 + 2 * 6 + 2 * 5 + 4 * 5)
    assert found["projections"].weight_bytes == projections / 2
    assert found["projections"].token_flops == 2 * projections
    shared = 3 * (3 * 3 * HIDDEN + 8 * HIDDEN)
    assert found["mlp"].weight_bytes == shared / 2
    assert found["mlp"].token_flops == 2 * shared
    expert = 3 * 3 * 7 * HIDDEN
    experts = found["experts"]
    assert (experts.experts, experts.active, experts.expert_bytes) == (8, 2, expert / 2)
    assert (experts.token_flops, experts.weight_bytes) == (2 * 2 * expert, 0.0)
    assert found["head"].weight_bytes == HIDDEN * VOCAB / 2
    assert (found["head"].token_flops, found["head"].head) == (2 * HIDDEN * VOCAB, True)
    # Norms are read, in two groups of terms: the layers' and the last one.
    others = [
        t for t in operator_terms(model_of(group, final_norm_params=13), W4, K, V) if t.operator == "other"
    ]
    assert sorted((t.group, t.weight_bytes, t.token_flops) for t in others if t.group is not None) == [
        (0, 33 / 2, 0)
    ]
    assert [(t.weight_bytes, t.token_flops) for t in others if t.group is None] == [(13 / 2, 0)]
    attention = found["attention"]
    assert attention.cache_bytes == 3 * 2 * (6 * 16 + 5 * 4) / 8
    assert (attention.pair_flops, attention.score_pairs) == (3 * 2 * 4 * (6 + 5), 3 * 4)
    assert (attention.window, attention.reread_bytes, attention.entry_bytes, attention.compress) == (
        9.0,
        0,
        0,
        0,
    )


def test_bias_of_experts_is_read_and_multiplies_nothing():
    plain, biased = (
        found_of(LayerGroup(count=2, moe=Moe(experts=4, active=1, width=7, bias=bias)))["experts"]
        for bias in (False, True)
    )
    assert biased.token_flops == plain.token_flops
    assert biased.expert_bytes - plain.expert_bytes == 2 * (2 * 7 + HIDDEN) / 2


def test_latents_indexers_and_entries_by_hand():
    latent = Latent(kv_rank=16, nope_dim=5, rope_dim=3, v_dim=7)
    picks = Indexer(heads=2, head_dim=10, top_k=6)
    one = found_of(
        LayerGroup(
            count=3, attention=Attention(heads=4, kv_heads=4, head_dim=8, latent=latent, indexer=picks)
        )
    )["attention"]
    assert one.pair_flops == 3 * 2 * 4 * (16 + 3 + 16)
    assert one.latent_pair_flops == 3 * 2 * 4 * (5 + 3 + 7)
    assert one.latent_expand_flops == 3 * 2 * 16 * 4 * (5 + 7)
    assert one.cache_bytes == 3 * (16 + 3) * 2
    assert (one.top_k, one.index_bytes, one.index_pair_flops) == (6.0, 3 * 10 * 2, 3 * 2 * 2 * 10)
    taken = picks.model_copy(update={"shared": True})
    other = found_of(
        LayerGroup(
            count=3, attention=Attention(heads=4, kv_heads=4, head_dim=8, latent=latent, indexer=taken)
        )
    )["attention"]
    assert (other.top_k, other.index_bytes, other.index_pair_flops) == (6.0, 0.0, 0.0)
    entry = Attention(heads=4, kv_heads=1, head_dim=8, window=5, single_kv=True, compress=3)
    kept = found_of(LayerGroup(count=2, attention=entry))["attention"]
    assert (kept.compress, kept.entry_bytes, kept.cache_bytes) == (3, 2 * 8 * 2, 2 * 8 * 2)
    assert (kept.chunk, kept.top_k) == (0, math.inf)
    borrowed = found_of(LayerGroup(count=2, attention=entry.model_copy(update={"owns_cache": False})))[
        "attention"
    ]
    assert (borrowed.entry_bytes, borrowed.cache_bytes, borrowed.reread_bytes) == (0.0, 0.0, 2 * 8 * 2)
    chunked = found_of(LayerGroup(count=1, attention=Attention(heads=1, kv_heads=1, head_dim=2, chunk=4)))
    assert (chunked["attention"].chunk, chunked["attention"].window) == (4, math.inf)


def test_a_state_by_hand():
    state = State(
        kind="s",
        state_elements=20,
        conv_elements=3,
        scan_flops=9,
        matrices=(Matrix(role="ssm_in", rows=4, cols=5),),
    )
    found = list(operator_terms(model_of(LayerGroup(count=3, state=state)), W4, K, V))
    (own,) = [t for t in found if t.operator == "state"]
    # Two bytes an element.
    assert (own.state_bytes, own.token_flops) == (3 * 23 * 2, 27.0)
    (projections,) = [t for t in found if t.operator == "state projections"]
    assert (projections.weight_bytes, projections.token_flops) == (3 * 20 / 2, 2 * 3 * 20)


@pytest.mark.parametrize("tied", [True, False])
def test_look_ups_are_stored_and_a_tied_table_is_the_head(tied):
    lookups = (Matrix(role="per_layer_token_embd", rows=9, cols=9),)
    model = model_of(
        LayerGroup(count=1, mlp=Mlp(width=4)), tied=tied, lookups=lookups, tower_params=99, mtp_params=77
    )
    cost = forward(pass_terms(model, W4, K, V), [Group()])
    assert cost.weight_bytes == (3 * 4 * HIDDEN + HIDDEN * VOCAB) / 2
    assert cost.flops == 2 * (3 * 4 * HIDDEN + HIDDEN * VOCAB)
    silent = forward(pass_terms(model, W4, K, V), [Group(logits=0.0)])
    assert silent.weight_bytes == 3 * 4 * HIDDEN / 2
    biased = forward(pass_terms(model.model_copy(update={"output_bias": True}), W4, K, V), [Group()])
    assert (biased.weight_bytes - cost.weight_bytes, biased.flops - cost.flops) == (VOCAB / 2, 0)
