"""Rows that nobody measured: those that are there twice, and those that were computed from others."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.distinct import distinct, kept
from slmopt.measured.findings import Finding, noted, numbers

NOT_MEASURED: Final = r"(?i)extrapolat|interpolat|projected|estimated|predicted|simulated"

_TIMES: Final = ("tokens_per_s", "ttft_s", "tpot_s", "e2e_s")
_SAME: Final = (
    "model", "weight_format", "device", "phase", "batch", "concurrency", "prompt_tokens", "output_tokens", "depth_tokens",
    *_TIMES, "timestamp",
)  # fmt: skip


def duplicates(rows: pd.DataFrame) -> list[Finding]:
    """Rows that are there twice, to the last digit of their times."""
    timed = np.logical_or.reduce([~np.isnan(numbers(rows, name)) for name in _TIMES])
    # Times of single requests, often whole milliseconds, may well agree.
    alike = (rows["statistic"] == "single").to_numpy() & rows["timestamp"].isna().to_numpy()
    # Nearly all rows differ in their times, so what else they say is looked at only where those agree.
    left: npt.NDArray[np.int64] | None = None
    for name in _TIMES:
        values = numbers(rows, name) if left is None else numbers(rows, name)[left]
        codes, first = distinct([values], len(values))
        if len(first) > 1:
            same = np.flatnonzero(np.bincount(codes)[codes] > 1)
            left = same if left is None else left[same]
    again = np.zeros(len(rows), dtype=bool)
    few = rows[list(_SAME)] if left is None else rows[list(_SAME)].iloc[left]
    again[slice(None) if left is None else left] = few.duplicated().to_numpy()
    again &= timed & ~alike
    return [Finding("duplicates", int(again.sum()))] if again.any() else []


def extrapolated(rows: pd.DataFrame) -> list[Finding]:
    """Rows that say so, or whose speed is exactly proportional to the batch: computed from one of them, not measured."""
    said = noted(rows, NOT_MEASURED)
    found = [Finding("not_measured", int(said.sum()))] if said.any() else []
    batch = numbers(rows, "batch")
    keys = ["source_file", "model", "weight_format", "device", "phase", "prompt_tokens", "depth_tokens"]
    some = (batch >= 1) & (rows["tokens_per_s_basis"] == "device").to_numpy()
    several = kept(rows[[*keys, "batch", "tokens_per_s"]], some)
    codes, first = distinct((several[name] for name in keys), len(several))
    _, each = distinct((codes, several["batch"]), len(several))
    # Of most works there are no three batches.
    often = np.bincount(codes[each], minlength=len(first)) >= 3
    few = several[often[codes]]
    for _, part in few.groupby(codes[often[codes]], sort=True):
        each_s = numbers(part, "tokens_per_s") / numbers(part, "batch")
        if each_s.std() <= 1e-4 * abs(each_s.mean()):
            found.append(Finding("proportional", len(part), str(part["source_file"].iloc[0])))
    return found
