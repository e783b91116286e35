"""Bits of every tensor: a weight format applied to a model."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.recipes import nominal_bits, recipe_bits


@lru_cache(maxsize=512)
def tensor_bits(weights: WeightFormat, model: Model) -> tuple[float, ...]:
    """Bits a weight of each tensor of ``model.tensors``, in that order; a single value for a count-only model."""
    if model.by_count:
        return (by_count_bits(weights),)
    if weights.stored:
        return _file_bits(weights, model)
    if weights.recipe is not None:
        return recipe_bits(weights.recipe, model)
    bits = weights.bits or 16.0
    return tuple(weights.kept_bits if tensor.role in weights.kept else bits for tensor in model.tensors)


def by_count_bits(weights: WeightFormat) -> float:
    """Bits a weight where no tensor is known: the nominal ones, of a file the mean.

    A mixed file has no single figure without a model; then the block that most of its tensors take stands for all.
    """
    bits = weights.bits or weights.stored_bits
    return bits if bits is not None else nominal_bits(weights.recipe or "")


def stored_bytes(weights: WeightFormat, model: Model) -> float:
    """Bytes of all weights, towers and unused prediction layers included; those of a file's own model are exact."""
    if _is_of(weights, model):
        return float(sum(tensor.size_bytes for tensor in weights.stored))
    bits = tensor_bits(weights, model)
    if model.by_count:
        return model.total_params * bits[0] / 8
    return sum(tensor.params * b for tensor, b in zip(model.tensors, bits, strict=True)) / 8


def bits_per_weight(weights: WeightFormat, model: Model) -> float:
    """Mean bits over all weights stored."""
    return 8 * stored_bytes(weights, model) / model.stored_params


def _is_of(weights: WeightFormat, model: Model) -> bool:
    """Whether the format is that of the file which the model was read from: the same tensors, one by one."""
    if not weights.stored:
        return False
    if model.by_count:
        return sum(tensor.params for tensor in weights.stored) == model.params
    return [(t.role, t.params) for t in weights.stored] == [(t.role, t.params) for t in model.tensors]


def _file_bits(weights: WeightFormat, model: Model) -> tuple[float, ...]:
    """A file's bits for its own model's tensors; another model takes the mean of each role, else of the whole file."""
    if _is_of(weights, model):
        return tuple(8 * tensor.size_bytes / tensor.params for tensor in weights.stored)
    held: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for tensor in weights.stored:
        held[tensor.role][0] += tensor.size_bytes
        held[tensor.role][1] += tensor.params
    rest = weights.stored_bits or 16.0
    return tuple(8 * held[t.role][0] / held[t.role][1] if t.role in held else rest for t in model.tensors)
