"""``inspect``: the model that a file describes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slmopt.cli import inputs
from slmopt.cli.output import aligned, as_json
from slmopt.cli.parser import MODEL_FILES, add_json_flag
from slmopt.readers.file_model import FileModel
from slmopt.readers.files import SPEC, described
from slmopt.readers.safe_json import load_object
from slmopt.specs.base import SpecError
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.weights import bits_per_weight, stored_bytes
from slmopt.theory.memory import bytes_per_token, cache_bytes
from slmopt.words import numbers

LENGTHS = (4096, 32768)

_DTYPE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8}


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "inspect",
        help="the model that a file describes",
        description="The model that a file describes: parameters, layers, cache bytes, and what its weights take. Of a "
        "GGUF or safetensors file only the header is read; with --json the output stands for the file wherever one is asked for.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help=f"{MODEL_FILES}; or the folder that holds a config.json")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    path = Path(options.file)
    found = inputs.model_file(path)
    stored = stored_as(found) or (
        _config_bits(found, path) if found.kind == "config" and not found.quantised else None
    )
    values = model_json(found, stored)
    return as_json(values) if options.json else _lines(found, values)


Stored = tuple[float, float, str]
"""Bytes of all weights, bits of one, and what to say of the source; empty where the file itself is it."""


def stored_as(found: FileModel) -> Stored | None:
    """What the weights take, where the file holds them or names their format."""
    named = found.named_weights
    if named is not None:
        said = f"{named.name} weights, as the file's quantisation names"
        return stored_bytes(named, found.model), bits_per_weight(named, found.model), said
    if found.weights is None:
        return None
    return stored_bytes(found.weights, found.model), bits_per_weight(found.weights, found.model), ""


def model_json(found: FileModel, stored: Stored | None = None) -> dict[str, Any]:
    """The contract's keys, cache bytes with a 16-bit cache; and the whole description, which can be read back."""
    model, cache = found.model, library().caches["f16"]
    assumed = [*model.assumed, "16-bit cache for the cache bytes"]
    if stored is not None and stored[2]:
        assumed.append(stored[2])
    if found.quantised and found.named_weights is None:
        assumed.append("the file says that its weights are quantised, in a format that is not known here")
    return {
        "name": model.name,
        "params": model.total_params,
        "active_params": model.active_params,
        "layers": model.layer_count or None,
        "kv_bytes_per_token": bytes_per_token(model, cache, cache),
        "kv_bytes_at": {str(n): float(cache_bytes(model, cache, cache, float(n))) for n in LENGTHS},
        "weight_bytes": None if stored is None else stored[0],
        "bits_per_weight": None if stored is None else stored[1],
        "assumed": assumed,
        SPEC: described(found),
    }


def _config_bits(found: FileModel, path: Path) -> Stored | None:
    """Stored weights where a config names one plain type; a quantised one is no single number."""
    try:
        values = load_object(inputs.read_bytes(path / "config.json" if path.is_dir() else path))
    except SpecError:
        # No JSON: a GGUF or safetensors file, whose own types say more than a config's would.
        return None
    text = values.get("text_config")
    for holder in (values, text if isinstance(text, dict) else {}):
        for key in ("torch_dtype", "dtype"):
            bits = _DTYPE_BITS.get(str(holder.get(key, "")).removeprefix("torch."))
            if bits is not None:
                said = f"weights of {bits} bits, as the file's {key} ({holder[key]}) says"
                plain = WeightFormat.model_validate({"bits": bits})
                return stored_bytes(plain, found.model), float(bits), said
    return None


def _lines(found: FileModel, values: dict[str, Any]) -> list[str]:
    model, whole = found.model, numbers.count
    rows = [
        ["parameters", whole(values["params"])],
        ["used by each token", whole(values["active_params"])],
        ["layers", whole(values["layers"])],
        ["cache a token", numbers.bytes_(values["kv_bytes_per_token"])],
    ]
    rows += [[f"cache of {n:,} tokens", numbers.bytes_(values["kv_bytes_at"][str(n)])] for n in LENGTHS]
    rows.append(["weights as stored", numbers.bytes_(values["weight_bytes"])])
    if values["bits_per_weight"] is not None:
        rows.append(["bits a weight", f"{values['bits_per_weight']:.4g}"])
    if model.context_limit is not None:
        rows.append(["made for a context of", f"{model.context_limit:,} tokens"])
    return [
        model.name,
        "",
        *aligned(rows),
        *_types(found),
        "",
        "Assumed",
        *(f"  {n}" for n in values["assumed"]),
    ]


def _types(found: FileModel) -> list[str]:
    """What the file holds in each type."""
    if not found.types:
        return []
    rows = [["type", "tensors", "bytes"]]
    rows += [[t.type, f"{t.tensors:,}", numbers.bytes_(float(t.size_bytes))] for t in found.types]
    return ["", "Stored", *(f"  {line}" for line in aligned(rows, (1, 2)))]
