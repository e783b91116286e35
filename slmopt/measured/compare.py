"""Benchmark rows against the ceilings of the work that they timed.

>>> judged = compare(read.rows, Facts(device="rtx-4090"))          # doctest: +SKIP
>>> judged.rows[["phase", "measured", "ceiling", "fraction", "verdict"]]

Rows of one kind (model, formats, device, tool) are looked up once and computed as arrays, so a million rows cost what
their different shapes cost. The result holds numbers and codes; :mod:`slmopt.words.verdicts` says them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.claims import claims
from slmopt.measured.distinct import distinct, kept, members, once, texts_in_use
from slmopt.measured.judged import Columns
from slmopt.measured.match import match_weights
from slmopt.measured.match_device import match_device
from slmopt.measured.placed import Facts, Place, Row, place
from slmopt.measured.text import any_number
from slmopt.specs.library import library

Floats = npt.NDArray[np.float64]
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
    for at, found in each_kind(rows, said, judged):
        columns.fill(at, found)
    why = "states no speed of decode or prefill, so there is nothing to hold against a ceiling"
    skipped = rows.loc[~judged, ["source_file", "row"]].astype("str").assign(why=why).reset_index(drop=True)
    return Comparison(kept(columns.table(), judged), skipped, columns.needs(judged))


def each_kind(rows: pd.DataFrame, facts: Facts, some: npt.NDArray[np.bool_]) -> Iterator[tuple[Ints, Place]]:
    """The positions of rows of one kind (model, formats, device, tool), and what they ran; for each kind among some rows."""
    several = _several_devices(rows)
    kinds = _kinds(rows)
    among = None if some.all() else np.flatnonzero(some)
    columns = (column if among is None else column[among] for column in kinds.values())
    codes, first = distinct(columns, len(rows) if among is None else len(among))
    for at, one in zip(members(codes, len(first)), first, strict=True):
        row = _row({name: column[one if among is None else among[one]] for name, column in kinds.items()})
        yield at if among is None else among[at], place(row, facts, several_devices=several)


def _kinds(rows: pd.DataFrame) -> dict[str, Any]:
    """All that decides model, device and formats. Sizes only where no known format is named."""
    texts: dict[str, Any] = {name: rows[name].array for name in TEXTS}
    numbers = {name: rows[name].to_numpy(dtype=np.float64) for name in ("params", "weight_bytes", *PLACED)}
    formats = texts["weight_format"]
    unnamed = [match_weights(library(), str(name), gguf=True) is None for name in formats.categories]
    # The one behind all is the missing one.
    open_format = np.array([*unnamed, True])[formats.codes]
    sizes = dict.fromkeys(("bits", "weight_bytes"), np.broadcast_to(np.float64(np.nan), len(rows)))
    if open_format.any():
        size, params = numbers["weight_bytes"], numbers["params"]
        bits = once(lambda size, params: np.round(8 * size / params, 1), size, params)
        sizes = {"bits": _only(bits, open_format), "weight_bytes": _only(size, open_format & np.isnan(bits))}
    return texts | numbers | sizes


def _only(values: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    """The values there, and none elsewhere."""
    return (
        values if values.strides == (0,) and np.isnan(values[:1]).all() else np.where(where, values, np.nan)
    )


def _row(kind: Mapping[str, Any]) -> Row:
    values: dict[str, Any] = {name: "" if pd.isna(kind[name]) else str(kind[name]) for name in TEXTS}
    values |= {name: float(kind[name]) for name in NUMBERS}
    return Row(**values)


def _several_devices(rows: pd.DataFrame) -> bool:
    """Whether the file names at least two devices that presets know."""
    presets = library().devices
    found = {match.id for name in texts_in_use(rows["device"]) if (match := match_device(presets, name))}
    return len(found) > 1
