"""Gains stacked: in the articles' order, or each time the technique that gains most of what is left.

Every bar is the same pass on the scenario so far, so gains that eat one another show as what they leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from slmopt.advice.gains import Headline, comparable, headline
from slmopt.advice.technique import WORTH, Change, Technique
from slmopt.advice.techniques import TECHNIQUES
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import units

Measure = Literal["ttft", "tpot", "throughput", "capacity", "reply", "gap"]
Order = Literal["articles", "best"]

SHOWS = 1.005
"""Gains below this are no bar of their own."""

# Another model or another device answers another question than "what can I do with this one".
_OTHER = ("group_heads", "window_layers")


@dataclass(frozen=True, slots=True)
class Step:
    """One technique applied on top of those before; ``factor`` is what it gained of what was left (below 1: it cost)."""

    technique: Technique
    change: Change
    before: float
    after: float
    factor: float


@dataclass(frozen=True, slots=True)
class Stack:
    """All steps, with the measure at the start and at the end: seconds, tokens/s of the device, or sequences."""

    measure: Measure
    order: Order
    start: float
    steps: tuple[Step, ...]
    scenario: Scenario

    @property
    def end(self) -> float:
        """The measure once all steps are taken."""
        return self.steps[-1].after if self.steps else self.start

    @property
    def factor(self) -> float:
        """What all steps gain together."""
        return better(self.measure, self.start, self.end)


def value(found: Headline, measure: Measure, output: int) -> float:
    """The measure of a headline; NaN where it is not known."""
    if measure == "ttft":
        return found.ttft_s[1]
    if measure == "tpot":
        return found.tpot_s
    if measure == "throughput":
        return found.device_tokens_per_s
    if measure == "capacity":
        return float("nan") if found.sequences is None else found.sequences
    if measure == "gap":
        return found.stall_s
    return found.ttft_s[1] + (output - 1) * found.tpot_s


def better(measure: Measure, before: float, after: float) -> float:
    """How many times better ``after`` is; NaN where it cannot be said."""
    above, below = (after, before) if measure in ("throughput", "capacity") else (before, after)
    return above / below if below else float("nan")


def target(scenario: Scenario, measure: Measure) -> float | None:
    """The scenario's own target of a measure in its SI unit; None where it sets none."""
    s = scenario
    found = {
        "ttft": s.target_ttft_s,
        "tpot": s.target_tpot_s,
        "throughput": s.target_tokens_per_s,
        "capacity": None if s.target_users is None else float(s.target_users),
    }
    return found.get(measure)


def stack(scenario: Scenario, measure: Measure, order: Order) -> Stack:
    """Techniques stacked on the scenario."""
    # The units are part of the key, since some changes name sizes.
    stacked = _in_articles_order if order == "articles" else _best_first
    return stacked(scenario, measure, units.now())


def candidates(*, other_models: bool = False) -> tuple[Technique, ...]:
    """Those that can be stacked: one strength of each, on this device."""
    return tuple(
        t
        for t in TECHNIQUES
        if not t.rung_of and t.pile != "hardware" and (other_models or t.id not in _OTHER)
    )


def _measured(start: Scenario, scenario: Scenario, measure: Measure) -> float:
    return value(headline(evaluate(comparable(start, scenario))), measure, scenario.output)


@lru_cache(maxsize=64)
def _in_articles_order(scenario: Scenario, measure: Measure, _: units.Units) -> Stack:
    """The techniques that gain on this measure, in order; those that leave it or cost it are no part of its stack."""
    start = now = _measured(scenario, scenario, measure)
    at, steps = scenario, []
    for technique in candidates():
        change = technique.change(at)
        if change.after is None:
            continue
        after = _measured(scenario, change.after, measure)
        factor = better(measure, now, after)
        if not (factor >= SHOWS or (now == 0 < after)):
            continue
        steps.append(Step(technique, change, now, after, factor))
        at, now = change.after, after
    return Stack(measure, "articles", start, tuple(steps), at)


@lru_cache(maxsize=64)
def _best_first(scenario: Scenario, measure: Measure, _: units.Units) -> Stack:
    """Each time the technique that gains most on this measure, until none gains more than the noise.

    What rests on assumed figures comes after what follows from the scenario.
    """
    start = now = _measured(scenario, scenario, measure)
    at, steps = scenario, []
    left = list(candidates())
    while left:
        tried = [(technique, technique.change(at)) for technique in left]
        found = [
            Step(t, c, now, after := _measured(scenario, c.after, measure), better(measure, now, after))
            for t, c in tried
            if c.after is not None
        ]
        if now == 0:
            # Where nothing fits any room is infinitely better: the most of it comes first.
            found = [replace(step, factor=float("inf")) for step in found if step.after > 0]
        # What cannot be applied now may be once another is; what is applied is done.
        gaining = [step for step in found if step.factor >= WORTH]
        if not gaining:
            break
        best = max(gaining, key=lambda step: (not step.change.assumed, step.factor, step.after))
        steps.append(best)
        assert best.change.after is not None
        at, now = best.change.after, best.after
        left.remove(best.technique)
    return Stack(measure, "best", start, tuple(steps), at)
