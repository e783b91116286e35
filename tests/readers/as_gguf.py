"""A model as the header of a GGUF that would hold it: names as llama.cpp gives them, all tensors in FP32."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

from slmopt.specs.model import Attention, LayerGroup, Model, State
from slmopt.specs.tensors import layer_tensors

NAMES = {
    "attn_kv_a": "attn_kv_a_mqa",
    "indexer_q": "indexer.attn_q_b",
    "indexer_k": "indexer.attn_k",
    "indexer_weights": "indexer.proj",
    "per_layer_gate": "inp_gate",
    "per_layer_proj": "proj",
    "conv_in": "shortconv.in_proj",
    "conv_out": "shortconv.out_proj",
    "ssm_qkv": "attn_qkv",
    "ssm_gate": "attn_gate",
}
FUSED = ("attn_q", "attn_k", "attn_v")
LOOKUPS = ("per_layer_token_embd", "token_types", "per_layer_model_proj")
TAPS = 4
"""Taps of the convolution in front of every state but the short convolutions, in all models that are known."""

Named = Iterator[tuple[str, tuple[int, ...]]]


def header(model: Model, arch: str = "any", *, fused: bool = False) -> bytes:
    """The header; with ``fused`` query, key and value are one tensor, and so are gate and up."""
    tensors = list(_tensors(model, fused))
    pairs = [_pair("general.architecture", arch), _pair("general.name", model.name)]
    pairs += [_pair(f"{arch}.{key}", value) for key, value in _keys(model).items()]
    infos, offset = [], 0
    for name, shape in tensors:
        infos.append(_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 0, offset))
        offset += -(-4 * math.prod(shape) // 32) * 32
    return b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _pair(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", 8) + _text(value)
    if isinstance(value, list):
        return _text(key) + struct.pack(f"<IIQ{len(value)}q", 9, 11, len(value), *map(int, value))
    return _text(key) + struct.pack("<Iq", 11, value)


def stack(model: Model) -> list[LayerGroup]:
    """The layers in their order."""
    at = {
        place: group for group, places in zip(model.groups, model.positions, strict=True) for place in places
    }
    return [at[place] for place in range(model.layer_count)]


def _keys(model: Model) -> dict[str, Any]:
    layers = stack(model)
    attended = [g.attention for g in layers]
    found: dict[str, Any] = {
        "block_count": model.layer_count + bool(model.mtp_params),
        "nextn_predict_layers": int(bool(model.mtp_params)),
        "context_length": model.context_limit or 2**20,
        "attention.head_count": [a.heads if a else 0 for a in attended],
        "attention.head_count_kv": [a.kv_heads if a else 0 for a in attended],
        "attention.key_length": [a.head_dim if a else 0 for a in attended],
        "attention.value_length": [a.value_dim if a else 0 for a in attended],
    }
    windows = [a.window or 0 if a else 0 for a in attended]
    if any(windows):
        found["attention.sliding_window"] = windows
        found["attention.sliding_window_pattern"] = [bool(w) for w in windows]
    shared = [a is not None and not a.owns_cache for a in attended]
    if any(shared):
        found["attention.shared_kv_layers"] = len(shared) - shared.index(True)
    for attention in attended:
        if attention is not None and attention.latent is not None:
            found["attention.kv_lora_rank"] = attention.latent.kv_rank
        if attention is not None and attention.indexer is not None:
            found["attention.indexer.head_count"] = attention.indexer.heads
            found["attention.indexer.key_length"] = attention.indexer.head_dim
            found["attention.indexer.top_k"] = attention.indexer.top_k
    moes = [g.moe for g in layers if g.moe is not None]
    if moes:
        found["expert_used_count"] = moes[0].active
    for group in layers:
        if group.state is not None:
            found.update(_state_keys(group.state, model.hidden))
    return found


def _state_keys(state: State, hidden: int) -> dict[str, int]:
    if state.kind == "short_conv":
        return {"shortconv.l_cache": state.conv_elements // hidden + 1}
    out = next(m for m in state.matrices if m.role == "ssm_out")
    inner = out.cols
    keys = {"ssm.conv_kernel": TAPS, "ssm.inner_size": inner, "ssm.state_size": state.state_elements // inner}
    return keys | ({"kda.head_dim": state.state_elements // inner} if state.kind == "kimi_delta" else {})


def _tensors(model: Model, fused: bool) -> Named:
    yield "token_embd.weight", (model.vocab, model.hidden)
    if not model.tied:
        yield "output.weight", (model.vocab, model.hidden)
    if model.output_bias:
        yield "output.bias", (model.vocab,)
    if model.learned_positions:
        yield "position_embd.weight", (model.learned_positions, model.hidden)
    if model.final_norm_params:
        yield "output_norm.weight", (model.final_norm_params,)
    for n, matrix in enumerate((*model.matrices, *model.lookups)):
        copies = (matrix.copies,) if matrix.copies > 1 else ()
        yield (
            f"{matrix.role}{'' if matrix.role in LOOKUPS else f'.{n}'}.weight",
            (*copies, matrix.rows, matrix.cols),
        )
    if model.tower_params:
        yield "v.all.weight", (model.tower_params,)
    for at, group in enumerate(stack(model)):
        for name, shape in _layer(group, model.hidden, fused):
            yield f"blk.{at}.{name}", shape
    if model.mtp_params:
        yield f"blk.{model.layer_count}.nextn.all.weight", (model.mtp_params,)


def _layer(group: LayerGroup, hidden: int, fused: bool) -> Named:
    vectors = 0
    shapes: dict[str, list[tuple[int, int, int]]] = {}
    for role, rows, cols, copies in layer_tensors(group.model_copy(update={"state": None}), hidden):
        if role in ("norm", "vector", "bias"):
            vectors += rows * cols * copies
        else:
            shapes.setdefault(role, []).append((rows, cols, copies))
    if group.state is not None:
        yield from _state(group.state, hidden)
    if fused:
        yield from _fuse(shapes, group.attention)
    for role, held in shapes.items():
        for n, (rows, cols, copies) in enumerate(held):
            name = NAMES.get(role, role) + (f"_{n}" if n else "")
            if role == "ffn_bias_exps":
                yield "ffn_up_exps.bias", (copies, cols)
            elif role == "ffn_gate_inp_shexp":
                yield f"{name}.weight", (cols,)
            else:
                yield (
                    f"{name}.weight",
                    (*((copies,) if copies > 1 or role.endswith("_exps") else ()), rows, cols),
                )
    if vectors:
        yield "attn_norm.weight", (vectors,)


def _fuse(shapes: dict[str, list[tuple[int, int, int]]], attention: Attention | None) -> Named:
    plain = attention is not None and attention.owns_cache and not attention.output_gate
    if plain and all(role in shapes for role in FUSED):
        parts = [shapes.pop(role)[0] for role in FUSED]
        yield "attn_qkv.weight", (sum(p[0] for p in parts), parts[0][1])
    for suffix in ("", "_exps"):
        gate, up = f"ffn_gate{suffix}", f"ffn_up{suffix}"
        if gate in shapes and up in shapes:
            rows, cols, copies = shapes.pop(gate)[0]
            del shapes[up]
            name = "ffn_gate_up_exps" if suffix else "ffn_up"
            yield f"{name}.weight", (*((copies,) if suffix else ()), 2 * rows, cols)


def _state(state: State, hidden: int) -> Named:
    taps = state.conv_elements // hidden + 1 if state.kind == "short_conv" else TAPS
    channels = state.conv_elements // (taps - 1)
    left = state.vector_params - channels * taps
    yield ("shortconv.conv.weight" if state.kind == "short_conv" else "ssm_conv1d.weight"), (channels, taps)
    if left:
        yield "ssm_d", (left,)
    for matrix in state.matrices:
        yield f"{NAMES.get(matrix.role, matrix.role)}.weight", (matrix.rows, matrix.cols)
