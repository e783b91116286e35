"""Two sets of judged rows side by side: what became faster or slower, and whether by more than their spread.

The rule for keeping a change is the article's: only if the measurements and the quality evaluation both improve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.verdicts import NO_SPREAD

Floats = npt.NDArray[np.float64]
Outcome = Literal["keep", "undo", "undecided"]

KEYS: Final = ("model", "weights", "phase", "batch", "test")
"""What two rows have in common that are the same measurement; ``test`` holds prompt, output and depth."""

DROPPED: Final = ("weights", "model")
"""Keys that are given up in turn where nothing matches: they are then what was changed."""

SIGMAS: Final = 2.0
MOST_VALUES: Final = 12
"""Values of a column up to which it may tell two sides apart."""

COLUMNS: Final = (
    "source_file",
    "note",
    "weight_format",
    "backend",
    "tool_version",
    "threads",
    "flash_attention",
    "cache_k",
    "chunk_tokens",
    "gpu_layers",
    "device",
    "model",
)
"""Columns that may tell two sides apart, likeliest first."""


@dataclass(frozen=True, slots=True, eq=False)
class BeforeAfter:
    """Matched rows: the columns of ``KEYS`` that matched, before and after (tokens/s), ratio, spread (relative, of the
    ratio; NaN where no row tells one), beyond (1 faster, -1 slower, 0 within the spread; NaN unknown).

    ``changed`` are keys that were given up since nothing matched with them; ``alone`` counts the rows of each side that
    found no partner.
    """

    rows: pd.DataFrame
    changed: tuple[str, ...]
    alone: tuple[int, int]

    @property
    def typical(self) -> float:
        """The geometric mean of the ratios; NaN without rows."""
        return float(np.exp(np.log(self.rows["ratio"]).mean())) if len(self.rows) else float("nan")

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Rows that are faster, slower, within their spread, and without one."""
        beyond = self.rows["beyond"].to_numpy(dtype=np.float64)
        return (
            int((beyond == 1).sum()),
            int((beyond == -1).sum()),
            int((beyond == 0).sum()),
            int(np.isnan(beyond).sum()),
        )


@dataclass(frozen=True, slots=True)
class Quality:
    """A quality evaluation before and after, higher is better, and the difference that is chance."""

    before: float
    after: float
    error: float = 0.0

    @property
    def improved(self) -> bool:
        """Whether quality rose by more than chance."""
        return self.after - self.before > self.error

    @property
    def worse(self) -> bool:
        """Whether quality fell by more than chance."""
        return self.before - self.after > self.error


def sides(rows: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Columns by which a table's rows part into few sides, with their values in the order of their first row."""
    found: dict[str, tuple[str, ...]] = {}
    for name in COLUMNS:
        if name not in rows:
            continue
        values = rows[name].dropna()
        texts = tuple(dict.fromkeys(_text(value) for value in values.unique()))
        if 2 <= len(texts) <= MOST_VALUES:
            found[name] = texts
    return found


def side(rows: pd.DataFrame, column: str, value: str) -> pd.Series:
    """Where a column has this value, as :func:`sides` writes it."""
    return rows[column].map(_text, na_action="ignore").astype("object") == value


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def before_after(before: pd.DataFrame, after: pd.DataFrame) -> BeforeAfter:
    """Match two sets of judged rows (:func:`slmopt.reports.measurement_tables.joined`) by what they measured.

    Repeated rows of a side are one, at their median; their spread is the larger of what they state and of how they differ.
    """
    dropped: list[str] = []
    keys = list(KEYS)
    for name in (None, *DROPPED):
        if name is not None:
            keys.remove(name)
            dropped.append(name)
        one, other = _merged(before, keys), _merged(after, keys)
        matched = one.merge(other, on=keys, suffixes=("_before", "_after"))
        if len(matched):
            break
    if not len(matched):
        dropped = []
    spread = np.hypot(
        matched["spread_before"].to_numpy(dtype=np.float64),
        matched["spread_after"].to_numpy(dtype=np.float64),
    )
    ratio = (matched["measured_after"] / matched["measured_before"]).to_numpy(dtype=np.float64)
    return BeforeAfter(
        matched[keys].assign(
            before=matched["measured_before"],
            after=matched["measured_after"],
            ratio=ratio,
            spread=spread,
            beyond=_beyond(ratio, spread),
        ),
        tuple(dropped),
        (len(one) - len(matched), len(other) - len(matched)),
    )


def _merged(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """A row a measurement: median speed and spread."""
    plain = rows.assign(**{name: rows[name].astype("object") for name in keys if name != "batch"})
    plain = plain[plain["measured"] > 0]
    grouped = plain.groupby(list(keys), dropna=False, sort=False)
    found = grouped.agg(
        measured=("measured", "median"), stated=("spread", "max"), sd=("measured", "std")
    ).reset_index()
    between = (found["sd"] / found["measured"]).to_numpy(dtype=np.float64)
    stated = found["stated"].to_numpy(dtype=np.float64)
    return found[list(keys)].assign(measured=found["measured"], spread=np.fmax(stated, between))


def _beyond(ratio: Floats, spread: Floats) -> Floats:
    """1 and -1 where a ratio is farther from 1 than ``SIGMAS`` times its spread, and than rounding."""
    with np.errstate(invalid="ignore"):
        far = np.abs(np.log(ratio)) > np.maximum(SIGMAS * spread, NO_SPREAD)
    return np.where(np.isnan(spread), np.nan, np.where(far, np.sign(np.log(ratio)), 0.0))


def outcome(found: BeforeAfter, quality: Quality | None) -> Outcome:
    """Whether to keep the change: only if measurements and quality both improve.

    Measurements improve where some row is faster beyond its spread and none slower. What is not known decides nothing,
    but what became worse does.
    """
    faster, slower, _, _ = found.counts
    if slower or (quality is not None and not quality.improved):
        return "undo"
    if not faster or quality is None:
        return "undecided"
    return "keep"
