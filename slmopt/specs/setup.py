"""A scenario with its presets looked up and its overrides applied: what theory computes with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from pydantic import ValidationError

from slmopt.specs.base import SpecError, sentence
from slmopt.specs.calibration import Calibration
from slmopt.specs.device import GB, Device, Rate, Unit
from slmopt.specs.formats import KERNELS, CacheFormat, WeightFormat
from slmopt.specs.library import Efficiency, Library, find, library
from slmopt.specs.model import Model
from slmopt.specs.scenario import UNITS, Engine, Scenario, named
from slmopt.specs.weights import stored_bytes


@dataclass(frozen=True)
class PhasePeak:
    """Matrix rates of one phase in FLOP/s: the fastest for these operands, and the one that the engine uses.

    ``ceiling`` is None where nobody published a rate for such operands on this unit; it is asked for, never guessed.
    ``known`` then holds the device's other rates as (unit and type, FLOP/s), which bracket the unknown one.
    """

    unit: str
    ceiling: float | None
    ceiling_type: str
    estimate: float | None
    estimate_type: str
    reason: str
    known: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Factors:
    """Achievable fractions as (p10, p50, p90), the fixed time of a pass in seconds, and where they are from."""

    bandwidth: tuple[float, float, float]
    compute: tuple[float, float, float]
    attention_rate: float | None
    fixed_s: float
    origin: str
    fitted: bool


@dataclass(frozen=True)
class Setup:
    """A resolved scenario. Bytes, bytes/s, FLOP/s; ``capacity`` is None where the device's memory is unknown."""

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
    warnings: tuple[str, ...] = field(default=())

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
    if scenario.devices > 1:
        raise SpecError(f"devices = {scenario.devices}: one device is computed so far; give devices = 1")
    capacity = scenario.capacity_gb * GB if scenario.capacity_gb is not None else _sold_capacity(device)
    return Setup(
        scenario=scenario,
        model=model,
        device=device,
        weights=weights,
        cache_k=cache_k,
        cache_v=cache_v,
        bandwidth=(scenario.bandwidth_gbs or device.bandwidth_gbs) * 1e9,
        capacity=capacity,
        buffers=(scenario.buffers_gb or 0.0) * GB,
        weight_bytes=stored_bytes(weights, model),
        decode=phase_peak(device, weights, scenario, scenario.decode_unit),
        prefill=phase_peak(device, weights, scenario, scenario.prefill_unit),
        factors=_factors(scenario, device, weights, presets),
        draft=draft,
        power_w=scenario.power_w or device.power_w,
        price_per_hour=device.price_per_hour if scenario.price_per_hour is None else scenario.price_per_hour,
        warnings=_warnings(scenario, model, stored_bytes(weights, model)),
    )


def _sold_capacity(device: Device) -> float | None:
    return device.capacities[0] * device.usable_fraction if device.capacities else None


def _weights(scenario: Scenario, presets: Library) -> WeightFormat:
    weights = find("weight format", presets.weights, scenario.weights)
    if scenario.weight_bits is None:
        return weights
    return WeightFormat.model_validate({"bits": scenario.weight_bits})


def phase_peak(device: Device, weights: WeightFormat, scenario: Scenario, unit_name: str | None) -> PhasePeak:
    """Rates that a phase runs at on the named unit; an override serves all types."""
    try:
        unit = device.unit(unit_name)
    except ValueError as error:
        raise SpecError(f"{error}.") from error
    if scenario.peak_tflops is not None:
        own = scenario.peak_tflops * 1e12
        return PhasePeak(unit.name, own, "entered", own, "entered", "the rate that you entered")
    fastest = _fastest(unit, bounding(unit, KERNELS[weights.multiplied_as]))
    wanted, reason = default_compute(scenario.engine, weights)
    if scenario.compute is not None:
        wanted, reason = scenario.compute, "the compute type that you chose"
    if fastest is None:
        reason = "no rate for these operands is published for this unit"
        return PhasePeak(unit.name, None, "unknown", None, "unknown", reason, _other_rates(device))
    name, ceiling = fastest
    used = _fastest(unit, (wanted,)) if wanted is not None else fastest
    if used is None:
        # The widest stand-in: an integer rate would make an estimate of FP16 arithmetic too fast.
        used = _fastest(unit, KERNELS["fp16"]) or fastest
        reason = f"{wanted} is not published for this unit, so {used[0]} stands in"
    return PhasePeak(unit.name, ceiling, name, min(used[1], ceiling), used[0], reason)


def bounding(unit: Unit, kernels: tuple[Rate, ...]) -> tuple[Rate, ...]:
    """Those of ``kernels`` whose published rate bounds what the unit does with narrower operands.

    An FP32 rate alone does not: chips run 16-bit and 8-bit operands 2 to 8 times as fast, whether published or not.
    """
    wide: tuple[Rate, ...] = ("fp32",)
    if "fp16" not in kernels or any(kind in unit.peak_tflops for kind in kernels if kind not in wide):
        return kernels
    return tuple(kind for kind in kernels if kind not in wide)


def _other_rates(device: Device) -> tuple[tuple[str, float], ...]:
    found = [
        (f"{unit.name} {kind}", rate * 1e12)
        for unit in device.units
        for kind, rate in unit.peak_tflops.items()
    ]
    return tuple(sorted(found, key=lambda pair: pair[1]))


def _fastest(unit: Unit, kinds: tuple[Rate, ...]) -> tuple[str, float] | None:
    rates = {kind: unit.peak_tflops[kind] for kind in (*kinds, "any") if kind in unit.peak_tflops}
    if not rates:
        return None
    best = max(rates, key=lambda kind: rates[kind])
    return best, rates[best] * 1e12


def default_compute(engine: Engine, weights: WeightFormat) -> tuple[Rate | None, str]:
    """The operand type whose rate an estimate starts from, with the reason.

    Integer weights start from the FP16 rate with every engine: it is what the reference measurements' fractions are
    taken of, those of integer kernels included, so another rate here would count the same gain twice.
    """
    operand = weights.multiplied_as
    if operand == "fp32":
        return "fp32", "32-bit weights are multiplied in FP32"
    if operand == "fp16":
        return "fp16", "16-bit weights are multiplied in FP16"
    if operand in ("fp8", "fp4") and engine in ("vllm", "sglang"):
        return operand, f"{engine} multiplies {operand.upper()} weights as {operand.upper()}"
    return "fp16", "the reference fractions are of the FP16 rate, whatever the kernel"


def _factors(scenario: Scenario, device: Device, weights: WeightFormat, presets: Library) -> Factors:
    known = _efficiency(device, weights, presets)
    b, c = known.bandwidth_fraction, known.compute_fraction
    own = [scenario.bandwidth_fraction, scenario.compute_fraction, scenario.fixed_ms]
    fitted = scenario.bandwidth_fraction is not None and scenario.compute_fraction is not None
    entered = scenario.factors_origin or "entered"
    parts = []
    if any(value is not None for value in own):
        parts.append(entered)
    if not fitted:
        parts.append(f"p10 to p90 of {known.rows} reference measurements, {known.name}")
    return Factors(
        bandwidth=(b.p10, b.p50, b.p90) if own[0] is None else (own[0],) * 3,
        compute=(c.p10, c.p50, c.p90) if own[1] is None else (own[1],) * 3,
        attention_rate=None if scenario.attention_tflops is None else scenario.attention_tflops * 1e12,
        fixed_s=(known.fixed_ms if scenario.fixed_ms is None else scenario.fixed_ms) / 1e3,
        origin="; ".join(parts)
        if scenario.calibration is None
        else _fit_words(scenario.calibration, own, entered),
        fitted=fitted or scenario.calibration is not None,
    )


def _fit_words(fit: Calibration, own: list[float | None], entered: str) -> str:
    """Where the factors of an estimate are from that rests on a fit."""
    error = "" if fit.error is None else f", off by {100 * fit.error:.0f} % on rows left out"
    rows = f"{fit.rows:,} row{'' if fit.rows == 1 else 's'}"
    parts = [entered] if any(value is not None for value in own) else []
    return "; ".join([*parts, f"fitted to your rows ({rows}{error})"])


def _efficiency(device: Device, weights: WeightFormat, presets: Library) -> Efficiency:
    """What such devices reach, 16-bit and quantised weights apart: 16-bit ones reach more of the same chip."""
    width = "16-bit" if weights.multiplied_as in ("fp16", "fp32") else "quantised"
    wanted = (f"{device.reference_class}/{width}", device.reference_class)
    return next(
        (presets.efficiencies[key] for key in wanted if key in presets.efficiencies),
        presets.efficiencies["all"],
    )


def _warnings(scenario: Scenario, model: Model, weight_bytes: float) -> tuple[str, ...]:
    notes = []
    if model.context_limit is not None and scenario.depth > model.context_limit:
        notes.append(
            f"A context of {scenario.depth:,} tokens is beyond the {model.context_limit:,} "
            f"that {model.name} was made for."
        )
    if scenario.calibration is not None:
        beyond = scenario.calibration.outside(
            batch=scenario.batch, context=scenario.depth, weight_bytes=weight_bytes, prompt=scenario.prompt
        )
        if beyond:
            notes.append(f"The estimate extrapolates beyond the rows that were fitted: {', '.join(beyond)}.")
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
