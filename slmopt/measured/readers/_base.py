"""What a reader module offers to ``detect``: how to recognise its tool's output, and how to read it.

A module names its readers in ``READERS``, one for each layout that its tool writes: JSON objects, a delimited sheet, a
Markdown table, or a report in plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json
from slmopt.measured.table import ReadResult, Skip
from slmopt.measured.text import Document


@dataclass(frozen=True, slots=True)
class MarkdownTable:
    """One table of a Markdown text: ``above`` is the text between it and the table before, ``heading`` the nearest title."""

    source: str
    header: tuple[str, ...]
    rows: list[list[str]]
    labels: list[str]
    above: str = ""
    heading: str = ""
    context: Mapping[str, str] = field(default_factory=dict)
    skips: tuple[Skip, ...] = ()
    """Rows whose width is not the header's."""


@dataclass(frozen=True, slots=True)
class JsonReader:
    """Reads JSON objects; all objects of a file that ``recognise`` accepts are handed to ``read`` together."""

    name: str
    recognise: Callable[[Json], bool]
    read: Callable[[str, Sequence[Item]], ReadResult]


@dataclass(frozen=True, slots=True)
class JsonLinesReader:
    """Reads a long file of JSON lines at once, known by its beginning; what it does not read goes to a :class:`JsonReader`,
    which says the same of the same lines.
    """

    name: str
    recognise: Callable[[str], bool]
    read: Callable[[Document], ReadResult | None]
    """None where some line is not as it should be."""


@dataclass(frozen=True, slots=True)
class SheetReader:
    """Reads a delimited sheet that is known by its header; ``begins`` starts each header line of the format, if fixed."""

    name: str
    recognise: Callable[[Sheet], bool]
    read: Callable[[Sheet], ReadResult]
    begins: str = ""


@dataclass(frozen=True, slots=True)
class SheetsReader:
    """Reads a delimited text whose layout is not one header over rows; it is given the whole document."""

    name: str
    recognise: Callable[[str], bool]
    read: Callable[[Document], ReadResult]


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads a Markdown table that is known by its header."""

    name: str
    recognise: Callable[[MarkdownTable], bool]
    read: Callable[[MarkdownTable], ReadResult]


@dataclass(frozen=True, slots=True)
class TextReader:
    """Reads what it knows from a plain text; other readers may find more in the same text."""

    name: str
    recognise: Callable[[str], bool]
    read: Callable[[str, str], ReadResult]
    """Of the file's name and the text."""


Reader = JsonReader | JsonLinesReader | SheetReader | SheetsReader | TableReader | TextReader
