"""A claim's least time, and the share of that ceiling which reference measurements would reach with the same work."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from slmopt.measured.claims import Claims
from slmopt.measured.placed import Place
from slmopt.measured.timed import Rows, Shapes, Work
from slmopt.specs.setup import Setup
from slmopt.theory.roof import Roof
from slmopt.theory.roofline import Level, Phase, ceiling_roof, estimate_roof

Floats = npt.NDArray[np.float64]


def ceiling_and_band(
    found: Place, claim: Claims, ratio: Floats, chunk: Floats
) -> tuple[Work, dict[str, Floats]]:
    """The least work of each row, and the shares of that ceiling which p10, p50 and p90 of the references would reach.

    Where one stream among several was timed, the ceiling is its own and the references share their steps.
    """
    chunks = np.nan_to_num(chunk)
    alone = Rows(Shapes(claim.batch, claim.depth, claim.prompt, claim.output, ratio, chunks))
    best = alone.work(*_roofs(found, "ceiling"))
    shared = alone
    if claim.one_of_many.any():
        sequences = np.where(claim.one_of_many, claim.together, claim.batch)
        shared = Rows(Shapes(sequences, claim.depth, claim.prompt, claim.output, ratio, chunks))
    levels: dict[str, Level] = {"p10": "slow", "p50": "typical", "p90": "fast"}
    return best, {
        name: best.seconds / shared.seconds(*_roofs(found, level)) for name, level in levels.items()
    }


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
