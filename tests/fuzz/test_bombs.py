"""Small files that would unpack to much: refused, or read in bounded memory, and nothing is written anywhere."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import pandas as pd
import pytest

from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
from tests.fuzz.test_benchmark_files import zipped
from tests.measured.test_read_spreadsheets import MAIN
from tests.shared import ROOT

MOST_MIB = 900

SCRIPT = """
import json, re, resource, sys, time
from pathlib import Path
from slmopt.measured.detect import read_benchmark
from slmopt.measured.text import UnreadableFile
def peak():
    status = Path("/proc/self/status")
    if status.is_file():
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
path = Path(sys.argv[1])
try:
    found = read_benchmark(path.name, path.read_bytes())
    said = "; ".join(found.skipped["why"].astype(str))[:2000]
except UnreadableFile as error:
    said = str(error)
print(json.dumps([peak(), said]))
"""


def sheet(body: str) -> bytes:
    return zipped(
        {
            "xl/workbook.xml": f'<workbook {MAIN}><sheets><sheet name="A"/></sheets></workbook>'.encode(),
            "xl/worksheets/sheet1.xml": f"<worksheet {MAIN}><sheetData>{body}</sheetData></worksheet>".encode(),
        }
    )


def zeros(mib: int) -> bytes:
    return bytes(mib << 20)


def parquet() -> bytes:
    """One text of 100 kB, in each of 200,000 rows: 20 GB as a table, some kilobytes as a dictionary."""
    stream = io.BytesIO()
    text = pd.Categorical.from_codes([0] * 200_000, ["x" * 100_000])
    pd.DataFrame({"model": text, "tokens_per_s": 1.0}).astype({"model": "category"}).to_parquet(stream)
    return stream.getvalue()


def lying() -> bytes:
    """A member whose archive says that it has ten bytes."""
    data = bytearray(zipped({"a.csv": zeros(40)}))
    whole = (40 << 20).to_bytes(4, "little")
    while (at := data.find(whole)) >= 0:
        data[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(data)


BOMBS = {
    "many small members": lambda: zipped(dict.fromkeys((f"{n}.csv" for n in range(12)), zeros(15))),
    "archives in an archive": lambda: zipped(
        dict.fromkeys((f"{n}.zip" for n in range(30)), zipped({"a.csv": zeros(15), "b.csv": zeros(15)}))
    ),
    "gzips in an archive": lambda: zipped(
        dict.fromkeys((f"{n}.gz" for n in range(30)), gzip.compress(zeros(15)))
    ),
    "three deep": lambda: zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped({"d.csv": b"x"})})})}),
    "a gzip of a gzip of a gzip": lambda: gzip.compress(gzip.compress(gzip.compress(b"x"))),
    "one of zeros": lambda: gzip.compress(zeros(100)),
    "a lying size": lying,
    "cells": lambda: sheet("<row>" + "<c/>" * 1_500_000 + "</row>"),
    "rows of the last column": lambda: sheet('<row><c r="XFD1"><v>1</v></c></row>' * 100_000),
    "one cell of many texts": lambda: sheet(
        '<row><c t="inlineStr"><is>' + "<t/>" * 1_500_000 + "</is></c></row>"
    ),
    "tags in tags": lambda: sheet("<x>" * 1_000_000),
    "a repeated text": parquet,
}


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused_in_bounded_memory(tmp_path, case):
    content = BOMBS[case]()
    assert len(content) < 3 << 20
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "upload.zip"
    path.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    peak, said = json.loads(done.stdout)
    assert said
    assert peak < MOST_MIB
    assert [entry.name for entry in tmp_path.rglob("*")] == ["in", "upload.zip"]


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/cron.d/x",
        "C:\\Windows\\x.csv",
        "..\\x.csv",
        "a/../../b.csv",
        "\u202ex.csv",
        "<b>.csv",
        "a\nb.csv",
        "x" * 3000,
    ],
)
def test_names_in_archives_are_labels_only(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    row = b"model,phase,tokens_per_s,prompt_tokens,output_tokens\na,decode,10,0,10\n"
    found = read_benchmark("a.zip", zipped({name: row, "b.csv": row}))
    assert len(found.rows) == 2
    assert not any("\n" in label for label in found.rows["source_file"].astype(str))
    assert list(tmp_path.iterdir()) == []


def test_an_archive_within_its_budget_is_read():
    rows = "model,phase,tokens_per_s\n" + "a,decode,10\n" * 20_000
    content = zipped({f"{n}.csv": rows.encode() for n in range(3)})
    assert len(read_benchmark("a.zip", content).rows) == 60_000


def test_a_locked_or_unknown_member_is_listed_and_the_rest_read():
    row = b"model,phase,tokens_per_s\na,decode,10\n"
    data = bytearray(zipped({"a.csv": row, "b.csv": row}))
    data[6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    found = read_benchmark("a.zip", bytes(data))
    assert len(found.rows) == 1
    assert "password" in found.skipped["why"].iloc[0]
    with pytest.raises(UnreadableFile):
        read_benchmark("a.zip", zipped({}))
