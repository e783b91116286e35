"""Reference measurements of one chip: what others reached with it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from slmopt.measured.compare import compare
from slmopt.measured.placed import Facts
from slmopt.measured.reference import decode_rows, single_stream
from slmopt.measured.table import make_rows


@lru_cache(maxsize=64)
def of_device(device_id: str) -> pd.DataFrame:
    """What others measured on one of these devices, one sequence's decode: model, quant, runtime, source, and ``share``,
    the fraction of what the specified bandwidth allows.
    """
    rows = decode_rows()
    here = rows[(rows["device_id"] == device_id) & (rows["evidence"] != "invalid-run")]
    kept = ["model", "quant", "runtime", "depth", "decode_tokens_s", "source"]
    return here[kept].assign(share=here["ideal_ms"] / here["measured_ms"]).reset_index(drop=True)


@lru_cache(maxsize=64)
def prefill_of_device(device_id: str) -> pd.DataFrame:
    """What others measured on one of these devices, one prompt's prefill: model, quant, runtime, ``n_prompt`` tokens,
    ``prefill_tokens_s``, source, and ``share``, the fraction of the prefill ceiling at that length.

    The ceiling is that of a model with as many weights as a token uses, at the fastest rate of the device; layers and with
    them attention are counted where a preset has just that many. Rows whose rate nobody publishes have no ceiling and are left out.
    """
    rows = single_stream()
    here = rows[(rows["device_id"] == device_id) & (rows["evidence"] != "invalid-run") & (rows["n_gpu"] == 1)]
    here = here[here["prefill_tokens_s"].notna() & here["n_prompt"].notna() & here["active_b"].notna()]
    here = here[~here["note"].str.contains("offload|spill", case=False, na=False)].reset_index(drop=True)
    kept = ["model", "quant", "runtime", "n_prompt", "prefill_tokens_s", "source"]
    if here.empty:
        return here[kept].assign(share=np.zeros(0))
    table = make_rows(
        {
            "row": here.index.astype("str"),
            "tool": here["runtime"].where(here["runtime"].str.startswith("llama"), "llama of another name"),
            "params": here["active_b"] * 1e9,
            "weight_bytes": here["weight_bytes"],
            "weight_format": here["quant"],
            "device_count": 1.0,
            "phase": "prefill",
            "batch": 1.0,
            "prompt_tokens": here["n_prompt"],
            "depth_tokens": 0.0,
            "output_tokens": 0.0,
            "tokens_per_s": here["prefill_tokens_s"],
            "tokens_per_s_basis": "sequence",
        },
        len(here),
    )
    judged = compare(table, Facts(device=device_id)).rows
    share = judged["fraction"].where(judged["bound"].notna())
    return here[kept].assign(share=share.reindex(here.index)).dropna(subset=["share"]).reset_index(drop=True)
