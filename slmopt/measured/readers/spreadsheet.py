"""Excel workbooks and Parquet files, turned into delimited text that the other readers know.

A workbook is read with the standard library alone: cells' values as they were last computed, dates as numbers. Rows are
taken one by one and forgotten, so that a sheet's tree never stands in memory as a whole. A sheet whose XML declares a document type is refused: no spreadsheet program writes one, and entities could grow without bound.
"""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from slmopt.measured.archives import Budget, cause
from slmopt.measured.text import MAX_BYTES, UnreadableFile

MAX_PART_BYTES: Final = 256 << 20
"""Largest XML part of a workbook [B]."""

MAX_VALUES: Final = 100_000_000
"""Most cells of a Parquet file: run-length codes let a few bytes stand for any number of them."""

BATCH_ROWS: Final = 1024
"""Rows of a Parquet file unpacked at a time, since a dictionary lets every one repeat a long text."""

MAX_ROWS: Final = 1_048_576
MAX_COLUMNS: Final = 16_384

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_PLACE: Final = re.compile(r"([A-Z]{1,3})\d+$")


def is_workbook(content: bytes) -> bool:
    """Whether a ZIP archive is an Excel workbook."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def workbook_sheets(name: str, content: bytes, budget: Budget | None = None) -> Iterator[tuple[str, bytes]]:
    """Each sheet that holds cells, as CSV text with its title; all parts together stay within the budget."""
    budget = Budget(len(content)) if budget is None else budget
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            shared = _shared(archive, name, budget)
            titles = _titles(archive, name, budget)
            parts = sorted(
                (part for part in archive.namelist() if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", part)),
                key=_number,
            )
            for order, part in enumerate(parts):
                text = io.StringIO(newline="")
                writer = csv.writer(text, lineterminator="\n")
                for row in _rows(_part(archive, part, name, budget), shared):
                    writer.writerow(row)
                    _check_size(text.tell(), name)
                if text.getvalue().strip(',\n" '):
                    yield (
                        titles[order] if order < len(titles) else f"sheet {order + 1}",
                        text.getvalue().encode(),
                    )
    except UnreadableFile:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        ET.ParseError,
        KeyError,
        ValueError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise UnreadableFile(
            f"{name} is a damaged Excel workbook ({cause(error)}); save its sheet as CSV."
        ) from error


def _number(part: str) -> int:
    return int("".join(filter(str.isdigit, part)) or 0)


def _check_size(size: int, name: str) -> None:
    if size > MAX_PART_BYTES:
        raise UnreadableFile(f"{name} holds a sheet of more than {MAX_PART_BYTES >> 20} MiB; save it as CSV.")


def _part(archive: zipfile.ZipFile, part: str, name: str, budget: Budget) -> bytes:
    """One XML part of the workbook; what its archive states of its size is not trusted."""
    _check_size(archive.getinfo(part).file_size, name)
    with archive.open(part) as stream:
        data = stream.read(min(MAX_PART_BYTES, budget.left) + 1)
    _check_size(len(data), name)
    budget.take(name, len(data))
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise UnreadableFile(
            f"{name} declares a document type inside, as no spreadsheet program does; save its sheet as CSV."
        )
    return data


def _elements(data: bytes, leaf: str, group: str = "") -> Iterator[ET.Element]:
    """The elements named ``leaf``, each whole, and after those of a ``group`` the emptied group; nothing else is kept."""
    # Document types, and so entities, are refused where the part is read.
    parser = ET.iterparse(io.BytesIO(data), events=("start", "end"))  # noqa: S314
    above: list[ET.Element] = []
    held = open_leaves = 0
    for event, element in parser:
        if event == "start":
            above.append(element)
            held += 1
            open_leaves += element.tag == _MAIN + leaf
            if held > MAX_IN_CELL:
                raise ET.ParseError(f"a cell of more than {MAX_IN_CELL:,} parts")
            continue
        above.pop()
        open_leaves -= element.tag == _MAIN + leaf
        if not open_leaves and element.tag in (_MAIN + leaf, _MAIN + group):
            yield element
        if not open_leaves and above:
            above[-1].clear()
            held = len(above)


MAX_IN_CELL: Final = 20_000
"""Most XML elements that one cell or text may hold; rich text has some dozens."""


def _shared(archive: zipfile.ZipFile, name: str, budget: Budget) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    data = _part(archive, "xl/sharedStrings.xml", name, budget)
    return ["".join(piece.text or "" for piece in entry.iter(f"{_MAIN}t")) for entry in _elements(data, "si")]


def _titles(archive: zipfile.ZipFile, name: str, budget: Budget) -> list[str]:
    data = _part(archive, "xl/workbook.xml", name, budget)
    return [sheet.get("name", "") for sheet in _elements(data, "sheet")]


def _rows(data: bytes, shared: list[str]) -> Iterator[list[str]]:
    cells: list[str] = []
    count = 0
    for element in _elements(data, "c", "row"):
        if element.tag == f"{_MAIN}row":
            yield cells
            cells, count = [], count + 1
            if count >= MAX_ROWS:
                return
            continue
        column = _column(element.get("r", ""), len(cells))
        if column < MAX_COLUMNS:
            cells += [""] * (column + 1 - len(cells))
            cells[column] = _value(element, shared)


def _column(place: str, following: int) -> int:
    """A column's position from a place such as 'AB12'."""
    found = _PLACE.match(place)
    if not found:
        return following
    position = 0
    for letter in found[1]:
        position = position * 26 + ord(letter) - ord("A") + 1
    return position - 1


def _value(cell: ET.Element, shared: list[str]) -> str:
    """What a cell shows; a formula that was never computed shows nothing."""
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(piece.text or "" for piece in cell.iter(f"{_MAIN}t"))
    found = cell.find(f"{_MAIN}v")
    text = (found.text or "") if found is not None else ""
    if kind == "s":
        return shared[int(text)] if text.isdecimal() and int(text) < len(shared) else ""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(text, text)
    return text


def parquet_text(name: str, content: bytes, budget: Budget | None = None) -> bytes:
    """A Parquet file's flat columns as CSV text, within the budget."""
    budget = Budget(len(content)) if budget is None else budget
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        size = sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups))
        if size > MAX_BYTES:
            raise UnreadableFile(
                f"{name} unpacks to more than {MAX_BYTES >> 20} MiB; split it or leave columns out."
            )
        if file.metadata.num_rows * max(file.metadata.num_columns, 1) > MAX_VALUES:
            raise UnreadableFile(
                f"{name} holds more than {MAX_VALUES:,} values; split it or leave columns out."
            )
        keep = [file.schema_arrow.names[at] for at in flat_columns(file.schema_arrow)]
        stream = io.BytesIO()
        pacsv.write_csv(_plain(file.schema_arrow.empty_table().select(keep)), stream)
        written = 0
        for batch in file.iter_batches(BATCH_ROWS, columns=keep):
            stream.write(csv_text(batch, header=False))
            budget.take(name, stream.tell() - written)
            written = stream.tell()
    except (pa.ArrowException, OSError, ValueError, UnicodeError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(
            f"{name} is a damaged Parquet file ({str(error).splitlines()[0][:100]}); export it as CSV."
        ) from error
    return stream.getvalue()


def flat_columns(schema: Any) -> list[int]:
    """The positions of the columns that a row of text can hold."""
    return [at for at, column in enumerate(schema) if not pa.types.is_nested(column.type)]


def csv_text(batch: Any, *, header: bool) -> bytes:
    """Rows of a Parquet file as CSV."""
    stream = io.BytesIO()
    flat = _plain(pa.Table.from_batches([batch]))
    pacsv.write_csv(flat, stream, pacsv.WriteOptions(include_header=header))
    return stream.getvalue()


def _plain(table: Any) -> Any:
    """The table with types that CSV can hold."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            columns.append(column.cast(kind.value_type))
        elif pa.types.is_timestamp(kind):
            columns.append(column.cast(pa.timestamp("s"), safe=False).cast(pa.string()))
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_decimal(kind):
            columns.append(column.cast(pa.string()))
        else:
            columns.append(column)
    return pa.table(columns, names=[str(name) for name in table.column_names])
