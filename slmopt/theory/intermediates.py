"""What attention would move if its intermediate values left the chip, as it does without a fused kernel.

The pass itself counts it for a scenario whose kernels are not fused (:mod:`slmopt.theory.forward`); here it is asked of any.
"""

from __future__ import annotations

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, forward
from slmopt.theory.latency import prefill_group
from slmopt.theory.roofline import setup_terms
from slmopt.theory.terms import with_kernels


def score_bytes(setup: Setup, group: Group | None = None) -> float:
    """Bytes that scores and probabilities of one pass would move; the scenario's prefill unless a group is given.

    0 for a model given as a parameter count: its heads are not known.
    """
    of = prefill_group(setup) if group is None else group
    terms = with_kernels(setup_terms(setup), unfused=True)
    return float(forward(terms, [of], "estimate").score_bytes)
