"""Where the sheets of a delimited text begin: its delimiter, its comments, its headers and their repetitions."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from slmopt.measured.readers._cells import is_missing, parse_number
from slmopt.measured.readers._columns import LISTED
from slmopt.measured.readers._delimited import LONG_BYTES, Sheet
from slmopt.measured.readers._long import width_reason
from slmopt.measured.table import Skip
from slmopt.measured.text import Document, UnreadableFile

MAX_SHEETS: Final = 500
"""More tables than a file of results holds."""

MAX_COLUMNS: Final = 5000
"""More columns than a table of results has; the widest seen have some 400."""

DELIMITERS: Final = (",", ";", "\t", "|")

_SEP_LINE: Final = re.compile(r"sep=(.)\s*$", re.IGNORECASE)


def find_sheets(document: Document, split_at: str = "") -> list[Sheet]:
    """The sheets of a delimited text, in order; none where it is not one.

    ``split_at`` begins a header line of the format that is expected; in long files only those lines start a new sheet.
    """
    head, skipped_bytes, above, named = _preamble(document.head)
    delimiter = named or sniff(head)
    if not delimiter:
        return []
    if len(document.data) <= LONG_BYTES:
        return _short_sheets(document, delimiter)
    return _long_sheets(document, delimiter, skipped_bytes, above, split_at)


def _preamble(head: str) -> tuple[str, int, str, str]:
    """Text from the first row on, the bytes before it, the comments among them, and the delimiter that a sep= line names."""
    named = ""
    comments: list[str] = []
    position = 0
    for line in head.splitlines(keepends=True):
        bare = line.strip()
        found = _SEP_LINE.match(bare)
        if found:
            named = found[1]
        elif bare.startswith("#"):
            comments.append(bare.lstrip("# "))
        elif bare:
            break
        position += len(line)
    return head[position:], len(head[:position].encode()), "\n".join(comments), named


def sniff(text: str) -> str:
    """The delimiter under which the first lines agree best on two or more columns; empty where none does."""
    lines = [line for line in text.split("\n")[:60] if line.strip() and not line.startswith("#")]
    best, best_score = "", 0.0
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        score = (count / len(widths)) * min(width, 10) ** 0.5 if width > 1 else 0.0
        if widths[0] != width:
            score *= 0.7  # a header of another width, as when decimal commas are taken for separators
        if score > best_score:
            best, best_score = delimiter, score
    return best if best_score > 0.7 else ""


def _short_sheets(document: Document, delimiter: str) -> list[Sheet]:
    sheets: list[Sheet] = []
    row_number = 0
    for record, blank_before, following in _records(document.text, delimiter):
        current = sheets[-1] if sheets else None
        if current is None or _starts_sheet(record, current, blank_before, following):
            if current is None and not _is_header(record, following):
                continue
            _check_width(document.name, record)
            header = tuple(cell.strip() for cell in record)
            while header and not header[-1] and len(header) > 2:
                header = header[:-1]
            repeated = current is not None and current.header == header
            if not repeated and len(sheets) >= MAX_SHEETS:
                raise UnreadableFile(
                    f"{document.name} holds more than {MAX_SHEETS} tables; upload it in parts."
                )
            if not repeated:
                place = "row" if not sheets else f"table {len(sheets) + 1}, row"
                sheets.append(Sheet(document.name, delimiter, header, place))
                row_number = 0
            continue
        row_number += 1
        _add_row(current, record, f"{current.place} {row_number}")
    return sheets


def _check_width(name: str, record: list[str]) -> None:
    if len(record) > MAX_COLUMNS:
        raise UnreadableFile(
            f"{name} has {len(record):,} columns, as no table of results does; a column a quantity is needed."
        )


def _add_row(sheet: Sheet, record: list[str], label: str) -> None:
    width = len(sheet.header)
    if not any(cell.strip() for cell in record):
        return
    if len(record) > width and not any(cell.strip() for cell in record[width:]):
        record = record[:width]
    if len(record) != width:
        if len(sheet.skips) < LISTED:
            sheet.skips.append(Skip(label, width_reason(len(record), width)))
        return
    sheet.records.append(record)
    sheet.labels.append(label)


def _records(text: str, delimiter: str) -> Iterator[tuple[list[str], bool, list[str] | None]]:
    """Each record that is not blank nor a comment, whether a blank line stood before it, and the next one."""
    pending: list[str] | None = None
    blank = pending_blank = False
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if not record or (len(record) == 1 and not record[0].strip()):
            blank = True
            continue
        if record[0].startswith("#") or _SEP_LINE.match(delimiter.join(record)):
            continue
        if pending is not None:
            yield pending, pending_blank, record
        pending, pending_blank, blank = record, blank, False
    if pending is not None:
        yield pending, pending_blank, None


def _is_number(cell: str) -> bool:
    value, _, unit = parse_number(cell)
    return not math.isnan(value) and len(unit) <= 8 and not re.match(r"[a-z]{4,}", unit)


def _is_header(record: list[str], following: list[str] | None) -> bool:
    """Whether a first row names columns: most of its cells are words, and the next row is as wide (a title is not)."""
    words = sum(1 for cell in record if cell.strip() and not _is_number(cell))
    numbers = sum(1 for cell in record if _is_number(cell))
    if words < 2 and not (words == 1 and numbers >= 2 and not _is_number(record[0])):
        return False
    if following is None:
        return True
    return numbers <= words or any(_is_number(cell) for cell in following[1:])


def _starts_sheet(record: list[str], current: Sheet, blank_before: bool, following: list[str] | None) -> bool:
    """Whether a row is a new header: the same again, or all words where numbers are expected, wide as what follows."""
    width = len(current.header)
    same_first = record[0].strip() == current.header[0]
    if not same_first and not (blank_before and len(record) != width):
        return False
    cells = [cell.strip() for cell in record]
    if cells[:width] == list(current.header) and not any(cells[width:]):
        return True
    if len(cells) < 2 or (following is not None and len(following) != len(cells)):
        return False
    return not any(not cell or _is_number(cell) or is_missing(cell) for cell in cells)


def _long_sheets(document: Document, delimiter: str, start: int, above: str, split_at: str) -> list[Sheet]:
    data = document.data
    starts = [start]
    line = data[start : data.find(b"\n", start) if data.find(b"\n", start) >= 0 else len(data)].rstrip(b"\r")
    marks = {line, split_at.encode()} - {b""}
    # What begins with another mark is found with it.
    for mark in (one for one in marks if not any(one != other and one.startswith(other) for other in marks)):
        position = data.find(b"\n" + mark, start)
        while position >= 0:
            starts.append(position + 1)
            position = data.find(b"\n" + mark, position + 1)
    if len(starts) > MAX_SHEETS:
        raise UnreadableFile(
            f"{document.name} repeats its header more than {MAX_SHEETS} times; upload it in parts."
        )
    view = memoryview(data)
    sheets: list[Sheet] = []
    bounds = [*sorted(set(starts)), len(data)]
    for number, (begin, end) in enumerate(pairwise(bounds)):
        stop = data.find(b"\n", begin, end)
        stop = end if stop < 0 else stop
        rows = csv.reader(
            io.StringIO(data[begin:stop].decode("utf-8").strip("\r"), newline=""), delimiter=delimiter
        )
        record = next(rows, [])
        _check_width(document.name, record)
        header = tuple(cell.strip() for cell in record)
        place = "row" if number == 0 else f"table {number + 1}, row"
        sheets.append(
            Sheet(document.name, delimiter, header, place, above, data=view[min(stop + 1, end) : end])
        )
    return [sheet for sheet in sheets if len(sheet.header) > 1]
