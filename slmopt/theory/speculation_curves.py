"""Speed-up of drafting as curves over acceptance, draft length and batch. Ratios of one roof's times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.roof import Roof
from slmopt.theory.speculation import LONGEST_DRAFT, expected_tokens, speedup

Curve = npt.NDArray[np.float64]
LENGTHS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class SpeculationCurves:
    """``by_acceptance[k]`` follows ``acceptance``; ``by_length`` and ``expected`` follow ``lengths``; ``by_batch`` ``batch``."""

    acceptance: Curve
    by_acceptance: dict[int, Curve]
    lengths: Curve
    by_length: Curve
    expected: Curve
    batch: Curve
    by_batch: Curve


def speculation_curves(setup: Setup, roof: Roof, most: float, points: int = 61) -> SpeculationCurves:
    """Curves for a scenario that gives acceptance, length and cost; batches up to ``most``."""
    s = setup.scenario
    accepted = s.acceptance or 0.0
    acceptance = np.linspace(0.0, 1.0, points)
    shown = sorted({*LENGTHS, s.draft_tokens})
    grid = np.asarray(speedup(setup, roof, acceptance[None, :], np.array(shown, dtype=np.float64)[:, None]))
    lengths = np.arange(LONGEST_DRAFT + 1, dtype=np.float64)
    batch = np.geomspace(1.0, max(most, 2.0 * s.batch, 64.0), points)
    return SpeculationCurves(
        acceptance=acceptance,
        by_acceptance={k: grid[row] for row, k in enumerate(shown)},
        lengths=lengths,
        by_length=np.asarray(speedup(setup, roof, accepted, lengths)),
        expected=np.asarray(expected_tokens(accepted, lengths)),
        batch=batch,
        by_batch=np.asarray(speedup(setup, roof, accepted, float(s.draft_tokens), batch)),
    )
