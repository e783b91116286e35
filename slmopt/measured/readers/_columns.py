"""Columns of a source by name, whatever it was: a delimited file, a list of JSON objects, a table in Markdown.

A reader asks for numbers, texts and times by name; a name that the source lacks gives missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from slmopt.measured.distinct import alike
from slmopt.measured.readers._cells import Floats, parse_column
from slmopt.measured.table import Skip

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
LISTED: Final = 10_000
"""Most rows left out that are listed one by one."""

Texts: TypeAlias = "pd.Categorical[str]"


@dataclass(eq=False)
class Columns:
    """Columns of equal length, with a label a row that says where it stood."""

    labels: pd.Series[str]
    numbers: dict[str, Floats] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)
    times: dict[str, np.ndarray[tuple[int], np.dtype[np.datetime64]]] = field(default_factory=dict)
    odd: dict[str, list[str]] = field(default_factory=dict)
    """Cells of number and time columns that could not be read as such, distinct, by column."""
    skips: list[Skip] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.labels)

    def number(self, name: str) -> Floats:
        """The column of numbers, NaN where the source lacks it."""
        found = self.numbers.get(name)
        return every(np.nan, len(self)) if found is None else found

    def text(self, name: str) -> Texts:
        """The column of texts, missing where the source lacks it."""
        found = self.texts.get(name)
        if found is None:
            return pd.Categorical.from_codes(np.full(len(self), -1, dtype=np.int8), pd.Index([], dtype="str"))
        return found

    def keep(self, mask: Bools, why: Mapping[str, Bools] | None = None) -> Columns:
        """The rows where ``mask`` holds; each other one is listed with the first of ``why`` that holds for it."""
        if mask.all():
            return self
        skips = list(self.skips)
        out = np.flatnonzero(~mask)
        for position, label in zip(out[:LISTED], self.labels.iloc[out[:LISTED]], strict=True):
            reasons = (text for text, holds in (why or {}).items() if holds[position])
            skips.append(Skip(str(label), next(reasons, "not a measurement")))
        if len(out) > LISTED:
            skips.append(Skip("…", f"{len(out) - LISTED:,} more rows, for the same kinds of reason"))
        return Columns(
            self.labels[mask].reset_index(drop=True),
            {name: values[mask] for name, values in self.numbers.items()},
            {name: values[mask] for name, values in self.texts.items()},
            {name: values[mask] for name, values in self.times.items()},
            self.odd,
            skips,
        )


def numbered(place: str, numbers: npt.NDArray[np.int64]) -> pd.Series[str]:
    """``place`` and a number, such as "row 7", for each of these numbers."""
    labels = pc.binary_join_element_wise(f"{place} ", pa.array(numbers).cast(pa.string()), "")
    return pd.Series(labels.to_pandas(), dtype="str")


def map_text(values: Texts, change: Callable[[str], str]) -> Texts:
    """A text column with each distinct value changed; equal results share a category, an empty one is missing."""
    known: dict[str, int] = {}
    changed = [change(str(value)) for value in values.categories]
    places = [known.setdefault(text, len(known)) if text else -1 for text in changed]
    codes = values.codes if places == list(range(len(places))) else _looked_up(places, values.codes)
    return pd.Categorical.from_codes(codes, pd.Index(list(known), dtype="str"), validate=False)


def _looked_up(places: Sequence[int], codes: npt.NDArray[Any] | np.int8) -> npt.NDArray[Any]:
    """Codes in place of others; missing stays missing."""
    # The one behind all is the missing one.
    most = max(places, default=-1)
    found: npt.NDArray[Any] = np.array([*places, -1], dtype=np.min_scalar_type(-max(most, 0) - 1))[codes]
    return found


def every(value: float, size: int) -> Floats:
    """A column of one number, in the memory of one."""
    return np.broadcast_to(np.float64(value), size)


def same_text(text: str, size: int) -> Texts:
    """A column of one text."""
    return pd.Categorical.from_codes(np.zeros(size, dtype=np.int8), pd.Index([text], dtype="str"))


def choose(mask: Bools, then: Texts | str, otherwise: Texts | str) -> Texts:
    """``then`` where the mask holds, ``otherwise`` elsewhere; missing stays missing."""
    if not mask.any():
        return same_text(otherwise, len(mask)) if isinstance(otherwise, str) else otherwise
    if mask.all():
        return same_text(then, len(mask)) if isinstance(then, str) else then
    known: dict[str, int] = {}
    codes = []
    for values in (then, otherwise):
        names = [values] if isinstance(values, str) else [str(name) for name in values.categories]
        places = [known.setdefault(name, len(known)) for name in names]
        # A text alone is one code, which NumPy spreads over the rows.
        codes.append(_looked_up(places, np.int8(0) if isinstance(values, str) else values.codes))
    return pd.Categorical.from_codes(
        np.where(mask, codes[0], codes[1]), pd.Index(list(known), dtype="str"), validate=False
    )


def first_of(values: Floats, others: Floats) -> Floats:
    """The values that are numbers, and the others where they are none."""
    if alike(values):
        return values if len(values) and np.isfinite(values[0]) else others
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, others)


def as_texts(values: object) -> Texts:
    """``values``, which must be a text column."""
    if not isinstance(values, pd.Categorical):
        raise TypeError(f"a text column was expected, not {type(values).__name__}")
    return values


def stated(values: Texts) -> Bools:
    """Where a text column says something."""
    held = np.asarray(values.codes >= 0)
    if "" in values.categories:
        held &= values.codes != values.categories.get_loc("")
    return held


def from_cells(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    labels: Sequence[str],
    numbers: frozenset[str],
    decimal: str = ".",
) -> Columns:
    """Columns of a small table already split into cells; names in ``numbers`` as numbers, all others as texts."""
    columns = Columns(pd.Series(labels, dtype="str"))
    for position, name in enumerate(header):
        cells = pd.Series([row[position] if position < len(row) else "" for row in rows], dtype="str")
        if name in numbers:
            columns.numbers[name], spread, columns.odd[name] = parse_column(cells, decimal)
            if not np.isnan(spread).all():
                columns.numbers[f"{name} ±"] = spread
        else:
            columns.texts[name] = pd.Categorical(cells)
    return columns


def from_objects(objects: Sequence[tuple[str, Mapping[str, object]]], numbers: frozenset[str]) -> Columns:
    """Columns of JSON objects with one level of keys; values of other kinds than asked for are missing."""
    columns = Columns(pd.Series([label for label, _ in objects], dtype="str"))
    names = dict.fromkeys(name for _, entry in objects for name in entry)
    for name in names:
        values = [entry.get(name) for _, entry in objects]
        if name in numbers:
            columns.numbers[name] = np.array([_number(value) for value in values], dtype=np.float64)
        elif not any(isinstance(value, list | dict) for value in values):
            columns.texts[name] = pd.Categorical(pd.Series([_text(value) for value in values], dtype="str"))
    return columns


def _number(value: object) -> float:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float | str):
        try:
            found = float(value)
        except (ValueError, OverflowError):
            return float("nan")
        return found if np.isfinite(found) else float("nan")
    return float("nan")


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
