"""What-ifs of memory: techniques and their combinations that change what is held."""

from __future__ import annotations

from functools import lru_cache

from slmopt.advice.techniques import group_heads, quantise_cache, quantise_weights
from slmopt.specs.scenario import Scenario


@lru_cache(maxsize=256)
def memory_what_ifs(scenario: Scenario) -> tuple[tuple[str, Scenario], ...]:
    """(what changes, scenario) pairs, the present one first with an empty name; only those that can be applied."""
    found = [("", scenario)]
    weights, cache, heads = (
        technique(scenario) for technique in (quantise_weights, quantise_cache, group_heads)
    )
    found += [(change.what, change.after) for change in (weights, cache, heads) if change.after is not None]
    if heads.after is not None:
        both = quantise_cache(heads.after)
        if both.after is not None:
            found.append((f"{heads.what}, {both.what}", both.after))
    elif weights.after is not None:
        both = quantise_cache(weights.after)
        if both.after is not None:
            found.append((f"{weights.what}, {both.what}", both.after))
    return tuple(found)
