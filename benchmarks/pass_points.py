"""Times the forward pass over a million (batch, context) points in one call.

The points are 1,000 batches by 1,000 contexts, handed over as a column and a row that broadcast. Timed is what a
batching plot asks for: bytes, operations and seconds of a decode step at every point, as a ceiling and as an estimate.
The best of several calls counts: the others tell of a busy machine.
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
DEVICE = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}


@dataclass(frozen=True)
class Timing:
    """Seconds of a million-point call, and what was asked."""

    what: str
    points: int
    best_s: float
    median_s: float


def measure(repeats: int = 7) -> list[Timing]:
    """Times the ceiling and the typical estimate."""
    setup = resolve(Scenario.model_validate({"model": MODEL, "device": DEVICE}))
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
            Timing(f"{setup.model.name}, {level}", math.prod(shape), min(seconds), float(np.median(seconds)))
        )
    return timings


def report() -> bool:
    """Prints the timings; returns whether all are below the limit."""
    print(
        f"Forward pass over {POINTS_A_SIDE:,} batches x {POINTS_A_SIDE:,} contexts in one call (limit {LIMIT_S:g} s)"
    )
    timings = measure()
    for timing in timings:
        print(
            f"  {timing.what:<44} best {timing.best_s * 1e3:6.1f} ms   median {timing.median_s * 1e3:6.1f} ms"
        )
    return all(timing.best_s < LIMIT_S for timing in timings)
