"""Recurrent states of a GGUF: state-space, linear attention, short convolution, RWKV."""

from slmopt.readers.hf_config import read_config
from tests.readers import configs
from tests.readers.ggufs import (
    FF,
    HEAD,
    HEADS,
    KV,
    H,
    T,
    V,
    by_role,
    cache_of,
    checked,
    dense,
    keys,
    mixing,
    outside,
    write,
)


def state_tensors(at, *, inner, size, groups, heads, taps=4):
    p = f"blk.{at}."
    channels = inner + 2 * groups * size
    return {
        f"{p}attn_norm.weight": ((H,), T.F32),
        f"{p}ssm_in.weight": ((inner + channels + heads, H), T.Q4_K),
        f"{p}ssm_conv1d.weight": ((channels, taps), T.F32),
        f"{p}ssm_conv1d.bias": ((channels,), T.F32),
        f"{p}ssm_dt.bias": ((heads,), T.F32),
        f"{p}ssm_a": ((heads, 1), T.F32),
        f"{p}ssm_d": ((heads, 1), T.F32),
        f"{p}ssm_norm.weight": ((groups, inner // groups), T.F32),
        f"{p}ssm_out.weight": ((H, inner), T.Q6_K),
    }


SSM = {
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 512,
    "ssm.state_size": 32,
    "ssm.group_count": 1,
    "ssm.time_step_rank": 8,
}


def test_a_hybrid_of_states_and_attention(tmp_path):
    tensors = (
        outside() | state_tensors(0, inner=512, size=32, groups=1, heads=8) | dense(0) | mixing(1) | dense(1)
    )
    model = checked(
        write(
            tmp_path / "m.gguf",
            "granitehybrid",
            tensors,
            keys(2) | SSM | {"attention.head_count_kv": [0, KV]},
        )
    ).model
    state = model.groups[0].state
    same = read_config(configs.family("granitemoehybrid", hidden_size=H, intermediate_size=FF, shared_intermediate_size=FF, vocab_size=V, num_hidden_layers=2,
                                      num_attention_heads=HEADS, num_key_value_heads=KV, head_dim=HEAD, layer_types=["mamba", "attention"],
                                      mamba_n_heads=8, mamba_d_head=64, mamba_d_state=32, mamba_n_groups=1, mamba_d_conv=4, mamba_conv_bias=True,
                                      mamba_proj_bias=False, num_local_experts=0))  # fmt: skip
    other = same.groups[0].state
    assert model.total_params == same.total_params
    assert (state.kind, state.state_elements, state.conv_elements, state.scan_flops) == (
        other.kind, other.state_elements, other.conv_elements, other.scan_flops)  # fmt: skip
    assert state.matrices == other.matrices
    assert model.groups[0].attention is None
    assert model.groups[1].state is None
    assert cache_of(model) == cache_of(same)


def test_states_beside_attention_in_one_layer(tmp_path):
    tensors = outside() | mixing(0) | state_tensors(0, inner=512, size=32, groups=1, heads=8) | dense(0)
    group = checked(write(tmp_path / "m.gguf", "falcon-h1", tensors, keys(1) | SSM)).model.groups[0]
    assert group.attention is not None
    assert group.state.kind == "mamba2"


def test_mamba_1(tmp_path):
    tensors = outside(head=False) | {
        "blk.0.attn_norm.weight": ((H,), T.F32),
        "blk.0.ssm_in.weight": ((1024, H), T.Q8_0),
        "blk.0.ssm_conv1d.weight": ((512, 4), T.F32),
        "blk.0.ssm_conv1d.bias": ((512,), T.F32),
        "blk.0.ssm_x.weight": ((16 + 2 * 16, 512), T.Q8_0),
        "blk.0.ssm_dt.weight": ((512, 16), T.F16),
        "blk.0.ssm_dt.bias": ((512,), T.F32),
        "blk.0.ssm_a": ((512, 16), T.F32),
        "blk.0.ssm_d": ((512,), T.F32),
        "blk.0.ssm_out.weight": ((H, 512), T.Q8_0),
    }
    more = {"ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.time_step_rank": 16,
            "attention.head_count": 0, "attention.head_count_kv": 0}  # fmt: skip
    model = checked(write(tmp_path / "m.gguf", "mamba", tensors, keys(1) | more)).model
    same = read_config({"model_type": "mamba", "hidden_size": H, "intermediate_size": 512, "state_size": 16, "conv_kernel": 4, "num_hidden_layers": 1,
                        "vocab_size": V, "time_step_rank": 16, "expand": 2, "use_conv_bias": True, "use_bias": False, "tie_word_embeddings": True})  # fmt: skip
    assert model.total_params == same.total_params
    state, other = model.groups[0].state, same.groups[0].state
    assert (state.kind, state.state_elements, state.conv_elements, state.scan_flops) == (
        other.kind, other.state_elements, other.conv_elements, other.scan_flops)  # fmt: skip
    assert cache_of(model) == 0


def test_gated_delta_layers(tmp_path):
    keys_of, values, heads = 2 * 32, 4 * 32, 4
    tensors = (
        outside()
        | dense(0)
        | mixing(1)
        | dense(1)
        | {
            "blk.0.attn_norm.weight": ((H,), T.F32),
            "blk.0.attn_qkv.weight": ((2 * keys_of + values, H), T.Q5_K),
            "blk.0.attn_gate.weight": ((values, H), T.Q4_K),
            "blk.0.ssm_conv1d.weight": ((2 * keys_of + values, 4), T.F32),
            "blk.0.ssm_dt.bias": ((heads,), T.F32),
            "blk.0.ssm_a": ((heads,), T.F32),
            "blk.0.ssm_beta.weight": ((heads, H), T.F32),
            "blk.0.ssm_alpha.weight": ((heads, H), T.F32),
            "blk.0.ssm_norm.weight": ((32,), T.F32),
            "blk.0.ssm_out.weight": ((H, values), T.Q8_0),
        }
    )
    tensors["blk.1.attn_q.weight"] = ((2 * HEADS * HEAD, H), T.Q4_K)
    more = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": values,
        "ssm.state_size": 32,
        "ssm.group_count": 2,
        "ssm.time_step_rank": heads,
    }
    found = checked(write(tmp_path / "m.gguf", "qwen35", tensors, keys(2) | more))
    first, second = found.model.groups
    assert first.attention is None
    assert first.state.kind == "gated_delta"
    assert first.state.state_elements == 4 * 32 * 32
    assert first.state.conv_elements == (2 * keys_of + values) * 3
    assert {m.role for m in first.state.matrices} == {
        "ssm_qkv",
        "ssm_gate",
        "ssm_beta",
        "ssm_alpha",
        "ssm_out",
    }
    assert second.attention.output_gate
    assert by_role(found)["ssm_qkv"] == 5.5


def test_kimi_delta_layers(tmp_path):
    inner = HEADS * 32
    p = "blk.0."
    tensors = (
        outside()
        | dense(0)
        | {
            f"{p}attn_norm.weight": ((H,), T.F32),
            f"{p}attn_q.weight": ((inner, H), T.Q8_0),
            f"{p}attn_k.weight": ((inner, H), T.Q8_0),
            f"{p}attn_v.weight": ((inner, H), T.Q8_0),
            f"{p}ssm_conv1d_q.weight": ((inner, 1, 4), T.F32),
            f"{p}ssm_conv1d_k.weight": ((inner, 1, 4), T.F32),
            f"{p}ssm_conv1d_v.weight": ((inner, 1, 4), T.F32),
            f"{p}ssm_f_a.weight": ((32, H), T.Q8_0),
            f"{p}ssm_f_b.weight": ((inner, 32), T.Q8_0),
            f"{p}ssm_beta.weight": ((HEADS, H), T.Q8_0),
            f"{p}ssm_a": ((HEADS, 1), T.F32),
            f"{p}ssm_dt.bias": ((inner,), T.F32),
            f"{p}ssm_g_a.weight": ((32, H), T.Q8_0),
            f"{p}ssm_g_b.weight": ((inner, 32), T.Q8_0),
            f"{p}ssm_norm.weight": ((32,), T.F32),
            f"{p}attn_output.weight": ((H, inner), T.Q8_0),
        }
    )
    more = {"attention.head_count_kv": [0], "ssm.conv_kernel": 4, "kda.head_dim": 32}
    group = checked(write(tmp_path / "m.gguf", "kimi-linear", tensors, keys(1) | more)).model.groups[0]
    assert group.attention is None
    assert group.state.kind == "kimi_delta"
    assert group.state.state_elements == HEADS * 32 * 32
    assert group.state.conv_elements == 3 * inner * 3


def test_short_convolutions(tmp_path):
    tensors = (
        outside(head=False)
        | dense(0)
        | mixing(1)
        | dense(1)
        | {
            "blk.0.attn_norm.weight": ((H,), T.F32),
            "blk.0.shortconv.conv.weight": ((H, 3), T.F32),
            "blk.0.shortconv.in_proj.weight": ((3 * H, H), T.Q4_K),
            "blk.0.shortconv.out_proj.weight": ((H, H), T.Q4_K),
        }
    )
    model = checked(
        write(
            tmp_path / "m.gguf",
            "lfm2",
            tensors,
            keys(2) | {"shortconv.l_cache": 3, "attention.head_count_kv": [0, KV]},
        )
    ).model
    state = model.groups[0].state
    assert (state.kind, state.conv_elements, state.vector_params) == ("short_conv", 2 * H, 3 * H)
    assert cache_of(model) == 2 * 2 * KV * HEAD


def test_rwkv(tmp_path):
    p = "blk.0."
    tensors = outside() | {
        f"{p}attn_norm.weight": ((H,), T.F32),
        f"{p}attn_norm.bias": ((H,), T.F32),
        f"{p}attn_norm_2.weight": ((H,), T.F32),
        f"{p}time_mix_lerp_fused.weight": ((6, 1, 1, H), T.F32),
        f"{p}time_mix_w0.weight": ((H,), T.F32),
        f"{p}time_mix_w1.weight": ((64, H), T.F16),
        f"{p}time_mix_key.weight": ((H, H), T.Q4_K),
        f"{p}time_mix_value.weight": ((H, H), T.Q4_K),
        f"{p}time_mix_receptance.weight": ((H, H), T.Q4_K),
        f"{p}time_mix_output.weight": ((H, H), T.Q4_K),
        f"{p}channel_mix_lerp_k.weight": ((1, 1, H), T.F32),
        f"{p}channel_mix_key.weight": ((FF, H), T.Q4_K),
        f"{p}channel_mix_value.weight": ((H, FF), T.Q6_K),
    }
    more = {
        "wkv.head_size": 64,
        "token_shift_count": 2,
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
    }
    found = checked(write(tmp_path / "m.gguf", "rwkv7", tensors, keys(1) | more))
    state = found.model.groups[0].state
    assert (state.kind, state.state_elements, state.conv_elements) == ("recurrent", H * 64, 2 * H)
    assert cache_of(found.model) == 0
    assert by_role(found)["ffn_value"] == 6.5625
