"""llmperf (ray-project): its summary, and its list of requests.

Seconds. Its inter-token latency holds the time to the first token, so the time per token is made anew from latency, TTFT and
count. A request that does not stream reports its whole latency as one gap, and tells no time per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, latencies, positive
from slmopt.measured.table import ReadResult, Skip


def _is_summary(value: Json) -> bool:
    return has(value, ("num_concurrent_requests",)) and any(
        str(name).startswith("results_ttft_s_") for name in value
    )


def _read_summaries(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:

        def find(quantity: str, statistic: str, value: Json = value) -> float:
            word = "mean" if statistic == "mean" else f"quantiles_{statistic}"
            return number(value, f"results_{quantity}_{word}")

        started, errors = (
            number(value, "results_num_requests_started"),
            number(value, "results_number_errors"),
        )
        if started > 0 and errors >= started:
            skips.append(Skip(label, f"all {errors:.0f} requests failed"))
            continue
        times = latencies(find, 1.0, {"ttft": "ttft_s", "e2e": "end_to_end_latency_s"})
        output = positive(find("number_output_tokens", "mean"))
        ttft, whole = float(str(times["ttft_s"])), float(str(times["e2e_s"]))
        records.append(
            {
                "row": label,
                "tool": "llmperf",
                "tool_version": text_of(value, "version"),
                "model": text_of(value, "model"),
                "phase": "serving",
                "concurrency": positive(number(value, "num_concurrent_requests")),
                "prompt_tokens": positive(find("number_input_tokens", "mean")),
                "output_tokens": output,
                "tokens_per_s": positive(number(value, "results_mean_output_throughput_token_per_s")),
                "tokens_per_s_basis": "device",
                **times,
                "tpot_s": _tpot(ttft, whole, output),
                "requests": positive(number(value, "results_num_completed_requests")),
                "failures": errors,
                "clock": "client",
                "note": f"{errors:.0f} of {started:.0f} requests failed" if errors > 0 else "",
                "conversion": "TPOT from means: (latency - TTFT) / (tokens - 1), since the tool's inter-token latency holds the TTFT",
            }
        )
    return collect("llmperf summary", source, records, skips)


def _tpot(ttft: float, whole: float, output: float) -> float:
    """Time per token after the first [s]; NaN where the answer came in one piece, so that there is nothing to divide."""
    if not (output > 1 and known(ttft) and whole > ttft) or ttft > 0.98 * whole:
        return NAN
    return (whole - ttft) / (output - 1)


def _is_request(value: Json) -> bool:
    return has(value, ("error_code", "inter_token_latency_s", "ttft_s", "end_to_end_latency_s"))


def _read_requests(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        if get(value, "error_code") is not None:
            skips.append(
                Skip(
                    label,
                    f"the request failed ({text_of(value, 'error_code')}): {text_of(value, 'error_msg')[:80]}",
                )
            )
            continue
        ttft, whole, gap = (
            positive(number(value, name))
            for name in ("ttft_s", "end_to_end_latency_s", "inter_token_latency_s")
        )
        output = positive(number(value, "number_output_tokens"))
        in_one = gap > 0.9 * whole
        records.append(
            {
                "row": label,
                "tool": "llmperf",
                "phase": "serving",
                "prompt_tokens": positive(number(value, "number_input_tokens")),
                "output_tokens": output,
                "tokens_per_s": positive(number(value, "request_output_throughput_token_per_s")),
                "tokens_per_s_basis": "sequence",
                "ttft_s": NAN if in_one else ttft,
                "tpot_s": NAN if in_one else _tpot(ttft, whole, output),
                "e2e_s": whole,
                "statistic": "single",
                "clock": "client",
                "note": "not streamed: the whole answer came at once" if in_one else "",
                "conversion": "TPOT = (latency - TTFT) / (tokens - 1); the request's speed is tokens over its whole latency, TTFT included",
            }
        )
    return collect("llmperf requests", source, records, skips)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("llmperf summary", _is_summary, _read_summaries),
    JsonReader("llmperf requests", _is_request, _read_requests),
)
