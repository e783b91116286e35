"""The frontier's worked tables, its knee, its limits, costs by hand; and how many servers a traffic needs."""

from __future__ import annotations

import numpy as np
import pytest

from slmopt.serving.frontier import frontier
from slmopt.serving.outcome import outcome
from slmopt.serving.policy import Policy
from slmopt.serving.replicas import replicas
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.theory.evaluation import evaluate
from tests.serving.cases import ARTICLE

FAST = ARTICLE.change(context=0, output=100_000_000, prompt=1)


@pytest.mark.parametrize(("batch", "rate"), [(1, 142.857), (16, 2285.714), (64, 9142.857), (200, 28571.43)])
def test_the_articles_batches(batch, rate):
    """Without cache reads, and replies so long that prefill does not count."""
    now = frontier(evaluate(FAST.change(batch=batch))).now
    assert now.device == pytest.approx(rate, rel=1e-5)
    assert now.user == pytest.approx(142.857, rel=1e-5)


def test_memory_ends_the_article_s_frontier_at_31():
    found = frontier(evaluate(ARTICLE.change(context=4000, batch=16)))
    assert found.fit == found.reach == found.largest.batch == 31
    assert found.batch[-1] == 31


def test_the_knee_is_where_caches_take_as_long_as_weights():
    """w = 7 ms, r = 2.097 GB / 2 TB/s: w/r = 6.7."""
    found = frontier(evaluate(ARTICLE.change(context=4000, output=1000)))
    assert 6 <= found.knee.batch <= 7
    line = found.lines["ceiling"]
    assert (np.diff(line.decode) > 0).all()
    assert (np.diff(line.user) < 0).all()


def test_prefill_takes_its_part_of_the_device():
    """B·output / (B·T_p + (output − 1)·T): 16·200 / (16·0.07 + 199·0.02377)."""
    found = frontier(evaluate(ARTICLE.change(context=4000, batch=16)))
    assert found.now.device == pytest.approx(
        16 * 200 / (16 * 0.07 + 199 * (0.007 + 16 * 2.097152e9 / 2e12)), rel=1e-6
    )


def test_a_full_server_gives_what_the_frontier_says():
    """The simulation at saturation, against the closed form at the mean context."""
    s = ARTICLE.change(prompt=1000, output=400, context=1200, batch=32)
    traffic = Traffic(kind="at_once", requests=32 * 30, prompt=Lengths(mean=1000), output=Lengths(mean=400))
    served = outcome(simulate(s, traffic.draw(), Policy(slots=32)))
    assert served.output_tokens_per_s == pytest.approx(frontier(evaluate(s)).now.about_device, rel=0.03)


def test_targets_and_memory_set_the_batch():
    found = frontier(evaluate(ARTICLE.change(context=4000, target_tpot_ms=20.0, target_ttft_ms=500.0)))
    # 7 ms + B · 1.0486 ms (and 0.26 µs for the token that an estimate writes) <= 20 ms.
    assert found.allowed == {"ceiling": 12, "typical": 12}
    assert found.best.batch == 12
    slow = frontier(evaluate(ARTICLE.change(context=4000, target_ttft_ms=50.0)))
    assert slow.allowed == {"ceiling": 0, "typical": 0}
    assert slow.best is None


def test_cost_and_energy_by_hand():
    found = frontier(evaluate(FAST.change(batch=64, price_per_hour=3.6, power_w=700.0)))
    assert found.now.about_cost == pytest.approx(1e6 * 0.001 / 9142.857, rel=5e-3)
    assert found.now.about_energy == pytest.approx(700 / 9142.857, rel=5e-3)
    plain = frontier(evaluate(FAST))
    assert not plain.priced
    assert np.isnan(plain.now.about_cost)


@pytest.mark.parametrize(
    "changes",
    [
        {"capacity_gb": 10.0},
        {"device": "article-50gbs", "model": "article-1b"},
        {"model": "mamba-2.8b", "device": "l4"},
        {"device": "snapdragon-8-elite", "model": "llama-3.2-1b"},
        {"output": 1, "batch": 10_000_000},
    ],
)
def test_no_scenario_breaks_the_frontier(changes):
    found = frontier(evaluate(ARTICLE.change(**changes)))
    assert (found.lines["ceiling"].user > 0).all()


def test_replicas_hold_the_targets_and_one_fewer_does_not():
    policy = Policy(slots=32)
    traffic = Traffic(
        rate=20.0, requests=300, prompt=Lengths(mean=500), output=Lengths(kind="geometric", mean=100)
    )
    found = replicas(ARTICLE, traffic, policy, ttft_s=0.2, tpot_s=0.03, seeds=3)
    low, high = found.span
    assert 1 <= low <= found.middle <= high
    assert found.shares[high] >= 0.9
    twice = replicas(
        ARTICLE, traffic.model_copy(update={"rate": 40.0}), policy, ttft_s=0.2, tpot_s=0.03, seeds=3
    )
    assert twice.middle == pytest.approx(2 * found.middle, rel=0.35)


def test_targets_out_of_reach_need_no_number_of_servers():
    traffic = Traffic(rate=1.0, requests=50)
    found = replicas(ARTICLE, traffic, Policy(), ttft_s=0.01, tpot_s=None)
    assert found.middle is None
    assert found.best_share == 0
