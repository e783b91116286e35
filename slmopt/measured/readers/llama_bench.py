"""llama-bench: CSV, JSON, JSONL, SQL and Markdown, in every version's columns.

What a row means
----------------
``avg_ts`` is the mean over repetitions of (n_prompt + n_gen) / time. With both counts above 0 (a ``pg`` test) it mixes
prompt and output tokens: phase 'mixed'. ``n_depth`` tokens are fed before the clock starts; versions without the column
start from an empty cache. One sequence always: ``n_batch`` and ``n_ubatch`` are chunk sizes, no users.

Shifted columns
---------------
The official README shows rows with one value more than their header. So a row counts only if its width is the header's,
``test_time`` is a date, the numbers are numbers, and ``avg_ts`` follows from ``avg_ns`` and the token counts: a mean of
rates is at least the rate of the mean time, and not many times it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from slmopt.measured.readers._base import (
    JsonReader,
    MarkdownTable,
    Reader,
    SheetReader,
    TableReader,
    TextReader,
)
from slmopt.measured.readers._cells import (
    cache_format,
    ggml_format,
    parameters,
    parse_number,
    parse_test,
    parse_time,
    size_bytes,
)
from slmopt.measured.readers._columns import from_objects
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has
from slmopt.measured.readers._llama_bench import CONVERSION, FLASH, NAME, NUMBERS, TEXTS, read_columns
from slmopt.measured.table import ReadResult, make_rows, result, rows_from_records


def _is_sheet(sheet: Sheet) -> bool:
    return {"avg_ts", "n_prompt", "n_gen", "model_type", "avg_ns"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    columns = sheet.load(numbers=NUMBERS, texts=TEXTS, times=("test_time",))
    return read_columns(f"{NAME} csv", sheet.source, columns)


def _bare(value: Json) -> Json:
    """The record itself, where a wrapper keeps it under ``bench_raw``."""
    return get(value, "bench_raw") if has(value, ("bench_raw",)) else value


def _is_object(value: Json) -> bool:
    return has(_bare(value), ("build_commit", "avg_ts", "n_prompt", "n_gen"))


def _read_objects(source: str, items: Sequence[Item]) -> ReadResult:
    objects = [(label, _bare(value)) for label, value in items]
    columns = from_objects(objects, NUMBERS)
    columns.times["test_time"] = np.array(
        [parse_time(str(entry.get("test_time", ""))) for _, entry in objects], dtype="datetime64[us]"
    )
    columns.numbers["repeats"] = np.array(
        [
            len(samples) if isinstance(samples := entry.get("samples_ts"), list) else np.nan
            for _, entry in objects
        ],
        dtype=np.float64,
    )
    lines = any(label.startswith("line") for label, _ in items)
    return read_columns(f"{NAME} {'jsonl' if lines else 'json'}", source, columns)


_INSERT: Final = re.compile(r"INSERT INTO \w+ \(([^)]*)\) VALUES \((.*)\);\s*$", re.MULTILINE)


def _is_sql(text: str) -> bool:
    return bool(re.search(r"CREATE TABLE IF NOT EXISTS (?:llama_bench|test) \(", text)) and "avg_ts" in text


def _read_sql(source: str, text: str) -> ReadResult:
    """INSERT statements; inner quotes are not escaped by the tool, so values are split where one ends and one begins."""
    objects: list[tuple[str, Mapping[str, object]]] = []
    bad: list[tuple[str, Mapping[str, object]]] = []
    for number, found in enumerate(_INSERT.finditer(text), 1):
        names = [name.strip() for name in found[1].split(",")]
        values = found[2].strip().removeprefix("'").removesuffix("'").split("', '")
        (objects if len(names) == len(values) else bad).append(
            (f"insert {number}", dict(zip(names, values, strict=False)))
        )
    done = _read_objects(source, objects) if objects else result(f"{NAME} sql", source, make_rows({}, 0))
    skips = [
        (source, label, "another number of values than columns, so which belongs to which is not certain")
        for label, _ in bad
    ]
    skipped = pd.concat(
        [done.skipped, pd.DataFrame(skips, columns=done.skipped.columns, dtype="str")], ignore_index=True
    )
    return ReadResult(f"{NAME} sql", done.rows, skipped, done.warnings)


def _is_table(table: MarkdownTable) -> bool:
    return {"model", "size", "params", "backend", "test", "t/s"} <= set(table.header)


def _read_table(table: MarkdownTable) -> ReadResult:
    records: list[dict[str, object]] = []
    skips = []
    for label, row in zip(table.labels, table.rows, strict=True):
        cell = dict(zip(table.header, row, strict=True))
        test = parse_test(cell["test"])
        speed, deviation, _ = parse_number(cell["t/s"])
        if test is None or not speed > 0:
            skips.append((table.source, label, f"no test and speed in {cell['test']!r} and {cell['t/s']!r}"))
            continue
        prompt, output, depth = test
        phase = "mixed" if prompt and output else "decode" if output else "prefill"
        ubatch = parse_number(cell.get("n_ubatch", ""))[0]
        records.append(
            {
                "row": label,
                "tool": NAME,
                "tool_version": table.context.get("build"),
                "model": cell["model"],
                "model_type": cell["model"],
                "weight_bytes": size_bytes(cell["size"]),
                "params": parameters(cell["params"]),
                "weight_format": ggml_format(cell["model"]),
                "cache_k": cache_format(cell.get("type_k", "")),
                "cache_v": cache_format(cell.get("type_v", "")),
                "device": table.context.get("device"),
                "backend": cell["backend"],
                "threads": parse_number(cell.get("threads", ""))[0],
                "gpu_layers": parse_number(cell.get("ngl", ""))[0],
                "cpu_moe_layers": parse_number(cell.get("n_cpu_moe", ""))[0],
                "note": _placed(cell),
                "flash_attention": FLASH.get(cell.get("fa", ""), ""),
                "chunk_tokens": ubatch,
                "phase": phase,
                "batch": 1.0,
                "concurrency": 1.0,
                "prompt_tokens": prompt,
                "output_tokens": output,
                "depth_tokens": depth,
                "tokens_per_s": speed,
                "tokens_per_s_basis": "mixed" if phase == "mixed" else "sequence",
                "tpot_s": 1 / speed if phase == "decode" else np.nan,
                "statistic": "mean",
                "spread": deviation / speed if deviation > 0 else np.nan,
                "clock": "server",
                "conversion": CONVERSION[phase].replace("avg_ts", "t/s"),
            }
        )
    done = result(f"{NAME} md", table.source, rows_from_records(records))
    skipped = pd.DataFrame(skips, columns=done.skipped.columns, dtype="str")
    return ReadResult(done.format, done.rows, skipped)


def _placed(cell: dict[str, str]) -> str:
    """What a row says of weights or cache outside the device's memory; columns are printed only where they are set."""
    if (moved := cell.get("ot", "").strip()) and moved != "none":
        return f"tensors placed by hand: {moved}"
    if parse_number(cell.get("n_cpu_moe", ""))[0] > 0:
        return "expert weights of some layers lie in main memory (n_cpu_moe)"
    return "the cache lies in main memory (no_kv_offload)" if cell.get("nkvo", "").strip() == "1" else ""


READERS: Final[tuple[Reader, ...]] = (
    SheetReader(f"{NAME} csv", _is_sheet, _read_sheet, begins="build_commit,"),
    JsonReader(f"{NAME} json", _is_object, _read_objects),
    TextReader(f"{NAME} sql", _is_sql, _read_sql),
    TableReader(f"{NAME} md", _is_table, _read_table),
)
