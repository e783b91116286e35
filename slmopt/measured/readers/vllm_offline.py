"""vLLM's offline benchmarks: latency (one batch from prompt to end) and throughput (all requests at once).

The latency file names neither batch nor lengths. Throughput counts prompt and output tokens together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from slmopt.measured.readers import mapping
from slmopt.measured.readers._base import JsonReader, Reader, SheetReader
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, per, positive
from slmopt.measured.table import ReadResult


def _is_latency(value: Json) -> bool:
    return has(value, ("avg_latency", "latencies", "percentiles"))


def _read_latency(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        runs = get(value, "latencies")
        seconds = [run for run in runs if isinstance(run, int | float)] if isinstance(runs, list) else []
        mean = positive(number(value, "avg_latency"))
        records.append(
            {
                "row": label,
                "tool": "vllm bench latency",
                "model": text_of(value, "model_id"),
                "backend": "vllm",
                "phase": "mixed",
                "e2e_s": mean,
                "statistic": "mean",
                "repeats": float(len(seconds)) if seconds else NAN,
                "spread": float(np.std(seconds, ddof=1)) / mean if len(seconds) > 1 and mean > 0 else NAN,
                "clock": "server",
                "note": "batch and lengths are not in the file: they are needed to compare it",
                "conversion": "avg_latency as it is: prefill and all decode steps of the whole batch",
            }
        )
    return collect("vllm bench latency", source, records)


def _is_throughput(value: Json) -> bool:
    return has(value, ("elapsed_time", "num_requests", "requests_per_second", "tokens_per_second"))


def _read_throughput(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        requests, total = number(value, "num_requests"), number(value, "total_num_tokens")
        prompt = number(value, "input")
        output = (
            number(value, "output") if has(value, ("output",)) else number(value, "ouput")
        )  # a spelling in the wild
        note = (
            ""
            if known(prompt)
            else f"{per(total, requests):.0f} tokens a request in all; prompt and output apart are not in the file"
        )
        records.append(
            {
                "row": label,
                "tool": "vllm bench throughput",
                "model": text_of(value, "model_id"),
                "backend": "vllm",
                "phase": "mixed",
                "prompt_tokens": prompt,
                "output_tokens": output,
                "tokens_per_s": positive(number(value, "tokens_per_second")),
                "tokens_per_s_basis": "mixed",
                "e2e_s": positive(number(value, "elapsed_time")),
                "statistic": "single",
                "requests": requests,
                "clock": "server",
                "note": note,
                "conversion": "tokens_per_second as it is: prompt and output tokens of all requests together",
            }
        )
    return collect("vllm bench throughput", source, records)


def _is_throughput_sheet(sheet: Sheet) -> bool:
    return {"elapsed_time", "total_num_tokens", "tokens_per_second"} <= set(sheet.header)


def _read_throughput_sheet(sheet: Sheet) -> ReadResult:
    """The same numbers pasted into a table, with columns of the author's own beside them."""
    done = mapping.FALLBACK.read(sheet)
    note = "prompt and output tokens of all requests together, as vLLM's throughput benchmark counts"
    size = len(done.rows)
    facts = {"phase": "mixed", "tokens_per_s_basis": "mixed", "conversion": note}
    rows = done.rows.assign(**{name: pd.Categorical([text] * size) for name, text in facts.items()})
    return ReadResult(
        "vllm bench throughput csv",
        rows,
        done.skipped,
        tuple(text for text in done.warnings if "whose tokens" not in text),
    )


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("vllm bench latency", _is_latency, _read_latency),
    JsonReader("vllm bench throughput", _is_throughput, _read_throughput),
    SheetReader("vllm bench throughput csv", _is_throughput_sheet, _read_throughput_sheet),
)
