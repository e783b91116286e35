"""The reader modules, one a tool, in the order in which they are asked."""

from __future__ import annotations

from typing import Final

from slmopt.measured.readers import (
    batched_bench,
    executorch,
    genai_perf,
    guidellm,
    inference_perf,
    inferencemax,
    json_table,
    litert,
    llama_bench,
    llama_benchy,
    llama_cpp,
    llmd_report,
    llmfit,
    llmperf,
    lm_studio,
    localscore,
    mapping,
    mlc,
    mlperf,
    mlx,
    ollama,
    openvino,
    optimum_benchmark,
    ort_genai,
    own_harness,
    own_load,
    sglang,
    step_times,
    trtllm_bench,
    vllm,
    vllm_offline,
)
from slmopt.measured.readers._base import Reader

MODULES: Final = (
    llama_bench,
    batched_bench,
    llama_benchy,
    llama_cpp,
    inferencemax,  # before vllm, whose keys it borrows
    sglang,  # as above
    vllm_offline,
    vllm,
    genai_perf,
    guidellm,
    inference_perf,
    llmd_report,
    llmperf,
    trtllm_bench,
    optimum_benchmark,
    ollama,
    lm_studio,
    localscore,
    llmfit,
    mlx,
    openvino,
    ort_genai,
    mlc,
    litert,
    mlperf,
    executorch,
    own_harness,
    own_load,
    step_times,
    mapping,
    json_table,  # last: it takes any record with a speed or a latency
)
"""The reader modules, in the order in which they are asked."""

READERS: Final[tuple[Reader, ...]] = tuple(reader for module in MODULES for reader in module.READERS)
