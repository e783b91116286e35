"""The figures of every page, from a scenario alone: what a page shows, a moving thumb foresees and a report carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from slmopt.advice.drafting import drafting
from slmopt.advice.drafts import checking
from slmopt.advice.plan import plan as planned
from slmopt.figures.named import Named
from slmopt.reports.picture import Picture
from slmopt.reports.pictures import (
    batching,
    drafts,
    economy,
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
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.first_token import hit_curve
from slmopt.theory.interference import whole
from slmopt.theory.operators import operators_view
from slmopt.theory.roofline_points import roofline_view
from slmopt.theory.speculation import place_acceptance

OnePinned = Named[Scenario]
Pinned = Sequence[OnePinned]


def _evaluated(pinned: Pinned) -> list[Named[Evaluation]]:
    return [Named(one.name, evaluate(one.result)) for one in pinned]


def _overview(scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
    return overview.pictures(evaluate(scenario), _evaluated(pinned))


def _roofline(scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
    others = [Named(one.name, roofline_view(one.result)) for one in _evaluated(pinned)]
    evaluation = evaluate(scenario)
    return (
        *roofline.pictures(roofline_view(evaluation), pinned=others),
        *roofline.operators(operators_view(evaluation)).values(),
    )


def _batching(scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
    evaluation, beside = evaluate(scenario), _evaluated(pinned)
    others = [Named(one.name, batching_view(one.result)) for one in beside]
    return (*batching.pictures(batching_view(evaluation), others), *economy.pictures(evaluation, beside))


def _memory(scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
    return memory.pictures(evaluate(scenario), _evaluated(pinned))


def _first_token(scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
    evaluation = evaluate(scenario)
    ceiling = evaluation.ceiling
    at_once = whole(evaluation.setup, ceiling.decode_roof, ceiling.prefill_roof)
    return first_token.pictures(evaluation, hit_curve(evaluation.setup), at_once, _evaluated(pinned))


def _speculation(scenario: Scenario) -> Sequence[Picture]:
    evaluation = evaluate(drafting(scenario).scenario)
    found = evaluation.typical.speculation
    if found is None:
        return ()
    s = evaluation.setup.scenario
    place = float(place_acceptance(found.acceptance, s.draft_width))
    return (
        *speculation.pictures(evaluation, found),
        *drafts.pictures(found, checking(s, scenario.verify_cost), place),
    )


def _plan(scenario: Scenario) -> Sequence[Picture]:
    return plan.pictures(scenario, planned(scenario))


def _model(scenario: Scenario) -> Sequence[Picture]:
    setup = evaluate(scenario).setup
    growth = cache_growth(setup.model, *setup.cache, float(scenario.depth))
    return model.pictures(setup.model, setup.weights, growth)


class OfPage(Protocol):
    """A page's figures from the present scenario and those pinned beside it."""

    def __call__(self, scenario: Scenario, pinned: Pinned = ()) -> Sequence[Picture]:
        """The figures, from top to bottom."""


def alone(of: Callable[[Scenario], Sequence[Picture]]) -> OfPage:
    """The figures of a page that shows one scenario, whatever is pinned beside it."""
    return lambda scenario, pinned=(): of(scenario)  # noqa: ARG005 - taken and left aside


# By the page's address.
PAGES: Mapping[str, OfPage] = MappingProxyType(
    {
        "overview": _overview,
        "roofline": _roofline,
        "batching": _batching,
        "memory": _memory,
        "first-token": _first_token,
        "speculation": alone(_speculation),
        "plan": alone(_plan),
        "model": alone(_model),
    }
)
