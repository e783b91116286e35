"""A scenario evaluated whole, and a million points in one call."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt import SpecError, evaluate, scenario
from slmopt.specs.library import library
from slmopt.specs.setup import resolve
from slmopt.theory.batching import batch_curve
from slmopt.theory.latency import decode_step, prefill
from slmopt.theory.roofline import LEVELS, ceiling_roof, estimate_roof

# One model of each cache kind: windows, sparse, full, latent, chunks, compressed, recurrent, experts, count alone.
MILLION = ["gemma-3-27b", "deepseek-v3.2"]
SMALLER = [
    "llama-2-7b",
    "deepseek-v3",
    "llama-4-scout-17b-16e",
    "deepseek-v4-flash",
    "falcon-h1-7b",
    "gpt-oss-20b",
    "article-7b",
]


@pytest.mark.parametrize(
    ("model", "side"), [*((m, 1000) for m in MILLION), *((m, 60) for m in SMALLER)], ids=str
)
@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
def test_a_grid_of_points_in_one_call_equals_single_calls(model, side, kind):
    setup = resolve(scenario({"model": model, "device": "article-80gb", "weights": {"bits": 8}}))
    roof = ceiling_roof(setup, "decode") if kind == "ceiling" else estimate_roof(setup, "decode", "typical")
    batch = np.geomspace(1, 4096, side).round()
    context = np.geomspace(1, 1e6, side).round()
    curve = batch_curve(setup, roof, batch[:, None], context[None, :])
    assert np.shape(curve.device_tokens_per_s) == (side, side)
    assert np.isfinite(curve.device_tokens_per_s).all()
    assert np.all(np.diff(np.asarray(curve.step.seconds), axis=0) >= 0)
    rng = np.random.default_rng(7)
    for i, j in rng.integers(0, side, size=(40, 2)):
        one = decode_step(setup, roof, float(batch[i]), float(context[j]))
        assert curve.step.seconds[i, j] == pytest.approx(one.seconds, rel=1e-13)
        assert curve.step.cost.flops[i, j] == pytest.approx(one.cost.flops, rel=1e-13)
        assert curve.step.cost.cache_bytes[i, j] == pytest.approx(one.cost.cache_bytes, rel=1e-13)
        assert curve.step.compute_bound[i, j] == one.compute_bound


def test_a_million_prefills_in_one_call_equal_single_calls():
    setup = resolve(scenario({"model": "llama-2-7b", "device": "article-80gb", "weights": {"bits": 8}}))
    roof = ceiling_roof(setup, "prefill")
    prompt = np.linspace(1000, 20_000, 1000).round()[:, None]
    hit = np.arange(1000.0)[None, :]
    times = np.asarray(prefill(setup, roof, prompt, hit).seconds)
    assert times.shape == (1000, 1000)
    for i, j in [(0, 0), (0, 999), (999, 0), (500, 500), (999, 999)]:
        assert times[i, j] == prefill(setup, roof, float(prompt[i, 0]), float(hit[0, j])).seconds


def test_an_evaluation_holds_the_ceiling_and_three_levels_of_the_estimate():
    result = evaluate(scenario({"model": "llama-3.2-1b", "device": "article-50gbs"}))
    assert tuple(result.estimate) == LEVELS
    assert result.typical is result.estimate["typical"]
    assert result.ceiling.decode.kind == result.ceiling.latency.kind == "ceiling"
    assert {p.decode.kind for p in result.estimate.values()} == {"estimate"}
    assert result.ceiling.speculation is None
    assert result.typical.decode.source == result.setup.factors.origin


def test_the_same_question_is_answered_once():
    first = scenario({"model": "llama-3.2-1b", "prompt": 321})
    again = scenario({"model": "llama-3.2-1b", "prompt": 321})
    assert first is not again
    assert evaluate(first) is evaluate(again)
    assert evaluate(first) is not evaluate(first.change(prompt=322))


def test_each_phase_runs_on_its_own_unit():
    units = [
        {"name": "cpu", "peak_tflops": {"any": 1}},
        {"name": "npu", "peak_tflops": {"any": 40}},
    ]
    s = scenario(
        {
            "model": {"params": 1e9},
            "device": {"bandwidth_gbs": 50, "units": units},
            "prefill_unit": "npu",
            "decode_unit": "cpu",
        }
    )
    ceiling = evaluate(s).ceiling
    assert ceiling.prefill_roof.peak == 40e12
    assert ceiling.decode_roof.peak == 1e12
    with pytest.raises(SpecError, match=r"^own device has no unit 'gpu': choose one of cpu, npu\.$"):
        evaluate(s.change(decode_unit="gpu"))


def test_every_preset_can_be_evaluated():
    """Every model on one device, and one model on every device: finite, and never faster than its ceiling."""
    models = [{"model": model, "device": "article-80gb"} for model in library().models]
    devices = [{"model": "llama-3.2-1b", "device": device} for device in library().devices]
    for chosen in (*models, *devices):
        result = evaluate(scenario(chosen))
        assert 0 < result.ceiling.latency.reply_s < np.inf, chosen
        assert result.ceiling.decode.seconds <= result.typical.decode.seconds, chosen
        read, stored = result.ceiling.decode.cost.weight_bytes, result.setup.weight_bytes
        assert 0 < read <= stored * (1 + 1e-12), chosen
        assert result.capacity.max_sequences is None or result.capacity.max_sequences >= 0, chosen
