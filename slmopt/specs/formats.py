"""Weight and cache formats: how many bits a number takes, scales included, and what it can be multiplied as."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from slmopt.specs.base import Sourced, Spec
from slmopt.specs.device import Rate

Operand = Literal["fp32", "fp16", "fp8", "int8", "int4", "fp4"]

# A format may run on any kernel that loses none of its values: 4-bit integers are exact in FP8 (E4M3 holds -8 … 7) and
# in INT8; the ceiling takes the fastest of these that the device has.
KERNELS: dict[str, tuple[Rate, ...]] = {
    "fp32": ("fp32", "tf32"),
    "fp16": ("fp16", "bf16", "fp16_acc16", "tf32", "fp32"),
    "fp8": ("fp8", "fp8_acc16", "fp16", "bf16", "fp16_acc16", "tf32", "fp32"),
    "int8": ("int8", "fp16", "bf16", "fp16_acc16", "tf32", "fp32"),
    "int4": ("int4", "int8", "fp8", "fp8_acc16", "fp16", "bf16", "fp16_acc16", "tf32", "fp32"),
    "fp4": ("fp4", "fp8", "fp8_acc16", "int8", "fp16", "bf16", "fp16_acc16", "tf32", "fp32"),
}


INT4_BELOW, INT8_BELOW, FP16_TO = 5.5, 10.0, 16.0
"""Bits a weight at which the operand changes that a format without a named one is multiplied as."""


class StoredTensor(Spec):
    """What a file holds for one tensor of a model: weights, and bytes with their scales (over all layers and copies)."""

    role: str
    params: int = Field(gt=0)
    size_bytes: int = Field(ge=0)


class WeightFormat(Sourced):
    """How weights are stored.

    ``bits`` holds for every tensor but those ``kept`` roles that stay at ``kept_bits`` (norms, embeddings or the head in
    many quantised files). A ``recipe`` names a GGUF file type instead, whose tensors differ; it is resolved per model.
    ``stored`` is what one file holds, in the order of its model's tensors: exact for that model.
    """

    family: str = ""
    bits: float | None = Field(default=None, gt=0, le=64)
    recipe: str | None = None
    stored: tuple[StoredTensor, ...] = ()
    kept: tuple[str, ...] = ()
    kept_bits: float = Field(default=16.0, gt=0, le=64)
    operand: Operand | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: object) -> object:
        if isinstance(data, dict) and "bits" in data and "id" not in data:
            bits = data["bits"]
            label = f"{bits:g}-bit" if isinstance(bits, int | float) else "inline"
            data = {"id": label, "name": label, **data}
        return data

    @model_validator(mode="after")
    def _one_way(self) -> WeightFormat:
        if (self.bits is not None) + (self.recipe is not None) + bool(self.stored) != 1:
            raise ValueError("a weight format needs bits, a recipe or what a file stores, one of the three")
        return self

    @property
    def stored_bits(self) -> float | None:
        """Mean bits a weight of the file; None where the format is not that of a file."""
        weights = sum(tensor.params for tensor in self.stored)
        return 8 * sum(tensor.size_bytes for tensor in self.stored) / weights if weights else None

    @property
    def multiplied_as(self) -> Operand:
        """Operand type; where none is named, the narrowest integer type that holds the bits."""
        if self.operand is not None:
            return self.operand
        bits = self.bits or self.stored_bits or 16.0
        return (
            "int4"
            if bits < INT4_BELOW
            else "int8"
            if bits < INT8_BELOW
            else "fp16"
            if bits <= FP16_TO
            else "fp32"
        )


class CacheFormat(Sourced):
    """How keys or values are stored: ``bits`` an element, scales included."""

    bits: float = Field(gt=0, le=64)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: object) -> object:
        if isinstance(data, dict) and "bits" in data and "id" not in data:
            bits = data["bits"]
            label = f"{bits:g}-bit" if isinstance(bits, int | float) else "inline"
            data = {"id": label, "name": label, **data}
        return data
