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
    factor = 1.0 - spread + spread * harmonic(np.asarray(sequences, dtype=np.float64))
    return float(factor) if np.shape(factor) == () else factor


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


def steps_per_token(s: Scenario, kind: Kind, sequences: Numbers | None = None) -> Numbers:
    """Slot-steps for each token that is used: 1 with continuous batching, and in a bound, which equal replies reach."""
    if s.batching == "continuous" or kind == "ceiling":
        return 1.0
    return longest_of(float(s.batch) if sequences is None else sequences, s.reply_spread)
