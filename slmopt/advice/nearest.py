"""The smallest changes that bring a missed target within the typical estimate: of one input, or of one technique."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from slmopt.advice.gains import comparable
from slmopt.advice.goals import Goal, goals, meets
from slmopt.advice.measures import MeasureName, measure
from slmopt.advice.plan import plan
from slmopt.advice.solve import Variable, solve
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.evaluation import evaluate
from slmopt.words import units

# Which inputs a user could change for which measure; bits and sequences first, hardware last.
_INPUTS: dict[MeasureName, tuple[Variable, ...]] = {
    "ttft": ("prompt", "peak_tflops", "bandwidth_gbs"),
    "tpot": ("bits", "batch", "context", "bandwidth_gbs"),
    "tokens_per_s": ("batch", "bits", "bandwidth_gbs"),
    "users": ("context", "bits"),
    "memory": ("batch", "context", "bits"),
}
_NAMES: dict[MeasureName, tuple[str, float]] = {
    "ttft": ("ttft_ms", 1e-3),
    "tpot": ("tpot_ms", 1e-3),
    "tokens_per_s": ("tokens_per_s", 1.0),
    "users": ("users", 1.0),
    "memory": ("memory_gb", 1e9),
}
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Nearest:
    """One way: an input and its new value (its old one beside it), or a technique's name and what it changes.

    ``factor`` is how far the input moves, at least 1; 1 for a technique. ``assumed`` is what a technique rests on.
    """

    what: str
    old: float | None
    new: float | None
    factor: float
    change: str = ""
    assumed: str = ""
    evaluate_quality: bool = False


def smallest_changes(scenario: Scenario) -> tuple[tuple[Goal, tuple[Nearest, ...]], ...]:
    """For each target that the typical estimate misses: techniques that meet it alone, then inputs, nearest first."""
    # The units are part of the key, since some changes name sizes.
    return _smallest_changes(scenario, units.now())


@lru_cache(maxsize=64)
def _smallest_changes(scenario: Scenario, _: units.Units) -> tuple[tuple[Goal, tuple[Nearest, ...]], ...]:
    e = evaluate(scenario)
    found = []
    for goal in goals(e):
        value = goal.ceiling if goal.typical is None else goal.typical
        if goal.verdict in ("met", "unknown") or meets(goal.name, value, goal.target):
            continue
        ways = [*_techniques(scenario, goal), *sorted(_inputs(scenario, goal), key=lambda way: way.factor)]
        found.append((goal, tuple(ways)))
    return tuple(found)


def _techniques(s: Scenario, goal: Goal) -> list[Nearest]:
    found = []
    for trial in plan(s):
        technique, after = trial.technique, trial.change.after
        if after is None or technique.pile == "hardware" or technique.rung_of:
            continue
        value = measure(evaluate(comparable(s, after)), goal.name, "typical")
        if meets(goal.name, value, goal.target):
            found.append(
                Nearest(
                    technique.name,
                    None,
                    None,
                    1.0,
                    trial.change.what,
                    trial.change.assumed,
                    technique.evaluate_quality,
                )
            )
    return found


def _inputs(s: Scenario, goal: Goal) -> list[Nearest]:
    name, scale = _NAMES[goal.name]
    setup = evaluate(s).setup
    found = []
    for variable in _INPUTS[goal.name]:
        answer = solve(s, variable, name, goal.target / scale, tolerance=1e-3)
        old = _now(setup, variable)
        if answer.value is None or answer.any_value or not old or answer.value <= 0:
            continue
        factor = max(answer.value / old, old / answer.value)
        found.append(
            Nearest(variable, old, answer.value, factor, evaluate_quality=variable in ("bits", "prompt"))
        )
    return found


def _now(setup: Setup, variable: Variable) -> float:
    s = setup.scenario
    if variable == "bandwidth_gbs":
        return setup.bandwidth / 1e9
    if variable == "peak_tflops":
        return (setup.prefill.estimate or 0.0) / 1e12
    if variable == "bits":
        return bits_per_weight(setup.weights, setup.model)
    return float({"prompt": s.prompt, "batch": s.batch, "context": s.depth}[variable])
