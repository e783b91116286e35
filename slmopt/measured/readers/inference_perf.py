"""inference-perf (kubernetes-sigs): stage and summary reports.

Everything is in seconds. Its inter-token latency counted stream chunks until April 2026. The Prometheus summary beside it
is the server's own view, with other keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._json import Item, Json, get, has, number
from slmopt.measured.readers._records import Record, collect, known, latencies, positive
from slmopt.measured.table import ReadResult, Skip


def _is_report(value: Json) -> bool:
    return has(value, ("load_summary", "successes", "failures"))


def _read_reports(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        done = get(value, "successes")
        if number(done, "count") == 0:
            skips.append(Skip(label, "no request succeeded"))
            continue
        server = not has(done, ("latency",))
        tree = done if server else get(done, "latency")

        def find(quantity: str, statistic: str, tree: Json = tree) -> float:
            return number(tree, quantity, {"p50": "median"}.get(statistic, statistic))

        names = {
            "ttft": "time_to_first_token",
            "tpot": "time_per_output_token",
            "itl": "inter_token_latency",
            "e2e": "request_latency",
        }
        speed = (
            number(done, "output_len", "rate")
            if server
            else number(done, "throughput", "output_tokens_per_sec")
        )
        records.append(
            {
                "row": label,
                "tool": "inference-perf",
                "phase": "serving",
                "prompt_tokens": positive(number(done, "prompt_len", "mean")),
                "output_tokens": positive(number(done, "output_len", "mean")),
                "tokens_per_s": positive(speed),
                "tokens_per_s_basis": "device",
                **latencies(find, 1.0, names),
                "requests": number(done, "count"),
                "failures": number(value, "failures", "count"),
                "clock": "server" if server else "client",
                "note": _rate_note(value),
                "conversion": "seconds as they are; output tokens a second of all users together",
            }
        )
    return collect("inference-perf json", source, records, skips)


def _rate_note(value: Json) -> str:
    rate, reached = (
        number(value, "load_summary", "requested_rate"),
        number(value, "load_summary", "achieved_rate"),
    )
    late = number(value, "load_summary", "schedule_delay", "mean")
    notes = []
    if known(rate):
        notes.append(f"{rate:g} requests a second asked for, {reached:.3g} reached")
    if late > 1:
        notes.append(f"the client sent its requests {late:.1f} s late on average")
    return "; ".join(notes)


READERS: Final[tuple[Reader, ...]] = (JsonReader("inference-perf json", _is_report, _read_reports),)
