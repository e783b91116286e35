"""SGLang: bench_serving (JSON lines), bench_one_batch, bench_one_batch_server, bench_offline_throughput.

``input_throughput`` is all input tokens over the run's time, no prefill speed. ``random_*_len`` stand in every line, the
data set random or not. ``total_output_tokens`` counts what was asked for, ``…_retokenized`` what came back; far apart, the
speeds count tokens that a server may never have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, per, positive
from slmopt.measured.readers.vllm import serving_record
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "sglang"


def _is_serving(value: Json) -> bool:
    return has(value, ("total_output_tokens_retokenized", "output_throughput"))


def _read_serving(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        if number(value, "completed") == 0:
            skips.append(Skip(label, "no request completed: every statistic is 0 and means nothing"))
            continue
        record, _ = serving_record(label, value, "sglang bench_serving")
        completed = number(value, "completed")
        notes = [note for note in [str(record["note"])] if note]
        asked, back = number(value, "total_output_tokens"), number(value, "total_output_tokens_retokenized")
        if known(back) and asked > 0 and not 0.8 < back / asked < 1.25:
            notes.append(
                f"{asked:.0f} output tokens by request, {back:.0f} by the text that came back: speeds count the former"
            )
        measured = positive(number(value, "concurrency"))
        if not known(float(str(record["concurrency"]))) and known(measured):
            record["concurrency"] = measured
            notes.append("concurrency as measured (mean)")
        server = get(value, "server_info")
        record |= {
            "model": text_of(server, "model_path") or text_of(value, "model_id"),
            "tool_version": text_of(server, "version"),
            **_layout(server),
            "weight_format": text_of(server, "quantization"),
            "tokens_per_pass": positive(number(value, "accept_length")),
            "cached_tokens": per(number(value, "cached_tokens"), completed),
            "note": "; ".join(notes),
        }
        records.append(record)
    return collect("sglang bench_serving", source, records, skips)


def _layout(server: Json) -> Record:
    """GPUs and how they share the model; replicas by data parallelism have weights of their own, unless attention alone is apart."""
    tensor, stages, copies = (number(server, name) for name in ("tp_size", "pp_size", "dp_size"))
    attention, experts = get(server, "enable_dp_attention") is True, number(server, "ep_size") > 1
    copies = 1.0 if attention or not copies > 1 else copies
    stages = stages if stages > 1 else 1.0
    known_split = not (attention or experts)
    return {
        "device_count": positive(tensor) * stages * copies,
        "tensor_parallel": positive(tensor) if known_split else NAN,
        "pipeline_parallel": stages if known_split and tensor > 0 else NAN,
    }


def _is_batch(value: Json) -> bool:
    return has(value, ("batch_size", "input_len", "output_len")) and any(
        name in value for name in ("prefill_latency", "last_ttft", "latency")
    )


def _read_batch(source: str, items: Sequence[Item]) -> ReadResult:
    """A prefill and a decode row where both were timed, else one row of the whole."""
    records: list[Record] = []
    for label, value in items:
        batch, prompt, output = (number(value, name) for name in ("batch_size", "input_len", "output_len"))
        base: Record = {
            "row": label,
            "backend": "sglang",
            "batch": batch,
            "concurrency": batch,
            "clock": "server",
            "statistic": "single",
        }
        if has(value, ("prefill_latency",)):
            base["tool"] = "sglang bench_one_batch"
            step = positive(number(value, "median_decode_latency"))
            records.append(
                base
                | {
                    "phase": "prefill",
                    "prompt_tokens": prompt,
                    "output_tokens": 0.0,
                    "depth_tokens": 0.0,
                    "tokens_per_s": positive(number(value, "prefill_throughput")),
                    "tokens_per_s_basis": "device",
                    "ttft_s": positive(number(value, "prefill_latency")),
                    "conversion": "prefill_throughput as it is: prompt tokens of the whole batch",
                }
            )
            records.append(
                base
                | {
                    "phase": "decode",
                    "prompt_tokens": 0.0,
                    "output_tokens": output,
                    "depth_tokens": prompt,
                    "tokens_per_s": positive(number(value, "median_decode_throughput")),
                    "tokens_per_s_basis": "device",
                    "tpot_s": step,
                    "statistic": "p50",
                    "conversion": "median_decode_latency is a step, and gives each sequence a token; throughput is of the whole batch",
                }
            )
            continue
        records.append(
            base
            | {
                "tool": "sglang bench_one_batch_server",
                "phase": "serving",
                "prompt_tokens": prompt,
                "output_tokens": output,
                "tokens_per_s": positive(number(value, "output_throughput")),
                "tokens_per_s_basis": "device",
                "ttft_s": positive(number(value, "last_ttft")),
                "e2e_s": positive(number(value, "latency")),
                "tokens_per_pass": positive(number(value, "acc_length")),
                "cached_tokens": prompt * rate
                if 0 <= (rate := number(value, "cache_hit_rate")) <= 1
                else NAN,
                "clock": "client",
                "conversion": "output_throughput as it is: all sequences together; last_ttft is when the last sequence got its first token",
            }
        )
    return collect("sglang bench_one_batch", source, records)


def _is_offline(value: Json) -> bool:
    return has(
        value,
        ("total_latency", "request_throughput", "input_throughput", "output_throughput", "total_throughput"),
    )


def _read_offline(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    for label, value in items:
        requests = number(value, "successful_requests")
        records.append(
            {
                "row": label,
                "tool": "sglang bench_offline_throughput",
                "backend": "sglang",
                "phase": "mixed",
                "prompt_tokens": per(number(value, "total_input_tokens"), requests),
                "output_tokens": per(number(value, "total_output_tokens"), requests),
                "tokens_per_s": positive(number(value, "output_throughput")),
                "tokens_per_s_basis": "device",
                "e2e_s": positive(number(value, "total_latency")),
                "requests": requests if known(requests) else NAN,
                "statistic": "single",
                "clock": "server",
                "conversion": "output_throughput as it is: output tokens of all requests over the whole run, prefill included",
            }
        )
    return collect("sglang bench_offline_throughput", source, records)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("sglang bench_serving", _is_serving, _read_serving),
    JsonReader("sglang bench_one_batch", _is_batch, _read_batch),
    JsonReader("sglang bench_offline_throughput", _is_offline, _read_offline),
)
