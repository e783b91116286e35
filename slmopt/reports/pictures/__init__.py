"""The figures of every page, from a scenario alone: what a page shows, a moving thumb foresees and a report carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from slmopt.advice.drafting import drafting
from slmopt.advice.drafts import checking
from slmopt.advice.plan import plan as planned
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import (
    batching,
    drafts,
    first_token,
    memory,
    model,
    overview,
    plan,
    roofline,
    speculation,
)
from slmopt.specs.scenario import Scenario
from slmopt.theory.batch_points import batching_view
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.evaluation import evaluate
from slmopt.theory.first_token import hit_curve
from slmopt.theory.interference import whole
from slmopt.theory.roofline_points import roofline_view
from slmopt.theory.speculation import place_acceptance


def _first_token(scenario: Scenario) -> Sequence[Picture]:
    evaluation = evaluate(scenario)
    ceiling = evaluation.ceiling
    at_once = whole(evaluation.setup, ceiling.decode_roof, ceiling.prefill_roof)
    return first_token.pictures(evaluation, hit_curve(evaluation.setup), at_once)


def _speculation(scenario: Scenario) -> Sequence[Picture]:
    evaluation = evaluate(drafting(scenario).scenario)
    found = evaluation.typical.speculation
    if found is None:
        return ()
    s = evaluation.setup.scenario
    place = float(place_acceptance(found.acceptance, s.draft_width))
    return (*speculation.pictures(evaluation, found), *drafts.pictures(found, checking(s), place))


def _model(scenario: Scenario) -> Sequence[Picture]:
    setup = evaluate(scenario).setup
    growth = cache_growth(setup.model, *setup.cache, float(scenario.depth))
    return model.pictures(setup.model, setup.weights, growth)


# By the page's address.
PAGES: Mapping[str, Callable[[Scenario], Sequence[Picture]]] = MappingProxyType(
    {
        "overview": lambda scenario: overview.pictures(evaluate(scenario)),
        "roofline": lambda scenario: roofline.pictures(roofline_view(evaluate(scenario))),
        "batching": lambda scenario: batching.pictures(batching_view(evaluate(scenario))),
        "memory": lambda scenario: memory.pictures(evaluate(scenario)),
        "first-token": _first_token,
        "speculation": _speculation,
        "plan": lambda scenario: plan.pictures(scenario, planned(scenario)),
        "model": _model,
    }
)
