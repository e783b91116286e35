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
    """One form: what people call it, what it is for, its media type, and what makes the file's bytes."""

    name: str
    about: str
    mime: str
    write: Callable[[Report], bytes]


FORMS: Final = {
    ".html": Form(
        "HTML report",
        "One page with interactive figures: no server, no network.",
        "text/html",
        lambda report: to_html_page(report).encode(),
    ),
    ".pptx": Form(
        "PowerPoint",
        "One question a slide; charts can be edited.",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        to_pptx,
    ),
    ".md": Form(
        "Markdown",
        "Tables and sentences for a pull request.",
        "text/markdown",
        lambda report: to_markdown(report).encode(),
    ),
    ".zip": Form(
        "All tables",
        "Every table as CSV, JSON and Parquet, with the scenario.",
        "application/zip",
        to_data_zip,
    ),
}
"""By the file's ending."""


def form_of(name: str) -> Form:
    """The form that a file's ending asks for; :class:`SpecError` names the endings there are."""
    ending = PurePath(name).suffix.lower()
    if ending not in FORMS:
        said = f"{ending!r}" if ending else "no ending"
        raise SpecError(f"A report is written as {', '.join(FORMS)}; {name!r} has {said}.")
    return FORMS[ending]
