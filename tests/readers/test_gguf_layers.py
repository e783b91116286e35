"""Layers of a GGUF: windows, latents, states, shared caches, heads and widths of their own."""

import pytest

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
    llama,
    mixing,
    outside,
    write,
)


@pytest.mark.parametrize(
    ("arch", "window", "full"),
    [
        ("gemma2", None, [1, 3, 5]),
        ("gemma3", 512, [5]),
        ("cohere2", 512, [3]),
        ("gpt-oss", 128, [1, 3, 5]),
        ("olmo2", 512, [3]),
        ("smallthinker", 512, [0, 4]),
        ("llama", 512, [0, 1, 2, 3, 4, 5]),
        ("gemma3", 4096, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_windows_that_the_architecture_fixes(tmp_path, arch, window, full):
    more = {} if window is None else {"attention__sliding_window": window}
    model = checked(
        write(tmp_path / "m.gguf", arch, llama(6), keys(6, **more, context_length=4096 if window else 8192))
    ).model
    by_layer = {
        at: model.groups[g].attention.window for g, places in enumerate(model.positions) for at in places
    }
    assert [at for at in range(6) if by_layer[at] is None] == full
    assert {w for w in by_layer.values() if w} <= {window or 4096}


def test_windows_that_the_file_states_by_layer(tmp_path):
    tensors = (
        outside(head=False)
        | mixing(0, head=32)
        | dense(0)
        | mixing(1, head=64)
        | dense(1)
        | mixing(2, head=32)
        | dense(2)
    )
    more = {
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": [True, False, True],
        "attention.key_length": 64,
        "attention.value_length": 64,
        "attention.key_length_swa": 32,
        "attention.value_length_swa": 32,
        "attention.shared_kv_layers": 1,
    }
    for name in ("attn_k", "attn_v"):
        tensors.pop(f"blk.2.{name}.weight")
    del tensors["blk.1.attn_v.weight"]
    model = checked(write(tmp_path / "m.gguf", "gemma4", tensors, keys(3) | more)).model
    attention = [model.groups[g].attention for g in range(3)]
    assert [a.window for a in attention] == [512, None, 512]
    assert [a.head_dim for a in attention] == [32, 64, 32]
    assert [a.owns_cache for a in attention] == [True, True, False]
    assert attention[1].value_is_key
    assert cache_of(model) == 2 * 2 * KV * (32 + 64)


def test_chunks_of_llama_4(tmp_path):
    model = checked(write(tmp_path / "m.gguf", "llama4", llama(4), keys(4))).model
    chunks = [
        model.groups[g].attention.chunk
        for g, n in model.order or [(i, g.count) for i, g in enumerate(model.groups)]
        for _ in range(n)
    ]
    assert chunks == [8192, 8192, 8192, None]


RANK, ROPE, NOPE, VDIM, QRANK = 128, 32, 64, 96, 64


def latent(at, *, halves=True):
    p = f"blk.{at}."
    tensors = {
        f"{p}attn_norm.weight": ((H,), T.F32),
        f"{p}attn_q_a.weight": ((QRANK, H), T.Q8_0),
        f"{p}attn_q_a_norm.weight": ((QRANK,), T.F32),
        f"{p}attn_q_b.weight": ((HEADS * (NOPE + ROPE), QRANK), T.Q8_0),
        f"{p}attn_kv_a_mqa.weight": ((RANK + ROPE, H), T.Q8_0),
        f"{p}attn_kv_a_norm.weight": ((RANK,), T.F32),
        f"{p}attn_output.weight": ((H, HEADS * VDIM), T.Q8_0),
    }
    if halves:
        tensors[f"{p}attn_k_b.weight"] = ((HEADS, RANK, NOPE), T.Q8_0)
        tensors[f"{p}attn_v_b.weight"] = ((HEADS, VDIM, RANK), T.Q8_0)
    else:
        tensors[f"{p}attn_kv_b.weight"] = ((HEADS * (NOPE + VDIM), RANK), T.Q8_0)
    return tensors


LATENT_KEYS = {
    "attention.head_count_kv": 1,
    "attention.q_lora_rank": QRANK,
    "attention.kv_lora_rank": RANK,
    "attention.key_length": RANK + ROPE,
    "attention.value_length": RANK,
    "attention.key_length_mla": NOPE + ROPE,
    "attention.value_length_mla": VDIM,
    "rope.dimension_count": ROPE,
}


@pytest.mark.parametrize("halves", [True, False])
def test_latent_attention(tmp_path, halves):
    tensors = outside() | latent(0, halves=halves) | dense(0)
    found = checked(write(tmp_path / "m.gguf", "deepseek2", tensors, keys(1) | LATENT_KEYS))
    mixed = found.model.groups[0].attention
    assert mixed.latent.model_dump() == {
        "kv_rank": RANK,
        "q_rank": QRANK,
        "nope_dim": NOPE,
        "rope_dim": ROPE,
        "v_dim": VDIM,
    }
    assert cache_of(found.model) == 2 * (RANK + ROPE)
    assert by_role(found)["attn_kv_b"] == 8.5


def test_both_forms_of_the_second_projection_count_once(tmp_path):
    tensors = outside() | latent(0) | latent(0, halves=False) | dense(0)
    model = checked(write(tmp_path / "m.gguf", "deepseek2", tensors, keys(1) | LATENT_KEYS)).model
    assert model.tower_params == HEADS * RANK * (NOPE + VDIM)
    assert any("repeat attn_kv_b" in phrase for phrase in model.assumed)


def test_an_indexer(tmp_path):
    tensors = (
        outside()
        | latent(0)
        | dense(0)
        | {
            "blk.0.indexer.attn_k.weight": ((64, H), T.Q8_0),
            "blk.0.indexer.attn_q_b.weight": ((2 * 64, QRANK), T.Q8_0),
            "blk.0.indexer.proj.weight": ((2, H), T.F32),
            "blk.0.indexer.k_norm.weight": ((64,), T.F32),
            "blk.0.indexer.k_norm.bias": ((64,), T.F32),
        }
    )
    more = {
        "attention.indexer.head_count": 2,
        "attention.indexer.key_length": 64,
        "attention.indexer.top_k": 2048,
    }
    model = checked(write(tmp_path / "m.gguf", "glm-dsa", tensors, keys(1) | LATENT_KEYS | more)).model
    index = model.groups[0].attention.indexer
    assert (index.heads, index.head_dim, index.top_k, index.shared) == (2, 64, 2048, False)


def test_layers_that_read_another_layers_cache(tmp_path):
    tensors = outside(head=False)
    for at in range(22):
        tensors |= mixing(at) | dense(at)
    tensors |= {"per_layer_token_embd.weight": ((V, 22 * 32), T.Q8_0), "per_layer_model_proj.weight": ((22 * 32, H), T.F16),
                "per_layer_proj_norm.weight": ((32,), T.F32), "altup_proj.weight": ((3, H, H), T.F16)}  # fmt: skip
    model = checked(
        write(tmp_path / "m.gguf", "gemma3n", tensors, keys(22) | {"attention.sliding_window": 512})
    ).model
    assert cache_of(model) == 20 * 2 * 2 * KV * HEAD
    assert model.tower_params == 2 * 2 * KV * HEAD * H
    assert next(t for t in model.tensors if t.role == "per_layer_token_embd").params == V * 22 * 32
    assert model.active_params == model.total_params - model.tower_params - V * 22 * 32


def test_heads_and_widths_of_their_own_in_each_layer(tmp_path):
    tensors = (
        outside()
        | mixing(0, heads=2, kv=1)
        | dense(0, width=256)
        | mixing(1, heads=4, kv=2)
        | dense(1, width=512)
    )
    more = {"attention.head_count": [2, 4], "attention.head_count_kv": [1, 2], "feed_forward_length": [256, 512], "attention.key_length": HEAD,
            "attention.value_length": HEAD}  # fmt: skip
    model = checked(write(tmp_path / "m.gguf", "openelm", tensors, keys(2) | more)).model
    assert [g.attention.kv_heads for g in model.groups] == [1, 2]
    assert [g.mlp.width for g in model.groups] == [256, 512]


def test_attention_under_other_names_is_said_not_to_be_understood(tmp_path):
    tensors = outside() | mixing(0) | dense(0)
    tensors["blk.0.attn_output_a.weight"] = tensors.pop("blk.0.attn_output.weight")
    model = checked(write(tmp_path / "m.gguf", "novel", tensors, keys(1))).model
    assert model.groups[0].attention is None
    assert any("attention that is not understood" in phrase for phrase in model.assumed)


def test_scales_beside_matrices_and_projections_for_images(tmp_path):
    tensors = llama(1) | {
        "blk.0.ffn_up.weight": ((FF, H), T.NVFP4),
        "blk.0.ffn_up.scale": ((1,), T.F32),
        "blk.0.vis_gate.weight": ((FF, H), T.F16),
    }
    found = checked(write(tmp_path / "m.gguf", "cogvlm", tensors, keys(1)))
    assert by_role(found)["ffn_up"] == 4.5
    assert found.model.tower_params == FF * H
    assert found.model.groups[0].vector_params == 1
