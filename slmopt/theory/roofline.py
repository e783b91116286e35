"""The roofline: what a pass costs in time on a device, and which side decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.specs.calibration import Calibration, Overlap
from slmopt.specs.setup import PhasePeak, Setup
from slmopt.theory.forward import Group, Kind, Numbers, PassCost, forward
from slmopt.theory.terms import Term, pass_terms

Phase = Literal["decode", "prefill"]
Level = Literal["slow", "typical", "fast"]
LEVELS: tuple[Level, Level, Level] = ("slow", "typical", "fast")


@dataclass(frozen=True, slots=True)
class Roof:
    """Bytes/s and FLOP/s of a device, as published (ceiling) or as achieved (estimate).

    ``peak`` is NaN where no rate is known: compute time is then NaN and memory alone bounds the pass.
    ``fixed_s`` is the time of a pass that neither bytes nor operations explain. A fit to measurements may have found
    another bandwidth where a pass feeds more than one token (``batched_bandwidth``), and how its times join
    (``overlap``; None: one side wholly hidden behind the other).
    """

    bandwidth: float
    peak: float
    attention_peak: float
    fixed_s: float
    kind: Kind
    source: str
    batched_bandwidth: float | None = None
    overlap: Overlap | None = None

    @property
    def ridge(self) -> float:
        """Operations per byte at which both sides take the same time."""
        return self.peak / self.bandwidth


@dataclass(frozen=True, slots=True)
class PassTime:
    """Time of a pass in seconds, with its cost, its kind and where its rates are from.

    ``serial_s`` is what comes on top of the longer side where a fit found that the sides do not hide one another wholly.
    """

    cost: PassCost
    weight_s: Numbers
    cache_s: Numbers
    compute_s: Numbers
    fixed_s: float
    kind: Kind
    source: str
    serial_s: Numbers = 0.0

    @property
    def memory_s(self) -> Numbers:
        """Time to move all bytes."""
        return self.weight_s + self.cache_s

    @property
    def seconds(self) -> Numbers:
        """max(memory time, compute time) + serial + fixed time; memory alone where the compute time is unknown."""
        return np.fmax(self.memory_s, self.compute_s) + self.serial_s + self.fixed_s

    @property
    def compute_bound(self) -> npt.NDArray[np.bool_]:
        """Whether arithmetic decides; at the ridge memory is named."""
        return np.asarray(self.compute_s > self.memory_s)

    @property
    def bound(self) -> str:
        """Which side decides, for a single pass: "memory" or "compute"."""
        return "compute" if bool(self.compute_bound) else "memory"


def pass_time(cost: PassCost, roof: Roof) -> PassTime:
    """max(bytes/bandwidth, operations/peak), operations of attention at a rate of their own where one is given."""
    bandwidth: Numbers = roof.bandwidth
    if roof.batched_bandwidth is not None:
        bandwidth = np.where(np.asarray(cost.tokens) > 1, roof.batched_bandwidth, roof.bandwidth)
    products, attention = cost.matmul_flops / roof.peak, cost.attention_flops / roof.attention_peak
    time = PassTime(
        cost=cost,
        weight_s=cost.weight_bytes / bandwidth,
        cache_s=cost.cache_bytes / bandwidth,
        compute_s=products + attention,
        fixed_s=roof.fixed_s,
        kind=roof.kind,
        source=roof.source,
    )
    if roof.overlap is None:
        return time
    return replace(time, serial_s=_serial(time, products, attention, roof.overlap))


def _serial(time: PassTime, products: Numbers, attention: Numbers, overlap: Overlap) -> Numbers:
    """What a pass takes beyond its longer side; 0 where the compute time is unknown.

    Attention follows what is read and multiplied; those two hide one another or follow one another as well.
    """
    hidden = np.fmax(time.memory_s, products)
    joined = time.memory_s + products
    if overlap == "products":
        whole = hidden
    elif overlap == "none":
        whole = joined
    else:
        whole = np.where(np.asarray(time.cost.tokens) > 1, joined, hidden)
    beyond: Numbers = np.nan_to_num(whole + attention - np.fmax(time.memory_s, time.compute_s), nan=0.0)
    return beyond


def setup_terms(setup: Setup) -> tuple[Term, ...]:
    """The terms of the scenario's model in its formats, cached tokens counted as the scenario's fit found them."""
    terms = pass_terms(setup.model, setup.weights, *setup.cache)
    fit = setup.scenario.calibration
    if fit is None or fit.cache_step == 1:
        return terms
    return tuple(replace(term, cache_step=fit.cache_step) for term in terms)


def ceiling_roof(setup: Setup, phase: Phase) -> Roof:
    """Published bandwidth and the fastest rate for these operands."""
    peak = _peak(setup, phase).ceiling
    rate = float("nan") if peak is None else peak
    return Roof(setup.bandwidth, rate, rate, 0.0, "ceiling", setup.device.source)


def estimate_roof(setup: Setup, phase: Phase, level: Level) -> Roof:
    """Achievable rates: fractions of bandwidth and of the engine's own rate, and the fixed time of a pass."""
    at = LEVELS.index(level)
    factors = setup.factors
    peak = _peak(setup, phase).estimate
    rate = float("nan") if peak is None else peak * factors.compute[at]
    attention = rate if factors.attention_rate is None else min(factors.attention_rate, _or_inf(peak))
    roof = Roof(
        setup.bandwidth * factors.bandwidth[at], rate, attention, factors.fixed_s, "estimate", factors.origin
    )
    fit = setup.scenario.calibration
    return roof if fit is None else calibrated_roof(setup, phase, roof, fit)


def calibrated_roof(setup: Setup, phase: Phase, roof: Roof, fit: Calibration) -> Roof:
    """``roof`` with the rates of a fit, none above its ceiling; what the scenario itself says of a factor stands."""
    s = setup.scenario
    most = _or_inf(_peak(setup, phase).ceiling)
    bandwidth, batched = roof.bandwidth, None
    if s.bandwidth_fraction is None:
        bandwidth = min(fit.bandwidth_gbs * 1e9, setup.bandwidth)
        batched = None if fit.batched_gbs is None else min(fit.batched_gbs * 1e9, setup.bandwidth)
    told = fit.matrix_tflops is not None and s.compute_fraction is None
    peak = min((fit.matrix_tflops or 0.0) * 1e12, most) if told else roof.peak
    attention = peak if s.attention_tflops is None else roof.attention_peak
    if fit.attention_tflops is not None and s.attention_tflops is None and phase == "decode":
        attention = min(fit.attention_tflops * 1e12, most)
    fixed = fit.fixed_ms / 1e3 if s.fixed_ms is None else roof.fixed_s
    return replace(
        roof,
        bandwidth=bandwidth,
        batched_bandwidth=batched,
        peak=peak,
        attention_peak=attention,
        fixed_s=fixed,
        overlap=fit.overlap,
    )


def _or_inf(peak: float | None) -> float:
    return float("inf") if peak is None else peak


def _peak(setup: Setup, phase: Phase) -> PhasePeak:
    return setup.decode if phase == "decode" else setup.prefill


def roofs(setup: Setup, phase: Phase) -> dict[str, Roof]:
    """The ceiling and the three levels of the estimate."""
    return {"ceiling": ceiling_roof(setup, phase), **{lv: estimate_roof(setup, phase, lv) for lv in LEVELS}}


def run(setup: Setup, groups: Sequence[Group], roof: Roof) -> PassTime:
    """Time of a pass over ``groups`` under ``roof``, counted as its kind counts."""
    return pass_time(forward(setup_terms(setup), groups, roof.kind), roof)
