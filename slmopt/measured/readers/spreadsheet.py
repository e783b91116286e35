"""Excel workbooks and Parquet files, turned into delimited text that the other readers know.

A workbook is read with the standard library alone: cells' values as they were last computed, dates as numbers. A sheet
whose XML declares a document type is refused: no spreadsheet program writes one, and entities could grow without bound.
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

from slmopt.measured.text import MAX_BYTES, UnreadableFile

MAX_PART_BYTES: Final = 256 << 20
"""Largest XML part of a workbook [B]."""

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


def workbook_sheets(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Each sheet that holds cells, as CSV text with its title."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            shared = _shared(archive, name)
            titles = _titles(archive, name)
            parts = sorted(
                (part for part in archive.namelist() if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", part)),
                key=_number,
            )
            for order, part in enumerate(parts):
                rows = _rows(_parse(archive, part, name), shared)
                text = io.StringIO(newline="")
                csv.writer(text, lineterminator="\n").writerows(rows)
                if text.getvalue().strip(',\n" '):
                    yield (
                        titles[order] if order < len(titles) else f"sheet {order + 1}",
                        text.getvalue().encode(),
                    )
    except (
        zipfile.BadZipFile,
        zlib.error,
        ET.ParseError,
        KeyError,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise UnreadableFile(
            f"{name} is a damaged Excel workbook ({error}); save its sheet as CSV."
        ) from error


def _number(part: str) -> int:
    return int("".join(filter(str.isdigit, part)) or 0)


def _parse(archive: zipfile.ZipFile, part: str, name: str) -> ET.Element:
    if archive.getinfo(part).file_size > MAX_PART_BYTES:
        raise UnreadableFile(f"{name} holds a sheet of more than {MAX_PART_BYTES >> 20} MiB; save it as CSV.")
    data = archive.read(part)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise UnreadableFile(
            f"{name} declares a document type inside, as no spreadsheet program does; save its sheet as CSV."
        )
    return ET.fromstring(data)  # noqa: S314 - document types, and so entities, are refused above


def _shared(archive: zipfile.ZipFile, name: str) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = _parse(archive, "xl/sharedStrings.xml", name)
    return [
        "".join(piece.text or "" for piece in entry.iter(f"{_MAIN}t")) for entry in root.iter(f"{_MAIN}si")
    ]


def _titles(archive: zipfile.ZipFile, name: str) -> list[str]:
    root = _parse(archive, "xl/workbook.xml", name)
    return [sheet.get("name", "") for sheet in root.iter(f"{_MAIN}sheet")]


def _rows(root: ET.Element, shared: list[str]) -> Iterator[list[str]]:
    for count, row in enumerate(root.iter(f"{_MAIN}row")):
        if count >= MAX_ROWS:
            return
        cells: list[str] = []
        for cell in row.iter(f"{_MAIN}c"):
            column = _column(cell.get("r", ""), len(cells))
            if column >= MAX_COLUMNS:
                continue
            cells += [""] * (column + 1 - len(cells))
            cells[column] = _value(cell, shared)
        yield cells


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
        return shared[int(text)] if text.isdigit() and int(text) < len(shared) else ""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(text, text)
    return text


def parquet_text(name: str, content: bytes) -> bytes:
    """A Parquet file's flat columns as CSV text."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        size = sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups))
        if size > MAX_BYTES:
            raise UnreadableFile(
                f"{name} unpacks to more than {MAX_BYTES >> 20} MiB; split it or leave columns out."
            )
        table = file.read()
        keep = [at for at, column in enumerate(table.schema) if not pa.types.is_nested(column.type)]
        flat = _plain(table.select(keep))
        stream = io.BytesIO()
        pacsv.write_csv(flat, stream)
    except (pa.ArrowException, OSError, ValueError, UnicodeError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(
            f"{name} is a damaged Parquet file ({str(error).splitlines()[0][:100]}); export it as CSV."
        ) from error
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
