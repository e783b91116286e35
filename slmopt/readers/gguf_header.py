"""The header of a GGUF file: metadata and tensor list, never the data.

Layout (all little-endian): ``GGUF``, version, counts of tensors and of key-value pairs; the pairs, each a key, a type and a
value; the tensors, each a name, dimensions, a type and an offset into the data, which starts at the next multiple of
the alignment. Types and block sizes are those of the gguf package; its own reader builds several arrays for every
token of the vocabulary and believes every length, so the header is walked here instead, within limits.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache

from slmopt.readers.bytes_source import MIB, Cursor, Source
from slmopt.readers.file_model import FileTensor
from slmopt.specs.base import SpecError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_PAIRS = 4096
"""Real files have under 100."""
MOST_TENSORS = 32_768
MOST_STRINGS = 2_000_000
"""Elements of all lists of text; a vocabulary of 262 thousand with its merges has 0.8 million."""
MOST_LISTED = 4096
"""Longer lists of numbers (token scores) are passed over; lists by layer are shorter."""
MOST_KEPT = 100_000
"""Numbers of all lists that are kept; lists beyond that are passed over."""
LONGEST_KEY = 1024
LONGEST_NAME = 256
LONGEST_TEXT = 4096
LONGEST_STRING = 64 * MIB
LARGEST_TENSOR = 2**44
"""Elements; the largest tensor of a 10-trillion-weight model has fewer."""

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_SIZES = {kind: struct.calcsize(f"<{code}") for kind, code in _SCALARS.items()}
_STRING, _ARRAY = 8, 9

Value = bool | int | float | str | list[bool | int | float]


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata (short texts, numbers, short lists of numbers), tensors, and the header's own bytes."""

    metadata: dict[str, Value]
    tensors: tuple[FileTensor, ...]
    size: int


@cache
def ggml_types() -> dict[int, tuple[str, int, int]]:
    """Name, weights and bytes of a block by type number, as the gguf package lists them."""
    # Imported late: the package loads its writer and vocabularies along, which no other file needs.
    from gguf.constants import GGML_QUANT_SIZES  # noqa: PLC0415

    return {int(kind): (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}


def read_header(source: Source) -> GgufHeader:
    """The header of a GGUF file.

    Raises
    ------
    SpecError
        If it is no GGUF of version 2 or 3 and little-endian, if it is cut off, or if it claims what cannot be.
    NeedMore
        If only the file's first bytes were given, and they end inside the header.
    """
    at = Cursor(source)
    tensor_count, pair_count = _start(at)
    at.pending = tensor_count * 72
    pairs = _Pairs(at)
    pairs.read(pair_count)
    alignment = pairs.values.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or not _is_alignment(alignment):
        raise SpecError(f"general.alignment = {alignment!r}: it should be a power of two of at most 1 MiB.")
    infos = [_tensor(at) for _ in range(tensor_count)]
    start = -(-at.position // alignment) * alignment
    tensors = _placed(infos, start, alignment, source.size)
    return GgufHeader(pairs.values, tensors, at.position)


def _is_alignment(value: int) -> bool:
    return 0 < value <= MIB and value & (value - 1) == 0


def _start(at: Cursor) -> tuple[int, int]:
    magic, version = at.unpack("<4sI")
    if magic != MAGIC:
        raise SpecError("The file does not start with GGUF: it is no GGUF file.")
    if version & 0xFFFF == 0 and version:
        raise SpecError("The file is a big-endian GGUF: convert it to little-endian (gguf-convert-endian).")
    if version not in VERSIONS:
        raise SpecError(f"The file is GGUF version {version}: versions 2 and 3 are read.")
    tensors, pairs = at.unpack("<QQ")
    for count, least, most, what in (
        (tensors, 24, MOST_TENSORS, "tensors"),
        (pairs, 13, MOST_PAIRS, "metadata entries"),
    ):
        if count > most or not at.has(count * least):
            raise SpecError(f"The header claims {count:,} {what}: at most {most:,} fit a model's file.")
    return tensors, pairs


class _Pairs:
    """The metadata as it is read, and how much of the limits is used."""

    def __init__(self, at: Cursor) -> None:
        self._at = at
        self._texts = 0
        self._kept = 0
        self.values: dict[str, Value] = {}

    def read(self, count: int) -> None:
        """Reads that many pairs."""
        seen: set[str] = set()
        for _ in range(count):
            key = _name(self._at, "a metadata key", LONGEST_KEY)
            if key in seen:
                raise SpecError(f"The metadata key {_shown(key)} stands twice: keys must be unique.")
            seen.add(key)
            (kind,) = self._at.unpack("<I")
            if kind == _ARRAY:
                self._list(key)
            elif kind == _STRING:
                self._text(key)
            else:
                self.values[key] = self._at.unpack(f"<{_scalar(kind, key)}")[0]

    def _list(self, key: str) -> None:
        """Keeps a short list of numbers, passes over any other."""
        kind, count = self._at.unpack("<IQ")
        if kind == _ARRAY:
            raise SpecError(f"The list {_shown(key)} holds lists: GGUF lists hold numbers or texts.")
        size = 8 if kind == _STRING else _SIZES[_known(kind, key)]
        if not self._at.has(count * size):
            raise SpecError(f"The list {_shown(key)} claims {count:,} entries: they reach beyond the file.")
        if kind == _STRING:
            self._texts += count
            if self._texts > MOST_STRINGS:
                raise SpecError(f"The list {_shown(key)} claims {count:,} texts: more than a vocabulary has.")
            # Scores, types and merges of the same vocabulary follow its tokens.
            self._at.skip_strings(count, 4.0 if key.endswith(".tokens") else 1.0)
        elif count > MOST_LISTED or self._kept + count > MOST_KEPT:
            self._at.skip(count * size)
        else:
            self._kept += count
            self.values[key] = list(self._at.unpack(f"<{count}{_SCALARS[kind]}"))

    def _text(self, key: str) -> None:
        """Keeps a short text; a long one (a chat template) is of no use here."""
        (length,) = self._at.unpack("<Q")
        if length > LONGEST_STRING or not self._at.has(length):
            raise SpecError(f"The text {_shown(key)} claims {length:,} bytes: they reach beyond the header.")
        if length > LONGEST_TEXT:
            self._at.skip(length)
        else:
            self.values[key] = _decoded(self._at.take(length), _shown(key))


def _known(kind: int, key: str) -> int:
    if kind not in _SCALARS:
        raise SpecError(f"The metadata key {_shown(key)} has the unknown type {kind}: types are 0 to 12.")
    return kind


def _scalar(kind: int, key: str) -> str:
    return _SCALARS[_known(kind, key)]


def _name(at: Cursor, what: str, longest: int) -> str:
    (length,) = at.unpack("<Q")
    if length > longest:
        raise SpecError(f"The length of {what} is {length:,} bytes: at most {longest:,} are read.")
    name = _decoded(at.take(length), what)
    if not name.isprintable():
        raise SpecError(f"The header is damaged: {what} holds control characters.")
    return name


def _decoded(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"The header is damaged: {what} is not UTF-8 text.") from None


Info = tuple[str, str, tuple[int, ...], int, int]
"""Name, type, dimensions, bytes, offset."""


def _tensor(at: Cursor) -> Info:
    name = _name(at, "a tensor's name", LONGEST_NAME)
    (count,) = at.unpack("<I")
    if not 1 <= count <= 4:
        raise SpecError(f"The tensor {_shown(name)} has {count:,} dimensions: 1 to 4 are possible.")
    *shape, kind, offset = at.unpack(f"<{count}QIQ")
    elements = math.prod(shape)
    if not 0 < elements <= LARGEST_TENSOR:
        sides = " × ".join(f"{side:,}" for side in shape)
        raise SpecError(f"The tensor {_shown(name)} has {sides} weights: no model has such a tensor.")
    if kind not in ggml_types():
        raise SpecError(f"The tensor {_shown(name)} has type {kind}, which the gguf package does not know.")
    type_name, block, size = ggml_types()[kind]
    if shape[0] % block:
        raise SpecError(
            f"The tensor {_shown(name)} has rows of {shape[0]:,} weights: {type_name} needs a multiple of {block}."
        )
    return name, type_name, tuple(shape), elements // block * size, offset


def _placed(infos: list[Info], start: int, alignment: int, file_size: int | None) -> tuple[FileTensor, ...]:
    """The tensors, once their data lies apart, in line and within the file (where its size is known)."""
    if len({info[0] for info in infos}) != len(infos):
        raise SpecError("Two tensors have the same name: names must be unique.")
    end = 0
    for name, _, _, size, offset in sorted(infos, key=lambda info: info[4]):
        if offset % alignment:
            raise SpecError(f"The tensor {_shown(name)} starts at {offset:,}: no multiple of {alignment}.")
        if offset < end:
            raise SpecError(f"The tensor {_shown(name)} overlaps another one: the tensor list is damaged.")
        end = offset + size
        if file_size is not None and start + end > file_size:
            raise SpecError(
                f"The tensor {_shown(name)} ends at byte {start + end:,}, the file at {file_size:,}: "
                "it is cut off; download it again."
            )
    return tuple(FileTensor(name, kind, shape, size) for name, kind, shape, size, _ in infos)


def _shown(name: str) -> str:
    return repr(name if len(name) <= 64 else name[:63] + "…")


def metadata_text(header: GgufHeader, key: str) -> str:
    """A text of the metadata on one line, printable and short; empty where there is none."""
    value = header.metadata.get(key, "")
    if not isinstance(value, str):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())[:200]
