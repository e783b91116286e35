"""Benchmark rows against the ceilings of the work that they timed.

>>> judged = compare(read.rows, Facts(device="rtx-4090"))          # doctest: +SKIP
>>> judged.rows[["phase", "measured", "ceiling", "fraction", "verdict"]]

Rows of one kind (model, formats, device, tool) are looked up once and computed as arrays, so a million rows cost what
their different shapes cost. The result holds numbers and codes; :mod:`slmopt.words.verdicts` says them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.claims import claims
from slmopt.measured.distinct import distinct, kept, members
from slmopt.measured.judged import Columns
from slmopt.measured.match import match_device, match_weights
from slmopt.measured.placed import Facts, Place, Row, place
from slmopt.measured.text import any_number
from slmopt.specs.library import library

Ints = npt.NDArray[np.int64]

TEXTS: Final = (
    "model",
    "model_file",
    "model_type",
    "weight_format",
    "device",
    "cache_k",
    "cache_v",
    "tool",
    "backend",
)
PLACED: Final = ("device_count", "tensor_parallel", "pipeline_parallel", "gpu_layers", "cpu_moe_layers")
NUMBERS: Final = ("params", "bits", "weight_bytes", *PLACED)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Judged rows, in the order and with the index of the table.

    ``rows``: source_file, row, phase, model, weights, device (what it was held against), batch, context (mean cached
    tokens), measured and ceiling (tokens/s of the device), fraction, p10, p50, p90 (the share of the ceiling that the
    slowest tenth, the median and the best tenth of the reference measurements would reach with this row's work), spread,
    bound ("memory", "compute", or missing), verdict, reasons and notes (codes joined by "|"), note (the reader's own), intensity (FLOP a byte),
    flops_per_s (achieved), pass_s (least seconds a pass), origin (of the band).
    ``skipped``: source_file, row, why. ``needs``: facts that the rows lack and the user can give.
    """

    rows: pd.DataFrame
    skipped: pd.DataFrame
    needs: tuple[str, ...]


@any_number
def compare(rows: pd.DataFrame, facts: Facts | None = None) -> Comparison:
    """Hold every row of a benchmark table (:mod:`slmopt.measured.table`) against its ceiling."""
    said = Facts() if facts is None else facts
    claimed = claims(rows, said.batch)
    judged = ~claimed.no_speed
    columns = Columns(rows, claimed)
    for at, found in each_kind(rows, said, np.flatnonzero(judged)):
        columns.fill(at, found)
    why = "states no speed of decode or prefill, so there is nothing to hold against a ceiling"
    skipped = rows.loc[~judged, ["source_file", "row"]].astype("str").assign(why=why).reset_index(drop=True)
    return Comparison(kept(columns.table(), judged), skipped, columns.needs(judged))


def each_kind(rows: pd.DataFrame, facts: Facts, among: Ints) -> Iterator[tuple[Ints, Place]]:
    """The positions of rows of one kind (model, formats, device, tool), and what they ran; for each kind among these rows."""
    several = _several_devices(rows)
    kinds = _kinds(rows)
    columns = (kinds[name] if len(among) == len(rows) else kinds[name].iloc[among] for name in kinds)
    codes, first = distinct(columns, len(among))
    for at, one in zip(members(codes, len(first)), first, strict=True):
        yield among[at], place(_row(kinds.iloc[among[one]]), facts, several_devices=several)


def _kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """All that decides model, device and formats. Sizes only where no known format is named."""
    names = rows["weight_format"].cat.categories
    unnamed = [name for name in names if match_weights(library(), str(name), gguf=True) is None]
    open_format = rows["weight_format"].isna() | rows["weight_format"].isin(unnamed)
    bits = (8 * rows["weight_bytes"] / rows["params"]).round(1)
    numbers = {
        "params": rows["params"],
        "bits": bits.where(open_format),
        "weight_bytes": rows["weight_bytes"].where(open_format & bits.isna()),
        **{name: rows[name] for name in PLACED},
    }
    return rows[list(TEXTS)].assign(**numbers)


def _row(kind: pd.Series) -> Row:
    values: dict[str, Any] = {name: "" if pd.isna(kind[name]) else str(kind[name]) for name in TEXTS}
    values |= {name: float(kind[name]) for name in NUMBERS}
    return Row(**values)


def _several_devices(rows: pd.DataFrame) -> bool:
    """Whether the file names at least two devices that presets know."""
    presets = library().devices
    found = {
        match.id for name in rows["device"].dropna().unique() if (match := match_device(presets, str(name)))
    }
    return len(found) > 1
