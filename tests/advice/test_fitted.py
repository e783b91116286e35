"""What-ifs beside a fit: a quicker machine reaches the same share, and another one is not told of by it."""

from __future__ import annotations

import pytest

from slmopt.advice.device_techniques import more_arithmetic, more_bandwidth, more_devices
from slmopt.advice.fitted import with_rates
from slmopt.advice.gains import comparable, gain
from slmopt.advice.search import search
from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate

FIT = Calibration(overlap="none", bandwidth_gbs=600, batched_gbs=400, matrix_tflops=40, attention_tflops=20)
PLAIN = scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "batch": 8})
FITTED = PLAIN.change(calibration=FIT)


def test_factors_are_what_the_fit_reaches():
    setup = resolve(FITTED)
    assert setup.factors.bandwidth == pytest.approx((600 / 1008,) * 3)
    assert setup.factors.compute == pytest.approx((40e12 / setup.decode.estimate,) * 3)
    assert setup.factors.fixed_s == 0
    own = resolve(FITTED.change(bandwidth_fraction=0.5, compute_fraction=0.4, fixed_ms=2.0)).factors
    assert (own.bandwidth[1], own.compute[1], own.fixed_s) == (0.5, 0.4, 2e-3)


def test_twice_the_bandwidth_halves_what_the_fit_reads():
    before, after = (evaluate(s).typical.decode for s in (FITTED, more_bandwidth(FITTED).after))
    assert float(after.memory_s) == pytest.approx(float(before.memory_s) / 2)
    assert float(after.compute_s) == pytest.approx(float(before.compute_s))


def test_twice_the_arithmetic_halves_what_the_fit_computes():
    before, after = (evaluate(s).typical.decode for s in (FITTED, more_arithmetic(FITTED).after))
    assert float(after.compute_s) == pytest.approx(float(before.compute_s) / 2)
    assert float(after.memory_s) == pytest.approx(float(before.memory_s))


def test_the_present_rates_leave_a_fit_as_it_is():
    for name, value in (("bandwidth_gbs", 1008.0), ("peak_tflops", resolve(FITTED).decode.ceiling / 1e12)):
        same = evaluate(with_rates(FITTED, name, value)).typical.decode
        assert float(same.seconds) == pytest.approx(float(evaluate(FITTED).typical.decode.seconds))


def test_more_devices_are_held_against_one_without_the_fit():
    assert gain(FITTED, more_devices(FITTED).after) == gain(PLAIN, more_devices(PLAIN).after)


def test_another_format_keeps_the_fits_rates():
    after = FITTED.change(weights="f16")
    assert comparable(FITTED, after) == after


def test_a_search_over_devices_leaves_the_fit_aside():
    assert search(FITTED).equals(search(PLAIN))
