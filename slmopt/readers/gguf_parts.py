"""A GGUF's tensors by their names: where each belongs, and its weights and bytes under the roles that a model has."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from slmopt.readers.file_model import FileTensor
from slmopt.specs.base import SpecError
from slmopt.specs.model import VECTOR_ROLES

MOST_LAYERS = 4096

_ROLES = {
    "attn_kv_a_mqa": "attn_kv_a",
    "indexer.attn_q_b": "indexer_q",
    "indexer.attn_k": "indexer_k",
    "indexer.proj": "indexer_weights",
    "inp_gate": "per_layer_gate",
    "proj": "per_layer_proj",
    "shortconv.in_proj": "conv_in",
    "shortconv.out_proj": "conv_out",
    "channel_mix_key": "ffn_key",
    "channel_mix_receptance": "ffn_receptance",
    "channel_mix_value": "ffn_value",
}
"""Names of a layer's matrices that a model calls something else; time mixing is one role, the rest keep their names."""

_STATE = ("ssm_", "shortconv.", "time_mix_", "channel_mix_")
# Small tensors that are no matrix products, though they have two sides: filters, decays, learned mixes.
_NO_PRODUCT = re.compile(r"conv1d|shortconv\.conv$|^ssm_a$|^ssm_d$|lerp|coef|_scale$")
_TOWERS = ("v.", "mm.", "a.", "resampler.", "mm_", "clip.", "vision", "audio", "model.mm")
_LAYER = re.compile(r"blk\.(\d{1,9})\.(.+)")
_SUFFIX = re.compile(r"(.+?)\.(weight|bias|scale|input_scale)")
_LONE_EXPERT = re.compile(r"(ffn_(?:gate|up|down))\.\d{1,6}")


class Unlike(Exception):  # noqa: N818 - leads to a simpler description, not to an error
    """Tensors and metadata contradict each other, or are those of no layer that can be described."""


@dataclass(frozen=True, slots=True)
class Part:
    """Weights of one role: ``copies`` matrices of rows outputs by cols inputs, or a vector, with the bytes they take."""

    role: str
    rows: int
    cols: int
    copies: int
    size: int
    name: str

    @property
    def params(self) -> int:
        """Weights, all copies together."""
        return self.rows * self.cols * self.copies

    @property
    def vector(self) -> bool:
        """Whether it takes part in no matrix product."""
        return self.role in VECTOR_ROLES

    @property
    def of_state(self) -> bool:
        """Whether it belongs to a recurrent state."""
        return self.name.startswith(_STATE)

    def renamed(self, role: str) -> Part:
        """The same weights in another role."""
        return replace(self, role=role)

    def rows_of(self, role: str, first: int, rows: int) -> Part:
        """Some of the rows, under a role of their own; every row takes the same bytes."""
        size = self.size * (first + rows) // self.rows - self.size * first // self.rows
        return replace(self, role=role, rows=rows, size=size)


@dataclass(slots=True)
class Placed:
    """A file's parts by place: layers by number, what stands outside them, towers and prediction layers."""

    layers: dict[int, list[Part]] = field(default_factory=lambda: defaultdict(list))
    outside: list[Part] = field(default_factory=list)
    towers: list[Part] = field(default_factory=list)
    ahead: list[Part] = field(default_factory=list)
    """Multi-token-prediction layers."""


def place(tensors: Iterable[FileTensor], first_ahead: int) -> Placed:
    """Every tensor in its place; layers from ``first_ahead`` on predict further tokens.

    Raises
    ------
    SpecError
        If a layer's number is beyond what any model has.
    """
    placed = Placed()
    ahead: set[int] = set()
    for tensor in tensors:
        if tensor.name.startswith(_TOWERS):
            placed.towers.append(part_of(tensor.name, tensor))
            continue
        found = _LAYER.fullmatch(tensor.name)
        if found is None:
            part = part_of(tensor.name, tensor)
            (placed.ahead if tensor.name.startswith(("mtp", "nextn")) else placed.outside).append(part)
            continue
        layer = int(found[1])
        if layer >= MOST_LAYERS:
            raise SpecError(f"A tensor names layer {layer:,}: at most {MOST_LAYERS:,} layers are read.")
        if found[2].startswith("vis_"):
            # Projections of their own for image tokens, which text never takes.
            placed.towers.append(part_of(found[2], tensor))
            continue
        if found[2].startswith("nextn."):
            ahead.add(layer)
        placed.layers[layer].append(part_of(found[2], tensor))
    for layer in [n for n in placed.layers if n >= first_ahead or n in ahead]:
        placed.ahead += placed.layers.pop(layer)
    return placed


def part_of(name: str, tensor: FileTensor) -> Part:
    """A tensor as a part; ``name`` is its name inside its layer."""
    split = _SUFFIX.fullmatch(name)
    base, suffix = (split[1], split[2]) if split else (name, "weight")
    lone = _LONE_EXPERT.fullmatch(base)
    if lone:
        base = f"{lone[1]}_exps"
    cols, rows = (*tensor.shape, 1)[:2]
    copies = tensor.elements // (cols * rows)
    role = _role(base, suffix, rows * copies == 1 or cols == 1)
    if role in VECTOR_ROLES or (role == "ffn_gate_inp_shexp" and copies == 1):
        cols, rows, copies = tensor.elements, 1, 1
    if role == "ffn_bias_exps":
        rows, copies = 1, tensor.elements // cols
    return Part(role, rows, cols, copies, tensor.size_bytes, base)


def _role(base: str, suffix: str, flat: bool) -> str:
    if "norm" in base:
        return "norm"
    if suffix == "bias":
        if base.endswith("_exps"):
            return "ffn_bias_exps"
        return "vector" if base.startswith(_STATE) else "bias"
    if base == "ffn_gate_inp_shexp" and suffix == "weight":
        return base
    if suffix != "weight" or flat or _NO_PRODUCT.search(base):
        return "vector"
    if base.startswith("time_mix_"):
        return "state_time_mix"
    return _ROLES.get(base, base).replace(".", "_")
