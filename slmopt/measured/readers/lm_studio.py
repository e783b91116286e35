"""LM Studio's REST responses: seconds, and one speed whose own arithmetic does not always hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import Record, collect, known, positive
from slmopt.measured.table import ReadResult


def _is_response(value: Json) -> bool:
    return has(get(value, "stats"), ("tokens_per_second",))


def _read_responses(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        stats, usage = get(value, "stats"), get(value, "usage")
        speed, output = positive(number(stats, "tokens_per_second")), number(usage, "completion_tokens")
        seconds = positive(number(stats, "generation_time"))
        notes = ""
        if known(seconds) and output > 0 and not 0.95 < output / seconds / speed < 1.05:
            notes = f"{output:.0f} tokens in {seconds:g} s are {output / seconds:.1f} tokens/s, not the {speed:g} stated"
        records.append(
            {
                "row": label,
                "tool": "LM Studio",
                "tool_version": text_of(value, "runtime", "version"),
                "model": text_of(value, "model"),
                "model_type": text_of(value, "model_info", "arch"),
                "weight_format": text_of(value, "model_info", "quant"),
                "backend": text_of(value, "runtime", "name"),
                "phase": "serving",
                "batch": 1.0,
                "concurrency": 1.0,
                "prompt_tokens": number(usage, "prompt_tokens"),
                "output_tokens": output,
                "tokens_per_s": speed,
                "tokens_per_s_basis": "sequence",
                "ttft_s": positive(number(stats, "time_to_first_token")),
                "tpot_s": 1 / speed,
                "statistic": "single",
                "clock": "server",
                "note": notes,
                "conversion": "tokens_per_second as it is; time per token is its inverse",
            }
        )
    return collect("LM Studio json", source, records)


READERS: Final[tuple[Reader, ...]] = (JsonReader("LM Studio json", _is_response, _read_responses),)
