"""The roofline: what a pass costs in time on a device, and which side decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

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
    ``fixed_s`` is the time of a pass that neither bytes nor operations explain.
    """

    bandwidth: float
    peak: float
    attention_peak: float
    fixed_s: float
    kind: Kind
    source: str

    @property
    def ridge(self) -> float:
        """Operations per byte at which both sides take the same time."""
        return self.peak / self.bandwidth


@dataclass(frozen=True, slots=True)
class PassTime:
    """Time of a pass in seconds, with its cost, its kind and where its rates are from."""

    cost: PassCost
    weight_s: Numbers
    cache_s: Numbers
    compute_s: Numbers
    fixed_s: float
    kind: Kind
    source: str

    @property
    def memory_s(self) -> Numbers:
        """Time to move all bytes."""
        return self.weight_s + self.cache_s

    @property
    def seconds(self) -> Numbers:
        """max(memory time, compute time) + fixed time; memory alone where the compute time is unknown."""
        return np.fmax(self.memory_s, self.compute_s) + self.fixed_s

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
    return PassTime(
        cost=cost,
        weight_s=cost.weight_bytes / roof.bandwidth,
        cache_s=cost.cache_bytes / roof.bandwidth,
        compute_s=cost.matmul_flops / roof.peak + cost.attention_flops / roof.attention_peak,
        fixed_s=roof.fixed_s,
        kind=roof.kind,
        source=roof.source,
    )


def setup_terms(setup: Setup) -> tuple[Term, ...]:
    """The terms of the scenario's model in its formats."""
    return pass_terms(setup.model, setup.weights, *setup.cache)


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
    return Roof(
        setup.bandwidth * factors.bandwidth[at], rate, attention, factors.fixed_s, "estimate", factors.origin
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
