"""NVIDIA's GenAI-Perf and AIPerf: CSV exports, JSON exports, a request a line, and the console's box.

Their inter-token latency is a request's mean over its tokens after the first, which is what this table calls TPOT; AIPerf's
inter-chunk latency is the gap between chunks. Columns differ in order and number between versions, so they are always
found by name. Warm-up requests stand among the others in AIPerf's lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, SheetsReader, TextReader
from slmopt.measured.readers._cells import parse_number, parse_time
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._names import SECONDS
from slmopt.measured.readers._records import NAN, Record, collect, known, latencies, positive
from slmopt.measured.readers._telemetry import Gpus
from slmopt.measured.table import ReadResult, Skip, concat
from slmopt.measured.text import Document

Metrics = dict[str, dict[str, float]]
"""Numbers by metric (snake case) and statistic ('avg', 'p50', …), times in seconds."""

_CONVERSION: Final = "inter-token latency is a request's mean after its first token, so it stands under TPOT; output throughput is of all users together"


def _key(title: str) -> tuple[str, float]:
    """'Time To First Token (ms)' as ('time_to_first_token', 0.001)."""
    found = re.match(r"(.*?)\s*(?:\(([^()]*)\))?\s*$", title.strip())
    name, unit = (found[1], found[2] or "") if found else (title, "")
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"), SECONDS.get(unit.strip().lower(), 1.0)


def _record(label: str, tool: str, metrics: Metrics, gpus: Gpus | None = None) -> Record:
    def find(quantity: str, statistic: str) -> float:
        return metrics.get(quantity, {}).get({"mean": "avg"}.get(statistic, statistic), NAN)

    def value(name: str) -> float:
        found = metrics.get(name, {})
        return positive(found.get("avg", found.get("value", NAN)))

    names = {
        "ttft": "time_to_first_token",
        "tpot": "inter_token_latency",
        "itl": "inter_chunk_latency",
        "e2e": "request_latency",
    }
    failures = metrics.get("error_request_count", {})
    measured = value("effective_concurrency")
    notes = ["concurrency as measured (mean)"] if known(measured) else []
    if (hit := value("theoretical_prefix_cache_hit")) > 0:
        notes.append(f"prefix-cache hits up to {hit:.1f} % by the trace")
    if gpus is not None and gpus.note():
        notes.append(gpus.note())
    return {
        "row": label,
        "tool": tool,
        "phase": "serving",
        "concurrency": measured,
        "prompt_tokens": value("input_sequence_length"),
        "output_tokens": value("output_sequence_length"),
        "tokens_per_s": value("output_token_throughput"),
        "tokens_per_s_basis": "device",
        **latencies(find, 1.0, names),
        "requests": value("request_count"),
        "failures": failures.get("avg", failures.get("value", NAN)),
        "clock": "client",
        "note": "; ".join(notes),
        "conversion": _CONVERSION,
        **({} if gpus is None else gpus.facts()),
    }


def _is_csv(head: str) -> bool:
    return bool(re.match(r"\s*(?:sep=.\s*\n)?\"?Metric\"?,\"?avg\"?,", head))


def _read_csv(document: Document) -> ReadResult:
    """Tables one under the other; a table that begins with 'Metric,avg' begins a run, one of GPUs belongs to the run above."""
    runs: list[Metrics] = []
    gpus: list[Gpus] = []
    header: list[str] = []
    tool = "genai-perf"
    skips: list[Skip] = []
    for line, row in enumerate(csv.reader(io.StringIO(document.text, newline="")), 1):
        if not any(cell.strip() for cell in row):
            header = []
        elif row[0].strip() == "Metric":
            header = [cell.strip() for cell in row]
            if "avg" in header:
                runs.append({})
                gpus.append(Gpus())
                tool = "aiperf" if "std" in header else tool
        elif not header:
            header = [cell.strip() for cell in row]  # another table
        elif header[0] == "Metric" and runs:
            if len(row) != len(header):
                skips.append(Skip(f"line {line}", f"{len(row)} values under {len(header)} column names"))
                continue
            name, scale = _key(row[0])
            numbers = {
                stat.lower(): parse_number(cell)[0] * scale
                for stat, cell in zip(header[1:], row[1:], strict=True)
            }
            runs[-1].setdefault(name, {stat: found for stat, found in numbers.items() if known(found)})
        elif "GPU_Name" in header and gpus and len(row) == len(header):
            gpus[-1].take_row(dict(zip(header, (cell.strip() for cell in row), strict=True)))
    records = [
        _record(f"run {order}", tool, metrics, told)
        for order, (metrics, told) in enumerate(zip(runs, gpus, strict=True), 1)
    ]
    return collect(f"{tool} csv", document.name, records, skips)


def _metrics(value: Json) -> Metrics:
    """Metrics of a JSON export: objects with a unit and statistics."""
    metrics: Metrics = {}
    for name, entry in value.items():
        if isinstance(entry, Mapping) and "unit" in entry and ("avg" in entry or "value" in entry):
            key = {"ttft": "time_to_first_token", "ttst": "time_to_second_token"}.get(str(name), str(name))
            scale = SECONDS.get(text_of(entry, "unit").lower(), 1.0)
            metrics[key] = {str(stat): found * scale for stat in entry if known(found := number(entry, stat))}
    return metrics


def _is_json(value: Json) -> bool:
    return has(get(value, "request_latency"), ("unit", "avg")) or has(
        get(value, "records", "ttft"), ("unit",)
    )


def _read_json(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    tool = "genai-perf"
    for label, value in items:
        is_aiperf = has(value, ("records",)) or any(
            name in value for name in ("aiperf_version", "schema_version")
        )
        tool = "aiperf" if is_aiperf else "genai-perf"
        record = _record(label, tool, _metrics(get(value, "records") or value), Gpus.of_export(value))
        settings = get(value, "input_config")
        asked = number(settings, "loadgen", "concurrency")
        if not known(asked):
            asked = number(settings, "perf_analyzer", "stimulus", "concurrency")
        if known(asked):
            note = str(record["note"]).removeprefix("concurrency as measured (mean)").removeprefix("; ")
            record |= {"concurrency": asked, "note": note}
        if get(value, "was_cancelled") is True:
            record["note"] = "; ".join(
                filter(None, [str(record["note"]), "the run was cancelled before its end"])
            )
        record |= {
            "tool_version": text_of(value, "aiperf_version"),
            "model": text_of(settings, "endpoint", "model_names", 0) or text_of(settings, "model_names", 0),
            "timestamp": parse_time(text_of(value, "start_time")),
        }
        records.append(record)
    return collect(f"{tool} json", source, records)


def _is_request(value: Json) -> bool:
    return has(value, ("metadata", "metrics")) and any(
        name in value["metadata"]
        for name in ("request_start_ns", "credit_phase", "benchmark_phase")
        if isinstance(value["metadata"], Mapping)
    )


def _read_requests(source: str, items: Sequence[Item]) -> ReadResult:
    """A row for each request; warm-up and failed ones are listed as left out."""
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        metadata = value["metadata"]
        phase = text_of(metadata, "benchmark_phase") or text_of(metadata, "credit_phase")
        if phase == "warmup":
            skips.append(Skip(label, "a warm-up request"))
            continue
        if get(value, "error") is not None or get(metadata, "was_cancelled") is True:
            skips.append(Skip(label, "the request failed or was cancelled"))
            continue
        metrics = value["metrics"]

        def read(name: str, metrics: Json = metrics) -> float:
            scale = SECONDS.get(text_of(metrics, name, "unit").lower(), 1.0)
            return positive(number(metrics, name, "value")) * scale

        chunks = get(metrics, "inter_chunk_latency", "value")
        gaps = [gap for gap in chunks if isinstance(gap, int | float)] if isinstance(chunks, list) else []
        records.append(
            {
                "row": label,
                "tool": "aiperf",
                "phase": "serving",
                "prompt_tokens": read("input_sequence_length"),
                "output_tokens": read("output_sequence_length"),
                "cached_tokens": number(metrics, "usage_prompt_cache_read_tokens", "value"),
                "tokens_per_s": read("output_token_throughput_per_user"),
                "tokens_per_s_basis": "sequence",
                "ttft_s": read("time_to_first_token"),
                "tpot_s": read("inter_token_latency"),
                "itl_s": sum(gaps) / len(gaps) * 1e-3 if gaps else NAN,
                "e2e_s": read("request_latency"),
                "statistic": "single",
                "clock": "client",
                "conversion": "inter-token latency leaves out the first token, so it stands under TPOT; speed is 1 / TPOT, one user's",
            }
        )
    return collect("aiperf jsonl", source, records, skips)


_BOX_ROW: Final = re.compile(r"^[│|](.*)[│|]\s*$", re.MULTILINE)


def _is_box(text: str) -> bool:
    return "┃" in text and ("LLM Metrics" in text or "GenAI-Perf" in text)


def _read_box(source: str, text: str) -> ReadResult:
    """The table drawn in the console; a name too long for its column goes on in the next line."""
    metrics: Metrics = {}
    header: list[str] = []
    unit_missing = ""
    for line in text.split("\n"):
        if line.lstrip().startswith("┃"):
            header = [cell.strip().lower() for cell in re.split("[┃|]", line.strip().strip("┃|"))]
        found = _BOX_ROW.match(line.strip())
        if not found or not header:
            continue
        cells = [cell.strip() for cell in found[1].split("│")]
        if len(cells) != len(header):
            continue
        if unit_missing and not any(cells[1:]) and cells[0].startswith("("):
            _, scale = _key(f"x {cells[0]}")
            metrics[unit_missing] = {stat: value * scale for stat, value in metrics[unit_missing].items()}
        name, scale = _key(cells[0])
        numbers = {
            stat: parse_number(cell)[0] * scale for stat, cell in zip(header[1:], cells[1:], strict=True)
        }
        numbers = {stat: value for stat, value in numbers.items() if known(value)}
        unit_missing = name if "(" not in cells[0] else ""
        if numbers:
            metrics.setdefault(name, numbers)
    return collect("aiperf console", source, [_record("console", "aiperf", metrics)])


def _is_server_metrics(head: str) -> bool:
    return head.startswith("# AIPerf Server Metrics Export")


def _read_server_metrics(document: Document) -> ReadResult:
    """The server's gauges over the run, which hold no speed of their own."""
    skips = [
        Skip(
            "whole file",
            "AIPerf's server metrics are gauges of the run; upload profile_export_aiperf.csv or .json beside it",
        )
    ]
    return concat([collect("aiperf server metrics", document.name, [], skips)])


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("aiperf jsonl", _is_request, _read_requests),
    JsonReader("genai-perf json", _is_json, _read_json),
    SheetsReader("genai-perf csv", _is_csv, _read_csv),
    SheetsReader("aiperf server metrics", _is_server_metrics, _read_server_metrics),
    TextReader("aiperf console", _is_box, _read_box),
)
