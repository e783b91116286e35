"""A report as Markdown, for a pull request or a wiki: tables and sentences, no pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from slmopt.reports.columns import cell, column_words, in_units, left_out, numeric, thinned
from slmopt.reports.report import FIRST, Report
from slmopt.reports.report_sections import Section
from slmopt.words import report as words
from slmopt.words import units

_MOST_ROWS: Final = 9
# What takes effect inside a line, and between what an address, a mention or an icon begins.
_MARKS: Final = re.compile(r"([\\`*_\[\]<>|~$#])")
_LIVE: Final = re.compile(r"(?i)(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)")


def to_markdown(report: Report) -> str:
    """The whole report."""
    blocks = [
        "# What limits this model here",
        report.line,
        f"**{report.answer.replace('**', '')}**",
        _table(
            ["", "□ Ceiling", "○ Estimate (p10 to p90)"],
            [[_text(f.what), f.ceiling, f.estimate] for f in report.headline],
            [False, True, True],
        ),
        _listed(f"{mark} **{word}**: {meaning}" for _, mark, word, meaning in words.KINDS),
    ]
    if report.measured is None:
        blocks.append(words.NOTHING_MEASURED)
    for section in report.sections:
        blocks += _section(section)
    blocks += ["## Assumptions", _listed(report.assumptions), "## Sources", _listed(report.sources)]
    blocks += [
        "---",
        f"{_text(report.origin)}. Times are per sequence unless said otherwise; {units.now().meaning}.",
    ]
    return "\n\n".join(blocks) + "\n"


def _section(section: Section) -> list[str]:
    # The first answer stands above already.
    blocks = [f"## {section.question}", *([] if section.page == FIRST else [section.answer])]
    blocks.append(
        _table(
            [_text(label) for label, *_ in section.tiles],
            [
                [_text(value) for _, value, *_ in section.tiles],
                [_text(note) for _, _, note, _ in section.tiles],
            ],
            [True] * len(section.tiles),
        )
    )
    if section.notes:
        blocks.append(_listed(section.notes))
    blocks += [_folded(one.heading, one.numbers()) for one in section.pictures if one.numbers is not None]
    if section.arithmetic:
        blocks.append(_details("The arithmetic", _listed(section.arithmetic)))
    return blocks


def _folded(heading: str, numbers: pd.DataFrame) -> str:
    few, missing = thinned(in_units(numbers), _MOST_ROWS)
    table = _table(
        [_text(column_words(name)) for name in few.columns],
        [[_text(cell(value)) for value in row] for row in few.itertuples(index=False)],
        [numeric(few[name]) for name in few.columns],
    )
    return _details(heading, "\n\n".join(filter(None, (table, left_out(missing)))))


def _details(summary: str, body: str) -> str:
    # Inside a tag Markdown's escapes are not read, so this is escaped as HTML.
    told = summary.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<details><summary>{told}</summary>\n\n{body}\n\n</details>"


def _text(text: str) -> str:
    """Plain text with nothing in it that Markdown would take for a mark, a link or a mention."""
    return _MARKS.sub(r"\\\1", _LIVE.sub("\u2060", text))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    lines = [_row(head), _row(["---:" if flush else "---" for flush in right]), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(one.split()) for one in cells)} |"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
