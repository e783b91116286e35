"""llmfit's community submissions: a device and a list of models.

Neither the prompt's length nor the quantisation is in the file; what stands in a model's name is taken from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._cells import format_in_name, model_name
from slmopt.measured.readers._json import Item, Json, entries, get, has, number, text_of
from slmopt.measured.readers._records import Record, collect, positive
from slmopt.measured.table import ReadResult


def _is_submission(value: Json) -> bool:
    return has(value, ("schemaVersion", "hardware", "results"))


def _read_submissions(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        hardware = get(value, "hardware")
        stamp = number(value, "submittedAtUnix")
        when = datetime.fromtimestamp(stamp, tz=UTC).replace(tzinfo=None) if 1e9 < stamp < 4e9 else None
        for order, entry in enumerate(entries(value, "results"), 1):
            name = text_of(entry, "model")
            speed = positive(number(entry, "avgTps"))
            records.append(
                {
                    "row": f"result {order}" if len(items) == 1 else f"{label}, result {order}",
                    "tool": "llmfit",
                    "tool_version": text_of(value, "tool", "version"),
                    "model": model_name(name),
                    "model_file": name if "/" in name or name.endswith(".gguf") else "",
                    "weight_format": format_in_name(model_name(name)),
                    "device": text_of(hardware, "hardwareName"),
                    "device_count": positive(number(hardware, "gpuCount")),
                    "backend": text_of(entry, "provider"),
                    "phase": "decode",
                    "batch": 1.0,
                    "concurrency": 1.0,
                    "output_tokens": positive(number(entry, "avgOutputTokens")),
                    "tokens_per_s": speed,
                    "tokens_per_s_basis": "sequence",
                    "ttft_s": positive(number(entry, "avgTtftMs")) * 1e-3,
                    "tpot_s": 1 / speed,
                    "e2e_s": positive(number(entry, "avgTotalMs")) * 1e-3,
                    "statistic": "mean",
                    "repeats": positive(number(entry, "numRuns")),
                    "timestamp": np.datetime64(when, "us") if when else None,
                    "clock": "client",
                    "conversion": "avgTps as it is: one user's stream; the prompt's length is not in the file",
                }
            )
    return collect("llmfit json", source, records)


READERS: Final[tuple[Reader, ...]] = (JsonReader("llmfit json", _is_submission, _read_submissions),)
