"""The plan: every technique tried on this scenario, and what each would gain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from slmopt.advice.gains import Gain, gain
from slmopt.advice.techniques import TECHNIQUES, Change, Technique
from slmopt.specs.scenario import Scenario

# A change below this is noise beside the width of the estimate.
WORTH = 1.02


@dataclass(frozen=True, slots=True)
class Trial:
    """A technique on this scenario. ``gain`` is None where it cannot be applied; ``change.what`` then says why."""

    technique: Technique
    change: Change
    gain: Gain | None

    @property
    def helps(self) -> tuple[str, ...]:
        """Which of ttft, tpot, throughput and capacity get better by more than the noise."""
        if self.gain is None:
            return ()
        values = {name: getattr(self.gain, name) for name in ("ttft", "tpot", "throughput", "capacity")}
        return tuple(name for name, value in values.items() if value is not None and value >= WORTH)


@lru_cache(maxsize=256)
def plan(scenario: Scenario) -> tuple[Trial, ...]:
    """All techniques, in the articles' order, each alone against the scenario as it is."""
    trials = []
    for technique in TECHNIQUES:
        change = technique.apply(scenario)
        found = None if change.after is None else gain(scenario, change.after)
        trials.append(Trial(technique, change, found))
    return tuple(trials)
