"""optimum-benchmark: report (JSON, Markdown) and the configuration beside it, and the leaderboard's flat CSV.

A report times prefill in samples a second and decode in tokens a second of the whole batch; batch and lengths are only in
the configuration of the same folder. Given together (two files, or an archive) they are joined; alone, the report's times
stand without lengths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, SheetReader, TextReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, positive
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "optimum-benchmark"

_PART_BYTES: Final = 16 << 20

_NEEDS: Final = (
    "lengths and batch stand in benchmark_config.json of the same folder: upload it with this file"
)


def is_config(value: Json) -> bool:
    """Whether a JSON value is a run's configuration, which has no results."""
    return has(value, ("scenario", "launcher", "backend")) and not has(value, ("report",))


def is_report(value: Json) -> bool:
    """Whether a JSON value is a run's report."""
    return has(get(value, "prefill"), ("latency",)) and has(get(value, "decode"), ("latency",))


def part(content: bytes) -> str:
    """'config' or 'report' where the bytes are one of the two files of a run, else ''."""
    if len(content) > _PART_BYTES or (b'"launcher"' not in content and b'"prefill"' not in content):
        return ""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    return "config" if is_config(value) else "report" if is_report(value) else ""


def joined(config: bytes, report: bytes) -> bytes:
    """Report and configuration of one run as one JSON text."""
    return json.dumps({"config": json.loads(config), "report": json.loads(report)}).encode()


def _records(label: str, report: Json, config: Json) -> list[Record]:
    batch = number(config, "scenario", "input_shapes", "batch_size")
    prompt = number(config, "scenario", "input_shapes", "sequence_length")
    output = number(config, "scenario", "generate_kwargs", "max_new_tokens")
    gpus = get(config, "environment", "gpu")
    on_cpu = text_of(config, "backend", "device") == "cpu"
    base: Record = {
        "row": label,
        "tool": NAME,
        "tool_version": text_of(config, "environment", "optimum_benchmark_version"),
        "model": text_of(config, "backend", "model"),
        "model_type": text_of(config, "backend", "model_type"),
        "weight_format": text_of(config, "backend", "quantization_scheme")
        or text_of(config, "backend", "torch_dtype"),
        "device": text_of(config, "environment", "cpu")
        if on_cpu or not isinstance(gpus, list) or not gpus
        else str(gpus[0]),
        "device_count": float(len(str(get(config, "backend", "device_ids")).split(",")))
        if get(config, "backend", "device_ids")
        else NAN,
        "backend": text_of(config, "backend", "name"),
        "batch": batch,
        "concurrency": batch,
        "statistic": "mean",
        "clock": "server",
        "note": "" if known(batch) else _NEEDS,
    }
    whose = "sequence" if batch == 1 else "device"
    samples = positive(number(report, "prefill", "throughput", "value"))
    rate = positive(number(report, "decode", "throughput", "value"))
    return [
        base
        | _timed(report, "prefill")
        | {
            "phase": "prefill",
            "prompt_tokens": prompt,
            "output_tokens": 0.0,
            "depth_tokens": 0.0,
            "tokens_per_s": samples * prompt,
            "tokens_per_s_basis": whose if known(samples * prompt) else "",
            "ttft_s": positive(number(report, "prefill", "latency", "mean")),
            "conversion": f"samples/s × prompt length = tokens/s ({samples:g} × {prompt:g})"
            if known(samples * prompt)
            else "latency as it is",
        },
        base
        | _timed(report, "decode")
        | {
            "phase": "decode",
            "prompt_tokens": 0.0 if known(prompt) else NAN,
            "output_tokens": output - 1 if output > 1 else NAN,
            "depth_tokens": prompt,
            "tokens_per_s": rate,
            "tokens_per_s_basis": whose,
            "tpot_s": batch / rate,
            "conversion": "decode throughput as it is: tokens of the whole batch after the first; time per token = batch / throughput",
        },
    ]


def _timed(report: Json, phase: str) -> Record:
    mean, deviation = number(report, phase, "latency", "mean"), number(report, phase, "latency", "stdev")
    return {
        "e2e_s": positive(mean),
        "repeats": number(report, phase, "latency", "count"),
        "spread": deviation / mean if deviation > 0 and mean > 0 else NAN,
    }


def _is_json(value: Json) -> bool:
    return (
        is_report(value)
        or is_config(value)
        or (has(value, ("config", "report")) and is_report(value["report"]))
    )


def _read_json(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        if is_config(value):
            skips.append(
                Skip(
                    label,
                    "a configuration of optimum-benchmark, without results: upload benchmark_report.json of the same folder",
                )
            )
        elif has(value, ("report",)):
            records += _records(label, value["report"], value["config"])
        else:
            records += _records(label, value, None)
    return collect(f"{NAME} json", source, records, skips)


_SECTION: Final = re.compile(r"^# (\w+):\s*$", re.MULTILINE)


def _is_markdown(text: str) -> bool:
    return bool(
        re.search(r"^# prefill:\s*$", text, re.MULTILINE)
        and re.search(r"^# decode:\s*$", text, re.MULTILINE)
        and "## latency:" in text
    )


def _read_markdown(source: str, text: str) -> ReadResult:
    report: dict[str, dict[str, dict[str, float]]] = {}
    parts = _SECTION.split(text)
    for phase, body in zip(parts[1::2], parts[2::2], strict=True):
        sections = re.split(r"^## (\w+):\s*$", body, flags=re.MULTILINE)
        for name, table in zip(sections[1::2], sections[2::2], strict=True):
            rows = re.findall(r"^\|\s*([\w ]+?)\s*\|\s*([^|]+?)\s*\|", table, re.MULTILINE)
            values = {key: parse_number(cell)[0] for key, cell in rows if known(parse_number(cell)[0])}
            if "throughput" in values:
                values["value"] = values["throughput"]
            report.setdefault(phase, {})[name] = values
    return collect(f"{NAME} md", source, _records("report", report, None))


def _is_leaderboard(sheet: Sheet) -> bool:
    return {"config.backend.model", "report.decode.throughput.value"} <= set(sheet.header)


def _read_leaderboard(sheet: Sheet) -> ReadResult:
    """The same trees, flattened with dots."""
    records: list[Record] = []
    for label, row in sheet.each():
        tree: dict[str, Json] = {"config": {}, "report": {}}
        for name, cell in zip(sheet.header, row, strict=True):
            if cell.strip() and "." in name:
                _plant(tree, name.split("."), cell)
        records += _records(label, tree["report"], tree["config"])
    return collect(f"{NAME} csv", sheet.source, records, sheet.skips)


def _plant(tree: dict[str, Json], path: Sequence[str], cell: str) -> None:
    for step in path[:-1]:
        found = tree.setdefault(step, {})
        if not isinstance(found, dict):
            return
        tree = found
    tree[path[-1]] = cell


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} json", _is_json, _read_json),
    SheetReader(f"{NAME} csv", _is_leaderboard, _read_leaderboard),
    TextReader(f"{NAME} md", _is_markdown, _read_markdown),
)
