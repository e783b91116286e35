"""Stacks that are not a row of (mixer, feed-forward) layers: Nemotron-H, OpenELM, DeepSeek V4, RWKV."""

from __future__ import annotations

from typing import Literal

from slmopt.readers.hf_attention import HEADS, attention, read_heads, read_indexer
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_ffn import WIDTH, read_experts
from slmopt.readers.hf_fields import MOST_LAYERS, Fields, show, whole
from slmopt.readers.hf_stack import LAYERS, Stack, norm_size
from slmopt.readers.hf_state import mamba2
from slmopt.specs.base import SpecError
from slmopt.specs.model import Attention, LayerGroup, Matrix, Mlp, State

NEMOTRON = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron(f: Fields, family: Family, hidden: int) -> Stack:
    """Blocks of a single purpose each: a state, attention, an MLP or experts, with one norm."""
    names = nemotron_blocks(f, "hybrid_override_pattern", "layers_block_type", "layer_types")
    made = {name: nemotron_block(f, family, hidden, name) for name in dict.fromkeys(names)}
    return Stack([made[name] for name in names])


def nemotron_blocks(f: Fields, pattern_name: str, *list_names: str) -> list[str]:
    """The blocks in order, from a list of words or a pattern of letters."""
    listed = f.items(*list_names)
    if listed is not None:
        words = {"full_attention": "attention", "linear_attention": "mamba", "mamba2": "mamba"}
        blocks = [words.get(item, item) if isinstance(item, str) else "" for item in listed]
    else:
        pattern = f.text(pattern_name)
        if len(pattern) > MOST_LAYERS:
            raise SpecError(
                f"{pattern_name} has {len(pattern):,} letters: at most {MOST_LAYERS:,} layers are read."
            )
        blocks = [NEMOTRON.get(letter, letter) for letter in pattern]
    wrong = next((block for block in blocks if block not in NEMOTRON.values()), None)
    if wrong is not None:
        raise SpecError(
            f"{pattern_name} holds {show(wrong)}: it should hold M (state), * (attention), - (MLP), E (experts)."
        )
    return blocks


def nemotron_block(f: Fields, family: Family, hidden: int, name: str) -> LayerGroup:
    """One block of Nemotron-H."""
    norm = norm_size(family, hidden)
    if name == "mamba":
        return LayerGroup(count=1, state=mamba2(f, hidden), norm_params=norm)
    if name == "attention":
        return LayerGroup(count=1, attention=attention(f, family, hidden, "full"), norm_params=norm)
    if name == "moe":
        experts = read_experts(f, family, hidden)
        if experts is None:
            raise SpecError("n_routed_experts is missing: a block of experts needs it.")
        return LayerGroup(count=1, moe=experts, norm_params=norm)
    mlp = Mlp(width=f.whole(*WIDTH), gated=family.gated, bias=f.flag("mlp_bias"))
    return LayerGroup(count=1, mlp=mlp, norm_params=norm)


def openelm(f: Fields, _family: Family, hidden: int) -> Stack:
    """Heads and widths that grow from layer to layer."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    heads = f.per_layer(layers, "num_query_heads", *HEADS)
    kv_heads = f.per_layer(layers, "num_kv_heads", "num_key_value_heads")
    widths = f.per_layer(layers, "intermediate_size") or _multiplied(f, hidden, layers)
    if heads is None or kv_heads is None:
        raise SpecError("num_query_heads is missing: OpenELM gives a list of heads, one for each layer.")
    head_dim = f.whole("head_dim")
    norm: Literal["per_head", "none"] = "per_head" if f.flag("normalize_qk_projections") else "none"
    stack = []
    for q, kv, width in zip(heads, kv_heads, widths, strict=True):
        mixer = Attention(
            heads=whole("num_query_heads", q),
            kv_heads=whole("num_kv_heads", kv),
            head_dim=head_dim,
            qk_norm=norm,
        )
        mlp = Mlp(width=whole("ffn_multipliers", width), gated=f.flag("ffn_with_glu"))
        stack.append(LayerGroup(count=1, attention=mixer, mlp=mlp, norm_params=2 * hidden))
    return Stack(stack)


def _multiplied(f: Fields, hidden: int, layers: int) -> list[int]:
    factors = f.items("ffn_multipliers")
    divisor = f.maybe("ffn_dim_divisor") or 256
    if factors is None or len(factors) != layers:
        raise SpecError("ffn_multipliers is missing: OpenELM gives a list of factors, one for each layer.")
    widths = []
    for factor in factors:
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1e3:
            raise SpecError(f"ffn_multipliers holds {show(factor)}: it should hold numbers above 0.")
        wanted = factor * hidden
        width = max(divisor, int(wanted + divisor / 2) // divisor * divisor)
        widths.append(width if width >= 0.9 * wanted else width + divisor)
    return widths


def deepseek_v4(f: Fields, family: Family, hidden: int) -> Stack:
    """A window of raw tokens in each layer; beside it one entry for every 4 (with an indexer) or 128 tokens."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    moe = read_experts(f, family, hidden)
    streams = f.whole("hc_mult")
    mix = (2 + streams) * streams
    ratios = _ratios(f, layers)
    made: dict[int, LayerGroup] = {}
    for ratio in dict.fromkeys(ratios):
        matrices = [Matrix(role="hc_mix", rows=mix, cols=streams * hidden, copies=2)]
        vectors = 2 * (mix + 3)
        mixer = _v4_attention(f, hidden, ratio)
        if ratio:
            dim = mixer.head_dim * (2 if mixer.indexer is not None else 1)
            matrices.append(Matrix(role="attn_compress", rows=dim, cols=hidden, copies=2))
            vectors += ratio * dim + mixer.head_dim
        if mixer.indexer is not None:
            index = mixer.indexer
            matrices += [
                Matrix(role="indexer_k", rows=2 * index.head_dim, cols=hidden, copies=2),
                Matrix(role="indexer_q", rows=index.heads * index.head_dim, cols=mixer.q_rank or hidden),
                Matrix(role="indexer_weights", rows=index.heads, cols=hidden),
            ]
            vectors += 2 * index.head_dim * ratio + index.head_dim
        norms = 2 * hidden + (mixer.q_rank or 0) + mixer.head_dim
        made[ratio] = LayerGroup(
            count=1,
            attention=mixer,
            moe=moe,
            norm_params=norms,
            vector_params=vectors,
            matrices=tuple(matrices),
        )
    head = Matrix(role="hc_head", rows=streams, cols=streams * hidden)
    return Stack([made[ratio] for ratio in ratios], matrices=(head,), extra_params=streams + 1)


def _v4_attention(f: Fields, hidden: int, ratio: int) -> Attention:
    heads = read_heads(f, hidden)
    groups = f.whole("o_groups")
    if heads.heads * heads.head_dim % groups:
        raise SpecError(f"o_groups = {groups}: it should divide the {heads.heads} heads.")
    return Attention(
        heads=heads.heads,
        kv_heads=1,
        head_dim=heads.head_dim,
        window=f.whole("sliding_window"),
        single_kv=True,
        sinks=True,
        q_rank=f.whole("q_lora_rank"),
        o_rank=f.whole("o_lora_rank"),
        o_groups=groups,
        compress=ratio or None,
        indexer=read_indexer(f) if ratio == 4 else None,
    )


def _ratios(f: Fields, layers: int) -> list[int]:
    listed = f.items("compress_ratios")
    if listed is not None:
        if len(listed) < layers:
            raise SpecError(
                f"compress_ratios has {len(listed)} entries for {layers} layers: it should have one for each."
            )
        return [whole("compress_ratios", item, 0, 1_000_000) for item in listed[:layers]]
    words = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    kinds = f.items("layer_types")
    if kinds is not None and len(kinds) >= layers and all(kind in words for kind in kinds):
        return [words[kind] for kind in kinds[:layers]]
    f.assume(
        f"layers compress 128, 128, then 128 and 4 in turn (the default of {f.model_type}; not in the file)"
    )
    return [128 if i < 2 or i % 2 == 0 else 4 for i in range(layers)]


def rwkv(f: Fields, _family: Family, hidden: int) -> Stack:
    """RWKV 4 and 5: time mixing with a state, channel mixing with a token shift."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    inner = f.maybe("attention_hidden_size") or hidden
    fifth = f.model_type != "rwkv"
    width = f.maybe("intermediate_size") or (int(3.5 * hidden) // 32 * 32 if fifth else 4 * hidden)
    head = f.maybe("head_size", "head_dim") or 64
    if fifth:
        # Values meet keys in a matrix a head; gate, bonus, decay and four mixes; a group norm after.
        state = State(
            kind="recurrent",
            matrices=(Matrix(role="state_time_mix", rows=inner, cols=hidden, copies=5),),
            vector_params=4 * hidden + 2 * inner + 2 * inner,
            state_elements=inner * head,
            conv_elements=2 * hidden,
            scan_flops=5 * inner * head,
        )
    else:
        state = State(
            kind="recurrent",
            matrices=(Matrix(role="state_time_mix", rows=inner, cols=hidden, copies=4),),
            vector_params=3 * hidden + 2 * inner,
            state_elements=3 * inner,
            conv_elements=2 * hidden,
            scan_flops=10 * inner,
        )
    channel = (
        Matrix(role="ffn_key", rows=width, cols=hidden),
        Matrix(role="ffn_receptance", rows=hidden, cols=hidden),
        Matrix(role="ffn_value", rows=hidden, cols=width),
    )
    layer = LayerGroup(
        count=1, state=state, norm_params=4 * hidden, vector_params=2 * hidden, matrices=channel
    )
    return Stack([layer] * layers, extra_params=2 * hidden)
