"""Terms by operator add up to the pass, and a changed model changes every figure by the hand-computed amount."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import LayerGroup, Matrix, Model, Moe
from slmopt.specs.weights import bits_per_weight, stored_bytes
from slmopt.theory.forward import Group, PassCost, distinct_experts, forward, visible_cached, visible_pairs
from slmopt.theory.terms import merge, operator_terms, pass_terms
from tests.strategies import models, passes

W16 = WeightFormat(id="w", name="w", bits=16)
F16 = CacheFormat(id="f16", name="f16", bits=16)
NAMES = ("weight_bytes", "cache_bytes", "matmul_flops", "attention_flops")


def cost_of(model: Model, *groups: Group, weights: WeightFormat = W16) -> PassCost:
    return forward(pass_terms(model, weights, F16, F16), groups)


@given(models, passes())
def test_operators_add_up_to_the_pass(model, shapes):
    terms = operator_terms(model, W16, F16, F16)
    groups = [Group(s.batch, s.new, s.past, s.logits, s.shared) for s in shapes]
    for kind in ("ceiling", "estimate"):
        total = forward(pass_terms(model, W16, F16, F16), groups, kind)
        parts = [forward([term], groups, kind) for term in terms]
        for name in NAMES:
            assert sum(getattr(part, name) for part in parts) == pytest.approx(
                getattr(total, name), rel=1e-12, abs=1e-9
            )


@given(models)
def test_merging_keeps_few_terms_and_is_final(model):
    terms = operator_terms(model, W16, F16, F16)
    merged = merge(terms)
    assert len(merged) <= len(terms)
    assert set(merge(merged)) == set(merged)


def test_sixty_layers_of_two_kinds_merge_into_few_terms():
    local = {"heads": 4, "kv_heads": 2, "head_dim": 8, "window": 64}
    full = {"heads": 4, "kv_heads": 2, "head_dim": 8}
    groups = [
        LayerGroup.model_validate({"count": 1, "attention": a, "mlp": {"width": 16}})
        for _ in range(30)
        for a in (local, full)
    ]
    model = Model(id="m", name="m", hidden=32, vocab=100, groups=tuple(groups))
    assert len(pass_terms(model, W16, F16, F16)) <= 4


BASE = {
    "id": "base",
    "name": "base",
    "hidden": 512,
    "vocab": 1000,
    "final_norm_params": 512,
    "groups": [
        {
            "count": 4,
            "attention": {"heads": 8, "kv_heads": 2, "head_dim": 64},
            "mlp": {"width": 2048},
            "norm_params": 1024,
        }
    ],
}


def mutated(attention: dict[str, object] | None = None, **layer: object) -> Model:
    group = {**BASE["groups"][0], **layer}
    group["attention"] = {**group["attention"], **(attention or {})}
    return Model.model_validate({**BASE, "groups": [group]})


PROJECTIONS = 512 * (8 * 64) * 2 + 512 * (2 * 64) * 2
LAYER = PROJECTIONS + 3 * 512 * 2048 + 1024

# What changes: weights, cached bytes a token, operations a (query, key) pair.
MUTATIONS = [
    (mutated(count=5), LAYER, 2 * 2 * 64 * 2, 4 * 8 * 64),
    (mutated({"heads": 10}), 4 * 2 * 2 * 64 * 512, 0, 4 * 4 * 2 * 64),
    (mutated({"kv_heads": 4}), 4 * 2 * 2 * 64 * 512, 4 * 2 * 2 * 64 * 2, 0),
    (mutated({"v_head_dim": 96}), 4 * (2 + 8) * 32 * 512, 4 * 2 * 32 * 2, 4 * 2 * 8 * 32),
    (mutated(mlp={"width": 3000}), 4 * 3 * 952 * 512, 0, 0),
    (mutated(mlp={"width": 2048, "gated": False}), -4 * 2048 * 512, 0, 0),
]


@pytest.mark.parametrize(("model", "weights", "cached", "pair"), MUTATIONS)
def test_a_change_of_the_model_changes_everything_by_the_hand_computed_amount(model, weights, cached, pair):
    base = mutated()
    assert base.total_params == 2 * 512_000 + 512 + 4 * LAYER
    assert model.total_params - base.total_params == weights
    assert model.active_params - base.active_params == weights
    group = Group(batch=3, new=5, past=100)
    before, after = cost_of(base, group), cost_of(model, group)
    assert after.weight_bytes - before.weight_bytes == 2 * weights
    assert after.cache_bytes - before.cache_bytes == cached * 3 * 100
    norms = 1024 if model.groups[0].count == 5 else 0
    assert after.matmul_flops - before.matmul_flops == 2 * 15 * (weights - norms)
    assert after.attention_flops - before.attention_flops == pair * 3 * (500 + 15)


def test_a_wider_vocabulary_costs_at_the_head_only():
    wide = Model.model_validate({**BASE, "vocab": 1500})
    base = mutated()
    assert wide.total_params - base.total_params == 2 * 500 * 512
    before, after = (cost_of(m, Group(batch=3, new=5, past=100, logits=2)) for m in (base, wide))
    assert after.weight_bytes - before.weight_bytes == 500 * 512 * 2
    assert after.flops - before.flops == 2 * 3 * 2 * 500 * 512


def test_tying_the_head_saves_storage_and_nothing_else():
    tied = Model.model_validate({**BASE, "tied": True})
    assert mutated().total_params - tied.total_params == 512_000
    group = Group(batch=2, new=3, past=7)
    assert cost_of(tied, group) == cost_of(mutated(), group)


def test_roles_kept_at_more_bits_are_counted_at_them():
    kept = WeightFormat(id="w", name="w", bits=4, kept=("token_embd", "output", "norm"), kept_bits=16)
    model = mutated()
    norms = 512 + 4 * 1024
    matrices = model.total_params - 2 * 512_000 - norms
    assert stored_bytes(kept, model) == matrices / 2 + 2 * (2 * 512_000 + norms)
    assert cost_of(model, Group(), weights=kept).weight_bytes == matrices / 2 + 2 * (512_000 + norms)


@given(models)
def test_one_width_for_all_weights_is_the_mean_width(model):
    bits = bits_per_weight(WeightFormat(id="w", name="w", bits=5.5), model)
    assert bits == pytest.approx(5.5, rel=1e-12)


def experts(**more: int) -> Model:
    moe = Moe(experts=8, active=2, width=64, **more)
    group = LayerGroup(count=3, moe=moe)
    return Model(id="moe", name="moe", hidden=32, vocab=10, groups=(group,))


def test_experts_are_read_as_few_as_possible_or_as_many_as_expected():
    terms = pass_terms(experts(), W16, F16, F16)
    routed = next(term for term in terms if term.experts)
    expert = 3 * 64 * 32 * 2 * 3  # bytes of one expert in three layers
    assert routed.expert_bytes == expert
    for tokens in (1, 2, 100):
        assert distinct_experts(routed, tokens, "ceiling") == 2
        assert distinct_experts(routed, tokens, "estimate") == pytest.approx(8 * (1 - 0.75**tokens))
    assert distinct_experts(routed, 0, "ceiling") == distinct_experts(routed, 0, "estimate") == 0
    cost = forward(terms, [Group(batch=10)])
    assert cost.weight_bytes == 2 * expert + (3 * 8 * 32 + 320) * 2
    # Operations go by the experts that each token takes, whatever is read.
    assert cost.flops == 2 * 10 * (3 * 2 * 3 * 64 * 32 + 3 * 8 * 32 + 320)


def test_all_experts_active_is_a_dense_model():
    dense = Moe(experts=4, active=4, width=64)
    model = Model(id="m", name="m", hidden=32, vocab=10, groups=(LayerGroup(count=1, moe=dense),))
    terms = pass_terms(model, W16, F16, F16)
    assert forward(terms, [Group(batch=3)], "ceiling") == forward(terms, [Group(batch=3)], "estimate")


@pytest.mark.parametrize("role", ["ssm_in", "shortconv_in"])
def test_projections_of_recurrent_layers_are_named(role):
    state = {"kind": "s", "matrices": [Matrix(role=role, rows=4, cols=4)]}
    group = LayerGroup.model_validate({"count": 1, "state": state})
    model = Model(id="m", name="m", hidden=4, vocab=4, groups=(group,))
    assert "state projections" in {term.operator for term in operator_terms(model, W16, F16, F16)}


def test_a_window_grows_into_full_attention():
    assert [visible_pairs(10.0, 5.0, window=w) for w in (15, 100, 10**9)] == [visible_pairs(10.0, 5.0)] * 3
    assert visible_pairs(10.0, 5.0, window=14) == visible_pairs(10.0, 5.0) - 1
    assert [visible_cached(10.0, w) for w in (1, 2, 10, 11, 12)] == [0, 1, 9, 10, 10]
    assert [visible_cached(float(past), chunk=4) for past in range(6)] == [0, 1, 2, 3, 0, 1]
    windowed = [mutated({"window": w}) for w in (8, 64, 101, 106, 10**6)]
    group = Group(batch=2, new=5, past=100)
    full = cost_of(mutated(), group)
    costs = [cost_of(model, group) for model in windowed]
    assert costs[-2] == costs[-1] == full
    for narrow, wide in pairwise(costs):
        assert narrow.cache_bytes <= wide.cache_bytes
        assert narrow.attention_flops <= wide.attention_flops
        assert narrow.matmul_flops == wide.matmul_flops
    assert costs[2].cache_bytes == full.cache_bytes
    assert costs[2].attention_flops < full.attention_flops
