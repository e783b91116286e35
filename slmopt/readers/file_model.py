"""What a model file turns out to hold: the model, its own weight format, and the tensors it was told from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from slmopt.specs.formats import Operand, WeightFormat
from slmopt.specs.model import Model

FileKind = Literal["config", "gguf", "safetensors", "inspected", "described"]
"""A Hugging Face config, a GGUF, safetensors (or their index), what ``inspect --json`` wrote, our own description."""


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor of a file: its name, type, shape (in the file's own order) and bytes."""

    name: str
    type: str
    shape: tuple[int, ...]
    size_bytes: int

    @property
    def elements(self) -> int:
        """Numbers in it; of packed types that is what the file calls an element, not a weight."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class TypeShare:
    """What a file holds in one type: tensors, elements, bytes."""

    type: str
    tensors: int
    elements: int
    size_bytes: int


@dataclass(frozen=True)
class FileModel:
    """A model file as read. ``weights`` is the file's own format, None where the file holds no weights.

    ``types`` are the file's types, the largest first. ``size_bytes`` are those of all its tensors; what of them memory
    does not hold (a copy of a tied head) is named in ``model.assumed``. ``runs`` is False for a file that
    is no language model by itself (a vision tower), which can be looked at and not be run. ``named_weights`` is the format
    that a config's quantisation names; ``quantised`` says that it names one, known or not.
    """

    kind: FileKind
    model: Model
    weights: WeightFormat | None = None
    types: tuple[TypeShare, ...] = ()
    runs: bool = True
    named_weights: WeightFormat | None = None
    quantised: bool = False

    @property
    def size_bytes(self) -> int | None:
        """Bytes of all tensors; None where the file holds none."""
        return sum(share.size_bytes for share in self.types) if self.types else None


def type_shares(tensors: Iterable[FileTensor]) -> tuple[TypeShare, ...]:
    """Tensors, elements and bytes by type, the type with most bytes first."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for tensor in tensors:
        held = sums[tensor.type]
        held[0] += 1
        held[1] += tensor.elements
        held[2] += tensor.size_bytes
    shares = (TypeShare(kind, *held) for kind, held in sums.items())
    return tuple(sorted(shares, key=lambda share: (-share.size_bytes, share.type)))


_OPERANDS: tuple[tuple[tuple[str, ...], Operand], ...] = (
    (("F32", "F64"), "fp32"),
    (("F16", "BF16"), "fp16"),
    (("F8",), "fp8"),
    (("MXFP4", "NVFP4", "F4"), "fp4"),
    # Codebooks (IQ) and 5-bit to 8-bit integers are multiplied as INT8, 4-bit integers and narrower ones as INT4.
    (("IQ", "Q5", "Q6", "Q8", "I8"), "int8"),
    (("Q1", "Q2", "Q3", "Q4", "TQ"), "int4"),
)


def operand_of(types: Iterable[TypeShare]) -> Operand | None:
    """What the bulk of the weights is multiplied as: the operand of the type with most elements; None if unknown."""
    largest = max(types, key=lambda share: share.elements, default=None)
    if largest is None:
        return None
    found = [operand for starts, operand in _OPERANDS if largest.type.startswith(starts)]
    return found[0] if found else None
