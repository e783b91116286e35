"""From a layer's description to its weight tensors, by the roles that llama.cpp gives them where it has one."""

from __future__ import annotations

from collections.abc import Iterator

from slmopt.specs.layers import Attention, Latent, LayerGroup, Moe

Shape = tuple[str, int, int, int]
"""Role, rows, columns, copies."""


def layer_params(group: LayerGroup, hidden: int) -> int:
    """Weights of one layer of the group in a model of that hidden width."""
    return sum(rows * cols * copies for _, rows, cols, copies in layer_tensors(group, hidden))


def layer_tensors(group: LayerGroup, hidden: int) -> Iterator[Shape]:
    """The weight tensors of one layer of the group in a model of that hidden width."""
    if group.norm_params:
        yield ("norm", 1, group.norm_params, 1)
    if group.vector_params:
        yield ("vector", 1, group.vector_params, 1)
    for matrix in group.matrices:
        yield (matrix.role, matrix.rows, matrix.cols, matrix.copies)
    if group.attention is not None:
        yield from _attention_tensors(group.attention, hidden)
    if group.state is not None:
        for matrix in group.state.matrices:
            yield (matrix.role, matrix.rows, matrix.cols, matrix.copies)
        if group.state.vector_params:
            yield ("vector", 1, group.state.vector_params, 1)
    if group.mlp is not None:
        yield from _mlp_tensors(group.mlp.width, hidden, group.mlp.gated, group.mlp.bias, "")
    if group.moe is not None:
        yield from _moe_tensors(group.moe, hidden)


def _attention_tensors(a: Attention, hidden: int) -> Iterator[Shape]:
    if a.latent is not None:
        yield from _latent_tensors(a, a.latent, hidden)
        return
    q, k, v = _widths(a)
    if a.q_rank is None:
        yield ("attn_q", q * (2 if a.output_gate else 1), hidden, 1)
    else:
        yield ("attn_q_a", a.q_rank, hidden, 1)
        yield ("attn_q_b", q, a.q_rank, 1)
    if k:
        yield ("attn_k", k, hidden, 1)
    if v:
        yield ("attn_v", v, hidden, 1)
    if a.o_rank is None:
        yield ("attn_output", hidden, a.heads * a.value_dim, 1)
    else:
        yield ("attn_output_a", a.o_rank, a.heads * a.value_dim // a.o_groups, a.o_groups)
        yield ("attn_output_b", hidden, a.o_groups * a.o_rank, 1)
    yield from _attention_vectors(a, hidden)


def _widths(a: Attention) -> tuple[int, int, int]:
    """Widths of the query, key and value projections; 0 where a layer has none of its own."""
    k = a.kv_heads * a.head_dim if a.owns_cache else 0
    v = a.kv_heads * a.value_dim if a.owns_cache and not (a.value_is_key or a.single_kv) else 0
    return a.heads * a.head_dim, k, v


def _attention_vectors(a: Attention, hidden: int) -> Iterator[Shape]:
    q, k, v = _widths(a)
    biases = (q + k + v if a.bias_qkv else 0) + (hidden if a.bias_o else 0)
    if biases:
        yield ("bias", 1, biases, 1)
    if a.qk_norm == "per_head":
        yield ("norm", 1, a.head_dim * (2 if k else 1), 1)
    elif a.qk_norm == "full":
        yield ("norm", 1, q + k, 1)
    if a.sinks:
        yield ("vector", 1, a.heads, 1)


def _latent_tensors(a: Attention, latent: Latent, hidden: int) -> Iterator[Shape]:
    q = a.heads * (latent.nope_dim + latent.rope_dim)
    norms = latent.kv_rank
    if latent.q_rank is None:
        yield ("attn_q", q, hidden, 1)
    else:
        yield ("attn_q_a", latent.q_rank, hidden, 1)
        yield ("attn_q_b", q, latent.q_rank, 1)
        norms += latent.q_rank
    yield ("attn_kv_a", latent.kv_rank + latent.rope_dim, hidden, 1)
    yield ("attn_kv_b", a.heads * (latent.nope_dim + latent.v_dim), latent.kv_rank, 1)
    yield ("attn_output", hidden, a.heads * latent.v_dim, 1)
    yield ("norm", 1, norms, 1)
    if a.indexer is not None and not a.indexer.shared:
        width = a.indexer.heads * a.indexer.head_dim
        yield ("indexer_q", width, latent.q_rank or hidden, 1)
        yield ("indexer_k", a.indexer.head_dim, hidden, 1)
        yield ("indexer_weights", a.indexer.heads, hidden, 1)
        yield ("norm", 1, 2 * a.indexer.head_dim, 1)


def _mlp_tensors(
    width: int, hidden: int, gated: bool, bias: bool, suffix: str, copies: int = 1
) -> Iterator[Shape]:
    if gated:
        yield (f"ffn_gate{suffix}", width, hidden, copies)
    yield (f"ffn_up{suffix}", width, hidden, copies)
    yield (f"ffn_down{suffix}", hidden, width, copies)
    if bias:
        role = "ffn_bias_exps" if suffix == "_exps" else "bias"
        yield (role, 1, width * (2 if gated else 1) + hidden, copies)


def _moe_tensors(moe: Moe, hidden: int) -> Iterator[Shape]:
    yield ("ffn_gate_inp", moe.experts, hidden, 1)
    if moe.router_bias:
        yield ("bias", 1, moe.experts, 1)
    inner = moe.latent or hidden
    if moe.latent is not None:
        yield ("ffn_latent_down", moe.latent, hidden, 1)
        yield ("ffn_latent_up", hidden, moe.latent, 1)
    yield from _mlp_tensors(moe.width, inner, moe.gated, moe.bias, "_exps", moe.experts)
    if moe.shared_width:
        yield from _mlp_tensors(moe.shared_width, hidden, moe.gated, False, "_shexp")
        if moe.shared_gate:
            yield ("ffn_gate_inp_shexp", 1, hidden, 1)
