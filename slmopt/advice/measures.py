"""What a scenario gives, as single numbers under the ceiling or a level of the estimate: what targets and solving compare."""

from __future__ import annotations

from typing import Literal

import numpy as np

from slmopt.advice.gains import drafting_speedup
from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.theory.queueing import Load, under_load
from slmopt.theory.roofline import Level

At = Literal["ceiling", "slow", "typical", "fast"]
MeasureName = Literal["ttft", "tpot", "tokens_per_s", "user_tokens_per_s", "users", "memory", "reply"]
HIGHER: frozenset[str] = frozenset({"tokens_per_s", "user_tokens_per_s", "users"})
"""Measures of which more is better; of the others less is."""


def phases_at(e: Evaluation, at: At) -> Phases:
    """The ceiling, or a level of the estimate."""
    if at == "ceiling":
        return e.ceiling
    level: Level = at
    return e.estimate[level]


def measure(e: Evaluation, name: MeasureName, at: At) -> float:
    """Seconds, tokens/s, sequences or bytes; NaN where it is not known. Drafting is counted, queueing where a rate is set."""
    if name == "users":
        most = e.capacity.max_sequences
        if most is None:
            return float("nan") if e.capacity.usable is None else float("inf")
        return float(most)
    if name == "memory":
        return e.capacity.held_now
    phases = phases_at(e, at)
    if name in ("tokens_per_s", "user_tokens_per_s"):
        speed = phases.user_tokens_per_s if name == "user_tokens_per_s" else phases.device_tokens_per_s
        return speed * drafting_speedup(phases)
    ttft, tpot = times(e, at)
    if name == "ttft":
        return ttft
    return tpot if name == "tpot" else ttft + max(0, e.setup.scenario.output - 1) * np.nan_to_num(tpot)


def times(e: Evaluation, at: At) -> tuple[float, float]:
    """(TTFT, TPOT) in seconds: the mean of a request alone, or the 95th percentile at the scenario's request rate."""
    phases = phases_at(e, at)
    faster = drafting_speedup(phases)
    load = load_at(e, at)
    first = float("nan") if _rate_unknown(e, at) else float(phases.latency.ttft_s)
    if load is None:
        return first, float(phases.latency.tpot_s) / faster
    return load.ttft_p95_s, load.tpot_p95_s / faster


def load_at(e: Evaluation, at: At) -> Load | None:
    """Waiting at the scenario's request rate; None without one, or where the prefill's time is not known."""
    rate = e.setup.scenario.request_rate
    if rate is None or _rate_unknown(e, at):
        return None
    most = e.capacity.max_sequences
    phases = phases_at(e, at)
    held = None if most is None else float(most)
    return under_load(e.setup, phases.decode_roof, phases.prefill_roof, rate, held)


def _rate_unknown(e: Evaluation, at: At) -> bool:
    return bool(np.isnan(float(phases_at(e, at).prefill.compute_s)))
