"""llama-bench's own columns, whatever file held them, as rows of the one table; see ``llama_bench`` for what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from slmopt.measured.distinct import distinct
from slmopt.measured.pieces import each_piece
from slmopt.measured.readers._cells import Floats, Times, cache_format, ggml_format, model_name
from slmopt.measured.readers._columns import Bools, Columns, Texts, choose, every, map_text, stated
from slmopt.measured.table import ReadResult, make_rows, result

NAME: Final = "llama-bench"

NUMBERS: Final = frozenset(
    [
        "model_size",
        "model_n_params",
        "n_ubatch",
        "n_threads",
        "n_gpu_layers",
        "n_cpu_moe",
        "n_prompt",
        "n_gen",
        "n_depth",
        "avg_ns",
        "avg_ts",
        "stddev_ts",
    ]
)
TEXTS: Final = frozenset(
    [
        "build_commit",
        "build_number",
        "cpu_info",
        "gpu_info",
        "backends",
        "model_filename",
        "model_type",
        "type_k",
        "type_v",
        "f16_kv",
        "split_mode",
        "flash_attn",
        "no_kv_offload",
        "tensor_buft_overrides",
        "cuda",
        "opencl",
        "vulkan",
        "kompute",
        "metal",
        "sycl",
        "rpc",
        "gpu_blas",
        "blas",
    ]
)
_BOOLEANS: Final = {
    "cuda": "CUDA", "vulkan": "Vulkan", "kompute": "Kompute", "sycl": "SYCL", "metal": "Metal", "opencl": "OpenCL", "rpc": "RPC", "gpu_blas": "GPU BLAS", "blas": "BLAS",
}  # fmt: skip
_NEEDED: Final = ("n_prompt", "n_gen", "avg_ns", "avg_ts")
FLASH: Final = {"1": "on", "true": "on", "0": "off", "false": "off", "-1": "auto"}

CONVERSION: Final = {
    "decode": "avg_ts as it is: one sequence, generated tokens only",
    "prefill": "avg_ts as it is: one sequence, prompt tokens only",
    "mixed": "avg_ts as it is: prompt and generated tokens of one run together, so neither a prefill nor a decode speed",
}


def read_columns(form: str, source: str, columns: Columns) -> ReadResult:
    """Rows from llama-bench's own columns, whatever they were stored in."""
    odd = {name: cells for name, cells in columns.odd.items() if cells and name in _NEEDED}
    sound, reasons = _sound(columns)
    columns = columns.keep(sound, reasons)
    prompt, output = columns.number("n_prompt"), columns.number("n_gen")
    speed, depth = columns.number("avg_ts"), columns.number("n_depth")
    decode, prefill = prompt == 0, output == 0
    phase = choose(decode, "decode", choose(prefill, "prefill", "mixed"))
    seconds, tpot, spread = _times(columns)
    device, count, note = _device(columns, decode)
    split = columns.text("split_mode")
    stages, shared = (_says_any(split, words) & (count > 1) for words in (("layer",), ("row", "tensor")))
    rows = make_rows(
        {
            "row": columns.labels,
            "tool": NAME,
            "tool_version": _version(columns),
            "model": map_text(columns.text("model_filename"), model_name),
            "model_file": columns.text("model_filename"),
            "model_type": columns.text("model_type"),
            "weight_bytes": columns.number("model_size"),
            "params": columns.number("model_n_params"),
            "weight_format": map_text(columns.text("model_type"), ggml_format),
            "cache_k": _cache(columns, "type_k"),
            "cache_v": _cache(columns, "type_v"),
            "device": device,
            "device_count": count,
            "tensor_parallel": _shares(shared, stages, count),
            "pipeline_parallel": _shares(stages, shared, count),
            "backend": _backend(columns),
            "threads": columns.number("n_threads"),
            "gpu_layers": columns.number("n_gpu_layers"),
            "cpu_moe_layers": columns.number("n_cpu_moe"),
            "flash_attention": map_text(
                columns.text("flash_attn"), lambda value: FLASH.get(value.lower(), "")
            ),
            "chunk_tokens": columns.number("n_ubatch"),
            "phase": phase,
            "batch": 1.0,
            "concurrency": 1.0,
            "prompt_tokens": prompt,
            "output_tokens": output,
            "depth_tokens": depth if "n_depth" in columns.numbers else every(0.0, len(columns)),
            "tokens_per_s": speed,
            "tokens_per_s_basis": choose(decode | prefill, "sequence", "mixed"),
            "tpot_s": tpot,
            "e2e_s": seconds,
            "statistic": "mean",
            "repeats": columns.number("repeats"),
            "spread": spread,
            "timestamp": columns.times.get("test_time"),
            "clock": "server",
            "note": note,
            "conversion": map_text(phase, lambda value: CONVERSION[value]),
        },
        len(columns),
    )
    warnings = [
        f"{source}: column {name} holds {', '.join(map(repr, cells[:3]))}" for name, cells in odd.items()
    ]
    return result(form, source, rows, columns.skips, warnings)


def _times(columns: Columns) -> tuple[Floats, Floats, Floats]:
    """Seconds of each run, seconds a token where it decodes, and how far its repetitions spread."""
    prompt, output, nanoseconds, speed, deviation = (
        columns.number(name) for name in ("n_prompt", "n_gen", "avg_ns", "avg_ts", "stddev_ts")
    )
    seconds, tpot, spread = (np.empty(len(columns)) for _ in range(3))

    def count(piece: slice) -> None:
        taken = nanoseconds[piece] * 1e-9
        made = output[piece]
        share = deviation[piece] / speed[piece]
        seconds[piece] = taken
        tpot[piece] = np.where(
            (prompt[piece] == 0) & (made > 0), taken / np.where(made > 0, made, np.nan), np.nan
        )
        # One run has deviation 0, which says nothing about the spread.
        spread[piece] = np.where(share > 0, share, np.nan)

    each_piece(len(columns), count)
    return seconds, tpot, spread


def _shares(these: Bools, others: Bools, count: Floats) -> Floats:
    """Among how many devices a row's model is split in one way; 1 where it is in the other, none where nothing is said."""
    if not these.any() and not others.any():
        return every(np.nan, len(count))
    return np.where(these, count, np.where(others, 1.0, np.nan))


def _sound(columns: Columns) -> tuple[Bools, dict[str, Bools]]:
    """Which rows are what their header says, and for the others why not."""
    times = columns.times.get("test_time")
    values = [columns.number(name) for name in _NEEDED]
    bad = np.zeros(len(columns), dtype=bool)

    def look(piece: slice) -> None:
        faults = _faults([value[piece] for value in values], None if times is None else times[piece])
        bad[piece] = np.logical_or.reduce(list(faults.values()))

    each_piece(len(columns), look)
    return ~bad, _faults(values, times) if bad.any() else {}


def _faults(needed: Sequence[Floats], times: Times | None) -> dict[str, Bools]:
    """What can be wrong with rows, and with which it is."""
    prompt, output, nanoseconds, speed = needed
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = speed / ((prompt + output) / (nanoseconds * 1e-9))
    no_number = ~(np.isfinite(prompt) & np.isfinite(output) & np.isfinite(nanoseconds) & np.isfinite(speed))
    whole = (prompt >= 0) & (output >= 0) & (prompt % 1 == 0) & (output % 1 == 0)
    return {
        "a count or speed is no number, so columns may be shifted": no_number,
        "test_time is no date, so columns may be shifted": np.isnat(times)
        if times is not None
        else np.zeros(len(prompt), dtype=bool),
        "n_prompt or n_gen is no whole number, so columns may be shifted": ~whole,
        "the test has no tokens": prompt + output == 0,
        "avg_ts or avg_ns is 0 or below: the test did not run": (speed <= 0) | (nanoseconds <= 0),
        "avg_ts does not follow from avg_ns and the token counts, so columns may be shifted": ~(
            (ratio > 0.98) & (ratio < 20)
        ),
    }


def _version(columns: Columns) -> Texts:
    """'b6865 (1c1409e1)' from build number and commit."""
    number, commit = columns.text("build_number"), columns.text("build_commit")
    codes, first = distinct((number, commit), len(columns))
    names: list[str] = []
    for at in first:
        build = f"b{number.categories[number.codes[at]]}" if number.codes[at] >= 0 else ""
        written = f" ({commit.categories[commit.codes[at]]})" if commit.codes[at] >= 0 else ""
        names.append(f"{build}{written}".strip())
    places = pd.Index([str(at) for at in range(len(names))], dtype="str")
    return map_text(pd.Categorical.from_codes(codes, places), lambda at: names[int(at)])


def _cache(columns: Columns, name: str) -> Texts:
    """Cache format; the first versions had one switch for both halves."""
    if name in columns.texts:
        return map_text(columns.text(name), cache_format)
    return map_text(
        columns.text("f16_kv"),
        lambda value: {"1": "F16", "true": "F16", "0": "F32", "false": "F32"}.get(value, ""),
    )


def _backend(columns: Columns) -> Texts:
    """The back end; until the end of 2024 there was a column for each."""
    if "backends" in columns.texts:
        return columns.text("backends")
    if not any(name in columns.texts for name in _BOOLEANS):
        return columns.text("backends")
    backend: Texts | str = "CPU"
    for name, label in reversed(_BOOLEANS.items()):
        flags = columns.text(name)
        on = map_text(flags, lambda value: "on" if value in {"1", "true"} else "")
        backend = choose(stated(on), label, backend)
    return (
        backend
        if isinstance(backend, pd.Categorical)
        else choose(np.ones(len(columns), dtype=bool), backend, backend)
    )


def _device(columns: Columns, decode: Bools) -> tuple[Texts, Floats, Texts]:
    """Device, how many, and a note where weights lie elsewhere than on it.

    With no layer on the GPU the weights are read by the CPU, which is then the device of a decode row.
    """
    gpu, cpu = columns.text("gpu_info"), columns.text("cpu_info")
    backend = _backend(columns)
    layers = columns.number("n_gpu_layers")
    cpu_only = np.asarray(
        map_text(backend, lambda value: "CPU" if value in {"CPU", "BLAS"} else "").codes >= 0
    )
    on_gpu = stated(gpu) & ~cpu_only
    none_offloaded = on_gpu & (layers == 0)
    names = map_text(gpu, lambda value: _same_devices(value)[0])
    counts = np.array([*(_same_devices(str(value))[1] for value in gpu.categories), np.nan])
    single = columns.text("split_mode")
    alone = np.asarray(map_text(single, lambda value: "one" if value == "none" else "").codes >= 0)
    device = choose(on_gpu & ~(none_offloaded & decode), names, cpu)
    alone |= ~on_gpu | none_offloaded
    count = every(1.0, len(columns)) if alone.all() else np.where(alone, 1.0, counts[gpu.codes])
    moe, overrides = columns.number("n_cpu_moe"), columns.text("tensor_buft_overrides")
    moved = map_text(
        overrides, lambda value: "" if value in {"none", ""} else f"tensors placed by hand: {value}"
    )
    note = choose(none_offloaded, "no layer on the GPU: the CPU reads the weights", moved)
    note = choose(on_gpu & (moe > 0), "expert weights of some layers lie in main memory (n_cpu_moe)", note)
    cache_home = map_text(columns.text("no_kv_offload"), lambda value: "1" if value in {"1", "true"} else "")
    note = choose(
        on_gpu & (cache_home.codes >= 0) & ~stated(note),
        "the cache lies in main memory (no_kv_offload)",
        note,
    )
    return device, count, note


def _says_any(column: Texts, words: tuple[str, ...]) -> Bools:
    """Where a column holds one of these texts."""
    return np.asarray(map_text(column, lambda value: "yes" if value in words else "").codes >= 0)


def _same_devices(value: str) -> tuple[str, float]:
    """'A, A' is two of A; different names stay as they are, and their number is not certain."""
    parts = value.split(", ")
    if len(set(parts)) == 1:
        return parts[0], float(len(parts))
    return value, float("nan")
