"""The tables in a file, whatever they are stored in, for mapping their columns by hand."""

from __future__ import annotations

from slmopt.measured.archives import gunzip, is_gzip, is_parquet
from slmopt.measured.readers import spreadsheet
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._markdown import MAX_CHARACTERS, find_tables
from slmopt.measured.readers._sheets import find_sheets
from slmopt.measured.text import UnreadableFile, decode


def tables_in(name: str, content: bytes) -> list[Sheet]:
    """All tables of one file: delimited text, Markdown, an Excel workbook, Parquet, any of them in gzip.

    Raises
    ------
    UnreadableFile
        The bytes are no such file, or hold no table; the message is one sentence.
    """
    if is_gzip(content):
        content = gunzip(name, content)
    if is_parquet(content):
        content = spreadsheet.parquet_text(name, content)
    if spreadsheet.is_workbook(content):
        titled = spreadsheet.workbook_sheets(name, content)
        sheets = [
            sheet for title, text in titled for sheet in find_sheets(decode(f"{name}, sheet {title}", text))
        ]
    else:
        document = decode(name, content)
        tables = find_tables(name, document.text) if len(document.data) <= MAX_CHARACTERS else []
        sheets = [
            Sheet(name, "|", t.header, "row", f"{t.heading}\n{t.above}", t.rows, t.labels) for t in tables
        ]
        sheets = sheets or find_sheets(document)
    if not sheets:
        raise UnreadableFile(
            f"{name} holds no table; rows under column names are needed, as CSV, Markdown or .xlsx."
        )
    return sheets
