"""All targets of the scenario, judged: met, met only at the ceiling, or out of reach, and by how much.

With a request rate times are 95th percentiles under that load (:mod:`slmopt.theory.queueing`); without one each request
is alone, and its time is the same every time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from slmopt.advice.measures import HIGHER, MeasureName, measure
from slmopt.advice.targets import Judged, judge
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.residency import load_seconds
from slmopt.theory.unknown import bracket

Verdict = Judged | Literal["unknown"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A target in SI units (seconds, tokens/s, sequences, bytes) with ceiling and estimate.

    ``met``: the slow end of the estimate meets it. ``ceiling_only``: the ceiling does, part of the band does not.
    ``missed``: not even the ceiling. ``unknown``: a rate that nobody published decides. ``factor`` is how many times
    better the typical estimate (else the ceiling) would have to be: 1 or less where it meets the target.
    """

    name: MeasureName
    unit: str
    target: float
    ceiling: float
    fast: float | None
    typical: float | None
    slow: float | None
    verdict: Verdict
    p95: bool

    @property
    def factor(self) -> float:
        """Times better that is needed."""
        value = self.ceiling if self.typical is None else self.typical
        above, below = (self.target, value) if self.name in HIGHER else (value, self.target)
        return above / below if below else float("inf")


def goals(e: Evaluation) -> tuple[Goal, ...]:
    """Every target that the scenario sets."""
    s = e.setup.scenario
    wanted: tuple[tuple[MeasureName, str, float | None], ...] = (
        ("ttft", "s", s.target_ttft_s),
        ("tpot", "s", s.target_tpot_s if s.output > 1 else None),
        ("tokens_per_s", "tokens/s", s.target_tokens_per_s),
        ("users", "sequences", None if s.target_users is None else float(s.target_users)),
        ("memory", "B", None if s.target_memory_gb is None else s.target_memory_gb * 1e9),
    )
    return tuple(_goal(e, name, unit, target) for name, unit, target in wanted if target is not None)


def meets(name: MeasureName, value: float, target: float) -> bool:
    """Whether a value is on the target's good side."""
    return value >= target if name in HIGHER else value <= target


def _goal(e: Evaluation, name: MeasureName, unit: str, target: float) -> Goal:
    p95 = e.setup.scenario.request_rate is not None and name in ("ttft", "tpot")
    if name in ("users", "memory"):
        value = measure(e, name, "ceiling")
        verdict: Verdict = "unknown" if np.isnan(value) else "met" if meets(name, value, target) else "missed"
        return Goal(name, unit, target, value, None, None, None, verdict, p95)
    if name == "ttft" and np.isnan(float(e.typical.prefill.compute_s)):
        return _unknown_rate(e, unit, target, p95)
    ceiling = measure(e, name, "ceiling")
    slow, typical, fast = measure(e, name, "slow"), measure(e, name, "typical"), measure(e, name, "fast")
    verdict = judge(safe=meets(name, slow, target), possible=meets(name, ceiling, target))
    return Goal(name, unit, target, ceiling, fast, typical, slow, verdict, p95)


def _unknown_rate(e: Evaluation, unit: str, target: float, p95: bool) -> Goal:
    """The first token by the device's other rates: judged where all of them agree."""
    found = bracket(e.ceiling.prefill, e.setup.prefill)
    load = load_seconds(e.setup, "ceiling")
    memory = load + float(e.ceiling.prefill.memory_s)
    if found is None:
        verdict: Verdict = "missed" if memory > target else "unknown"
        return Goal("ttft", unit, target, memory, None, None, None, verdict, p95)
    fast, slow = load + found.fast_s, load_seconds(e.setup, "estimate") + found.slow_s
    verdict = "missed" if fast > target else "ceiling_only" if slow <= target else "unknown"
    return Goal("ttft", unit, target, fast, None, None, slow, verdict, p95)
