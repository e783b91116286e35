"""Which rows of some columns are alike: what a million rows cost is then what their different ones cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]

_MOST: Final = 1 << 62
"""Codes of several columns are one number as long as they stay below this."""

_FEW: Final = 1 << 20
"""Different numbers that are counted in a table of their own, which is quicker than looking each of them up."""


def distinct(columns: Iterable[Any], size: int) -> tuple[Ints, Ints]:
    """Codes of the different rows in the order in which they come, and the position of each one's first row.

    ``columns`` are ``size`` numbers, categories or texts each; missing values are alike.
    """
    key: Ints | None = None
    span = 1
    for column in columns:
        codes, count = _coded(column)
        if count == 1:
            continue
        if key is None:
            key, span = codes, count
            continue
        if span * count >= _MOST:
            key, span = _factorized(key)
        key = key * count + codes
        span *= count
    if key is None:
        return np.zeros(size, dtype=np.int64), np.zeros(min(size, 1), dtype=np.int64)
    if span <= max(_FEW, size):
        return _numbered(key, span)
    codes, count = _factorized(key)
    return codes, _firsts(codes, count)


def _numbered(key: Ints, span: int) -> tuple[Ints, Ints]:
    """Numbers below ``span`` as codes in the order in which they come, and where each one comes first."""
    at = _firsts(key, span)
    known = np.flatnonzero(at < len(key))
    known = known[np.argsort(at[known])]
    place = np.empty(span, dtype=np.int64)
    place[known] = np.arange(len(known))
    return place[key], at[known]


def _firsts(codes: Ints, count: int) -> Ints:
    """Where each code below ``count`` comes first; behind the end where it does not come."""
    first = np.full(count, len(codes), dtype=np.int64)
    # Of positions written twice the last one stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def members(codes: Ints, count: int) -> list[Ints]:
    """The positions of each code from 0 to ``count`` - 1, in their order."""
    if count <= 1:
        return [np.arange(len(codes))] * count
    # Numbers of two bytes are sorted by their digits.
    order = np.argsort(codes.astype(np.uint16) if count <= 1 << 16 else codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])


def alike(values: npt.NDArray[Any]) -> bool:
    """Whether all values are one, or all missing."""
    if not len(values) or (values.ndim == 1 and values.strides == (0,)):
        return True
    first = values[0]
    # Looked at in two steps, since most columns that differ do so at once.
    few = values[:1000]
    if pd.isna(first):
        return bool(np.isnan(few).all() and np.isnan(values).all())
    return bool((few == first).all() and (values == first).all())


def once(function: Callable[..., npt.NDArray[Any]], *columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What ``function`` makes of columns, row by row; of columns that are one value in the memory of one, once."""
    if all(column.strides == (0,) and len(column) for column in columns):
        return np.broadcast_to(function(*(column[:1] for column in columns)), columns[0].shape)
    return function(*columns)


def _coded(column: Any) -> tuple[Ints, int]:
    """A column's codes, and below which number they are."""
    categories: Any = column.cat if isinstance(column, pd.Series) and hasattr(column, "cat") else column
    if hasattr(categories, "categories"):
        codes = np.asarray(categories.codes)
        return (codes, 1) if alike(codes) else (codes.astype(np.int64) + 1, len(categories.categories) + 1)
    if isinstance(column, pd.Series) and column.dtype == "str":
        return _factorized(column.array)
    values = np.asarray(column)
    if alike(values):
        return np.zeros(0, dtype=np.int64), 1
    return _whole(values) or _factorized(values)


def _whole(values: npt.NDArray[Any]) -> tuple[Ints, int] | None:
    """Whole numbers that lie near each other as they are, counted from the least; None for others."""
    if values.dtype.kind == "b":
        return values.astype(np.int64), 2
    if values.dtype.kind not in "fiu":
        return None
    low, high = values.min(), values.max()
    if not high - low < _FEW:
        return None
    codes = (values - low).astype(np.int64)
    return (codes, int(high - low) + 1) if (codes + low == values).all() else None


def _factorized(values: Any) -> tuple[Ints, int]:
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and alike(values):
        return np.zeros(len(values), dtype=np.int64), min(len(values), 1)
    codes, known = pd.factorize(values, use_na_sentinel=False)
    return np.asarray(codes, dtype=np.int64), len(known)


def kept(rows: pd.DataFrame, mask: Any) -> pd.DataFrame:
    """The rows where ``mask`` holds: the table itself, and no copy of it, where that is everywhere."""
    held = np.asarray(mask, dtype=bool)
    return rows if held.all() else rows[held]


def texts_in_use(column: pd.Series) -> list[str]:
    """The different texts of a column, in the order in which they come first."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return [str(text) for text in column.dropna().unique()]
    found = pd.unique(np.asarray(column.cat.codes)).tolist()
    return [str(column.cat.categories[at]) for at in found if at >= 0]
