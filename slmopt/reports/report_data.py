"""Every table of a report as CSV, JSON and Parquet in one archive, with the scenario that they follow from."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC
from typing import Any

import pandas as pd

from slmopt.reports.columns import column_words
from slmopt.reports.formulas import safe
from slmopt.reports.marked_text import plain
from slmopt.reports.report import Report
from slmopt.specs.scenario_file import to_file
from slmopt.words import report as words

# What a zip can date.
_FIRST_YEAR = 1980


def to_data_zip(report: Report) -> bytes:
    """The archive: `README.txt`, `scenario.json`, and each table under `csv/`, `json/` and `parquet/`."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as held:

        def add(name: str, content: str | bytes) -> None:
            moment = report.date.astimezone(UTC) if report.date.tzinfo else report.date
            dated = (max(moment.year, _FIRST_YEAR), *moment.timetuple()[1:6])
            held.writestr(zipfile.ZipInfo(name, dated), content, zipfile.ZIP_DEFLATED)

        add("README.txt", _read_me(report))
        add("scenario.json", to_file(report.scenario))
        for key, heading, table in report.tables():
            told = table.reset_index(drop=True)
            told.columns = [str(name) for name in told.columns]
            add(f"csv/{key}.csv", safe(told).to_csv(index=False))
            add(f"json/{key}.json", _json(heading, told))
            add(f"parquet/{key}.parquet", _parquet(told))
    return archive.getvalue()


def _json(heading: str, table: pd.DataFrame) -> str:
    rows: list[Any] = json.loads(table.to_json(orient="records", double_precision=15, date_format="iso"))
    units = {name: column_words(name) for name in table.columns}
    return json.dumps({"title": heading, "columns": units, "rows": rows}, ensure_ascii=False, indent=1)


def _parquet(table: pd.DataFrame) -> bytes:
    written = io.BytesIO()
    mixed = [name for name in table.columns if table[name].dtype == object]
    table.astype(dict.fromkeys(mixed, "str")).to_parquet(written, index=False)
    return written.getvalue()


def _read_me(report: Report) -> str:
    lines = [
        report.origin,
        plain(report.line),
        "",
        plain(report.answer),
        "",
        *(f"{word}: {meaning}" for _, _, word, meaning in words.KINDS),
        "",
        "Each column's name carries its unit: ms, s, GB (10^9 bytes), tokens/s, FLOP/byte. Numbers are not rounded.",
        "In the CSV files an apostrophe stands before texts that a spreadsheet would take for a formula.",
        "scenario.json can be opened on the dashboard's page Share.",
        "",
        "Tables:",
        *(f"  {key}: {heading}" for key, heading, _ in report.tables()),
        "",
        "Assumptions:",
        *(f"  {plain(line)}" for line in report.assumptions),
        "",
        "Sources:",
        *(f"  {plain(line)}" for line in report.sources),
    ]
    return "\n".join(lines) + "\n"
