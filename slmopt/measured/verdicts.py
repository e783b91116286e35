"""The rules of judgement: from a row's share of its ceiling to a verdict, and to the reasons that can explain it.

share = ceiling time / measured time. What is usual comes from reference measurements of the device's class (and the
runtime, where there are enough), through the time that they predict for this very row: fractions of bandwidth and
matrix rate at p10, p50 and p90, and the fixed time of a pass. So a small model, whose passes are short against that
fixed time, is held to less.

================ ==========================================================================================
above_ceiling    share > 1 by more than the row's own spread (1 % where none is stated)
near_ceiling     share ≥ what the best tenth reach, but at least 80 %, and 90 % is always near
typical          share ≥ what all but the slowest tenth reach
below_typical    slower than that
far_below        slower than twice the time of the slowest tenth
unknown          no ceiling, or one side of it is not known and the other explains nothing
================ ==========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

VERDICTS: Final = ("near_ceiling", "typical", "below_typical", "far_below", "above_ceiling", "unknown")

NEAR_AT_LEAST: Final = 0.8
NEAR_ALWAYS: Final = 0.9
FAR: Final = 0.5
NO_SPREAD: Final = 0.01
"""Room for rounded speeds where a file states no spread."""

NOISY: Final = 0.05
"""Relative spread of repeats above which a row is marked."""

SHORT_PASS_S: Final = 3e-3
"""Ideal seconds a pass below which launches decide: such rows reach .26 of bandwidth, longer ones .58 to .80."""

SMALL_WEIGHTS: Final = 512e6
"""Bytes of which a last-level cache may hold a share that shows."""

FEW_TOKENS: Final = 64
"""Tokens of a prefill below which it is no steady matrix product."""

REASONS: Final = (
    "need_device",
    "need_model",
    "need_weights",
    "need_batch",
    "no_length",
    "unlike_devices",
    "experts_shape",
    "no_rate",
    "memory_reached",
    "compute_reached",
    "fast_kernels",
    "active_experts",
    "speculation",
    "prefix_cache",
    "cache_resident",
    "more_devices",
    "wrong_input",
    "skipped_work",
    "short_pass",
    "short_prompt",
    "offload",
    "batch_kernels",
    "threads",
    "kernels",
    "power",
    "queueing",
)
"""Reason codes in the order in which they are told: what is missing, what is reached, what explains, likeliest first."""

BIT: Final = {name: 1 << at for at, name in enumerate(REASONS)}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rules look at, a value a row (``lost`` holds the bits of what is missing)."""

    share: Floats
    p10: Floats
    p90: Floats
    spread: Floats
    compute: Bools
    rate_known: Bools
    prefill: Bools
    serving: Bools
    batch: Floats
    fed: Floats
    pass_s: Floats
    weight_bytes: Floats
    on_cpu: Bools
    offloaded: Bools
    by_count: Bools
    count_assumed: Bools
    speculated: Bools
    lost: Ints


def judge(e: Evidence) -> tuple[Ints, Ints]:
    """Index into ``VERDICTS`` and reason bits of each row."""
    room = np.where(np.isfinite(e.spread), np.maximum(e.spread, NO_SPREAD), NO_SPREAD)
    near = np.clip(e.p90, NEAR_AT_LEAST, NEAR_ALWAYS)
    with np.errstate(invalid="ignore"):
        conditions = [
            (e.lost > 0) | ~np.isfinite(e.share),
            e.share * (1.0 - room) > 1.0,
            e.share >= near,
            e.share >= e.p10,
            # Without a matrix rate the arithmetic of a prefill or of a batch may explain whatever is missing.
            ~e.rate_known & (e.prefill | (e.batch > 1)),
            e.share >= FAR * e.p10,
        ]
    names = ("unknown", "above_ceiling", "near_ceiling", "typical", "unknown", "below_typical")
    verdict = np.select(conditions, [VERDICTS.index(name) for name in names], VERDICTS.index("far_below"))
    return verdict, _reasons(e, verdict)


def _reasons(e: Evidence, verdict: Ints) -> Ints:
    unknown, above, near, typical, below, far = (
        verdict == VERDICTS.index(v)
        for v in ("unknown", "above_ceiling", "near_ceiling", "typical", "below_typical", "far_below")
    )
    slow = below | far
    held = {
        "no_rate": unknown & (e.lost == 0),
        "memory_reached": near & ~e.compute,
        "compute_reached": near & e.compute,
        "fast_kernels": above & e.compute,
        "active_experts": above & e.by_count,
        "speculation": above & ~e.prefill & ~e.speculated,
        "prefix_cache": above & (e.prefill | e.serving),
        "cache_resident": above & ~e.compute & (e.weight_bytes < SMALL_WEIGHTS),
        "more_devices": above & e.count_assumed,
        "wrong_input": above,
        "skipped_work": above,
        "short_pass": (slow | typical) & ~e.prefill & (e.pass_s < SHORT_PASS_S),
        "short_prompt": slow & e.prefill & (e.fed < FEW_TOKENS),
        "offload": slow & e.offloaded,
        "batch_kernels": slow & ~e.prefill & (e.batch > 1),
        "queueing": slow & e.serving,
        "threads": slow & e.on_cpu,
        "kernels": slow,
        "power": slow,
    }
    bits = e.lost.copy()
    for name, where in held.items():
        if where.any():
            bits |= np.where(where, BIT[name], 0)
    return bits


def reason_names(bits: int) -> tuple[str, ...]:
    """The reason codes that are set, in order."""
    return tuple(name for name in REASONS if bits & BIT[name])
