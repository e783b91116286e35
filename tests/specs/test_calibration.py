"""A calibration as data, and what estimates make of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.specs.base import SpecError
from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.batching import crossover, slopes
from slmopt.theory.evaluation import evaluate
from slmopt.theory.latency import decode_group, decode_step
from slmopt.theory.roofline import ceiling_roof, estimate_roof, run
from slmopt.words.scenario_line import changes

# One layer's worth of numbers that can be followed by hand: 8 GB of weights, 2·10⁹ operations a token in all.
MODEL = {"params": 1e9, "layers": 10, "kv_heads": 8, "head_dim": 64}
DEVICE = {"bandwidth_gbs": 100, "peak_tflops": 10, "capacity_gb": 80}
CALIBRATION = Calibration(
    overlap="none",
    bandwidth_gbs=50,
    batched_gbs=25,
    matrix_tflops=2,
    fixed_ms=3,
    batch=(1, 8),
    context=(0, 1000),
    weights_gb=(1, 3),
    rows=12,
    error=0.116,
)


def question(**values):
    return scenario({"model": MODEL, "device": DEVICE, "weights": {"bits": 16}, **values})


def seconds(made, batch):
    setup = resolve(made)
    return float(decode_step(setup, estimate_roof(setup, "decode", "typical"), batch, 0.0).seconds)


@pytest.mark.parametrize(
    ("overlap", "one", "four"),
    [
        # Weights 2 GB: 40 ms at 50 GB/s, 80 ms at 25; products 1 ms a token at 2 TFLOPS; 3 ms fixed.
        ("none", 40 + 1 + 3, 80 + 4 + 3),
        ("single", 40 + 3, 80 + 4 + 3),
        ("products", 40 + 3, 80 + 3),
    ],
)
def test_times_join_as_the_fit_says(overlap, one, four):
    made = question(calibration=CALIBRATION.model_copy(update={"overlap": overlap}))
    cache_written = 10 * 2 * 8 * 64 * 2  # a token's keys and values
    assert seconds(made, 1.0) == pytest.approx(1e-3 * one + cache_written / 50e9, rel=1e-6)
    assert seconds(made, 4.0) == pytest.approx(1e-3 * four + 4 * cache_written / 25e9, rel=1e-6)


def test_cached_tokens_count_in_steps_of_an_estimate_only():
    stepped = CALIBRATION.model_copy(update={"cache_step": 256})
    setup = resolve(scenario({"model": "llama-3.2-1b", "device": DEVICE, "calibration": stepped}))
    contexts = np.array([0.0, 255.0, 256.0, 511.0])
    typical = run(setup, [decode_group(setup, 1.0, contexts)], estimate_roof(setup, "decode", "typical")).cost
    assert typical.attention_flops[0] == typical.attention_flops[1]
    assert typical.attention_flops[2] == typical.attention_flops[3] == 2 * typical.attention_flops[0]
    best = run(setup, [decode_group(setup, 1.0, contexts)], ceiling_roof(setup, "decode")).cost
    assert len(set(best.attention_flops.tolist())) == 4


def test_what_the_scenario_says_itself_wins():
    made = question(calibration=CALIBRATION, bandwidth_fraction=0.8, compute_fraction=0.5, fixed_ms=1)
    roof = estimate_roof(resolve(made), "decode", "typical")
    assert (roof.bandwidth, roof.batched_bandwidth, roof.peak, roof.fixed_s) == (80e9, None, 5e12, 1e-3)
    assert (
        resolve(made).factors.origin == "entered; fitted to your rows (12 rows, off by 12 % on rows left out)"
    )


@given(
    bandwidth=st.floats(1, 1000),
    rate=st.floats(0.01, 100),
    overlap=st.sampled_from(["none", "single", "products"]),
    batch=st.integers(1, 64),
    context=st.integers(0, 4000),
)
def test_no_estimate_beats_its_ceiling(bandwidth, rate, overlap, batch, context):
    fit = Calibration(overlap=overlap, bandwidth_gbs=bandwidth, matrix_tflops=rate, attention_tflops=rate)
    e = evaluate(question(calibration=fit, batch=batch, context=context))
    for level in ("slow", "typical", "fast"):
        assert float(e.estimate[level].decode.seconds) >= float(e.ceiling.decode.seconds) * (1 - 1e-12)
        assert float(e.estimate[level].prefill.seconds) >= float(e.ceiling.prefill.seconds) * (1 - 1e-12)


def test_predictions_beyond_the_rows_are_marked():
    inside = resolve(
        question(calibration=CALIBRATION.model_copy(update={"prompt": (1, 4000)}), context=500, batch=8)
    )
    assert inside.warnings == ()
    (said,) = resolve(question(calibration=CALIBRATION, context=4000, batch=32)).warnings
    assert said == (
        "The estimate extrapolates beyond the rows that were fitted: batch 32 sequences (measured 1 to 8), "
        "context 4,000 tokens (measured 0 to 1,000), prefill (none measured)."
    )


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"devices": 2}, "2 devices"),
        ({"gpu_layers": 4}, "layers on a host"),
        ({"cpu_moe_layers": 3}, "layers on"),
    ],
)
def test_a_fit_is_not_used_where_it_does_not_apply(more, where):
    """It is of one device with the whole model on it: other scenarios rest on what they would without it."""
    asked = {"model": "qwen3-30b-a3b", "device": "rtx-4090", "batch": 4, **more}
    plain, made = scenario(asked), scenario({**asked, "calibration": CALIBRATION})
    assert made.fit is None
    assert resolve(made).factors == resolve(plain).factors
    assert any(f"with {where}" in said for said in resolve(made).warnings)
    assert "fit not used" in changes(made, resolve(made))
    for level in ("slow", "typical", "fast"):
        with_fit, without = (evaluate(one).estimate[level] for one in (made, plain))
        for phase in ("decode", "prefill"):
            assert float(getattr(with_fit, phase).seconds) == float(getattr(without, phase).seconds)


@pytest.mark.parametrize("overlap", ["none", "single", "products"])
def test_large_batches_approach_the_fits_own_limit(overlap):
    """The line through large batches has what does not hide in it, and reads at their own bandwidth."""
    fit = CALIBRATION.model_copy(update={"overlap": overlap, "attention_tflops": 0.5})
    setup = resolve(question(calibration=fit, context=700))
    roof = estimate_roof(setup, "decode", "typical")
    limit = crossover(setup, roof).throughput_limit
    many = 2.0**36
    assert many / float(decode_step(setup, roof, many).seconds) == pytest.approx(limit, rel=1e-4)
    line = slopes(setup, roof, 700.0)
    assert line.fixed_memory_s == pytest.approx(setup.weight_bytes / 25e9, rel=1e-9)


def test_several_roofs_together_read_batches_faster_too():
    roof = estimate_roof(resolve(question(calibration=CALIBRATION)), "decode", "typical")
    assert roof.times(3.0).batched_bandwidth == pytest.approx(75e9)


def test_text_and_back():
    assert Calibration.parse(CALIBRATION.text()) == CALIBRATION
    assert "cache_step" not in CALIBRATION.text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "the text is no JSON; give what a fit wrote."),
        ("{}", "bandwidth_gbs is missing."),
        ('{"bandwidth_gbs": -1}', "bandwidth_gbs = -1 GB/s: it should be greater than 0."),
        (
            '{"bandwidth_gbs": 1, "batch": [8, 2]}',
            "batch = 8 to 2: the first must not be above the second.",
        ),
    ],
)
def test_a_wrong_text_is_refused_in_a_sentence(text, sentence):
    with pytest.raises(SpecError) as caught:
        Calibration.parse(text)
    assert str(caught.value) == sentence
