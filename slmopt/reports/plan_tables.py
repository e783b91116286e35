"""The Plan as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.advice.diagnosis import Diagnosis
from slmopt.advice.order import Stack
from slmopt.advice.plan import Trial
from slmopt.theory.evaluation import Evaluation
from slmopt.words.plan import METRICS, PHASES, PILES, here, stops, value


def gains(trials: Sequence[Trial]) -> pd.DataFrame:
    """One row a technique; gains are factors of estimates (2.0: twice as good), empty where it cannot be applied."""
    return pd.DataFrame(
        [
            {
                "step": t.technique.step,
                "technique": t.technique.id,
                "change": t.change.what,
                "assumed": t.change.assumed,
                "phase": t.technique.phase,
                "pile": t.technique.pile,
                **{f"{metric}_gain": value(t, metric) for metric in METRICS},
                "memory_gain": None if t.gain is None else t.gain.memory,
                "stall_gain": None if t.gain is None else t.gain.gap,
                "here": here(t),
                "cost": t.technique.cost,
            }
            for t in trials
        ]
    )


def steps(found: Stack) -> pd.DataFrame:
    """A stack's steps in order: the measure before and after in its SI unit, and the factor."""
    rows = [
        {
            "step": at,
            "technique": step.technique.id,
            "change": step.change.what,
            "assumed": step.change.assumed,
            "before": step.before,
            "after": step.after,
            "factor": step.factor,
        }
        for at, step in enumerate(found.steps, start=1)
    ]
    start = {"step": 0, "technique": "now", "change": "", "assumed": "", "after": found.start}
    return pd.DataFrame([start, *rows]).assign(measure=found.measure, order=found.order)


def bottlenecks_markdown(e: Evaluation, trials: Sequence[Trial], found: Diagnosis) -> str:
    """Technique, what it attacks, phase, pile, what it does here, after what it stops, and its cost, as a Markdown table."""
    head = (
        "| Technique | Attacks | Here | Stops after | Phase | Pile | Costs |\n|---|---|---|---|---|---|---|"
    )
    rows = [
        f"| {t.technique.name} | {t.technique.attacks} | {here(t)} | {stops(e, t, found)} | {PHASES[t.technique.phase]} "
        f"| {PILES[t.technique.pile]} | {t.technique.cost} |"
        for t in trials
    ]
    return "\n".join([head, *rows])
