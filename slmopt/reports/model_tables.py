"""The page Your model as tables: layers, cache against context, parameters by role, and the presets with their sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Model
from slmopt.theory.cache_growth import CacheGrowth
from slmopt.theory.memory import bytes_per_token
from slmopt.theory.model_shape import LayerWeights, RoleParams
from slmopt.words import model as words
from slmopt.words.numbers import significant

CONFIDENCE = {"seen": "read in the source", "derived": "computed", "memory": "not confirmed"}


def layers(strip: Sequence[LayerWeights]) -> pd.DataFrame:
    """One row a layer. Sizes in MB (10^6 bytes)."""
    return pd.DataFrame(
        {
            "layer": [layer.place + 1 for layer in strip],
            "kind": [words.kind_name(layer.kind) for layer in strip],
            "attention_or_state_mb": [layer.mixer / 1e6 for layer in strip],
            "mlp_and_norms_mb": [layer.mlp / 1e6 for layer in strip],
            "experts_used_mb": [layer.used_experts / 1e6 for layer in strip],
            "other_experts_mb": [layer.other_experts / 1e6 for layer in strip],
            "total_mb": [layer.total / 1e6 for layer in strip],
        }
    )


def growth(found: CacheGrowth) -> pd.DataFrame:
    """One sequence's cache in MB (10^6 bytes) at each context, a column for each kind of layer."""
    kinds = {f"{words.grown_name(one)}_mb": one.bytes / 1e6 for one in found.kinds}
    return pd.DataFrame({"context_tokens": found.context, **kinds, "total_mb": found.total / 1e6})


def roles(found: Sequence[RoleParams]) -> pd.DataFrame:
    """Parameters by role, and how many of them a token uses."""
    return pd.DataFrame(
        {
            "role": [words.ROLES[role.role] for role in found],
            "parameters": [role.params for role in found],
            "used_by_a_token": [role.used for role in found],
        }
    )


def models(records: Iterable[Model], cache: CacheFormat) -> pd.DataFrame:
    """The models with what tells them apart, and where each is from."""
    return pd.DataFrame([_model_row(model, cache) for model in records])


def _model_row(model: Model, cache: CacheFormat) -> dict[str, Any]:
    return {
        "Name": model.name,
        "Parameters (B)": significant(model.total_params / 1e9),
        "Active (B)": significant(model.active_params / 1e9),
        "Layers": model.layer_count or None,
        "Kinds of layer": ", ".join(f"{count} {kind}" for kind, count in words.layer_kinds(model)),
        "Cache a token (kB)": significant(bytes_per_token(model, cache, cache) / 1e3),
        "Context limit": model.context_limit,
        "Confidence": _confidence(model.confidence),
        "Source": model.source or "own",
    }


def devices(records: Iterable[Device]) -> pd.DataFrame:
    """The devices with bandwidth, memory and matrix rates, and where each is from."""
    return pd.DataFrame([_device_row(device) for device in records])


def _device_row(device: Device) -> dict[str, Any]:
    unit = "GB" if device.capacity_gb else "GiB"
    sizes = device.capacity_gb or device.capacity_gib
    return {
        "Name": device.name,
        "Class": device.device_class,
        "Bandwidth (GB/s)": device.bandwidth_gbs,
        "Memory": f"{' or '.join(f'{size:g}' for size in sizes)} {unit}" if sizes else "not known",
        "Matrix rates (TFLOPS)": _unit_rates(device),
        "Confidence": _confidence(device.confidence),
        "Source": device.source or "own",
    }


def _unit_rates(device: Device) -> str:
    several = len(device.units) > 1
    return "; ".join(
        (f"{unit.name}: " if several else "") + _rates(dict(unit.peak_tflops)) for unit in device.units
    )


def _rates(rates: Mapping[Any, float]) -> str:
    return ", ".join(f"{kind} {rate:g}" for kind, rate in rates.items()) or "not published"


def _confidence(word: str) -> str:
    return CONFIDENCE.get(word, word)


def searched(table: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """The rows that hold every word of ``wanted`` somewhere, letter case aside."""
    if not wanted.split():
        return table
    columns = [name for name in table.columns if pd.api.types.is_string_dtype(table[name])]
    held = pd.Series("", index=table.index, dtype="str")
    for name in columns:
        held += " " + table[name].fillna("").str.lower()
    for word in wanted.lower().split():
        held = held[held.str.contains(word, regex=False)]
    return table.loc[held.index]
