"""The model's description: counts that follow from it, rules that it keeps, places in the stack."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from slmopt.specs.base import sentence
from slmopt.specs.model import Attention, Indexer, Latent, LayerGroup, Matrix, Mlp, Model, Moe, State
from tests.strategies import models

ATTENTION = {"heads": 8, "kv_heads": 2, "head_dim": 16}


def one(**layer: Any) -> Model:
    """A model of one layer, 128 wide, without norms."""
    return Model(id="m", name="m", hidden=128, vocab=10, groups=(LayerGroup(count=1, **layer),))


def layer_weights(**layer: Any) -> float:
    return one(**layer).total_params - 2 * 10 * 128


Q, K, O = 128 * 128, 32 * 128, 128 * 128  # noqa: E741 - as in the papers


@pytest.mark.parametrize(
    ("change", "weights"),
    [
        ({}, Q + 2 * K + O),
        ({"v_head_dim": 32}, Q + 3 * K + 2 * O),
        ({"bias_qkv": True}, Q + 2 * K + O + 128 + 64),
        ({"bias_o": True}, Q + 2 * K + O + 128),
        ({"qk_norm": "per_head"}, Q + 2 * K + O + 32),
        ({"qk_norm": "full"}, Q + 2 * K + O + 128 + 32),
        ({"output_gate": True}, 2 * Q + 2 * K + O),
        ({"sinks": True}, Q + 2 * K + O + 8),
        ({"value_is_key": True}, Q + K + O),
        ({"owns_cache": False}, Q + O),
        ({"owns_cache": False, "bias_qkv": True, "qk_norm": "per_head"}, Q + O + 128 + 16),
        ({"window": 64}, Q + 2 * K + O),
    ],
)
def test_weights_of_an_attention_layer(change, weights):
    assert layer_weights(attention=Attention(**ATTENTION, **change)) == weights


def test_weights_of_a_latent_layer_are_those_of_deepseek_v3():
    """DeepSeek-V3, config.json: 7168 wide, 128 heads, ranks 1536 and 512, 128 + 64 and 128 a head: 187,107,328."""
    latent = Latent(kv_rank=512, q_rank=1536, nope_dim=128, rope_dim=64, v_dim=128)
    attention = Attention(heads=128, kv_heads=128, head_dim=192, latent=latent)
    group = LayerGroup(count=1, attention=attention)
    model = Model(id="m", name="m", hidden=7168, vocab=1, groups=(group,))
    assert model.total_params - 2 * 7168 == 187_107_328
    assert (attention.cached_k, attention.cached_v) == (576, 0)
    indexer = Indexer(heads=64, head_dim=128, top_k=2048)
    sparse = LayerGroup(count=1, attention=attention.model_copy(update={"indexer": indexer}))
    more = Model(id="m", name="m", hidden=7168, vocab=1, groups=(sparse,))
    # wq_b, wk, weights_proj and the key's norm of the published indexer.
    assert more.total_params - model.total_params == 64 * 128 * 1536 + 128 * 7168 + 64 * 7168 + 2 * 128
    assert sparse.attention.cached_index == 128


def test_weights_of_feed_forward_blocks():
    assert layer_weights(mlp=Mlp(width=300)) == 3 * 300 * 128
    assert layer_weights(mlp=Mlp(width=300, gated=False)) == 2 * 300 * 128
    assert layer_weights(mlp=Mlp(width=300, bias=True)) == 3 * 300 * 128 + 2 * 300 + 128
    assert layer_weights(mlp=Mlp(width=300, gated=False, bias=True)) == 2 * 300 * 128 + 300 + 128


def test_weights_of_experts_and_those_in_use():
    moe = Moe(experts=8, active=2, width=100)
    router, expert = 8 * 128, 3 * 100 * 128
    model = one(moe=moe)
    assert model.total_params == 2560 + router + 8 * expert
    assert model.active_params == 2560 + router + 2 * expert
    shared = moe.model_copy(update={"shared_width": 50, "shared_gate": True, "router_bias": True})
    both = one(moe=shared)
    assert both.total_params - model.total_params == 3 * 50 * 128 + 128 + 8
    assert both.active_params - model.active_params == 3 * 50 * 128 + 128 + 8
    biased = one(moe=moe.model_copy(update={"bias": True}))
    assert biased.total_params - model.total_params == 8 * (2 * 100 + 128)
    assert biased.active_params - model.active_params == 2 * (2 * 100 + 128)
    narrow = one(moe=moe.model_copy(update={"latent": 32}))
    assert narrow.total_params == 2560 + router + 2 * 32 * 128 + 8 * 3 * 100 * 32


def test_weights_of_a_recurrent_layer():
    state = State(
        kind="mamba2", matrices=(Matrix(role="ssm_in", rows=4, cols=128, copies=3),), vector_params=7
    )
    assert layer_weights(state=state) == 3 * 4 * 128 + 7


def test_embedding_and_head():
    base = {"id": "m", "name": "m", "hidden": 4, "vocab": 10, "groups": [{"count": 1}]}
    assert Model.model_validate(base).total_params == 80
    assert Model.model_validate({**base, "tied": True}).total_params == 40
    assert Model.model_validate({**base, "output_bias": True}).total_params == 90
    assert Model.model_validate({**base, "learned_positions": 6}).total_params == 104
    assert Model.model_validate({**base, "final_norm_params": 4}).total_params == 84


@given(models)
def test_counts_are_sums_over_tensors(model):
    assert model.active_params <= model.total_params <= model.stored_params
    if model.by_count:
        assert model.tensors == ()
        assert model.total_params == model.active_params == model.params
        return
    assert model.stored_params == sum(tensor.params for tensor in model.tensors)
    assert model.layer_count == sum(group.count for group in model.groups)
    placed = sorted(place for places in model.positions for place in places)
    assert placed == list(range(model.layer_count))


@given(models)
def test_a_model_survives_json(model):
    again = Model.model_validate(json.loads(model.model_dump_json()))
    assert again == model
    assert hash(again) == hash(model)
    assert again.tensors == model.tensors
    assert Model.model_validate_json(model.model_dump_json(exclude_defaults=True)) == model


def test_a_changed_copy_forgets_what_was_computed_before():
    model = one(mlp=Mlp(width=300))
    before = (model.total_params, model.active_params, model.positions)
    wider = model.model_copy(update={"vocab": 20, "groups": model.groups * 2})
    assert wider.total_params == 2 * 20 * 128 + 2 * 3 * 300 * 128 == wider.active_params
    assert wider.positions == ((0,), (1,))
    assert (model.total_params, model.active_params, model.positions) == before


def test_order_places_layers_in_the_stack():
    groups = [{"count": 4}, {"count": 2}]
    base = {"id": "m", "name": "m", "hidden": 4, "vocab": 4, "groups": groups}
    assert Model.model_validate(base).positions == ((0, 1, 2, 3), (4, 5))
    mixed = Model.model_validate({**base, "order": [(0, 2), (1, 1), (0, 2), (1, 1)]})
    assert mixed.positions == ((0, 1, 3, 4), (2, 5))


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ({"attention": ATTENTION}, "full"),
        ({"attention": {**ATTENTION, "window": 8}}, "window"),
        ({"attention": {**ATTENTION, "chunk": 8}}, "chunked"),
        ({"attention": ATTENTION, "moe": {"experts": 2, "active": 1, "width": 2}}, "full + experts"),
        ({"state": {"kind": "mamba2"}}, "mamba2"),
        ({"attention": ATTENTION, "state": {"kind": "mamba2"}}, "full + mamba2"),
        ({"mlp": {"width": 4}}, "mlp"),
        ({}, "other"),
    ],
)
def test_layers_are_called_by_their_kind(layer, kind):
    assert LayerGroup.model_validate({"count": 1, **layer}).kind == kind


BAD = [
    ({"groups": [{"count": 0}]}, "groups[0].count = 0: it should be greater than 0 and at most 100,000."),
    (
        {"groups": [{"count": 1, "mlp": {"width": -1}}]},
        "groups[0].mlp.width = -1: it should be greater than 0.",
    ),
    (
        {"groups": [{"count": 1, "attention": {**ATTENTION, "kv_heads": 3}}]},
        "groups[0].attention: 8 heads cannot share 3 KV heads: give a divisor of heads.",
    ),
    (
        {"groups": [{"count": 1, "attention": {**ATTENTION, "windw": 3}}]},
        "groups[0].attention.windw is not a known field. Did you mean window?",
    ),
    (
        {"groups": [{"count": 1, "moe": {"experts": 2, "active": 3, "width": 1}}]},
        "groups[0].moe: 3 active of 2 experts: active must not exceed experts.",
    ),
    (
        {"groups": [{"count": 2}], "order": [(0, 1)]},
        "order must place every layer of every group exactly once.",
    ),
    (
        {"groups": [{"count": 2}], "order": [(1, 2)]},
        "order names group 1 2 times; groups are 0 to 0.",
    ),
    ({"groups": [{"count": 1}], "hidden": 0}, "a model with layer groups needs hidden and vocab sizes."),
    (
        {"groups": [{"count": 1}], "params": 1e9},
        "a model needs either layer groups or a parameter count (params), not both and not neither.",
    ),
    ({"params": 0}, "params = 0: it should be greater than 0."),
    ({"params": 1e9, "kv_heads": -1}, "kv_heads = -1: it should be at least 0."),
]


@pytest.mark.parametrize(("values", "message"), BAD)
def test_a_description_that_does_not_add_up_is_refused(values, message):
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"id": "m", "name": "m", "hidden": 8, "vocab": 8, **values})
    assert sentence(caught.value, spec=Model) == message
