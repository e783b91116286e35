"""Solving for an input: hand arithmetic, the meeting side, and targets that nothing meets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.advice.goals import meets
from slmopt.advice.measures import HIGHER, measure
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.solve import SPANS, TARGETS, VARIABLES, devices_that_meet, setter, solve
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import solve as words
from tests.strategies import few

ARTICLE = {
    "model": {"params": 1e9},
    "device": {"bandwidth_gbs": 50, "peak_tflops": 4},
    "weights": {"bits": 16},
    "prompt": 1000,
    "output": 100,
}
SERVER = {
    "model": "article-7b",
    "device": "article-80gb",
    "weights": "16-bit",
    "cache_k": "16-bit",
    "prompt": 2000,
    "output": 200,
}


@pytest.mark.parametrize(
    ("variable", "target", "value", "expected"),
    [
        ("bandwidth_gbs", "tpot_ms", 20, 100.0),
        ("bits", "tpot_ms", 20, 8.0),
        ("params", "tpot_ms", 20, 5e8),
        ("peak_tflops", "ttft_ms", 250, 8.0),
        ("prompt", "ttft_ms", 250, 500),
        ("batch", "tokens_per_s", 300, 12),
        ("batch", "tpot_ms", 50, 100),
    ],
)
def test_by_hand_at_the_ceiling(variable, target, value, expected):
    found = solve(scenario(ARTICLE), variable, target, value, "ceiling")
    assert found.reachable
    assert found.value == pytest.approx(expected, rel=1e-9)


def test_31_users_of_the_article_hold_4_000_tokens_and_no_more_than_that():
    found = solve(scenario(SERVER), "context", "users", 31)
    # 66 GB / 31 sequences / 524,288 bytes, in blocks of 16 tokens.
    assert found.value == 66e9 / 31 / 524_288 // 16 * 16
    assert evaluate(scenario({**SERVER, "context": int(found.value) + 1})).capacity.max_sequences == 30


@few
@given(
    st.sampled_from(VARIABLES),
    st.sampled_from(["ttft_ms", "tpot_ms", "tokens_per_s", "users", "memory_gb"]),
    st.floats(0.3, 3.0),
)
def test_what_is_found_meets_and_its_neighbour_does_not(variable, target, share):
    s = scenario(
        {**SERVER, "bandwidth_fraction": 0.6, "compute_fraction": 0.4, "fixed_ms": 0.5, "draft_tokens": 3}
    )
    s = s.change(acceptance=0.6, draft_cost=0.1)
    name, scale, _ = TARGETS[target]
    value = measure(evaluate(s), name, "typical") / scale * share
    found = solve(s, variable, target, value)
    if found.value is None:
        assert found.why
        assert not found.reachable
        return
    change = setter(s, variable)
    assert meets(name, measure(evaluate(change(found.value)), name, "typical"), value * scale)
    if found.any_value:
        return
    span = SPANS[variable]
    harder = span.hard > span.easy
    if variable == "batch" and name in HIGHER:
        harder = name != "tokens_per_s"
    beyond = found.value + (1 if harder else -1) if span.whole else found.value * (1.001 if harder else 0.999)
    if span.whole and beyond < 1:
        return
    assert not meets(name, measure(evaluate(change(beyond)), name, "typical"), value * scale)


def test_more_bandwidth_does_not_shorten_a_compute_bound_first_token():
    found = solve(scenario(ARTICLE), "bandwidth_gbs", "ttft_ms", 1, "ceiling")
    assert not found.reachable
    assert found.value is None
    assert "another side decides" in found.why
    assert "No bandwidth gives" in words.sentence(found)


@pytest.mark.parametrize(
    ("values", "variable", "target", "why"),
    [
        ({}, "acceptance", "tpot_ms", "drafts nothing"),
        ({"draft_tokens": 4, "acceptance": 0.5}, "acceptance", "tpot_ms", "cost is not known"),
        ({"output": 1}, "bandwidth_gbs", "tpot_ms", "one token"),
        ({"device": {"bandwidth_gbs": 50}}, "prompt", "ttft_ms", "no matrix rate"),
        ({}, "context", "users", "memory is not known"),
        (
            {"draft_tokens": 4, "acceptance": 0.5, "draft_cost": 0.5},
            "acceptance",
            "tpot_ms",
            "every drafted token",
        ),
    ],
)
def test_what_cannot_be_solved_says_why(values, variable, target, why):
    found = solve(scenario({**ARTICLE, **values}), variable, target, 5.0)
    assert not found.reachable
    assert why in found.why


def test_devices_that_meet_hold_the_scenario_and_meet_it():
    s = scenario({"model": "llama-3.1-8b", "weights": "q4_k_m"})
    found = devices_that_meet(s, "tpot_ms", 6.0)
    assert found.reachable
    for ident, reached in found.devices:
        e = evaluate(s.change(device=ident))
        assert reached <= 6.0
        assert e.capacity.fits is not False
    assert "devices" in words.sentence(found)
    nothing = devices_that_meet(s, "tpot_ms", 0.001)
    assert not nothing.reachable
    assert "No device" in words.sentence(nothing)


def test_the_smallest_changes_meet_the_target():
    s = scenario(
        {"model": "llama-3.1-8b", "device": "rtx-4090", "target_ttft_ms": 200.0, "target_tpot_ms": 5.0}
    )
    found = {goal.name: ways for goal, ways in smallest_changes(s)}
    assert set(found) == {"ttft", "tpot"}
    prompt = next(way for way in found["ttft"] if way.what == "prompt")
    assert prompt.new is not None
    assert float(evaluate(s.change(prompt=int(prompt.new))).typical.latency.ttft_s) <= 0.2
    assert [w.factor for w in found["tpot"]] == sorted(w.factor for w in found["tpot"])


@pytest.mark.parametrize("device", ["rtx-4090", "h100-sxm-80gb", "snapdragon-8-elite", "apple-m4-max-40c"])
@pytest.mark.parametrize("weights", ["q4_k_m", "f16"])
def test_bits_that_are_found_are_the_widest_that_meet_across_every_operand(device, weights):
    # 16-bit kernels reach more of a chip, so a 10-bit weight may be read faster than one of 9.99 bits.
    s = scenario({"model": "llama-3.1-8b", "device": device, "weights": weights, "batch": 4})
    change = setter(s, "bits")
    bits = sorted(
        {1.0, 2.0, 4.0, 4.5, 5.49, 5.5, 6.0, 8.0, 9.99, 10.0, 11.0, 12.0, 14.0, 15.9, 16.0, 16.1, 20.0, 32.0}
    )
    steps = {x: measure(evaluate(change(x)), "tpot", "typical") for x in bits}
    for target in (
        steps[4.5] * 1.01,
        steps[9.99] * 1.01,
        steps[9.99] * 0.8,
        steps[16.0] * 1.001,
        steps[32.0] * 0.99,
    ):
        found = solve(s, "bits", "tpot_ms", target * 1e3)
        assert found.value is not None
        assert measure(evaluate(change(found.value)), "tpot", "typical") <= target * (1 + 1e-12)
        wider = [x for x in bits if x > found.value * (1 + 1e-9)]
        assert all(steps[x] > target for x in wider), "the next cheaper to keep does not meet it"
    assert not solve(s, "bits", "tpot_ms", steps[1.0] * 0.9 * 1e3).reachable
    whatever = solve(s, "bits", "tpot_ms", max(steps.values()) * 1.01 * 1e3)
    assert whatever.any_value
    assert whatever.value == 32.0


def test_fixed_groups_are_solved_on_the_side_on_which_more_sequences_give_more():
    s = scenario({**SERVER, "batching": "static", "bandwidth_fraction": 1.0, "compute_fraction": 1.0})
    rates = {
        b: measure(evaluate(s.change(batch=b)), "tokens_per_s", "typical") for b in (1, 8, 64, 512, 65_536)
    }
    assert rates[65_536] < max(rates.values())
    found = solve(s, "batch", "tokens_per_s", rates[8])
    assert found.value == 8
