"""The search as a ranked table."""

from __future__ import annotations

import pandas as pd

from slmopt.advice.search import pareto

COLUMNS = {
    "rank": "rank",
    "device_name": "device",
    "weights": "weights",
    "techniques": "techniques",
    "tpot_ms": "time per token (ms)",
    "ttft_ms": "first token (ms)",
    "tokens_per_s": "tokens/s of the device",
    "sequences": "sequences that fit",
    "held_gb": "held (GB)",
    "power_w": "power (W)",
    "joules_per_token": "J a token",
    "price_per_million": "price of a million tokens",
    "evaluated": "your evaluation",
    "front": "unbeaten",
}
_PASSES = {True: "passed", False: "failed", None: "not evaluated"}


def ranked(rows: pd.DataFrame, against: str, most: int | None = None) -> pd.DataFrame:
    """Unbeaten combinations first, then by that quantity and time per token; estimates, units in the column names."""
    found = rows.assign(
        front=pareto(rows, (against, "tpot_s")),
        tpot_ms=rows["tpot_s"] * 1e3,
        ttft_ms=rows["ttft_s"] * 1e3,
        held_gb=rows["held_bytes"] / 1e9,
        evaluated=[_PASSES[None if verdict is None else bool(verdict)] for verdict in rows["passes"]],
    )
    found = found.sort_values(["front", against, "tpot_s"], ascending=[False, True, True])
    found = found.assign(rank=range(1, len(found) + 1))
    table = found[list(COLUMNS)].rename(columns=COLUMNS)
    return table if most is None else table.head(most)
