"""Judged rows as the part of a report that holds measurements."""

from __future__ import annotations

from slmopt.measured.compare import Comparison
from slmopt.measured.table import ReadResult
from slmopt.reports import measured_groups
from slmopt.reports import measurement_tables as tables
from slmopt.reports.report_sections import Measured
from slmopt.words import measurements as words


def measured_part(read: ReadResult, judged: Comparison, files: int) -> Measured:
    """What the page Measurements would say of these rows."""
    rows = tables.joined(read.rows, judged)
    said = words.said(rows, files, judged.needs)
    return Measured(rows, tuple(measured_groups.groups(rows)), said, tables.download(rows, read.rows))
