"""What becomes of a fit when the machine is thought to be quicker: it reaches the same share of what is published."""

from __future__ import annotations

from typing import Literal

from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve


def scaled(s: Scenario, bandwidth: float = 1.0, rate: float = 1.0) -> Calibration | None:
    """The scenario's fit for a machine with so many times the bandwidth and the matrix rate; None without a fit."""
    fit = s.calibration
    if fit is None:
        return None
    times = {
        "bandwidth_gbs": bandwidth,
        "batched_gbs": bandwidth,
        "matrix_tflops": rate,
        "attention_tflops": rate,
    }
    told = {
        name: factor * getattr(fit, name) for name, factor in times.items() if getattr(fit, name) is not None
    }
    return fit.model_copy(update=told)


def with_rates(s: Scenario, name: Literal["bandwidth_gbs", "peak_tflops"], value: float) -> Scenario:
    """The scenario with another bandwidth (GB/s) or matrix rate (TFLOPS), its fit in proportion."""
    if s.calibration is None:
        return s.change(**{name: value})
    setup = resolve(s)
    if name == "bandwidth_gbs":
        return s.change(bandwidth_gbs=value, calibration=scaled(s, bandwidth=value * 1e9 / setup.bandwidth))
    known = setup.decode.ceiling
    more = 1.0 if known is None else value * 1e12 / known
    return s.change(peak_tflops=value, calibration=scaled(s, rate=more))
