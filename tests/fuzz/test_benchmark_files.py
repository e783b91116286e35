"""Benchmark files damaged in their bytes and in their structure: a table or one sentence, and every table is judged."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from slmopt.measured.compare import compare
from slmopt.measured.detect import read_benchmark, read_many
from slmopt.measured.placed import Facts
from slmopt.measured.readers.sources import tables_in
from slmopt.measured.table import ReadResult
from slmopt.measured.text import UnreadableFile
from slmopt.reports import measurement_tables
from slmopt.specs.library import preset_root
from tests.fuzz.common import bounded, damaged_bytes, damaged_json, damaged_table
from tests.measured.test_read_hostile import REAL
from tests.measured.test_read_spreadsheets import TABLE, sheet_xml, workbook
from tests.measured.test_read_table import assert_schema
from tests.shared import HAS_SHARED, SHARED

FACTS = Facts(device="rtx-4090", model="llama-3.1-8b", weights="q4_k_m", batch=1.0)
SMALL = 12_000
FILES = sorted(Path(str(preset_root() / "this_machine")).glob("*.[cj]s*"))
if HAS_SHARED:
    FILES += sorted(
        file for file in (SHARED / "samples").rglob("*.*") if file.suffix in {".csv", ".json", ".jsonl"}
    )
TEXTS = [text for text in REAL if text] + [
    file.read_text(encoding="utf-8", errors="replace") for file in FILES if file.stat().st_size < SMALL
]
TABLES = [text for text in TEXTS if text.lstrip()[:1] not in {"{", "["}]


def as_json(text: str) -> object:
    """The text's value, or None where it is no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


VALUES = [value for text in TEXTS if isinstance(value := as_json(text), dict | list)]
WORKBOOK = workbook({"A": sheet_xml(TABLE), "B": sheet_xml(TABLE)}, ["a"])
PARQUET = pd.DataFrame({"model": ["a", "b"], "tokens_per_s": [1.0, 2.0], "ttft_ms": [3, 4]}).to_parquet()


def check(content: bytes, name: str = "file") -> None:
    """One sentence, or a table with the schema whose every row is judged and shown."""
    try:
        found = read_benchmark(name, content)
    except UnreadableFile as error:
        check_sentence(str(error))
    else:
        check_rows(found)


def check_sentence(text: str) -> None:
    assert "\n" not in text
    assert text.endswith((".", "?", "!"))
    assert len(text) < 600


def check_rows(found: ReadResult) -> None:
    assert_schema(found.rows)
    judged = compare(found.rows, FACTS)
    assert len(judged.rows) + len(judged.skipped) == len(found.rows)
    shown = measurement_tables.joined(found.rows, judged)
    assert len(measurement_tables.listed(shown)) == len(judged.rows)


@bounded(60)
@given(st.data())
def test_structure_of_json(data):
    check(data.draw(damaged_json(data.draw(st.sampled_from(VALUES)))))


@bounded(60)
@given(st.data())
def test_structure_of_tables(data):
    check(data.draw(damaged_table(data.draw(st.sampled_from(TABLES)))))


@bounded(25)
@given(st.data())
def test_lines_of_json(data):
    whole = data.draw(st.sampled_from(VALUES))
    records = whole if isinstance(whole, list) else [whole]
    lines = [data.draw(damaged_json(record)) for record in records[:3]]
    check(b"\n".join(line.replace(b"\n", b" ") for line in [*lines, json.dumps(records[0]).encode(), *lines]))


@bounded(40)
@given(st.data())
def test_archives_damaged_in_their_bytes(data):
    text = data.draw(st.sampled_from(TEXTS)).encode("utf-8", "replace")
    packed = data.draw(
        st.sampled_from([gzip.compress(text), zipped({"a.csv": text, "b/c.json": text}), WORKBOOK, PARQUET])
    )
    damaged = data.draw(damaged_bytes(packed))
    check(damaged, "a.zip")
    try:
        tables_in("a.zip", damaged)
    except UnreadableFile as error:
        check_sentence(str(error))


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


@bounded(40)
@given(
    st.lists(st.sampled_from(TEXTS), max_size=3),
    st.lists(st.text(min_size=1, max_size=20), min_size=3, max_size=3),
    st.data(),
)
def test_several_files_with_any_names(texts, names, data):
    contents = [data.draw(damaged_bytes(text.encode("utf-8", "replace"))) for text in texts]
    found = read_many(list(zip(names, contents, strict=False)))
    check_rows(found)
    assert len(found.rows) or len(found.skipped) or not texts
