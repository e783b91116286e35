"""Delimited text (CSV, TSV, semicolons, pipes) as sheets: one header and the rows under it.

A file may hold several sheets: a header repeated where runs were concatenated, or another table after a blank line. Rows
whose width differs from the header's are listed and left out; they are never padded or shifted.

Two ways in, one result: short files go through Python's csv, which copes with anything; long ones through Arrow, column by
column, without an object a cell.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd

from slmopt.measured.readers._cells import parse_column, parse_times
from slmopt.measured.readers._columns import Columns
from slmopt.measured.readers._long import Kind, load_long
from slmopt.measured.table import Skip
from slmopt.measured.text import MAX_BYTES

LONG_BYTES: Final = 8 << 20
"""From this size on a file is read by columns [B]."""

# Cells may hold lists of thousands of time stamps; Python's default stops at 128 kB. Documents are bounded elsewhere.
csv.field_size_limit(MAX_BYTES)


@dataclass(eq=False)
class Sheet:
    """One header and its rows, not yet converted: either ``records`` (split into cells) or ``data`` (bytes)."""

    source: str
    delimiter: str
    header: tuple[str, ...]
    place: str = "row"
    above: str = ""
    records: list[list[str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    data: bytes | memoryview = b""
    skips: list[Skip] = field(default_factory=list)

    def sample(self, count: int = 200) -> list[list[str]]:
        """The first rows, as cells."""
        if self.records or not len(self.data):
            return self.records[:count]
        start = bytes(self.data[: 1 << 20]).decode("utf-8", "ignore")
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=self.delimiter)
        return [
            row
            for row, _ in zip(
                (row for row in rows if len(row) == len(self.header)), range(count), strict=False
            )
        ]

    def each(self) -> Iterator[tuple[str, list[str]]]:
        """Every row with its label, as cells; for tools whose files are short."""
        if len(self.data):
            text = io.TextIOWrapper(io.BytesIO(self.data), "utf-8", newline="")
            rows = (row for row in csv.reader(text, delimiter=self.delimiter) if row)
            for number, row in enumerate(rows, 1):
                if len(row) == len(self.header):
                    yield f"{self.place} {number}", row
        else:
            yield from zip(self.labels, self.records, strict=True)

    def load(
        self,
        numbers: Iterable[str] = (),
        texts: Iterable[str] = (),
        times: Iterable[str] = (),
        decimal: str = ".",
    ) -> Columns:
        """The named columns as numbers, texts and times; names that the header lacks are passed over."""
        places = self._places(numbers, texts, times)
        return load_long(self, places, decimal) if len(self.data) else self._load_short(places, decimal)

    def _places(self, numbers: Iterable[str], texts: Iterable[str], times: Iterable[str]) -> dict[int, Kind]:
        """The positions of the columns that are wanted, and of which kind each is."""
        wanted: dict[str, Kind] = dict.fromkeys(texts, "text")
        wanted |= dict.fromkeys(numbers, "number")
        wanted |= dict.fromkeys(times, "time")
        return {position: wanted[name] for position, name in enumerate(self.header) if name in wanted}

    def _load_short(self, places: dict[int, Kind], decimal: str) -> Columns:
        columns = Columns(pd.Series(self.labels, dtype="str"), skips=list(self.skips))
        for position, kind in places.items():
            cells = pd.Series([row[position] for row in self.records], dtype="str")
            _convert(columns, self.header[position], cells, kind, decimal)
        return columns


def _convert(columns: Columns, name: str, cells: pd.Series[str], kind: str, decimal: str) -> None:
    if kind == "number":
        columns.numbers[name], spread, columns.odd[name] = parse_column(cells, decimal)
        if not np.isnan(spread).all():
            columns.numbers[f"{name} ±"] = spread
    elif kind == "time":
        columns.times[name], columns.odd[name] = parse_times(cells)
    else:
        columns.texts[name] = pd.Categorical(cells.str.strip())


def decimal_sign(sheet: Sheet) -> str:
    """',' where the cells of a sheet can only be read with decimal commas, else '.'."""
    comma = point = 0
    for row in sheet.sample():
        for cell in row:
            text = cell.strip()
            if re.fullmatch(r"[+-]?\d{1,3}(?:[.\s\u00a0\u202f]\d{3})*,\d+%?", text) and not re.fullmatch(
                r"\d{1,3}(?:,\d{3})+", text
            ):
                comma += 1
            elif re.fullmatch(r"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?%?", text) and not re.fullmatch(
                r"\d{1,3}\.\d{3}", text
            ):
                point += 1
    return "," if comma > point else "."
