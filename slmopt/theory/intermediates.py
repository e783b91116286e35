"""What attention would move if its intermediate values left the chip, as it does without a fused kernel.

For each visible (query, key) pair and head a score is written and read, and after the softmax a probability is written
and read: four times the bytes of one value. A fused kernel keeps both on chip (T. Dao et al., "FlashAttention" (2022),
section 3.1), and so does every pass of this package. Taken as computed whole, causal halves saved nothing.
"""

from __future__ import annotations

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, visible_pairs
from slmopt.theory.latency import prefill_group

SCORE_BYTES = 2.0
_TRIPS = 4.0


def score_bytes(setup: Setup, group: Group | None = None) -> float:
    """Bytes that scores and probabilities of one pass would move; the scenario's prefill unless a group is given.

    0 for a model given as a parameter count: its heads are not known.
    """
    of = prefill_group(setup) if group is None else group
    total = 0.0
    for layers in setup.model.groups:
        attention = layers.attention
        if attention is None:
            continue
        window = float("inf") if attention.window is None else float(attention.window)
        if attention.indexer is not None:
            window = min(window, float(attention.indexer.top_k))
        pairs = float(visible_pairs(float(of.past), float(of.new), window, attention.chunk or 0))
        total += layers.count * attention.heads * float(of.batch) * pairs
    return total * SCORE_BYTES * _TRIPS
