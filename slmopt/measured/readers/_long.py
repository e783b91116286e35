"""Long delimited files by columns: Arrow reads pieces, and each piece becomes NumPy arrays before the next one is kept.

So a million rows never exist as cells, and never twice. A first attempt reads numbers as numbers; where some cell is none,
a second one reads texts and parses their distinct values as short files do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]

from slmopt.measured.progress import waited
from slmopt.measured.readers._cells import parse_column, parse_times
from slmopt.measured.readers._columns import LISTED, Columns, Texts, numbered
from slmopt.measured.table import Skip
from slmopt.measured.text import UnreadableFile

if TYPE_CHECKING:
    from slmopt.measured.readers._delimited import Sheet

# A row must fit into a block; the longest cells seen, lists of token times, have 131 kB.
_BLOCK: Final = 4 << 20
_PART: Final = 32 << 20
_COUNTED: Final = 1 << 18
_MOST_PARTS: Final = 4
Kind = Literal["number", "time", "text"]
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_TYPES: Final = {"number": pa.float64(), "time": pa.timestamp("s", "UTC"), "text": _TEXT}


@dataclass(eq=False)
class Column:
    """What was gathered of one column, a list of arrays in order."""

    kind: Kind
    parts: list[Any] = field(default_factory=list)
    spreads: list[Any] = field(default_factory=list)
    odd: dict[str, None] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Stretch:
    """One stretch of a file: its columns by position, how many rows, and the rows of another width."""

    columns: dict[int, Column]
    rows: int = 0
    ragged: list[Any] = field(default_factory=list)


def stretch(places: dict[int, Kind]) -> Stretch:
    """A stretch of which nothing is read yet."""
    return Stretch({position: Column(kind) for position, kind in places.items()})


def load_long(sheet: Sheet, places: dict[int, Kind], decimal: str) -> Columns:
    """The columns at ``places`` (position: kind) of a sheet that still is bytes."""
    parts = _parts(sheet.data)
    try:
        found = _gather_all(sheet, parts, places, decimal, typed=decimal == ".")
    except pa.ArrowInvalid:
        found = _gather_texts(sheet, parts, places, decimal)
    numbers = np.arange(1, sum(part.rows for part in found) + 1)
    skips = list(sheet.skips)
    if any(part.ragged for part in found):
        # Only one thread that reads the whole knows the numbers of rows.
        found = _gather_texts(sheet, [sheet.data], places, decimal)
        ragged = found[0].ragged
        lost = np.array([row.number for row in ragged])
        numbers = np.setdiff1d(np.arange(1, found[0].rows + len(lost) + 1), lost)
        skips += _listed(sheet, ragged)
    return gathered(sheet, found, places, numbers, skips)


def gathered(
    sheet: Sheet, found: list[Stretch], places: dict[int, Kind], numbers: Any, skips: list[Skip]
) -> Columns:
    """The stretches of a sheet as its columns; ``numbers`` are those of its rows."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        labels = pool.submit(numbered, sheet.place, numbers)
        joined = pool.map(
            lambda position: _join([part.columns.pop(position) for part in found]), list(places)
        )
        columns = Columns(labels.result(), skips=skips)
        for position, one in zip(places, joined, strict=True):
            one.put(columns, sheet.header[position])
    return columns


def _listed(sheet: Sheet, ragged: list[Any]) -> list[Skip]:
    skips = [
        Skip(f"{sheet.place} {row.number}", width_reason(row.actual_columns, len(sheet.header)))
        for row in ragged[:LISTED]
    ]
    if len(ragged) > LISTED:
        skips.append(Skip(f"{sheet.place} …", f"{len(ragged) - LISTED:,} more rows of another width"))
    return skips


def width_reason(found: int, expected: int) -> str:
    """Why a row of another width than its header is left out."""
    return (
        f"{found} values under {expected} column names, so which value belongs to which column is not certain"
    )


def _gather_texts(sheet: Sheet, parts: list[Any], places: dict[int, Kind], decimal: str) -> list[Stretch]:
    try:
        return _gather_all(sheet, parts, places, decimal, typed=False)
    except pa.ArrowInvalid as error:
        raise UnreadableFile(
            f"{sheet.source} cannot be split into rows ({str(error).splitlines()[0][:80]}); a quotation mark may never be closed."
        ) from error


def _parts(data: Any) -> list[Any]:
    """The bytes in stretches for as many threads, cut at line ends outside quotation marks."""
    count = min(os.cpu_count() or 1, _MOST_PARTS, max(len(data) // _PART, 1))
    cuts = [0]
    for number in range(1, count):
        cut = _line_end(data, cuts[-1], number * len(data) // count)
        if cut:
            cuts.append(cut)
    return [data[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(data)], strict=True)]


def _line_end(data: Any, begin: int, near: int) -> int:
    """The first line end behind ``near`` with an even number of quotation marks since ``begin``; 0 where none is close."""
    quotes = _quotes(data, begin, near)
    position = near
    for _ in range(100):
        window = bytes(data[position : position + _BLOCK])
        end = window.find(b"\n") + 1
        if end == 0:
            return 0
        quotes += window.count(b'"', 0, end)
        position += end
        if quotes % 2 == 0:
            return position
    return 0


def _quotes(data: Any, begin: int, end: int) -> int:
    step = _COUNTED
    pieces = (np.frombuffer(data[at : min(at + step, end)], dtype=np.uint8) for at in range(begin, end, step))
    return sum(int(np.count_nonzero(piece == ord('"'))) for piece in pieces)


def _gather_all(
    sheet: Sheet, parts: list[Any], places: dict[int, Kind], decimal: str, *, typed: bool
) -> list[Stretch]:
    blocks: list[int] = []
    gather = partial(_gather, sheet.delimiter, len(sheet.header), places, decimal, typed, blocks)
    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(gather, part) for part in parts]
        waited(futures, lambda: len(blocks) * _BLOCK / len(sheet.data))
        return [future.result() for future in futures]


def _gather(
    delimiter: str,
    width: int,
    places: dict[int, Kind],
    decimal: str,
    typed: bool,
    blocks: list[int],
    data: Any,
) -> Stretch:
    """One stretch, piece by piece; each is counted in ``blocks``."""
    found = stretch(places)
    if not bytes(data[:_BLOCK]).strip() and not bytes(data).strip():
        return found
    for batch in _batches(delimiter, width, places, found, typed, data):
        found.rows += batch.num_rows
        blocks.append(batch.num_rows)
        for column, values in zip(found.columns.values(), batch.columns, strict=True):
            take(column, values, decimal)
    return found


def _batches(
    delimiter: str, width: int, places: dict[int, Kind], found: Stretch, typed: bool, data: Any
) -> Iterator[Any]:
    def leave_out(row: Any) -> str:
        found.ragged.append(row)
        return "skip"

    yield from pacsv.open_csv(
        pa.BufferReader(data),
        read_options=pacsv.ReadOptions(
            column_names=[f"c{position}" for position in range(width)], block_size=_BLOCK, use_threads=False
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=leave_out
        ),
        convert_options=pacsv.ConvertOptions(
            include_columns=[f"c{position}" for position in places],
            column_types={
                f"c{position}": _TYPES[kind] if typed else _TEXT for position, kind in places.items()
            },
            strings_can_be_null=False,
            check_utf8=False,  # documents are, and cells are cut at signs of one byte
        ),
    )


def take(column: Column, values: Any, decimal: str) -> None:
    """One piece of one column as arrays."""
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
        finite = np.isfinite(numbers)
        # An array over Arrow's memory would keep the whole piece.
        column.parts.append(numbers.copy() if finite.all() else np.where(finite, numbers, np.nan))
        return
    if pa.types.is_timestamp(values.type):
        times = values.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
        column.parts.append(times.astype("datetime64[us]"))
        return
    places = values.indices.to_numpy()
    texts = [str(text).strip() for text in values.dictionary.to_pylist()]
    if column.kind == "text":
        known = [column.codes.setdefault(text, len(column.codes)) for text in texts]
        column.parts.append(np.array(known, dtype=np.min_scalar_type(-len(column.codes) - 1))[places])
        return
    distinct = pd.Series(texts, dtype="str")
    if column.kind == "time":
        times, odd = parse_times(distinct)
        column.parts.append(times[places])
    else:
        numbers, spread, odd = parse_column(distinct, decimal)
        column.parts.append(numbers[places])
        column.spreads.append(spread[places])
    column.odd.update(dict.fromkeys(odd))


@dataclass(eq=False)
class _Joined:
    """One column in one piece: texts, or numbers or times with what is no such thing, and numbers' deviations."""

    values: Any
    odd: list[str] | None = None
    spread: Any = None

    def put(self, columns: Columns, name: str) -> None:
        """Put it among the columns."""
        if self.odd is None:
            columns.texts[name] = self.values
            return
        columns.odd[name] = self.odd
        if self.values.dtype.kind == "M":
            columns.times[name] = self.values
            return
        columns.numbers[name] = self.values
        if self.spread is not None:
            columns.numbers[f"{name} ±"] = self.spread


def _join(stretches: list[Column]) -> _Joined:
    """The pieces of one column, of all stretches, as one."""
    kind = stretches[0].kind
    if kind == "text":
        return _Joined(_joined_texts(stretches))
    odd = list(dict.fromkeys(text for stretch in stretches for text in stretch.odd))
    parts = [part for stretch in stretches for part in stretch.parts]
    if kind == "time":
        return _Joined(np.concatenate(parts) if parts else np.empty(0, dtype="datetime64[us]"), odd)
    spreads = [part for stretch in stretches for part in stretch.spreads]
    told = bool(spreads) and not all(np.isnan(part).all() for part in spreads)
    values = np.concatenate(parts) if parts else np.empty(0)
    return _Joined(values, odd, np.concatenate(spreads) if told else None)


def _joined_texts(stretches: list[Column]) -> Texts:
    union: dict[str, int] = {}
    pieces = []
    for stretch in stretches:
        known = np.array([union.setdefault(text, len(union)) for text in stretch.codes], dtype=np.int32)
        known = known.astype(np.min_scalar_type(-len(union) - 1))
        if (known == np.arange(len(known))).all():
            pieces += stretch.parts
        else:
            pieces += [known[part] for part in stretch.parts]
    codes = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int32)
    return pd.Categorical.from_codes(codes, pd.Index(list(union), dtype="str"), validate=False)
