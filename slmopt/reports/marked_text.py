"""The little Markdown of sentences (bold, code, escapes) read into runs, for what leaves the browser in other forms."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Final

# Without width: it keeps Streamlit from making links and icons of names, and has no place elsewhere.
_JOINER: Final = "\u2060"
_TOKEN: Final = re.compile(r"\\([!-/:-@\[-`{-~])|(\*\*)|`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text in one face."""

    text: str
    bold: bool = False
    code: bool = False


def runs(text: str) -> list[Run]:
    """The runs of a sentence; marks that no escape covers are taken for marks, everything else for text."""
    found: list[Run] = []
    bold, at, held = False, 0, ""
    for token in _TOKEN.finditer(text):
        held += text[at : token.start()]
        at = token.end()
        if token[1] is not None:
            held += token[1]
            continue
        found.append(Run(held.replace(_JOINER, ""), bold))
        held = ""
        if token[2] is not None:
            bold = not bold
        else:
            found.append(Run(token[3].replace(_JOINER, ""), bold, code=True))
    found.append(Run((held + text[at:]).replace(_JOINER, ""), bold))
    return [run for run in found if run.text]


def plain(text: str) -> str:
    """The sentence without marks."""
    return "".join(run.text for run in runs(text))


def to_html(text: str) -> str:
    """The sentence as HTML: everything escaped, bold and code as elements, each number on one line with its unit."""
    parts = []
    for run in runs(text):
        part = html.escape(run.text)
        if run.code:
            part = f"<code>{part}</code>"
        parts.append(f"<strong>{part}</strong>" if run.bold else part)
    return "".join(parts)
