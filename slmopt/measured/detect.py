"""Any benchmark file, recognised by what it holds and never by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from slmopt.measured.readers import mapping, optimum_benchmark, spreadsheet
from slmopt.measured.readers._base import (
    JsonReader,
    MarkdownTable,
    SheetReader,
    SheetsReader,
    TableReader,
    TextReader,
)
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, decode_json, looks_like_json
from slmopt.measured.readers._markdown import find_tables
from slmopt.measured.readers._sheets import find_sheets
from slmopt.measured.readers.registry import READERS
from slmopt.measured.table import ReadResult, Skip, concat, empty_rows, result, skipped_frame
from slmopt.measured.text import (
    MAX_NESTING,
    Document,
    UnreadableFile,
    decode,
    gunzip,
    is_gzip,
    is_parquet,
    is_zip,
    unzip,
)


def read_benchmark(name: str, content: bytes) -> ReadResult:
    """What a benchmark file holds.

    Parameters
    ----------
    name
        The file's name, used for labels only.
    content
        Its bytes: text in any common encoding, gzip, or a zip of such files.

    Raises
    ------
    UnreadableFile
        Nothing in it can be read; the message is one sentence that says what is wrong and what would be right.
    """
    return _read(name, content, 0)


def read_many(files: Iterable[tuple[str, bytes]]) -> ReadResult:
    """Several files as one result; a file that cannot be read is listed among the rows left out, with its reason."""
    parts = [_or_skipped(name, content, 0) for name, content in _with_settings(files)]
    return concat(parts) if parts else ReadResult("", empty_rows(), skipped_frame("", ()))


def _or_skipped(name: str, content: bytes | UnreadableFile, nesting: int) -> ReadResult:
    if isinstance(content, UnreadableFile):
        return result("", name, empty_rows(), [Skip("whole file", str(content))])
    try:
        return _read(name, content, nesting)
    except UnreadableFile as error:
        return result("", name, empty_rows(), [Skip("whole file", str(error))])


def _read(name: str, content: bytes, nesting: int) -> ReadResult:
    if is_parquet(content):
        return _read(name, spreadsheet.parquet_text(name, content), nesting)
    if is_gzip(content) or is_zip(content):
        if nesting >= MAX_NESTING:
            raise UnreadableFile(f"{name} is an archive inside archives; upload what it holds.")
        if is_gzip(content):
            return _read(name, gunzip(name, content), nesting + 1)
        if spreadsheet.is_workbook(content):
            return _read_workbook(name, content)
        parts = [
            _or_skipped(label, part, nesting + 1) for label, part in _with_settings(unzip(name, content))
        ]
        if len(parts) == 1 and not len(parts[0].rows):
            raise UnreadableFile(str(parts[0].skipped["why"].iloc[0]))
        return _checked(name, concat(parts))
    document = decode(name, content)
    found = _read_document(document)
    return _checked(
        name, ReadResult(found.format, found.rows, found.skipped, document.warnings + found.warnings)
    )


def _read_workbook(name: str, content: bytes) -> ReadResult:
    """The sheets of a workbook; one that holds no measurements is listed."""
    parts = [
        _or_skipped(f"{name}, sheet {title}", text, MAX_NESTING)
        for title, text in spreadsheet.workbook_sheets(name, content)
    ]
    if not parts:
        raise UnreadableFile(
            f"{name} is an Excel workbook without values; formulas must have been computed and saved."
        )
    if len(parts) == 1 and not len(parts[0].rows):
        raise UnreadableFile(str(parts[0].skipped["why"].iloc[0]))
    return _checked(name, concat(parts))


def _with_settings(
    files: Iterable[tuple[str, bytes | UnreadableFile]],
) -> list[tuple[str, bytes | UnreadableFile]]:
    """The files, with an optimum-benchmark report and the configuration of its folder made one."""
    found = list(files)
    folders: dict[str, dict[str, int]] = {}
    for at, (name, content) in enumerate(found):
        kind = optimum_benchmark.part(content) if isinstance(content, bytes) else ""
        if kind:
            folders.setdefault(name.rpartition("/")[0], {})[kind] = at
    for places in folders.values():
        if len(places) == 2:
            (_, config), (name, report) = found[places["config"]], found[places["report"]]
            found[places["report"]] = (name, optimum_benchmark.joined(config, report))  # type: ignore[arg-type]
            found[places["config"]] = ("", b"")
    return [entry for entry in found if entry != ("", b"")]


def _checked(name: str, found: ReadResult) -> ReadResult:
    """The result, or an error where it says nothing at all."""
    if len(found.rows) or len(found.skipped):
        return found
    what = (
        f"looks like {found.format}, but has no row of results" if found.format else "has no row of results"
    )
    raise UnreadableFile(f"{name} {what}; the benchmark may have failed before its first result.")


def _read_document(document: Document) -> ReadResult:
    if looks_like_json(document.head):
        found = _read_json(document)
        if found is not None:
            return found
    if not any(isinstance(reader, TextReader) and reader.recognise(document.head) for reader in READERS):
        known = _known_sheets(document)
        if known is not None:
            return known
    if len(document.data) <= _REPORT_BYTES:
        found = _read_report(document.name, document.text)
        if found is not None:
            return found
    sheets = [sheet for sheet in find_sheets(document) if _is_table_like(sheet, document.head)]
    if sheets:
        return _read_sheets(sheets)
    if "ggml_" in document.head and "Device 0:" in document.head:
        raise UnreadableFile(
            f"{document.name} holds llama.cpp's device banner and no result; the benchmark ended before its first one."
        )
    if _YAML.match(document.head):
        raise UnreadableFile(
            f"{document.name} is a YAML report; the same tool writes JSON (--output-path … .json), which can be read."
        )
    raise UnreadableFile(
        f"{document.name} is a text without benchmark results that this reader knows; a llama-bench CSV, the JSON or console output of a "
        "benchmark tool, or a table with column names would be right."
    )


_YAML: Final = re.compile(
    r"\s*(?:---\s*)?(?:#.*\n)*(?:args|benchmarks|metadata|metrics|version|scenario):\s", re.ASCII
)

_REPORT_BYTES: Final = 64 << 20
"""Longer texts are data, no reports [B]."""


def _read_json(document: Document) -> ReadResult | None:
    """All JSON values of the text by their tools; None where the text is none."""
    decoded = decode_json(document.name, document.text)
    if not decoded.items:
        if decoded.skips and document.data.lstrip()[:1] in {b"{", b"["}:
            return result("json", document.name, empty_rows(), decoded.skips, decoded.warnings)
        return None
    groups: dict[JsonReader, list[Item]] = {}
    unknown: list[str] = []
    for item in decoded.items:
        reader = next(
            (reader for reader in READERS if isinstance(reader, JsonReader) and reader.recognise(item[1])),
            None,
        )
        if reader is None:
            unknown.append(item[0])
        else:
            groups.setdefault(reader, []).append(item)
    if not groups:
        keys = [
            str(key) for _, value in decoded.items[:1] if isinstance(value, dict) for key in list(value)[:6]
        ]
        raise UnreadableFile(
            f"{document.name} is JSON that no reader knows{' (its keys: ' + ', '.join(keys) + ')' if keys else ''}; "
            "the JSON of a benchmark tool is needed, or a table with column names."
        )
    parts = [reader.read(document.name, items) for reader, items in groups.items()]
    skips = [*decoded.skips, *(Skip(label, "a JSON value that no reader knows") for label in unknown)]
    parts.append(ReadResult("", empty_rows(), skipped_frame(document.name, skips), tuple(decoded.warnings)))
    return concat(parts)


def _known_sheets(document: Document) -> ReadResult | None:
    """A delimited text whose header some reader knows; None where it is none, or only a guess could read it."""
    for reader in READERS:
        if isinstance(reader, SheetsReader) and reader.recognise(document.head):
            return reader.read(document)
    begins = next(
        (r.begins for r in READERS if isinstance(r, SheetReader) and r.begins and r.begins in document.head),
        "",
    )
    sheets = find_sheets(document, begins)
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
