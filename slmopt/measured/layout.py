"""How a row's model lies over several devices, or over a card and its host, as a scenario says it.

What a file states is taken; where it states nothing, or a way that theory does not compute (tensor and pipeline together,
copies of the model, experts spread), nothing is returned and the ceiling stays one that bounds every way.

Layers on a card are counted as llama.cpp does since 2026 (:mod:`slmopt.theory.offload`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from slmopt.specs.device import Device
from slmopt.specs.library import find, library
from slmopt.specs.model import Model

if TYPE_CHECKING:
    from slmopt.measured.placed import Facts, Row

OFFLOADED: Final = "layers_on_host"
OFFLOAD_UNKNOWN: Final = "host_unknown"

_ONE_MEMORY: Final = ("apple", "apu", "soc", "phone", "cpu", "sbc")
"""Classes of devices that read main memory whatever is said of layers."""


def shared(row: Row, count: float, model: Model, notes: list[str]) -> dict[str, Any]:
    """How several devices share the model, where the file says so for all of them; else their rates are added up."""
    if count <= 1:
        return {}
    tensor, stages = row.tensor_parallel, row.pipeline_parallel
    stages = 1.0 if math.isnan(stages) and tensor == count else stages
    told = "tensor" if (tensor, stages) == (count, 1.0) else "pipeline" if stages == count else ""
    if not told or count % 1 or count > _MOST_DEVICES or (told == "pipeline" and count > model.layer_count):
        notes.append(f"devices={count:g}")
        return {}
    notes.append(f"{told}={count:g}")
    return {"devices": int(count), "parallel": told}


_MOST_DEVICES: Final = 4096


def beside(row: Row, model: Model, device: Device, facts: Facts, notes: list[str]) -> dict[str, Any]:
    """Layers that lie on the host, where it is known; a host that nobody names leaves the card's own ceiling, still a bound."""
    backend = row.backend.split(",")[0].strip().upper()
    if device.reference_class in _ONE_MEMORY or backend in ("CPU", "BLAS") or not model.layer_count:
        return {}
    whole = model.layer_count + (0 if model.by_count else 1)
    layers = row.gpu_layers if 0 <= row.gpu_layers < whole else math.nan
    has_experts = any(group.moe is not None for group in model.groups)
    moved = min(row.cpu_moe_layers, model.layer_count) if row.cpu_moe_layers > 0 and has_experts else 0
    if math.isnan(layers) and not moved:
        return {}
    host = facts.overrides.get("host")
    if host is None:
        notes.append(OFFLOAD_UNKNOWN)
        return {}
    notes.append(OFFLOADED)
    values: dict[str, Any] = {"cpu_moe_layers": int(moved)} if moved else {}
    if not math.isnan(layers):
        values["gpu_layers"] = int(layers)
    if device.host_link is None and "link_gbs" not in facts.overrides:
        # Nothing is sent faster than the host reads it, so its own rate bounds a link that nobody states.
        named = (
            Device.model_validate(host) if isinstance(host, dict) else find("host", library().devices, host)
        )
        values["link_gbs"] = named.bandwidth_gbs
    return values
