"""The simulation against rows of serving_effects.csv and against what batch.csv's overload rows teach."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from slmopt.serving.frontier import frontier
from slmopt.serving.outcome import outcome
from slmopt.serving.policy import Policy
from slmopt.serving.simulate import simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from tests.shared import SHARED

TEXT = (SHARED / "measured" / "serving_effects.csv").read_text(encoding="utf-8")
ROWS = {row["row_id"]: row for row in csv.DictReader(TEXT.splitlines())}


def ratio(row_id: str) -> float:
    return float(ROWS[row_id]["ratio_b_over_a"])


SPARK = scenario(
    {"model": "qwen3-30b-a3b", "device": "dgx-spark", "weights": "q8_0", "prompt": 8000, "output": 250}
)


def served(hit: float, *, rate: float, requests: int = 200, slots: int = 16):
    """Prompts of 8,000 tokens of which a share is cached."""
    traffic = Traffic(
        rate=rate,
        requests=requests,
        prompt=Lengths(kind="uniform", mean=8000, spread=0.2),
        output=Lengths(kind="uniform", mean=250, spread=0.2),
    )
    return outcome(simulate(SPARK.change(prefix_hit=int(hit * 6400)), traffic.draw(1), Policy(slots=slots)))


def test_a_prefix_cache_shortens_first_tokens_and_raises_throughput():
    """S7-0013 to S7-0016: at 66.5 % hits, TTFT p50 and p90 × 0.43, throughput × 1.76, wall × 0.56, when saturated."""
    cold, warm = served(0.0, rate=1e3, slots=4), served(0.665 * 8000 / 6400, rate=1e3, slots=4)
    faster = warm.output_tokens_per_s / cold.output_tokens_per_s
    assert 1.2 < faster < 2.5
    assert faster == pytest.approx(ratio("S7-0015"), rel=0.35)
    assert warm.makespan_s / cold.makespan_s == pytest.approx(ratio("S7-0016"), rel=0.45)
    for percent, row in ((50, "S7-0013"), (90, "S7-0014")):
        measured = ratio(row)
        light = [served(hit, rate=0.05).ttft.percentile(percent) for hit in (0.0, 0.665 * 8000 / 6400)]
        assert light[1] / light[0] == pytest.approx(measured, rel=0.3)


def test_a_prompt_mostly_cached_takes_its_share_of_the_time():
    """S7-0018: 29,835 tokens, TTFT × 0.53 when about half of them are reused."""
    s = scenario({"model": "llama-3.1-8b", "device": "rtx-4090", "prompt": 29_835, "output": 2})
    one = Traffic(requests=1, prompt=Lengths(mean=29_835), output=Lengths(mean=2)).draw()
    cold = outcome(simulate(s, one, Policy())).ttft.percentile(50)
    warm = outcome(simulate(s.change(prefix_hit=14_000), one, Policy())).ttft.percentile(50)
    assert warm / cold == pytest.approx(ratio("S7-0018"), rel=0.25)


def test_where_decode_decides_a_prefix_cache_gains_little():
    """S7-0017: 94.6 % hits at 64 users, throughput × 1.06 only."""
    s = scenario(
        {
            "model": "llama-3.1-8b",
            "device": "h100-sxm-80gb",
            "weights": "16-bit",
            "prompt": 300,
            "output": 600,
        }
    )
    traffic = Traffic(kind="at_once", requests=640, prompt=Lengths(mean=300), output=Lengths(mean=600))
    cold = outcome(simulate(s, traffic.draw(), Policy(slots=64)))
    warm = outcome(simulate(s.change(prefix_hit=int(0.9459 * 300)), traffic.draw(), Policy(slots=64)))
    gain = warm.output_tokens_per_s / cold.output_tokens_per_s
    assert 1.0 < gain < 1.25


def test_more_hits_under_load_gain_on_gaps_and_rate_too():
    """S7-0019 to S7-0021: hits 20.75 % to 60.98 %: TTFT × 0.71, gaps × 0.88, requests/s × 1.20 under load."""
    few, many = (served(hit * 8000 / 6400, rate=1e3, slots=8) for hit in (0.2075, 0.6098))
    assert 1.05 < many.output_tokens_per_s / few.output_tokens_per_s < 2.0
    assert 0.4 < many.gap.mean / few.gap.mean < 1.0
    assert 0.4 < many.ttft.percentile(50) / few.ttft.percentile(50) < 1.0


def test_spacing_prefills_out_shortens_the_gaps_and_the_tail_most():
    """S7-0029 to S7-0031: prefills at intervals, gaps p90 × 0.88, p50 × 0.94; pieces of prompts act the same way."""
    s = scenario({"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "16-bit"})
    traffic = Traffic(rate=1.5, requests=400, prompt=Lengths(mean=4000), output=Lengths(mean=300))
    whole = outcome(simulate(s, traffic.draw(), Policy(slots=64)))
    pieces = outcome(simulate(s, traffic.draw(), Policy(admission="chunked", slots=64, token_budget=512)))
    assert pieces.gap.percentile(99) < 0.9 * whole.gap.percentile(99)
    assert pieces.gap.worst < 0.5 * whole.gap.worst
    assert ratio("S7-0029") < ratio("S7-0031") < 1


def test_kv_exhaustion_and_queueing_show_as_measured():
    """README: TPOT from 5.7 to 16 ms between 32 and 64 users when the cache is exhausted; TTFT of minutes with TPOT flat
    when queueing.
    """
    s = scenario(
        {"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "16-bit", "capacity_gb": 27.5}
    )

    def users(count: int, slots: int):
        traffic = Traffic(
            kind="at_once", requests=count, prompt=Lengths(mean=1500), output=Lengths(mean=1000)
        )
        return outcome(simulate(s, traffic.draw(), Policy(slots=slots, rates="fast")))

    few, many = users(32, 256), users(64, 256)
    assert few.run.preempted == 0
    assert many.run.preempted > 0
    grown = many.tpot.percentile(95) / few.tpot.percentile(95)
    assert grown > 1.3, "those preempted wait for memory in the middle of their reply"
    queueing = users(2000, 32)
    assert queueing.ttft.percentile(95) > 60
    assert queueing.tpot.percentile(50) == pytest.approx(few.tpot.percentile(50), rel=0.3)
    assert np.isfinite(queueing.e2e.worst)


def test_the_article_s_table_through_the_frontier():
    case = json.loads((SHARED / "seed_cases.json").read_text(encoding="utf-8"))["serving"]
    base = scenario(
        {
            "model": {name: case["model"][name] for name in ("params", "layers", "kv_heads", "head_dim")},
            "device": case["device"],
            "weights": {"bits": 16},
            "cache_k": {"bits": 16},
            "prompt": 1,
            "output": 100_000_000,
            "context": 0,
        }
    )
    for row in case["batch_table_without_cache_reads"]:
        now = frontier(evaluate(base.change(batch=row["batch"]))).now
        assert now.device == pytest.approx(row["tokens_per_s"], rel=1e-5)
        assert 1e3 / now.user == pytest.approx(row["memory_ms"])
    held = frontier(evaluate(base.change(prompt=3800, output=200, context=4000)))
    assert held.fit == case["max_sequences_4000_tokens"]
