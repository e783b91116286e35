"""Medians of long columns: of plain arrays, since a table's own take several copies of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd


def median(values: npt.NDArray[np.float64] | pd.Series) -> float:
    """The median of the numbers among them; NaN where there are none."""
    found = np.asarray(values, dtype=np.float64)
    missing = np.isnan(found)
    stated = found[~missing] if missing.any() else found
    return float(np.median(stated)) if len(stated) else math.nan
