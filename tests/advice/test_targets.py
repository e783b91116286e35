"""Met, met only at the ceiling, out of reach."""

import pytest

from slmopt.advice.targets import targets
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words.overview import target_note

CASE = {
    "model": "article-7b",
    "device": "article-80gb",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "batch": 16,
    "prompt": 2000,
    "output": 200,
}
HALF = {"bandwidth_fraction": 0.5, "compute_fraction": 0.5, "fixed_ms": 0.0}


@pytest.mark.parametrize(("tpot_ms", "verdict"), [(32.0, "met"), (20.0, "ceiling_only"), (15.0, "missed")])
def test_time_per_token_of_15_8_ms_at_the_ceiling_and_twice_that_at_half_the_bandwidth(tpot_ms, verdict):
    (found,) = targets(evaluate(scenario({**CASE, **HALF, "target_tpot_ms": tpot_ms})))
    assert found.ceiling == pytest.approx(0.0158, rel=1e-2)
    assert found.slow == pytest.approx(2 * found.ceiling, rel=1e-2)
    assert found.verdict == verdict


def test_users_are_met_where_that_many_sequences_fit():
    (met,) = targets(evaluate(scenario({**CASE, "context": 4000, "target_users": 31})))
    (missed,) = targets(evaluate(scenario({**CASE, "context": 4000, "target_users": 32})))
    assert (met.verdict, missed.verdict) == ("met", "missed")


def test_a_first_token_under_an_unknown_rate_is_not_judged():
    found = targets(
        evaluate(
            scenario(
                {
                    "device": "snapdragon-8-elite",
                    "model": "llama-3.2-1b",
                    "target_ttft_ms": 500.0,
                    "target_tpot_ms": 40.0,
                }
            )
        )
    )
    assert [t.name for t in found] == ["tpot"]


def test_a_request_rate_is_said_to_be_left_out():
    one = evaluate(scenario({**CASE, "target_tpot_ms": 32.0, "request_rate": 0.01}))
    (found,) = targets(one)
    assert found.queued
    assert "without queueing" in target_note(found)
    (alone,) = targets(evaluate(scenario({**CASE, "target_tpot_ms": 32.0})))
    assert "queueing" not in target_note(alone)
