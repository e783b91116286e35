"""Rates: what a device does with the scenario's operands, and what such devices reach of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slmopt.specs.base import SpecError
from slmopt.specs.calibration import Calibration
from slmopt.specs.device import Device, Rate, Unit
from slmopt.specs.formats import KERNELS, WeightFormat
from slmopt.specs.library import Efficiency, Library
from slmopt.specs.scenario import Engine, Scenario


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


def achieved(scenario: Scenario, device: Device, weights: WeightFormat, presets: Library) -> Factors:
    """Achievable factors: those entered, else what reference measurements of the device's class reach.

    A fit's rates are no fractions: :func:`of_fit` sets them in proportion.
    """
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
        origin="; ".join(parts) if scenario.fit is None else _fit_words(scenario.fit, own, entered),
        fitted=fitted or scenario.fit is not None,
    )


def of_fit(factors: Factors, scenario: Scenario, bandwidth: float, peak: PhasePeak) -> Factors:
    """The factors with what the scenario's fit reaches of the published rates (bytes/s; decode's FLOP/s) in them."""
    fit = scenario.fit
    if fit is None:
        return factors
    values: dict[str, object] = {}
    if scenario.bandwidth_fraction is None:
        values["bandwidth"] = (min(1.0, fit.bandwidth_gbs * 1e9 / bandwidth),) * 3
    if scenario.compute_fraction is None and fit.matrix_tflops is not None and peak.estimate is not None:
        values["compute"] = (min(1.0, fit.matrix_tflops * 1e12 / peak.estimate),) * 3
    if scenario.fixed_ms is None:
        values["fixed_s"] = fit.fixed_ms / 1e3
    return replace(factors, **values)  # type: ignore[arg-type]


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
