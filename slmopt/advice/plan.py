"""The plan: every technique tried on this scenario, and what each would gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from slmopt.advice.gains import gain
from slmopt.advice.technique import WORTH, Change, Gain, Technique
from slmopt.advice.techniques import TECHNIQUES
from slmopt.specs.scenario import Scenario
from slmopt.words import units


@dataclass(frozen=True, slots=True)
class Trial:
    """A technique on this scenario. ``gain`` is None where it cannot be applied; ``change.what`` then says why.

    It is None, too, where the estimate assumes the technique already.
    """

    technique: Technique
    change: Change
    gain: Gain | None

    @property
    def helps(self) -> tuple[str, ...]:
        """Which of ttft, tpot, throughput, capacity and gap get better by more than the noise."""
        if self.gain is None:
            return ()
        values = {
            name: getattr(self.gain, name) for name in ("ttft", "tpot", "throughput", "capacity", "gap")
        }
        return tuple(name for name, value in values.items() if value is not None and value >= WORTH)


def plan(scenario: Scenario) -> tuple[Trial, ...]:
    """All techniques, in the articles' order, each alone against the scenario as it is; other strengths among them."""
    return _plan(scenario, units.now())


@lru_cache(maxsize=64)
def _plan(scenario: Scenario, _: units.Units) -> tuple[Trial, ...]:
    # The units are part of the key, since some changes name sizes.
    trials = []
    for technique in TECHNIQUES:
        change = technique.change(scenario)
        found = None if change.standing else change.worth
        if change.after is not None:
            found = gain(scenario, change.after)
        trials.append(Trial(technique, change, found))
    return tuple(trials)


def leading(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """One trial for each technique, its other strengths and other devices left out: the list that is read first."""
    return tuple(t for t in trials if not t.technique.rung_of and t.technique.pile != "hardware")


def in_view(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Those of the leading ones that change something here; the rest is folded away."""
    return tuple(t for t in leading(trials) if t.gain is not None)
