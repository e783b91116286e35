"""Scenarios at the edges of what is valid, on every page's pictures: numbers or words, never NaN, warning or exception."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slmopt.reports.pictures import PAGES
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate

ATTENTION = {"heads": 64, "kv_heads": 8, "head_dim": 128}
LATENT = {
    "heads": 128, "kv_heads": 128, "head_dim": 192, "latent": {"kv_rank": 512, "q_rank": 1536, "nope_dim": 128, "rope_dim": 64, "v_dim": 128},
}  # fmt: skip
EXPERTS = {"experts": 10_000, "active": 8, "width": 512, "shared_width": 512}


def model(attention: dict[str, Any], count: int = 60, **feed: Any) -> dict[str, Any]:
    group = {"count": count, "attention": attention, **(feed or {"mlp": {"width": 14_336}})}
    return {"id": "m", "name": "m", "hidden": 4096, "vocab": 128_256, "groups": [group]}


BIG = {"bandwidth_gbs": 1e6, "peak_tflops": 1e6, "capacity_gb": 1e6}
SMALL = {"bandwidth_gbs": 1e-3, "peak_tflops": 1e-6, "capacity_gb": 1e-3}
EXTREMES: dict[str, dict[str, Any]] = {
    "one bit": {"weights": {"bits": 1}, "cache_k": {"bits": 1}},
    "64 bits": {"weights": {"bits": 64}, "cache_k": {"bits": 64}},
    "a petabyte a second": {"device": BIG},
    "a megabyte a second": {"device": SMALL},
    "ten million tokens": {"context": 10_000_000, "prompt": 9_000_000},
    "a context of nothing": {"context": 0, "prompt": 1, "output": 1},
    "ten thousand experts": {"model": model(ATTENTION, moe=EXPERTS), "batch": 64},
    "ten thousand experts, latent": {"model": model(LATENT, moe=EXPERTS), "context": 10_000_000, "batch": 1000},
    "a batch of a million": {"batch": 1_000_000},
    "a batch of a million, long": {"batch": 1_000_000, "context": 10_000_000, "device": BIG, "weights": {"bits": 1}},
    "one parameter": {"model": {"params": 1}},
    "10^18 parameters": {"model": {"params": 1e18, "layers": 1000, "kv_heads": 1000, "head_dim": 1000}},
    "a window of one": {"model": model({**ATTENTION, "window": 1}), "context": 10_000_000},
    "one layer of one head of one": {"model": {**model({"heads": 1, "kv_heads": 1, "head_dim": 1}, 1), "hidden": 1, "vocab": 1}},
    "no rate known": {"device": {"bandwidth_gbs": 1e6}, "batch": 1_000_000},
    "no memory known": {"device": {"bandwidth_gbs": 100, "peak_tflops": 10}},
    "all of it shared": {"prompt": 10_000_000, "output": 1, "shared_prefix": 10_000_001, "prefix_hit": 9_999_999, "batch": 1_000_000},
    "drafting at its ends": {"acceptance": 1.0, "draft_tokens": 16, "draft_cost": 1e-9, "batch": 1_000_000},
    "drafts never taken": {"acceptance": 0.0, "draft_tokens": 16, "draft_cost": 100.0},
    "many devices": {"model": model(ATTENTION, moe=EXPERTS), "devices": 1024, "parallel": "tensor", "link_gbs": 1e-3, "link_latency_us": 1e6},
    "experts over devices": {"model": model(ATTENTION, moe=EXPERTS), "devices": 1000, "parallel": "expert", "batch": 1_000_000},
    "a pipeline of its layers": {"model": model(ATTENTION), "devices": 60, "parallel": "pipeline", "batch": 1_000_000},
    "all but the head on the host": {"model": model(ATTENTION, moe=EXPERTS), "gpu_layers": 1, "engine": "llama.cpp", "prompt": 1_000_000},
    "factors at their least": {"bandwidth_fraction": 1e-6, "compute_fraction": 1e-6, "fixed_ms": 1e9},
    "targets out of reach": {"target_ttft_ms": 1e-9, "target_tpot_ms": 1e-9, "target_users": 1_000_000_000},
    "an attention rate of its own": {"attention_tflops": 1e-6, "context": 10_000_000},
}  # fmt: skip
BROKEN = re.compile(r"\b(?:nan|NaN|inf)\b|(?<!^)\bNone\b")


def numbers_of(figure: Any) -> list[float]:
    """All coordinates of a figure's traces that are numbers."""
    found: list[float] = []
    for trace in figure.data:
        for axis in ("x", "y", "base"):
            values = getattr(trace, axis, None)
            if values is not None:
                found += [
                    v
                    for v in np.ravel(np.asarray(values, dtype=object))
                    if isinstance(v, int | float | np.floating)
                ]
    return found


def check(asked: Scenario) -> None:
    for page, pictures in PAGES.items():
        for picture in pictures(asked):
            for text in (picture.title, picture.alt):
                found = BROKEN.search(text)
                assert not found, (page, picture.key, text)
            words = [note.text or "" for note in picture.figure.layout.annotations]
            assert not any(re.search(r"\b(?:nan|inf)\b", word) for word in words), (page, picture.key, words)
            assert not any(math.isinf(value) for value in numbers_of(picture.figure)), (page, picture.key)
            json.loads(picture.figure.to_json() or "")
            if picture.numbers is not None:
                picture.numbers().to_csv(index=False)


@pytest.mark.parametrize("case", EXTREMES)
def test_every_page_draws_an_extreme(case):
    check(scenario(EXTREMES[case]))


@pytest.mark.parametrize("case", EXTREMES)
def test_an_extreme_s_bounds_stay_in_order(case):
    found = evaluate(scenario(EXTREMES[case]))
    for phase in ("decode", "prefill"):
        bound = getattr(found.ceiling, phase)
        levels = [getattr(found.estimate[level], phase).seconds for level in ("fast", "typical", "slow")]
        assert 0 < float(bound.seconds) < math.inf
        for first, then in zip([bound.seconds, *levels], levels, strict=False):
            assert float(first) <= float(then) * (1 + 1e-9)


tens = st.integers(-3, 6).map(lambda n: 10.0**n)


@settings(max_examples=25)
@given(
    st.sampled_from(list(EXTREMES)),
    st.sampled_from(list(EXTREMES)),
    st.fixed_dictionaries(
        {},
        optional={
            "bandwidth_gbs": tens,
            "peak_tflops": tens,
            "weight_bits": st.sampled_from([1, 1.58, 64]),
            "capacity_gb": tens,
        },
    ),
)
def test_extremes_together(first, second, more):
    try:
        asked = scenario({**EXTREMES[first], **EXTREMES[second], **more})
        resolve(asked)
    except SpecError:
        return
    check(asked)
