"""Fits: rates that made the rows are found again, what rows do not tell is not fitted, and errors are those of what was left out."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.measured import calibration_model as model
from slmopt.measured.calibration import best_fraction, calibrate
from slmopt.measured.calibration_rows import FitRows, passes, usable
from slmopt.measured.detect import read_benchmark
from slmopt.measured.placed import Facts
from slmopt.specs.base import SpecError
from slmopt.specs.calibration import Calibration
from slmopt.specs.library import preset_root
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.latency import decode_group
from slmopt.theory.roofline import estimate_roof, run
from tests.measured.sweeps import DEVICE, HEAD, sweep

SUMMED = Calibration(
    overlap="none", bandwidth_gbs=30, batched_gbs=18, matrix_tflops=0.15, attention_tflops=0.02, fixed_ms=1.5
)
HIDDEN = Calibration(
    overlap="products", bandwidth_gbs=25, matrix_tflops=0.1, attention_tflops=0.015, fixed_ms=0.8
)
SWITCHED = Calibration(overlap="single", bandwidth_gbs=32, matrix_tflops=0.2, fixed_ms=2.0)


def fitted(content: bytes, **facts):
    used = usable(passes(read_benchmark("sweep.csv", content).rows, Facts(device=DEVICE, **facts)))
    return used, calibrate(used.rows)


@pytest.mark.parametrize("made", [SUMMED, HIDDEN, SWITCHED], ids=["summed", "hidden", "switched"])
def test_the_rates_that_made_the_rows_are_found_again(made):
    _, fit = fitted(sweep(made))
    found = fit.calibration
    assert fit.left_out < 0.005
    assert fit.new_model is not None
    assert fit.new_model < 0.01
    assert found.overlap == made.overlap
    for name in ("bandwidth_gbs", "batched_gbs", "matrix_tflops", "attention_tflops", "fixed_ms"):
        expected = getattr(made, name)
        if expected is None:
            assert getattr(found, name) is None
        else:
            assert getattr(found, name) == pytest.approx(expected, rel=0.03)
    assert found.cache_step == 256
    assert (found.batch, found.context) == ((1, 16), (0, 2048))


def test_noise_widens_intervals_that_hold_the_truth():
    _, fit = fitted(sweep(SUMMED, noise=0.05))
    truth = {"bandwidth": 30e9, "batched": 18e9, "matrix": 0.15e12, "attention": 0.02e12, "fixed": 1.5e-3}
    for rate in fit.rates:
        assert rate.low < truth[rate.name] < rate.high
    assert 0.01 < fit.in_sample <= fit.left_out < 0.08


def test_a_few_wrong_rows_move_little():
    lines = sweep(HIDDEN).decode().splitlines()
    *rest, last = lines[7].split(",")
    lines[7] = ",".join([*rest, str(6 * float(last))])
    _, fit = fitted("\n".join(lines).encode())
    assert fit.calibration.bandwidth_gbs == pytest.approx(25, rel=0.05)
    assert fit.calibration.matrix_tflops == pytest.approx(0.1, rel=0.05)


def test_single_steps_tell_no_matrix_rate_and_nothing_of_batches():
    _, fit = fitted(sweep(HIDDEN, batches=[1]))
    assert {"matrix", "batched"} <= set(fit.untold)
    assert fit.calibration.matrix_tflops is None
    assert fit.calibration.batched_gbs is None
    assert fit.left_out < 0.02


def test_one_context_and_one_model_tell_less():
    _, fit = fitted(sweep(HIDDEN, contexts=[0], models=["llama-3.2-1b"]))
    assert fit.new_model is None
    assert {"attention", "fixed"} & set(fit.untold)


def test_a_prefill_s_attention_runs_at_the_matrix_rate():
    _, fit = fitted(sweep(HIDDEN, batches=[1], prompts=[128, 512]))
    assert fit.calibration.matrix_tflops == pytest.approx(0.1, rel=0.03)
    assert fit.calibration.prompt == (128, 512)


def test_an_estimate_with_the_fit_is_what_the_fit_predicts():
    used, fit = fitted(sweep(SUMMED, noise=0.1))
    at = next(
        n
        for n, label in enumerate(used.rows.label)
        if label.startswith("Llama-3.2-1B") and label.endswith("batch 8, context 512")
    )
    setup = resolve(
        scenario(
            {"model": "llama-3.2-1b", "device": DEVICE, "weights": "f16", "calibration": fit.calibration}
        )
    )
    step = run(setup, [decode_group(setup, 8, 512)], estimate_roof(setup, "decode", "typical"))
    # The calibration is rounded to four figures.
    assert float(step.seconds) == pytest.approx(float(fit.predicted_s[at]), rel=1e-3)


def test_no_rate_is_above_the_device_s_own():
    fast = SUMMED.model_copy(update={"overlap": "products", "batched_gbs": None})
    content = sweep(fast, noise=0.02).decode().splitlines()
    rows = [content[0]]
    for line in content[1:]:
        *rest, last = line.split(",")
        rows.append(",".join([*rest, str(float(last) / 3)]))
    _, fit = fitted("\n".join(rows).encode())
    assert fit.calibration.bandwidth_gbs <= 39.8
    assert any(rate.at_ceiling for rate in fit.rates if rate.name == "bandwidth")


def test_too_few_rows_are_refused_in_a_sentence():
    content = f"{HEAD}\nsmollm2-135m-Q8_0.gguf,tg,2,f16,0,1,0,5,0.007\n".encode()
    with pytest.raises(
        SpecError, match=r"1 point of decode or prefill: at least 4 different ones are needed"
    ):
        fitted(content)
    with pytest.raises(SpecError, match="0 points"):
        calibrate(usable(passes(read_benchmark("a.csv", content).rows, Facts())).rows)


def test_one_setting_is_kept_and_the_others_are_told():
    two = sweep(HIDDEN)
    one = [line.replace(",tg,2,", ",tg,1,") for line in two.decode().splitlines()[1:13]]
    used, fit = fitted(two + "\n".join(one).encode() + b"\n")
    assert used.left_out == ((12, "at another setting (1 threads, llama.cpp)"),)
    assert len(fit.points) == len(two.splitlines()) - 1


def test_rows_of_equal_work_are_one_point_at_the_median():
    text = sweep(HIDDEN).decode().splitlines()
    *rest, last = text[1].split(",")
    repeated = [",".join([*rest, str(factor * float(last))]) for factor in (1.5, 1.1)]
    used, _ = fitted("\n".join([*text, *repeated]).encode())
    assert len(used.rows) == len(text) - 1
    assert used.rows.seconds[0] == pytest.approx(1.1 * float(last))


def test_serving_rows_stand_in_only_where_nothing_else_is_timed():
    text = (
        "model,weights,phase,prompt_tokens,output_tokens,concurrency,tpot_ms,engine\n"
        + "\n".join(f"Llama-3.2-1B,F16,serving,128,64,{c},{80 + c},vllm" for c in (1, 2, 4, 8))
        + "\n"
    )
    points = passes(read_benchmark("serve.csv", text.encode()).rows, Facts(device=DEVICE))
    assert points.batch.tolist() == [1, 2, 4, 8]
    assert points.seconds == pytest.approx([0.081, 0.082, 0.084, 0.088])
    both = text + "Llama-3.2-1B,F16,decode,0,64,1,90,vllm\n"
    alone = passes(read_benchmark("both.csv", both.encode()).rows, Facts(device=DEVICE))
    assert alone.seconds == pytest.approx([0.09])


def test_the_own_sweep_is_fitted_as_well_as_is_asked():
    content = (preset_root() / "this_machine" / "step_times_t2.csv").read_bytes()
    used, fit = fitted(content)
    assert fit.left_out <= 0.13
    assert fit.new_model is not None
    assert fit.new_model <= 0.17
    assert fit.in_sample <= fit.left_out
    assert fit.plain is not None
    assert fit.fraction is not None
    assert fit.left_out < 0.5 * fit.fraction < fit.plain
    assert len(used.rows) == 95


def test_the_best_constant_fraction_is_the_best():
    shares = np.array([0.2, 0.5, 0.55, 0.6, 0.9])
    tried = np.linspace(0.1, 1, 2000)
    errors = [np.mean(np.abs(shares / f - 1)) for f in tried]
    assert np.mean(np.abs(shares / best_fraction(shares) - 1)) <= min(errors) + 1e-9


def test_forms_never_leave_arithmetic_to_slow_reading():
    points: FitRows = usable(
        passes(read_benchmark("sweep.csv", sweep(SUMMED)).rows, Facts(device=DEVICE))
    ).rows
    for form in model.forms(points):
        if {"batched", "attention"} & set(form.terms):
            assert "matrix" in form.terms
