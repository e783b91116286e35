"""First tokens against loops over every length, exact ties, and a cold start."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.specs.scenario import scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory.first_token import compute_bound_from, hit_curve, longest_prompt, prompt_curve
from slmopt.theory.latency import prefill, time_per_token
from slmopt.theory.roofline import LEVELS, ceiling_roof, estimate_roof

# A token is 10⁹ operations, a millisecond at 1 TFLOP/s; 1 GB of weights takes 10 ms at 100 GB/s.
COUNTED = {"params": 5e8, "layers": 32, "kv_heads": 4, "head_dim": 64}
CARD = {"bandwidth_gbs": 100, "peak_tflops": 1}


def asked(**more: object) -> Setup:
    return resolve(
        scenario({"model": COUNTED, "device": CARD, "weights": {"bits": 16}, "fixed_ms": 2, **more})
    )


@pytest.mark.parametrize("tokens", [11, 12, 63, 64, 65, 1000])
def test_a_prompt_that_takes_just_as_long_as_the_target_is_in_time(tokens):
    setup = asked()
    # 10⁹ · n / 10¹² is the float of the target itself.
    assert longest_prompt(setup, tokens / 1000) == tokens
    assert longest_prompt(setup, np.nextafter(tokens / 1000, 0)) == tokens - 1
    # A cold start takes its second first.
    cold = asked(residency="cold", storage_gbs=1)
    assert longest_prompt(cold, 1 + tokens / 1000 + 1e-9) == tokens
    assert longest_prompt(cold, tokens / 1000 if tokens < 1000 else 1.0) == 0


def test_curves_are_each_lengths_own_prefill():
    for more, load in (({}, 0.0), ({"residency": "cold", "storage_gbs": 2}, 0.5)):
        setup = asked(prompt=3000, prefix_hit=600, **more)
        for curve, prompt, hit in (
            (prompt_curve(setup), None, 0.2),
            (hit_curve(setup), 3000.0, None),
        ):
            roofs = {"ceiling": ceiling_roof(setup, "prefill")}
            roofs |= {level: estimate_roof(setup, "prefill", level) for level in LEVELS}
            for level, roof in roofs.items():
                line = curve.ceiling if level == "ceiling" else curve.estimate[level]
                for x, y in zip(curve.x[::10], line[::10], strict=True):
                    new, past = (x, x * hit) if hit is not None else (prompt, x)
                    alone = float(prefill(setup, roof, float(new), float(past)).seconds)
                    assert y == pytest.approx(alone + load, rel=1e-12)
    assert prompt_curve(setup).compute_from == compute_bound_from(setup, 0.2)


LAYERED = {
    "hidden": 64, "vocab": 500,
    "groups": [
        {"count": 3, "attention": {"heads": 4, "kv_heads": 2, "head_dim": 16}, "mlp": {"width": 128}},
        {"count": 2, "attention": {"heads": 4, "kv_heads": 2, "head_dim": 16, "window": 40}, "mlp": {"width": 128}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("tflops", [0.01, 0.101, 0.5, 2.1, 7.0, 39.0])
@pytest.mark.parametrize("model", [COUNTED, LAYERED])
def test_the_first_prompt_that_arithmetic_decides_is_found_by_trying_all(model, tflops, share):
    setup = asked(model=model, device={**CARD, "peak_tflops": tflops})
    every = np.arange(1.0, 3000.0)
    bound = np.asarray(prefill(setup, ceiling_roof(setup, "prefill"), every, every * share).compute_bound)
    found = compute_bound_from(setup, share)
    if bound.any():
        assert found == every[np.argmax(bound)]
    else:
        assert found is None or found >= 3000


def test_a_ridge_that_only_the_longest_prompts_pass():
    # 16-bit weights: the ridge is the prompt's length, one tenth of it fed anew.
    card = {"bandwidth_gbs": 1, "peak_tflops": 999.999}
    assert compute_bound_from(asked(model={"params": 5e8}, device=card)) == 1_000_000
    assert compute_bound_from(asked(model={"params": 5e8}, device={**card, "peak_tflops": 1001})) is None


@pytest.mark.parametrize("steps", [199_999, 200_000, 200_001, 777_777, 1_000_000])
def test_a_replys_mean_step_is_the_step_at_its_mean_context_where_time_is_a_line(steps):
    setup = asked(prompt=500, output=steps + 1, cache_k={"bits": 16})
    roof = ceiling_roof(setup, "decode")
    # 64 KiB a cached token beside 1 GB of weights, over the contexts 500 … 499 + steps.
    context = 500 + (steps - 1) / 2
    assert time_per_token(setup, roof) == pytest.approx((1e9 + 32_768 * context) / 100e9, rel=1e-10)
