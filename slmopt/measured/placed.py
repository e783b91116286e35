"""What a row ran: model, device and formats looked up by what the file and the user say; never guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

from slmopt.measured.file_size import format_bytes
from slmopt.measured.layout import OFFLOAD_UNKNOWN, OFFLOADED, beside, shared
from slmopt.measured.match import (
    agrees,
    counts,
    looks_like_experts,
    match_cache,
    match_model,
    match_weights,
    near,
)
from slmopt.measured.match_device import match_device
from slmopt.measured.usual import with_reference
from slmopt.specs.device import Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.library import Library, find, library
from slmopt.specs.model import Model
from slmopt.specs.scenario import Engine, Scenario, scenario
from slmopt.specs.setup import Setup, resolve

SIZE_ROOM: Final = 0.1
"""Relative difference between a file's size and its format's above which the row is marked."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the user says about rows; None where nothing is said. Presets by id, or whole descriptions.

    Model, formats, batch and number of devices fill in what a row leaves open. A device is the user's word against a name in a file, which
    never tells the memory that is in a machine: it holds for every row, unless ``device_wins`` is off or a file names
    several devices that presets know.
    """

    device: str | Device | None = None
    model: str | Model | None = None
    weights: str | WeightFormat | None = None
    cache_k: str | CacheFormat | None = None
    cache_v: str | CacheFormat | None = None
    engine: Engine | None = None
    batch: float | None = None
    devices: float | None = None
    overrides: dict[str, Any] = field(default_factory=dict)
    device_wins: bool = True

    @classmethod
    def of(cls, s: Scenario, *, device_wins: bool = False) -> Facts:
        """The panel's scenario as the word of its user: its parts where a row says nothing, its overrides for all."""
        given = {name: getattr(s, name) for name in _OVERRIDES}
        overrides = {
            name: value.model_dump(mode="json", exclude_unset=True) if isinstance(value, Device) else value
            for name, value in given.items()
            if value is not None
        }
        return cls(
            s.device, s.model, s.weights, s.cache_k, s.cache_v, s.engine, None, None, overrides, device_wins
        )


_OVERRIDES: Final = (
    "bandwidth_gbs",
    "peak_tflops",
    "compute",
    "attention_tflops",
    "bandwidth_fraction",
    "compute_fraction",
    "fixed_ms",
    "decode_unit",
    "prefill_unit",
    "link_gbs",
    "link_latency_us",
    "host",
)
"""What a scenario may say about the device, what is achieved on it, and what is beside it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the file says about one kind of row; empty and NaN where it says nothing.

    ``bits`` a weight (from size and count) and ``weight_bytes`` are given only where no known format is named.
    """

    model: str = ""
    model_file: str = ""
    model_type: str = ""
    params: float = math.nan
    weight_format: str = ""
    bits: float = math.nan
    weight_bytes: float = math.nan
    device: str = ""
    device_count: float = math.nan
    tensor_parallel: float = math.nan
    pipeline_parallel: float = math.nan
    gpu_layers: float = math.nan
    cpu_moe_layers: float = math.nan
    cache_k: str = ""
    cache_v: str = ""
    tool: str = ""
    backend: str = ""

    @property
    def names(self) -> tuple[str, str, str]:
        """Everything that the model is called."""
        return self.model_type, self.model, self.model_file


@dataclass(frozen=True, slots=True)
class Place:
    """A row's kind, resolved: ``setup`` computes its ceilings; without one ``missing`` says what is needed.

    ``format_bytes`` are what the weight format gives for the tensors that such a file holds; the file's own size over
    it scales the weights. ``notes`` are codes for what was taken, each on the side of a bound.
    """

    setup: Setup | None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    format_bytes: float = math.nan
    devices: float = 1.0
    by_count: bool = False

    @property
    def summed(self) -> float:
        """Devices whose rates are added up since nobody says how they share the model; 1 where the setup knows."""
        return self.devices if self.setup is None or self.setup.scenario.devices == 1 else 1.0

    @property
    def split(self) -> bool:
        """Whether a part of the model lies beside the device's memory."""
        return OFFLOADED in self.notes or self.host_unknown

    @property
    def host_unknown(self) -> bool:
        """Whether a part of the model lies in a memory that nobody names, which the ceiling leaves out."""
        return OFFLOAD_UNKNOWN in self.notes


def place(row: Row, facts: Facts, *, several_devices: bool) -> Place:
    """Look up what a row of this kind ran."""
    presets = library()
    missing: list[str] = []
    notes: list[str] = []
    device = _device(row, facts, presets, several_devices)
    if device is None:
        missing.append("need_device")
    named = match_device(presets.devices, row.device)
    if device is not None and named is not None and named.id != device.id:
        notes.append(f"named={row.device.replace('|', '/')}")
    counted = row.device_count >= 1
    count = row.device_count if counted else facts.devices or 1.0
    if math.isnan(row.device_count) and ", " in row.device:
        missing.append("unlike_devices")
    # The tools of one machine's user run on one device unless they say otherwise; servers run on any number.
    if not counted and facts.devices is None and not row.tool.startswith(_LOCAL):
        notes.append("devices_assumed")
    model = _model(row, facts, presets)
    if model is None:
        missing.append("experts_shape" if looks_like_experts(*row.names) else "need_model")
    weights = _weights(row, facts, presets, model, notes)
    if weights is None:
        missing.append("need_weights")
    if missing or device is None or model is None or weights is None:
        notes += [f"devices={count:g}"] if count > 1 else []
        return Place(None, tuple(missing), tuple(notes), devices=count)
    if model.by_count and not model.layers:
        notes.append("count_only")
    cache_k, cache_v = _caches(row, facts, presets, notes)
    values: dict[str, Any] = {
        "model": model,
        "device": device,
        "weights": weights,
        "cache_k": cache_k,
        "cache_v": cache_v,
        "engine": _engine(row, facts),
        **facts.overrides,
    }
    values |= shared(row, count, model, notes)
    if count == 1:
        values |= beside(row, model, device, facts, notes)
    setup = resolve(scenario(values))
    setup = with_reference(setup, row, presets, facts)
    return Place(
        setup,
        notes=tuple(notes),
        format_bytes=format_bytes(weights, model, row.params),
        devices=count,
        by_count=model.by_count,
    )


def _device(row: Row, facts: Facts, presets: Library, several: bool) -> Device | None:
    own = match_device(presets.devices, row.device) if row.device else None
    said = None if facts.device is None else find("device", presets.devices, facts.device)
    if said is None or (own is not None and (several or not facts.device_wins)):
        return own if own is not None else said
    return said


def _model(row: Row, facts: Facts, presets: Library) -> Model | None:
    """The user's model where its size is the row's; the preset that the row means; the user's where the row says
    nothing against it; a bare parameter count.
    """
    said = None if facts.model is None else find("model", presets.models, facts.model)
    if said is not None and agrees(said, row.params):
        return said
    own = match_model(presets.models, row.names, row.params)
    if own is not None:
        return own
    if said is not None and (math.isnan(row.params) or near(said, row.params)):
        return said
    if math.isfinite(row.params) and row.params > 0 and not looks_like_experts(*row.names):
        return Model(
            id="count", name=row.model or row.model_type or f"{row.params / 1e9:.3g}B", params=row.params
        )
    return None


def _weights(
    row: Row, facts: Facts, presets: Library, model: Model | None, notes: list[str]
) -> WeightFormat | None:
    """The format that the row names; the user's, unless the row's size is another; mean bits from that size."""
    if row.weight_format:
        found = match_weights(
            presets, row.weight_format, gguf=row.tool.startswith(("llama", "sweep", "ollama"))
        )
        if found is not None:
            if found[1] and math.isnan(row.bits):
                notes.append("least_bits")
            return found[0]
    bits = row.bits
    if math.isnan(bits) and model is not None:
        bits = round(8 * row.weight_bytes / counts(model)[-1], 1)
    said = None if facts.weights is None else find("weight format", presets.weights, facts.weights)
    if said is not None and not row.weight_format and _fits(said, model, row, bits):
        return said
    if 0 < bits <= 64:
        label = row.weight_format or f"{bits:g}-bit"
        return WeightFormat.model_validate({"id": label, "name": label, "bits": bits})
    return None


def _fits(said: WeightFormat, model: Model | None, row: Row, bits: float) -> bool:
    """Whether the user's format is of the size that the row states, if it states one."""
    if model is None or not bits > 0:
        return True
    return abs(8 * format_bytes(said, model, row.params) / counts(model)[-1] / bits - 1) <= SIZE_ROOM


def _caches(row: Row, facts: Facts, presets: Library, notes: list[str]) -> tuple[CacheFormat, CacheFormat]:
    """Cache formats; where neither file nor user names one, the 16 bits that every runtime starts with."""
    found = []
    for name, said in ((row.cache_k, facts.cache_k), (row.cache_v, facts.cache_v or facts.cache_k)):
        own = match_cache(presets.caches, name) if name else None
        if own is None and said is not None and not name:
            own = find("cache format", presets.caches, said)
        if own is None:
            own = presets.caches["f16"]
            # llama.cpp's tools name a cache format only where it is not this one.
            if (name or not row.tool.startswith("llama")) and "cache_assumed" not in notes:
                notes.append("cache_assumed")
        found.append(own)
    return found[0], found[1]


def _engine(row: Row, facts: Facts) -> Engine:
    said = f"{row.tool} {row.backend}".lower()
    for name, words in _ENGINES.items():
        if any(word in said for word in words):
            return name
    return facts.engine or "exact"


_LOCAL: Final = ("llama", "sweep", "ollama", "localscore", "mlx")
_ENGINES: Final[dict[Engine, tuple[str, ...]]] = {
    "vllm": ("vllm",),
    "sglang": ("sglang",),
    "llama.cpp": ("llama", "sweep-bench", "gguf", "ggml"),
}
