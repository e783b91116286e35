"""Waiting and the 95th percentile under load, in closed form.

Assumed: requests of the scenario's shape arrive at random (Poisson), prompts are processed one after the other in order
and each holds the device for its prefill, and all replies decode together between them.

- Prefill is an M/D/1 queue: with ρ = rate·prefill the mean wait is ρ·S / (2·(1 − ρ)) (F. Pollaczek, A. Khinchine, 1930).
  Its distribution is (1 − ρ)·exp(ρ·t/S) up to t = S (A. K. Erlang, 1909); beyond, the tail is C·exp(−θ·t) with
  ρ·(exp(θ·S) − 1) = θ·S and C = (1 − ρ) / (ρ·exp(θ·S) − 1), its slowest term: within 9 % of the exact 95th percentile,
  and within 1.1 % from a load of 0.35 on.
- Decode has the device for 1 − ρ of the time, so a step seems 1/(1 − ρ) as long. Sequences at once follow from Little's
  law, N = rate·(output − 1)·step(N)/(1 − ρ), and vary as a Poisson count (M/G/∞); the 95th percentile of the step is
  the step with N + 1.645·√N sequences.

- In chunks a prompt's passes bring everybody's next tokens along. With m the mean pass and ρ the share of time in which
  prompts come in, a stream sees 1/(ρ/m + (1 − ρ)/step), and a prompt takes its passes with N sequences beside it.
- Fixed groups: what has arrived when a group ends is prefilled together and decodes until its longest reply ends, in G(n)
  seconds. n is the smallest number that does not lag behind rate·G(n). A request finds a group running with the chance
  u = min(1, rate·G) and waits for what is left of it, E(G²)/2E(G) on average (W. Feller, "An Introduction to Probability
  Theory", vol. 2, XI.4): groups that last long are met more often.

Ignored: unequal lengths other than in fixed groups (which widen both tails), and that more sequences than memory holds must wait:
that is called saturated instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from slmopt.specs.setup import Setup
from slmopt.theory.chunks import chunk_passes
from slmopt.theory.forward import Group
from slmopt.theory.latency import decode_group, prefill, prefill_group, time_per_token
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import run
from slmopt.theory.search import turns_true
from slmopt.theory.static_groups import group_left, longest_of

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
    """X > 0 with load·(e^x − 1) = x, which starts lower and ends higher: by x = 2·(1/load − 1), as e^x − 1 ≥ x + x²/2."""
    return turns_true(lambda x: load * math.expm1(x) >= x, 0.0, 2.0 * (1.0 / load - 1.0))


def under_load(
    setup: Setup, decode_roof: Roof, prefill_roof: Roof, rate: float, most: float | None = None
) -> Load:
    """TTFT and TPOT at ``rate`` requests a second; ``most`` is how many sequences memory holds (None: unknown)."""
    s = setup.scenario
    if s.batching == "static":
        return _fixed_groups(setup, decode_roof, prefill_roof, rate, most)
    if s.prefill_chunk_tokens is not None and s.output > 1:
        return _in_chunks(setup, decode_roof, prefill_roof, rate, most, s.prefill_chunk_tokens)
    service = float(prefill(setup, prefill_roof, alone=True).seconds)
    share = rate * service
    if share >= 1:
        return _stuck(rate, share, "prefill")
    steps = s.output - 1
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


def _in_chunks(
    setup: Setup, decode_roof: Roof, prefill_roof: Roof, rate: float, most: float | None, chunk: int
) -> Load:
    s = setup.scenario
    steps, middle = s.output - 1, s.prompt + (s.output - 2) / 2.0

    def prompt_passes(sequences: float) -> tuple[float, float]:
        """Seconds of a prompt beside so many sequences, and of its mean pass."""
        beside = decode_group(setup, sequences, middle)
        chunks = chunk_passes(setup, prefill_roof, prefill_group(setup), chunk, beside)
        return float(chunks.seconds.sum()), float(chunks.seconds.sum() / chunks.there.sum())

    def step(sequences: float) -> float:
        taken, one = prompt_passes(sequences)
        share = min(1.0, rate * taken)
        return 1.0 / (share / one + (1.0 - share) / time_per_token(setup, decode_roof, max(1.0, sequences)))

    needed = _sequences(step, rate * steps)
    service = prompt_passes(0.0 if needed is None else needed)[0]
    share = rate * service
    if share >= 1:
        return _stuck(rate, share, "prefill")
    if needed is None:
        return _stuck(rate, share, "decode")
    if most is not None and needed > most:
        return _stuck(rate, share, "memory", needed)
    wait, late = wait_mean(rate, service), wait_p95(rate, service)
    crowd = needed + P95_NORMAL * math.sqrt(needed)
    crowd = crowd if most is None else min(crowd, most)
    return Load(rate, share, needed, wait, service + wait, service + late, step(needed), step(crowd), None)


def _fixed_groups(
    setup: Setup, decode_roof: Roof, prefill_roof: Roof, rate: float, most: float | None
) -> Load:
    s = setup.scenario
    steps = s.output - 1

    def first(sequences: float) -> float:
        group = Group(sequences, float(s.prompt - s.prefix_hit), float(s.prefix_hit), 1.0)
        return float(run(setup, [group], prefill_roof).seconds)

    def step(sequences: float) -> float:
        return time_per_token(setup, decode_roof, sequences)

    def reply(sequences: float) -> float:
        return steps * step(sequences) if steps else 0.0

    def whole(sequences: float) -> float:
        return first(sequences) + float(longest_of(sequences, s.reply_spread)) * reply(sequences)

    needed = _sequences(whole, rate)
    if needed is None:
        return _stuck(rate, rate * first(1.0), "decode")
    size = max(1.0, needed)
    if most is not None and size > most:
        return _stuck(rate, rate * first(size) / size, "memory", size)
    prefills, spread = first(size), s.reply_spread * reply(size)
    busy = min(1.0, rate * whole(size))
    left, late = group_left(prefills + reply(size) - spread, spread, size, _TAIL / busy)
    wait = busy * left
    crowd = size + P95_NORMAL * math.sqrt(size)
    crowd = crowd if most is None else min(crowd, most)
    share = rate * prefills / size
    return Load(rate, share, size, wait, prefills + wait, prefills + late, step(size), step(crowd), None)


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
    return turns_true(lambda sequences: not lags(sequences), high / 2.0, high)


def _stuck(rate: float, share: float, limit: Limit, sequences: float = math.inf) -> Load:
    return Load(rate, share, sequences, *(math.inf,) * 5, limit)
