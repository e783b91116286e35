"""The Plan as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.advice.plan import Trial
from slmopt.words.plan import METRICS, PHASES, PILES, here, value


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
            }
            for t in trials
        ]
    )


def bottlenecks_markdown(trials: Sequence[Trial]) -> str:
    """Technique, what it attacks, phase, pile, what it does here, and its cost, as a Markdown table."""
    head = "| Technique | Attacks | Here | Phase | Pile | Costs |\n|---|---|---|---|---|---|"
    rows = [
        f"| {t.technique.name} | {t.technique.attacks} | {here(t)} | {PHASES[t.technique.phase]} "
        f"| {PILES[t.technique.pile]} | {t.technique.cost} |"
        for t in trials
    ]
    return "\n".join([head, *rows])
