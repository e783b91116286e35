"""Drafting for a scenario that may not draft yet: where it gives no figures the articles' stand in, named as assumed."""

from __future__ import annotations

from dataclasses import dataclass

from slmopt.advice.techniques import ASSUMED_ACCEPTANCE, ASSUMED_DRAFT, ASSUMED_DRAFT_COST
from slmopt.advice.verification import typical_verify_cost
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve


@dataclass(frozen=True, slots=True)
class Drafting:
    """A scenario that drafts, and which of its figures are assumed."""

    scenario: Scenario
    assumed: tuple[str, ...]


def drafting(scenario: Scenario) -> Drafting:
    """The scenario with every figure that drafting needs."""
    values: dict[str, object] = {}
    assumed = []
    if scenario.acceptance is None:
        values["acceptance"] = ASSUMED_ACCEPTANCE
        assumed.append(f"acceptance {ASSUMED_ACCEPTANCE:g}")
    if not scenario.draft_tokens:
        values["draft_tokens"] = ASSUMED_DRAFT
        assumed.append(f"{ASSUMED_DRAFT} tokens drafted")
    if scenario.draft_cost is None and scenario.draft_model is None:
        values["draft_cost"] = ASSUMED_DRAFT_COST
        assumed.append(f"a drafted token at {ASSUMED_DRAFT_COST:g} of a step")
    if scenario.verify_cost is None:
        typical = typical_verify_cost(resolve(scenario))
        values["verify_cost"] = typical
        assumed.append(f"each checked token at {typical:g} of a step")
    return Drafting(scenario.change(**values) if values else scenario, tuple(assumed))
