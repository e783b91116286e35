"""Several tokens for each reading of the weights: a draft model, n-grams of the text so far, heads built in.

Where the scenario gives no acceptance, cost or checking cost, figures that others measured stand in, and are named.
"""

from __future__ import annotations

from slmopt.advice.technique import Change, Technique
from slmopt.advice.verification import typical_verify_cost
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.roofline import estimate_roof
from slmopt.theory.speculation import best_length
from slmopt.words import numbers as n

# What the articles work with where traffic has not been measured yet.
ASSUMED_ACCEPTANCE = 0.7
ASSUMED_DRAFT = 4
ASSUMED_DRAFT_COST = 0.1

# Prompt look-up on Spec-Bench yields 1.55 to 1.73 tokens a pass (reference speculation.csv, S5-0024, -0032, -0040); its
# drafts of up to 10 tokens then accept this share each.
NGRAM_ACCEPTANCE = 0.39
# Built-in heads of a 27B: 2.34 to 2.74 tokens a pass at 2 drafted (S5-0072 to -0080), the middle of it; one layer of 64.
HEADS_ACCEPTANCE = 0.85
HEADS_COST = 0.03


def speculate(s: Scenario) -> Change:
    """Draft at the length that is best here; with the articles' figures where none are given."""
    return _draft(s, ASSUMED_ACCEPTANCE, ASSUMED_DRAFT_COST, given=True)


def speculate_ngram(s: Scenario) -> Change:
    """Draft from n-grams of prompt and reply: the draft itself costs nothing."""
    return _draft(s, NGRAM_ACCEPTANCE, 0.0, given=False)


def speculate_heads(s: Scenario) -> Change:
    """Draft with heads on the model itself (EAGLE, Medusa, multi-token prediction)."""
    return _draft(s, HEADS_ACCEPTANCE, HEADS_COST, given=False, heads_gb=heads_gb(s))


def heads_gb(s: Scenario) -> float:
    """Weights of heads that draft, in GB: as given, nothing more where the model is stored with its own, else one layer."""
    setup = resolve(s)
    if s.draft_heads_gb is not None:
        return s.draft_heads_gb
    if setup.model.mtp_params:
        return 0.0
    layers = setup.model.layer_count
    return setup.weight_bytes * (1.0 / layers if layers else HEADS_COST) / 1e9


def _draft(s: Scenario, acceptance: float, cost: float, *, given: bool, heads_gb: float = 0.0) -> Change:
    if s.draft_tokens:
        return Change(None, f"{s.draft_tokens} tokens are drafted already")
    own_acceptance, own_cost = given and s.acceptance is not None, given and _has_cost(s)
    values: dict[str, object] = {"draft_tokens": ASSUMED_DRAFT}
    assumed = []
    if not own_acceptance:
        values["acceptance"] = acceptance
        assumed.append(f"acceptance {acceptance:g}")
    if not own_cost:
        values.update(draft_cost=cost, draft_model=None, draft_device=None, draft_heads_gb=None)
        if heads_gb:
            values["draft_heads_gb"] = heads_gb
            if s.draft_heads_gb is None:
                assumed.append(f"heads of {n.bytes_(heads_gb * 1e9, 2)}")
        if cost:
            assumed.append(f"a drafted token at {cost:g} of a step")
    if s.verify_cost is None:
        typical = typical_verify_cost(resolve(s))
        values["verify_cost"] = typical
        assumed.append(f"each checked token at {typical:g} of a step")
    tried = s.change(**values)
    setup = resolve(tried)
    accepted = acceptance if tried.acceptance is None else tried.acceptance
    best, _ = best_length(setup, estimate_roof(setup, "decode", "typical"), accepted)
    condition = "if " + ", ".join(assumed) if assumed else ""
    if best == 0:
        shown = n.trimmed(n.figures(accepted))
        return Change(None, f"no draft length gains at acceptance {shown} and this batch", condition)
    return Change(
        tried.change(draft_tokens=best), f"{best} token{'s' if best > 1 else ''} drafted", condition
    )


def _has_cost(s: Scenario) -> bool:
    return s.draft_cost is not None or s.draft_model is not None


_ATTACKS = "one token for each reading of the weights"

DRAFT = (
    Technique(
        "speculate",
        "Speculate",
        6,
        "more_tokens",
        "decode",
        _ATTACKS,
        "a draft that shares the vocabulary; acceptance measured on real traffic",
        speculate,
    ),
    Technique(
        "speculate_ngram",
        "Speculate by n-grams",
        6,
        "more_tokens",
        "decode",
        _ATTACKS,
        "replies that repeat their prompt (code edits, summaries); little elsewhere",
        speculate_ngram,
        rung_of="speculate",
    ),
    Technique(
        "speculate_heads",
        "Speculate with built-in heads",
        6,
        "more_tokens",
        "decode",
        _ATTACKS,
        "heads trained for this very model, and memory for them",
        speculate_heads,
        rung_of="speculate",
    ),
)
