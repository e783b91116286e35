"""safetensors as a model with its own weight format: bytes and counts from the headers, the shape from a config.json.

A header lists tensors by names that every library chooses for itself and says nothing of heads or windows, so the shape
comes from the config.json in the same folder. Without one the file is a model known by its count alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from slmopt.readers.bytes_source import NeedMore
from slmopt.readers.file_model import FileModel, FileTensor, TypeShare, operand_of, type_shares
from slmopt.readers.hf_config import read_config, slug
from slmopt.readers.hf_format import read_config_format
from slmopt.readers.safe_json import MAX_BYTES
from slmopt.readers.safetensors_header import Held, Index, read_safetensors_header
from slmopt.readers.safetensors_names import changed_model, packed_weights, shaped_count, stored_for
from slmopt.specs.base import SpecError
from slmopt.specs.formats import StoredTensor, WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.safetensors", re.DOTALL)
MOST_PARTS = 2000


def read_safetensors(data: Path | bytes, name: str, config: bytes | None = None) -> FileModel:
    """The model of a safetensors file, or of all parts of it that lie in its folder.

    Parameters
    ----------
    data
        The file's path, or its first bytes: as many as its header has.
    name
        What to call the model.
    config
        The model's config.json; by default the one beside the file.

    Raises
    ------
    SpecError
        In one sentence, if a file is damaged, cut off inside its header, or a part without the others.
    """
    held = Held()
    paths = _parts(data) if isinstance(data, Path) else [data]
    for path in paths:
        held.add(_header(path))
    found = config if config is not None else _config_beside(data)
    return _file_model(list(held.tensors.values()), name, found)


def read_safetensors_index(
    index: Index, folder: Path | None, name: str, config: bytes | None = None
) -> FileModel:
    """The model of an index: exact from its parts where they lie in ``folder``, else by its total size.

    Raises
    ------
    SpecError
        If some of the parts lie there and others do not, or if neither size nor shape can be told.
    """
    beside = [] if folder is None else [folder / part for part in index.parts if (folder / part).is_file()]
    found = config
    if found is None and folder is not None:
        found = _config_beside(folder / "index")
    if not beside:
        return _by_total(index, name, found)
    if len(beside) < len(index.parts):
        raise SpecError(_missing([part for part in index.parts if not (beside[0].parent / part).is_file()]))
    held = Held()
    for path in beside:
        held.add(_header(path))
    return _file_model(list(held.tensors.values()), name, found)


def _header(data: Path | bytes) -> dict[str, FileTensor]:
    try:
        return read_safetensors_header(data)
    except NeedMore as more:
        given = len(data) if isinstance(data, bytes) else 0
        raise SpecError(
            f"The file's header goes on beyond the {given:,} bytes given: give the first {more.needed:,}."
        ) from None
    except SpecError as error:
        if isinstance(data, Path):
            raise SpecError(f"{data.name[:80]!r}: {error}") from error
        raise


def _parts(path: Path) -> list[Path]:
    """The file itself, or all parts that its name counts."""
    named = _PART.fullmatch(path.name)
    if named is None:
        return [path]
    count = int(named[3])
    if not 0 < int(named[2]) <= count or count > MOST_PARTS:
        raise SpecError(
            f"The file calls itself part {named[2]} of {named[3]}: at most {MOST_PARTS:,} are read."
        )
    parts = [path.with_name(f"{named[1]}-{n:05d}-of-{named[3]}.safetensors") for n in range(1, count + 1)]
    absent = [part.name for part in parts if not part.is_file()]
    if absent:
        raise SpecError(_missing(absent))
    return parts


def _missing(absent: Sequence[str]) -> str:
    listed = ", ".join(repr(name[:80]) for name in absent[:3]) + (
        f" and {len(absent) - 3} more" if len(absent) > 3 else ""
    )
    verb = "is" if len(absent) == 1 else "are"
    return f"{listed} {verb} missing beside it: put all parts into one folder."


def _config_beside(data: Path | bytes) -> bytes | None:
    if not isinstance(data, Path):
        return None
    path = data.with_name("config.json")
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _config_model(config: bytes, name: str) -> Model:
    try:
        return read_config(config, name=name)
    except SpecError as error:
        raise SpecError(f"The config.json beside it: {error}") from error


def _file_model(tensors: Sequence[FileTensor], name: str, config: bytes | None) -> FileModel:
    if not tensors:
        raise SpecError("The file holds no tensors: give the file with the weights.")
    shares = type_shares(tensors)
    if config is None:
        model, stored = _by_count(tensors, name)
    else:
        model, stored = stored_for(_config_model(config, name), tensors)
    return FileModel("safetensors", model, _format(stored, shares, config), shares)


def _format(
    stored: Sequence[StoredTensor], shares: Sequence[TypeShare], config: bytes | None
) -> WeightFormat:
    known = library().weights.get(read_config_format(config) or "") if config is not None else None
    label = shares[0].type if shares else "Weights"
    return WeightFormat(
        id="file",
        name=f"{label if known is None else known.name} (file)",
        family="file",
        stored=tuple(stored),
        # Integers that pack weights have no operand of their own: then the bits decide.
        operand=operand_of(shares) if known is None else known.operand,
        source="the file's own tensor list",
    )


def _by_count(tensors: Sequence[FileTensor], name: str) -> tuple[Model, list[StoredTensor]]:
    weights, guessed = packed_weights(tensors)
    shape = shaped_count(tensors)
    assumed = [
        "no config.json beside the file: heads, windows and experts are unknown, every weight counts as read"
    ]
    if guessed:
        assumed.append("packed tensors are counted as 4-bit weights")
    if shape.kv_width:
        assumed.append(
            f"cache of {shape.kv_width:,} keys and as many values a layer, from the key projection's rows"
        )
    else:
        assumed.append("cache a token unknown: counted as none")
    model = Model(
        id=slug(name),
        name=name,
        params=float(weights),
        layers=shape.layers,
        kv_heads=1 if shape.kv_width else 0,
        head_dim=shape.kv_width,
        assumed=tuple(assumed),
    )
    size = sum(tensor.size_bytes for tensor in tensors)
    return model, [StoredTensor(role="all", params=weights, size_bytes=size)]


def _by_total(index: Index, name: str, config: bytes | None) -> FileModel:
    """Without the parts: the total size over the weights of the config, or over those that the index counts."""
    size = index.total_size
    if config is not None:
        model = _config_model(config, name)
        if size is None:
            return FileModel("safetensors", model)
        model = changed_model(
            model, assumed=(*model.assumed, "the index's total size is spread evenly over all weights")
        )
        return FileModel("safetensors", model, _mean_format(model, size, config))
    if size is None:
        raise SpecError("The index has no total_size, and neither its parts nor a config.json lie beside it.")
    params = index.total_params or max(1, size // 2)
    assumed = ["neither the parts nor a config.json lie beside the index: only its totals are used"]
    if index.total_params is None:
        assumed.append("16 bits a weight")
    model = Model(
        id=slug(name), name=name, params=float(params), layers=_layers(index), assumed=tuple(assumed)
    )
    stored = (StoredTensor(role="all", params=params, size_bytes=size),)
    return FileModel("safetensors", model, _format(stored, (), None))


def _layers(index: Index) -> int:
    return shaped_count([FileTensor(name, "", (), 0) for name in index.names]).layers


def _mean_format(model: Model, size: int, config: bytes) -> WeightFormat:
    stored = []
    params = sum(tensor.params for tensor in model.tensors)
    left = size
    for tensor in model.tensors:
        share = left * tensor.params // params if params else 0
        params, left = params - tensor.params, left - share
        stored.append(StoredTensor(role=tensor.role, params=tensor.params, size_bytes=share))
    return _format(stored, (), config)
