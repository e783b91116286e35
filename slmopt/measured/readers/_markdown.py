"""Tables in Markdown, with what the text around them says: the model of a section, the device of a banner, the build."""

from __future__ import annotations

import re
from typing import Final

from slmopt.measured.readers._base import MarkdownTable
from slmopt.measured.readers._cells import plain
from slmopt.measured.readers._long import width_reason
from slmopt.measured.table import Skip

MAX_TABLES: Final = 500
"""More tables than a report holds; what follows them is not read."""

MAX_CHARACTERS: Final = 64 << 20
"""Longer texts are no reports."""

_RULE: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_HEADING: Final = re.compile(r"^#{1,6}\s+(.*)$|^\*\*([^*|]+)\*\*\s*$")
_DEVICE: Final = re.compile(r"^\s*Device \d+: ([^,\n]+?)(?: \([^()]*\))?,", re.MULTILINE)
_BUILD: Final = re.compile(r"^build: (\S+) \((\d+)\)", re.MULTILINE)
_MODEL: Final = re.compile(
    r"^\s*(?:[-*]\s*)?\**model\**\s*[:=]\s*`?(?:https?://[^\s/]+/)?([\w.@-]+/[\w.@-]+|\S+\.gguf)`?\s*$",
    re.IGNORECASE | re.MULTILINE,
)


def find_tables(source: str, text: str) -> list[MarkdownTable]:
    """All tables of a Markdown text, in order; rows of another width than the header are listed apart.

    A row's label counts the table's rows from 1: 'row 3', or 'table 2, row 3' where there are several.
    """
    if len(text) > MAX_CHARACTERS:
        return []
    lines = text.split("\n")
    starts = [
        number
        for number in range(1, len(lines))
        if "|" in lines[number] and _RULE.match(lines[number]) and "|" in lines[number - 1]
    ]
    starts = starts[:MAX_TABLES]
    tables: list[MarkdownTable] = []
    end = 0
    heading = model = device = ""
    for order, start in enumerate(starts, 1):
        above = "\n".join(lines[end : start - 1])
        for line in lines[end : start - 1]:
            if found := _HEADING.match(line):
                heading = plain(found[1] or found[2] or "")
                model = ""
        model = found[1] if (found := _last(_MODEL, above)) else model
        device = found[1] if (found := _last(_DEVICE, above)) else device
        header = tuple(plain(cell) for cell in split_row(lines[start - 1]))
        rows: list[list[str]] = []
        labels: list[str] = []
        end = start + 1
        place = "row" if len(starts) == 1 else f"table {order}, row"
        skips: list[Skip] = []
        while end < len(lines) and "|" in lines[end] and lines[end].strip():
            cells = [plain(cell) for cell in split_row(lines[end])]
            label = f"{place} {len(rows) + len(skips) + 1}"
            if len(cells) != len(header):
                skips.append(Skip(label, width_reason(len(cells), len(header))))
            else:
                if rows and not cells[0] and any(cells[1:]):
                    cells[0] = rows[-1][0]  # a group's name stands in its first row only
                rows.append(cells)
                labels.append(label)
            end += 1
        context = {"model": model, "device": device, "build": _build("\n".join(lines[end : end + 40]))}
        stated = {name: text for name, text in context.items() if text}
        tables.append(MarkdownTable(source, header, rows, labels, above, heading, stated, tuple(skips)))
    return tables


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    every = list(pattern.finditer(text))
    return every[-1] if every else None


def _build(below: str) -> str:
    """The build that llama-bench prints under its table, as other layouts give it."""
    upto = below.split("\n|", 1)[0]
    found = _BUILD.search(upto)
    return f"b{found[2]} ({found[1]})" if found else ""


def split_row(line: str) -> list[str]:
    """The cells of one line; a bar behind a backslash belongs to its cell."""
    body = line.strip()
    body = body.removeprefix("|")
    if body.endswith("|") and not body.endswith("\\|"):
        body = body[:-1]
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", body)]
