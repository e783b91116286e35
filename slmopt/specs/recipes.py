"""A GGUF file type applied to a model: bits of every tensor.

The same type comes out at 4.89 bits a weight for an 8B model and 6.17 for one of 135M, since its larger blocks weigh
more there and narrow rows fall back to other blocks. Types chosen tensor by tensor (dynamic quants) are no file type:
such a file is read from its own header instead.
"""

from __future__ import annotations

from slmopt.specs.base import SpecError
from slmopt.specs.blocks import block_bits, fitting_block
from slmopt.specs.mixes import FALCON, MIXES, Mix, Rule
from slmopt.specs.model import EXPERT_ROLES, Model, Tensor

# The converter writes one-dimensional tensors, routers and convolutions in FP32, and quantisation leaves them so.
_FP32_ROLES = frozenset(
    {
        "norm",
        "vector",
        "bias",
        "output_bias",
        "position_embd",
        "token_types",
        "ffn_gate_inp",
        "ffn_gate_inp_shexp",
        "ffn_bias_exps",
    }
)
_EMBEDDINGS = frozenset({"token_embd", "per_layer_token_embd"})
# Small matrices that keep the 16 bits they come with; towers are a file of their own at 16 bit.
_KEPT_16 = ("tower", "per_layer_model_proj", "altup", "laurel")
# MLA's second projection and fused projections (linear attention's among them) are handled like values.
_LIKE_VALUES = {"attn_kv_b": "attn_v", "attn_qkv": "attn_v", "ssm_qkv": "attn_v"}
# Families whose GGUF has one fused projection for query, key and value, which counts as values.
_FUSED = frozenset(
    {"falcon", "gpt2", "gpt_bigcode", "gpt_neox", "mpt", "bloom", "phi", "phi3", "chatglm", "dbrx", "qwen"}
)
_LOW_BITS = frozenset({"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"})


def nominal_bits(recipe: str) -> float:
    """Bits of the block that most tensors of the file type take, where no model is known to mix for."""
    return block_bits("MXFP4" if _key(recipe) == "mxfp4_moe" else _mix(recipe).base)


def recipe_bits(recipe: str, model: Model) -> tuple[float, ...]:
    """Bits a weight of each tensor of ``model.tensors``, in that order: the mean over the layers that hold it."""
    mix = _mix(recipe)
    places = _Places(model)
    bits = []
    for tensor in model.tensors:
        layers = tensor.layers or (0,)
        blocks = [_block(_key(recipe), mix, model, tensor, layer, places) for layer in layers]
        bits.append(sum(map(block_bits, blocks)) / len(blocks))
    return tuple(bits)


def _key(recipe: str) -> str:
    return recipe.strip().lower().replace("-", "_")


def _mix(recipe: str) -> Mix:
    try:
        return MIXES[_key(recipe)]
    except KeyError:
        raise SpecError(
            f"recipe = {recipe!r} is no GGUF file type: choose one of {', '.join(MIXES)}."
        ) from None


class _Places:
    """Where a layer stands among those that have the tensor; llama.cpp counts them as they come."""

    def __init__(self, model: Model) -> None:
        self.layers = model.layer_count
        valued = {
            at for t in model.tensors if _LIKE_VALUES.get(t.role, t.role) == "attn_v" for at in t.layers
        }
        self.values = {at: n for n, at in enumerate(sorted(valued))}
        downs = [(at, t.role) for t in model.tensors if t.role.startswith("ffn_down") for at in t.layers]
        self.downs = {place: n for n, place in enumerate(sorted(downs))}
        moes = [group.moe.experts for group in model.groups if group.moe is not None]
        self.experts = max(moes, default=0)
        heads = [group.attention for group in model.groups if group.attention is not None]
        self.heads_to_kv = heads[0].heads // heads[0].kv_heads if heads else 1
        self.is_70b = self.layers == 80 and self.heads_to_kv > 1

    def of(self, role: str, tensor: Tensor, layer: int, low_bits: bool) -> tuple[int, int]:
        """(which, of how many): values by their own count, the rest by layer; low-bit mixes count every way down."""
        if role == "attn_v":
            return self.values.get(layer, layer), max(1, len(self.values))
        if role == "ffn_down" and (low_bits or not self.experts):
            return self.downs.get((layer, tensor.role), layer), self.layers
        return layer, self.layers


def _block(recipe: str, mix: Mix, model: Model, tensor: Tensor, layer: int, places: _Places) -> str:
    role = tensor.role
    if role in _FP32_ROLES or role.endswith(("conv", "conv1d")):
        return "F32"
    if mix.base in {"F32", "F16", "BF16"}:
        return mix.base
    if role.startswith(_KEPT_16):
        return "F16"
    return fitting_block(_wanted(recipe, mix, model, tensor, layer, places), tensor.cols)


def _wanted(recipe: str, mix: Mix, model: Model, tensor: Tensor, layer: int, places: _Places) -> str:
    """The block that the mix wants, before the row length has its say."""
    role = tensor.role
    falcon = model.model_type.startswith("falcon")
    if role == "output" or (role in _EMBEDDINGS and model.tied):
        too_narrow = fitting_block(mix.base, tensor.cols) != mix.base
        return "Q8_0" if falcon or too_narrow else mix.head
    if role in _EMBEDDINGS:
        return mix.embedding or mix.base
    if recipe == "mxfp4_moe":
        return "MXFP4" if role in EXPERT_ROLES else "Q8_0"
    role = _rule_role(role, model)
    rules = FALCON.get(recipe, {}) if falcon and recipe not in _LOW_BITS else mix.rules
    if places.experts == 8:
        wanted = _eight_experts(recipe, mix, role)
        if wanted is not None:
            return wanted
    block = (
        _first(rules.get(role, ()), places, *places.of(role, tensor, layer, recipe in _LOW_BITS)) or mix.base
    )
    if places.experts == 8 and recipe == "iq3_m" and role == "ffn_down" and _more(layer, places.layers):
        return "Q4_K"
    if places.is_70b and role == "attn_v" and recipe not in _LOW_BITS and block in {"Q3_K", "Q4_K"}:
        return "Q5_K"
    return block


def _rule_role(role: str, model: Model) -> str:
    """The role whose rules apply: experts and shared experts follow the dense block, fused projections the values."""
    role = role.removesuffix("_exps").removesuffix("_shexp")
    if role in {"attn_q", "attn_k"} and model.model_type in _FUSED:
        return "attn_v"
    return _LIKE_VALUES.get(role, role)


def _eight_experts(recipe: str, mix: Mix, role: str) -> str | None:
    """Models of eight experts: attention is a small share of them, so it gets larger blocks."""
    if role == "attn_output" and mix.wide_output:
        return "Q5_K"
    if recipe in _LOW_BITS:
        return "Q4_K" if role == "attn_k" else None
    return "Q8_0" if role in {"attn_v", "attn_k"} else None


def _first(rule: Rule, places: _Places, which: int, of: int) -> str | None:
    for when, block in rule:
        if _applies(when, places, which, of):
            return block
    return None


def _applies(when: str, places: _Places, which: int, of: int) -> bool:
    match when:
        case "more":
            return _more(which, of)
        case "first_eighth":
            return which < of // 8
        case "first_sixteenth":
            return which < of // 16
        case "middle":
            return of // 8 <= which < 7 * of // 8
        case "first_2":
            return which < 2
        case "first_4":
            return which < 4
        case "shared_kv":
            return places.heads_to_kv >= 4
        case "many_experts":
            return places.experts >= 4
    return True


def _more(which: int, of: int) -> bool:
    """The first and last eighth of the layers, and every third between."""
    return which < of // 8 or which >= 7 * of // 8 or (which - of // 8) % 3 == 2
