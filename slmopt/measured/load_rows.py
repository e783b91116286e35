"""Requests of a load as columns, whether they came as records or as a file's columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Texts: TypeAlias = "pd.Categorical[str]"

NUMBERS: Final = (
    "concurrency", "at_s", "in_flight", "ttft_s", "tpot_s", "chunk_gap_s", "e2e_s", "prompt_tokens", "output_tokens",
    "cached_tokens",
)  # fmt: skip
"""What a request tells in numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Requests in the order in which they ended; NaN where one tells no number, an error missing where it completed."""

    kind: Texts
    level: Texts
    error: Texts
    numbers: Mapping[str, Floats]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Requests:
        """From records as they are written."""
        return cls(
            _texts(row.get("kind") for row in rows),
            _texts(row.get("level") for row in rows),
            _texts(row.get("error") or None for row in rows),
            {name: np.array([_number(row.get(name)) for row in rows], dtype=np.float64) for name in NUMBERS},
        )

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, name: str) -> Floats:
        return self.numbers[name]

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Which requests did not complete."""
        return np.asarray(self.error.codes >= 0)

    def at(self, where: npt.NDArray[np.bool_]) -> Requests:
        """These requests only."""
        count = int(np.count_nonzero(where))
        if count == len(where):
            return self
        first = int(np.argmax(where))
        # Requests of a level mostly follow each other, and a stretch is no copy.
        rows = slice(first, first + count) if where[first : first + count].all() else where
        kept = {name: values[rows] for name, values in self.numbers.items()}
        return Requests(self.kind[rows], self.level[rows], self.error[rows], kept)


def _texts(values: Iterable[object]) -> Texts:
    """Texts as categories in the order in which they come first; empty ones are missing."""
    codes, known = pd.factorize(
        np.array([None if value is None or value == "" else str(value) for value in values], dtype=object)
    )
    return pd.Categorical.from_codes(codes, pd.Index(known, dtype="str"))


def _number(value: object) -> float:
    """A finite number; NaN for anything else, text that spells a number excepted."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan
