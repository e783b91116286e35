"""Targets of a request alone: met, met only at the ceiling, or out of reach.

:mod:`slmopt.advice.goals` judges all targets under load, with drafting; these are what a glance at a scenario asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.theory.roofline import LEVELS

Judged = Literal["met", "ceiling_only", "missed"]


def judge(*, safe: bool, possible: bool) -> Judged:
    """Of a target that the slow end of the estimate meets (``safe``), or the ceiling (``possible``)."""
    if not possible:
        return "missed"
    return "met" if safe else "ceiling_only"


@dataclass(frozen=True, slots=True)
class Target:
    """A target in seconds (or sequences) with what the ceiling and the estimate's band say of it.

    ``met``: the slow end of the band meets it. ``ceiling_only``: the ceiling does, part of the band does not.
    ``missed``: not even the ceiling does. A quantity without a band is met or missed. ``queued``: requests come at a
    rate, and waiting for others is not in it.
    """

    name: Literal["ttft", "tpot", "users"]
    target: float
    ceiling: float
    fast: float | None
    typical: float | None
    slow: float | None
    verdict: Judged
    queued: bool = False


def targets(evaluation: Evaluation) -> tuple[Target, ...]:
    """Those that the scenario sets and that can be judged."""
    s = evaluation.setup.scenario
    found = []
    if s.target_ttft_s is not None and np.isfinite(float(evaluation.typical.prefill.compute_s)):
        found.append(_time(evaluation, "ttft", s.target_ttft_s))
    if s.target_tpot_s is not None and s.output > 1:
        found.append(_time(evaluation, "tpot", s.target_tpot_s))
    fit = evaluation.capacity.max_sequences
    if s.target_users is not None and fit is not None:
        enough = fit >= s.target_users
        verdict = judge(safe=enough, possible=enough)
        found.append(Target("users", float(s.target_users), float(fit), None, None, None, verdict))
    return tuple(found)


def _time(evaluation: Evaluation, name: Literal["ttft", "tpot"], target: float) -> Target:
    def at(phases: Phases) -> float:
        found = phases.latency
        return float(found.ttft_s if name == "ttft" else found.tpot_s)

    ceiling = at(evaluation.ceiling)
    slow, typical, fast = (at(evaluation.estimate[level]) for level in LEVELS)
    verdict = judge(safe=slow <= target, possible=ceiling <= target)
    queued = evaluation.setup.scenario.request_rate is not None
    return Target(name, target, ceiling, fast, typical, slow, verdict, queued)
