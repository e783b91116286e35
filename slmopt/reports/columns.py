"""Tables as people read them: column names in words with their unit, numbers rounded, long tables thinned."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.words import numbers as n
from slmopt.words import pace, units

# The unit at a column's end, and how people write it; longer endings first.
_UNITS: Final = (
    ("_flop_per_byte", "FLOP/byte"),
    ("_tokens_per_pass", "a pass"),
    ("_tokens_per_s", "tokens/s"),
    ("_bytes_per_token", "B a token"),
    ("_gflops", "GFLOPS"),
    ("_tflops", "TFLOPS"),
    ("_gflop", "GFLOP"),
    ("_tokens", "tokens"),
    ("_ms", "ms"),
    ("_gbs", "GB/s"),
    ("_gib", "GiB"),
    ("_gb", "GB"),
    ("_mib", "MiB"),
    ("_mb", "MB"),
)
_WORDS: Final = {
    "ttft": "first token",
    "gb": "GB",
    "gib": "GiB",
    "speedup": "speed-up",
}


def column_words(name: object) -> str:
    """A column's name for people: "estimate_slow_tokens_per_s" is "Estimate slow (tokens/s)"."""
    text = str(name)
    unit = ""
    for ending, written in _UNITS:
        if text.endswith(ending) and text != ending:
            text, unit = text.removesuffix(ending), f" ({written})"
            break
    known = {**_WORDS, "tpot": pace.inner()}
    words = " ".join(known.get(word, word) for word in text.replace("_", " ").split())
    return f"{words[:1].upper()}{words[1:]}{unit}"


_SIZES: Final = {"gb": ("gib", 1e9 / 2**30), "mb": ("mib", 1e6 / 2**20), "(GB)": ("(GiB)", 1e9 / 2**30)}
_SIZE: Final = re.compile(r"(?:(?<=_)|^)(?:gb|mb)$|\(GB\)$")


def in_units(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its sizes and users' speeds in the units in use: "weights_gb" becomes "weights_gib".

    Data files keep GB and ms.
    """
    return _sized(_as_speeds(table) if pace.as_speed() else table)


def _sized(table: pd.DataFrame) -> pd.DataFrame:
    if units.now().sizes == "GB":
        return table
    changed = {name: column_in_units(str(name)) for name in table.columns if _SIZE.search(str(name))}
    scaled = {name: table[name] * _SIZES[_SIZE.findall(str(name))[0]][1] for name in changed}
    return table.assign(**{str(name): column for name, column in scaled.items()}).rename(columns=changed)


_PACE: Final = re.compile(r"(?:(?<=_)|^)tpot_(?P<unit>ms|s)$|^time per token \((?P<written>ms)\)$")
_PER_S: Final = {"ms": 1e3, "s": 1.0}
# Tables with a row for each measure: the column that names it, and those that hold its times.
_NAMED: Final = (
    ("name", ("target", "ceiling", "fast", "typical", "slow"), 1e3),
    ("measure", ("before", "after"), 1.0),
)


def _as_speeds(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each time per token as tokens/s."""
    changed, renamed = {}, {}
    for name in map(str, table.columns):
        if found := _PACE.search(name):
            changed[name] = _PER_S[found["unit"] or found["written"]] / table[name].where(table[name] != 0)
            renamed[name] = _speed_column(name)
    for which, times, per_s in _NAMED:
        if which not in table or not set(times) <= set(table.columns):
            continue
        rows = table[which] == "tpot"
        for name in times:
            values = table[name].astype("float64")
            changed[name] = values.where(~rows, per_s / values.where(values != 0))
        if "unit" in table:
            changed["unit"] = table["unit"].where(~rows, "tokens/s")
    return table.assign(**changed).rename(columns=renamed) if changed else table


def _speed_column(name: str) -> str:
    return _PACE.sub(lambda at: "each_user_tokens_per_s" if at["unit"] else "each user (tokens/s)", name)


def column_in_units(name: str) -> str:
    """A column's name in a table that went through :func:`in_units`."""
    if pace.as_speed():
        name = _speed_column(name)
    if units.now().sizes == "GB":
        return name
    return _SIZE.sub(lambda found: _SIZES[found[0]][0], name)


def cell(value: Any) -> str:
    """A cell for people: numbers of four figures, nothing as "–"."""
    if value is None or value is pd.NA or value is pd.NaT:
        return n.UNKNOWN
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isfinite(number) and number == int(number) and abs(number) < 1e15:
            return f"{int(number):,}"
        return n.figures(number, 4)
    return str(value)


def numeric(column: pd.Series) -> bool:
    """Whether a column holds numbers, which stand to the right."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and not pd.api.types.is_bool_dtype(column.dtype)


def thinned(table: pd.DataFrame, most: int) -> tuple[pd.DataFrame, int]:
    """At most so many rows, evenly spaced with both ends, and how many were left out."""
    if len(table) <= most:
        return table, 0
    kept = np.unique(np.linspace(0, len(table) - 1, most).round().astype(int))
    return table.iloc[kept], len(table) - len(kept)


def left_out(count: int) -> str:
    """The sentence under a thinned table; empty where nothing is missing."""
    if not count:
        return ""
    return f"{count:,} rows between these are left out; the data file has all."
