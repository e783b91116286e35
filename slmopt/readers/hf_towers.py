"""Vision and audio towers: weights that are stored with a language model and idle while it writes text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from slmopt.readers.hf_fields import MOST_LAYERS, Fields, show
from slmopt.specs.base import SpecError

DEPTH = ("depth", "num_hidden_layers", "vt_num_hidden_layers")
PATCH = ("patch_size",)
CHANNELS = ("in_channels", "in_chans", "num_channels")


def tower_params(config: Mapping[str, Any], model_type: str, hidden: int, assumed: list[str]) -> int:
    """Weights of all towers and projectors of a config; those that cannot be counted are named in ``assumed``."""
    total = 0
    for part in ("vision_config", "audio_config"):
        inner = config.get(part)
        if inner is None and (part, model_type) not in _IMPLIED:
            continue
        if inner is not None and not isinstance(inner, Mapping):
            raise SpecError(f"{part} = {show(inner)}: it should be an object.")
        kind = inner.get("model_type") if inner else None
        counter = _COUNTERS.get((part, model_type)) or (
            _COUNTERS.get((part, kind)) if isinstance(kind, str) else None
        )
        noun = part.removesuffix("_config")
        if counter is None:
            assumed.append(
                f"{noun} tower not counted: its architecture ({kind or model_type or 'none given'}) is unknown"
            )
            continue
        noted: list[str] = []
        own = f"{model_type}.{part}"
        v = Fields(inner or {}, own if model_type in _OWN_DEFAULTS else str(kind or own), noted)
        total += counter(v, Fields(config, model_type, noted), hidden)
        if noted:
            assumed.append(f"{noun} tower: {'; '.join(noted)}")
    if config.get("img_processor") is not None:
        assumed.append("vision tower not counted: img_processor does not give its shape")
    return total


def _blocks(depth: int, width: int, inner: int, *, norm: int, bias: bool = True, gated: bool = False) -> int:
    """Transformer blocks: four attention matrices, a plain or gated MLP, two norms of ``norm`` weights each."""
    matrices = 4 * width * width + (3 if gated else 2) * width * inner
    biases = 4 * width + (2 if gated else 1) * inner + width if bias else 0
    return depth * (matrices + biases + 2 * norm)


def _mlp(*sizes: int, bias: bool = True) -> int:
    """Dense layers one after the other."""
    return sum(a * b + (b if bias else 0) for a, b in pairwise(sizes))


def _merged(v: Fields) -> int:
    return (v.maybe("spatial_merge_size") or 2) ** 2


def _patch(v: Fields) -> int:
    side = v.whole(*PATCH, most=4096)
    return side * side * (v.maybe(*CHANNELS) or 3)


def _depth(v: Fields) -> int:
    return v.whole(*DEPTH, most=MOST_LAYERS)


def _qwen3(v: Fields, _: Fields, hidden: int) -> int:
    width, inner, out = (
        v.whole("hidden_size"),
        v.whole("intermediate_size"),
        v.maybe("out_hidden_size") or hidden,
    )
    wide = width * _merged(v)
    taps = len(v.items("deepstack_visual_indexes") or [])
    start = (
        (v.maybe("temporal_patch_size") or 2) * _patch(v) * width
        + width
        + v.whole("num_position_embeddings") * width
    )
    merger = 2 * width + _mlp(wide, wide, out)
    return (
        start
        + _blocks(_depth(v), width, inner, norm=2 * width)
        + merger
        + taps * (2 * wide + _mlp(wide, wide, out))
    )


def _qwen2(v: Fields, _: Fields, hidden: int) -> int:
    width = v.whole("embed_dim")
    inner = width * v.whole("mlp_ratio")
    wide = width * _merged(v)
    start = (v.maybe("temporal_patch_size") or 2) * _patch(v) * width
    out = v.maybe("hidden_size") or hidden
    return start + _blocks(_depth(v), width, inner, norm=2 * width) + 2 * width + _mlp(wide, wide, out)


def _qwen2_5(v: Fields, _: Fields, hidden: int) -> int:
    width, inner, out = (
        v.whole("hidden_size"),
        v.whole("intermediate_size"),
        v.maybe("out_hidden_size") or hidden,
    )
    wide = width * _merged(v)
    start = (v.maybe("temporal_patch_size") or 2) * _patch(v) * width
    return start + _blocks(_depth(v), width, inner, norm=width, gated=True) + width + _mlp(wide, wide, out)


def _llama4(v: Fields, _: Fields, hidden: int) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    positions = (v.whole("image_size") // v.whole(*PATCH)) ** 2 + 1
    start = width + positions * width + _patch(v) * width + 4 * width
    adapter = inner * v.whole("projector_input_dim") + v.whole("projector_input_dim") * v.whole(
        "projector_output_dim"
    )
    return (
        start
        + _blocks(_depth(v), width, inner, norm=2 * width)
        + adapter
        + v.whole("vision_output_dim") * hidden
    )


def _siglip(v: Fields) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    positions = v.maybe("num_patches") or (v.whole("image_size") // v.whole(*PATCH)) ** 2
    start = _patch(v) * width + width + positions * width
    head = "vision_use_head" not in v.data or v.flag("vision_use_head")
    pooled = width + 4 * width * width + 4 * width + 2 * width + _mlp(width, inner, width) if head else 0
    return start + _blocks(_depth(v), width, inner, norm=2 * width) + 2 * width + pooled


def _gemma3(v: Fields, _: Fields, hidden: int) -> int:
    width = v.whole("hidden_size")
    return _siglip(v) + width * hidden + width


def _lfm2(v: Fields, f: Fields, hidden: int) -> int:
    wide = v.whole("hidden_size") * (f.maybe("downsample_factor") or 2) ** 2
    norm = 2 * wide if f.flag("projector_use_layernorm") else 0
    middle = f.maybe("projector_hidden_size") or hidden
    return _siglip(v) + norm + _mlp(wide, middle, hidden, bias=f.flag("projector_bias"))


def _llava(v: Fields, _: Fields, hidden: int) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    positions = (v.whole("image_size") // v.whole(*PATCH)) ** 2 + 1
    start = width + _patch(v) * width + positions * width + 4 * width
    return start + _blocks(_depth(v), width, inner, norm=2 * width) + _mlp(width, hidden, hidden)


def _pixtral(v: Fields, f: Fields, hidden: int) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    blocks = _blocks(_depth(v), width, inner, norm=width, bias=False, gated=True)
    bias = f.flag("multimodal_projector_bias")
    merger = width * _merged(f) * width
    return _patch(v) * width + width + blocks + width + merger + _mlp(width, hidden, hidden, bias=bias)


def _kimi(v: Fields, _: Fields, hidden: int) -> int:
    width, inner = (
        v.whole("vt_hidden_size", "hidden_size"),
        v.whole("vt_intermediate_size", "intermediate_size"),
    )
    positions = v.whole("init_pos_emb_height", "pos_emb_height") * v.whole(
        "init_pos_emb_width", "pos_emb_width"
    )
    merge = v.items("merge_kernel_size") or [2, 2]
    if not all(isinstance(side, int) and 0 < side < 100 for side in merge):
        raise SpecError(f"merge_kernel_size = {show(merge)}: it should hold two small whole numbers.")
    wide = width * math.prod(merge)
    start = _patch(v) * width + width + positions * width
    out = v.maybe("text_hidden_size") or hidden
    return (
        start
        + _blocks(_depth(v), width, inner, norm=2 * width)
        + 2 * width
        + 2 * width
        + _mlp(wide, wide, out)
    )


def _mllama(v: Fields, _: Fields, hidden: int) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    patches = (v.whole("image_size") // v.whole(*PATCH)) ** 2 + 1
    tiles = v.whole("max_num_tiles")
    ratios = v.maybe("max_aspect_ratio_id") or tiles * 2
    locals_, globals_ = _depth(v), v.whole("num_global_layers", most=MOST_LAYERS)
    block = 4 * width * width + 2 * width * inner + inner + width + 4 * width
    start = width + _patch(v) * width + patches * width + (ratios + 1) * tiles * patches * width
    tile_embeds = 2 * (ratios + 1) * tiles * width
    projector = v.whole("vision_output_dim") * hidden + hidden
    return start + tile_embeds + 3 + 4 * width + (locals_ + globals_) * block + 2 * globals_ + projector


def _minimax_m3(v: Fields, f: Fields, hidden: int) -> int:
    width, inner = v.whole("hidden_size"), v.whole("intermediate_size")
    middle = f.maybe("projector_hidden_size") or hidden
    merge = 4
    start = 2 * _patch(v) * width + 2 * width
    projector = _mlp(width, middle, hidden) + _mlp(merge * hidden, middle, hidden)
    return start + _blocks(_depth(v), width, inner, norm=2 * width) + projector


def _gemma4_vision(v: Fields, _: Fields, hidden: int) -> int:
    width, inner, depth = v.whole("hidden_size"), v.whole("intermediate_size"), _depth(v)
    heads = v.whole("num_attention_heads")
    kv, head = v.maybe("num_key_value_heads") or heads, v.maybe("head_dim") or width // heads
    attention = 2 * width * head * (heads + kv) + 2 * head
    start = 2 * v.whole("position_embedding_size") * width + _patch(v) * width
    standardize = 2 * width if v.flag("standardize") else 0
    return start + depth * (attention + 3 * width * inner + 4 * width) + width * hidden + standardize


def _gemma4_audio(v: Fields, _: Fields, hidden: int) -> int:
    width, depth = v.whole("hidden_size"), _depth(v)
    head = width // v.whole("num_attention_heads")
    first, second, out = 128, 32, v.whole("output_proj_dims")
    feed = 2 * (2 * 4 * width * width + 2 * width)
    attention = 5 * width * width + head
    conv = 3 * width * width + width * v.whole("conv_kernel_size") + 2 * width
    block = feed + attention + conv + 3 * width
    # Two strided 3 by 3 convolutions leave a quarter of the 128 mel bins.
    start = 9 * first + first + 9 * first * second + second + second * 32 * width
    return start + depth * block + _mlp(width, out) + out * hidden


Counter = Callable[[Fields, Fields, int], int]
_COUNTERS: dict[tuple[str, str], Counter] = {
    ("vision_config", "qwen2_vl"): _qwen2,
    ("vision_config", "qwen2_5_vl"): _qwen2_5,
    ("vision_config", "qwen3_vl"): _qwen3,
    ("vision_config", "qwen3_vl_moe"): _qwen3,
    ("vision_config", "qwen3_5"): _qwen3,
    ("vision_config", "qwen3_5_moe"): _qwen3,
    ("vision_config", "llama4"): _llama4,
    ("vision_config", "gemma3"): _gemma3,
    ("vision_config", "lfm2_vl"): _lfm2,
    ("vision_config", "llava"): _llava,
    ("vision_config", "mistral3"): _pixtral,
    ("vision_config", "pixtral"): _pixtral,
    ("vision_config", "kimi_k25"): _kimi,
    ("vision_config", "mllama"): _mllama,
    ("vision_config", "minimax_m3_vl"): _minimax_m3,
    ("vision_config", "gemma4"): _gemma4_vision,
    ("audio_config", "gemma4"): _gemma4_audio,
}
_IMPLIED = {("vision_config", "llama4")}
"""Towers that the library builds even where the file is silent about them."""
_OWN_DEFAULTS = frozenset(kind for _, kind in _COUNTERS) - {"gemma3", "lfm2_vl", "llava", "mistral3"}
"""Model types with a tower of their own; the others name the type of the tower that they use."""
