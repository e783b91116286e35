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
    return Comparison(columns.table().loc[judged], skipped, columns.needs(judged))


def each_kind(rows: pd.DataFrame, facts: Facts, among: Ints) -> Iterator[tuple[Ints, Place]]:
    """The positions of rows of one kind (model, formats, device, tool), and what they ran; for each kind among these rows."""
    several = _several_devices(rows)
    kinds = _kinds(rows)
    for at in _members(kinds, among):
        yield at, place(_row(kinds.iloc[at[0]]), facts, several_devices=several)


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
    return rows[list(TEXTS)].assign(**numbers).reset_index(drop=True)


def _members(kinds: pd.DataFrame, among: Ints) -> list[Ints]:
    """The rows of each kind, the kinds in order of their first row."""
    # What is the same in every row parts none, and would cost as much as what does.
    keys = [name for name in (*TEXTS, *NUMBERS) if not _constant(kinds[name])]
    if not keys:
        return [among] if len(among) else []
    codes = kinds.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy()[among]
    order = np.argsort(codes, kind="stable")
    return [among[part] for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(part)]


def _constant(column: pd.Series) -> bool:
    """Whether a column says the same in every row, or nothing in any."""
    values = (
        column.cat.codes.to_numpy() if isinstance(column.dtype, pd.CategoricalDtype) else column.to_numpy()
    )
    return not len(values) or bool((values == values[0]).all() or np.isnan(values).all())


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
