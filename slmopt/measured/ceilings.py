"""A claim's least time, and the share of that ceiling which reference measurements would reach with the same work."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from slmopt.measured.claims import Claims
from slmopt.measured.placed import Place
from slmopt.measured.timed import Shapes, Work, decode_work, prefill_work
from slmopt.theory.roofline import Level, Phase, ceiling_roof, estimate_roof

Floats = npt.NDArray[np.float64]


def ceiling_and_band(
    found: Place, claim: Claims, ratio: Floats, chunk: Floats
) -> tuple[Work, dict[str, Floats]]:
    """The least work of each row, and the shares of that ceiling which p10, p50 and p90 of the references would reach.

    Where one stream among several was timed, the ceiling is its own and the references share their steps.
    """
    assert found.setup is not None
    alone, codes = Shapes(
        claim.batch, claim.depth, claim.prompt, claim.output, ratio, np.nan_to_num(chunk)
    ).distinct()
    best = _both(found, alone, "ceiling").take(codes)
    shared, shared_codes = alone, codes
    if claim.one_of_many.any():
        sequences = np.where(claim.one_of_many, claim.together, claim.batch)
        shared, shared_codes = Shapes(
            sequences, claim.depth, claim.prompt, claim.output, ratio, np.nan_to_num(chunk)
        ).distinct()
    levels: dict[str, Level] = {"p10": "slow", "p50": "typical", "p90": "fast"}
    usual = {name: _both(found, shared, level).seconds[shared_codes] for name, level in levels.items()}
    return best, {name: best.seconds / seconds for name, seconds in usual.items()}


def _both(found: Place, shapes: Shapes, level: Level | Literal["ceiling"]) -> Work:
    """Prefill and what follows it, under the roofs of all the devices together.

    Where nobody says how they share the model, they count as one with the sum of their rates, which bounds every way; what
    they lose in joining their work is left to them.
    """
    setup = found.setup
    assert setup is not None
    first, later = (
        (ceiling_roof(setup, p) if level == "ceiling" else estimate_roof(setup, p, level)).times(found.summed)
        for p in _PHASES
    )
    after = replace(shapes, depth=shapes.depth + shapes.prompt)
    return prefill_work(setup, first, shapes) + decode_work(setup, later, after)


_PHASES: Final[tuple[Phase, Phase]] = ("prefill", "decode")
