"""Attention of each layer: heads, windows, latents, indexers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slmopt.readers.hf_families import Family, Flag
from slmopt.readers.hf_fields import Fields, show, whole
from slmopt.specs.base import SpecError
from slmopt.specs.model import Attention, Indexer, Latent

HIDDEN = ("hidden_size", "n_embd", "d_model", "model_dim")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "num_query_heads", "attention_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads")
HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "seq_length",
    "max_seq_len",
    "max_sequence_length",
    "context_length",
    "max_context_length",
    "model_max_length",
)

KINDS = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "full": "full",
    "deepseek_sparse_attention": "full",
    "sliding_attention": "window",
    "sliding_window_attention": "window",
    "local": "window",
    "sliding": "window",
    "chunked_attention": "chunk",
    "linear_attention": "linear",
    "gated_deltanet": "linear",
    "kda": "linear",
    "conv": "conv",
    "mamba": "mamba",
    "mamba2": "mamba",
    "hybrid": "hybrid",
    "recurrent": "recurrent",
}
"""Words of ``layer_types`` to ours."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Head counts and width."""

    heads: int
    kv_heads: int
    head_dim: int


def decide(f: Fields, flag: Flag) -> bool:
    """A trait that holds always, never, or as a field of the config says."""
    return f.flag(flag) if isinstance(flag, str) else flag


def read_heads(f: Fields, hidden: int) -> Heads:
    """Head counts and width, with the rules for what a config leaves out."""
    heads = f.whole(*HEADS)
    kv = _kv_heads(f, heads)
    head_dim = f.maybe(*HEAD_DIM)
    if head_dim is None:
        head_dim = hidden // heads
        if head_dim < 1:
            raise SpecError(
                f"{heads} heads do not fit a hidden size of {hidden}: give head_dim or fewer heads."
            )
        if not any(name in f.data for name in HEAD_DIM):
            f.assume(f"head_dim = hidden/heads = {head_dim} (not in the file)")
    if heads % kv:
        raise SpecError(f"num_key_value_heads = {kv}: it should divide the {heads} attention heads.")
    return Heads(heads, kv, head_dim)


def window_heads(f: Fields, full: Heads) -> Heads:
    """Heads of window layers, where the config gives them apart from those of full layers."""
    return Heads(
        f.maybe("swa_num_attention_heads") or full.heads,
        f.maybe("swa_num_key_value_heads") or full.kv_heads,
        f.maybe("swa_head_dim") or full.head_dim,
    )


def _kv_heads(f: Fields, heads: int) -> int:
    if f.model_type == "falcon" and not f.flag("new_decoder_architecture"):
        return 1 if f.flag("multi_query") else heads
    if f.model_type == "gpt_bigcode":
        return 1 if f.flag("multi_query") else heads
    if f.flag("multi_query_attention"):
        return f.whole("multi_query_group_num")
    kv = f.maybe(*KV_HEADS)
    if kv is None:
        if not any(name in f.data for name in KV_HEADS):
            f.assume(f"num_key_value_heads = heads = {heads} (not in the file)")
        return heads
    return kv


def read_latent(f: Fields) -> Latent | None:
    """Multi-head latent attention, where the config has a latent rank."""
    rank = f.maybe("kv_lora_rank")
    if rank is None or ("use_mla" in f.data and not f.flag("use_mla")):
        return None
    return Latent(
        kv_rank=rank,
        q_rank=f.maybe("q_lora_rank"),
        nope_dim=f.whole("qk_nope_head_dim"),
        rope_dim=f.whole("qk_rope_head_dim", least=0),
        v_dim=f.maybe("v_head_dim") or f.whole("qk_nope_head_dim"),
    )


def read_indexer(f: Fields) -> Indexer | None:
    """The indexer of sparse latent attention."""
    top_k = f.maybe("index_topk")
    if top_k is None:
        return None
    return Indexer(heads=f.whole("index_n_heads"), head_dim=f.whole("index_head_dim"), top_k=top_k)


def attention(f: Fields, family: Family, hidden: int, kind: str, heads: Heads | None = None) -> Attention:
    """The attention of a layer of ``kind``."""
    latent = read_latent(f)
    if latent is not None:
        count = f.whole(*HEADS)
        return Attention(
            heads=count,
            kv_heads=1,
            head_dim=latent.nope_dim + latent.rope_dim,
            v_head_dim=latent.v_dim,
            latent=latent,
            indexer=read_indexer(f),
            window=window_of(f) if kind == "window" else None,
        )
    heads = heads or read_heads(f, hidden)
    if kind == "window":
        heads = window_heads(f, heads)
    v_dim = f.maybe("v_head_dim", least=0) or None
    return Attention(
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        head_dim=heads.head_dim,
        v_head_dim=None if v_dim == heads.head_dim else v_dim,
        window=window_of(f) if kind == "window" else None,
        chunk=f.whole("attention_chunk_size") if kind == "chunk" else None,
        bias_qkv=decide(f, family.qkv_bias),
        bias_o=decide(f, family.o_bias),
        qk_norm=qk_norm(f, family),
        output_gate=family.output_gate and ("attn_output_gate" not in f.data or f.flag("attn_output_gate")),
        sinks=family.sinks == "all" or (family.sinks == "window" and kind == "window"),
    )


def qk_norm(f: Fields, family: Family) -> Literal["none", "per_head", "full"]:
    """Norms on queries and keys; those with biases are counted with the layer's norms."""
    if family.qk_norm == "per_head_bias" or (family.qk_norm_if and not f.flag(family.qk_norm_if)):
        return "none"
    return family.qk_norm


def window_of(f: Fields) -> int | None:
    """The window, or None where it is as long as the context and so hides nothing."""
    window = f.maybe("sliding_window", "sliding_window_size", "attention_window_size", "window_size")
    context = f.maybe(*CONTEXT, silent=True)
    return None if window is None or (context is not None and window >= context) else window


def layer_kinds(f: Fields, family: Family, layers: int) -> list[str]:
    """What each layer is: full, window, chunk, linear, conv, mamba, hybrid."""
    listed = f.items("layer_types", "layers_block_type")
    if listed is None and f.items("hybrid_layer_pattern") is not None:
        listed = [
            "sliding_attention" if item == 1 else "full_attention"
            for item in f.items("hybrid_layer_pattern") or []
        ]
    if listed is not None:
        if len(listed) < layers:
            raise SpecError(
                f"layer_types has {len(listed)} entries for {layers} layers: it should have one for each."
            )
        return [_kind(f, item) for item in listed[:layers]]
    if f.maybe("sliding_window", "sliding_window_size", silent=True) is None:
        return ["full"] * layers
    return _windows(f, family, layers)


def _windows(f: Fields, family: Family, layers: int) -> list[str]:
    if family.window is None or ("use_sliding_window" in f.data and not f.flag("use_sliding_window")):
        return ["full"] * layers
    if family.window == "all":
        return ["window"] * layers
    if family.window == "late":
        if not f.flag("use_sliding_window"):
            return ["full"] * layers
        first = f.maybe("max_window_layers", least=0) or 0
        return ["window" if i >= first else "full" for i in range(layers)]
    name, pattern = f.raw("sliding_window_pattern", silent=True)
    if isinstance(pattern, str):
        if not pattern or set(pattern.upper()) - {"L", "G"}:
            raise SpecError(
                f"{name} = {show(pattern)}: it should be a number or letters L (window) and G (full)."
            )
        return ["window" if pattern.upper()[i % len(pattern)] == "L" else "full" for i in range(layers)]
    every = int(family.window) if pattern is None else whole(name, pattern)
    if pattern is None:
        f.assume(
            f"every {every}th layer sees all, the others a window (the default of {f.model_type}; not in the file)"
        )
    return ["full" if (i + 1) % every == 0 else "window" for i in range(layers)]


def _kind(f: Fields, item: object) -> str:
    if not isinstance(item, str):
        raise SpecError(f"layer_types holds {show(item)}: it should hold words such as full_attention.")
    if item not in KINDS:
        f.assume(f"layer type {show(item)} is unknown: read as full attention")
    return KINDS.get(item, "full")
