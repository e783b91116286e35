"""ONNX Runtime GenAI's benchmarks, four layouts: transposed without header, flat, with prefixes, and DirectML's.

Prompt processing latency is per token; token generation latency is a step, and gives each sequence of the batch a token;
the throughputs are of the batch. Wall-clock throughput counts prompt and generated tokens.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Final

from slmopt.measured.readers._base import Reader, SheetReader, SheetsReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._records import Record, collect, known, positive
from slmopt.measured.table import ReadResult
from slmopt.measured.text import Document

NAME: Final = "onnxruntime-genai"

_MARKS: Final = ("Token Generation Throughput (tps)", "2nd+ Token Generation Throughput (tps)")


def _bare(name: str) -> str:
    return name.removeprefix("metrics.")


def _is_sheet(sheet: Sheet) -> bool:
    names = {_bare(name) for name in sheet.header}
    return "Batch Size" in names and any(mark in names for mark in _MARKS)


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    for label, row in sheet.each():
        records += _pair(label, {_bare(name): cell for name, cell in zip(sheet.header, row, strict=True)})
    return collect(f"{NAME} csv", sheet.source, records, sheet.skips)


def _is_transposed(head: str) -> bool:
    return bool(re.match(r"\s*Batch Size,\d", head)) and "Token Generation Throughput (tps)," in head


def _read_transposed(document: Document) -> ReadResult:
    rows = [row for row in csv.reader(io.StringIO(document.text, newline="")) if len(row) > 1]
    records: list[Record] = []
    for column in range(1, max(len(row) for row in rows)):
        records += _pair(
            f"column {column}", {row[0].strip(): row[column] for row in rows if len(row) > column}
        )
    return collect(f"{NAME} csv, transposed", document.name, records)


def _pair(label: str, cell: dict[str, str]) -> list[Record]:
    def value(name: str) -> float:
        return positive(parse_number(cell.get(name, ""))[0])

    batch, prompt, output = value("Batch Size"), value("Prompt Length"), value("Tokens Generated")
    first = value("1st Token Generation Latency (ms)") * 1e-3
    step = (
        value("2nd+ Token Generation Latency (ms)")
        if "2nd+ Token Generation Latency (ms)" in cell
        else value("Token Generation Latency (ms)")
    )
    speed = value("2nd+ Token Generation Throughput (tps)")
    base: Record = {
        "row": label,
        "tool": NAME,
        "model": cell.get("metadata.model_name", ""),
        "backend": NAME,
        "batch": batch,
        "concurrency": batch,
        "tokens_per_s_basis": "device" if batch > 1 else "sequence",
        "statistic": "mean",
        "clock": "server",
    }
    prefill = base | {
        "phase": "prefill",
        "prompt_tokens": prompt,
        "output_tokens": 0.0,
        "depth_tokens": 0.0,
        "tokens_per_s": value("Prompt Processing Throughput (tps)")
        if not known(first)
        else batch * prompt / first,
        "ttft_s": first,
        "conversion": "prompt processing throughput of the batch as it is"
        if not known(first)
        else "batch × prompt length / first-token latency",
    }
    decode = base | {
        "phase": "decode",
        "prompt_tokens": 0.0 if known(prompt) else prompt,
        "output_tokens": output,
        "depth_tokens": prompt,
        "tokens_per_s": speed if known(speed) else value("Token Generation Throughput (tps)"),
        "tpot_s": step * 1e-3,
        "conversion": "token generation throughput of the batch as it is; its latency is a step",
    }
    return [record for record in (prefill, decode) if known(float(str(record["tokens_per_s"])))]


READERS: Final[tuple[Reader, ...]] = (
    SheetReader(f"{NAME} csv", _is_sheet, _read_sheet),
    SheetsReader(f"{NAME} csv, transposed", _is_transposed, _read_transposed),
)
