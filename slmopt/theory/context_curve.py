"""Sequences that fit at each context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.memory import sequences_that_fit


@dataclass(frozen=True, slots=True)
class ContextCurve:
    """Sequences that fit at each context (tokens); ``now`` is (context, sequences), ``doubled`` at twice that."""

    context: npt.NDArray[np.float64]
    sequences: npt.NDArray[np.float64]
    now: tuple[float, float]
    doubled: float


def context_curve(setup: Setup, points: int = 97) -> ContextCurve:
    """Sequences that fit from a quarter of a thousand tokens to 128 thousand, or as far as the scenario goes."""
    depth = float(max(1, setup.scenario.depth))
    context = np.geomspace(min(250.0, depth), max(131_072.0, 2 * depth), points)
    fit = np.asarray(sequences_that_fit(setup, np.append(context, [depth, 2 * depth])), dtype=np.float64)
    return ContextCurve(context, fit[:points], (depth, float(fit[points])), float(fit[points + 1]))
