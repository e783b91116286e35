"""The First token page as tables. Times in ms."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.theory.first_token import PromptCurve
from slmopt.theory.interference import Interference
from slmopt.theory.roofline import LEVELS


def curve(found: PromptCurve, x_name: str) -> pd.DataFrame:
    """TTFT at each x: ceiling and the estimate's levels."""
    levels = {f"ttft_estimate_{level}_ms": found.estimate[level] * 1e3 for level in LEVELS}
    return pd.DataFrame({x_name: found.x, "ttft_ceiling_ms": found.ceiling * 1e3, **levels})


def gaps(rows: Sequence[tuple[str, Interference]]) -> pd.DataFrame:
    """Longest gap and TTFT for each way to feed the prompt; ceilings."""
    return pd.DataFrame(
        [
            {
                "prompt": name,
                "chunk_tokens": r.chunk,
                "longest_gap_ms": r.gap_s * 1e3,
                "ttft_ms": r.ttft_s * 1e3,
            }
            for name, r in rows
        ]
    )
