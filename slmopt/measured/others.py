"""Reference measurements of one chip: what others reached with it."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from slmopt.measured.reference import decode_rows


@lru_cache(maxsize=64)
def of_device(device_id: str) -> pd.DataFrame:
    """What others measured on one of these devices, one sequence's decode: model, quant, runtime, source, and ``share``,
    the fraction of what the specified bandwidth allows.
    """
    rows = decode_rows()
    here = rows[(rows["device_id"] == device_id) & (rows["evidence"] != "invalid-run")]
    kept = ["model", "quant", "runtime", "depth", "decode_tokens_s", "source"]
    return here[kept].assign(share=here["ideal_ms"] / here["measured_ms"]).reset_index(drop=True)
