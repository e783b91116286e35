"""Whether small models reach less of their ceilings than large ones do, as software that costs every pass the same makes them."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from slmopt.measured.distinct import alike, distinct, members
from slmopt.measured.medians import median
from slmopt.measured.verdicts import NOISY
from slmopt.words.measured_rows import group_name

SIZES: Final = ["model", "weights", "device", "context", "fraction", "pass_s", "spread"]
"""What is looked at of each row."""

_SMALL_AGAINST_LARGE = 0.7
# Beyond this even the reference measurements reach most of the bandwidth.
_SMALL_PASS_S = 10e-3


def small_and_large(rows: pd.DataFrame) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """The smallest and the largest share on one device, with their names, where the share grows with the time of a pass."""
    if not alike(np.asarray(rows["device"].cat.codes)):
        return None
    names, shares, times = _of_each_model(rows)
    if len(names) < 2:
        return None
    low, high = int(shares.argmin()), int(shares.argmax())
    if names[low][0] == names[high][0] or times[low] > _SMALL_PASS_S or times[high] < 2 * times[low]:
        return None
    if shares[low] > _SMALL_AGAINST_LARGE * shares[high]:
        return None
    ranks = np.argsort(np.argsort(shares)), np.argsort(np.argsort(times))
    if len(names) > 2 and np.corrcoef(*ranks)[0, 1] < 0.5:
        return None
    return (group_name(*names[low]), float(shares[low])), (group_name(*names[high]), float(shares[high]))


def _of_each_model(
    rows: pd.DataFrame,
) -> tuple[
    list[tuple[str, str]],
    np.ndarray[tuple[int], np.dtype[np.float64]],
    np.ndarray[tuple[int], np.dtype[np.float64]],
]:
    """Each model in each format, by its categories' order: its quiet rows' median share, and the median time of a pass."""
    context, fraction, pass_s, spread = (
        rows[name].to_numpy(dtype=np.float64) for name in ("context", "fraction", "pass_s", "spread")
    )
    model, weights = rows["model"].cat, rows["weights"].cat
    codes, first = distinct((rows["model"], rows["weights"]), len(rows))
    found: list[tuple[int, int, float, float]] = []
    for at, one in zip(members(codes, len(first)), first, strict=True):
        quiet = at[~(spread[at] > NOISY)]
        # Those of about the shortest context, since depth is a cause of its own.
        least = np.fmin.reduce(context[quiet], initial=np.inf)
        near = quiet[context[quiet] <= 1.5 * least]
        key = int(model.codes.iloc[one]), int(weights.codes.iloc[one])
        if len(near) and min(key) >= 0:
            found.append((*key, median(fraction[near]), median(pass_s[near])))
    found.sort(key=lambda each: each[:2])
    names = [(str(model.categories[a]), str(weights.categories[b])) for a, b, _, _ in found]
    shares, times = (np.array([each[at] for each in found]) for at in (2, 3))
    return names, shares, times
