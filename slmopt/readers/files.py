"""Any model file, told apart by its content: config.json, GGUF, safetensors or their index, and our own descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from slmopt.readers.file_model import FileModel, TypeShare
from slmopt.readers.gguf_file import gguf_header_needed, is_gguf, read_gguf
from slmopt.readers.gguf_parts import MOST_LAYERS
from slmopt.readers.hf_config import read_config
from slmopt.readers.hf_format import quantised_format
from slmopt.readers.safe_json import load_object, refuse_absurd
from slmopt.readers.safetensors_file import read_safetensors, read_safetensors_index
from slmopt.readers.safetensors_header import MOST_JSON, is_index, read_index, safetensors_header_needed
from slmopt.specs.base import SpecError, sentence
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import EXPERT_ROLES, Model
from slmopt.specs.scenario import UNITS, named

SPEC = "slmopt_model"
"""Where ``inspect --json`` puts the whole description, so that its output stands for the file."""
VERSION = 1

_OTHERS = (
    (b"PK\x03\x04", "a PyTorch or ZIP archive"),
    (b"\x80", "a pickled PyTorch checkpoint"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ggjt", "a GGML file from before GGUF"),
    (b"tjgg", "a GGML file from before GGUF"),
    (b"lmgg", "a GGML file from before GGUF"),
)
_PART = re.compile(r"-(\d{5})-of-(\d{5})(?:\.\w+)?$")


def read_model_file(data: Path | str | bytes, name: str = "", config: bytes | None = None) -> FileModel:
    """The model that a file describes, whatever its kind.

    Parameters
    ----------
    data
        The file's path; or its bytes, of a GGUF or safetensors the first ones: as many as its header has
        (:func:`header_length_needed`).
    name
        What to call the model where the file does not name itself; by default the file's name.
    config
        For safetensors: the model's config.json, where none lies beside the file.

    Raises
    ------
    SpecError
        In one sentence, if the file cannot be read as a model.
    """
    path = None if isinstance(data, bytes) else Path(data)
    source = data if isinstance(data, bytes) else _source(Path(data))
    label = _label(path, name)
    try:
        return _read(source, label, name, config)
    except OSError as error:
        raise _unreadable(error) from None


def _read(source: Path | bytes, label: str, name: str, config: bytes | None) -> FileModel:
    start = _start(source)
    called = source.name if isinstance(source, Path) else name
    kind = _kind(start) or ("json" if called.lower().endswith(".json") and start.strip() else None)
    if kind == "gguf":
        return read_gguf(source, label)
    if kind == "json":
        return _from_json(_load(source), source if isinstance(source, Path) else None, label, config)
    if kind == "safetensors":
        _refuse_lone_part(source, name)
        return read_safetensors(source, label, config)
    if not start.strip():
        raise SpecError("The file is empty: give a config.json, a GGUF or a safetensors file.")
    found = next((what for magic, what in _OTHERS if start.startswith(magic)), None)
    told = f"The file is {found}" if found else "The file is none that describes a model"
    raise SpecError(f"{told}: give a config.json, a GGUF or a safetensors file.")


def _kind(start: bytes) -> Literal["gguf", "json", "safetensors"] | None:
    if is_gguf(start):
        return "gguf"
    # The eight bytes of a header's length may look like the start of a JSON text, but for the zeros among them.
    if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and b"\0" not in start[:8]:
        return "json"
    return "safetensors" if start[8:9] == b"{" else None


def header_length_needed(first_bytes: bytes) -> int | None:
    """Bytes from a file's start that its header takes; None where the bytes given are enough.

    Exact for safetensors. A GGUF does not state it: then it is a guess from what was read, in whole MiB, and asking again
    with as many bytes gives the next one should it have been too small. None, too, for files without such a header.

    Raises
    ------
    SpecError
        If the bytes are a damaged start of a GGUF or safetensors file.
    """
    kind = _kind(first_bytes[:64])
    if kind == "gguf":
        return gguf_header_needed(first_bytes)
    return safetensors_header_needed(first_bytes) if kind == "safetensors" else None


def described(found: FileModel) -> dict[str, Any]:
    """The whole description as JSON values, for :func:`read_model_file` to read back."""
    return {
        "version": VERSION,
        "model": found.model.model_dump(mode="json", exclude_defaults=True),
        "weights": None
        if found.weights is None
        else found.weights.model_dump(mode="json", exclude_defaults=True),
        "types": [[t.type, t.tensors, t.elements, t.size_bytes] for t in found.types],
        "runs": found.runs,
    }


def _label(path: Path | None, name: str) -> str:
    if name or path is None:
        return name or "model"
    if path.stem in ("config", "model", "model.safetensors.index") or _PART.search(path.stem):
        own = _PART.sub("", path.stem)
        return (
            path.resolve().parent.name or own
            if own in ("config", "model", "model.safetensors.index")
            else own
        )
    return path.stem


def _source(path: Path) -> Path | bytes:
    """The path of a regular file; of anything else (a pipe) what can be read from it, as much as a header may have."""
    try:
        if path.is_file():
            return path
        with path.open("rb") as file:
            return file.read(MOST_JSON)
    except (OSError, ValueError) as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError | ValueError) -> SpecError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SpecError(f"The file cannot be read ({why}): give the path of a readable file.")


def _start(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:64]
    with source.open("rb") as file:
        return file.read(64)


def _refuse_lone_part(source: Path | bytes, name: str) -> None:
    """Bytes of one part of several say nothing of the others."""
    part = _PART.search(name)
    if isinstance(source, bytes) and part is not None and int(part[2]) > 1:
        raise SpecError(
            f"The file is part {int(part[1])} of {int(part[2])}: run `python -m slmopt inspect` where all parts lie "
            "and give its output."
        )


def _load(source: Path | bytes) -> dict[str, Any]:
    if isinstance(source, Path):
        with source.open("rb") as file:
            source = file.read(MOST_JSON + 1)
    return load_object(source, noun="a config.json or an index", most=MOST_JSON)


def _from_json(values: dict[str, Any], path: Path | None, label: str, config: bytes | None) -> FileModel:
    if is_index(values):
        folder = None if path is None else path.parent
        return read_safetensors_index(read_index(values), folder, label, config)
    if isinstance(values.get(SPEC), Mapping):
        return _inspected(values[SPEC])
    if {"groups", "params"} & set(values):
        return FileModel("described", _own_model({"name": label, **values}))
    quantised, ident = quantised_format(values)
    known = None if ident is None else library().weights[ident]
    model = read_config(values, name=label)
    return FileModel("config", model, named_weights=known, quantised=quantised)


def _inspected(spec: Mapping[str, Any]) -> FileModel:
    """What ``inspect --json`` wrote."""
    if spec.get("version") != VERSION:
        raise SpecError(
            f"{SPEC}.version = {str(spec.get('version'))[:40]}: this release reads version {VERSION}."
        )
    model = _own_model(spec.get("model"))
    weights = spec.get("weights")
    refuse_absurd(weights)
    try:
        own = None if weights is None else WeightFormat.model_validate(weights)
    except ValidationError as error:
        raise SpecError(f"{SPEC}.weights: {sentence(error, UNITS, WeightFormat)}") from error
    return FileModel("inspected", model, own, _types(spec.get("types", [])), spec.get("runs") is not False)


def _types(listed: object) -> tuple[TypeShare, ...]:
    if not isinstance(listed, list) or len(listed) > 1000:
        raise SpecError(f"{SPEC}.types should be a short list.")
    shares = []
    for entry in listed:
        match entry:
            case [str(kind), int(tensors), int(elements), int(size)] if min(tensors, elements, size) >= 0:
                shares.append(TypeShare(kind[:40], tensors, elements, size))
            case _:
                raise SpecError(f"{SPEC}.types should list a type, its tensors, elements and bytes.")
    return tuple(shares)


def _own_model(values: object) -> Model:
    if not isinstance(values, Mapping):
        raise SpecError("The description of the model is no object: give what `inspect --json` wrote.")
    refuse_absurd(values)
    if isinstance(values.get("params"), bool):
        raise SpecError("params = true or false: it must be a number above 0.")
    try:
        model = Model.model_validate(named(dict(values)))
    except ValidationError as error:
        raise SpecError(sentence(error, UNITS, Model)) from error
    if model.layer_count > MOST_LAYERS:
        raise SpecError(
            f"The description has {model.layer_count:,} layers: at most {MOST_LAYERS:,} are read."
        )
    # Once more, for numbers that were given as texts.
    refuse_absurd(model.model_dump(mode="json"))
    if any(m.role in EXPERT_ROLES for g in model.groups if g.moe is None for m in g.matrices):
        raise SpecError(
            "A layer group has matrices of experts and no moe: give its experts, active and width."
        )
    return model
