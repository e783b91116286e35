"""What the project's own harness measured: the figures of ``bench`` as JSON, and its requests as CSV.

Prompts run one after the other, so the speed is one user's, prefill included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader, SheetReader
from slmopt.measured.readers._cells import parse_number
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, has, number, text_of
from slmopt.measured.readers._records import Record, collect, per, positive
from slmopt.measured.table import ReadResult

NAME: Final = "slmopt bench"


def _is_figures(value: Json) -> bool:
    return has(value, ("ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms", "tokens_per_s"))


def _read_figures(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        requests = number(value, "requests_timed")
        records.append(
            {
                "row": label,
                "tool": NAME,
                "model": text_of(value, "model"),
                "phase": "serving",
                "concurrency": 1.0,
                "output_tokens": per(number(value, "tokens"), requests),
                "tokens_per_s": positive(number(value, "tokens_per_s")),
                "tokens_per_s_basis": "device",
                "ttft_s": positive(number(value, "ttft_p50_ms")) * 1e-3,
                "tpot_s": positive(number(value, "tpot_p50_ms")) * 1e-3,
                "statistic": "p50",
                "ttft_p50_s": positive(number(value, "ttft_p50_ms")) * 1e-3,
                "ttft_p95_s": positive(number(value, "ttft_p95_ms")) * 1e-3,
                "tpot_p50_s": positive(number(value, "tpot_p50_ms")) * 1e-3,
                "tpot_p95_s": positive(number(value, "tpot_p95_ms")) * 1e-3,
                "requests": requests,
                "failures": number(value, "empty_streams"),
                "clock": "client",
                "conversion": "tokens over the wall time of all requests, one after the other",
            }
        )
    return collect(f"{NAME} json", source, records)


def _is_sheet(sheet: Sheet) -> bool:
    return set(sheet.header) - {""} == {"request", "tokens", "ttft_ms", "tpot_ms", "e2e_ms"}


def _read_sheet(sheet: Sheet) -> ReadResult:
    records: list[Record] = []
    for label, row in sheet.each():
        cell = {name: positive(parse_number(text)[0]) for name, text in zip(sheet.header, row, strict=True)}
        records.append(
            {
                "row": label,
                "tool": NAME,
                "phase": "serving",
                "concurrency": 1.0,
                "output_tokens": cell["tokens"],
                "ttft_s": cell["ttft_ms"] * 1e-3,
                "tpot_s": cell["tpot_ms"] * 1e-3,
                "e2e_s": cell["e2e_ms"] * 1e-3,
                "statistic": "single",
                "clock": "client",
                "conversion": "milliseconds to seconds",
            }
        )
    return collect(f"{NAME} csv", sheet.source, records, sheet.skips)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader(f"{NAME} json", _is_figures, _read_figures),
    SheetReader(f"{NAME} csv", _is_sheet, _read_sheet),
)
