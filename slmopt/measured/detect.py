"""Any benchmark file, recognised by what it holds and never by its name."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa  # type: ignore[import-untyped]

from slmopt.measured.archives import MAX_NESTING, Budget, gunzip, is_gzip, is_parquet, is_zip, unzip
from slmopt.measured.readers import optimum_benchmark, spreadsheet
from slmopt.measured.readers._parquet import parquet_sheet
from slmopt.measured.readers.dispatch import read_document, read_sheet
from slmopt.measured.table import ReadResult, Skip, concat, empty_rows, result, skipped_frame
from slmopt.measured.text import UnreadableFile, any_number, decode

__all__ = ["ReadResult", "UnreadableFile", "read_benchmark", "read_many"]


@any_number
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
    found = _read(name, content, 0, Budget(len(content)))
    # Arrow keeps what long files were unpacked into for the next one, which may never come.
    pa.default_memory_pool().release_unused()
    return found


@any_number
def read_many(files: Iterable[tuple[str, bytes]]) -> ReadResult:
    """Several files as one result; a file that cannot be read is listed among the rows left out, with its reason."""
    parts = [
        _or_skipped(name, content, 0, Budget(len(content) if isinstance(content, bytes) else 0))
        for name, content in _with_settings(files)
    ]
    return concat(parts) if parts else ReadResult("", empty_rows(), skipped_frame("", ()))


def _or_skipped(name: str, content: bytes | UnreadableFile, nesting: int, budget: Budget) -> ReadResult:
    if isinstance(content, UnreadableFile):
        return result("", name, empty_rows(), [Skip("whole file", str(content))])
    try:
        return _read(name, content, nesting, budget)
    except UnreadableFile as error:
        return result("", name, empty_rows(), [Skip("whole file", str(error))])


def _read(name: str, content: bytes, nesting: int, budget: Budget) -> ReadResult:
    if is_parquet(content):
        by_columns = _read_parquet(name, content, budget)
        if by_columns is not None:
            return _checked(name, by_columns)
        return _read(name, spreadsheet.parquet_text(name, content, budget), nesting, budget)
    if is_gzip(content) or is_zip(content):
        if nesting >= MAX_NESTING:
            raise UnreadableFile(f"{name} is an archive inside archives; upload what it holds.")
        if is_gzip(content):
            return _read(name, gunzip(name, content, budget), nesting + 1, budget)
        if spreadsheet.is_workbook(content):
            return _read_workbook(name, content, budget)
        parts = [
            _or_skipped(label, part, nesting + 1, budget)
            for label, part in _with_settings(unzip(name, content, budget))
        ]
        if len(parts) == 1 and not len(parts[0].rows):
            raise UnreadableFile(str(parts[0].skipped["why"].iloc[0]))
        return _checked(name, concat(parts))
    document = decode(name, content)
    found = read_document(document)
    return _checked(
        name, ReadResult(found.format, found.rows, found.skipped, document.warnings + found.warnings)
    )


def _read_parquet(name: str, content: bytes, budget: Budget) -> ReadResult | None:
    """A long plain file by its columns; None where its text must be seen."""
    try:
        sheet = parquet_sheet(name, content, budget)
        return read_sheet(sheet, sheet.beginning) if sheet else None
    except (pa.ArrowException, OSError, UnicodeError):
        # What is wrong with the file is told where its text is made.
        return None


def _read_workbook(name: str, content: bytes, budget: Budget) -> ReadResult:
    """The sheets of a workbook; one that holds no measurements is listed."""
    parts = [
        _or_skipped(f"{name}, sheet {title}", text, MAX_NESTING, budget)
        for title, text in spreadsheet.workbook_sheets(name, content, budget)
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
