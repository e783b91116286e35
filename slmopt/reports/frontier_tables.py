"""The frontier as tables, the unit in each column's name."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from slmopt.figures.named import Named
from slmopt.serving.frontier import Frontier


def frontier(results: Sequence[Named[Frontier]]) -> pd.DataFrame:
    """One row a batch, level and scenario."""
    parts = [
        pd.DataFrame(
            {
                "scenario": one.name or "now",
                "kind": "ceiling" if level == "ceiling" else f"estimate, {level}",
                "sequences": one.result.batch,
                "device_tokens_per_s": line.device,
                "user_tokens_per_s": line.user,
                "cost_per_million_tokens": line.cost,
                "joules_per_token": line.energy,
            }
        )
        for one in results
        for level, line in one.result.lines.items()
    ]
    return pd.concat(parts, ignore_index=True)
