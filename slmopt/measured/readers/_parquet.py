"""Long Parquet files by their columns, without the text between: what their CSV says, they say.

Only where the CSV would be one plain sheet: what it begins with is shown to the same readers, and every value is taken as
its text would be. All else goes through the text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from slmopt.measured.archives import Budget
from slmopt.measured.progress import waited
from slmopt.measured.readers._cells import is_missing, parse_number
from slmopt.measured.readers._columns import Columns
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._long import Kind, Stretch, gathered, stretch, take
from slmopt.measured.readers.spreadsheet import MAX_VALUES, csv_text, flat_columns
from slmopt.measured.text import MAX_BYTES

LONG_ROWS: Final = 100_000
"""From this size on a file is read by columns."""

_BATCH_ROWS: Final = 1 << 16
_SAMPLE_BYTES: Final = 1 << 20
"""As much text as a sheet looks at before it is read."""


@dataclass(eq=False)
class ParquetSheet(Sheet):
    """A sheet whose ``data`` is the beginning of its text, and whose columns come from the file itself."""

    content: bytes = b""
    beginning: bytes = b""
    """``data`` with the header before it."""

    def load(
        self,
        numbers: Iterable[str] = (),
        texts: Iterable[str] = (),
        times: Iterable[str] = (),
        decimal: str = ".",
    ) -> Columns:
        """The named columns as numbers, texts and times; names that the header lacks are passed over."""
        places = self._places(numbers, texts, times)
        file = _open(self.content)
        columns = [file.schema_arrow.names[at] for at in flat_columns(file.schema_arrow)]
        rows: list[int] = []
        gather = partial(self._gather, places, [columns[position] for position in places], decimal, rows)
        count = min(os.cpu_count() or 1, file.num_row_groups)
        groups = np.array_split(np.arange(file.num_row_groups), count)
        with ThreadPoolExecutor(count) as pool:
            futures = [pool.submit(gather, part.tolist()) for part in groups]
            waited(futures, lambda: sum(rows) / file.metadata.num_rows)
            found = [future.result() for future in futures]
        return gathered(self, found, places, np.arange(1, sum(rows) + 1), list(self.skips))

    def _gather(
        self, places: dict[int, Kind], names: list[str], decimal: str, rows: list[int], groups: list[int]
    ) -> Stretch:
        """Some of the file's groups of rows, piece by piece; the rows of each are put into ``rows``."""
        found = stretch(places)
        file = _open(self.content)
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=names, use_threads=False):
            found.rows += batch.num_rows
            rows.append(batch.num_rows)
            for (position, kind), name in zip(places.items(), names, strict=True):
                take(found.columns[position], _as_read(batch.column(name), kind), decimal)
        return found


def parquet_sheet(name: str, content: bytes, budget: Budget) -> ParquetSheet | None:
    """The file as one sheet; None where it is short, or where its text might be more than one plain sheet."""
    file = _open(content)
    rows = file.metadata.num_rows
    columns = flat_columns(file.schema_arrow)
    names = [file.schema_arrow.names[at] for at in columns]
    header = tuple(names)
    values = rows * max(file.metadata.num_columns, 1)
    size = sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups))
    if values > MAX_VALUES or size > MAX_BYTES or 8 * values > budget.left:
        return None
    if rows < LONG_ROWS or len(header) < 2 or len(set(header)) < len(header):
        return None
    if not all(_is_plain(one) for one in header) or not any(
        pa.types.is_floating(file.schema_arrow.types[at]) or pa.types.is_integer(file.schema_arrow.types[at])
        for at in columns
    ):
        return None
    if 8 * values + _text_bytes(file, names) > budget.left:
        return None
    text = io.BytesIO()
    for batch in file.iter_batches(1024, columns=names):
        text.write(csv_text(batch, header=not text.tell()))
        if text.tell() > _SAMPLE_BYTES:
            break
    beginning = text.getvalue()
    body = beginning[beginning.find(b"\n") + 1 :]
    return ParquetSheet(name, ",", header, data=body, content=content, beginning=beginning)


def _text_bytes(file: Any, names: list[str]) -> int:
    """What the texts of the columns would take unpacked, by the lengths of those that are stored [B]."""
    texts = [name for name in names if pa.types.is_dictionary(file.schema_arrow.field(name).type)]
    total = 0
    for batch in file.iter_batches(_BATCH_ROWS, columns=texts) if texts else ():
        for column in batch.columns:
            kinds = column.dictionary
            if pa.types.is_string(kinds.type) or pa.types.is_large_string(kinds.type):
                lengths = pc.fill_null(pc.binary_length(kinds), 0).to_numpy(zero_copy_only=False)
                total += int(lengths[column.indices.drop_null().to_numpy(zero_copy_only=False)].sum())
    return total


def _open(content: bytes) -> Any:
    """The file, with repeated texts left as they are stored: unpacked, a few bytes could become any number."""
    file = pq.ParquetFile(pa.BufferReader(content))
    texts = [
        field.name
        for field in file.schema_arrow
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    return pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts)


def _is_plain(name: str) -> bool:
    """Whether a column's name is a word that no row of numbers and no comment begins with."""
    return (
        name == name.strip()
        and not is_missing(name)
        and not np.isfinite(parse_number(name)[0])
        and not name.startswith(("#", "sep=", "{", "["))
        and not any(sign in name for sign in '"\n\r,')
    )


def _as_read(values: Any, kind: Kind) -> Any:
    """A column of the kind that its text would be read as."""
    form = values.type
    if kind == "number" and (pa.types.is_integer(form) or pa.types.is_float64(form)):
        return values.cast(pa.float64(), safe=False)
    if kind == "number" and pa.types.is_floating(form):
        # Their shortest text is another double than the number itself.
        return values.cast(pa.string()).cast(pa.float64())
    if kind == "time" and pa.types.is_timestamp(form):
        return values.cast(pa.timestamp("s"), safe=False)
    if pa.types.is_dictionary(form) and pa.types.is_string(form.value_type):
        return (
            values
            if not values.null_count
            else pc.fill_null(values.cast(pa.string()), "").dictionary_encode()
        )
    if pa.types.is_timestamp(form):
        values = values.cast(pa.timestamp("s"), safe=False)
    elif pa.types.is_dictionary(form):
        values = values.cast(form.value_type)
    return pc.fill_null(values.cast(pa.string()), "").dictionary_encode()
