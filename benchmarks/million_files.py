"""Benchmark files of any number of rows, as tools write them: for the limits on a million rows, never kept.

Measured values differ from row to row; names, formats and settings repeat as they do in files of that size.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

_SEED: Final = 7
_STEP: Final = 50_000
"""Rows that are made at once, so that making a file takes no more memory than reading it may."""

MODELS: Final = (
    ("Llama-3.1-8B-Instruct", "Q4_K_M"),
    ("Llama-3.1-8B-Instruct", "Q8_0"),
    ("Llama-3.2-1B-Instruct", "F16"),
    ("Qwen2.5-7B-Instruct", "Q4_0"),
)
DEVICE: Final = "NVIDIA GeForce RTX 4090"


def generic(begin: int, count: int) -> Any:
    """Rows of a table as people keep them themselves: names that are guessed, not this product's own."""
    rng = np.random.default_rng([_SEED, begin])
    which = rng.integers(0, len(MODELS), count)
    batch = rng.choice([1, 2, 4, 8, 16], count)
    speed = np.round(rng.gamma(80.0, 1.0, count) * batch**0.8, 2)
    return pa.table(
        {
            "Model name": pa.array([name for name, _ in MODELS]).take(pa.array(which)),
            "Quantization": pa.array([form for _, form in MODELS]).take(pa.array(which)),
            "GPU": pa.repeat(DEVICE, count),
            "Engine": pa.repeat("llama.cpp", count),
            "Batch size": batch,
            "Input tokens": rng.integers(16, 4096, count),
            "Output tokens": rng.integers(16, 512, count),
            "Throughput (tok/s)": speed,
            "TTFT (ms)": np.round(rng.gamma(9.0, 12.0, count), 1),
            "TPOT (ms)": np.round(1e3 * batch / speed, 3),
        }
    )


_FIXED: Final = {
    "build_commit": "1c1409e1", "build_number": "6865", "cpu_info": "AMD Ryzen 9 7950X 16-Core Processor", "gpu_info": DEVICE,
    "backends": "CUDA", "n_batch": "2048", "n_ubatch": "512", "n_threads": "16", "cpu_mask": "0x0", "cpu_strict": "0",
    "poll": "50", "type_k": "f16", "type_v": "f16", "n_gpu_layers": "99", "n_cpu_moe": "0", "split_mode": "layer", "main_gpu": "0",
    "no_kv_offload": "0", "flash_attn": "1", "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none",
    "use_mmap": "1", "embeddings": "0", "no_op_offload": "0", "no_host": "0",
}  # fmt: skip
_GGUFS: Final = (
    ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llama 8B Q4_K - Medium", 4912898304, 8030261312),
    ("Meta-Llama-3.1-8B-Instruct-Q8_0.gguf", "llama 8B Q8_0", 8532934912, 8030261312),
    ("Llama-3.2-1B-Instruct-F16.gguf", "llama 1B F16", 2479595776, 1235814432),
)


def llama_bench(begin: int, count: int) -> Any:
    """Rows of llama-bench's CSV: every column, each value in quotation marks."""
    rng = np.random.default_rng([_SEED, begin])
    which = rng.integers(0, len(_GGUFS), count)
    decode = rng.random(count) < 0.5
    prompt, output = np.where(decode, 0, rng.choice([128, 512, 2048], count)), np.where(decode, 128, 0)
    depth = rng.choice([0, 1024, 4096, 16384], count)
    nanoseconds = (
        (prompt + output) / np.where(decode, 90.0, 6000.0) * rng.gamma(400.0, 1 / 400.0, count) * 1e9
    ).astype(np.int64)
    spread = rng.gamma(4.0, 0.002, count)
    speed = (prompt + output) / (nanoseconds * 1e-9)
    times = pa.array(1_767_225_600 + begin + np.arange(count)).cast(pa.timestamp("s"))
    told: dict[str, Any] = {name: pa.repeat(text, count) for name, text in _FIXED.items()}
    for at, name in enumerate(("model_filename", "model_type", "model_size", "model_n_params")):
        told[name] = pa.array([str(file[at]) for file in _GGUFS]).take(pa.array(which))
    told |= {
        "n_prompt": pa.array(prompt).cast(pa.string()),
        "n_gen": pa.array(output).cast(pa.string()),
        "n_depth": pa.array(depth).cast(pa.string()),
        "test_time": pc.strftime(times, "%Y-%m-%dT%H:%M:%SZ"),
        "avg_ns": pa.array(nanoseconds).cast(pa.string()),
        "stddev_ns": pa.array((nanoseconds * spread).astype(np.int64)).cast(pa.string()),
        "avg_ts": pa.array(np.round(speed, 6)).cast(pa.string()),
        "stddev_ts": pa.array(np.round(speed * spread, 6)).cast(pa.string()),
    }
    order = [
        *list(_FIXED)[:5], "model_filename", "model_type", "model_size", "model_n_params", *list(_FIXED)[5:],
        "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts",
    ]  # fmt: skip
    return pa.table({name: told[name] for name in order})


_HEAD: Final = (
    '{"slmopt_measure": 1, "model": "Llama-3.1-8B-Instruct", "device": "'
    + DEVICE
    + '", "weights": "Q4_K_M", '
    '"api": "chat", "url": "http://localhost:8080/v1", "seed": 1, "prompt_tokens": 512, "output_tokens": 128, '
    '"prompts_file": null}\n'
)
_REQUEST: Final = (
    '{"slmopt_request": 1, "kind": "timed", "level": "%d at once", "concurrency": %d, "rate": null, "request": %d, '
    '"started": "2026-01-%02dT%02d:%02d:%02d.%03d+00:00", "at_s": %.6f, "waited_s": %.6f, "in_flight": %d, '
    '"ttft_s": %.7f, "e2e_s": %.7f, "tpot_s": %.7f, "chunk_gap_s": %.7f, "prompt_tokens": %d, "output_tokens": %d, '
    '"cached_tokens": 0, "chunks": %d, "error": null}\n'
)


def requests(begin: int, count: int) -> str:
    """Lines of ``slmopt measure``, one a request; some hundred thousand of each level of load."""
    rng = np.random.default_rng([_SEED, begin])
    number = begin + np.arange(count)
    level = np.array([1, 2, 4, 8, 16])[number // 200_000 % 5]
    prompt, output = rng.integers(400, 600, count), rng.integers(64, 192, count)
    tpot = 0.009 * (1 + 0.05 * level) * rng.gamma(100.0, 0.01, count)
    ttft = 0.05 * level * rng.gamma(20.0, 0.05, count)
    at = number * 0.25
    lines = zip(
        level, level, number, 1 + at // 86400 % 28, at // 3600 % 24, at // 60 % 60, at % 60, at * 1000 % 1000, at,
        rng.random(count) * 1e-4, level, ttft, ttft + tpot * (output - 1), tpot, tpot, prompt, output, output,
        strict=True,
    )  # fmt: skip
    return "".join([_REQUEST % line for line in lines])


def _table(make: Callable[[int, int], Any], path: Path, rows: int, delimiter: str, quoted: str) -> None:
    with path.open("wb") as file:
        for begin in range(0, rows, _STEP):
            options = pacsv.WriteOptions(
                include_header=begin == 0,
                delimiter=delimiter,
                quoting_style=quoted,
                quoting_header="none",
            )
            pacsv.write_csv(make(begin, min(_STEP, rows - begin)), file, options)


def _lines(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(_HEAD)
        for begin in range(0, rows, _STEP):
            file.write(requests(begin, min(_STEP, rows - begin)))


def _parquet(make: Callable[[int, int], Any], path: Path, rows: int) -> None:
    with pq.ParquetWriter(path, make(0, 1).schema) as writer:
        for begin in range(0, rows, _STEP):
            writer.write_table(make(begin, min(_STEP, rows - begin)))


KINDS: Final[dict[str, tuple[str, Callable[[Path, int], None]]]] = {
    "own table, CSV": ("table.csv", lambda path, rows: _table(generic, path, rows, ",", "needed")),
    "own table, TSV": ("table.tsv", lambda path, rows: _table(generic, path, rows, "\t", "needed")),
    "own table, Parquet": ("table.parquet", lambda path, rows: _parquet(generic, path, rows)),
    "llama-bench, CSV": (
        "llama-bench.csv",
        lambda path, rows: _table(llama_bench, path, rows, ",", "all_valid"),
    ),
    "requests, JSONL": ("requests.jsonl", _lines),
}
"""For each kind of file its name, and what writes it with so many rows."""
