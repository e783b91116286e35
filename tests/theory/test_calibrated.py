"""Estimates with the rates of a fit, by hand: how times join, and that no rate passes its ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.forward import PassCost
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.roofline import estimate_roof

CARD = {"bandwidth_gbs": 100, "peak_tflops": 10, "capacity_gb": 16}


def roof_of(overlap: str | None) -> Roof:
    """1 GB/s, 1 TFLOP/s, attention at 0.5 TFLOP/s, 2 ms a pass; batches read at 0.8 GB/s."""
    return Roof(1e9, 1e12, 0.5e12, 2e-3, "estimate", "", batched_bandwidth=0.8e9, overlap=overlap)  # type: ignore[arg-type]


def cost_of(tokens: float, products_s: float = 3.0) -> PassCost:
    """One second of reading weights and one of reading caches at 1 GB/s, 4 s of attention at its rate."""
    return PassCost(1e9, 1e9, products_s * 1e12, 2e12, tokens=tokens)


@pytest.mark.parametrize(
    ("overlap", "tokens", "seconds"),
    [
        # Reading takes 2 s for one token and 2.5 s for more; products 3 s, attention 4 s.
        (None, 1, max(2.0, 7.0)),
        ("products", 1, max(2.0, 3.0) + 4.0),
        ("products", 8, max(2.5, 3.0) + 4.0),
        ("single", 1, max(2.0, 3.0) + 4.0),
        ("single", 8, 2.5 + 3.0 + 4.0),
        ("none", 1, 2.0 + 3.0 + 4.0),
        ("none", 8, 2.5 + 3.0 + 4.0),
    ],
)
def test_how_times_join(overlap, tokens, seconds):
    found = pass_time(cost_of(tokens), roof_of(overlap))
    assert float(found.seconds) == pytest.approx(seconds + 2e-3)
    assert bool(found.joined) is (overlap == "none" or (overlap == "single" and tokens > 1))


def test_where_reading_takes_longer_than_products_attention_still_follows():
    found = pass_time(cost_of(1, products_s=0.5), roof_of("products"))
    assert float(found.seconds) == pytest.approx(2.0 + 4.0 + 2e-3)
    assert float(found.serial_s) == pytest.approx(6.0 - 4.5)


def test_an_unknown_rate_leaves_reading_alone():
    roof = Roof(1e9, np.nan, np.nan, 0.0, "estimate", "", overlap="none")
    assert float(pass_time(cost_of(1), roof).seconds) == pytest.approx(2.0)


def fitted(**fit: object) -> Scenario:
    made = Calibration.model_validate({"bandwidth_gbs": 60, **fit})
    return scenario({"model": "llama-3.2-1b", "device": CARD, "weights": "q4_k_m", "calibration": made})


def test_a_fit_s_rates_are_the_estimate_s():
    s = fitted(batched_gbs=50, matrix_tflops=4, attention_tflops=2, fixed_ms=3, overlap="single")
    roof = estimate_roof(resolve(s), "decode", "typical")
    assert (roof.bandwidth, roof.batched_bandwidth) == (60e9, 50e9)
    assert (roof.peak, roof.attention_peak) == (4e12, 2e12)
    assert (roof.fixed_s, roof.overlap) == (pytest.approx(3e-3), "single")
    prefill = estimate_roof(resolve(s), "prefill", "typical")
    assert (prefill.peak, prefill.attention_peak) == (4e12, 4e12)


def test_no_rate_of_a_fit_passes_its_ceiling():
    s = fitted(bandwidth_gbs=500, batched_gbs=400, matrix_tflops=40, attention_tflops=30)
    roof = estimate_roof(resolve(s), "decode", "typical")
    assert (roof.bandwidth, roof.batched_bandwidth, roof.peak, roof.attention_peak) == (
        100e9,
        100e9,
        10e12,
        10e12,
    )


def test_what_the_scenario_says_itself_stands():
    s = fitted(batched_gbs=50, matrix_tflops=4, attention_tflops=2, fixed_ms=3)
    own = s.change(bandwidth_fraction=0.5, compute_fraction=0.2, fixed_ms=9.0)
    roof = estimate_roof(resolve(own), "decode", "typical")
    assert (roof.bandwidth, roof.batched_bandwidth) == (pytest.approx(50e9), None)
    assert roof.peak == pytest.approx(2e12)
    assert roof.fixed_s == pytest.approx(9e-3)


def test_without_a_matrix_rate_the_reference_s_stands():
    roof = estimate_roof(resolve(fitted()), "decode", "typical")
    plain = estimate_roof(resolve(fitted().change(calibration=None)), "decode", "typical")
    assert roof.peak == plain.peak
    assert roof.batched_bandwidth is None
    assert roof.fixed_s == 0.0
