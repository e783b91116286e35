"""Attention of a GGUF layer, from its projections' shapes and the head counts of the metadata.

Both readers return the attention, the layer's parts in its roles, and the parts that no text step reads. They raise
:class:`~slmopt.readers.gguf_parts.Unlike` where shapes and head counts do not go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from slmopt.readers.gguf_keys import Keys
from slmopt.readers.gguf_parts import Part, Unlike
from slmopt.specs.model import Attention, Indexer, Latent

Mixed = tuple[Attention | None, list[Part], list[Part]]


def attention(parts: Sequence[Part], keys: Keys, hidden: int, at: int, heads: int, kv_heads: int) -> Mixed:
    """Ordinary attention, its query, key and value apart or in one tensor."""
    held, idle = list(parts), []
    key, value = _head_widths(keys, hidden, at, heads)
    held = _unfused(held, heads * key, kv_heads * key, kv_heads * value)
    if not keys.owns_cache(at):
        idle = [p for p in held if p.name in ("attn_k", "attn_v", "attn_k_norm")]
        held = [p for p in held if p not in idle]
    if idle:
        keys.assume(
            "keys and values of layers that read another layer's cache: stored, not read, counted with towers"
        )
    k, v, out = _one(held, "attn_k"), _one(held, "attn_v"), _one(held, "attn_output")
    if _one(held, "attn_q") is None or out is None:
        raise Unlike("attention without a query projection")
    if k is not None:
        key = _per_head(k.rows, kv_heads, "attn_k")
    value = _per_head(out.cols, heads, "attn_output") if v is None else _per_head(v.rows, kv_heads, "attn_v")
    gate = _one(held, "attn_gate")
    if gate is not None and gate.rows == heads * key:
        held = [p.renamed("attn_q") if p is gate else p for p in held]
    rows = sum(p.rows for p in held if p.role == "attn_q")
    kind, size = keys.sight(at)
    norm, bias_qkv, bias_o = _traits(held, heads, kv_heads, key, value, hidden)
    return (
        Attention(
            heads=heads,
            kv_heads=kv_heads,
            head_dim=key,
            v_head_dim=None if value == key else value,
            window=size if kind == "window" else None,
            chunk=size if kind == "chunk" else None,
            bias_qkv=bias_qkv,
            bias_o=bias_o,
            qk_norm=norm,
            output_gate=rows == 2 * heads * key,
            sinks=any(p.name == "attn_sinks" and p.params == heads for p in held),
            value_is_key=k is not None and v is None,
            owns_cache=k is not None,
            indexer=_indexer(held, keys) if _one(held, "indexer_k") is not None else None,
        ),
        held,
        idle,
    )


def _head_widths(keys: Keys, hidden: int, at: int, heads: int) -> tuple[int, int]:
    """Widths of key and value heads as the metadata gives them; window layers may have their own."""
    suffix = "_swa" if keys.sight(at)[0] != "full" else ""
    usual = max(1, hidden // heads)
    key = keys.at(f"attention.key_length{suffix}", at) or keys.at("attention.key_length", at)
    value = keys.at(f"attention.value_length{suffix}", at) or keys.at("attention.value_length", at)
    return key or usual, value or usual


def _unfused(parts: list[Part], q: int, k: int, v: int) -> list[Part]:
    """Query, key and value rows of a fused projection as parts of their own."""
    fused = _one(parts, "attn_qkv")
    if fused is None:
        return parts
    if fused.rows != q + k + v:
        raise Unlike(f"attn_qkv has {fused.rows:,} rows, not {q:,} + {k:,} + {v:,}")
    apart = [
        fused.rows_of("attn_q", 0, q),
        fused.rows_of("attn_k", q, k),
        fused.rows_of("attn_v", q + k, v),
    ]
    return [p for p in parts if p is not fused] + apart


def _per_head(rows: int, heads: int, role: str) -> int:
    if rows % heads:
        raise Unlike(f"{role} has {rows:,} rows for {heads:,} heads")
    return rows // heads


def _traits(
    parts: Sequence[Part], heads: int, kv_heads: int, key: int, value: int, hidden: int
) -> tuple[Literal["none", "per_head", "full"], bool, bool]:
    """Norms on queries and keys, biases on the way in and out: told by how many weights they have."""
    owns = any(p.role == "attn_k" for p in parts)
    own_values = any(p.role == "attn_v" for p in parts)
    q, k = heads * key, kv_heads * key if owns else 0
    v = kv_heads * value if own_values else 0
    norms = sum(p.params for p in parts if p.role == "norm" and p.name in ("attn_q_norm", "attn_k_norm"))
    kind: Literal["none", "per_head", "full"] = "none"
    if norms == key * (2 if k else 1):
        kind = "per_head"
    elif norms and norms == q + k:
        kind = "full"
    biases = [p for p in parts if p.role == "bias"]
    inward = sum(p.params for p in biases if p.name in ("attn_q", "attn_k", "attn_v", "attn_qkv"))
    outward = sum(p.params for p in biases if p.name == "attn_output")
    return kind, inward == q + k + v, outward == hidden


def latent_attention(parts: Sequence[Part], keys: Keys, heads: int) -> Mixed:
    """Multi-head latent attention; its second projection is one tensor, or one for keys and one for values."""
    held, idle = list(parts), []
    halves = [p for p in held if p.role in ("attn_k_b", "attn_v_b")]
    if halves and _one(held, "attn_kv_b") is not None:
        idle = halves
        held = [p for p in held if p not in idle]
        keys.assume("attn_k_b and attn_v_b repeat attn_kv_b: stored, not read, counted with towers")
    held = [p.renamed("attn_kv_b") if p.role in ("attn_k_b", "attn_v_b") else p for p in held]
    down, out = _one(held, "attn_kv_a"), _one(held, "attn_output")
    rank = keys.needed("attention.kv_lora_rank")
    first, second = _one(held, "attn_q_a"), _one(held, "attn_q_b") or _one(held, "attn_q")
    if down is None or out is None or second is None or down.rows < rank:
        raise Unlike("latent attention without its projections")
    rope = down.rows - rank
    width = _per_head(second.rows, heads, second.role)
    v_dim = _per_head(out.cols, heads, "attn_output")
    if width <= rope:
        raise Unlike(f"{second.role} has heads of {width:,}, of which {rope:,} are rotated")
    latent = Latent(
        kv_rank=rank,
        q_rank=None if first is None else first.rows,
        nope_dim=width - rope,
        rope_dim=rope,
        v_dim=v_dim,
    )
    mixed = Attention(
        heads=heads, kv_heads=1, head_dim=width, v_head_dim=v_dim, latent=latent, indexer=_indexer(held, keys)
    )
    return mixed, held, idle


def _indexer(parts: Sequence[Part], keys: Keys) -> Indexer | None:
    top_k = keys.number("attention.indexer.top_k")
    if not top_k:
        return None
    return Indexer(
        heads=keys.needed("attention.indexer.head_count"),
        head_dim=keys.needed("attention.indexer.key_length"),
        top_k=top_k,
        shared=not any(p.role == "indexer_k" for p in parts),
    )


def _one(parts: Sequence[Part], role: str) -> Part | None:
    return next((part for part in parts if part.role == role), None)
