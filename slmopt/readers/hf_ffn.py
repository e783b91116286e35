"""The feed-forward block of each layer: dense, experts, or both, by each family's way of saying which."""

from __future__ import annotations

from slmopt.readers.hf_attention import decide
from slmopt.readers.hf_families import Family
from slmopt.readers.hf_fields import Fields, show, whole
from slmopt.specs.base import SpecError
from slmopt.specs.model import Mlp, Moe

WIDTH = (
    "intermediate_size",
    "n_inner",
    "ffn_dim",
    "ffn_hidden_size",
    "ff_intermediate_size",
    "dim_ff",
    "dff",
)
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
ACTIVE = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_top_k",
    "moe_topk",
    "moe_k",
    "top_k_experts",
)
EXPERT_WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size")
SHARED_WIDTH = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "shared_experts_intermediate_size",
)
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")


def dense_width(f: Fields, family: Family, hidden: int) -> int:
    """Width of the dense block; four times the hidden size where nothing says otherwise, as its families do."""
    width = f.maybe("dense_intermediate_size", "intermediate_size_mlp") or f.maybe(*WIDTH)
    if width is None:
        ratio = f.maybe("expansion_ratio")
        width = hidden * (ratio or 4)
        if ratio is None and not any(name in f.data for name in WIDTH):
            f.assume(f"intermediate_size = 4 × hidden = {width} (not in the file)")
    if f.present("block_auto_adjust_ff_dim", "block_multiple_of") or f.model_type == "lfm2":
        width = _adjusted(f, width)
    return max(1, width // family.width_divisor)


def _adjusted(f: Fields, width: int) -> int:
    """LFM2: two thirds of what the file says, times a factor, rounded up to a multiple."""
    if not f.flag("block_auto_adjust_ff_dim"):
        return width
    name, factor = f.raw("block_ffn_dim_multiplier", silent=True)
    if factor is not None and (
        isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1e3
    ):
        raise SpecError(f"{name} = {show(factor)}: it should be a number above 0.")
    multiple = f.maybe("block_multiple_of", silent=True) or 1
    scaled = int((1.0 if factor is None else factor) * int(2 * width / 3))
    return -(-scaled // multiple) * multiple


def read_experts(f: Fields, family: Family, hidden: int) -> Moe | None:
    """The routed and shared experts, or None for a dense model."""
    count = f.maybe(*EXPERTS, least=0, most=1_000_000)
    if not count or ("is_moe" in f.data and not f.flag("is_moe")):
        return None
    width = f.maybe(*EXPERT_WIDTH) or f.maybe(*WIDTH) or 4 * hidden
    return Moe(
        experts=count,
        active=f.whole(*ACTIVE, most=count),
        width=width,
        gated=family.gated,
        bias=family.expert_bias,
        shared_width=_shared_width(f, width),
        shared_gate=family.shared_gate,
        router_bias=family.router_bias,
        latent=f.maybe("moe_latent_size"),
    )


def _shared_width(f: Fields, width: int) -> int:
    if f.model_type.startswith("llama4"):
        return f.whole("intermediate_size")
    given = f.maybe(*SHARED_WIDTH, least=0)
    if given is not None and any(name in f.data for name in SHARED_WIDTH):
        return given
    name, value = f.raw(*SHARED)
    shared = (
        0
        if value is None
        else whole(name, value[0] if isinstance(value, list) and value else value, 0, 10_000)
    )
    return shared * width or given or 0


def expert_layers(f: Fields, layers: int) -> list[bool]:
    """Which layers have experts."""
    listed = f.items("mlp_layer_types")
    if listed is not None:
        return _marks("mlp_layer_types", [item != "dense" for item in listed], layers)
    frequency = f.data.get("moe_layer_freq")
    if isinstance(frequency, list):
        return _marks("moe_layer_freq", [bool(item) for item in frequency], layers)
    chosen = f.items("moe_layers")
    if chosen is not None:
        return [i in chosen for i in range(layers)]
    if f.model_type.startswith("llama4"):
        step = f.maybe("interleave_moe_layer_step") or 1
        return [(i + 1) % step == 0 for i in range(layers)]
    if f.raw("expert_layer_period", silent=True)[1] is not None:
        period, offset = f.whole("expert_layer_period"), f.whole("expert_layer_offset", least=0)
        return [i % period == offset for i in range(layers)]
    if f.raw("moe_layer_start_index", silent=True)[1] is not None:
        first, every = f.whole("moe_layer_start_index", least=0), f.maybe("moe_layer_interval") or 1
        last = f.maybe("moe_layer_end_index", least=-1, silent=True)
        end = layers - 1 if last is None or last < 0 else last
        return [(i + 1) % every == 0 and first <= i <= end for i in range(layers)]
    first = f.maybe("first_k_dense_replace", "num_dense_layers", least=0) or 0
    step = f.maybe("decoder_sparse_step", "moe_layer_freq", silent=True) or 1
    dense = set(map(str, f.items("mlp_only_layers") or []))
    if f.raw("decoder_sparse_step", silent=True)[1] is not None:
        return [str(i) not in dense and (i + 1) % step == 0 for i in range(layers)]
    return [i >= first and i % step == 0 for i in range(layers)]


def _marks(name: str, marks: list[bool], layers: int) -> list[bool]:
    if len(marks) < layers:
        raise SpecError(f"{name} has {len(marks)} entries for {layers} layers: it should have one for each.")
    return marks[:layers]


def feed_forward(f: Fields, family: Family, hidden: int, layers: int) -> list[tuple[Mlp | None, Moe | None]]:
    """The block of every layer."""
    moe = read_experts(f, family, hidden)
    if moe is None:
        shared = f.maybe("shared_intermediate_size", least=0) if f.model_type == "granitemoehybrid" else None
        width = shared or dense_width(f, family, hidden)
        dense = Mlp(width=width, gated=family.gated, bias=decide(f, family.mlp_bias))
        return [(dense, None)] * layers
    where = expert_layers(f, layers)
    if all(where):
        return [(None, moe)] * layers
    dense = Mlp(width=dense_width(f, family, hidden), gated=family.gated, bias=decide(f, family.mlp_bias))
    return [(None, moe) if sparse else (dense, None) for sparse in where]
