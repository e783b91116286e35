"""Dense decoders: weights by hand, and what one more layer, head or row adds."""

import pytest

from slmopt.readers import read_config
from tests.readers.configs import family, llama

H, FF, V, Q, KV = 64, 96, 100, 64, 32
LAYER = 2 * H * Q + 2 * H * KV + 3 * H * FF + 2 * H
TOTAL = 3 * LAYER + 2 * V * H + H


def total(config):
    return read_config(config).total_params


def test_a_llama_counts_as_by_hand():
    assert total(llama()) == TOTAL


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"num_hidden_layers": 4}, LAYER),
        ({"num_attention_heads": 6}, 3 * 2 * H * 2 * 16),
        ({"num_key_value_heads": 4}, 3 * 2 * H * 2 * 16),
        ({"num_key_value_heads": 1}, -3 * 2 * H * 16),
        ({"intermediate_size": 97}, 3 * 3 * H),
        ({"vocab_size": 101}, 2 * H),
        ({"tie_word_embeddings": True}, -V * H),
        ({"attention_bias": True}, 3 * (Q + 2 * KV + H)),
        ({"mlp_bias": True}, 3 * (2 * FF + H)),
        ({"head_dim": 32}, 3 * (2 * H * Q + 2 * H * KV)),
    ],
)
def test_a_change_adds_what_it_holds(changes, difference):
    assert total(llama(**changes)) - TOTAL == difference


@pytest.mark.parametrize(
    ("model_type", "changes", "difference"),
    [
        ("mistral", {}, 0),
        ("qwen2", {}, 3 * (Q + 2 * KV)),
        ("qwen3", {}, 3 * 2 * 16),
        ("olmo2", {}, 3 * (Q + KV)),
        ("gemma2", {}, 3 * 2 * H),
        ("gemma3_text", {}, 3 * (2 * H + 2 * 16)),
        ("cohere", {}, -3 * H),
        ("olmo", {}, -3 * 2 * H - H),
        ("phi3", {}, 0),
        ("apertus", {}, 3 * (2 * 16 + 2 - H * FF)),
        ("arcee", {}, -3 * H * FF),
        ("bitnet", {}, 3 * (H + FF)),
        ("orion", {}, 3 * 2 * H + H),
        ("starcoder2", {"use_bias": True}, 3 * (2 * H + Q + 2 * KV + H + FF + H - H * FF) + H),
        ("qwen", {"intermediate_size": 2 * FF}, 3 * (Q + 2 * KV)),
        ("phi-msft", {}, 3 * (Q + 2 * KV + H + FF + H - H * FF) + H + V),
        ("glm4", {"attention_bias": True}, 3 * (2 * H + Q + 2 * KV)),
        ("internlm2", {"bias": False}, 0),
        ("exaone", {}, 0),
    ],
)
def test_families_differ_by_their_norms_and_biases(model_type, changes, difference):
    assert total(family(model_type, **changes)) - TOTAL == difference


def test_gpt2_by_its_own_names():
    config = {
        "model_type": "gpt2",
        "n_embd": 8,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": 16,
        "vocab_size": 10,
    }
    layer = 4 * 64 + 4 * 8 + 2 * 8 * 32 + 32 + 8 + 4 * 8
    model = read_config(config)
    assert model.total_params == 2 * layer + 10 * 8 + 16 * 8 + 16
    assert model.tied
    assert model.learned_positions == 16


@pytest.mark.parametrize(
    ("config", "kv_heads"),
    [
        ({"model_type": "falcon", "multi_query": True, "num_kv_heads": 4}, 1),
        ({"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
        ({"model_type": "falcon", "multi_query": False}, 4),
        ({"model_type": "gpt_bigcode", "multi_query": True}, 1),
        ({"model_type": "chatglm", "multi_query_attention": True, "multi_query_group_num": 2}, 2),
        ({"model_type": "llama", "num_key_value_heads": None}, 4),
        ({"model_type": "llama"}, 4),
    ],
)
def test_kv_heads_under_every_name(config, kv_heads):
    base = {k: v for k, v in llama().items() if k != "num_key_value_heads"}
    model = read_config({**base, **config})
    assert model.groups[0].attention.kv_heads == kv_heads


def test_head_dim_is_derived_only_when_absent():
    absent = {k: v for k, v in llama(num_attention_heads=8).items() if k != "head_dim"}
    assert read_config(absent).groups[0].attention.head_dim == 8
    assert read_config({**absent, "head_dim": 16}).groups[0].attention.head_dim == 16
    assert read_config({**absent, "model_type": "qwen3"}).groups[0].attention.head_dim == 128


def test_openelm_has_heads_and_widths_of_its_own_in_each_layer():
    config = {
        "model_type": "openelm",
        "model_dim": 32,
        "num_transformer_layers": 2,
        "num_query_heads": [2, 4],
        "num_kv_heads": [1, 2],
        "ffn_multipliers": [0.5, 2.0],
        "ffn_dim_divisor": 8,
        "head_dim": 8,
        "vocab_size": 50,
        "normalize_qk_projections": True,
        "share_input_output_layers": True,
        "max_context_length": 64,
    }
    first = 2 * 32 * 16 + 2 * 32 * 8 + 3 * 32 * 16 + 64 + 16
    second = 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64 + 64 + 16
    model = read_config(config)
    assert model.total_params == first + second + 50 * 32 + 32
    assert [group.attention.cached_k for group in model.groups] == [8, 16]
    assert model.context_limit == 64


def test_embedding_models_have_no_head():
    plain = total(family("mistral"))
    assert total(family("mistral", architectures=["MistralModel"])) == plain - V * H
    rated = family("llama", architectures=["LlamaForSequenceClassification"], id2label={"0": "score"})
    assert total(rated) == TOTAL - V * H + H
