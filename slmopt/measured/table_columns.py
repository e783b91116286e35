"""The columns of the one table: their units, types and meanings.

The timed part
--------------
Every row times one stretch of work, and three columns say what it was, per sequence:

* ``depth_tokens`` were in the cache before the clock started,
* ``prompt_tokens`` were fed while it ran,
* ``output_tokens`` were generated while it ran.

So a decode row after a prompt of 512 tokens has depth 512 and prompt 0, and a serving row that times whole requests has
its prompt in ``prompt_tokens``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["category", "str", "float64", "datetime64[us]"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table: its name, unit, pandas dtype and meaning."""

    name: str
    unit: str
    dtype: Kind
    meaning: str


COLUMNS: Final[tuple[Column, ...]] = (
    Column(
        "source_file", "", "category", "the file, or the archive and the file inside it, that held the row"
    ),
    Column(
        "row",
        "",
        "str",
        "where the user finds it: 'row 3' of a sheet (blank lines and headers not counted), 'line 5', 'item 2'",
    ),
    Column("tool", "", "category", "the benchmark that wrote the number"),
    Column("tool_version", "", "category", "its version or build, as written"),
    Column("model", "", "category", "the model's name as written, folders and file endings removed"),
    Column("model_file", "", "category", "the model file as written"),
    Column("model_type", "", "category", "architecture, size and quantisation as the tool described them"),
    Column("weight_bytes", "B", "float64", "size of the weights"),
    Column("params", "parameters", "float64", "total parameters, active or not"),
    Column("weight_format", "", "category", "weight format, such as Q4_K_M, F16, fp8"),
    Column("cache_k", "", "category", "format of cached keys, such as F16, Q8_0"),
    Column("cache_v", "", "category", "format of cached values"),
    Column("device", "", "category", "the device that did the work, as written"),
    Column("device_count", "devices", "float64", "how many of them"),
    Column(
        "tensor_parallel",
        "devices",
        "float64",
        "devices that share every layer, as stated; NaN: not stated, or experts are spread",
    ),
    Column("pipeline_parallel", "devices", "float64", "stages of layers, one after the other, as stated"),
    Column("backend", "", "category", "compute back end or serving engine, such as CUDA, CPU, vllm"),
    Column("threads", "threads", "float64", "CPU threads"),
    Column("gpu_layers", "layers", "float64", "layers on the GPU; -1 or more than the model has: all"),
    Column(
        "cpu_moe_layers",
        "layers",
        "float64",
        "layers whose experts stay in main memory, counted from the first",
    ),
    Column("flash_attention", "", "category", "'on', 'off' or 'auto'"),
    Column(
        "chunk_tokens",
        "tokens",
        "float64",
        "most prompt tokens a pass takes (micro-batch); not a batch of users",
    ),
    Column(
        "phase",
        "",
        "category",
        "'decode', 'prefill', 'mixed' (both inside one clock) or 'serving' (whole requests)",
    ),
    Column("batch", "sequences", "float64", "sequences that a pass advances together"),
    Column(
        "concurrency",
        "sequences",
        "float64",
        "requests in flight, as set or as measured; NaN: not stated or unlimited",
    ),
    Column("prompt_tokens", "tokens/sequence", "float64", "prompt tokens fed in the timed part (mean)"),
    Column("output_tokens", "tokens/sequence", "float64", "tokens generated in the timed part (mean)"),
    Column("depth_tokens", "tokens/sequence", "float64", "tokens cached before the timed part"),
    Column("cached_tokens", "tokens/sequence", "float64", "prompt tokens that a prefix cache supplied"),
    Column(
        "tokens_per_s",
        "tokens/s",
        "float64",
        "speed on the basis of the next column: output tokens, but prompt tokens where the phase is prefill",
    ),
    Column(
        "tokens_per_s_basis",
        "",
        "category",
        "'sequence' (one user's stream), 'device' (all sequences on all devices together), 'mixed' (prompt and output tokens of all sequences)",
    ),
    Column("ttft_s", "s", "float64", "time to first token"),
    Column("tpot_s", "s", "float64", "time per output token after the first, of one sequence"),
    Column(
        "itl_s",
        "s",
        "float64",
        "gap between stream chunks; a chunk may hold several tokens, so never a decode time",
    ),
    Column("e2e_s", "s", "float64", "time of a whole request, or of the whole timed part"),
    Column(
        "statistic",
        "",
        "category",
        "which statistic the four times are: 'mean', 'p50' or 'single' (one request)",
    ),
    Column("ttft_p50_s", "s", "float64", "median time to first token"),
    Column("ttft_p95_s", "s", "float64", "95th percentile"),
    Column("ttft_p99_s", "s", "float64", "99th percentile"),
    Column("tpot_p50_s", "s", "float64", "median time per output token"),
    Column("tpot_p95_s", "s", "float64", "95th percentile"),
    Column("tpot_p99_s", "s", "float64", "99th percentile"),
    Column("repeats", "runs", "float64", "repetitions behind the number"),
    Column(
        "spread",
        "1",
        "float64",
        "standard deviation of the repetitions' speed over its mean; NaN where one run tells nothing",
    ),
    Column("requests", "requests", "float64", "requests that completed"),
    Column(
        "failures",
        "requests",
        "float64",
        "requests that failed, silent ones included where the file shows them",
    ),
    Column("acceptance", "1", "float64", "share of drafted tokens accepted (speculation)"),
    Column("draft_tokens", "tokens/pass", "float64", "tokens drafted a pass (speculation)"),
    Column(
        "tokens_per_pass", "tokens/pass", "float64", "mean tokens a verification pass produced (speculation)"
    ),
    Column(
        "timestamp", "", "datetime64[us]", "when it ran: UTC where the file names its zone, else as written"
    ),
    Column(
        "clock",
        "",
        "category",
        "'server' (timed where the model runs) or 'client' (network and queue included)",
    ),
    Column("note", "", "category", "what a reader noticed about this row"),
    Column("conversion", "", "category", "how the tool's numbers became these"),
)

NAMES: Final[tuple[str, ...]] = tuple(column.name for column in COLUMNS)
DTYPES: Final[dict[str, Kind]] = {column.name: column.dtype for column in COLUMNS}
