"""Small llama-bench files in every layout, written by hand for these tests or trimmed from runs made for this project."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

HEADER_2026 = (
    "build_commit,build_number,cpu_info,gpu_info,backends,model_filename,model_type,model_size,model_n_params,n_batch,n_ubatch,"
    "n_threads,cpu_mask,cpu_strict,poll,type_k,type_v,n_gpu_layers,n_cpu_moe,split_mode,main_gpu,no_kv_offload,flash_attn,devices,"
    "tensor_split,tensor_buft_overrides,load_mode,lazy_mode,embeddings,no_op_offload,no_host,repack,fit_target,fit_min_ctx,"
    "n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts"
)

BASE: dict[str, object] = {
    "build_commit": "0c1e57098", "build_number": 1, "cpu_info": "AMD EPYC", "gpu_info": "", "backends": "CPU",
    "model_filename": "models/smollm2-135m-Q8_0.gguf", "model_type": "llama 256M Q8_0", "model_size": 143025408,
    "model_n_params": 134515008, "n_batch": 2048, "n_ubatch": 512, "n_threads": 2, "cpu_mask": "0x0", "cpu_strict": 0, "poll": 50,
    "type_k": "f16", "type_v": "f16", "n_gpu_layers": -1, "n_cpu_moe": 0, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": 0,
    "flash_attn": 0, "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none", "load_mode": "none",
    "lazy_mode": "auto", "embeddings": 0, "no_op_offload": 0, "no_host": 0, "repack": 1, "fit_target": 0, "fit_min_ctx": 0,
    "n_prompt": 0, "n_gen": 32, "n_depth": 1024, "test_time": "2026-11-29T15:54:00Z", "avg_ns": 367487393, "stddev_ns": 8484015,
    "avg_ts": 87.101029, "stddev_ts": 2.010852,
}  # fmt: skip
"""A decode row of this project's own sweep."""

PREFILL = BASE | {
    "n_prompt": 128, "n_gen": 0, "avg_ns": 376658005, "stddev_ns": 22762198, "avg_ts": 340.452493, "stddev_ts": 20.574212,
}  # fmt: skip
MIXED = BASE | {
    "n_prompt": 512,
    "n_gen": 128,
    "n_depth": 0,
    "avg_ns": 2_000_000_000,
    "avg_ts": 320.4,
    "stddev_ts": 1.0,
}


def csv_text(rows: Sequence[Mapping[str, object]], header: str = HEADER_2026) -> str:
    """As ``-o csv`` writes: the header bare, every value in quotes."""
    lines = [
        ",".join('"' + str(row[name]).replace('"', '""') + '"' for name in header.split(",")) for row in rows
    ]
    return "\n".join([header, *lines]) + "\n"


def jsonl_text(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(with_samples(row)) + "\n" for row in rows)


def with_samples(row: Mapping[str, object]) -> dict[str, object]:
    speed = float(str(row["avg_ts"]))
    return {
        **row,
        "cpu_strict": False,
        "flash_attn": False,
        "samples_ns": [row["avg_ns"]] * 3,
        "samples_ts": [speed] * 3,
    }


def sql_text(rows: Sequence[Mapping[str, object]], table: str = "llama_bench") -> str:
    names = list(rows[0])
    kinds = ",\n".join(f"  {name} TEXT" for name in names)
    inserts = [
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(chr(39) + str(row[name]) + chr(39) for name in names)});"
        for row in rows
    ]
    return f"CREATE TABLE IF NOT EXISTS {table} (\n{kinds}\n);\n\n" + "\n".join(inserts) + "\n"


MARKDOWN = """\
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA Test 9000, compute capability 9.9, VMM: yes
| model                          |       size |     params | backend    | ngl | n_ubatch | type_k | fa |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | -------: | -----: | -: | --------------: | -------------------: |
| llama 1B Q4_K - Medium         | 762.81 MiB |     1.24 B | CUDA       |  99 |     1024 |   q8_0 |  1 |           pp512 |    5,007.64 ± 100.20 |
| llama 1B Q4_K - Medium         | 762.81 MiB |     1.24 B | CUDA       |  99 |     1024 |   q8_0 |  1 |   tg128 @ d4096 |        192.59 ± 1.50 |
| llama 1B Q4_K - Medium         | 762.81 MiB |     1.24 B | CUDA       |  99 |     1024 |   q8_0 |  1 |     pp512+tg128 |        800.00 ± 0.00 |
| llama 1B Q4_K - Medium         | 762.81 MiB |     1.24 B | CUDA       |  99 |     1024 |   q8_0 |  1 |           tg128 |                  nan |

build: 0c1e57098 (6865)
"""
