"""The one table behind every benchmark reader: its columns, their units, and what a reader returns.

Columnar throughout: a file of a million rows is some forty NumPy columns, never a million objects. Texts that repeat
(a model, a device, a phase) are categories. Nothing is guessed: what a file does not say is missing (NaN), never 0.
The columns are those of :mod:`slmopt.measured.table_columns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
import pandas as pd

from slmopt.measured.distinct import alike, lean
from slmopt.measured.pieces import at_once
from slmopt.measured.table_columns import COLUMNS, DTYPES, NAMES, Kind

SKIPPED_NAMES: Final[tuple[str, ...]] = ("source_file", "row", "why")


@dataclass(frozen=True, slots=True, eq=False)
class ReadResult:
    """What a reader made of one file or of several.

    ``format`` names the tool and layout (several: joined by " + "); ``rows`` has exactly ``COLUMNS``; ``skipped`` has a
    line (source_file, row, why) for each row left out; ``warnings`` are sentences about the file as a whole.
    """

    format: str
    rows: pd.DataFrame
    skipped: pd.DataFrame
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """One row left out: where it stood and why."""

    row: str
    why: str


def make_rows(columns: Mapping[str, object], length: int | None = None) -> pd.DataFrame:
    """The table of ``columns``, each an array or one value for all rows; columns not named are missing.

    Raises
    ------
    KeyError
        A name that is not a column: a reader's mistake, never the user's.
    """
    unknown = set(columns) - set(NAMES)
    if unknown:
        raise KeyError(f"not columns of the table: {', '.join(sorted(unknown))}")
    size = _length(columns) if length is None else length
    data = {column.name: _typed(columns.get(column.name), column.dtype, size) for column in COLUMNS}
    return pd.DataFrame(data, index=pd.RangeIndex(size), copy=False)


def rows_from_records(records: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """The table of a few records (dicts with column names as keys); for tools that write one object a run."""
    names = {name for record in records for name in record}
    return make_rows({name: [record.get(name) for record in records] for name in names}, len(records))


def empty_rows() -> pd.DataFrame:
    """The table with no rows."""
    return make_rows({}, 0)


def skipped_frame(source: str, skips: Iterable[Skip]) -> pd.DataFrame:
    """The table of rows left out of one file."""
    pairs = [(source, skip.row, skip.why) for skip in skips]
    return pd.DataFrame(pairs, columns=list(SKIPPED_NAMES), dtype="str")


def result(
    form: str, source: str, rows: pd.DataFrame, skips: Iterable[Skip] = (), warnings: Iterable[str] = ()
) -> ReadResult:
    """A reader's answer for one file; ``rows`` need not carry the file's name yet."""
    named = rows.assign(source_file=_categories(source, len(rows)))
    return ReadResult(form, named, skipped_frame(source, skips), tuple(warnings))


def concat(results: Iterable[ReadResult]) -> ReadResult:
    """Several results as one, in order; categories are merged, so dtypes stay as documented."""
    parts = list(results)
    if len(parts) == 1:
        return parts[0]
    formats = " + ".join(dict.fromkeys(name for part in parts for name in part.format.split(" + ") if name))
    warnings = tuple(dict.fromkeys(sentence for part in parts for sentence in part.warnings))
    skipped = [part.skipped for part in parts if len(part.skipped)]
    return ReadResult(
        formats,
        concat_rows([part.rows for part in parts]),
        pd.concat(skipped, ignore_index=True) if skipped else skipped_frame("", ()),
        warnings,
    )


def concat_rows(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables one after the other."""
    filled = [frame for frame in frames if len(frame)]
    if not filled:
        return empty_rows()
    if len(filled) == 1:
        return filled[0].reset_index(drop=True)
    works = [partial(_stacked, [frame[name] for frame in filled], dtype) for name, dtype in DTYPES.items()]
    columns = at_once(sum(map(len, filled)), works)
    return pd.DataFrame(dict(zip(DTYPES, columns, strict=True)), copy=False)


def _stacked(parts: list[pd.Series], dtype: Kind) -> object:
    """Parts of a column of that type, one behind the other."""
    if dtype == "category":
        return pd.api.types.union_categoricals(parts)
    if dtype == "float64":
        return _joined([part.to_numpy() for part in parts])
    return pd.concat(parts, ignore_index=True)


def _joined(parts: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Columns one behind the other; of one number in all of them that number once."""
    ends = np.array([part[0] for part in parts])
    if alike(ends) and all(map(alike, parts)):
        return np.broadcast_to(ends[0], sum(map(len, parts)))
    return np.concatenate(parts)


def _length(columns: Mapping[str, object]) -> int:
    """Rows that the arrays among ``columns`` have; a table of single values only has one."""
    sizes = {len(values) for values in columns.values() if isinstance(values, Sized) and _is_array(values)}
    if len(sizes) > 1:
        raise ValueError(f"columns of different lengths: {sorted(sizes)}")
    return sizes.pop() if sizes else 1


def _is_array(values: object) -> bool:
    return isinstance(
        values, list | tuple | np.ndarray | pd.Series | pd.Categorical | pd.api.extensions.ExtensionArray
    )


def _typed(values: object, dtype: Kind, size: int) -> object:
    """``values`` as a column of ``dtype`` with ``size`` rows; None is a missing column."""
    if dtype == "category":
        return _categories(values, size)
    if dtype == "float64":
        if values is None or not _is_array(values):
            # One number in the memory of one, since most columns of a file are of this kind.
            return np.broadcast_to(np.float64(np.nan if values is None else values), size)  # type: ignore[arg-type]
        return lean(pd.Series(values, dtype="float64", copy=False).to_numpy())
    if dtype == "datetime64[us]":
        if values is None or not _is_array(values):
            return np.full(size, np.datetime64("NaT" if values is None else values, "us"))  # type: ignore[call-overload]
        return pd.Series(values, dtype="datetime64[us]", copy=False)
    if values is None or not _is_array(values):
        return pd.Series([values] * size, dtype="str")
    return pd.Series(values, dtype="str", copy=False)


def _categories(values: object, size: int) -> pd.Categorical:
    """A categorical column; an empty text is missing."""
    if values is None or (isinstance(values, str) and not values):
        return pd.Categorical.from_codes(
            np.full(size, -1, dtype=np.int8), dtype=_one_text(None), validate=False
        )
    if isinstance(values, str):
        return pd.Categorical.from_codes(
            np.zeros(size, dtype=np.int8), dtype=_one_text(values), validate=False
        )
    made = values if isinstance(values, pd.Categorical) else pd.Categorical(pd.Series(values, dtype="str"))
    said = _used(made) & (made.categories != "")
    if said.all():
        return made
    # The one behind all is the missing one.
    places = np.append(np.where(said, np.cumsum(said) - 1, -1), -1).astype(made.codes.dtype)
    return pd.Categorical.from_codes(places[made.codes], made.categories[said], validate=False)


def _used(texts: pd.Categorical) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which categories are some row's."""
    count = len(texts.categories)
    if count <= _FEW_TEXTS:
        return np.array([(texts.codes == code).any() for code in range(count)], dtype=bool)
    held = np.zeros(count + 1, dtype=bool)
    held[texts.codes] = True
    return held[:count]


_FEW_TEXTS: Final = 8


@lru_cache(maxsize=256)
def _one_text(text: str | None) -> Any:
    """The type of a column with one text, or with none; kept, since making it costs more than the column."""
    return pd.CategoricalDtype(pd.Index([] if text is None else [text], dtype="str"))
