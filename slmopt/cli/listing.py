"""``models``, ``devices`` and ``formats``: the presets that ship."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from slmopt.cli.output import aligned, as_json
from slmopt.cli.parser import add_json_flag
from slmopt.specs.base import Sourced
from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.theory.memory import bytes_per_token
from slmopt.words import numbers

NOT_CONFIRMED = "not confirmed"


def add_commands(commands: Any) -> None:
    """Register the three commands."""
    for name, what, run in (
        ("models", "the models that ship", _models),
        ("devices", "the devices that ship", _devices),
        ("formats", "the weight and cache formats that ship", _formats),
    ):
        parser = commands.add_parser(name, help=what, description=f"List {what}.", allow_abbrev=False)
        add_json_flag(parser)
        parser.set_defaults(command=run)


def _record(record: Sourced) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "source": record.source,
        "confidence": record.confidence,
        "note": record.note,
    }


def _models(options: argparse.Namespace) -> list[str]:
    models = library().models.values()
    if options.json:
        return as_json([_model_json(model) for model in models])
    rows = [["id", "name", "parameters", "active", "layers", "cache a token", "context", ""]]
    rows += [_model_row(model) for model in models]
    return aligned(rows, right=(2, 3, 4, 5, 6))


def _model_json(model: Model) -> dict[str, Any]:
    cache = library().caches["f16"]
    return {
        **_record(model),
        "family": model.family,
        "params": model.total_params,
        "active_params": model.active_params,
        "layers": model.layer_count or None,
        "kv_bytes_per_token": bytes_per_token(model, cache, cache),
        "context_limit": model.context_limit,
    }


def _model_row(model: Model) -> list[str]:
    found = _model_json(model)
    return [
        model.id,
        model.name,
        _size(found["params"]),
        _size(found["active_params"]),
        numbers.count(found["layers"]),
        numbers.bytes_(found["kv_bytes_per_token"]),
        numbers.count(model.context_limit),
        _unsure(model),
    ]


def _size(params: float) -> str:
    scale, prefix = numbers.si_scale(params)
    return f"{numbers.figures(params / scale)}{'B' if prefix == 'G' else prefix}"


def _devices(options: argparse.Namespace) -> list[str]:
    devices = library().devices.values()
    if options.json:
        return as_json([_device_json(device) for device in devices])
    rows = [["id", "name", "class", "bandwidth", "memory", "matrix rates (TFLOPS)", ""]]
    rows += [_device_row(device) for device in devices]
    return aligned(rows, right=(3,))


def _device_json(device: Device) -> dict[str, Any]:
    return {
        **_record(device),
        "device_class": device.device_class,
        "bandwidth_gbs": device.bandwidth_gbs,
        "capacity_bytes": list(device.capacities),
        "units": [{"name": unit.name, "peak_tflops": dict(unit.peak_tflops)} for unit in device.units],
        "reference_class": device.reference_class,
    }


def _device_row(device: Device) -> list[str]:
    unit = "GB" if device.capacity_gb else "GiB"
    sizes = device.capacity_gb or device.capacity_gib
    memory = f"{' or '.join(f'{size:g}' for size in sizes)} {unit}" if sizes else numbers.UNKNOWN
    rates = "; ".join(
        (f"{u.name}: " if len(device.units) > 1 else "") + _rates(dict(u.peak_tflops)) for u in device.units
    )
    bandwidth = numbers.bytes_per_s(device.bandwidth_gbs * 1e9)
    return [device.id, device.name, device.device_class, bandwidth, memory, rates, _unsure(device)]


def _rates(rates: dict[Any, float]) -> str:
    return ", ".join(f"{kind} {rate:g}" for kind, rate in rates.items()) or numbers.UNKNOWN


def _formats(options: argparse.Namespace) -> list[str]:
    presets = library()
    if options.json:
        weights = [_weights_json(w) for w in presets.weights.values()]
        return as_json([*weights, *(_cache_json(c) for c in presets.caches.values())])
    head = ["id", "name", "bits", "multiplied as", ""]
    lines = [
        "Weights (--weights)",
        *_indent(aligned([head, *map(_weights_row, presets.weights.values())], (2,))),
    ]
    caches = [
        ["id", "name", "bits", ""],
        *([c.id, c.name, f"{c.bits:g}", _unsure(c)] for c in presets.caches.values()),
    ]
    return [*lines, "", "Cache (--kv, --kv-v)", *_indent(aligned(caches, (2,)))]


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _weights_json(weights: WeightFormat) -> dict[str, Any]:
    return {
        **_record(weights),
        "kind": "weights",
        "family": weights.family,
        "bits": weights.bits,
        "recipe": weights.recipe,
        "kept": list(weights.kept),
        "kept_bits": weights.kept_bits if weights.kept else None,
        "operand": weights.multiplied_as,
    }


def _cache_json(cache: CacheFormat) -> dict[str, Any]:
    return {**_record(cache), "kind": "cache", "bits": cache.bits}


def _weights_row(weights: WeightFormat) -> list[str]:
    bits = f"{weights.bits:g}" if weights.bits is not None else "mixed"
    return [weights.id, weights.name, bits, weights.multiplied_as, _unsure(weights)]


def _unsure(record: Sourced) -> str:
    return NOT_CONFIRMED if record.unconfirmed else ""
