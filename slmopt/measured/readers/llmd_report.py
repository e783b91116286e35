"""llm-d's benchmark report, versions 0.1 and 0.2: one tree with units over what other tools measured (YAML or JSON)

Its time per output token leaves out the first token, except where the load came from GuideLLM: that tool's own holds it,
and its inter-token latency (a request's mean after the first) stands under TPOT. A rate is of all replicas together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from slmopt.measured.readers._base import JsonReader, Reader
from slmopt.measured.readers._cells import parse_time
from slmopt.measured.readers._json import Item, Json, entries, get, has, number, text_of
from slmopt.measured.readers._records import NAN, Record, collect, known, latencies, positive
from slmopt.measured.table import ReadResult, Skip

NAME: Final = "llm-d report"

_SECONDS: Final = {"s": 1.0, "s/token": 1.0, "ms": 1e-3, "ms/token": 1e-3, "us": 1e-6, "us/token": 1e-6}


def _aggregate(value: Json) -> Json:
    """The part with requests, latency and throughput, in either version; None in other trees."""
    for path in (("results", "request_performance", "aggregate"), ("metrics",)):
        found = get(value, *path)
        if has(found, ("latency", "throughput")) and has(value, ("scenario",)):
            return found
    return None


def _is_report(value: Json) -> bool:
    return _aggregate(value) is not None


def _read_reports(source: str, items: Sequence[Item]) -> ReadResult:
    records: list[Record] = []
    skips: list[Skip] = []
    for label, value in items:
        found = _aggregate(value)
        total, failed = number(found, "requests", "total"), number(found, "requests", "failures")
        if total > 0 and failed >= total:
            skips.append(Skip(label, f"all {total:.0f} requests failed"))
            continue
        records.append(_record(label, value, found) | _scenario(value))
    return collect(NAME, source, records, skips)


def _record(label: str, value: Json, found: Json) -> Record:
    latency = get(found, "latency")
    guide = _tool(value).lower() == "guidellm"

    def find(quantity: str, statistic: str) -> float:
        unit = text_of(latency, quantity, "units")
        return number(latency, quantity, statistic) * _SECONDS.get(unit, NAN)

    names = {"ttft": "time_to_first_token", "e2e": "request_latency"}
    names |= (
        {"tpot": "inter_token_latency"}
        if guide
        else {"tpot": "time_per_output_token", "itl": "inter_token_latency"}
    )
    total, failed = number(found, "requests", "total"), number(found, "requests", "failures")
    speed = number(found, "throughput", "output_token_rate", "mean")
    odd = sorted(
        {
            text_of(latency, name, "units")
            for name in names.values()
            if has(get(latency, name), ("mean",)) and text_of(latency, name, "units") not in _SECONDS
        }
    )
    return {
        "row": label,
        "tool": f"{_tool(value) or 'unknown'}, by llm-d's report",
        "tool_version": text_of(value, "scenario", "load", "standardized", "tool_version"),
        "phase": "serving",
        "prompt_tokens": positive(number(found, "requests", "input_length", "mean")),
        "output_tokens": positive(number(found, "requests", "output_length", "mean")),
        "tokens_per_s": positive(
            speed if known(speed) else number(found, "throughput", "output_tokens_per_sec")
        ),
        "tokens_per_s_basis": "device",
        **latencies(find, 1.0, names),
        "requests": total - (failed if known(failed) else 0.0),
        "failures": failed,
        "timestamp": _start(value),
        "clock": "client",
        "note": f"times in {', '.join(map(repr, odd))} were left out: not a unit of time" if odd else "",
        "conversion": "GuideLLM's inter-token latency (after the first token) stands under TPOT; units as named"
        if guide
        else "units as named; time per output token leaves out the first; output tokens a second of all replicas",
    }


def _tool(value: Json) -> str:
    return text_of(value, "scenario", "load", "standardized", "tool") or text_of(
        value, "scenario", "load", "name"
    )


def _start(value: Json) -> object:
    seconds = number(value, "metrics", "time", "start")
    if 1e9 < seconds < 4e9:
        return np.datetime64(datetime.fromtimestamp(seconds, tz=UTC).replace(tzinfo=None), "us")
    return parse_time(text_of(value, "run", "time", "start"))


def _scenario(value: Json) -> Record:
    """Model, accelerators and engine; devices only where every engine of the stack has the same ones."""
    stack = [get(part, "standardized") for part in entries(value, "scenario", "stack")]
    engines = [part for part in stack if text_of(part, "kind") == "inference_engine"]
    hosts = [get(part, "accelerator") for part in engines] or entries(
        value, "scenario", "host", "accelerator"
    )
    replicas = [number(part, "replicas") for part in engines]
    counts = [
        number(host, "count") * (replica if known(replica) else 1.0)
        for host, replica in zip(hosts, replicas or [1.0] * len(hosts), strict=True)
    ]
    models = {text_of(host, "model") for host in hosts}
    first = engines[0] if engines else None
    users = number(value, "scenario", "load", "standardized", "concurrency")
    return {
        "model": text_of(first, "model", "name") or text_of(value, "scenario", "model", "name"),
        "weight_format": text_of(first, "model", "quantization")
        or text_of(value, "scenario", "model", "quantization"),
        "device": models.pop() if len(models) == 1 else "",
        "device_count": sum(counts) if counts else NAN,
        **_layout(hosts, replicas),
        "backend": text_of(first, "tool") or text_of(value, "scenario", "platform", "engine", 0, "name"),
        "concurrency": positive(users),
    }


def _layout(hosts: Sequence[Json], replicas: Sequence[float]) -> Record:
    """How the accelerators share the model, where one engine without copies holds it and spreads no experts."""
    if len(hosts) != 1 or any(replica > 1 for replica in replicas):
        return {}
    sizes = {name: number(hosts[0], "parallelism", name) for name in ("tp", "pp", "dp", "ep")}
    if sizes["dp"] > 1 or sizes["ep"] > 1:
        return {}
    return {"tensor_parallel": positive(sizes["tp"]), "pipeline_parallel": positive(sizes["pp"])}


READERS: Final[tuple[Reader, ...]] = (JsonReader(NAME, _is_report, _read_reports),)
