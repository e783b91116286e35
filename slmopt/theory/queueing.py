"""Waiting and the 95th percentile under load, in closed form.

Assumed: requests of the scenario's shape arrive at random (Poisson), prompts are processed one after the other in order
and each holds the device for its prefill, and all replies decode together between them.

- Prefill is an M/D/1 queue: with ρ = rate·prefill the mean wait is ρ·S / (2·(1 − ρ)) (F. Pollaczek, A. Khinchine, 1930).
  Its distribution is (1 − ρ)·exp(ρ·t/S) up to t = S (A. K. Erlang, 1909); beyond, the tail is C·exp(−θ·t) with
  ρ·(exp(θ·S) − 1) = θ·S and C = (1 − ρ) / (ρ·exp(θ·S) − 1), its slowest term: within 6 % of the 95th percentile, and on the long side.
- Decode has the device for 1 − ρ of the time, so a step seems 1/(1 − ρ) as long. Sequences at once follow from Little's
  law, N = rate·(output − 1)·step(N)/(1 − ρ), and vary as a Poisson count (M/G/∞); the 95th percentile of the step is
  the step with N + 1.645·√N sequences.

Ignored: chunked prefill, unequal lengths (which widen both tails), and that more sequences than memory holds must wait:
that is called saturated instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from slmopt.specs.setup import Setup
from slmopt.theory.latency import prefill, time_per_token
from slmopt.theory.roof import Roof

P95_NORMAL = 1.6449
_TAIL = 0.05
_MOST = 100_000.0

Limit = Literal["prefill", "decode", "memory"]


@dataclass(frozen=True, slots=True)
class Load:
    """Seconds, sequences. Times are infinite where the load is ``saturated`` by prefill, decode or memory."""

    rate: float
    prefill_share: float
    sequences: float
    wait_s: float
    ttft_s: float
    ttft_p95_s: float
    tpot_s: float
    tpot_p95_s: float
    saturated: Limit | None


def wait_mean(rate: float, service_s: float) -> float:
    """Mean wait of an M/D/1 queue in seconds; infinite from a load of 1 on."""
    load = rate * service_s
    return load * service_s / (2.0 * (1.0 - load)) if load < 1 else math.inf


def wait_p95(rate: float, service_s: float) -> float:
    """The 95th percentile of that wait in seconds; 0 below a load of 5 %."""
    load = rate * service_s
    if load >= 1:
        return math.inf
    if load <= _TAIL:
        return 0.0
    within = math.log((1.0 - _TAIL) / (1.0 - load)) / load
    if within <= 1.0:
        return within * service_s
    decay = _decay(load)
    height = (1.0 - load) / (load * math.exp(decay) - 1.0)
    return math.log(height / _TAIL) / decay * service_s


def _decay(load: float) -> float:
    """X > 0 with load·(e^x − 1) = x, by bisection; the left side starts lower and ends higher."""
    low, high = 0.0, 1.0
    while load * math.expm1(high) < high:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if load * math.expm1(middle) < middle else (low, middle)
    return high


def under_load(
    setup: Setup, decode_roof: Roof, prefill_roof: Roof, rate: float, most: float | None = None
) -> Load:
    """TTFT and TPOT at ``rate`` requests a second; ``most`` is how many sequences memory holds (None: unknown)."""
    service = float(prefill(setup, prefill_roof).seconds)
    share = rate * service
    if share >= 1:
        return _stuck(rate, share, "prefill")
    steps = setup.scenario.output - 1
    free = 1.0 - share
    wait, late = wait_mean(rate, service), wait_p95(rate, service)
    if steps < 1:
        return Load(rate, share, 0.0, wait, service + wait, service + late, math.nan, math.nan, None)

    def step(sequences: float) -> float:
        return time_per_token(setup, decode_roof, max(1.0, sequences)) / free

    needed = _sequences(step, rate * steps)
    if needed is None:
        return _stuck(rate, share, "decode")
    crowd = needed + P95_NORMAL * math.sqrt(needed)
    if most is not None and needed > most:
        return _stuck(rate, share, "memory", needed)
    crowd = crowd if most is None else min(crowd, most)
    return Load(rate, share, needed, wait, service + wait, service + late, step(needed), step(crowd), None)


def _sequences(step: Callable[[float], float], tokens_per_s: float) -> float | None:
    """N with N = tokens/s · step(N): the smallest, by bisection; None where decode cannot keep up at any batch."""

    def lags(sequences: float) -> bool:
        return bool(tokens_per_s * step(sequences) > sequences)

    high = 1.0
    if not lags(high):
        # Fewer than one sequence at a time: each step is that of one.
        return float(tokens_per_s * step(1.0))
    while lags(high):
        high *= 2.0
        if high > _MOST:
            return None
    low = high / 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if lags(middle) else (low, middle)
    return high


def _stuck(rate: float, share: float, limit: Limit, sequences: float = math.inf) -> Load:
    return Load(rate, share, sequences, *(math.inf,) * 5, limit)
