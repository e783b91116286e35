"""What mixes tokens in each layer, by each hybrid's own way of saying it.

Kinds: full, window, chunk (attention), shared and sparse (attention by an indexer's picks), mamba, mamba1, hybrid
(attention and Mamba-2 side by side), linear, kda, conv, recurrent.
"""

from __future__ import annotations

from collections.abc import Callable

from slmopt.readers.hf_attention import layer_kinds
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_fields import Fields


def mixer_kinds(f: Fields, family: Family, layers: int) -> list[str]:
    """The kind of each layer's mixer, by each hybrid's own way of saying it."""
    finder = _KIND_FINDERS.get(f.model_type)
    return finder(f, layers) if finder is not None else layer_kinds(f, family, layers)


def _periodic(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types", "layers_block_type") is not None:
        return layer_kinds(f, Family(), layers)
    period, offset = f.whole("attn_layer_period"), f.whole("attn_layer_offset", least=0)
    return ["full" if i % period == offset else "mamba1" for i in range(layers)]


def _indexed(f: Fields, layers: int) -> list[str]:
    at = set(map(str, f.items("attn_layer_indices") or []))
    return ["full" if str(i) in at else "mamba" for i in range(layers)]


def _lfm(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types") is not None:
        return layer_kinds(f, Family(), layers)
    listed = f.items("full_attn_idxs")
    at = set(map(str, listed)) if listed is not None else set(map(str, range(layers)))
    return ["full" if str(i) in at else "conv" for i in range(layers)]


def _interval(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types") is not None:
        return layer_kinds(f, Family(), layers)
    every = f.maybe("full_attention_interval") or 4
    if not f.present("full_attention_interval"):
        f.assume(f"every {every}th layer attends in full (the default of {f.model_type}; not in the file)")
    return ["full" if (i + 1) % every == 0 else "linear" for i in range(layers)]


def _kimi(f: Fields, layers: int) -> list[str]:
    nested = f.data.get("linear_attn_config")
    if isinstance(nested, dict):
        at = set(map(str, Fields(nested, "", f.assumed).items("full_attn_layers") or []))
        return ["full" if str(i + 1) in at else "kda" for i in range(layers)]
    return ["kda" if kind == "linear" else kind for kind in _interval(f, layers)]


def _granite(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types", "layers_block_type") is not None:
        return layer_kinds(f, Family(), layers)
    f.assume(f"layer_types = mamba in every layer (the default of {f.model_type}; not in the file)")
    return ["mamba"] * layers


def _recurrent(f: Fields, layers: int) -> list[str]:
    pattern = f.items("block_types", "_block_types") or ["recurrent", "recurrent", "attention"]
    return ["window" if pattern[i % len(pattern)] == "attention" else "recurrent" for i in range(layers)]


def _minimax(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types") is not None:
        return layer_kinds(f, Family(), layers)
    listed = f.items("attn_type_list")
    if listed is not None and len(listed) >= layers:
        return ["full" if item == 1 else "linear" for item in listed[:layers]]
    return ["full" if i % 2 else "linear" for i in range(layers)]


def _llama4(f: Fields, layers: int) -> list[str]:
    if f.items("layer_types") is not None:
        return layer_kinds(f, Family(), layers)
    if f.maybe("attention_chunk_size") is None:
        return ["full"] * layers
    marks = f.items("no_rope_layers")
    if marks:
        return ["chunk" if i < len(marks) and marks[i] else "full" for i in range(layers)]
    every = f.maybe("no_rope_layer_interval", "nope_layer_interval") or 4
    return ["full" if (i + 1) % every == 0 else "chunk" for i in range(layers)]


def _shared_index(f: Fields, layers: int) -> list[str]:
    """GLM-5.2 and later: in most layers the indexer's picks are those of an earlier layer."""
    listed = f.items("indexer_types")
    if listed is None or len(listed) < layers:
        return ["full"] * layers
    return ["shared" if item == "shared" else "full" for item in listed[:layers]]


def _block_sparse(f: Fields, layers: int) -> list[str]:
    nested = f.data.get("sparse_attention_config")
    marks = nested.get("sparse_attention_freq") if isinstance(nested, dict) else None
    if not isinstance(marks, list) or len(marks) < layers:
        return ["full"] * layers
    return ["sparse" if mark else "full" for mark in marks[:layers]]


def _gpt_neo(f: Fields, layers: int) -> list[str]:
    """``attention_types``: [[kinds, repeats], …], global and local in turn by default."""
    kinds: list[str] = []
    for item in f.items("attention_types") or [[["global", "local"], layers]]:
        if (
            isinstance(item, list)
            and len(item) == 2
            and isinstance(item[0], list)
            and isinstance(item[1], int)
        ):
            kinds.extend(["window" if word == "local" else "full" for word in item[0]] * min(item[1], layers))
    return (kinds * layers)[:layers] if kinds else ["full"] * layers


def _const(kind: str) -> Callable[[Fields, int], list[str]]:
    return lambda _, layers: [kind] * layers


_KIND_FINDERS: dict[str, Callable[[Fields, int], list[str]]] = {
    "jamba": _periodic,
    "bamba": _indexed,
    "lfm2": _lfm,
    "lfm2_moe": _lfm,
    "qwen3_next": _interval,
    "qwen3_5": _interval,
    "qwen3_5_text": _interval,
    "qwen3_5_moe": _interval,
    "qwen3_5_moe_text": _interval,
    "olmo_hybrid": _interval,
    "kimi_linear": _kimi,
    "granitemoehybrid": _granite,
    "falcon_h1": _const("hybrid"),
    "mamba": _const("mamba1"),
    "falcon_mamba": _const("mamba1"),
    "mamba2": _const("mamba"),
    "recurrent_gemma": _recurrent,
    "minimax": _minimax,
    "glm_moe_dsa": _shared_index,
    "minimax_m3_vl": _block_sparse,
    "minimax_m3_vl_text": _block_sparse,
    "llama4": _llama4,
    "llama4_text": _llama4,
    "gpt_neo": _gpt_neo,
}
