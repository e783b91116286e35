"""``inspect``: the model that a file describes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from slmopt.cli import inputs
from slmopt.cli.output import aligned, as_json
from slmopt.cli.parser import add_json_flag
from slmopt.readers.safe_json import load_object
from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.theory.memory import bytes_per_token, cache_bytes
from slmopt.words import numbers

LENGTHS = (4096, 32768)

_DTYPE_BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8}


def add_commands(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "inspect",
        help="the model that a config.json describes",
        description="The model that a file describes: parameters, layers, cache bytes. GGUF and safetensors headers come later.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a config.json, or the folder that holds it")
    add_json_flag(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> list[str]:
    """The command's output."""
    path = Path(options.file)
    model = _model(path, options.file)
    found = model_json(model, _stored_bits(path))
    return as_json(found) if options.json else _lines(model, found)


def _model(path: Path, text: str) -> Model:
    spec = inputs.from_file("model", path)
    assert isinstance(spec, Model), text
    return spec


def model_json(model: Model, bits: tuple[float, str] | None = None) -> dict[str, Any]:
    """The contract's keys; cache bytes with a 16-bit cache. ``bits`` are the stored weights' and who says so."""
    cache = library().caches["f16"]
    assumed = [*model.assumed, "16-bit cache for the cache bytes"]
    if bits is not None:
        assumed.append(f"weights of {bits[0]:g} bits, as the file's {bits[1]} says")
    return {
        "name": model.name,
        "params": model.total_params,
        "active_params": model.active_params,
        "layers": model.layer_count or None,
        "kv_bytes_per_token": bytes_per_token(model, cache, cache),
        "kv_bytes_at": {str(n): float(cache_bytes(model, cache, cache, float(n))) for n in LENGTHS},
        "weight_bytes": None if bits is None else model.total_params * bits[0] / 8,
        "bits_per_weight": None if bits is None else bits[0],
        "assumed": assumed,
    }


def _stored_bits(path: Path) -> tuple[float, str] | None:
    """Bits of the stored weights where the config names one plain type; a quantised one is no single number."""
    try:
        values = load_object(inputs.read_bytes(path / "config.json" if path.is_dir() else path))
    except SpecError:
        return None
    if values.get("quantization_config"):
        return None
    text = values.get("text_config")
    for holder in (values, text if isinstance(text, dict) else {}):
        for key in ("torch_dtype", "dtype"):
            bits = _DTYPE_BITS.get(str(holder.get(key, "")).removeprefix("torch."))
            if bits is not None:
                return float(bits), f"{key} ({holder[key]})"
    return None


def _lines(model: Model, found: dict[str, Any]) -> list[str]:
    whole = numbers.count
    rows = [
        ["parameters", whole(found["params"])],
        ["used by each token", whole(found["active_params"])],
        ["layers", whole(found["layers"])],
        ["cache a token", numbers.bytes_(found["kv_bytes_per_token"])],
    ]
    rows += [[f"cache of {n:,} tokens", numbers.bytes_(found["kv_bytes_at"][str(n)])] for n in LENGTHS]
    rows.append(["weights as stored", numbers.bytes_(found["weight_bytes"])])
    if model.context_limit is not None:
        rows.append(["made for a context of", f"{model.context_limit:,} tokens"])
    return [model.name, "", *aligned(rows), "", "Assumed", *(f"  {note}" for note in found["assumed"])]
