"""Published measurements over several devices: none beats its ceiling, and most lie in the estimate's band."""

from __future__ import annotations

import csv

import pytest

from slmopt import evaluate, scenario
from slmopt.measured.match import match_model
from slmopt.measured.match_device import match_device
from slmopt.specs.library import library
from tests.shared import SHARED

# Llama 3 8B has the shape of its successor.
STREAMED = {"Llama-3-8B": "llama-3.1-8b", "Llama-3-70B": "llama-3-70b"}
FORMATS = {"Q4_K_M": "q4_k_m", "F16": "f16"}
SERVED = {"MXFP4": "mxfp4", "bf16": "bf16", "AWQ-int4": "awq-4-g128"}


def rows(name):
    with (SHARED / "measured" / name).open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if int(row["n_gpu"] or 1) > 1]


def device_of(row):
    return match_device(library().devices, row["device"])


SPLIT = [
    row
    for row in rows("decode_prefill.csv")
    if row["model"] in STREAMED and row["quant"] in FORMATS and device_of(row) is not None
]
SERVING = [
    row
    for row in rows("batch.csv")
    if row["parallelism"].startswith("TP")
    and row["precision"] in SERVED
    and row["batch_or_concurrency"]
    and device_of(row) is not None
    and match_model(library().models, [row["model"]]) is not None
]


def test_llama_cpp_splits_layers_into_a_pipeline():
    """One stream takes the sum of the stages, whatever their number."""
    inside = []
    for row in SPLIT:
        prompt, made = int(float(row["n_prompt"] or 512)), int(float(row["n_gen"] or 128))
        found = evaluate(
            scenario(
                {
                    "model": STREAMED[row["model"]],
                    "device": device_of(row),
                    "weights": FORMATS[row["quant"]],
                    "devices": int(row["n_gpu"]),
                    "parallel": "pipeline",
                    "prompt": prompt,
                    "context": made // 2,
                }
            )
        )
        if row["pp_tok_s"]:
            assert float(row["pp_tok_s"]) <= prompt / float(found.ceiling.prefill.seconds), row["row_id"]
        if row["tg_tok_s"]:
            speed = float(row["tg_tok_s"])
            slow, fast = (found.estimate[level].device_tokens_per_s for level in ("slow", "fast"))
            assert speed <= found.ceiling.device_tokens_per_s, row["row_id"]
            inside.append(0.95 * slow <= speed <= 1.05 * fast)
    assert len(inside) > 100
    assert sum(inside) / len(inside) > 0.8


@pytest.mark.parametrize("row", SERVING, ids=lambda row: row["row_id"])
def test_tensor_parallel_serving_stays_below_its_ceiling(row):
    prompt, output = int(float(row["isl"])), int(float(row["osl"]))
    found = evaluate(
        scenario(
            {
                "model": match_model(library().models, [row["model"]]),
                "device": device_of(row),
                "weights": SERVED[row["precision"]],
                "engine": "vllm",
                "devices": int(row["n_gpu"]),
                "batch": int(float(row["batch_or_concurrency"])),
                "prompt": prompt,
                "output": output,
                "context": prompt + output // 2,
            }
        )
    )
    speed = float(row["output_tok_s"])
    assert speed <= found.ceiling.device_tokens_per_s
    assert speed <= found.estimate["fast"].device_tokens_per_s
