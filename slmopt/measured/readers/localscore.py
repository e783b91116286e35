"""LocalScore: JSON, CSV and the table of its console, a row a test with the speeds of both phases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, MarkdownTable, Reader, SheetReader, TableReader
from slmopt.measured.readers._cells import ggml_format, model_name, parse_number, parse_test
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, entries, has, text_of
from slmopt.measured.readers._records import Record, collect, known, positive
from slmopt.measured.table import ReadResult, Skip


def _is_report(value: Json) -> bool:
    return has(value, ("accelerator_info", "results"))


def _read_reports(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        base: Record = {
            "tool": "LocalScore",
            "tool_version": text_of(value, "runtime_info", "version"),
            "device": text_of(value, "accelerator_info", "name") or text_of(value, "system_info", "cpu_name"),
            "device_count": 1.0,
        }
        for order, entry in enumerate(entries(value, "results"), 1):
            where = f"result {order}" if len(items) == 1 else f"{label}, result {order}"
            records += _pair(
                where,
                {str(key): text_of(entry, str(key)) for key in entry} if isinstance(entry, dict) else {},
                base,
            )
    return collect("LocalScore json", source, records)


def _pair(label: str, cell: dict[str, str], base: Record) -> list[Record]:
    """A test feeds n_prompt tokens, then generates n_gen; both speeds are timed apart."""

    def value(name: str) -> float:
        return parse_number(cell.get(name, ""))[0]

    prompt, output = value("n_prompt"), value("n_gen")
    kind = cell.get("model_quant") or cell.get("model_quant_str") or cell.get("model_type", "")
    facts = base | {
        "row": label,
        "model": cell.get("model_name")
        or model_name(cell.get("model_filename", ""))
        or cell.get("model", ""),
        "weight_format": ggml_format(kind),
        "weight_bytes": positive(value("model_size")),
        "params": positive(value("model_n_params")),
        "batch": 1.0,
        "concurrency": 1.0,
        "statistic": "mean",
        "tokens_per_s_basis": "sequence",
        "clock": "server",
        "conversion": "prompt_tps and gen_tps as they are: one sequence, each phase timed apart",
    }
    prefill = {
        "phase": "prefill", "prompt_tokens": prompt, "output_tokens": 0.0, "depth_tokens": 0.0, "tokens_per_s": positive(value("prompt_tps")),
        "ttft_s": positive(value("ttft_ms")) * 1e-3,
    }  # fmt: skip
    decode = {
        "phase": "decode", "prompt_tokens": 0.0, "output_tokens": output, "depth_tokens": prompt, "tokens_per_s": positive(value("gen_tps")),
        "tpot_s": 1 / positive(value("gen_tps")),
    }  # fmt: skip
    rows = [facts | prefill, facts | decode]
    return [row for row in rows if known(float(str(row["tokens_per_s"])))]


def _is_sheet(sheet: Sheet) -> bool:
    return {"prompt_tps", "gen_tps", "n_prompt", "n_gen"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    for label, row in sheet.each():
        cell = dict(zip(sheet.header, row, strict=True))
        device = cell.get("accelerator_name") or cell.get("gpu_info") or cell.get("cpu_info", "")
        records += _pair(label, cell, {"tool": "LocalScore", "device": device})
    return collect("LocalScore csv", sheet.source, records, sheet.skips)


_BANNER: Final = re.compile(
    r"^\|[ ]*(?P<device>\S[^|\n]{0,120}?) - [\d.]{1,10} GiB[ ]*\|[ ]*\n"
    r"\|[ ]*(?P<model>\S[^|\n]{0,120}?) - (?P<weights>\w[\w. ]{0,24}?(?: - (?:[A-Z][a-z]{2,5}|[\d.]{1,8} bpw))?)[ ]*\|[ ]*$",
    re.MULTILINE,
)


def _is_table(table: MarkdownTable) -> bool:
    return {"test", "run number", "pp t/s", "tg t/s", "ttft"} <= set(table.header)


def _read_table(table: MarkdownTable) -> ReadResult:
    """The console's table below its banner; a live console writes a test's line anew, and its last one counts."""
    base: Record = {"tool": "LocalScore"}
    named: dict[str, str] = {}
    for banner in _BANNER.finditer(table.above):
        base["device"] = banner["device"]
        named = {"model_name": banner["model"], "model_quant": banner["weights"]}
    last: dict[str, list[Record]] = {}
    skips = list(table.skips)
    for label, row in zip(table.labels, table.rows, strict=True):
        cell = dict(zip(table.header, row, strict=True))
        tokens = parse_test(cell["test"])
        if tokens is None:
            skips.append(Skip(label, f"{cell['test'][:40]!r} is no test such as pp1024+tg16"))
            continue
        counts = {"n_prompt": f"{tokens[0]:.0f}", "n_gen": f"{tokens[1]:.0f}"}
        speeds = {
            "prompt_tps": cell["pp t/s"],
            "gen_tps": cell["tg t/s"],
            "ttft_ms": _milliseconds(cell["ttft"]),
        }
        rows = _pair(label, named | counts | speeds, base)
        if rows:
            last[cell["test"]] = rows
        else:
            skips.append(Skip(label, "states no speed"))
    return collect(
        "LocalScore md", table.source, [record for rows in last.values() for record in rows], skips
    )


def _milliseconds(cell: str) -> str:
    """'51.30 ms' or '1.20 s', as the console writes times on either side of a second."""
    number, unit = [*cell.split(), "", ""][:2]
    value = parse_number(number)[0]
    return repr(value * {"ms": 1.0, "s": 1e3}.get(unit, float("nan")))


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("LocalScore json", _is_report, _read_reports),
    SheetReader("LocalScore csv", _is_sheet, _read_sheet),
    TableReader("LocalScore md", _is_table, _read_table),
)
