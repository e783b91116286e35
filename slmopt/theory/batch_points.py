"""What a scenario gives at each batch: the curves of the Batching page and the points marked on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.specs.scenario import Scenario
from slmopt.theory.batching import (
    BatchCurve,
    Slopes,
    batch_curve,
    cache_outgrows_weights,
    largest_batch_within,
    slopes,
    weights_alone,
)
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.forward import Numbers
from slmopt.theory.latency import decode_step
from slmopt.theory.roofline import LEVELS, Level
from slmopt.theory.roofline_points import curve_top

Array = npt.NDArray[np.float64]

POINTS = 72
# Sides shorter than this stay readable on a linear axis.
LINEAR_TO = 64
_SHORTEST = 4
_UNBOUNDED = 64
_MOST = 1_000_000
# Side figures end here: more sequences than this decode together on no device.
_FARTHEST = 100_000


@dataclass(frozen=True, slots=True)
class Mark:
    """One batch under the ceiling: tokens/s of the device and of a user, and the step in seconds."""

    batch: float
    device_tokens_per_s: float
    user_tokens_per_s: float
    step_s: float


@dataclass(frozen=True, slots=True)
class Curves:
    """Decode at each batch, tokens/s of the device; steps in seconds, split by what they wait for."""

    batch: Array
    device: Array
    weight_s: Array
    cache_s: Array
    compute_s: Array
    step_s: Array
    band: Mapping[Level, Array]
    """Estimated tokens/s of the device at each batch."""

    @property
    def user(self) -> Array:
        """Tokens/s that one sequence sees."""
        return 1.0 / self.step_s


@dataclass(frozen=True, slots=True)
class BatchingView:
    """What Batching shows. ``fit`` is None where memory is unknown or never fills.

    ``wide`` spans decades of batches, ``near`` those that memory holds. ``weights_only`` is the throughput of ``wide``
    if no cache were read. ``holds`` is the largest batch up to ``reach`` that meets the target for time per token, under
    the ceiling and the slow estimate; ``outgrown`` the first at which caches take longer than weights. ``compute_first``
    says that arithmetic decides for one sequence already.
    """

    evaluation: Evaluation
    top: float
    reach: int
    fit: int | None
    now: Mark
    first: Mark
    largest: Mark | None
    crossing: Mark | None
    crossing_weights_only: tuple[float, float] | None
    wide: Curves
    near: Curves
    weights_only: Array
    target_s: float | None
    holds: Mapping[str, int]
    outgrown: int | None
    slopes: Slopes
    compute_first: bool

    @property
    def known(self) -> bool:
        """Whether decode's matrix rate is known."""
        return not np.isnan(self.evaluation.ceiling.decode_roof.peak)

    def largest_within(self, end: float) -> Mark | None:
        """The most that fit, where it is another than the present batch and an axis to ``end`` shows it."""
        mark = self.largest
        return mark if mark is not None and mark.batch != self.now.batch and mark.batch <= end else None

    @property
    def linear(self) -> bool:
        """Whether the near batches are few enough for a linear axis."""
        return self.reach <= LINEAR_TO


def batching_view(evaluation: Evaluation) -> BatchingView:
    """Curves and marks of a scenario."""
    return _view(evaluation.setup.scenario)


@lru_cache(maxsize=64)
def _view(scenario: Scenario) -> BatchingView:
    evaluation = evaluate(scenario)
    setup, ceiling = evaluation.setup, evaluation.ceiling
    roof = ceiling.decode_roof
    fit = evaluation.capacity.max_sequences
    batch = setup.scenario.batch
    top = curve_top(evaluation)
    reach = max(_SHORTEST, batch, min(_FARTHEST, fit if fit is not None else max(_UNBOUNDED, 4 * batch)))
    target = setup.scenario.target_tpot_ms
    crossing = ceiling.crossover.batch
    alone = ceiling.crossover.weights_only
    known = [float(value) for value in (fit, batch, crossing) if value]
    wide_batch = _grid(top, known)
    return BatchingView(
        evaluation=evaluation,
        top=top,
        reach=reach,
        fit=fit,
        now=_mark(evaluation, float(batch)),
        first=_mark(evaluation, 1.0),
        largest=_mark(evaluation, float(fit)) if fit else None,
        crossing=_mark(evaluation, crossing) if crossing is not None else None,
        crossing_weights_only=None if alone is None else (alone, float(weights_alone(setup, roof, alone))),
        wide=_curves(evaluation, wide_batch),
        near=_curves(evaluation, _near(reach, known)),
        weights_only=np.asarray(weights_alone(setup, roof, wide_batch)),
        target_s=None if target is None else target / 1e3,
        holds={} if target is None else _holds(evaluation, target / 1e3, reach),
        outgrown=cache_outgrows_weights(setup, roof, _MOST),
        slopes=slopes(setup, roof, float(setup.scenario.depth)),
        compute_first=bool(decode_step(setup, roof, 1.0).compute_bound),
    )


def _grid(top: float, known: list[float]) -> Array:
    return np.unique(np.concatenate([np.geomspace(1.0, top, POINTS), [b for b in known if 1 <= b <= top]]))


def _near(reach: int, known: list[float]) -> Array:
    if reach <= LINEAR_TO:
        return np.arange(1.0, reach + 1.0)
    return _grid(float(reach), known)


def _mark(evaluation: Evaluation, batch: float) -> Mark:
    seconds = float(decode_step(evaluation.setup, evaluation.ceiling.decode_roof, batch).seconds)
    return Mark(batch, batch / seconds, 1.0 / seconds, seconds)


def _curves(evaluation: Evaluation, batch: Array) -> Curves:
    setup = evaluation.setup
    ceiling = batch_curve(setup, evaluation.ceiling.decode_roof, batch)
    step = ceiling.step

    def estimated(level: Level) -> BatchCurve:
        return batch_curve(setup, evaluation.estimate[level].decode_roof, batch)

    return Curves(
        batch=batch,
        device=_array(ceiling.device_tokens_per_s),
        weight_s=_array(step.weight_s),
        cache_s=_array(step.cache_s),
        compute_s=_array(step.compute_s),
        step_s=_array(step.seconds),
        band={level: _array(estimated(level).device_tokens_per_s) for level in LEVELS},
    )


def _array(values: Numbers) -> Array:
    return np.asarray(values, dtype=np.float64)


def _holds(evaluation: Evaluation, target: float, most: int) -> dict[str, int]:
    roofs = {"ceiling": evaluation.ceiling.decode_roof, "slow": evaluation.estimate["slow"].decode_roof}
    return {kind: largest_batch_within(evaluation.setup, roof, target, most) for kind, roof in roofs.items()}
