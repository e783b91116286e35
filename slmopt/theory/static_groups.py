"""Fixed groups: a batch decodes until its longest reply ends, and slots whose replies ended earlier stand idle.

Reply lengths are taken as mean·((1 − x) + x·e) with e exponential, so that x is their standard deviation as a share of the
mean: 0 all alike, 1 exponential. The longest of B is then mean·(1 − x + x·H(B)) on average, with H(B) = 1 + 1/2 + … + 1/B
(A. Rényi, "On the theory of order statistics" (1953)).
"""

from __future__ import annotations

import numpy as np

from slmopt.specs.scenario import Scenario
from slmopt.theory.forward import Kind, Numbers


def longest_of(sequences: Numbers, spread: float) -> Numbers:
    """The longest of so many replies over their mean; between whole numbers the harmonic number's smooth line."""
    count = np.asarray(sequences, dtype=np.float64)
    # One sequence is its own longest, to the last digit.
    factor = np.where(count == 1.0, 1.0, 1.0 - spread + spread * harmonic(count))
    return float(factor) if factor.shape == () else factor


def harmonic(count: Numbers) -> Numbers:
    """1 + 1/2 + … + 1/count, continued smoothly between whole numbers; within 1e-12.

    Euler's expansion, taken 16 terms further on, where it is that good.
    """
    far = count + 16.0
    square = far * far
    expanded = (
        np.log(far)
        + np.euler_gamma
        + 0.5 / far
        - (1.0 - (0.1 - 1.0 / (21.0 * square)) / square) / (12.0 * square)
    )
    skipped = sum(1.0 / (count + term) for term in range(1, 17))
    return expanded - skipped


def group_left(fixed_s: float, scale_s: float, sequences: float, share: float) -> tuple[float, float]:
    """What is left of a group that is met at a random time: its mean, and what only a ``share`` of them exceed; seconds.

    A group lasts ``fixed_s`` and ``scale_s`` times the longest of so many exponential draws. The chance that more than t
    is left is ∫ P(G > u) du from t on, over the mean of G; P(longest > u) = 1 − (1 − exp(−u))ⁿ. Both within 1e-5.
    """
    draws = np.linspace(0.0, np.log(sequences) + _FAR, _GRID)
    longer = 1.0 - (-np.expm1(-draws)) ** sequences
    slices = 0.5 * (longer[1:] + longer[:-1]) * draws[1]
    above = np.append(np.cumsum(slices[::-1])[::-1], 0.0)
    mean = fixed_s + scale_s * above[0]
    at_fixed = scale_s * above[0] / mean
    left = 0.5 * fixed_s * (1.0 + at_fixed) + scale_s * scale_s * np.trapezoid(above, draws) / mean
    if share >= at_fixed:
        return float(left), float(mean * max(0.0, 1.0 - share))
    # Falling in the draw, so read backwards.
    return float(left), float(fixed_s + scale_s * np.interp(share * mean / scale_s, above[::-1], draws[::-1]))


# The longest of n draws is past ln n + 30 once in 10^13 times.
_FAR = 30.0
_GRID = 16_385


def steps_per_token(s: Scenario, kind: Kind, sequences: Numbers | None = None) -> Numbers:
    """Slot-steps for each token that is used: 1 with continuous batching, and in a bound, which equal replies reach."""
    if s.batching == "continuous" or kind == "ceiling":
        return 1.0
    return longest_of(float(s.batch) if sequences is None else sequences, s.reply_spread)
