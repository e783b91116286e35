"""The forms in which a report leaves: each ending with its writer and its media type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from slmopt.reports.report import Report
from slmopt.reports.report_data import to_data_zip
from slmopt.reports.report_html import to_html_page
from slmopt.reports.report_markdown import to_markdown
from slmopt.reports.report_pptx import to_pptx
from slmopt.specs.base import SpecError


@dataclass(frozen=True, slots=True)
class Form:
    """One form: what people call it, its media type, and what makes the file's bytes."""

    name: str
    mime: str
    write: Callable[[Report], bytes]


FORMS: Final = {
    ".html": Form("HTML", "text/html", lambda report: to_html_page(report).encode()),
    ".pptx": Form(
        "PowerPoint", "application/vnd.openxmlformats-officedocument.presentationml.presentation", to_pptx
    ),
    ".md": Form("Markdown", "text/markdown", lambda report: to_markdown(report).encode()),
    ".zip": Form("all tables (CSV, JSON, Parquet)", "application/zip", to_data_zip),
}
"""By the file's ending."""


def form_of(name: str) -> Form:
    """The form that a file's ending asks for; :class:`SpecError` names the endings there are."""
    ending = PurePath(name).suffix.lower()
    if ending not in FORMS:
        said = f"{ending!r}" if ending else "no ending"
        raise SpecError(f"A report is written as {', '.join(FORMS)}; {name!r} has {said}.")
    return FORMS[ending]
