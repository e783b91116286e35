"""Windows, latents, experts and states: what each layer is, what it caches and holds."""

import pytest

from slmopt.readers import read_config
from slmopt.specs.base import SpecError
from tests.readers.configs import DEEPSEEK, DELTA, LATENT, MAMBA2, family, llama


def windows(config):
    """The window of each layer in order."""
    model = read_config(config)
    layers = [None] * model.layer_count
    for group, places in zip(model.groups, model.positions, strict=True):
        for place in places:
            layers[place] = group.attention.window
    return layers


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (family("mistral", sliding_window=32), [32, 32, 32]),
        (family("mistral", sliding_window=None), [None] * 3),
        (family("mistral", sliding_window=512), [None] * 3),  # as long as the context
        (family("qwen2", sliding_window=32, max_window_layers=1, use_sliding_window=False), [None] * 3),
        (family("qwen2", sliding_window=32, max_window_layers=1, use_sliding_window=True), [None, 32, 32]),
        (family("gemma2", sliding_window=32), [32, None, 32]),
        (family("gemma3_text", sliding_window=32, sliding_window_pattern=3), [32, 32, None]),
        (family("gemma3_text", sliding_window=32), [32, 32, 32]),
        (family("gpt_oss", sliding_window=32, num_local_experts=0), [32, None, 32]),
        (family("exaone4", sliding_window=32, sliding_window_pattern="LG"), [32, None, 32]),
        (
            llama(
                sliding_window=32,
                layer_types=["full_attention", "sliding_attention", "full_attention"],
                model_type="olmo3",
            ),
            [None, 32, None],
        ),
    ],
)
def test_windows(config, expected):
    assert windows(config) == expected


def test_llama4_chunks_where_it_has_rope():
    base = family("llama4_text", attention_chunk_size=64, num_local_experts=0, num_hidden_layers=4)
    assert [g.attention.chunk for g in read_config(base | {"no_rope_layers": []}).groups] == [64, None]
    model = read_config(base | {"no_rope_layers": [1, 0, 1, 1]})
    assert model.positions == ((0, 2, 3), (1,))


def test_a_latent_cache_is_the_latent_and_the_rope_key():
    model = read_config(family("deepseek_v3", **LATENT, **DEEPSEEK))
    attention = model.groups[0].attention
    assert (attention.cached_k, attention.cached_v) == (32 + 8, 0)
    mixer = 64 * 24 + 24 * 4 * 24 + 64 * 40 + 32 * 4 * 28 + 4 * 12 * 64 + 24 + 32
    dense = mixer + 3 * 64 * 96 + 2 * 64
    sparse = mixer + 8 * 64 + (8 + 1) * 3 * 64 * 20 + 2 * 64
    assert model.total_params == dense + 2 * sparse + 2 * 100 * 64 + 64
    assert model.active_params == model.total_params - 2 * 6 * 3 * 64 * 20


def test_an_indexer_adds_its_keys_and_shared_ones_do_not():
    index = {"index_topk": 16, "index_n_heads": 2, "index_head_dim": 8}
    config = family("glm_moe_dsa", **LATENT, **DEEPSEEK, **index)
    plain = read_config(family("deepseek_v3", **LATENT, **DEEPSEEK)).total_params
    weights = 2 * 8 * 24 + 8 * 64 + 2 * 64 + 2 * 8
    assert read_config(config).total_params == plain + 3 * weights
    shared = read_config(config | {"indexer_types": ["full", "shared", "full"]})
    assert shared.total_params == plain + 2 * weights
    assert sorted(g.attention.cached_index for g in shared.groups) == [0, 8, 8]


@pytest.mark.parametrize(
    ("changes", "marks"),
    [
        ({"mlp_layer_types": ["dense", "sparse", "dense"]}, [0, 1, 0]),
        ({"first_k_dense_replace": 2}, [0, 0, 1]),
        ({"moe_layer_freq": [1, 0, 1]}, [1, 0, 1]),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 2}, [0, 1, 0]),
        ({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "mlp_only_layers": [1]}, [1, 0, 1]),
        ({"model_type": "llama4_text", "interleave_moe_layer_step": 2}, [0, 1, 0]),
        ({"model_type": "jamba", "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 1,
          "attn_layer_offset": 0}, [0, 1, 0]),
    ],
)  # fmt: skip
def test_which_layers_have_experts(changes, marks):
    config = llama(
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=20,
        model_type="deepseek",
        n_shared_experts=0,
    )
    model = read_config(config | changes)
    found = [0, 0, 0]
    for group, places in zip(model.groups, model.positions, strict=True):
        for place in places:
            found[place] = int(group.moe is not None)
    assert found == marks


def test_shared_experts_add_up():
    config = family(
        "qwen2_moe", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=20, qkv_bias=False
    )
    moe = read_config(config | {"shared_expert_intermediate_size": 40}).groups[0].moe
    assert (moe.shared_width, moe.shared_gate) == (40, True)
    counted = family(
        "deepseek", n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=20, n_shared_experts=3
    )
    assert read_config(counted).groups[0].moe.shared_width == 60


def test_a_gated_delta_layer_by_hand():
    model = read_config(
        family("qwen3_5_text", layer_types=["linear_attention"] * 2 + ["full_attention"], **DELTA)
    )
    state = model.groups[0].state
    channels = 2 * 2 * 8 + 4 * 8
    assert state.state_elements == 4 * 8 * 8
    assert state.conv_elements == channels * 3
    mixer = 64 * (channels + 32 + 8) + 32 * 64 + channels * 4 + 2 * 4 + 8
    gated = 64 * (2 * 64 + 2 * 32) + 64 * 64 + 2 * 16
    block = 3 * 64 * 96 + 2 * 64
    assert model.total_params == 2 * (mixer + block) + gated + block + 2 * 100 * 64 + 64
    assert model.layer_count == 3


def test_a_mamba2_layer_by_hand():
    config = family("granitemoehybrid", layer_types=["mamba", "attention", "mamba"], num_local_experts=0,
                    shared_intermediate_size=96, **MAMBA2)  # fmt: skip
    model = read_config(config)
    inner, channels = 128, 128 + 8
    mixer = 64 * (inner + channels + 8) + inner * 64 + channels * 5 + 3 * 8 + inner
    state = next(g.state for g in model.groups if g.state)
    assert (state.state_elements, state.conv_elements) == (inner * 4, channels * 3)
    full = 2 * 64 * 64 + 2 * 64 * 32
    assert model.total_params == 2 * mixer + full + 3 * (3 * 64 * 96 + 2 * 64) + 2 * 100 * 64 + 64


def test_falcon_h1_runs_both_in_every_layer():
    group = read_config(family("falcon_h1", **MAMBA2, mamba_d_ssm=128)).groups[0]
    assert group.attention is not None
    assert group.state is not None
    assert group.count == 3


def test_a_short_convolution_keeps_its_last_inputs():
    config = family("lfm2", layer_types=["conv", "conv", "full_attention"], conv_L_cache=3, conv_bias=False,
                    block_auto_adjust_ff_dim=True, block_multiple_of=16, block_ffn_dim_multiplier=1.0)  # fmt: skip
    model = read_config(config)
    assert model.groups[0].state.conv_elements == 2 * 64
    assert model.groups[0].mlp.width == 64  # two thirds of 96, already a multiple of 16


def test_nemotron_counts_single_purpose_blocks():
    config = family("nemotron_h", hybrid_override_pattern="M-*-E", ssm_state_size=4, mamba_num_heads=8, mamba_head_dim=16,
                    n_groups=1, conv_kernel=4, use_conv_bias=True, n_routed_experts=4, num_experts_per_tok=2,
                    moe_intermediate_size=20, n_shared_experts=1, moe_shared_expert_intermediate_size=24,
                    moe_latent_size=16)  # fmt: skip
    model = read_config(config)
    assert model.layer_count == 5
    kinds = {group.kind: group.count for group in model.groups}
    assert kinds == {"mamba2": 1, "mlp": 2, "full": 1, "experts": 1}
    moe = next(g for g in model.groups if g.moe)
    one = read_config({**config, "hybrid_override_pattern": "M-*-EE"}).total_params - model.total_params
    assert one == 4 * 64 + 2 * 16 * 64 + 4 * 2 * 16 * 20 + 2 * 64 * 24 + moe.norm_params


def test_gemma4_shares_caches_widens_global_heads_and_looks_up_per_layer():
    config = family("gemma4_text", num_hidden_layers=4, sliding_window=32, global_head_dim=32, num_kv_shared_layers=2,
                    hidden_size_per_layer_input=8, vocab_size_per_layer_input=100, tie_word_embeddings=True,
                    layer_types=["sliding_attention", "full_attention"] * 2)  # fmt: skip
    model = read_config(config)
    caches = [(g.attention.cached_k + g.attention.cached_v) * g.count for g in model.groups]
    assert caches == [2 * 32, 2 * 64, 0, 0]
    assert [m.role for m in model.lookups] == ["per_layer_token_embd"]
    assert model.lookups[0].rows * model.lookups[0].cols == 100 * 4 * 8
    assert model.active_params == model.total_params - 100 * 4 * 8
    both = read_config(
        config | {"num_kv_shared_layers": 0, "attention_k_eq_v": True, "num_global_key_value_heads": 1}
    )
    full = next(g.attention for g in both.groups if g.attention.window is None)
    assert (full.value_is_key, full.cached_k, full.cached_v) == (True, 32, 32)


def test_deepseek_v4_compresses_beside_its_window():
    config = family("deepseek_v4", sliding_window=32, compress_ratios=[0, 4, 128], q_lora_rank=24, o_lora_rank=8, o_groups=2,
                    num_key_value_heads=1, hc_mult=2, index_topk=16, index_n_heads=2, index_head_dim=8, n_routed_experts=4,
                    num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=20)  # fmt: skip
    groups = read_config(config).groups
    assert [g.attention.compress for g in groups] == [None, 4, 128]
    assert [(g.attention.cached_k, g.attention.cached_v) for g in groups] == [(16, 0)] * 3
    assert [g.attention.cached_index for g in groups] == [0, 8, 0]


def test_prediction_layers_are_stored_and_not_counted():
    plain = read_config(family("deepseek_v3", **LATENT, **DEEPSEEK))
    model = read_config(family("deepseek_v3", **LATENT, **DEEPSEEK, num_nextn_predict_layers=1))
    longer = read_config(family("deepseek_v3", **LATENT, **DEEPSEEK, num_hidden_layers=4))
    assert model.total_params == plain.total_params
    assert model.mtp_params == longer.total_params - plain.total_params + 2 * 64 * 64 + 3 * 64
    assert model.stored_params == model.total_params + model.mtp_params


def test_layers_stand_in_their_order():
    model = read_config(
        family("gemma3_text", num_hidden_layers=7, sliding_window=32, sliding_window_pattern=3)
    )
    assert model.order == ((0, 2), (1, 1), (0, 2), (1, 1), (0, 1))
    assert sum(group.count for group in model.groups) == 7


def test_lists_that_do_not_fit_the_layers_are_refused():
    with pytest.raises(SpecError, match="layer_types has 2 entries for 3 layers"):
        read_config(llama(layer_types=["full_attention"] * 2))
