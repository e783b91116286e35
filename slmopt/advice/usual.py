"""What devices of a scenario's class usually reach, against what was entered or fitted for it."""

from __future__ import annotations

from dataclasses import replace

from slmopt.specs.rates import Factors
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.roof import Roof


def usual_factors(setup: Setup) -> Factors:
    """What such devices reach, whatever fractions were entered."""
    plain = setup.scenario.change(
        bandwidth_fraction=None,
        compute_fraction=None,
        fixed_ms=None,
        attention_tflops=None,
        calibration=None,
    )
    return resolve(plain).factors


def slower_than_usual(own: Factors, usual: Factors, side: str) -> bool:
    """Whether less of a side ("bandwidth", "compute") is reached than the slowest tenth of such devices reach."""
    at = getattr(own, side)[1]
    return bool(at < getattr(usual, side)[0])


def best_roof(setup: Setup, roof: Roof, usual: Factors) -> Roof:
    """The roof with what the best tenth of such devices reach, where that is more."""
    own = setup.factors
    bandwidth = max(1.0, usual.bandwidth[2] / own.bandwidth[1])
    compute = max(1.0, usual.compute[2] / own.compute[1])
    return replace(
        roof,
        bandwidth=roof.bandwidth * bandwidth,
        batched_bandwidth=_batched(setup, roof, usual),
        peak=roof.peak * compute,
        attention_peak=max(roof.attention_peak, roof.peak * compute),
    )


def _batched(setup: Setup, roof: Roof, usual: Factors) -> float | None:
    held = roof.batched_bandwidth
    return None if held is None else max(held, usual.bandwidth[2] * setup.bandwidth)
