"""Which rows of some columns are alike: what a million rows cost is then what their different ones cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.measured.pieces import PIECE, each_piece

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST: Final = 1 << 62
"""Codes of several columns are one number as long as they stay below this."""

_FEW_PARTS: Final = 8
"""Parts that are looked for one by one, which is quicker than sorting the rows of all."""

_FEW: Final = 1 << 20
"""Different numbers that are counted in a table of their own, which is quicker than looking each of them up."""


def distinct(columns: Iterable[Any], size: int) -> tuple[Ints, Ints]:
    """Codes of the different rows in the order in which they come, and the position of each one's first row.

    ``columns`` are ``size`` numbers, categories or texts each; missing values are alike.
    """
    key, span = _key([coded for column in columns if (coded := _coded(column)).count > 1], size)
    if key is None:
        return np.zeros(size, dtype=np.int64), np.zeros(min(size, 1), dtype=np.int64)
    if span <= max(_FEW, size):
        return _numbered(key, span)
    codes, count = _factorized(key)
    return codes, _firsts(codes, count)


@dataclass(frozen=True, slots=True)
class _Coded:
    """A column's whole numbers, the least of them, and how many there may be from it on."""

    values: npt.NDArray[Any]
    low: int
    count: int

    def at(self, piece: slice) -> Ints:
        """Its codes from 0 on."""
        values = self.values[piece]
        if values.dtype.kind == "f":
            return (values - self.low).astype(np.int64)
        return values.astype(np.int64) - self.low


def _key(columns: Iterable[_Coded], size: int) -> tuple[Ints | None, int]:
    """One number a row that tells apart what the columns tell apart, and below what it is."""
    held: list[_Coded] = []
    span = 1
    for column in columns:
        if span * column.count >= _MOST:
            held = [_Coded(*_together(held, size))]
            span = held[0].count
        held.append(column)
        span *= column.count
    return (_joined(held, size), span) if held else (None, 1)


def _together(columns: Sequence[_Coded], size: int) -> tuple[Ints, int, int]:
    codes, count = _factorized(_joined(columns, size))
    return codes, 0, count


def _joined(columns: Sequence[_Coded], size: int) -> Ints:
    key = np.empty(size, dtype=np.int64)

    def join(piece: slice) -> None:
        found = columns[0].at(piece)
        for column in columns[1:]:
            found *= column.count
            found += column.at(piece)
        key[piece] = found

    each_piece(size, join)
    return key


def _numbered(key: Ints, span: int) -> tuple[Ints, Ints]:
    """Numbers below ``span`` as codes in the order in which they come, and where each one comes first; takes ``key`` over."""
    at = _firsts(key, span)
    known = np.flatnonzero(at < len(key))
    known = known[np.argsort(at[known])]
    place = np.empty(span, dtype=np.int64)
    place[known] = np.arange(len(known))

    def put(piece: slice) -> None:
        key[piece] = place[key[piece]]

    each_piece(len(key), put)
    return key, at[known]


def _firsts(codes: Ints, count: int) -> Ints:
    """Where each code below ``count`` comes first; behind the end where it does not come."""
    first = np.full(count, len(codes), dtype=np.int64)
    known = np.count_nonzero(np.bincount(codes, minlength=count))
    for begin in range(0, len(codes), PIECE):
        piece = codes[begin : begin + PIECE]
        new = np.flatnonzero(first[piece] == len(codes))[::-1]
        # Of positions written twice the last one stays.
        first[piece[new]] = begin + new
        if len(new) < len(piece) and np.count_nonzero(first < len(codes)) == known:
            break
    return first


def members(codes: Ints, count: int) -> list[Ints]:
    """The positions of each code from 0 to ``count`` - 1, in their order."""
    if count <= 1:
        return [np.arange(len(codes))] * count
    if count <= _FEW_PARTS:
        return [np.flatnonzero(codes == code) for code in range(count)]
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


def lean(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A long column in the memory of one value where all are one."""
    return np.broadcast_to(values[0], len(values)) if len(values) > PIECE and alike(values) else values


def taken(values: npt.NDArray[Any], at: Ints) -> npt.NDArray[Any]:
    """The values of these rows; no copy where they are all rows, or all values are one in the memory of one."""
    return values[: len(at)] if values.strides == (0,) or len(at) == len(values) else values[at]


def once(function: Callable[..., npt.NDArray[Any]], *columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What ``function`` makes of columns, row by row; of columns that are one value in the memory of one, once."""
    if all(column.strides == (0,) and len(column) for column in columns):
        return np.broadcast_to(function(*(column[:1] for column in columns)), columns[0].shape)
    return function(*columns)


def _coded(column: Any) -> _Coded:
    """A column as whole numbers that differ where its values do."""
    categories: Any = column.cat if isinstance(column, pd.Series) and hasattr(column, "cat") else column
    if hasattr(categories, "categories"):
        codes = np.asarray(categories.codes)
        return _Coded(codes, -1, 1 if alike(codes) else len(categories.categories) + 1)
    if isinstance(column, pd.Series) and column.dtype == "str":
        codes, count = _factorized(column.array)
        return _Coded(codes, 0, count)
    values = np.asarray(column)
    if alike(values):
        return _Coded(values, 0, 1)
    span = _whole(values)
    if span is not None:
        return _Coded(values, *span)
    codes, count = _factorized(values)
    return _Coded(codes, 0, count)


def _whole(values: npt.NDArray[Any]) -> tuple[int, int] | None:
    """The least of whole numbers that lie near each other, and how many there are up to the highest; None for others."""
    kind = values.dtype.kind
    if kind == "b":
        return 0, 2
    if kind not in "fiu" or (kind == "u" and values.itemsize == 8):
        return None
    if kind == "f" and not _are_whole(values[:PIECE]):
        return None
    low, high = values.min(), values.max()
    if not np.isfinite([low, high]).all() or not int(high) - int(low) < _FEW:
        return None
    if kind == "f" and not all(
        _are_whole(values[begin : begin + PIECE]) for begin in range(PIECE, len(values), PIECE)
    ):
        return None
    return int(low), int(high) - int(low) + 1


def _are_whole(values: Floats) -> bool:
    return bool((np.floor(values) == values).all())


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


def one_of(column: pd.Series, texts: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Where a column of categories holds one of these texts."""
    wanted = set(texts)
    held = [name in wanted for name in column.cat.categories]
    # The one behind all is the missing one.
    return np.array([*held, False])[column.cat.codes.to_numpy()]
