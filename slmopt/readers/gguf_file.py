"""A GGUF file as a model with its own weight format: every tensor's own type, so bytes are exact.

Only the header is read. A file split into parts is read as one where all parts lie in the same folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from slmopt.readers.bytes_source import MIB, NeedMore, Source
from slmopt.readers.file_model import FileModel, FileTensor, operand_of, type_shares
from slmopt.readers.gguf_header import MAGIC, GgufHeader, metadata_text, read_header
from slmopt.readers.gguf_keys import Keys, keys_of
from slmopt.readers.gguf_model import Stored, by_count, model_of
from slmopt.readers.gguf_parts import MOST_LAYERS, place
from slmopt.specs.base import SpecError
from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import Model

MOST_PARTS = 1000
_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE | re.DOTALL)
_ENCODER_DECODERS = frozenset({"t5", "t5encoder"})
_NO_DECODERS = ("bert", "wavtokenizer", "gemma-embedding")
_TOWERS = frozenset({"clip", "mmproj"})


def read_gguf(data: Path | bytes, name: str) -> FileModel:
    """The model of a GGUF file.

    Parameters
    ----------
    data
        The file's path, or its first bytes: as many as its header has.
    name
        What to call the model where the file does not name itself.

    Raises
    ------
    SpecError
        In one sentence, if the file is damaged, of another kind, cut off inside its header, or a part without the others.
    """
    headers = _headers(data, name)
    tensors = [tensor for header in headers for tensor in header.tensors]
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise SpecError("Two parts of the file hold the same tensor: they do not belong together.")
    main = headers[0]
    _refuse(main, tensors)
    keys = keys_of(main)
    label = metadata_text(main, "general.name") or name
    model, stored, runs = _model(tensors, keys, label)
    return FileModel("gguf", model, _weights(main, tensors, stored), type_shares(tensors), runs)


def _model(tensors: Sequence[FileTensor], keys: Keys, name: str) -> tuple[Model, Stored, bool]:
    if keys.arch in _TOWERS:
        keys.assume("a vision or audio tower for another model, which takes part in no text step")
        return *by_count(place(tensors, MOST_LAYERS), keys, name), False
    placed = place(tensors, keys.layers - keys.ahead)
    return *model_of(placed, keys, name), True


def _refuse(header: GgufHeader, tensors: Sequence[FileTensor]) -> None:
    """Raises :class:`SpecError` for files that hold no decoder-only model."""
    kind, arch = metadata_text(header, "general.type"), metadata_text(header, "general.architecture")
    if kind in ("adapter", "imatrix"):
        what = "a LoRA adapter" if kind == "adapter" else "an importance matrix"
        raise SpecError(f"The file is {what}: give the model's own file.")
    if arch in _ENCODER_DECODERS or any(t.name.startswith(("dec.", "enc.")) for t in tensors):
        raise SpecError(f"{arch} is an encoder-decoder: slmopt describes decoder-only language models.")
    if any(word in arch for word in _NO_DECODERS):
        raise SpecError(f"{arch} is an encoder: slmopt describes decoder-only language models.")
    if not tensors:
        raise SpecError("The file holds a vocabulary and no tensors: give the file with the weights.")


def _weights(header: GgufHeader, tensors: Sequence[FileTensor], stored: Stored) -> WeightFormat:
    shares = type_shares(tensors)
    name = _file_type(header) or max(shares, key=lambda share: share.elements).type
    return WeightFormat(
        id="file",
        name=f"{name} (file)",
        family="file",
        stored=stored,
        operand=operand_of(shares),
        source="the file's own tensor list",
    )


def _file_type(header: GgufHeader) -> str:
    """What the file calls its mix of types, such as Q4_K_M; empty where it does not say."""
    from gguf.constants import LlamaFileType  # noqa: PLC0415 - as in gguf_header

    number = header.metadata.get("general.file_type")
    known = {int(kind): kind.name for kind in LlamaFileType if kind is not LlamaFileType.GUESSED}
    return (
        known.get(number, "").removeprefix("MOSTLY_").removeprefix("ALL_") if isinstance(number, int) else ""
    )


def _headers(data: Path | bytes, name: str) -> list[GgufHeader]:
    first = _header(data)
    parts = first.metadata.get("split.count", 1)
    if isinstance(parts, bool) or not isinstance(parts, int) or not 0 <= parts <= MOST_PARTS:
        raise SpecError(f"split.count = {parts!r}: it should be a whole number up to {MOST_PARTS:,}.")
    if parts <= 1:
        return [first]
    own = _part_number(first, parts)
    paths = _beside(data, parts) if isinstance(data, Path) else {}
    absent = [n for n in range(1, parts + 1) if n != own and n not in paths]
    if absent:
        raise SpecError(_missing(own, parts, absent, name))
    headers = [first if n == own else _header(paths[n]) for n in range(1, parts + 1)]
    for number, header in enumerate(headers, 1):
        if header.metadata.get("split.count") != parts or _part_number(header, parts) != number:
            raise SpecError(
                f"Part {number} of {parts} calls itself another: the parts do not belong together."
            )
    return headers


def _part_number(header: GgufHeader, parts: int) -> int:
    number = header.metadata.get("split.no", 0)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < parts:
        raise SpecError(f"split.no = {number!r}: it should be a whole number below {parts:,}.")
    return number + 1


def _beside(path: Path, parts: int) -> dict[int, Path]:
    """The parts that lie in the same folder, by number."""
    named = _PART.fullmatch(path.name)
    if named is None or int(named[3]) != parts:
        return {}
    paths = {
        n: path.with_name(f"{named[1]}-{n:05d}-of-{parts:05d}{path.suffix}") for n in range(1, parts + 1)
    }
    return {n: part for n, part in paths.items() if part.is_file()}


def _missing(own: int, parts: int, absent: Sequence[int], name: str) -> str:
    listed = ", ".join(map(str, absent[:8])) + (" …" if len(absent) > 8 else "")
    noun = "part" if len(absent) == 1 else "parts"
    return (
        f"{name} is part {own} of {parts}; {noun} {listed} missing beside it: put all parts into one folder under "
        f"their own names (…-{own:05d}-of-{parts:05d}.gguf)."
    )


def _header(data: Path | bytes) -> GgufHeader:
    try:
        with Source(data) as source:
            return read_header(source)
    except NeedMore as more:
        raise SpecError(
            f"The file's header goes on beyond the {len(data) if isinstance(data, bytes) else 0:,} bytes given: "
            f"give about the first {_mib(more.likely)} MiB."
        ) from None


def gguf_header_needed(first_bytes: bytes) -> int | None:
    """Bytes from the file's start that will probably hold the header; None where the bytes given do.

    A GGUF does not say how long its header is, so the answer is a guess from what was read, rounded up to whole MiB and
    rather a few times too large than too small; where it is too small, asking again with those bytes gives the next.

    Raises
    ------
    SpecError
        If the bytes given are no readable start of a GGUF.
    """
    try:
        with Source(first_bytes) as source:
            read_header(source)
    except NeedMore as more:
        return _mib(more.likely) * MIB
    return None


def _mib(size: int) -> int:
    return -(-size // MIB)


def is_gguf(first_bytes: bytes) -> bool:
    """Whether a file starts as a GGUF does."""
    return first_bytes.startswith(MAGIC)
