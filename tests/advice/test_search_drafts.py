"""Drafting in the search: on each device the speed-up that the scenario itself would have there."""

import pytest

from slmopt.advice.gains import headline
from slmopt.advice.search import search, variants
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate

PLAIN = {"model": "llama-3.1-8b", "device": "rtx-4090", "weights": "q4_k_m"}


def _row(found, device, words):
    (row,) = found[
        (found["device"] == device) & (found["weights_id"] == "q4_k_m") & found["techniques"].map(words)
    ].to_dict("records")
    return row


def test_a_drafting_scenario_keeps_its_gain_in_the_search():
    s = scenario({**PLAIN, "draft_tokens": 4, "acceptance": 0.8, "draft_cost": 0.1})
    row = _row(search(s), "rtx-4090", lambda words: words == "")
    assert row["tokens_per_s"] == pytest.approx(headline(evaluate(s)).device_tokens_per_s, rel=1e-9)
    without = _row(search(scenario(PLAIN)), "rtx-4090", lambda words: words == "")
    assert row["tokens_per_s"] > 1.3 * without["tokens_per_s"]


def test_drafting_is_one_of_the_techniques_and_names_what_it_assumes():
    s = scenario(PLAIN)
    drafted = [one for one in variants(s) if "drafted" in one.techniques]
    assert drafted
    assert all("if acceptance" in one.techniques for one in drafted)
    row = _row(search(s), "rtx-4090", lambda words: "drafted" in words)
    (own,) = [one for one in drafted if one.weights_id == "q4_k_m"]
    there = evaluate(own.scenario.change(device="rtx-4090"))
    assert row["sequences"] == there.capacity.max_sequences
    assert row["tokens_per_s"] == pytest.approx(headline(there).device_tokens_per_s, rel=1e-9)


def test_who_gives_an_acceptance_that_never_gains_is_offered_no_drafts():
    s = scenario({**PLAIN, "acceptance": 0.05, "draft_cost": 0.5})
    assert not [one for one in variants(s) if "drafted" in one.techniques]
