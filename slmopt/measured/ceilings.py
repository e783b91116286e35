"""A claim's least time, and the share of that ceiling which reference measurements would reach with the same work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from slmopt.measured.distinct import distinct
from slmopt.measured.placed import Place
from slmopt.measured.timed import Rows, Shapes, Work
from slmopt.specs.setup import Setup
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import Level, Phase, ceiling_roof, estimate_roof

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Rows of one kind held against the least that their work takes, and against what p10, p50 and p90 of the references take.

    Both of each different work among the rows; ``codes`` say which is a row's.
    """

    codes: Ints
    best: Work
    band: dict[str, Floats]

    def at(self, piece: slice) -> tuple[Work, dict[str, Floats]]:
        """The least work of these rows, and the shares of that ceiling which the references would reach."""
        code = self.codes[piece]
        best = Work(*(getattr(self.best, name)[code] for name in Work.__slots__))
        return best, {name: share[code] for name, share in self.band.items()}


def ceilings(found: Place, shapes: Shapes, together: Floats, one_of_many: npt.NDArray[np.bool_]) -> Ceilings:
    """The ceilings of rows of these shapes.

    Where one stream among several was timed, the ceiling is its own and the references share their steps.
    """
    several = bool(one_of_many.any())
    batch = np.where(one_of_many, together, shapes.batch) if several else shapes.batch
    codes, first = distinct((*shapes.columns, *([batch] if several else [])), len(batch))
    times = np.bincount(codes, minlength=len(first))
    few = shapes.at(first)
    alone = Rows(few, times)
    shared = Rows(replace(few, batch=batch[first]), times) if several else alone
    levels: dict[str, Level] = {"p10": "slow", "p50": "typical", "p90": "fast"}
    best = alone.work(*_roofs(found, "ceiling"))
    band = {name: best.seconds / shared.seconds(*_roofs(found, level)) for name, level in levels.items()}
    return Ceilings(codes, best, band)


def _roofs(found: Place, level: Level | Literal["ceiling"]) -> tuple[Setup, Roof, Roof]:
    """The set-up of a kind, and the roofs of prefill and of what follows it, of all the devices together.

    Where nobody says how they share the model, they count as one with the sum of their rates, which bounds every way; what
    they lose in joining their work is left to them.
    """
    setup = found.setup
    assert setup is not None
    first, later = (
        (ceiling_roof(setup, p) if level == "ceiling" else estimate_roof(setup, p, level)).times(found.summed)
        for p in _PHASES
    )
    return setup, first, later


_PHASES: Final[tuple[Phase, Phase]] = ("prefill", "decode")
