"""vLLM's benchmarks: serve, as JSON, console text and in PyTorch's layout; SGLang's console looks the same.

serve: TTFT to the first stream chunk; TPOT = (latency - TTFT) / (tokens - 1), the first token not counted; ITL is the gap
between chunks, which may hold several tokens. ``output_throughput`` is of all users together. Aggregates are in ms, lists
a request in seconds. The model's card, GPU and formats are not in the file.

A request counts as completed even if no token came back. Where the lists show such silent failures, they are counted as
failures, and the mean TTFT, to which they add zeros, is taken anew from the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from slmopt.measured.readers._base import JsonReader, Reader, SheetReader, TextReader
from slmopt.measured.readers._cells import parse_number, parse_time
from slmopt.measured.readers._delimited import Sheet
from slmopt.measured.readers._json import Item, Json, get, has, number, text_of
from slmopt.measured.readers._records import (
    NAN,
    Record,
    collect,
    is_measured,
    known,
    latencies,
    per,
    positive,
)
from slmopt.measured.table import ReadResult, Skip, concat, empty_rows, result

NAME: Final = "vllm bench"

_CONVERSION: Final = "output_throughput as it is: output tokens of all users together; TPOT leaves out the first token; ITL is the gap between chunks"
_STATISTICS: Final = {"mean": ("mean",), "p50": ("median", "p50"), "p95": ("p95",), "p99": ("p99",)}


def serving_record(label: str, value: Mapping[str, Json], tool: str) -> tuple[Record, list[str]]:
    """One run's row and what was noticed; keys as in vLLM's JSON, with or without ``_ms`` (then in seconds)."""
    in_ms = any(
        name.endswith(("_ttft_ms", "_tpot_ms", "_itl_ms", "_e2el_ms", "_latency_ms")) for name in value
    )
    unit, scale = ("_ms", 1e-3) if in_ms else ("", 1.0)

    def find(quantity: str, statistic: str) -> float:
        for prefix in _STATISTICS[statistic]:
            if known(found := number(value, f"{prefix}_{quantity}{unit}")):
                return found
        return NAN

    end = "e2e_latency" if f"mean_e2e_latency{unit}" in value else "e2el"
    times = latencies(find, scale, {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": end})
    completed, prompts, failed = (
        number(value, "completed"),
        number(value, "num_prompts"),
        number(value, "failed"),
    )
    if not known(failed) and known(prompts) and known(completed):
        failed = max(prompts - completed, 0.0)
    notes, silent = [], 0
    lengths = get(value, "output_lens")
    if isinstance(lengths, list) and lengths and completed > 0:
        silent = _silent(value, lengths, times, completed)
        if silent:
            notes.append(
                f"{silent} of {completed:.0f} completed requests brought no token; counted as failures, and left out of TTFT"
            )
    if known(failed) and failed > 0:
        notes.append(f"{failed:.0f} requests failed")
    rate = text_of(value, "request_rate")
    if rate and rate.lower() not in {"inf", "infinity", "trace"}:
        notes.append(f"{rate} requests a second")
    if number(value, "diffusion_committed_throughput") > 0:
        notes.append("diffusion decoding: a pass commits several tokens")
    served = completed - silent
    drafts = number(value, "spec_decode_num_drafts")
    record: Record = {
        "row": label,
        "tool": tool,
        "tool_version": text_of(value, "vllm_version"),
        "model": text_of(value, "model_id"),
        "device": _device(value),
        **_layout(value),
        "backend": _engine(value),
        "phase": "serving",
        "concurrency": positive(number(value, "max_concurrency")),
        "prompt_tokens": per(number(value, "total_input_tokens"), completed),
        "output_tokens": per(number(value, "total_output_tokens"), served),
        "tokens_per_s": positive(number(value, "output_throughput")),
        "tokens_per_s_basis": "device",
        **times,
        "requests": served,
        "failures": (failed if known(failed) else 0.0) + silent if known(failed) or silent else NAN,
        "acceptance": number(value, "spec_decode_acceptance_rate") / 100,
        "tokens_per_pass": positive(number(value, "spec_decode_acceptance_length")),
        "draft_tokens": per(number(value, "spec_decode_num_draft_tokens"), drafts),
        "timestamp": parse_time(text_of(value, "date")),
        "clock": "client",
        "note": "; ".join(notes),
        "conversion": _CONVERSION,
    }
    return record, notes


def _device(value: Mapping[str, Json]) -> str:
    """The device where whoever ran it added its name (``--metadata``)."""
    names = ("gpu", "gpu_type", "gpu_name", "accelerator", "device", "hardware")
    found = (text_of(value, name) for name in names)
    return next((name for name in found if name and not name.isdigit() and name not in _NO_DEVICES), "")


_NO_DEVICES: Final = {"cuda", "rocm", "cpu", "gpu", "auto", "hpu", "xpu", "tpu"}
"""Kinds of devices, which name none."""


def _layout(value: Mapping[str, Json]) -> Record:
    """GPUs and how they share the model, from added words or from the server's arguments; vLLM's experts are split like
    all else unless asked for otherwise.
    """

    def size(*names: str) -> float:
        found = (positive(number(value, name)) for name in names)
        return next((one for one in found if known(one)), NAN)

    tensor = size("tensor_parallel_size", "tensor_parallel", "tp_size", "tp")
    stages = size("pipeline_parallel_size", "pp_size", "pp")
    copies = size("data_parallel_size", "dp_size", "dp")
    stages, copies = stages if stages > 1 else 1.0, copies if copies > 1 else 1.0
    apart = get(value, "enable_expert_parallel") is True or size("ep", "ep_size", "dcp_size") > 1
    return {
        "device_count": tensor * stages * copies,
        "tensor_parallel": NAN if apart else tensor,
        "pipeline_parallel": NAN if apart or not known(tensor) else stages,
    }


def _engine(value: Mapping[str, Json]) -> str:
    """The engine where the file names it; 'openai' and the like name only the protocol."""
    named = text_of(value, "backend") or text_of(value, "endpoint_type")
    return (
        named
        if named in {"vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy", "deepspeed-mii", "llama.cpp"}
        else ""
    )


def _silent(value: Mapping[str, Json], lengths: list[Json], times: Record, completed: float) -> int:
    """Completed requests without a token; corrects the TTFT in ``times`` for them."""
    sizes = np.array([size if isinstance(size, int | float) else 0 for size in lengths], dtype=float)
    errors = get(value, "errors")
    failed = sum(1 for text in errors if text) if isinstance(errors, list) else 0
    silent = min(max(int((sizes == 0).sum()) - failed, 0), int(completed))
    first = get(value, "ttfts")
    if silent and isinstance(first, list) and len(first) == len(sizes):
        good = np.array(
            [seconds if isinstance(seconds, int | float) else 0 for seconds in first], dtype=float
        )[sizes > 0]
        if len(good):
            times |= {"ttft_s": float(good.mean()), "ttft_p50_s": float(np.median(good))}
            times |= {f"ttft_p{p}_s": float(np.percentile(good, p)) for p in (95, 99)}
    return silent


def _is_serving(value: Json) -> bool:
    return has(value, ("duration", "completed", "request_throughput")) and any(
        name in value
        for name in ("mean_ttft_ms", "median_ttft_ms", "mean_ttft", "median_ttft", "mean_e2el_ms")
    )


def _read_serving(source: str, items: Sequence[Item]) -> ReadResult:
    return read_runs(
        "vllm bench serve", source, [(label, value, "vllm bench serve") for label, value in items]
    )


def read_runs(form: str, source: str, runs: Sequence[tuple[str, Mapping[str, Json], str]]) -> ReadResult:
    """Rows from runs with vLLM's keys; runs in which nothing completed are left out, since all their numbers are 0."""
    records: list[Record] = []
    skips: list[Skip] = []
    warnings: list[str] = []
    for label, value, tool in runs:
        if number(value, "completed") == 0:
            failed = (
                number(value, "failed") if known(number(value, "failed")) else number(value, "num_prompts")
            )
            how = f"all {failed:.0f} requests failed" if failed > 0 else "no request completed"
            skips.append(Skip(label, f"{how}: every statistic is 0 and means nothing"))
        elif number(value, "run_number") < 0:
            skips.append(Skip(label, "a warm-up run of a sweep"))
        else:
            record, notes = serving_record(label, value, tool)
            if is_measured(record):
                warnings += [f"{source}: {note}" for note in notes if "brought no token" in note]
            records.append(record)
    return collect(form, source, records, skips, warnings)


def _is_pytorch(value: Json) -> bool:
    return has(value, ("benchmark", "model", "metric")) and has(value["metric"], ("benchmark_values",))


def _read_pytorch(source: str, items: Sequence[Item]) -> ReadResult:
    """One metric an object; those of one model and its arguments belong to one run."""
    runs: dict[str, dict[str, Json]] = {}
    labels: dict[str, str] = {}
    for label, value in items:
        model = text_of(value, "model", "name")
        arguments = get(value, "benchmark", "extra_info", "args")
        key = f"{model} {sorted(arguments.items(), key=str) if isinstance(arguments, dict) else ''}"
        run = runs.setdefault(key, {"model_id": model})
        labels.setdefault(key, label)
        for more in (arguments, get(value, "metric", "extra_info")):
            if isinstance(more, dict):
                run.update(more)
        values = get(value, "metric", "benchmark_values")
        if isinstance(values, list) and values:
            run[text_of(value, "metric", "name")] = values[0]
    return read_runs(
        "vllm bench serve, pytorch json",
        source,
        [(labels[key], run, "vllm bench serve") for key, run in runs.items()],
    )


def _is_sweep(sheet: Sheet) -> bool:
    return {"run_number", "completed", "request_throughput", "total_token_throughput"} <= set(sheet.header)


def _read_sweep(sheet: Sheet) -> ReadResult:
    """A sweep's summary: a run a row under the keys of its JSON, behind a column of numbers without a name."""
    runs: list[tuple[str, Mapping[str, Json], str]] = [
        (label, dict(zip(sheet.header, row, strict=True)), "vllm bench sweep") for label, row in sheet.each()
    ]
    done = read_runs("vllm bench sweep csv", sheet.source, runs)
    return concat([done, result("", sheet.source, empty_rows(), sheet.skips)])


_START: Final = re.compile(r"=+ (?:Offline |Online )?Serving Benchmark Result =+")
_LINE: Final = re.compile(r"^[# ]*([A-Z][\w ./()%-]*?)\s*:\s+(\S+)\s*$", re.MULTILINE)
_ARGUMENT: Final = re.compile(r"\b(?:model|model_id|served_model_name)='([^']+)'")
_LABELS: Final = {
    "successful requests": "completed", "failed requests": "failed", "benchmark duration (s)": "duration",
    "maximum request concurrency": "max_concurrency", "max request concurrency": "max_concurrency", "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens", "request throughput (req/s)": "request_throughput",
    "output token throughput (tok/s)": "output_throughput", "traffic request rate": "request_rate", "backend": "backend",
    "acceptance rate (%)": "spec_decode_acceptance_rate", "acceptance length": "spec_decode_acceptance_length",
    "drafts": "spec_decode_num_drafts", "draft tokens": "spec_decode_num_draft_tokens", "accept length": "spec_decode_acceptance_length",
}  # fmt: skip
_TIMES: Final = re.compile(r"^(mean|median|p[\d.]+) (ttft|tpot|itl|e2el|e2e latency) \(ms\)$")


def _is_console(text: str) -> bool:
    return bool(_START.search(text))


def _read_console(source: str, text: str) -> ReadResult:
    starts = [found.end() for found in _START.finditer(text)]
    runs: list[tuple[str, Mapping[str, Json], str]] = []
    before = 0
    for order, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        run: dict[str, Json] = {}
        stop = text.find("\n====", start, end)
        for name, value in _LINE.findall(text[start : stop if stop > 0 else end]):
            key = _LABELS.get(name.strip().lower())
            if found := _TIMES.match(name.strip().lower()):
                key = f"{found[1]}_{found[2].replace(' ', '_')}_ms"
            if key:
                shown = parse_number(value)[0]
                run[key] = shown if known(shown) else value
        if model := _ARGUMENT.findall(text[before:start]):
            run["model_id"] = model[-1]
        runs.append((f"report {order}", run, "vllm bench serve"))
        before = start
    return read_runs("serving benchmark console", source, runs)


READERS: Final[tuple[Reader, ...]] = (
    JsonReader("vllm bench serve pytorch", _is_pytorch, _read_pytorch),
    JsonReader("vllm bench serve", _is_serving, _read_serving),
    SheetReader("vllm bench sweep csv", _is_sweep, _read_sweep),
    TextReader("serving benchmark console", _is_console, _read_console),
)
