"""What a check of a benchmark finds, and how it looks at the one table's columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found: its code, how many rows it is about, the file (empty: several) and its numbers."""

    code: str
    rows: int
    file: str = ""
    values: Mapping[str, float] = field(default_factory=dict)


def numbers(rows: pd.DataFrame, name: str) -> Floats:
    """A column of numbers."""
    return rows[name].to_numpy(dtype=np.float64)


def noted(rows: pd.DataFrame, pattern: str) -> npt.NDArray[np.bool_]:
    """Where a row's note has such words in it."""
    notes = rows["note"].cat
    said = [bool(re.search(pattern, str(name))) for name in notes.categories]
    return np.array([*said, False])[notes.codes.to_numpy()]
