"""MLC-LLM's bench: a CSV with dotted column names, in seconds (its console shows milliseconds)."""

from __future__ import annotations

from typing import Final

from slmopt.measured.readers._base import Reader, SheetReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._records import Record, collect, latencies, positive
from slmopt.measured.table import ReadResult


def _is_sheet(sheet: Sheet) -> bool:
    return {"num_gpus", "output_token_throughput", "time_per_output_token_s.mean"} <= set(sheet.header)


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    for label, row in sheet.each():
        cell = dict(zip(sheet.header, row, strict=True))

        def find(quantity: str, statistic: str, cell: dict[str, str] = cell) -> float:
            word = "mean" if statistic == "mean" else f"quantiles.{statistic}"
            return parse_number(cell.get(f"{quantity}_s.{word}", ""))[0]

        names = {
            "ttft": "time_to_first_token",
            "tpot": "time_per_output_token",
            "itl": "inter_token_latency",
            "e2e": "end_to_end_latency",
        }
        records.append(
            {
                "row": label,
                "tool": "mlc bench",
                "backend": "mlc-llm",
                "phase": "serving",
                "device_count": parse_number(cell["num_gpus"])[0],
                "concurrency": parse_number(cell.get("num_concurrent_requests", ""))[0],
                "tokens_per_s": positive(parse_number(cell["output_token_throughput"])[0]),
                "tokens_per_s_basis": "device",
                **latencies(find, 1.0, names),
                "requests": parse_number(cell.get("num_requests", ""))[0],
                "clock": "client",
                "conversion": "seconds as they are; output_token_throughput of all requests and GPUs",
            }
        )
    return collect("mlc bench csv", sheet.source, records, sheet.skips)


READERS: Final[tuple[Reader, ...]] = (SheetReader("mlc bench csv", _is_sheet, _read_sheet),)
