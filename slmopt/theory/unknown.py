"""What can be said where no matrix rate is published: the device's other rates bracket the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slmopt.specs.rates import PhasePeak
from slmopt.theory.roof import PassTime


@dataclass(frozen=True, slots=True)
class Bracket:
    """A pass's time in seconds at the fastest and at the slowest rate that the device is known to have, and their names."""

    memory_s: float
    fast_s: float
    fast_rate: str
    slow_s: float
    slow_rate: str

    @property
    def bound(self) -> Literal["memory", "compute"] | None:
        """The side that decides at both ends; None where the unknown rate would tell."""
        if self.fast_s > self.memory_s:
            return "compute"
        return None if self.slow_s > self.memory_s else "memory"


def bracket(time: PassTime, peak: PhasePeak) -> Bracket | None:
    """The range of a pass whose rate is unknown; None where the device has no other rate either."""
    if peak.ceiling is not None or not peak.known:
        return None
    flops, memory = float(time.cost.flops), float(time.memory_s)
    (slow_name, slow), (fast_name, fast) = peak.known[0], peak.known[-1]
    return Bracket(memory, max(memory, flops / fast), fast_name, max(memory, flops / slow), slow_name)
