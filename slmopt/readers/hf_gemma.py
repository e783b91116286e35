"""Gemma 3n and Gemma 4: shared caches, per-layer embeddings, wider global heads, experts beside a dense block."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.readers.hf_attention import HEADS, KV_HEADS, layer_kinds, window_of
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_ffn import ACTIVE, EXPERTS
from slmopt.readers.hf_fields import MOST_LAYERS, Fields
from slmopt.readers.hf_stack import LAYERS, Stack
from slmopt.specs.base import SpecError
from slmopt.specs.model import Attention, LayerGroup, Matrix, Mlp, Moe


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a layer is: full or window, with a cache of its own or not."""

    full: bool
    owns: bool
    width: int


def gemma4(f: Fields, family: Family, hidden: int) -> Stack:
    """Gemma 4: global layers have their own head width, and may take their values from their keys."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    plans = _plans(f, family, layers)
    ple = f.maybe("hidden_size_per_layer_input", least=0) or 0
    moe = _gemma4_experts(f) if f.flag("enable_moe_block") else None
    # Six norms where experts run beside the dense block, four else; the per-layer input adds one.
    norms = hidden * ((7 if moe else 4) + (1 if ple else 0))
    vectors = hidden + moe.experts if moe else 0
    made = {
        plan: LayerGroup(
            count=1,
            attention=_gemma4_attention(f, plan),
            mlp=Mlp(width=plan.width),
            moe=moe,
            norm_params=norms,
            vector_params=vectors,
            matrices=_per_layer_input(ple, hidden),
        )
        for plan in dict.fromkeys(plans)
    }
    matrices, lookups = _per_layer_embedding(f, layers, ple, hidden)
    return Stack([made[plan] for plan in plans], matrices=matrices, lookups=lookups, extra_params=ple)


def _gemma4_attention(f: Fields, plan: _Plan) -> Attention:
    head_dim, kv = f.whole("head_dim"), f.maybe(*KV_HEADS) or f.whole(*HEADS)
    same = False
    if plan.full:
        head_dim = f.maybe("global_head_dim") or 512
        if not f.present("global_head_dim"):
            f.assume(f"global_head_dim = {head_dim} (the default of {f.model_type}; not in the file)")
        same = f.flag("attention_k_eq_v")
        if same:
            kv = f.maybe("num_global_key_value_heads") or kv
    return Attention(
        heads=f.whole(*HEADS),
        kv_heads=kv,
        head_dim=head_dim,
        window=None if plan.full else window_of(f),
        qk_norm="per_head",
        value_is_key=same,
        owns_cache=plan.owns,
    )


def _gemma4_experts(f: Fields) -> Moe:
    return Moe(
        experts=f.whole(*EXPERTS),
        active=f.whole("top_k_experts", *ACTIVE),
        width=f.whole("moe_intermediate_size"),
    )


def gemma3n(f: Fields, family: Family, hidden: int) -> Stack:
    """Gemma 3n: several residual streams (AltUp), a low-rank side path (LAuReL), per-layer embeddings."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    plans = _plans(f, family, layers)
    ple = f.whole("hidden_size_per_layer_input")
    streams, rank = f.whole("altup_num_inputs"), f.whole("laurel_rank")
    matrices = (
        Matrix(role="altup_router", rows=streams, cols=hidden),
        Matrix(role="laurel_l", rows=rank, cols=hidden),
        Matrix(role="laurel_r", rows=hidden, cols=rank),
        *_per_layer_input(ple, hidden),
    )
    vectors = hidden + streams**2 + streams**3
    made: dict[_Plan, LayerGroup] = {}
    for plan in dict.fromkeys(plans):
        mixer = Attention(
            heads=f.whole(*HEADS),
            kv_heads=f.whole(*KV_HEADS),
            head_dim=f.whole("head_dim"),
            window=None if plan.full else window_of(f),
            qk_norm="per_head",
            owns_cache=plan.owns,
        )
        made[plan] = LayerGroup(
            count=1,
            attention=mixer,
            mlp=Mlp(width=plan.width),
            norm_params=7 * hidden,
            vector_params=vectors,
            matrices=matrices,
        )
    outer, lookups = _per_layer_embedding(f, layers, ple, hidden)
    sides = (
        (Matrix(role="altup_proj", rows=hidden, cols=hidden, copies=2 * (streams - 1)),)
        if streams > 1
        else ()
    )
    return Stack([made[plan] for plan in plans], matrices=(*outer, *sides), lookups=lookups, extra_params=ple)


def _plans(f: Fields, family: Family, layers: int) -> list[_Plan]:
    kinds = layer_kinds(f, family, layers)
    if f.items("layer_types") is None and f.model_type.startswith("gemma4"):
        kinds[-1] = "full"  # the last layer always sees all
    shared = f.maybe("num_kv_shared_layers", least=0) or 0
    if shared >= layers:
        raise SpecError(f"num_kv_shared_layers = {shared}: it should be below the {layers} layers.")
    widths = f.per_layer(layers, "intermediate_size")
    width = 0 if widths else f.whole("intermediate_size")
    double = f.flag("use_double_wide_mlp")
    plans = []
    for i, kind in enumerate(kinds):
        owns = i < layers - shared
        here = widths[i] if widths else width * (2 if double and not owns else 1)
        plans.append(_Plan(kind == "full", owns, here))
    return plans


def _per_layer_input(ple: int, hidden: int) -> tuple[Matrix, ...]:
    if not ple:
        return ()
    return (
        Matrix(role="per_layer_gate", rows=ple, cols=hidden),
        Matrix(role="per_layer_proj", rows=hidden, cols=ple),
    )


def _per_layer_embedding(
    f: Fields, layers: int, ple: int, hidden: int
) -> tuple[tuple[Matrix, ...], tuple[Matrix, ...]]:
    if not ple:
        return (), ()
    rows = f.maybe("vocab_size_per_layer_input") or f.whole("vocab_size")
    return (
        (Matrix(role="per_layer_model_proj", rows=layers * ple, cols=hidden),),
        (Matrix(role="per_layer_token_embd", rows=rows, cols=layers * ple),),
    )
