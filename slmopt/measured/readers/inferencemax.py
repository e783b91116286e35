"""InferenceMAX / InferenceX aggregates.

Latencies are in seconds, although made from vLLM's milliseconds; throughput is a GPU's, and is multiplied by the GPUs here.
Its inter-token latency counts stream chunks. Where prefill and decode run on GPUs of their own, the output throughput is that
of a decoding GPU, and is multiplied by those.
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
        devices, decoding = _gpus(value)
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
                **_layout(value),
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
                "tokens_per_s": positive(speed) * decoding,
                "tokens_per_s_basis": "device",
                **times,
                "requests": positive(number(value, "num_requests_successful")),
                "failures": number(value, "num_requests_total") - number(value, "num_requests_successful"),
                "clock": "client",
                "note": "; ".join(notes),
                "conversion": f"output throughput a GPU × {decoding:.0f} GPUs; times are in seconds in this file",
            }
        )
    return collect("InferenceMAX json", source, records)


def _gpus(value: Json) -> tuple[float, float]:
    """GPUs of the deployment, and those that decode: where prefill and decode are apart, fewer."""
    fed, made = number(value, "num_prefill_gpu"), number(value, "num_decode_gpu")
    if fed + made > 0:
        return fed + made, made if made > 0 else fed + made
    one = positive(number(value, "tp")) * _or_one(value, "pp") * _or_one(value, "pcp_size")
    return one, one


def _layout(value: Json) -> Record:
    """How the GPUs share the model, where nothing but tensor and pipeline parallelism can be behind the numbers."""
    split = [number(value, name) for name in ("ep", "dcp_size", "pcp_size")]
    attention = text_of(value, "dp_attention").lower() == "true" or get(value, "dp_attention") is True
    if attention or any(size > 1 for size in split) or number(value, "num_decode_gpu") > 0:
        return {}
    return {"tensor_parallel": positive(number(value, "tp")), "pipeline_parallel": _or_one(value, "pp")}


def _or_one(value: Json, name: str) -> float:
    return max(number(value, name), 1.0) if number(value, name) > 0 else 1.0


READERS: Final[tuple[Reader, ...]] = (JsonReader("InferenceMAX json", _is_aggregate, _read_aggregates),)
