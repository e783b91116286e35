"""ExecuTorch's minibench: a list of metrics, one of which is tokens a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import Record, collect, positive
from slmopt.measured.table import ReadResult, Skip


def _is_metric(value: Json) -> bool:
    return has(value, ("benchmarkModel", "metric", "actual"))


def _read_metrics(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        if text_of(value, "metric") != "token_per_sec":
            skips.append(Skip(label, f"metric {text_of(value, 'metric')!r} is no speed of tokens"))
            continue
        model = get(value, "benchmarkModel")
        records.append(
            {
                "row": label,
                "tool": "executorch minibench",
                "model": text_of(model, "name"),
                "weight_format": text_of(model, "quantization"),
                "backend": text_of(model, "backend"),
                "device": text_of(value, "deviceInfo", "device"),
                "phase": "decode",
                "batch": 1.0,
                "concurrency": 1.0,
                "tokens_per_s": positive(number(value, "actual")),
                "tokens_per_s_basis": "sequence",
                "tpot_s": 1 / positive(number(value, "actual")),
                "clock": "server",
                "conversion": "token_per_sec as it is",
            }
        )
    return collect("executorch json", source, records, skips)


READERS: Final[tuple[Reader, ...]] = (JsonReader("executorch json", _is_metric, _read_metrics),)
