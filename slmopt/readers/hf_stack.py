"""The ordinary stack: each layer a mixer (attention, a state, or both) and a feed-forward block."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.readers.hf_attention import HEAD_DIM, HEADS, attention, read_heads
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_ffn import ACTIVE, feed_forward, read_experts
from slmopt.readers.hf_fields import MOST_LAYERS, Fields
from slmopt.readers.hf_kinds import mixer_kinds
from slmopt.readers.hf_state import gated_delta, kimi_delta, lightning, mamba1, mamba2, recurrent, short_conv
from slmopt.specs.base import SpecError
from slmopt.specs.model import Attention, Indexer, LayerGroup, Matrix, Mlp, State

LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "num_transformer_layers")

Mixer = tuple[Attention | None, State | None]


@dataclass(slots=True)
class Stack:
    """The layers in order, and what stands beside them."""

    layers: list[LayerGroup]
    matrices: tuple[Matrix, ...] = ()
    lookups: tuple[Matrix, ...] = ()
    extra_params: int = 0


def norm_size(family: Family, hidden: int) -> int:
    """Weights (and biases) of one norm of the hidden width."""
    return {"rms": hidden, "layer_plain": hidden, "layer": 2 * hidden, "none": 0}[family.norm]


def read_stack(f: Fields, family: Family, hidden: int, known: bool = True) -> Stack:
    """Every layer of an ordinary decoder or hybrid."""
    layers = f.whole(*LAYERS, most=MOST_LAYERS)
    kinds = mixer_kinds(f, family, layers)
    blocks = feed_forward(f, family, hidden, layers) if _has_blocks(f) else [(None, None)] * layers
    built: dict[str, Mixer] = {}
    made: dict[object, LayerGroup] = {}
    stack: list[LayerGroup] = []
    for kind, (mlp, moe) in zip(kinds, blocks, strict=True):
        if kind not in built:
            built[kind] = mixer(f, family, hidden, kind) if known else guessed(f, family, hidden, kind)
        key = (kind, mlp is None, moe is None)
        if key not in made:
            made[key] = _layer(f, family, hidden, built[kind], LayerGroup(count=1, mlp=mlp, moe=moe))
        stack.append(made[key])
    return Stack(stack)


def _has_blocks(f: Fields) -> bool:
    return f.model_type not in {"mamba", "mamba2", "falcon_mamba"}


def _layer(f: Fields, family: Family, hidden: int, parts: Mixer, block: LayerGroup) -> LayerGroup:
    attended, state = parts
    norm_extra, vectors = extras(f, family, hidden, attended, block)
    matrices: tuple[Matrix, ...] = ()
    if attended is not None and attended.latent is None and attended.indexer is not None:
        index = attended.indexer
        matrices = (
            Matrix(role="indexer_q", rows=index.heads * index.head_dim, cols=hidden),
            Matrix(role="indexer_k", rows=index.head_dim, cols=hidden),
        )
        norm_extra += 2 * index.head_dim
    return block.model_copy(
        update={
            "attention": attended,
            "state": state,
            "norm_params": family_norms(f, family) * norm_size(family, hidden) + norm_extra,
            "vector_params": vectors,
            "matrices": matrices,
        }
    )


def family_norms(f: Fields, family: Family) -> int:
    """Norms a layer; Falcon and Phi drop one where attention and MLP run side by side on the same input."""
    if f.model_type == "falcon":
        if f.flag("new_decoder_architecture"):
            return f.maybe("num_ln_in_parallel_attn", least=1, most=2) or 2
        return 1 if f.flag("parallel_attn") else 2
    if f.model_type == "stablelm" and f.flag("use_parallel_residual"):
        return 1
    return family.norms


def extras(
    f: Fields, family: Family, hidden: int, attended: Attention | None, block: LayerGroup
) -> tuple[int, int]:
    """Norm weights and vectors beyond the usual, for the few families that have them: (norms, vectors)."""
    if attended is not None and family.qk_norm == "per_head_bias" and f.flag(family.qk_norm_if):
        return 4 * attended.head_dim, 0
    if f.model_type == "bitnet" and block.mlp is not None:
        return hidden + block.mlp.width, 0
    if f.model_type.startswith("apertus"):
        return 0, 2  # the activation's two learned constants
    if f.model_type == "diffllama" and attended is not None:
        return 0, 4 * attended.head_dim
    if f.model_type == "axk1" and block.moe is not None:
        return hidden, 0
    return 0, 0


def guessed(f: Fields, family: Family, hidden: int, kind: str) -> Mixer:
    """The mixer of an unknown architecture; what its file does not describe is left out and named."""
    try:
        return mixer(f, family, hidden, kind)
    except SpecError as error:
        if kind in {"full", "window", "chunk"}:
            raise
        f.assume(f"{kind} layers: what they mix tokens with is not counted ({str(error).split(':', 1)[0]})")
        return None, None


def longcat(f: Fields, family: Family, hidden: int) -> Stack:
    """LongCat: a layer is two blocks of attention and MLP, with experts beside the first; some experts do nothing."""
    layers = f.whole("num_layers", *LAYERS, most=MOST_LAYERS // 2)
    mixed, moe = attention(f, family, hidden, "full"), read_experts(f, family, hidden)
    mlp = Mlp(width=f.whole("ffn_hidden_size"))
    idle = f.maybe("zero_expert_num", least=0) or 0
    if idle:
        f.assume(
            f"a token takes {f.whole(*ACTIVE)} experts that do something; up to as many of its picks may do nothing"
        )
    routes = (Matrix(role="ffn_gate_inp", rows=idle, cols=hidden),) if idle else ()
    first = LayerGroup(count=1, attention=mixed, mlp=mlp, moe=moe, norm_params=2 * hidden, matrices=routes)
    second = LayerGroup(count=1, attention=mixed, mlp=mlp, norm_params=2 * hidden)
    return Stack([first, second] * layers)


def mixer(f: Fields, family: Family, hidden: int, kind: str) -> Mixer:
    """What mixes tokens in a layer of ``kind``."""
    if kind == "hybrid":
        return attention(f, family, hidden, "full"), mamba2(f, hidden)
    state = _state(f, hidden, kind)
    if state is not None:
        return None, state
    attended = attention(f, family, hidden, kind)
    if kind == "shared" and attended.indexer is not None:
        attended = attended.model_copy(
            update={"indexer": attended.indexer.model_copy(update={"shared": True})}
        )
    if kind == "sparse":
        attended = attended.model_copy(update={"indexer": _block_indexer(f)})
    return attended, None


def _state(f: Fields, hidden: int, kind: str) -> State | None:
    # Later versions of the library call every state layer linear attention.
    if kind == "linear" and f.model_type in {"granitemoehybrid", "bamba"}:
        kind = "mamba"
    if kind == "mamba1" or (kind == "mamba" and f.model_type in {"jamba", "mamba", "falcon_mamba"}):
        return mamba1(f, hidden, inner_norms=f.model_type == "jamba")
    if kind == "linear" and f.model_type == "minimax":
        heads = read_heads(f, hidden)
        return lightning(hidden, heads.heads, heads.head_dim)
    if kind == "recurrent":
        return recurrent(f, hidden, f.whole(*HEADS))
    makers = {"mamba": mamba2, "linear": gated_delta, "conv": short_conv, "kda": _kda}
    return makers[kind](f, hidden) if kind in makers else None


def _block_indexer(f: Fields) -> Indexer:
    """MiniMax M3: the best blocks of 128 keys, which is what ``top_k`` counts in tokens."""
    nested = f.data.get("sparse_attention_config")
    g = Fields(nested if isinstance(nested, dict) else {}, f.model_type, f.assumed)
    return Indexer(
        heads=g.whole("sparse_num_index_heads", "index_n_heads"),
        head_dim=g.whole("sparse_index_dim", "index_head_dim"),
        top_k=g.whole("sparse_topk_blocks", "index_topk_blocks")
        * g.whole("sparse_block_size", "index_block_size"),
    )


def _kda(f: Fields, hidden: int) -> State:
    nested = f.data.get("linear_attn_config")
    g = Fields(nested, f.model_type, f.assumed) if isinstance(nested, dict) else f
    heads = g.maybe("num_heads", "linear_num_heads") or f.whole(*HEADS)
    head_dim = g.maybe("head_dim", "linear_head_dim") if g is not f else f.maybe("linear_head_dim", *HEAD_DIM)
    kernel = g.maybe("short_conv_kernel_size", "linear_conv_kernel_dim")
    return kimi_delta(hidden, heads, head_dim or hidden // heads, kernel or 4)
