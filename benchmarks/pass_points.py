"""Times the forward pass over a million (batch, context) points in one call.

The points are 1,000 batches by 1,000 contexts, handed over as a column and a row that broadcast. Timed is what a
batching plot asks for: bytes, operations and seconds of a decode step at every point, as a ceiling and as an estimate.
The best of several calls counts: the others tell of a busy machine. Two models: a small dense one, and sixty layers
of every kind at once.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.forward import Group
from slmopt.theory.roofline import roofs, run

POINTS_A_SIDE = 1_000
LIMIT_S = 0.2
# The article's server card and a dense model with grouped heads: both rates are known, so every point has a time.
MODEL = "llama-3.2-1b"
MIXED_LIMIT_S = 0.5
_HEADS = {"heads": 32, "kv_heads": 8, "head_dim": 128}
_LATENT = {"kv_rank": 512, "q_rank": 1536, "nope_dim": 128, "rope_dim": 64, "v_dim": 128}
_EXPERTS = {"experts": 128, "active": 8, "width": 1024, "shared_width": 1024}
_STATE = {"kind": "state", "state_elements": 524_288, "conv_elements": 24_576, "scan_flops": 4_194_304}
MIXED = {
    "id": "mixed-60",
    "name": "60 mixed layers",
    "hidden": 4096,
    "vocab": 128_256,
    "groups": [
        {"count": 20, "attention": {**_HEADS, "window": 1024}, "mlp": {"width": 14_336}},
        {"count": 12, "attention": _HEADS, "moe": _EXPERTS},
        {
            "count": 8,
            "attention": {"heads": 32, "kv_heads": 32, "head_dim": 192, "latent": _LATENT},
            "moe": _EXPERTS,
        },
        {"count": 20, "state": _STATE, "mlp": {"width": 14_336}},
    ],
}
DEVICE = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}


@dataclass(frozen=True)
class Timing:
    """Seconds of a million-point call, and what was asked."""

    what: str
    points: int
    best_s: float
    median_s: float
    limit_s: float


def measure(repeats: int = 7) -> list[Timing]:
    """Times the ceiling and the typical estimate of both models."""
    return [*_measured(MODEL, LIMIT_S, repeats), *_measured(MIXED, MIXED_LIMIT_S, repeats)]


def _measured(model: object, limit_s: float, repeats: int) -> list[Timing]:
    setup = resolve(Scenario.model_validate({"model": model, "device": DEVICE}))
    batch = np.arange(1.0, POINTS_A_SIDE + 1)[:, None]
    context = np.linspace(0.0, 128_000.0, POINTS_A_SIDE)[None, :]
    group = Group(batch=batch, new=1.0, past=context, logits=1.0)
    timings = []
    for level in ("ceiling", "typical"):
        roof = roofs(setup, "decode")[level]
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            result = run(setup, [group], roof)
            shape = np.shape(result.seconds)
            seconds.append(time.perf_counter() - start)
        if math.prod(shape) != POINTS_A_SIDE**2:
            raise RuntimeError(f"the pass returned shape {shape}: not one value for each point")
        timings.append(
            Timing(
                f"{setup.model.name}, {level}",
                math.prod(shape),
                min(seconds),
                float(np.median(seconds)),
                limit_s,
            )
        )
    return timings


def report() -> bool:
    """Prints the timings; returns whether all are below the limit."""
    print(f"Forward pass over {POINTS_A_SIDE:,} batches x {POINTS_A_SIDE:,} contexts in one call")
    timings = measure()
    for timing in timings:
        print(
            f"  {timing.what:<44} best {timing.best_s * 1e3:6.1f} ms   median {timing.median_s * 1e3:6.1f} ms"
            f"   limit {timing.limit_s * 1e3:.0f} ms"
        )
    return all(timing.best_s < timing.limit_s for timing in timings)
