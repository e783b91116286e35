"""What a device brings against what each user gets, as the batch grows; and what a token costs at each batch.

A slot serves one request after the other: each takes its prefill T_p from everyone and output − 1 decode steps of
T(B, c), in which B requests end, so that

    tokens/s of the device = B · output / (B · T_p + (output − 1) · T(B, c)).

A user's speed is 1 / T(B, c), with c the scenario's context. Cost = price / tokens, energy = power / tokens, the power
being the board's rated one all the time. The knee is where the product of both speeds is greatest (the "power" of
L. Kleinrock, "On flow control in computer networks", 1978): for a step of w + r·B at B = w/r, where what the sequences
add takes as long as what is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slmopt.specs.scenario import Scenario
from slmopt.theory.batching import largest_batch_within
from slmopt.theory.evaluation import Evaluation, Phases, evaluate
from slmopt.theory.latency import decode_step, prefill
from slmopt.theory.roofline import LEVELS
from slmopt.theory.static_groups import steps_per_token

Array = npt.NDArray[np.float64]

_POINTS = 96
_FARTHEST = 100_000
_UNBOUNDED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Speeds at each batch of a frontier in tokens/s, decoding alone (``decode``) and with everyone's prefill (``device``);
    cost of a million output tokens in the price's currency, energy in J a token; NaN where price or power is unknown.
    """

    device: Array
    decode: Array
    user: Array
    cost: Array
    energy: Array


@dataclass(frozen=True, slots=True)
class Place:
    """One batch of a frontier: under the ceiling and under the typical estimate."""

    batch: int
    device: float
    user: float
    about_device: float
    about_user: float
    about_cost: float
    about_energy: float


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """Batches from 1 to ``reach``, the most that memory holds (``fit``; None where it sets no limit).

    ``lines``: "ceiling", "slow", "typical", "fast". ``allowed``: the most sequences whose step and prefill meet the
    targets, under the ceiling and the typical estimate, 0 where none does; empty without a target. ``best`` is the
    fastest batch that memory and targets allow, by the typical estimate.
    """

    evaluation: Evaluation
    batch: Array
    fit: int | None
    reach: int
    lines: Mapping[str, Line]
    now: Place
    knee: Place
    largest: Place
    allowed: Mapping[str, int]
    best: Place | None

    @property
    def priced(self) -> bool:
        """Whether a price is known."""
        return self.evaluation.setup.price_per_hour is not None

    @property
    def powered(self) -> bool:
        """Whether a power is known."""
        return self.evaluation.setup.power_w is not None


def frontier(evaluation: Evaluation) -> Frontier:
    """The frontier of a scenario; where not even one sequence fits it shows what would be."""
    return _frontier(evaluation.setup.scenario)


@lru_cache(maxsize=64)
def _frontier(scenario: Scenario) -> Frontier:
    evaluation = evaluate(scenario)
    fit = evaluation.capacity.max_sequences
    reach = min(_FARTHEST, max(1, fit if fit is not None else max(_UNBOUNDED, scenario.batch)))
    batch = np.unique(np.rint(np.geomspace(1.0, max(2, reach), _POINTS)))
    lines = {name: _line(phase, batch) for name, phase in _phases(evaluation).items()}
    typical = lines["typical"]
    knee = int(batch[int(np.argmax(typical.decode * typical.user))])
    allowed = _allowed(evaluation, reach)
    most = allowed.get("typical", reach)
    now, at_knee, largest, best = _places(evaluation, (scenario.batch, min(knee, reach), reach, max(1, most)))
    return Frontier(
        evaluation=evaluation,
        batch=batch,
        fit=fit,
        reach=reach,
        lines=lines,
        now=now,
        knee=at_knee,
        largest=largest,
        allowed=allowed,
        best=best if most and fit != 0 else None,
    )


def _phases(evaluation: Evaluation) -> dict[str, Phases]:
    return {"ceiling": evaluation.ceiling, **{level: evaluation.estimate[level] for level in LEVELS}}


def _line(phase: Phases, batch: Array) -> Line:
    setup = phase.setup
    step = np.asarray(decode_step(setup, phase.decode_roof, batch).seconds)
    s = setup.scenario
    first = float(prefill(setup, phase.prefill_roof, alone=True).seconds)
    output = s.output
    steps = (output - 1) * steps_per_token(s, phase.decode_roof.kind, batch)
    device = batch * output / (batch * first + steps * step)
    price = np.nan if setup.price_per_hour is None else setup.price_per_hour / 3600 * 1e6
    power = np.nan if setup.power_w is None else setup.power_w
    return Line(device, batch / step, 1.0 / step, price / device, power / device)


def _places(evaluation: Evaluation, batches: Sequence[int]) -> list[Place]:
    at = np.array(batches, float)
    ceiling, about = _line(evaluation.ceiling, at), _line(evaluation.typical, at)
    columns = (ceiling.device, ceiling.user, about.device, about.user, about.cost, about.energy)
    return [
        Place(batch, *map(float, values))
        for batch, values in zip(batches, np.stack(columns, axis=1), strict=True)
    ]


def _allowed(evaluation: Evaluation, reach: int) -> dict[str, int]:
    """The most sequences that meet both targets: a step within the one, a prefill within the other."""
    s = evaluation.setup.scenario
    if s.target_tpot_s is None and s.target_ttft_s is None:
        return {}
    found = {}
    for name, phase in (("ceiling", evaluation.ceiling), ("typical", evaluation.typical)):
        first = float(prefill(evaluation.setup, phase.prefill_roof).seconds)
        if s.target_ttft_s is not None and first > s.target_ttft_s:
            found[name] = 0
        elif s.target_tpot_s is None:
            found[name] = reach
        else:
            found[name] = largest_batch_within(evaluation.setup, phase.decode_roof, s.target_tpot_s, reach)
    return found


def sustained_rate(evaluation: Evaluation, slots: int) -> float:
    """Requests/s that a device serves for ever with ``slots`` slots, as far as memory holds them; typical estimate."""
    fit = evaluation.capacity.max_sequences
    batch = max(1, slots if fit is None else min(slots, fit))
    return _places(evaluation, [batch])[0].about_device / evaluation.setup.scenario.output
