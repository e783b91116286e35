"""What the user's own measurements say of the scenario: how much of the ceiling was reached, and whether that is usual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from slmopt.specs.setup import Setup

SLOW = ("below_typical", "far_below")


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows of one phase: their median share of the ceiling, and what the median of such devices reach with that work."""

    phase: str
    rows: int
    fraction: float
    usual: float
    slow: bool

    @property
    def to_median(self) -> float:
        """How much faster the median of such devices is."""
        return self.usual / self.fraction


@dataclass(frozen=True, slots=True)
class Observed:
    """Judged rows that are of the scenario's model and device."""

    phases: tuple[Seen, ...]

    def phase(self, name: str) -> Seen | None:
        """Decode or prefill; None where no row is of it."""
        return next((seen for seen in self.phases if seen.phase == name), None)


def observe(rows: pd.DataFrame, setup: Setup) -> Observed | None:
    """From rows as :func:`slmopt.measured.compare.compare` judges them; None where none is of this model and device.

    A phase is slow where most of its rows with a verdict are slower than usual.
    """
    of_it = (rows["device"] == setup.device.name) & (rows["model"] == setup.model.name)
    found = []
    for phase in ("decode", "prefill"):
        mine = rows[of_it & (rows["phase"] == phase) & rows["fraction"].notna() & rows["p50"].notna()]
        if mine.empty:
            continue
        slow = float(np.mean(mine["verdict"].isin(SLOW))) > 0.5
        found.append(
            Seen(phase, len(mine), float(mine["fraction"].median()), float(mine["p50"].median()), slow)
        )
    return Observed(tuple(found)) if found else None
