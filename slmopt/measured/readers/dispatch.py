"""Which reader takes which part of a text: JSON values, delimited sheets, Markdown tables, reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

import pandas as pd

from slmopt.measured.readers import mapping
from slmopt.measured.readers._base import (
    JsonLinesReader,
    JsonReader,
    MarkdownTable,
    SheetReader,
    SheetsReader,
    TableReader,
    TextReader,
)
from slmopt.measured.readers._delimited import LONG_BYTES, Sheet
from slmopt.measured.readers._json import Decoded, Item, Json, decode_json, looks_like_json
from slmopt.measured.readers._markdown import find_tables
from slmopt.measured.readers._sheets import find_sheets, sniff
from slmopt.measured.readers._yaml import decode_yaml, keys_of, looks_like_yaml
from slmopt.measured.readers.registry import READERS
from slmopt.measured.table import ReadResult, Skip, concat, empty_rows, result, skipped_frame
from slmopt.measured.text import Document, UnreadableFile


def read_document(document: Document) -> ReadResult:
    """What the text holds: JSON, a delimited table that a reader knows, a report, or a table whose columns are guessed."""
    from_json, only_json = None, False
    if looks_like_json(document.head):
        at_once = _read_lines(document) if len(document.data) > LONG_BYTES else None
        if at_once is not None:
            return at_once
        decoded = decode_json(document.name, document.text)
        only_json = bool(decoded.items) and document.head.lstrip()[:1] in {"{", "["}
        from_json = _read_json(document.name, decoded)
        if only_json or (from_json is not None and len(document.data) > _REPORT_BYTES):
            return from_json or _no_reader(document.name, decoded)
    sheets: list[Sheet] = []
    found = _read_text(document, sheets)
    if from_json is not None:
        return concat([from_json, *([found] if found else [])])
    if found is not None:
        return found
    if looks_like_yaml(document.head) and not _is_banner(document.head):
        return _read_yaml(document)
    tables = [sheet for sheet in sheets or find_sheets(document) if _is_table_like(sheet, document.head)]
    if tables:
        return _read_sheets(tables)
    raise UnreadableFile(f"{document.name} {_what_it_is(document.head)}")


def _read_yaml(document: Document) -> ReadResult:
    """A report in YAML, by the readers of JSON; a file of settings is told from a broken report."""
    decoded = decode_yaml(document.name, document.text)
    found = _read_json(document.name, decoded)
    if found is None:
        raise UnreadableFile(
            f"{document.name} is YAML without results that a reader knows (its keys: {keys_of(decoded) or 'none'}); settings "
            "of a run are no measurements: the report that the benchmark wrote is needed."
        )
    return found


def _read_lines(document: Document) -> ReadResult | None:
    for reader in READERS:
        if isinstance(reader, JsonLinesReader) and reader.recognise(document.head):
            return reader.read(document)
    return None


def read_sheet(sheet: Sheet, beginning: bytes) -> ReadResult | None:
    """One sheet of whose text only the beginning is there; None where more than one reader might want to see it."""
    head = Document(sheet.source, beginning).head
    if looks_like_json(head) or sniff(head) != sheet.delimiter or not _is_table_like(sheet, head):
        return None
    if any(isinstance(one, TextReader | SheetsReader) and one.recognise(head) for one in READERS):
        return None
    reader = _sheet_reader(sheet)
    return reader.read(sheet) if reader.name in _BY_COLUMNS else None


_BY_COLUMNS: Final = frozenset({"llama-bench csv", "plain csv", mapping.FALLBACK.name})
"""Readers that ask a sheet for columns, never for its rows."""


def _read_text(document: Document, sheets: list[Sheet]) -> ReadResult | None:
    """A known table or a report; None where the text is neither, with the sheets that it may be in ``sheets``."""
    if not any(isinstance(reader, TextReader) and reader.recognise(document.head) for reader in READERS):
        known = _known_sheets(document, sheets)
        if known is not None:
            return known
    return _read_report(document.name, document.text) if len(document.data) <= _REPORT_BYTES else None


def _is_banner(head: str) -> bool:
    return "ggml_" in head and "Device 0:" in head


def _what_it_is(head: str) -> str:
    """Why a text holds no results, as the end of a sentence."""
    if _is_banner(head):
        return "holds llama.cpp's device banner and no result; the benchmark ended before its first one."
    if head.lstrip()[:1] in {"{", "["}:
        return "begins like JSON, but no value in it is whole; the file may have been cut off."
    return (
        "is a text without benchmark results that this reader knows; a llama-bench CSV, the JSON or console output of a benchmark "
        "tool, or a table with column names would be right."
    )


_REPORT_BYTES: Final = 64 << 20
"""Longer texts are data, no reports [B]."""


def _read_json(name: str, decoded: Decoded) -> ReadResult | None:
    """All JSON values of a text by their tools; None where no reader knows any."""
    groups: dict[JsonReader, list[Item]] = {}
    unknown: list[str] = []
    known: dict[tuple[str, ...], JsonReader | None] = {}
    for item in decoded.items:
        reader = _json_reader(item[1], known)
        if reader is None:
            unknown.append(item[0])
        else:
            groups.setdefault(reader, []).append(item)
    if not groups:
        return None
    parts = [reader.read(name, items) for reader, items in groups.items()]
    skips = [*decoded.skips, *(Skip(label, "a JSON value that no reader knows") for label in unknown)]
    parts.append(ReadResult("", empty_rows(), skipped_frame(name, skips), tuple(decoded.warnings)))
    return concat(parts)


def _no_reader(name: str, decoded: Decoded) -> NoReturn:
    first = decoded.items[0][1]
    named = list(first)[:6] if isinstance(first, dict) else []
    keys = ", ".join(" ".join(str(key).split())[:40] for key in named)
    raise UnreadableFile(
        f"{name} is JSON that no reader knows{f' (its keys: {keys})' if keys else ''}; "
        "the JSON of a benchmark tool is needed, or a table with column names."
    )


def _json_reader(value: Json, known: dict[tuple[str, ...], JsonReader | None]) -> JsonReader | None:
    """The first reader that takes the value; for flat objects their keys decide, so those are asked for once."""
    keys: tuple[str, ...] | None = None
    if isinstance(value, dict) and not any(isinstance(entry, list | dict) for entry in value.values()):
        keys = tuple(value)
        if keys in known:
            return known[keys]
    found = next((r for r in READERS if isinstance(r, JsonReader) and r.recognise(value)), None)
    if keys is not None:
        known[keys] = found
    return found


def _known_sheets(document: Document, sheets: list[Sheet]) -> ReadResult | None:
    """A delimited text whose header some reader knows; None where it is none, or only a guess could read it."""
    for reader in READERS:
        if isinstance(reader, SheetsReader) and reader.recognise(document.head):
            return reader.read(document)
    begins = next(
        (r.begins for r in READERS if isinstance(r, SheetReader) and r.begins and r.begins in document.head),
        "",
    )
    sheets += find_sheets(document, begins)
    if any(_sheet_reader(sheet) is not mapping.FALLBACK for sheet in sheets):
        return _read_sheets(sheets)
    return None


def _is_table_like(sheet: Sheet, head: str) -> bool:
    """Whether a delimited text may be a table and no prose, log or drawn box."""
    if sheet.delimiter == "|" and ("+--" in head or "NVIDIA-SMI" in head):
        return False
    return bool(sheet.records or len(sheet.data)) and not any(
        len(name) > 60 or name.startswith(("- ", "* ", "{")) for name in sheet.header
    )


def _sheet_reader(sheet: Sheet) -> SheetReader:
    found = next(
        (reader for reader in READERS if isinstance(reader, SheetReader) and reader.recognise(sheet)), None
    )
    return found or mapping.FALLBACK


def _read_sheets(sheets: Sequence[Sheet]) -> ReadResult:
    parts: list[ReadResult] = []
    errors: list[UnreadableFile] = []
    for sheet in sheets:
        try:
            parts.append(_sheet_reader(sheet).read(sheet))
        except UnreadableFile as error:
            errors.append(error)
    if not parts:
        raise errors[0]
    return concat(parts)


def _read_report(name: str, text: str) -> ReadResult | None:
    """Everything that text and table readers find in one report; None where they find nothing."""
    parts = [
        reader.read(name, text)
        for reader in READERS
        if isinstance(reader, TextReader) and reader.recognise(text)
    ]
    text_only = bool(parts)  # its tables, if any, were read with it
    tables = find_tables(name, text)
    unknown: list[MarkdownTable] = []
    for table in tables:
        reader = next(
            (reader for reader in READERS if isinstance(reader, TableReader) and reader.recognise(table)),
            None,
        )
        if reader is None:
            unknown.append(table)
        else:
            parts.append(reader.read(table))
            parts.append(result("", table.source, empty_rows(), table.skips))
    guess = not parts
    lost: list[Skip] = []
    for table in unknown:
        part = _guess_table(table) if guess else None
        if part is not None:
            parts.append(part)
        elif not text_only:
            names = ", ".join(map(repr, table.header[:4])) + (" …" if len(table.header) > 4 else "")
            lost.append(
                Skip(f"table under {names}", "no column with a speed or a latency that a reader knows")
            )
    return concat([*parts, result("", name, empty_rows(), lost)]) if parts else None


def _guess_table(table: MarkdownTable) -> ReadResult | None:
    """A Markdown table read by the names of its columns; None where no column is a measurement."""
    sheet = Sheet(
        table.source, "|", table.header, "row", f"{table.heading}\n{table.above}", table.rows, table.labels
    )
    try:
        done = mapping.FALLBACK.read(sheet)
    except UnreadableFile:
        return None
    heading = (
        pd.Categorical([f"under the heading {table.heading!r}"] * len(done.rows))
        if table.heading
        else done.rows["note"]
    )
    rows = done.rows.assign(note=done.rows["note"] if done.rows["note"].notna().any() else heading)
    return ReadResult("markdown table, columns guessed", rows, done.skipped, done.warnings)
