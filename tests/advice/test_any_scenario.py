"""Advice of any valid scenario: techniques apply or say why not, and stack in both orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from slmopt.advice.order import stack
from slmopt.advice.plan import plan
from slmopt.specs.scenario import Scenario
from tests.strategies import scenarios


@given(scenarios(ways=True))
@settings(max_examples=25)
def test_every_technique_applies_or_says_why_not(scenario):
    for trial in plan(scenario):
        assert trial.change.what


@given(scenarios(ways=True))
@settings(max_examples=10)
def test_gains_stack_in_both_orders(scenario):
    for order in ("articles", "best"):
        found = stack(scenario, "reply", order)
        before = found.start
        for step in found.steps:
            assert step.before == before
            before = step.after
        if np.isfinite(found.factor):
            assert np.prod([step.factor for step in found.steps]) == pytest.approx(found.factor)
        if order == "best":
            assert all(step.factor > 1 for step in found.steps)


def test_a_prefix_is_cached_where_the_context_is_capped_below_the_prompt():
    capped = Scenario(prompt=5690, output=208, context=2965)
    (trial,) = [one for one in plan(capped) if one.technique.apply.__name__ == "cache_prefix"]
    assert trial.change.after is not None
    assert trial.change.after.shared_prefix == 2965
    assert trial.change.after.prefix_hit == 4552
