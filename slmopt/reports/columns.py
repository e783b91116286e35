"""Tables as people read them: column names in words with their unit, numbers rounded, long tables thinned."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.words import numbers as n
from slmopt.words import units

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
    "tpot": "time per token",
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
    words = " ".join(_WORDS.get(word, word) for word in text.replace("_", " ").split())
    return f"{words[:1].upper()}{words[1:]}{unit}"


_SIZES: Final = {"gb": ("gib", 1e9 / 2**30), "mb": ("mib", 1e6 / 2**20), "(GB)": ("(GiB)", 1e9 / 2**30)}
_SIZE: Final = re.compile(r"(?:(?<=_)|^)(?:gb|mb)$|\(GB\)$")


def in_units(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its sizes in the units in use: "weights_gb" becomes "weights_gib". Data files keep GB."""
    if units.now().sizes == "GB":
        return table
    changed = {name: column_in_units(str(name)) for name in table.columns if _SIZE.search(str(name))}
    scaled = {name: table[name] * _SIZES[_SIZE.findall(str(name))[0]][1] for name in changed}
    return table.assign(**{str(name): column for name, column in scaled.items()}).rename(columns=changed)


def column_in_units(name: str) -> str:
    """A column's name in a table that went through :func:`in_units`."""
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
