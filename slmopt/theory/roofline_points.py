"""A scenario's passes as points on the roofline, and where a growing batch takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup
from slmopt.theory.evaluation import Evaluation, Phases, evaluate
from slmopt.theory.forward import Kind
from slmopt.theory.latency import decode_group, decode_step
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.roofline import LEVELS, pass_cost

Array = npt.NDArray[np.float64]

PATH_POINTS = 48
CURVE_POINTS = 40
# Batches so large that what a step reads once no longer shows.
_SPAN = 1e6
# Contexts beyond this are no model's; a curve for them would teach nothing.
_LONGEST = 2.0**21
# Curves closer than this (in the logarithm) are drawn as one line.
_SAME = 0.03
_USUAL_TOP = 1000.0
_FARTHEST_TOP = 1e5


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A measured pass: operations a byte by the scenario's own count, FLOP/s as measured, and its name."""

    intensity: float
    flops_per_s: float
    label: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A pass on the roofline: FLOP/byte, and FLOP/s over the whole pass. ``bound`` is None where no rate is known."""

    batch: int
    intensity: float
    flops_per_s: float
    seconds: float
    bound: str | None


@dataclass(frozen=True, slots=True)
class Band:
    """The estimate of a pass in FLOP/s at its own intensity, which expected experts and cache writes may lower."""

    intensity: float
    slow: float
    typical: float
    fast: float


@dataclass(frozen=True, slots=True)
class Path:
    """Decode at each batch, the scenario's context kept."""

    batch: Array
    intensity: Array
    flops_per_s: Array


@dataclass(frozen=True, slots=True)
class IntensityCurve:
    """Decode's intensity (FLOP/byte) at one context (tokens) against ``batch``."""

    context: int
    batch: Array
    intensity: Array
    present: bool


@dataclass(frozen=True, slots=True)
class RooflineView:
    """What the Roofline shows. Rates are NaN where unknown.

    ``largest`` is None where memory is unknown, never fills, or holds no sequence. ``limit`` is the intensity that large
    batches approach, infinite where a sequence reads nothing of its own. ``context_limit`` as in the crossover.
    """

    evaluation: Evaluation
    first: Spot
    now: Spot
    largest: Spot | None
    prefill: Spot
    decode_band: Band
    prefill_band: Band
    path: Path
    limit: float
    context_limit: float | None
    curves: tuple[IntensityCurve, ...]

    @property
    def roof(self) -> Roof:
        """The ceiling that decode stands under."""
        return self.evaluation.ceiling.decode_roof

    @property
    def prefill_roof(self) -> Roof:
        """The ceiling that prefill stands under; it differs where another unit serves it."""
        return self.evaluation.ceiling.prefill_roof

    @property
    def known(self) -> bool:
        """Whether decode's matrix rate is known."""
        return not math.isnan(self.roof.peak)

    @property
    def other_ridges(self) -> tuple[float, ...]:
        """Ridges (FLOP/byte) under the device's other rates, which bracket an unknown one; lowest first."""
        return tuple(rate / self.roof.bandwidth for _, rate in self.evaluation.setup.decode.known)

    @property
    def fits_none(self) -> bool:
        """Whether memory is known to hold not one sequence."""
        return self.evaluation.capacity.max_sequences == 0


def roofline_view(evaluation: Evaluation) -> RooflineView:
    """Points, path and curves of a scenario."""
    return _view(evaluation.setup.scenario)


@lru_cache(maxsize=64)
def _view(scenario: Scenario) -> RooflineView:
    evaluation = evaluate(scenario)
    setup, ceiling = evaluation.setup, evaluation.ceiling
    roof = ceiling.decode_roof
    fit = evaluation.capacity.max_sequences
    return RooflineView(
        evaluation=evaluation,
        first=decode_spot(setup, roof, 1),
        now=_spot(setup.scenario.batch, ceiling.decode),
        largest=decode_spot(setup, roof, fit) if fit else None,
        prefill=_spot(1, ceiling.prefill),
        decode_band=_band(evaluation, "decode"),
        prefill_band=_band(evaluation, "prefill"),
        path=decode_path(setup, roof, float(fit or max(setup.scenario.batch, _USUAL_TOP))),
        limit=intensity_limit(setup, float(setup.scenario.depth)),
        context_limit=ceiling.crossover.context_limit,
        curves=telling_curves(evaluation),
    )


def decode_spot(setup: Setup, roof: Roof, batch: int) -> Spot:
    """A decode step of ``batch`` sequences at the scenario's context."""
    return _spot(batch, decode_step(setup, roof, float(batch)))


def _spot(batch: int, time: PassTime) -> Spot:
    seconds = float(time.seconds)
    known = not math.isnan(float(time.compute_s))
    return Spot(
        batch,
        float(time.cost.intensity),
        float(time.cost.flops) / seconds,
        seconds,
        time.bound if known else None,
    )


def _band(evaluation: Evaluation, phase: str) -> Band:
    def time(phases: Phases) -> PassTime:
        return phases.decode if phase == "decode" else phases.prefill

    times = [time(evaluation.estimate[level]) for level in LEVELS]
    slow, typical, fast = (float(t.cost.flops) / float(t.seconds) for t in times)
    return Band(float(time(evaluation.typical).cost.intensity), slow, typical, fast)


def decode_path(setup: Setup, roof: Roof, largest: float) -> Path:
    """Decode from one sequence to ``largest``: whole batches, about evenly spaced in their logarithm."""
    batch = np.unique(np.rint(np.geomspace(1.0, max(1.0, largest), PATH_POINTS)))
    step = decode_step(setup, roof, batch)
    return Path(batch, np.asarray(step.cost.intensity), np.asarray(step.cost.flops / step.seconds))


def intensity_limit(setup: Setup, context: float, kind: Kind = "ceiling") -> float:
    """a/r: the operations of a sequence over the bytes that it adds to a step; what large batches approach.

    Infinite where a further sequence adds no bytes.
    """
    low, high = (pass_cost(setup, [decode_group(setup, b, context)], kind) for b in (_SPAN, 2 * _SPAN))
    added = float(high.bytes - low.bytes)
    done = float(high.flops - low.flops)
    return done / added if added else math.inf


def intensity_curve(setup: Setup, context: int, top: float, *, present: bool = False) -> IntensityCurve:
    """Intensity from one sequence to ``top`` at a context."""
    batch = np.geomspace(1.0, top, CURVE_POINTS)
    cost = pass_cost(setup, [decode_group(setup, batch, float(context))])
    return IntensityCurve(context, batch, np.asarray(cost.intensity), present)


def telling_curves(evaluation: Evaluation) -> tuple[IntensityCurve, ...]:
    """A curve for each telling context; those that run with the present one are left out."""
    setup, top = evaluation.setup, curve_top(evaluation)
    present = intensity_curve(setup, setup.scenario.depth, top, present=True)
    others = [intensity_curve(setup, c, top) for c in telling_contexts(evaluation) if c != present.context]
    apart = [c for c in others if np.max(np.abs(np.log(c.intensity / present.intensity))) > _SAME]
    return tuple(sorted([*apart, present], key=lambda curve: curve.context))


def curve_top(evaluation: Evaluation) -> float:
    """The power of ten up to which batches are shown: room for the present one, the largest and the crossover."""
    crossing = evaluation.ceiling.crossover
    wanted = [_USUAL_TOP, float(evaluation.setup.scenario.batch)]
    telling = (evaluation.capacity.max_sequences, crossing.batch, crossing.weights_only)
    wanted += [1.3 * value for value in telling if value is not None and value < _FARTHEST_TOP]
    return float(10.0 ** math.ceil(math.log10(max(wanted)) - 1e-9))


def telling_contexts(evaluation: Evaluation) -> tuple[int, ...]:
    """Up to four contexts: none cached, the present one, the first without a crossover, and one between or beyond."""
    present = evaluation.setup.scenario.depth
    limit = evaluation.ceiling.crossover.context_limit
    chosen = {0, present}
    edge = None if limit is None or limit > _LONGEST else math.floor(limit) + 1
    if edge is None:
        chosen.add(round_number(max(present, 100) * 8.0))
        if present >= 800:
            chosen.add(round_number(present / 8.0))
    else:
        if edge > 1:
            chosen.add(edge)
        outer = max(edge, present)
        inner = min(edge, present)
        chosen.add(
            round_number(math.sqrt(inner * outer)) if outer > 8 * inner > 8 else round_number(outer * 8.0)
        )
    return tuple(sorted(chosen))


def round_number(value: float) -> int:
    """The nearest of 1, 2, 5, 10 … on a logarithmic scale."""
    decade = 10.0 ** math.floor(math.log10(max(1.0, value)))
    stops = (decade, 2 * decade, 5 * decade, 10 * decade)
    return int(min(stops, key=lambda stop: abs(math.log(stop / max(1.0, value)))))
