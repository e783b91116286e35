"""The header of a safetensors file, and the index of one in several parts: never the data.

Layout: eight bytes, little-endian, with the length of a JSON object; the object, by tensor a ``dtype``, a ``shape`` and
the offsets where its data starts and ends; the data. An index lists which part holds which tensor, and ``total_size``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slmopt.readers.bytes_source import MIB, NeedMore, Source
from slmopt.readers.file_model import FileTensor
from slmopt.readers.safe_json import load_object
from slmopt.specs.base import SpecError

MOST_JSON = 16 * MIB
"""The index of a trillion-weight model with every expert apart has 14 MB."""
MOST_TENSORS = 500_000
MOST_PARTS = 2000
LARGEST_TENSOR = 2**44

BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}
"""Bits of an element by ``dtype`` (the format's own list, safetensors 0.7)."""


@dataclass(frozen=True, slots=True)
class Index:
    """What an index says: the parts by name, bytes of all tensors, weights where it counts them."""

    parts: tuple[str, ...]
    names: tuple[str, ...]
    total_size: int | None = None
    total_params: int | None = None


@dataclass(slots=True)
class Held:
    """Tensors of one or more safetensors files, by name."""

    tensors: dict[str, FileTensor] = field(default_factory=dict)

    def add(self, tensors: Mapping[str, FileTensor]) -> None:
        """Joins another part's tensors. Raises :class:`SpecError` where a name stands in both."""
        twice = next((name for name in tensors if name in self.tensors), None)
        if twice is not None:
            raise SpecError(f"Two parts hold the tensor {twice[:60]!r}: they do not belong together.")
        self.tensors.update(tensors)
        if len(self.tensors) > MOST_TENSORS:
            raise SpecError(f"The parts hold more than {MOST_TENSORS:,} tensors: no model has as many.")


def read_safetensors_header(data: Path | bytes) -> dict[str, FileTensor]:
    """The tensors of a safetensors file by name.

    Raises
    ------
    SpecError
        If the file is damaged, cut off, or claims what cannot be.
    NeedMore
        If only first bytes were given, and they end inside the header.
    """
    with Source(data) as source:
        length = _length(source)
        if source.known < 8 + length:
            if source.size is None:
                raise NeedMore(8 + length, 8 + length)
            raise SpecError(
                f"The file ends at byte {source.size:,}, inside its header of {length:,} bytes: it is cut off; download it again."
            )
        entries = load_object(source.read(8, length), noun="a safetensors header", most=MOST_JSON)
        room = None if source.size is None else source.size - 8 - length
    tensors = {name: _tensor(name, entry) for name, entry in entries.items() if name != "__metadata__"}
    _check_places(tensors, room)
    return {name: tensor for name, (tensor, _) in tensors.items()}


def _length(source: Source) -> int:
    if source.known < 8:
        if source.size is None:
            raise NeedMore(8, 8)
        raise SpecError(
            "The file has fewer than 8 bytes: a safetensors file starts with its header's length."
        )
    length = int.from_bytes(source.read(0, 8), "little")
    if length > MOST_JSON:
        raise SpecError(f"The header claims {length:,} bytes: those of real files stay under {MOST_JSON:,}.")
    return length


def safetensors_header_needed(first_bytes: bytes) -> int | None:
    """Bytes from the file's start that hold the header; None where the bytes given do.

    Raises
    ------
    SpecError
        If the length that the bytes start with is no header's.
    """
    with Source(first_bytes) as source:
        needed = 8 if len(first_bytes) < 8 else 8 + _length(source)
    return None if needed <= len(first_bytes) else needed


Place = tuple[int, int]


def _tensor(name: str, entry: object) -> tuple[FileTensor, Place]:
    told = f"The tensor {name[:60]!r}"
    if not isinstance(entry, Mapping):
        raise SpecError(f"{told} is no object: it should have dtype, shape and data_offsets.")
    dtype = entry.get("dtype")
    if not isinstance(dtype, str) or dtype not in BITS:
        raise SpecError(
            f"{told} has the unknown dtype {str(dtype)[:40]!r}: F32, BF16 and F8_E4M3 are known ones."
        )
    shape = _whole_numbers(entry.get("shape"), f"{told} has a shape that is no list of whole numbers from 0.")
    offsets = _whole_numbers(
        entry.get("data_offsets"), f"{told} has data_offsets that are no two whole numbers from 0."
    )
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise SpecError(f"{told} has data_offsets that are no start and end.")
    elements = math.prod(shape)
    if elements > LARGEST_TENSOR:
        raise SpecError(f"{told} has {elements:.3g} elements: no model has such a tensor.")
    size = offsets[1] - offsets[0]
    if size * 8 != elements * BITS[dtype]:
        raise SpecError(
            f"{told} has {size:,} bytes: {elements:,} elements of {dtype} take {elements * BITS[dtype] / 8:,.0f}."
        )
    return FileTensor(name, dtype, shape, size), (offsets[0], offsets[1])


def _whole_numbers(value: object, wrong: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > 16:
        raise SpecError(wrong)
    if any(isinstance(v, bool) or not isinstance(v, int) or not 0 <= v < 2**63 for v in value):
        raise SpecError(wrong)
    return tuple(value)


def _check_places(tensors: Mapping[str, tuple[FileTensor, Place]], room: int | None) -> None:
    end = 0
    for name, (_, place) in sorted(tensors.items(), key=lambda item: item[1][1]):
        if place[0] < end:
            raise SpecError(f"The tensor {name[:60]!r} overlaps another one: the header is damaged.")
        end = max(end, place[1])
        if room is not None and end > room:
            raise SpecError(
                f"The tensor {name[:60]!r} ends {end - room:,} bytes beyond the file: it is cut off; download it again."
            )


def is_index(values: Mapping[str, Any]) -> bool:
    """Whether a JSON object is the index of a model in several parts."""
    return isinstance(values.get("weight_map"), Mapping)


def read_index(values: Mapping[str, Any]) -> Index:
    """The index of a model in several parts.

    Raises
    ------
    SpecError
        If it names parts by anything but plain file names, or sizes that are no whole numbers.
    """
    placed = values.get("weight_map")
    if not isinstance(placed, Mapping) or not placed:
        raise SpecError(
            "weight_map is missing or empty: an index lists each tensor with the part that holds it."
        )
    if any(not isinstance(part, str) for part in placed.values()):
        raise SpecError(
            "weight_map holds something else than file names: it should list a part for each tensor."
        )
    parts = tuple(sorted(set(placed.values())))
    odd = next((p for p in parts if p in ("", "..") or p != Path(p).name or "\\" in p or "\0" in p), None)
    if odd is not None:
        raise SpecError(f"weight_map names the part {odd[:60]!r}: parts lie in the index's own folder.")
    if len(parts) > MOST_PARTS:
        raise SpecError(f"weight_map names {len(parts):,} parts: at most {MOST_PARTS:,} are read.")
    metadata = values.get("metadata")
    told = metadata if isinstance(metadata, Mapping) else {}
    return Index(parts, tuple(placed), _size(told, "total_size"), _size(told, "total_parameters"))


def _size(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 2**53:
        raise SpecError(f"{name} = {str(value)[:40]}: it should be a whole number above 0.")
    return value
