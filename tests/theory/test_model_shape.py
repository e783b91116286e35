"""What a model is made of, counted by hand on a small stack of dense and expert layers."""

from __future__ import annotations

import pytest

from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Attention, LayerGroup, Mlp, Model, Moe
from slmopt.specs.weights import stored_bytes
from slmopt.theory.model_shape import layer_weights, params_by_role

HIDDEN, VOCAB = 64, 100
HEADS = Attention(heads=4, kv_heads=2, head_dim=16)
MODEL = Model(
    id="m",
    name="m",
    hidden=HIDDEN,
    vocab=VOCAB,
    groups=(
        LayerGroup(count=2, attention=HEADS, mlp=Mlp(width=128)),
        LayerGroup(count=3, attention=HEADS, moe=Moe(experts=8, active=2, width=32, shared_width=16)),
    ),
)
W8 = WeightFormat(id="w", name="w", bits=8)
MIXER = HIDDEN * (4 + 2 + 2 + 4) * 16
DENSE = 3 * HIDDEN * 128
EXPERTS = 8 * 3 * HIDDEN * 32
SHARED = 3 * HIDDEN * 16 + 8 * HIDDEN


def test_each_layer_s_bytes():
    found = layer_weights(MODEL, W8)
    assert [layer.place for layer in found] == [0, 1, 2, 3, 4]
    for layer in found[:2]:
        assert (layer.group, layer.mixer, layer.mlp) == (0, MIXER, DENSE + (layer.mlp - DENSE))
        assert 0 <= layer.mlp - DENSE <= 4 * HIDDEN  # norms
        assert (layer.used_experts, layer.other_experts) == (0, 0)
    for layer in found[2:]:
        assert (layer.group, layer.mixer) == (1, MIXER)
        assert 0 <= layer.mlp - SHARED <= 4 * HIDDEN
        assert layer.used_experts == pytest.approx(EXPERTS / 4)
        assert layer.other_experts == pytest.approx(EXPERTS * 3 / 4)
        assert layer.total == pytest.approx(layer.mixer + layer.mlp + EXPERTS)
    assert layer_weights(MODEL, W8.model_copy(update={"bits": 16.0}))[0].total == pytest.approx(
        2 * found[0].total
    )


@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "gemma-3-27b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-27b"]
)
def test_layers_and_what_stands_outside_them_are_the_whole_file(name):
    model, weights = library().models[name], library().weights["bf16"]
    layers = sum(layer.total for layer in layer_weights(model, weights))
    outside = sum(tensor.params for tensor in model.tensors if tensor.group is None) * 2
    assert layers + outside == pytest.approx(stored_bytes(weights, model), rel=1e-12)


def test_a_layer_alone_of_its_kind_has_all_of_its_bytes():
    groups = tuple(group.model_copy(update={"count": 1}) for group in MODEL.groups)
    alone = layer_weights(Model(id="m", name="m", hidden=HIDDEN, vocab=VOCAB, groups=groups), W8)
    several = layer_weights(MODEL, W8)
    assert [layer.total for layer in alone] == pytest.approx([several[0].total, several[2].total])


def test_towers_and_unused_prediction_layers_serve_no_token():
    told = 0
    for model in library().models.values():
        for one in params_by_role(model):
            if one.role in {"towers", "prediction"}:
                told += 1
                assert one.params > 0
                assert one.used == 0
    assert told > 2


def test_parameters_by_role():
    roles = {one.role: one for one in params_by_role(MODEL)}
    assert roles["attention"].params == roles["attention"].used == 5 * MIXER
    assert roles["experts"].params == 3 * EXPERTS
    assert roles["experts"].used == pytest.approx(3 * EXPERTS / 4)
    assert roles["mlp"].params == 2 * DENSE + 3 * SHARED
    assert roles["embedding"].params == roles["head"].params == HIDDEN * VOCAB
    assert sum(one.params for one in roles.values()) == pytest.approx(MODEL.stored_params)
    tied = MODEL.model_copy(update={"tied": True})
    assert {one.role for one in params_by_role(tied)} >= {"shared", "attention"}
    (counted,) = params_by_role(Model(id="m", name="m", params=7e9))
    assert (counted.role, counted.params, counted.used) == ("all", 7e9, 7e9)
    assert layer_weights(Model(id="m", name="m", params=7e9), W8) == ()
