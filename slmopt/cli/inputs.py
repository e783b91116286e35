"""What a flag's text stands for: a preset's id, a file, inline JSON, or a number of bits."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from slmopt.readers.file_model import FileModel
from slmopt.readers.files import SPEC, read_model_file
from slmopt.readers.hf_config import read_config
from slmopt.readers.preset_file import is_preset_file, read_presets
from slmopt.readers.safe_json import LARGEST, load_object, refuse_absurd
from slmopt.specs.base import Sourced, SpecError
from slmopt.specs.calibration import Calibration
from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.library import Library, find, library
from slmopt.specs.model import Model
from slmopt.specs.recipes import nominal_bits
from slmopt.specs.setup import inline

Kind = Literal["model", "device", "weights", "cache"]

MOST_BYTES = 4 << 20
"""No description of a model or device is larger."""

LONGEST_NAME = 200

_LIST = {
    "model": "slmopt models",
    "device": "slmopt devices",
    "weights": "slmopt formats",
    "cache": "slmopt formats",
}
_NAME = {"model": "model", "device": "device", "weights": "weight format", "cache": "cache format"}
_OWN_FIELDS = frozenset({"params", "groups"})
_WITH_WEIGHTS = (".gguf", ".safetensors", ".safetensors.index.json")


def number(text: str) -> float:
    """A finite number, for argparse."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{shown(text)} is not a number") from None
    if not math.isfinite(value):
        raise ArgumentTypeError(f"{shown(text)} is not a finite number")
    if abs(value) > LARGEST:
        raise ArgumentTypeError(f"{shown(text)} is too large: give at most {LARGEST:g}")
    return value


def whole(text: str) -> int:
    """A whole number, for argparse; "4,096" and "4e3" are read as well."""
    try:
        return int(text.replace(",", ""))
    except ValueError:
        value = number(text)
    if value != int(value):
        raise ArgumentTypeError(f"{shown(text)} is not a whole number")
    return int(value)


def shown(text: str | Path) -> str:
    """A text as it may stand in an error: quoted, on one line, and short; of a path the end tells most."""
    quoted = repr(str(text))
    if isinstance(text, Path):
        return quoted if len(quoted) <= 240 else f"'…{quoted[-236:]}"
    return quoted if len(quoted) <= 60 else f"{quoted[:56]}…'"


def model(text: str, flag: str = "--model") -> Model:
    """The model that ``text`` stands for."""
    return model_and_weights(text, flag)[0]


def model_and_weights(text: str, flag: str = "--model") -> tuple[Model, WeightFormat | None]:
    """The model that ``text`` stands for, and how the file it is from stores its weights, or says that they are stored.

    None where it does neither.
    """
    found = _spec("model", text, flag)
    if not isinstance(found, FileModel):
        assert isinstance(found, Model)
        return found, None
    if not found.runs:
        raise SpecError(
            f"{flag}: {found.model.name} is no language model by itself: give the language model's file."
        )
    return found.model, found.weights or found.named_weights


def device(text: str, flag: str = "--device") -> Device:
    """The device that ``text`` stands for."""
    spec = _spec("device", text, flag)
    assert isinstance(spec, Device)
    return spec


def weights(text: str, flag: str = "--weights") -> WeightFormat:
    """The weight format that ``text`` stands for."""
    spec = _spec("weights", text, flag)
    if isinstance(spec, FileModel):
        if spec.weights is None:
            raise SpecError(f"{flag}: {shown(text)} holds no weights: give a GGUF, safetensors or a format.")
        return spec.weights
    assert isinstance(spec, WeightFormat)
    return spec


def cache(text: str, flag: str = "--kv") -> CacheFormat:
    """The cache format that ``text`` stands for."""
    spec = _spec("cache", text, flag)
    assert isinstance(spec, CacheFormat)
    return spec


def calibration(name: str, flag: str = "--fit") -> Calibration:
    """The fit in a file that ``slmopt fit --out`` wrote."""
    try:
        return Calibration.parse(read_bytes(Path(name)).decode("utf-8", "replace"))
    except SpecError as error:
        raise SpecError(f"{flag}: {error}") from error


def _spec(kind: Kind, text: str, flag: str) -> Sourced | FileModel:
    try:
        return _meaning(kind, text.strip())
    except SpecError as error:
        raise SpecError(f"{flag}: {error}") from error


def _meaning(kind: Kind, text: str) -> Sourced | FileModel:
    if not text:
        raise SpecError(f"is empty: give {_WANTED}.")
    if text.startswith(("{", "[")):
        return from_values(kind, _object(kind, text))
    if kind in ("weights", "cache") and _is_number(text):
        return from_values(kind, {"bits": float(text)})
    path = Path(text)
    if len(text) > LONGEST_NAME and not _is_path(path, text):
        raise SpecError(f"{shown(text)} is no {_NAME[kind]}: give {_WANTED}.")
    try:
        return _preset(kind, text, library())
    except SpecError as error:
        if not _is_path(path, text):
            raise SpecError(f"{error} Give {_WANTED} (`{_LIST[kind]}` lists the ids).") from error
    return from_file(kind, path)


_WANTED = "a preset's id, a path to a file, or inline JSON"


def _preset(kind: Kind, text: str, presets: Library) -> Sourced:
    tables: dict[Kind, Mapping[str, Sourced]] = {
        "model": presets.models,
        "device": presets.devices,
        "weights": presets.weights,
        "cache": presets.caches,
    }
    return find(_NAME[kind], tables[kind], text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_path(path: Path, text: str) -> bool:
    try:
        return (
            path.exists() or text.lower().endswith((".json", *_WITH_WEIGHTS)) or "/" in text or "\\" in text
        )
    except (OSError, ValueError):
        # Too long, or with a NUL: no path.
        return False


def from_file(kind: Kind, path: Path) -> Sourced | FileModel:
    """The spec that a file describes, or the whole file where it is a model's."""
    if kind == "model" or (kind == "weights" and path.name.lower().endswith(_WITH_WEIGHTS)):
        return model_file(path)
    content = read_bytes(path)
    if kind == "device" and is_preset_file(content):
        return _only_device(path, content)
    try:
        values = _object(kind, content)
        # What `inspect --json` wrote stands for the file it was told of.
        return read_model_file(content) if kind == "weights" and SPEC in values else from_values(kind, values)
    except SpecError as error:
        raise SpecError(f"{shown(path)}: {error}") from error


def _only_device(path: Path, content: bytes) -> Device:
    """The device of a preset file that has one, as ``probe`` writes them."""
    try:
        devices = read_presets(content).devices
    except SpecError as error:
        raise SpecError(f"{shown(path)}: {error}") from error
    if len(devices) != 1:
        names = ", ".join(device.name for device in devices[:4])
        raise SpecError(f"{shown(path)} lists {len(devices)} devices ({names}): give a file with one.")
    return devices[0]


def model_file(path: Path) -> FileModel:
    """The model file at a path; a folder stands for the config.json in it."""
    try:
        if path.is_dir():
            path /= "config.json"
        return _existing(path)
    except SpecError as error:
        raise SpecError(f"{shown(path)}: {error}") from error
    except (OSError, ValueError) as error:
        raise SpecError(f"{shown(path)} cannot be read ({error}): give a readable file.") from error


def _existing(path: Path) -> FileModel:
    if not path.exists():
        raise SpecError("the file does not exist: give the path of an existing file.")
    return read_model_file(path)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a file, or :class:`SpecError` with the reason why it cannot be read."""
    try:
        if path.is_dir():
            raise SpecError(f"{shown(path)} is a folder: give a file.")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise SpecError(f"{shown(path)} does not exist: give the path of an existing file.") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"{shown(path)} cannot be read ({why}): give a readable file.") from None
    if len(content) > most:
        raise SpecError(f"{shown(path)} is larger than {most:,} bytes: give a smaller file.")
    if not content.strip():
        raise SpecError(f"{shown(path)} is empty: give a file with content.")
    return content


def _object(kind: Kind, data: bytes | str) -> dict[str, Any]:
    return load_object(data, noun="a config.json" if kind == "model" else f"a {_NAME[kind]}'s description")


def from_values(kind: Kind, values: Mapping[str, Any]) -> Sourced:
    """A spec from JSON values. A model may be this package's own description or a Hugging Face config."""
    if kind == "model" and not _OWN_FIELDS & set(values):
        return read_config(values, name="own model")
    refuse_absurd(values)
    if isinstance(values.get("params"), bool):
        raise SpecError("params = true or false: it must be a number above 0.")
    named = dict(values)
    if kind == "weights" and isinstance(named.get("recipe"), str):
        named = {"id": named["recipe"], "name": named["recipe"], **named}
        nominal_bits(named["recipe"])  # raises where there is no such file type
    try:
        return inline(kind, named)
    except SpecError as error:
        raise SpecError(str(error).removeprefix(f"{kind}: ")) from error
