"""GuideLLM: JSON reports of versions up to 0.3 and from 0.4, CSV with one header row and with three.

Its inter-token latency is a request's mean after the first token, which this table calls TPOT; its own time per output
token includes the first, the opposite of vLLM's naming. Only successful requests are read. Columns of statuses that no
request had are left out of the three-row CSV, so that rows may be wider than the header: those are listed, not shifted.
"""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from slmopt.measured.readers._base import JsonReader, Reader, SheetReader, SheetsReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, latencies, positive
from slmopt.measured.table import ReadResult, Skip
from slmopt.measured.text import Document

NAME: Final = "guidellm"

_CONVERSION: Final = (
    "inter-token latency leaves out the first token, so it stands under TPOT (GuideLLM's own time per output token includes it); "
    "output tokens a second of all users together"
)


def _common(
    label: str, find_times: Record, prompt: float, output: float, speed: float, users: float
) -> Record:
    return {
        "row": label,
        "tool": NAME,
        "phase": "serving",
        "concurrency": positive(users),
        "prompt_tokens": positive(prompt),
        "output_tokens": positive(output),
        "tokens_per_s": positive(speed),
        "tokens_per_s_basis": "device",
        **find_times,
        "clock": "client",
        "note": "concurrency as measured (mean)",
        "conversion": _CONVERSION,
    }


def _is_report(value: Json) -> bool:
    return has(get(value, "benchmarks", 0), ("metrics",)) and has(
        get(value, "benchmarks", 0, "metrics"), ("request_latency",)
    )


def _read_reports(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, report in items:
        version = text_of(report, "metadata", "guidellm_version")
        for order, benchmark in enumerate(get(report, "benchmarks"), 1):
            where = f"benchmark {order}" if len(items) == 1 else f"{label}, benchmark {order}"
            totals = get(benchmark, "metrics", "request_totals") or get(benchmark, "request_totals")
            if number(totals, "successful") == 0:
                skips.append(Skip(where, "no request succeeded: every statistic is 0 and means nothing"))
                continue
            record = _benchmark(where, benchmark)
            record |= {
                "tool_version": version,
                "model": text_of(benchmark, "worker", "backend_model") or _model(benchmark, report),
                "requests": number(totals, "successful"),
                "failures": number(totals, "errored"),
            }
            records.append(record)
    return collect(f"{NAME} json", source, records, skips)


def _model(benchmark: Json, report: Json) -> str:
    places = (
        (benchmark, ("config", "backend", "model")),
        (report, ("config", "spec", "backend", "model")),
        (report, ("args", "model")),
        (report, ("args", "backend_kwargs", "model")),
    )
    return next((name for value, path in places if (name := text_of(value, *path))), "")


def _benchmark(label: str, benchmark: Json) -> Record:
    metrics = get(benchmark, "metrics")

    def find(quantity: str, statistic: str) -> float:
        path = {"mean": ("mean",), "p50": ("median",)}.get(statistic, ("percentiles", statistic))
        scale = 1.0 if quantity == "request_latency" else 1e-3
        return number(metrics, quantity, "successful", *path) * scale

    def mean(name: str) -> float:
        return number(metrics, name, "successful", "mean")

    times = latencies(
        find,
        1.0,
        {"ttft": "time_to_first_token_ms", "tpot": "inter_token_latency_ms", "e2e": "request_latency"},
    )
    record = _common(
        label,
        times,
        mean("prompt_token_count"),
        mean("output_token_count"),
        mean("output_tokens_per_second"),
        mean("request_concurrency"),
    )
    start = number(benchmark, "start_time")
    if 1e9 < start < 4e9:
        moment = datetime.fromtimestamp(start, tz=UTC).replace(tzinfo=None)
        record["timestamp"] = np.datetime64(moment, "us")
    return record


def _is_flat(sheet: Sheet) -> bool:
    return {"Run Id", "Successful Requests", "Successful Time to first token ms mean"} <= set(sheet.header)


# Where p95 and p99 stand in the lists "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]".
_AT: Final = {"p95": 8, "p99": 9}


def _listed(cell: str, statistic: str) -> float:
    """One percentile of a cell that holds a list of eleven numbers."""
    try:
        values = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return NAN
    if not isinstance(values, list) or len(values) != 11:
        return NAN
    value = values[_AT[statistic]]
    return float(value) if isinstance(value, int | float) else NAN


def _read_flat(sheet: Sheet) -> ReadResult:
    """Versions up to 0.3: one header row, percentiles as text in a cell."""
    records: list[Record] = []
    for label, row in sheet.each():
        cell = dict(zip(sheet.header, row, strict=True))

        def find(quantity: str, statistic: str, cell: Mapping[str, str] = cell) -> float:
            if statistic in _AT:
                name = next((name for name in cell if name.startswith(f"Successful {quantity} [")), "")
                return _listed(cell.get(name, ""), statistic)
            word = "mean" if statistic == "mean" else "median"
            return parse_number(cell.get(f"Successful {quantity} {word}", ""))[0]

        def seconds(quantity: str, statistic: str) -> float:
            return find(quantity, statistic) * (1e-3 if quantity.endswith(" ms") else 1.0)

        times = latencies(
            seconds,
            1.0,
            {"ttft": "Time to first token ms", "tpot": "Inter token latency ms", "e2e": "Request latency"},
        )
        record = _common(
            label,
            times,
            find("Prompt token count", "mean"),
            find("Output token count", "mean"),
            find("Output tokens per second", "mean"),
            find("Request concurrency", "mean"),
        )
        record |= {
            "requests": parse_number(cell["Successful Requests"])[0],
            "failures": parse_number(cell.get("Errored Requests", ""))[0],
        }
        records.append(record)
    return collect(f"{NAME} csv", sheet.source, records, sheet.skips)


def _is_grouped(head: str) -> bool:
    first = head.lstrip().split("\n", 1)[0]
    return first.count("Run Info") >= 2 and "Request Counts" in first


def _read_grouped(document: Document) -> ReadResult:
    """Versions from 0.4: three header rows (group, name with status, statistic)."""
    rows = list(csv.reader(io.StringIO(document.text, newline="")))
    if len(rows) < 4:
        return collect(f"{NAME} csv", document.name, [], [])
    groups, names, kinds = rows[:3]
    columns = {
        (group, name, kind): at
        for at, (group, name, kind) in enumerate(zip(groups, names, kinds, strict=False))
    }
    records: list[Record] = []
    skips: list[Skip] = []
    for order, row in enumerate(rows[3:], 1):
        label = f"row {order}"
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(groups):
            skips.append(
                Skip(
                    label,
                    f"{len(row)} values under {len(groups)} column names, so which value belongs to which column is not certain",
                )
            )
            continue
        records.append(_grouped_row(label, row, columns))
    return collect(f"{NAME} csv", document.name, records, skips)


def _grouped_row(label: str, row: list[str], columns: Mapping[tuple[str, str, str], int]) -> Record:
    def text(group: str, name: str, kind: str = "") -> str:
        at = columns.get((group, name, kind))
        return row[at] if at is not None else ""

    def find(quantity: str, statistic: str) -> float:
        group, unit = quantity.split("|")
        scale = 1e-3 if unit == "ms" else 1.0
        if statistic in _AT:
            return _listed(text(group, f"Successful {unit}", "Percentiles"), statistic) * scale
        return (
            parse_number(text(group, f"Successful {unit}", "Mean" if statistic == "mean" else "Median"))[0]
            * scale
        )

    times = latencies(
        find,
        1.0,
        {"ttft": "Time to First Token|ms", "tpot": "Inter Token Latency|ms", "e2e": "Request Latency|Sec"},
    )
    record = _common(
        label,
        times,
        find("Token Metrics|Input Tokens", "mean"),
        find("Token Metrics|Output Tokens", "mean"),
        find("Token Throughput|Output Tokens/Sec", "mean"),
        find("Server Throughput|Concurrency", "mean"),
    )
    backend = text("Run Info", "Backend")
    try:
        model = text_of(json.loads(backend), "model") if backend else ""
    except (ValueError, RecursionError):
        model = ""
    record |= {
        "model": model,
        "requests": parse_number(text("Request Counts", "Successful"))[0],
        "failures": parse_number(text("Request Counts", "Errored"))[0],
    }
    return record


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} json", _is_report, _read_reports),
    SheetReader(f"{NAME} csv", _is_flat, _read_flat),
    SheetsReader(f"{NAME} csv", _is_grouped, _read_grouped),
)
