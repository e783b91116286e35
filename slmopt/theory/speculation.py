"""Speculative decoding: a draft proposes k tokens, one pass of the target checks them all.

Source: Y. Leviathan, M. Kalman, Y. Matias, "Fast Inference from Transformers via Speculative Decoding" (2023),
equation (1) for the expected tokens and theorem 3.8 for the speed-up, here with the pass's own times in place of the
assumption that checking is free.

A tree drafts ``width`` candidates at each of k places. With candidates accepted independently a place is passed with
1 − (1 − a)^width, which is ideal: real second candidates are accepted less often than first ones. All width·k candidates
are checked in one pass (X. Miao et al., "SpecInfer" (2023), section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.forward import Group, Kind, Numbers
from slmopt.theory.latency import decode_step
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import ceiling_roof, estimate_roof, run, run_beside
from slmopt.theory.search import turns_true

LONGEST_DRAFT = 16

# Speed-ups that differ by rounding alone are a tie.
_ROUNDING = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Speculation:
    """What drafting gains. ``break_even`` is None where no acceptance reaches a speed-up of 1."""

    acceptance: float
    draft_tokens: int
    expected_tokens: float
    cost_ratio: float
    speedup: float
    best_draft_tokens: int
    best_speedup: float
    break_even: float | None
    kind: Kind


def expected_tokens(acceptance: Numbers, draft_tokens: Numbers) -> Numbers:
    """E(a, k) = (1 − a^(k+1)) / (1 − a), and k + 1 at a = 1: accepted tokens and the one that the target adds."""
    a, k = np.asarray(acceptance, dtype=np.float64), np.asarray(draft_tokens, dtype=np.float64)
    certain, never = a >= 1.0, a <= 0.0
    log = np.log(np.where(certain | never, 0.5, a))
    # expm1 keeps the digits where a is close to 1 and numerator and denominator both vanish.
    ratio = np.expm1((k + 1.0) * log) / np.expm1(log)
    value = np.where(certain, k + 1.0, np.where(never, 1.0, ratio))
    return float(value) if value.shape == () else value


def place_acceptance(acceptance: Numbers, width: int) -> Numbers:
    """Probability that one of ``width`` independent candidates is accepted: 1 − (1 − a)^width."""
    return acceptance if width == 1 else 1.0 - (1.0 - np.asarray(acceptance, dtype=np.float64)) ** width


def draft_seconds(setup: Setup, roof: Roof, batch: Numbers | None = None) -> Numbers:
    """Time for one drafted token of every sequence: the draft model's own step, or the given share of the target's.

    NaN where the scenario gives neither. ``batch`` (sequences, may be an array) is the scenario's unless given.
    """
    s = setup.scenario
    sequences = float(s.batch) if batch is None else batch
    if setup.draft is not None and s.draft_device is not None:
        return draft_step_elsewhere(setup, roof, sequences)
    if setup.draft is not None:
        group = Group(sequences, 1.0, float(s.depth), 1.0, float(s.shared_prefix))
        return run_beside(setup, setup.draft, [group], roof).seconds
    if s.draft_cost is not None:
        return s.draft_cost * decode_step(setup, roof, sequences).seconds
    return float("nan")


def draft_step_elsewhere(setup: Setup, roof: Roof, batch: Numbers) -> Numbers:
    """The draft model's decode step on the scenario's ``draft_device``, under the same kind of roof.

    Token ids cross a link in microseconds, which is left out: below 1 % of any step that drafts for a larger model.
    """
    s = setup.scenario
    values: dict[str, object] = {
        "model": s.draft_model,
        "device": s.draft_device,
        "weights": s.weights,
        "cache_k": s.cache_k,
        "cache_v": s.cache_v,
        "engine": s.engine,
        "prompt": s.prompt,
        "output": s.output,
        "context": s.context,
        "shared_prefix": s.shared_prefix,
    }
    beside = resolve(scenario(values))
    there = (
        ceiling_roof(beside, "decode")
        if roof.kind == "ceiling"
        else estimate_roof(beside, "decode", "typical")
    )
    return decode_step(beside, there, batch).seconds


def verify_seconds(setup: Setup, roof: Roof, draft_tokens: Numbers, batch: Numbers | None = None) -> Numbers:
    """Time of the target's pass over the drafted tokens and one more of every sequence, logits at each.

    An estimate is no shorter than a step lengthened by the scenario's ``verify_cost`` for each drafted token: kernels for
    several positions cost more than their bytes and operations say.
    """
    s = setup.scenario
    sequences = float(s.batch) if batch is None else batch
    drafted = np.asarray(draft_tokens, dtype=np.float64) * s.draft_width
    group = Group(sequences, drafted + 1.0, float(s.depth), drafted + 1.0, float(s.shared_prefix))
    seconds = run(setup, [group], roof).seconds
    if s.verify_cost is None or roof.kind == "ceiling":
        return seconds
    step = decode_step(setup, roof, sequences).seconds
    return np.maximum(seconds, step * (1.0 + s.verify_cost * drafted))


def speedup(
    setup: Setup, roof: Roof, acceptance: Numbers, draft_tokens: Numbers, batch: Numbers | None = None
) -> Numbers:
    """E·T(B, 1, c) / (k·T_draft + T(B, k + 1, c)); 1 at k = 0. Arrays broadcast."""
    k = np.asarray(draft_tokens, dtype=np.float64)
    step = decode_step(setup, roof, batch).seconds
    spent = k * draft_seconds(setup, roof, batch) + verify_seconds(setup, roof, k, batch)
    accepted = place_acceptance(acceptance, setup.scenario.draft_width)
    return np.where(k > 0, expected_tokens(accepted, k) * step / spent, 1.0)


def break_even(setup: Setup, roof: Roof, draft_tokens: int) -> float | None:
    """The acceptance in [0, 1] at which the speed-up is 1; None where even certain acceptance does not reach it.

    There the expected tokens equal the time spent in decode steps, and E grows with the acceptance.
    """
    if draft_tokens < 1:
        return None
    spent = draft_tokens * float(draft_seconds(setup, roof)) + float(
        verify_seconds(setup, roof, draft_tokens)
    )
    needed = spent / float(decode_step(setup, roof).seconds)
    if not needed <= (draft_tokens + 1.0) * _ROUNDING:
        return None
    if needed <= 1.0:
        return 0.0

    def reached(acceptance: float) -> bool:
        passed = float(place_acceptance(acceptance, setup.scenario.draft_width))
        # The sum form of E: cheaper than the array function, forty times over.
        return sum(passed**accepted for accepted in range(draft_tokens + 1)) >= needed

    return turns_true(reached, 0.0, 1.0)


def best_length(setup: Setup, roof: Roof, acceptance: float) -> tuple[int, float]:
    """The draft length of 0 … 16 that gains most, the shortest of equals, and its speed-up."""
    gains = np.asarray(speedup(setup, roof, acceptance, np.arange(LONGEST_DRAFT + 1, dtype=np.float64)))
    best = int(np.argmax(gains * _ROUNDING >= gains.max()))
    return best, float(gains[best])


def speculation(setup: Setup, roof: Roof) -> Speculation | None:
    """The scenario's drafting under ``roof``; None where acceptance or the draft's cost is not given."""
    s = setup.scenario
    cost = float(draft_seconds(setup, roof))
    if s.acceptance is None or np.isnan(cost):
        return None
    best, best_speedup = best_length(setup, roof, s.acceptance)
    k = s.draft_tokens
    return Speculation(
        acceptance=s.acceptance,
        draft_tokens=k,
        expected_tokens=float(expected_tokens(place_acceptance(s.acceptance, s.draft_width), k)),
        cost_ratio=cost / float(decode_step(setup, roof).seconds),
        speedup=float(speedup(setup, roof, s.acceptance, k)),
        best_draft_tokens=best,
        best_speedup=best_speedup,
        break_even=break_even(setup, roof, k),
        kind=roof.kind,
    )
