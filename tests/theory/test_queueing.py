"""Waiting in closed form, against a queue that is played out request by request."""

import math

import numpy as np
import pytest

from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.latency import time_per_token
from slmopt.theory.queueing import under_load, wait_mean, wait_p95


def played(load: float, requests: int = 400_000) -> np.ndarray:
    """Waits of an M/D/1 queue with a service of 1 s (Lindley's recursion, written as a running maximum)."""
    gaps = np.random.default_rng(7).exponential(1.0 / load, requests)
    drift = np.concatenate([[0.0], np.cumsum(1.0 - gaps)])
    return drift - np.minimum.accumulate(drift)


@pytest.mark.parametrize("load", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_mean_and_95th_percentile_are_those_of_a_queue_played_out(load):
    waits = played(load)
    assert wait_mean(load, 1.0) == pytest.approx(waits.mean(), rel=0.07)
    assert wait_p95(load, 1.0) == pytest.approx(np.quantile(waits, 0.95), rel=0.07)


def test_by_hand_at_half_load():
    assert wait_mean(1.0, 0.5) == pytest.approx(0.25)
    assert wait_p95(0.2, 1.0) == pytest.approx(math.log(0.95 / 0.8) / 0.2), "within the service of one before"
    assert wait_p95(0.04, 1.0) == 0.0
    assert math.isinf(wait_mean(2.0, 0.5))


SERVER = {
    "model": "article-7b",
    "device": "article-80gb",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "prompt": 1000,
    "output": 200,
    "bandwidth_fraction": 1.0,
    "compute_fraction": 1.0,
    "fixed_ms": 0.0,
}


def load(rate: float, most: float | None = None):
    e = evaluate(scenario(SERVER))
    return under_load(e.setup, e.typical.decode_roof, e.typical.prefill_roof, rate, most)


def test_an_idle_server_waits_for_nothing():
    e = evaluate(scenario(SERVER))
    found = load(1e-6)
    assert found.ttft_p95_s == pytest.approx(float(e.typical.latency.ttft_s))
    assert found.tpot_s == pytest.approx(float(e.typical.latency.tpot_s), rel=1e-4)


def test_sequences_follow_littles_law():
    found = load(5.0)
    assert found.saturated is None
    assert found.sequences == pytest.approx(5.0 * 199 * found.tpot_s, rel=1e-6)
    e = evaluate(scenario(SERVER))
    free = 1.0 - 5.0 * float(e.typical.prefill.seconds)
    alone = time_per_token(e.setup, e.typical.decode_roof, found.sequences)
    assert found.tpot_s == pytest.approx(alone / free)
    assert found.tpot_p95_s > found.tpot_s
    assert found.ttft_p95_s > found.ttft_s


@pytest.mark.parametrize(
    ("rate", "most", "limit"), [(100.0, None, "prefill"), (20.0, None, "decode"), (5.0, 3, "memory")]
)
def test_what_saturates_is_named(rate, most, limit):
    found = load(rate, most)
    assert found.saturated == limit
    assert math.isinf(found.ttft_p95_s)


def test_a_reply_of_one_token_only_queues():
    e = evaluate(scenario({**SERVER, "output": 1}))
    found = under_load(e.setup, e.typical.decode_roof, e.typical.prefill_roof, 5.0)
    assert math.isnan(found.tpot_s)
    assert found.ttft_s > float(e.typical.prefill.seconds)
