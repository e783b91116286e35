"""A scenario with its presets looked up and its overrides applied: what theory computes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import ValidationError

from slmopt.specs.base import SpecError, sentence
from slmopt.specs.device import GB, Device
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.library import Library, find, library
from slmopt.specs.model import Model
from slmopt.specs.places import Host, Wire, host_of, refuse_impossible, wire_of
from slmopt.specs.rates import Factors, PhasePeak, achieved, of_fit, phase_peak
from slmopt.specs.scenario import UNITS, Scenario, named
from slmopt.specs.weights import stored_bytes

ASSUMED_STORAGE_GBS = 2.0
"""Where no rate is stated: cold loads of single cards from NVMe run at 1.0 to 4.6 GB/s (reference serving_effects.csv,
S7-0037 to -0054, one card)."""


@dataclass(frozen=True)
class Setup:
    """A resolved scenario. Bytes, bytes/s, FLOP/s; ``capacity`` is None where the device's memory is unknown.

    Bandwidth, capacity and rates are those of one device. ``draft_bytes`` are the weights of what drafts on it: a draft
    model's in the scenario's format, and heads built in. ``wire`` joins several, or card and ``host``; the latter is
    None unless part of the model may stay there.
    """

    scenario: Scenario
    model: Model
    device: Device
    weights: WeightFormat
    cache_k: CacheFormat
    cache_v: CacheFormat
    bandwidth: float
    capacity: float | None
    buffers: float
    weight_bytes: float
    decode: PhasePeak
    prefill: PhasePeak
    factors: Factors
    draft: Model | None
    power_w: float | None
    price_per_hour: float | None
    wire: Wire | None = None
    host: Host | None = None
    draft_bytes: float = 0.0
    warnings: tuple[str, ...] = field(default=())

    @property
    def draft_here(self) -> Model | None:
        """The draft model that the scenario's device holds; None where none drafts, or elsewhere."""
        s = self.scenario
        return self.draft if s.draft_tokens and s.draft_device is None else None

    @property
    def cache(self) -> tuple[CacheFormat, CacheFormat]:
        """K and V formats."""
        return self.cache_k, self.cache_v


@lru_cache(maxsize=1024)
def resolve(scenario: Scenario) -> Setup:
    """Look up presets, apply overrides. Raises :class:`SpecError` with one sentence where something is not known."""
    presets = library()
    model = find("model", presets.models, scenario.model)
    device = find("device", presets.devices, scenario.device)
    weights = _weights(scenario, presets)
    cache_k = find("cache format", presets.caches, scenario.cache_k)
    cache_v = cache_k if scenario.cache_v is None else find("cache format", presets.caches, scenario.cache_v)
    draft = (
        None if scenario.draft_model is None else find("draft model", presets.models, scenario.draft_model)
    )
    if scenario.draft_device is not None:
        find("draft device", presets.devices, scenario.draft_device)
        if draft is None:
            raise SpecError("draft_device needs draft_model, the model that it runs.")
    refuse_impossible(scenario, model)
    wire = wire_of(scenario, device)
    host = host_of(scenario, weights, presets)
    capacity = scenario.capacity_gb * GB if scenario.capacity_gb is not None else _sold_capacity(device)
    bandwidth = (scenario.bandwidth_gbs or device.bandwidth_gbs) * 1e9
    decode = phase_peak(device, weights, scenario, scenario.decode_unit)
    return Setup(
        scenario=scenario,
        model=model,
        device=device,
        weights=weights,
        cache_k=cache_k,
        cache_v=cache_v,
        bandwidth=bandwidth,
        capacity=capacity,
        buffers=(scenario.buffers_gb or 0.0) * GB,
        weight_bytes=stored_bytes(weights, model),
        decode=decode,
        prefill=phase_peak(device, weights, scenario, scenario.prefill_unit),
        factors=of_fit(achieved(scenario, device, weights, presets), scenario, bandwidth, decode),
        draft=draft,
        power_w=scenario.power_w or device.power_w,
        price_per_hour=device.price_per_hour if scenario.price_per_hour is None else scenario.price_per_hour,
        wire=wire,
        host=host,
        draft_bytes=_draft_bytes(scenario, weights, draft),
        warnings=(
            *_warnings(scenario, model),
            *_storage_warnings(scenario, device),
            *_fit_warnings(scenario, stored_bytes(weights, model)),
            *_link_warnings(scenario, model, wire),
        ),
    )


def _draft_bytes(s: Scenario, weights: WeightFormat, draft: Model | None) -> float:
    """Weights that drafting keeps on the scenario's device, beside the model's own."""
    if not s.draft_tokens:
        return 0.0
    heads = (s.draft_heads_gb or 0.0) * GB
    return heads + (0.0 if draft is None or s.draft_device is not None else stored_bytes(weights, draft))


def _storage_warnings(s: Scenario, device: Device) -> tuple[str, ...]:
    if s.residency == "resident" or s.storage_gbs is not None or device.storage_gbs is not None:
        return ()
    assumed = f"the estimate of a cold start takes {ASSUMED_STORAGE_GBS:g} GB/s, the ceiling leaves it out: give it."
    return (f"The storage rate of {device.name} is not known: {assumed}",)


def _sold_capacity(device: Device) -> float | None:
    return device.capacities[0] * device.usable_fraction if device.capacities else None


def _weights(scenario: Scenario, presets: Library) -> WeightFormat:
    weights = find("weight format", presets.weights, scenario.weights)
    if scenario.weight_bits is None:
        return weights
    return WeightFormat.model_validate({"bits": scenario.weight_bits})


def _warnings(scenario: Scenario, model: Model) -> tuple[str, ...]:
    notes = []
    if model.context_limit is not None and scenario.depth > model.context_limit:
        notes.append(
            f"A context of {scenario.depth:,} tokens is beyond the {model.context_limit:,} "
            f"that {model.name} was made for."
        )
    return tuple(notes)


def _fit_warnings(scenario: Scenario, weight_bytes: float) -> tuple[str, ...]:
    """Where a fit is stretched, or cannot be used."""
    if scenario.calibration is None:
        return ()
    if scenario.fit is None:
        where = f"{scenario.devices:,} devices" if scenario.devices > 1 else "layers on a host"
        rest = f"so with {where} estimates rest on reference measurements instead."
        return (f"The fit is of one device with the whole model on it, {rest}",)
    beyond = scenario.fit.outside(
        batch=scenario.batch, context=scenario.depth, weight_bytes=weight_bytes, prompt=scenario.prompt
    )
    if not beyond:
        return ()
    return (f"The estimate extrapolates beyond the rows that were fitted: {', '.join(beyond)}.",)


def _link_warnings(scenario: Scenario, model: Model, wire: Wire | None) -> tuple[str, ...]:
    """What of the link is not known, and so not counted."""
    if wire is None:
        return ()
    if wire.bandwidth is None:
        between = "the devices" if scenario.devices > 1 else "card and host"
        return (f"No link between {between} is known, so it costs nothing here: give its bandwidth.",)
    notes = []
    if scenario.devices > 1 and wire.latency_s is None:
        notes.append(f"The latency of {wire.name or 'the link'} is not stated, so none is counted: give it.")
    if scenario.devices > 1 and not model.hidden:
        notes.append(f"The width of {model.name} is not known, so what passes over the link is not counted.")
    return tuple(notes)


def inline(kind: str, values: object) -> Model | Device | WeightFormat | CacheFormat:
    """A spec from inline JSON values (``kind``: model, device, weights, cache); :class:`SpecError` where it is wrong."""
    types: dict[str, type[Model | Device | WeightFormat | CacheFormat]] = {
        "model": Model,
        "device": Device,
        "weights": WeightFormat,
        "cache": CacheFormat,
    }
    try:
        return types[kind].model_validate(named(values) if kind == "model" else values)
    except ValidationError as error:
        raise SpecError(f"{kind}: {sentence(error, UNITS, types[kind])}") from error
