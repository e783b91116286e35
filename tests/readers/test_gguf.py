"""GGUF: exact bytes, tensors in their roles, models that add up to the file, files in parts."""

import math

import pytest
from gguf.constants import TENSOR_NAMES

from slmopt.readers.file_model import FileTensor
from slmopt.readers.files import read_model_file
from slmopt.readers.gguf_file import read_gguf
from slmopt.readers.gguf_parts import place
from slmopt.readers.hf_config import read_config
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import scenario
from slmopt.specs.weights import stored_bytes
from slmopt.theory.evaluation import evaluate
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
    checked,
    dense,
    experts,
    keys,
    llama,
    mixing,
    outside,
    size_of,
    write,
)


def test_a_mixed_llama(tmp_path):
    found = checked(write(tmp_path / "tiny-Q4_K_M.gguf", "llama", llama(3), keys(3, general__file_type=15)))
    model = found.model
    assert (model.name, model.id, model.layer_count, model.context_limit) == ("Tiny", "tiny", 3, 4096)
    assert not model.tied
    assert model.groups[0].attention.kv_heads == KV
    assert model.groups[0].mlp.width == FF
    assert model.assumed == ()
    assert found.weights.name == "Q4_K_M (file)"
    assert found.weights.multiplied_as == "int4"
    bits = by_role(found)
    assert bits["attn_q"] == bits["ffn_gate"] == 4.5
    assert bits["attn_v"] == bits["ffn_down"] == bits["token_embd"] == 6.5625
    assert bits["output"] == 8.5
    assert bits["norm"] == 32
    same = read_config({**configs.LLAMA, "hidden_size": H, "intermediate_size": FF, "vocab_size": V, "num_attention_heads": HEADS,
                        "num_key_value_heads": KV, "head_dim": HEAD, "max_position_embeddings": 4096})  # fmt: skip
    assert model.groups == same.groups
    assert model.tensors == same.tensors


def test_layers_of_one_kind_average_their_types(tmp_path):
    tensors = llama(2)
    tensors["blk.1.ffn_down.weight"] = ((H, FF), T.Q4_K)
    found = checked(write(tmp_path / "m.gguf", "llama", tensors, keys(2)))
    assert len(found.model.groups) == 1
    assert by_role(found)["ffn_down"] == (4.5 + 6.5625) / 2


def test_a_tied_head_is_stored_once(tmp_path):
    found = checked(write(tmp_path / "m.gguf", "llama", llama(head=False), keys(2)))
    assert found.model.tied
    assert "output" not in by_role(found)


def test_biases_and_head_norms(tmp_path):
    tensors = llama(1)
    for name, size in (("attn_q", HEADS * HEAD), ("attn_k", KV * HEAD), ("attn_v", KV * HEAD)):
        tensors[f"blk.0.{name}.bias"] = ((size,), T.F32)
    qwen2 = checked(write(tmp_path / "a.gguf", "qwen2", tensors, keys(1))).model
    assert qwen2.groups[0].attention.bias_qkv
    assert not qwen2.groups[0].attention.bias_o
    tensors = llama(1)
    tensors |= {f"blk.0.attn_{n}_norm.weight": ((HEAD,), T.F32) for n in "qk"}
    qwen3 = checked(write(tmp_path / "b.gguf", "qwen3", tensors, keys(1))).model
    assert qwen3.groups[0].attention.qk_norm == "per_head"
    tensors |= {
        "blk.0.attn_q_norm.weight": ((HEADS * HEAD,), T.F32),
        "blk.0.attn_k_norm.weight": ((KV * HEAD,), T.F32),
    }
    assert (
        checked(write(tmp_path / "c.gguf", "olmoe", tensors, keys(1))).model.groups[0].attention.qk_norm
        == "full"
    )


def test_fused_projections_are_taken_apart(tmp_path):
    tensors = outside()
    tensors |= {
        "blk.0.attn_norm.weight": ((H,), T.F32),
        "blk.0.attn_qkv.weight": (((HEADS + 2 * KV) * HEAD, H), T.Q5_K),
        "blk.0.attn_output.weight": ((H, HEADS * HEAD), T.Q4_K),
        "blk.0.ffn_norm.weight": ((H,), T.F32),
        "blk.0.ffn_up.weight": ((2 * FF, H), T.Q4_K),
        "blk.0.ffn_down.weight": ((H, FF), T.Q4_K),
        "rope_factors_long.weight": ((HEAD // 2,), T.F32),
    }
    found = checked(write(tmp_path / "m.gguf", "phi3", tensors, keys(1, attention__sliding_window=2047)))
    bits = by_role(found)
    assert bits["attn_q"] == bits["attn_k"] == bits["attn_v"] == 5.5
    assert bits["ffn_gate"] == bits["ffn_up"] == 4.5
    assert found.model.groups[0].mlp.gated
    assert found.model.groups[0].attention.window == 2047


def test_experts_beside_shared_ones(tmp_path):
    tensors = outside() | mixing(0) | dense(0) | mixing(1) | experts(1, 8, T.MXFP4)
    tensors |= {
        "blk.1.exp_probs_b.bias": ((8,), T.F32),
        "blk.1.ffn_gate_shexp.weight": ((256, H), T.Q8_0),
        "blk.1.ffn_up_shexp.weight": ((256, H), T.Q8_0),
        "blk.1.ffn_down_shexp.weight": ((H, 256), T.Q8_0),
        "blk.1.ffn_gate_inp_shexp.weight": ((H,), T.F32),
    }
    found = checked(
        write(tmp_path / "m.gguf", "qwen2moe", tensors, keys(2, expert_count=8, expert_used_count=2))
    )
    moe = found.model.groups[1].moe
    assert (moe.experts, moe.active, moe.width, moe.shared_width) == (8, 2, FF, 256)
    assert moe.shared_gate
    assert moe.router_bias
    bits = by_role(found)
    assert bits["ffn_down_exps"] == 4.25
    assert bits["ffn_gate_shexp"] == 8.5
    assert bits["ffn_gate_inp"] == 32
    assert found.model.active_params == found.model.total_params - 6 * 3 * H * FF
    assert found.weights.multiplied_as == "fp4"


def test_gate_and_up_of_all_experts_in_one_tensor(tmp_path):
    tensors = outside() | mixing(0) | experts(0, 4)
    for name in ("gate", "up"):
        del tensors[f"blk.0.ffn_{name}_exps.weight"]
    tensors["blk.0.ffn_gate_up_exps.weight"] = ((4, 2 * FF, H), T.Q5_K)
    found = checked(
        write(tmp_path / "m.gguf", "qwen3moe", tensors, keys(1, expert_count=4, expert_used_count=2))
    )
    assert found.model.groups[0].moe.gated
    assert by_role(found)["ffn_gate_exps"] == by_role(found)["ffn_up_exps"] == 5.5


def test_experts_each_in_a_tensor_of_its_own(tmp_path):
    tensors = (
        outside()
        | mixing(0)
        | {"blk.0.ffn_norm.weight": ((H,), T.F32), "blk.0.ffn_gate_inp.weight": ((3, H), T.F32)}
    )
    for n in range(3):
        tensors[f"blk.0.ffn_gate.{n}.weight"] = ((FF, H), T.Q4_0)
        tensors[f"blk.0.ffn_up.{n}.weight"] = ((FF, H), T.Q4_0)
        tensors[f"blk.0.ffn_down.{n}.weight"] = ((H, FF), T.Q5_0 if n else T.Q8_0)
    found = checked(
        write(tmp_path / "m.gguf", "llama", tensors, keys(1, expert_count=3, expert_used_count=2))
    )
    assert found.model.groups[0].moe.experts == 3
    assert by_role(found)["ffn_down_exps"] == pytest.approx((8.5 + 2 * 5.5) / 3)


def test_gpt_oss_by_hand(tmp_path):
    tensors = outside(T.Q8_0) | mixing(0) | experts(0, 4, T.MXFP4)
    tensors |= {
        "blk.0.attn_sinks.weight": ((HEADS,), T.F32),
        "blk.0.attn_q.bias": ((HEADS * HEAD,), T.F32),
        "blk.0.attn_k.bias": ((KV * HEAD,), T.F32),
        "blk.0.attn_v.bias": ((KV * HEAD,), T.F32),
        "blk.0.attn_output.bias": ((H,), T.F32),
        "blk.0.ffn_gate_inp.bias": ((4,), T.F32),
        "blk.0.ffn_gate_exps.bias": ((4, FF), T.F32),
        "blk.0.ffn_up_exps.bias": ((4, FF), T.F32),
        "blk.0.ffn_down_exps.bias": ((4, H), T.F32),
    }
    model = checked(
        write(
            tmp_path / "m.gguf",
            "gpt-oss",
            tensors,
            keys(1, expert_count=4, expert_used_count=2, attention__sliding_window=128),
        )
    ).model
    group = model.groups[0]
    assert group.attention.sinks
    assert group.attention.bias_qkv
    assert group.attention.bias_o
    assert group.moe.bias
    assert group.moe.router_bias
    assert group.norm_params == 2 * H
    assert group.vector_params == 0


def test_prediction_layers_are_stored_only(tmp_path):
    tensors = llama(3) | {
        "blk.2.nextn.eh_proj.weight": ((H, 2 * H), T.Q8_0),
        "blk.2.nextn.enorm.weight": ((H,), T.F32),
    }
    found = checked(write(tmp_path / "m.gguf", "glm4moe", tensors, keys(3, nextn_predict_layers=1)))
    model = found.model
    assert model.layer_count == 2
    ahead = [n for n in tensors if n.startswith("blk.2.")]
    assert model.mtp_params == sum(math.prod(tensors[n][0]) for n in ahead)
    assert found.weights.stored[-1].role != "mtp"
    assert next(t for t in found.weights.stored if t.role == "mtp").size_bytes == sum(
        size_of(*tensors[n]) for n in ahead
    )


def test_extra_tensors_join_the_model(tmp_path):
    tensors = llama(1) | {
        "rope_freqs.weight": ((HEAD // 2,), T.F32),
        "token_embd_norm.weight": ((H,), T.F32),
        "position_embd.weight": ((64, H), T.F32),
        "token_types.weight": ((2, H), T.F32),
        "output.bias": ((V,), T.F32),
        "blk.0.something_new.weight": ((32, H), T.Q8_0),
        "elsewhere.weight": ((32, H), T.Q8_0),
        "v.blk.0.attn_q.weight": ((32, H), T.F16),
        "mm.0.weight": ((32, H), T.F16),
    }
    model = checked(write(tmp_path / "m.gguf", "novel", tensors, keys(1))).model
    assert model.output_bias
    assert model.learned_positions == 64
    assert model.final_norm_params == 2 * H
    assert model.tower_params == 2 * 32 * H
    assert any("elsewhere" in phrase for phrase in model.assumed)
    assert next(t for t in model.tensors if t.role == "something_new").group == 0


def test_what_contradicts_itself_is_known_by_its_count(tmp_path):
    path = write(
        tmp_path / "m.gguf",
        "llama",
        llama(2),
        keys(2) | {"attention.head_count": 8, "attention.head_count_kv": 3},
    )
    found = read_model_file(path)
    assert found.model.by_count
    assert found.model.params == sum(math.prod(shape) for shape, _ in llama(2).values())
    assert stored_bytes(found.weights, found.model) == found.size_bytes
    assert any("could not be told" in phrase for phrase in found.model.assumed)
    assert (
        evaluate(scenario({"model": found.model, "weights": found.weights})).setup.weight_bytes
        == found.size_bytes
    )


@pytest.mark.parametrize("open_part", [1, 2, 3])
def test_parts_beside_one_another_are_one_file(tmp_path, open_part):
    whole = checked(write(tmp_path / "whole.gguf", "llama", llama(3), keys(3)))
    write(tmp_path / "m.gguf", "llama", llama(3), keys(3), split_max_tensors=13)
    parts = sorted(tmp_path.glob("m-*.gguf"))
    assert [p.name for p in parts] == [f"m-{n:05d}-of-00003.gguf" for n in (1, 2, 3)]
    found = read_model_file(parts[open_part - 1])
    assert found == whole
    parts[open_part % 3].unlink()
    absent = open_part % 3 + 1
    with pytest.raises(SpecError, match=f"part {open_part} of 3; part {absent} missing"):
        read_model_file(parts[open_part - 1])


def test_parts_under_other_names_are_asked_for(tmp_path):
    write(tmp_path / "m.gguf", "llama", llama(3), keys(3), split_max_tensors=13)
    moved = (tmp_path / "m-00002-of-00003.gguf").rename(tmp_path / "second.gguf")
    with pytest.raises(SpecError, match="parts 1, 3 missing"):
        read_model_file(moved)


@pytest.mark.parametrize(
    ("arch", "tensors", "more", "word"),
    [
        ("t5", {"enc.blk.0.attn_q.weight": ((H, H), T.F16)}, {}, "encoder-decoder"),
        ("bert", llama(1), {}, "an encoder"),
        ("llama", {"blk.0.attn_q.weight.lora_a": ((H, H), T.F16)}, {"general.type": "adapter"}, "LoRA"),
        ("llama", {}, {}, "no tensors"),
    ],
)
def test_files_that_hold_no_decoder(tmp_path, arch, tensors, more, word):
    with pytest.raises(SpecError, match=word):
        read_model_file(write(tmp_path / "m.gguf", arch, tensors, keys(1) | more))


def test_a_tower_is_read_and_does_not_run(tmp_path):
    tensors = {"v.blk.0.attn_q.weight": ((H, H), T.F16), "mm.0.weight": ((H, H), T.F16)}
    found = read_model_file(
        write(
            tmp_path / "mmproj.gguf",
            "clip",
            tensors,
            {"clip.has_vision_encoder": True, "general.name": "Eye"},
        )
    )
    assert not found.runs
    assert found.model.params == 2 * H * H
    assert found.size_bytes == 4 * H * H


def test_the_name_is_the_files_own_or_the_one_given(tmp_path):
    named = {k: v for k, v in keys(1).items() if k != "general.name"}
    path = write(tmp_path / "tiny-q4.gguf", "llama", llama(1), named)
    assert read_model_file(path).model.name == "tiny-q4"
    assert read_gguf(path, "My model").model.name == "My model"


def test_every_name_that_the_gguf_package_knows_has_a_place():
    for kind, pattern in TENSOR_NAMES.items():
        name = pattern.format(bid=1, xid=0) + ".weight"
        placed = place([FileTensor(name, "F16", (64, 32), 4096)], 99)
        if kind.name.startswith(("V_", "A_", "VISEXP_")):
            assert placed.towers, name
        elif ".blk." in f".{name}":
            assert placed.layers[1] or placed.ahead or name.startswith(("enc.", "dec.")), name
        else:
            assert placed.outside, name
