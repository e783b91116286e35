"""Excel workbooks, read with the standard library, and Parquet files."""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.readers.spreadsheet import is_workbook
from slmopt.measured.text import UnreadableFile

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def cell(place: str, value: object) -> str:
    if value is None:
        return f'<c r="{place}"/>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def sheet_xml(rows: list[list[object]], extra: str = "") -> str:
    body = "".join(
        f'<row r="{number}">'
        + "".join(cell(f"{chr(65 + at)}{number}", value) for at, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, 1)
    )
    return f'<?xml version="1.0"?>{extra}<worksheet {MAIN}><sheetData>{body}</sheetData></worksheet>'


def workbook(sheets: dict[str, str], shared: list[str] | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        names = "".join(f'<sheet name="{name}" sheetId="{at}"/>' for at, name in enumerate(sheets, 1))
        archive.writestr("xl/workbook.xml", f"<workbook {MAIN}><sheets>{names}</sheets></workbook>")
        for at, xml in enumerate(sheets.values(), 1):
            archive.writestr(f"xl/worksheets/sheet{at}.xml", xml)
        if shared is not None:
            entries = "".join(f"<si><t>{text}</t></si>" for text in shared)
            archive.writestr("xl/sharedStrings.xml", f"<sst {MAIN}>{entries}</sst>")
    return stream.getvalue()


TABLE: list[list[object]] = [
    ["Our results", None, None],
    [],
    ["model", "concurrency", "ttft_ms", "output tok/s"],
    ["a", 1, 120.5, 20],
    ["b", 4, None, 60.25],
]


def test_a_workbook_with_a_title_row_and_a_second_sheet():
    content = workbook(
        {"runs": sheet_xml(TABLE), "notes": sheet_xml([["only words"]]), "empty": sheet_xml([])}
    )
    assert is_workbook(content)
    found = read_benchmark("a.xlsx", content)
    assert found.rows["model"].tolist() == ["a", "b"]
    assert found.rows["tokens_per_s"].tolist() == [20, 60.25]
    assert found.rows["source_file"].tolist()[0] == "a.xlsx, sheet runs"
    assert found.skipped["source_file"].tolist() == ["a.xlsx, sheet notes"]


def test_shared_texts_booleans_gaps_and_formulas_without_a_value():
    xml = (
        f"<worksheet {MAIN}><sheetData>"
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="D1" t="s"><v>2</v></c></row>'
        '<row r="2"><c r="A2" t="s"><v>3</v></c><c r="B2"><v>10</v></c><c r="C2" t="b"><v>1</v></c><c r="D2"><f>AVERAGE(B2)</f></c></row>'
        '<row r="3"><c r="A3" t="s"><v>99</v></c><c r="B3"><v>12</v></c></row>'
        "</sheetData></worksheet>"
    )
    found = read_benchmark("a.xlsx", workbook({"s": xml}, ["model", "output tok/s", "ttft_ms", "m"]))
    assert found.rows["tokens_per_s"].tolist() == [10]  # the last row stops before the last column
    assert found.rows["ttft_s"].isna().all()


def test_a_workbook_without_values_says_so():
    with pytest.raises(UnreadableFile, match="without values"):
        read_benchmark("a.xlsx", workbook({"s": sheet_xml([])}))


def test_entities_are_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(UnreadableFile, match="document type"):
        read_benchmark("a.xlsx", workbook({"s": sheet_xml(TABLE, bomb)}))


@pytest.mark.parametrize("xml", ["", "<worksheet", "not xml at all"])
def test_damaged_sheets_are_refused(xml):
    with pytest.raises(UnreadableFile, match="damaged Excel workbook"):
        read_benchmark("a.xlsx", workbook({"s": xml}))


def test_a_sheet_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("slmopt.measured.readers.spreadsheet.MAX_PART_BYTES", 100)
    with pytest.raises(UnreadableFile, match="save it as CSV"):
        read_benchmark("a.xlsx", workbook({"s": sheet_xml(TABLE)}))


def test_parquet():
    frame = pd.DataFrame(
        {
            "model": ["a", "b"],
            "device": pd.Categorical(["x", "y"]),
            "phase": ["decode", "decode"],
            "prompt_tokens": [0, 0],
            "output_tokens": [128, 128],
            "tokens_per_s": [50.5, 60.0],
            "timestamp": pd.to_datetime(["2026-01-01 10:00:00", "2026-01-01 11:00:00"]),
            "lists": [[1, 2], [3]],
        }
    )
    stream = io.BytesIO()
    frame.to_parquet(stream)
    rows = read_benchmark("a.parquet", stream.getvalue()).rows
    assert rows["tokens_per_s"].tolist() == [50.5, 60.0]
    assert rows["device"].tolist() == ["x", "y"]
    assert rows["timestamp"].astype("str").tolist() == ["2026-01-01 10:00:00", "2026-01-01 11:00:00"]


def test_parquet_beyond_the_limit(monkeypatch):
    stream = io.BytesIO()
    pd.DataFrame({"model": ["a"], "ttft_ms": [1.0]}).to_parquet(stream)
    monkeypatch.setattr("slmopt.measured.readers.spreadsheet.MAX_BYTES", 1)
    with pytest.raises(UnreadableFile, match="unpacks to more"):
        read_benchmark("a.parquet", stream.getvalue())
