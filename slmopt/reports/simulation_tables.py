"""The Simulate page as tables: one row a request, a quantile or a time, the unit in each column's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from slmopt.figures.named import Named
from slmopt.serving.outcome import Outcome, Weighted
from slmopt.serving.series import Series, Timeline, shares


def stays(found: Timeline) -> pd.DataFrame:
    """Times in slots."""
    return pd.DataFrame(
        {
            "request": found.request + 1,
            "slot": found.slot,
            "prompt_tokens": found.prompt,
            "output_tokens": found.output,
            "admitted_s": found.begin,
            "first_token_s": found.first,
            "last_token_s": found.end,
            "slot_free_s": found.released,
        }
    )


def distribution(results: Sequence[Named[Weighted]]) -> pd.DataFrame:
    """Times at each share, a row for each."""
    parts = []
    for one in results:
        times, share = shares(one.result)
        parts.append(pd.DataFrame({"policy": one.name or "run", "share": share, "seconds": times}))
    return pd.concat(parts, ignore_index=True)


def over_time(results: Sequence[Named[Series]]) -> pd.DataFrame:
    """Queue, slots and cache at each time."""
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "policy": one.name or "run",
                    "time_s": one.result.time,
                    "waiting": one.result.waiting,
                    "slots_held": one.result.held,
                    "cache_gb": one.result.bytes / 1e9,
                }
            )
            for one in results
        ],
        ignore_index=True,
    )


def requests(found: Outcome) -> pd.DataFrame:
    """One row for each request that was served."""
    run = found.run
    several = np.maximum(run.output - 1, 1)
    return pd.DataFrame(
        {
            "arrival_s": run.arrival,
            "prompt_tokens": run.prompt,
            "output_tokens": run.output,
            "cached_tokens": run.hit,
            "queued_s": run.admitted - run.arrival,
            "ttft_s": run.first - run.arrival,
            "tpot_s": np.where(run.output > 1, (run.end - run.first) / several, np.nan),
            "e2e_s": run.end - run.arrival,
        }
    )
