"""The Memory page as tables. Sizes in GB (10^9 bytes)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.theory.memory import Capacity
from slmopt.theory.offload_curve import LayersCurve
from slmopt.theory.roofline import LEVELS


def what_ifs(rows: Sequence[tuple[str, Capacity]]) -> pd.DataFrame:
    """One row a what-if."""
    return pd.DataFrame(
        [
            {
                "what": name,
                "weights_gb": c.weight_bytes / 1e9,
                "draft_weights_gb": c.draft_bytes / 1e9,
                "sequence_gb": c.bytes_per_sequence / 1e9,
                "held_now_gb": c.held_now / 1e9,
                "usable_gb": None if c.usable is None else c.usable / 1e9,
                "sequences_that_fit": c.max_sequences,
            }
            for name, c in rows
        ]
    )


def against_context(
    context: npt.NDArray[np.float64], lines: Sequence[tuple[str, npt.NDArray[np.float64]]]
) -> pd.DataFrame:
    """Sequences that fit at each context, a column for each what-if."""
    return pd.DataFrame({"context_tokens": context, **dict(lines)})


def holdings(rows: Sequence[tuple[str, float]]) -> pd.DataFrame:
    """Requests held for each way to give memory out."""
    return pd.DataFrame(rows, columns=["way", "requests"])


def against_layers(curve: LayersCurve) -> pd.DataFrame:
    """Decode of all sequences at each number of layers on the card, and what the card then holds."""
    return pd.DataFrame(
        {
            "layers_on_card": curve.layers.astype(int),
            "ceiling_tokens_per_s": curve.ceiling,
            **{f"estimate_{level}_tokens_per_s": curve.estimate[level] for level in LEVELS},
            "card_gb": curve.card_bytes / 1e9,
            "fits": curve.layers <= (-1 if curve.fit is None else curve.fit),
        }
    )
