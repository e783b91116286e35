"""Requests played at a scenario's rate: the closed form beside them, the policy of the scenario, and what cannot be played."""

import math

import pytest

from slmopt.advice.goals import goals
from slmopt.serving.played import play, policy_of
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import played as words

CHAT = {
    "model": "llama-3.1-8b",
    "device": "rtx-4090",
    "weights": "q4_k_m",
    "prompt": 1000,
    "output": 200,
    "request_rate": 0.5,
}


@pytest.mark.parametrize(
    ("values", "admission"),
    [({}, "continuous"), ({"prefill_chunk_tokens": 256}, "chunked"), ({"batching": "static"}, "static")],
)
def test_the_scenario_says_how_requests_are_admitted(values, admission):
    s = scenario({**CHAT, **values})
    chosen = policy_of(evaluate(s))
    assert chosen.admission == admission
    assert chosen.slots == min(256, evaluate(s).capacity.max_sequences)
    assert play(s, requests=60).outcome.run.policy == chosen
    assert policy_of(evaluate(s), slots=4).slots == 4
    if admission == "chunked":
        assert chosen.token_budget == 256 + chosen.slots


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("values", [{}, {"batching": "static"}, {"batching": "static", "output_spread": 0.0}])
def test_first_tokens_played_are_near_the_closed_form(rate, values):
    found = play(scenario({**CHAT, **values, "request_rate": rate}), requests=1500, seed=3)
    assert found.closed.saturated is None
    assert found.ttft_p95_s == pytest.approx(found.closed.ttft_p95_s, rel=0.3)


@pytest.mark.parametrize("rate", [0.5, 1.5])
def test_chunks_played_are_near_the_closed_form(rate):
    found = play(scenario({**CHAT, "prefill_chunk_tokens": 256, "request_rate": rate}), requests=1500, seed=3)
    assert found.ttft_p95_s == pytest.approx(found.closed.ttft_p95_s, rel=0.35)
    assert found.closed.sequences == pytest.approx(_mean_in_flight(found), rel=0.15)


def _mean_in_flight(found):
    run = found.outcome.run
    return float((run.end - run.first).sum() / (run.end.max() - run.arrival[0]))


def test_the_same_request_gives_the_same_run():
    one, two = play(scenario(CHAT), requests=80), play(scenario(CHAT), requests=80)
    assert (one.ttft_p95_s, one.tpot_p95_s, one.gap_p95_s) == (two.ttft_p95_s, two.tpot_p95_s, two.gap_p95_s)


def test_overload_never_ends_and_says_so():
    s = scenario({**CHAT, "request_rate": 50.0, "target_ttft_ms": 500.0, "target_tpot_ms": 40.0})
    found = play(s)
    assert math.isinf(found.ttft_p95_s)
    told = " ".join(words.lines(found))
    assert "never" in told
    assert "outrun the server" in told
    first = next(goal for goal in goals(evaluate(s)) if goal.name == "ttft")
    assert words.verdict(found, first).startswith("✕")


def test_each_sentence_names_numbers_and_what_differs_is_explained():
    s = scenario({**CHAT, "request_rate": 2.0, "target_ttft_ms": 1000.0, "target_users": 3})
    found = play(s)
    said = words.lines(found)
    assert all(any(c.isdigit() for c in line) for line in said)
    assert "500 requests at 2 a second" in said[0]
    assert "closed form" in said[1]
    assert "stands still for each whole prompt" in " ".join(said)
    verdicts = [words.verdict(found, goal) for goal in goals(evaluate(s))]
    assert verdicts[0].startswith("✓")
    assert verdicts[1] == "", "no queue concerns how many fit"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"request_rate": None}, "at a rate"),
        ({"device": {"bandwidth_gbs": 100, "capacity_gb": 24}}, "no matrix rate"),
        ({"capacity_gb": 1.0}, "not one sequence"),
        ({"devices": 2}, "more memories than one"),
    ],
)
def test_what_cannot_be_played_says_why(values, why):
    with pytest.raises(SpecError, match=why):
        play(scenario({**CHAT, **values}))
