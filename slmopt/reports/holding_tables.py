"""Blocks, shared prefix, host memory, sessions and pieces of prompts as tables, the unit in each column's name."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.serving.holding import Moving, Sessions, Sharing, Stranded
from slmopt.serving.pools import Stall


def stranded(rows: Sequence[Stranded]) -> pd.DataFrame:
    """One row a block size; 0 reserves the longest length."""
    return pd.DataFrame(
        [
            {
                "block_tokens": row.block,
                "held_bytes": row.held,
                "needed_bytes": row.needed,
                "empty_share": row.share,
                "requests_that_fit": row.fit,
            }
            for row in rows
        ]
    )


def sharing(found: Sharing) -> pd.DataFrame:
    """The first token at each hit rate."""
    return pd.DataFrame({"hit_rate": found.hit_rate, "ttft_s": found.ttft_s})


def moving(found: Moving) -> pd.DataFrame:
    """Both ways at each context."""
    return pd.DataFrame(
        {
            "context_tokens": found.context,
            "cache_bytes": found.bytes,
            "bring_back_s": found.load_s,
            "compute_again_s": found.compute_s,
        }
    )


def sessions(found: Sessions) -> pd.DataFrame:
    """One row a turn."""
    return pd.DataFrame(
        {
            "turn": found.turn,
            "context_tokens": found.context,
            "cache_bytes": found.bytes,
            "ttft_kept_s": found.reused_s,
            "ttft_again_s": found.again_s,
            "sessions_that_fit": found.fit,
            "busy_share": found.busy,
        }
    )


def stall(found: Stall) -> pd.DataFrame:
    """Both waits at each size of the pieces."""
    return pd.DataFrame({"piece_tokens": found.chunk, "worst_gap_s": found.gap_s, "ttft_s": found.ttft_s})
