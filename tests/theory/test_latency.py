"""What a user waits for: the steps of a reply one by one, prefix hits, very long replies."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import evaluate, scenario
from slmopt.specs.setup import resolve
from slmopt.theory import latency as latency_module
from slmopt.theory.first_token import compute_bound_from, longest_prompt
from slmopt.theory.interference import chunked, whole
from slmopt.theory.latency import decode_step, prefill, time_per_token
from slmopt.theory.roofline import LEVELS, ceiling_roof, estimate_roof
from tests.strategies import few, scenarios

LARGE = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}
CARD = {"bandwidth_gbs": 2000, "peak_tflops": 400}
LLAMA = "llama-2-7b"


@few
@given(scenarios(), st.integers(1, 40))
def test_a_reply_is_its_first_token_and_every_step_after_it(s, output):
    s = s.change(output=output, context=10**6)
    result = evaluate(s)
    for phases in (result.ceiling, result.typical):
        steps = [
            float(decode_step(result.setup, phases.decode_roof, None, float(s.prompt + i - 1)).seconds)
            for i in range(1, output)
        ]
        assert phases.latency.ttft_s == phases.prefill.seconds
        assert phases.latency.reply_s == pytest.approx(phases.latency.ttft_s + math.fsum(steps), rel=1e-12)
        if steps:
            assert phases.latency.tpot_s == pytest.approx(math.fsum(steps) / len(steps), rel=1e-12)
        else:
            assert math.isnan(phases.latency.tpot_s)


def test_mean_step_of_the_large_model_in_exact_fractions():
    """Steps i = 1 … 199 with past = 1000 + i − 1, each 14 GB and 524,288 bytes a cached token at 2 TB/s."""
    s = scenario({"model": LARGE, "device": CARD, "weights": {"bits": 16}, "prompt": 1000, "output": 200})
    total = sum(Fraction(14 * 10**9 + 524_288 * (1000 + i - 1), 2 * 10**12) for i in range(1, 200))
    found = evaluate(s).ceiling.latency
    assert found.tpot_s == pytest.approx(float(total / 199), rel=1e-13)
    assert found.reply_s == pytest.approx(float(total + Fraction(35, 1000)), rel=1e-13)


def test_a_reply_of_one_token_is_the_prefill():
    s = scenario({"model": LARGE, "device": CARD, "weights": {"bits": 16}, "output": 1})
    found = evaluate(s).ceiling.latency
    assert found.reply_s == found.ttft_s
    assert math.isnan(found.tpot_s)


def test_a_batch_decodes_together_but_prefills_one_by_one():
    s = scenario({"model": LARGE, "device": CARD, "weights": {"bits": 16}, "output": 2, "prompt": 100})
    one, many = (evaluate(s.change(batch=batch)).ceiling.latency for batch in (1, 64))
    assert many.ttft_s == one.ttft_s
    assert many.tpot_s == pytest.approx((14e9 + 64 * 100 * 524_288) / 2e12, rel=1e-12)


def test_very_long_replies_are_sampled_without_a_visible_error(monkeypatch):
    model = {
        "hidden": 64,
        "vocab": 100,
        "groups": [
            {"count": 2, "attention": {"heads": 4, "kv_heads": 2, "head_dim": 16, "window": 700}},
            {"count": 1, "attention": {"heads": 4, "kv_heads": 2, "head_dim": 16}},
        ],
    }
    setup = resolve(scenario({"model": model, "device": CARD, "prompt": 100, "output": 50_001}))
    roof = ceiling_roof(setup, "decode")
    exact = time_per_token(setup, roof)
    monkeypatch.setattr(latency_module, "MOST_STEPS", 5_000)
    assert time_per_token(setup, roof) == pytest.approx(exact, rel=1e-6)


@few
@given(scenarios(), st.integers(2, 30_000))
def test_a_longer_hit_leaves_less_to_compute(s, prompt):
    setup = resolve(s)
    hits = np.unique(np.linspace(0, prompt - 1, 9).round())
    for roof in (ceiling_roof(setup, "prefill"), estimate_roof(setup, "prefill", "typical")):
        times = prefill(setup, roof, float(prompt), hits)
        assert np.all(np.diff(times.compute_s) <= 1e-12 * times.compute_s[:-1])
        assert np.all(np.diff(times.cost.flops) <= 1e-12 * times.cost.flops[:-1])
        alone = prefill(setup, roof, 1.0, 0.0)
        assert times.compute_s[-1] >= alone.compute_s * (1 - 1e-12)


@pytest.mark.parametrize("model", ["llama-2-7b", "llama-3.2-1b", "article-7b"])
def test_a_prefix_hit_never_raises_prefill_time_on_the_articles_devices(model):
    for device in ("article-50gbs", "article-80gb"):
        setup = resolve(scenario({"model": model, "device": device, "weights": {"bits": 16}}))
        for level in (None, *LEVELS):
            roof = ceiling_roof(setup, "prefill") if level is None else estimate_roof(setup, "prefill", level)
            times = prefill(setup, roof, 4096.0, np.arange(4096.0)).seconds
            assert np.all(times <= times[0] * (1 + 1e-12))


def test_prefill_grows_faster_than_its_prompt_once_attention_matters():
    setup = resolve(scenario({"model": LLAMA, "device": CARD, "weights": {"bits": 16}}))
    roof = ceiling_roof(setup, "prefill")
    times = prefill(setup, roof, np.array([1e3, 2e3, 4e3, 8e3, 16e3]), np.zeros(5)).seconds
    growth = times[1:] / times[:-1]
    assert np.all(growth > 2)
    assert np.all(np.diff(growth) > 0)


@few
@given(scenarios(), st.floats(1e-4, 100))
def test_longest_prompt_meets_its_target_and_one_token_more_does_not(s, target):
    setup = resolve(s)
    roof = ceiling_roof(setup, "prefill")
    found = longest_prompt(setup, target)
    if found:
        assert prefill(setup, roof, float(found), 0.0).seconds <= target
    if found is not None:
        assert prefill(setup, roof, found + 1.0, 0.0).seconds > target


def test_compute_bound_from_is_the_ridge_in_tokens():
    # 16-bit weights known by their count: intensity is the prompt's length, so the ridge of 200 is passed at 201.
    s = scenario({"model": LARGE, "device": CARD, "weights": {"bits": 16}})
    assert compute_bound_from(resolve(s)) == 201
    assert compute_bound_from(resolve(s.change(device={"bandwidth_gbs": 50}))) is None


@few
@given(scenarios(), st.integers(1, 4000))
def test_chunks_compute_what_the_whole_prompt_does_and_read_weights_once_each(s, chunk):
    setup = resolve(s.change(batch=1))
    roof = ceiling_roof(setup, "prefill")
    pieces, at_once = chunked(setup, roof, chunk), whole(setup, ceiling_roof(setup, "decode"), roof)
    assert pieces.gap_s <= pieces.ttft_s * (1 + 1e-12)
    assert pieces.ttft_s >= at_once.ttft_s * (1 - 1e-12)
    everything = chunked(setup, roof, s.prompt)
    assert everything.gap_s == pytest.approx(everything.ttft_s, rel=1e-12)
    assert everything.ttft_s <= (at_once.gap_s) * (1 + 1e-9)
    with pytest.raises(ValueError, match="chunk = 0 tokens: it must be at least 1"):
        chunked(setup, roof, 0)
