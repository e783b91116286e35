"""Names of what a column may mean, for the mapping form."""

from __future__ import annotations

from typing import Final

FIELD_WORDS: Final = {
    "": "not read",
    "model": "Model",
    "model_file": "Model file",
    "weight_format": "Weight format",
    "params": "Parameters",
    "weight_bytes": "Size of the weights",
    "cache": "Cache format",
    "device": "Device",
    "device_count": "Number of devices",
    "backend": "Engine or back end",
    "tool_version": "Version",
    "threads": "Threads",
    "gpu_layers": "Layers on the GPU",
    "cpu_moe_layers": "Layers with experts in main memory",
    "tensor_parallel": "Devices that share every layer",
    "pipeline_parallel": "Stages of layers",
    "flash_attention": "Flash attention",
    "phase": "Phase (decode, prefill, serving)",
    "test": "Test (pp512, tg128)",
    "batch": "Sequences in a pass",
    "concurrency": "Requests in flight",
    "prompt_tokens": "Prompt tokens",
    "output_tokens": "Output tokens",
    "depth_tokens": "Tokens cached before",
    "cached_tokens": "Prompt tokens from a prefix cache",
    "prefill_speed": "Prefill speed (tokens/s)",
    "decode_speed": "Decode speed (tokens/s)",
    "output_speed": "Output speed, all requests (tokens/s)",
    "total_speed": "Prompt and output speed (tokens/s)",
    "user_speed": "Speed of one user (tokens/s)",
    "speed": "Speed (tokens/s)",
    "ttft": "Time to first token",
    "tpot": "Time per output token",
    "itl": "Gap between chunks",
    "e2e": "Time of a whole request",
    "repeats": "Repeats",
    "spread": "Spread of repeats (of 1)",
    "requests": "Requests that completed",
    "failures": "Requests that failed",
    "acceptance": "Acceptance",
    "draft_tokens": "Draft length",
    "chunk_tokens": "Micro-batch",
    "timestamp": "Time stamp",
    "note": "Label or note",
}
"""Fields that the form offers, most used first within each kind."""

CONSTANT_WORDS: Final = {
    "model": "Model",
    "weight_format": "Weight format",
    "device": "Device",
    "backend": "Engine",
    "phase": "Phase",
    "batch": "Sequences in a pass",
    "prompt_tokens": "Prompt tokens",
    "output_tokens": "Output tokens",
}

LAYOUT_WORDS: Final = {
    "long": "a measurement a row",
    "wide": "one column a batch, test or model",
    "transposed": "a measurement a column",
    "tidy": "a metric and its value a row",
}
