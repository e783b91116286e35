"""InferenceMAX / InferenceX aggregates.

Latencies are in seconds, although made from vLLM's milliseconds; throughput is a GPU's, and is multiplied by the GPUs here.
Its inter-token latency counts stream chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import Record, collect, latencies, positive
from slmopt.measured.table import ReadResult


def _is_aggregate(value: Json) -> bool:
    return has(value, ("hw", "tput_per_gpu")) or has(value, ("infmax_model_prefix", "hw"))


def _read_aggregates(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:

        def find(quantity: str, statistic: str, value: Json = value) -> float:
            return number(value, f"{'median' if statistic == 'p50' else statistic}_{quantity}")

        end = "e2el" if has(value, ("mean_e2el",)) else "ttlt"
        times = latencies(find, 1.0, {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": end})
        devices = _gpus(value)
        speed = number(value, "output_tput_per_gpu")
        spec = text_of(value, "spec_decoding")
        hit = number(value, "theoretical_cache_hit_rate")
        notes = [f"speculative decoding: {spec}"] if spec and spec.lower() != "none" else []
        if get(value, "disagg") is True:
            notes.append("prefill and decode on separate GPUs")
        if hit > 0:
            notes.append(f"prefix-cache hits up to {hit:.0%} by the trace")
        records.append(
            {
                "row": label,
                "tool": "InferenceMAX",
                "model": text_of(value, "model"),
                "weight_format": text_of(value, "precision"),
                "device": text_of(value, "hw"),
                "device_count": devices,
                "backend": text_of(value, "framework"),
                "phase": "serving",
                "concurrency": positive(
                    number(value, "conc") if has(value, ("conc",)) else number(value, "users")
                ),
                "prompt_tokens": positive(
                    number(value, "isl") if has(value, ("isl",)) else number(value, "mean_input_tokens")
                ),
                "output_tokens": positive(
                    number(value, "osl")
                    if has(value, ("osl",))
                    else number(value, "mean_output_tokens_actual")
                ),
                "tokens_per_s": positive(speed) * devices,
                "tokens_per_s_basis": "device",
                **times,
                "requests": positive(number(value, "num_requests_successful")),
                "failures": number(value, "num_requests_total") - number(value, "num_requests_successful"),
                "clock": "client",
                "note": "; ".join(notes),
                "conversion": f"output throughput a GPU × {devices:.0f} GPUs; times are in seconds in this file",
            }
        )
    return collect("InferenceMAX json", source, records)


def _gpus(value: Json) -> float:
    """GPUs of the deployment: those of prefill and decode together where they are apart."""
    apart = number(value, "num_prefill_gpu") + number(value, "num_decode_gpu")
    return apart if apart > 0 else positive(number(value, "tp"))


READERS: Final[tuple[Reader, ...]] = (JsonReader("InferenceMAX json", _is_aggregate, _read_aggregates),)
