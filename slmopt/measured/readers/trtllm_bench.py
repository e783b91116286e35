"""TensorRT-LLM's trtllm-bench report: the one serving report that names the device and the parallel layout.

Milliseconds; TTFT and TPOT only with ``--streaming``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import Record, collect, known, latencies, positive
from slmopt.measured.table import ReadResult


def _is_report(value: Json) -> bool:
    return has(value, ("performance", "world_info", "request_info"))


def _read_reports(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        engine, speed, streaming = (
            get(value, "engine"),
            get(value, "performance"),
            get(value, "streaming_metrics"),
        )

        def find(quantity: str, statistic: str, speed: Json = speed, streaming: Json = streaming) -> float:
            if quantity == "request_latency":
                word = "average" if statistic == "mean" else statistic
                return number(speed, "request_latency_percentiles_ms", word)
            if statistic == "mean":
                return number(streaming, f"avg_{quantity}_ms")
            return number(streaming, f"{quantity}_percentiles", statistic)

        times = latencies(find, 1e-3, {"ttft": "ttft", "tpot": "tpot", "e2e": "request_latency"})
        whole = positive(number(speed, "avg_request_latency_ms")) * 1e-3
        accepted = number(value, "decoding_stats", "acceptance_rate_percentiles", "average")
        records.append(
            {
                "row": label,
                "tool": "trtllm-bench",
                "tool_version": text_of(engine, "version"),
                "model": text_of(engine, "model"),
                "weight_format": text_of(engine, "quantization") or text_of(engine, "dtype"),
                "cache_k": text_of(engine, "kv_cache_dtype"),
                "cache_v": text_of(engine, "kv_cache_dtype"),
                "device": text_of(value, "machine", "name"),
                "device_count": positive(number(value, "world_info", "world_size")),
                **_layout(get(value, "world_info")),
                "backend": "tensorrt-llm",
                "phase": "serving",
                "concurrency": positive(number(value, "request_info", "avg_num_concurrent_requests")),
                "prompt_tokens": positive(number(value, "request_info", "avg_input_length")),
                "output_tokens": positive(number(value, "request_info", "avg_output_length")),
                "tokens_per_s": positive(number(speed, "system_output_throughput_tok_s")),
                "tokens_per_s_basis": "device",
                **times,
                "e2e_s": times["e2e_s"] if known(float(str(times["e2e_s"]))) else whole,
                "statistic": times.get("statistic", "mean"),
                "requests": positive(number(value, "request_info", "num_requests")),
                "acceptance": accepted,
                "tokens_per_pass": positive(
                    number(value, "decoding_stats", "acceptance_length_percentiles", "average")
                ),
                "clock": "server",
                "note": "concurrency as measured (mean)",
                "conversion": "system output throughput as it is: output tokens of all requests; TPOT leaves out the first token",
            }
        )
    return collect("trtllm-bench json", source, records)


def _layout(world: Json) -> Record:
    """How the GPUs share the model, where experts are not spread over them."""
    if number(world, "ep_size") > 1:
        return {}
    return {
        "tensor_parallel": positive(number(world, "tp_size")),
        "pipeline_parallel": positive(number(world, "pp_size")),
    }


READERS: Final[tuple[Reader, ...]] = (JsonReader("trtllm-bench json", _is_report, _read_reports),)
