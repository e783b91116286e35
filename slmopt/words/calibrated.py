"""What a scenario says of the fit that its estimates rest on."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.specs.calibration import Calibration
from slmopt.words import numbers as n


def measured_range(fit: Calibration) -> str:
    """What was measured: beyond it a prediction is an extrapolation."""
    giga, unit = n.giga()
    parts = [
        f"batch {_ends(fit.batch)}",
        f"context {_ends(fit.context)} tokens",
        f"weights {_ends([size * 1e9 / giga for size in fit.weights_gb])} {unit}",
    ]
    if fit.prompt is not None:
        parts.append(f"prompt {_ends(fit.prompt)} tokens")
    return ", ".join(parts)


def _ends(pair: Sequence[float]) -> str:
    low, high = (n.trimmed(n.figures(value)) for value in pair)
    return low if low == high else f"{low} to {high}"


def estimate_words(fit: Calibration) -> str:
    """The rates that an estimate takes from a fit, in one line."""
    parts = [f"{n.trimmed(n.figures(fit.bandwidth_gbs))}{n.NBSP}GB/s"]
    if fit.batched_gbs is not None:
        parts.append(f"{n.trimmed(n.figures(fit.batched_gbs))}{n.NBSP}GB/s for more than one token a pass")
    if fit.matrix_tflops is not None:
        parts.append(n.flops_per_s(fit.matrix_tflops * 1e12))
    if fit.attention_tflops is not None:
        parts.append(f"{n.flops_per_s(fit.attention_tflops * 1e12)} for attention")
    if fit.fixed_ms:
        parts.append(f"{n.seconds(fit.fixed_ms / 1e3)} fixed a pass")
    return ", ".join(parts)
