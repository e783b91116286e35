"""What-ifs of memory: techniques and their combinations that change what is held; and the engines that hold it."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

from slmopt.advice.techniques import group_heads, quantise_cache, quantise_weights
from slmopt.specs.scenario import Engine, Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.memory import paging


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


@lru_cache(maxsize=256)
def engine_holdings(scenario: Scenario) -> tuple[tuple[str, float], ...]:
    """(way, requests of prompt + output tokens held) for each way to give memory out; NaN where memory is unknown.

    The first is the scenario's own engine reserving the whole context for each request; then the same paged, then each
    other engine as it comes.
    """
    held = paging(resolve(scenario))
    rows = [
        (f"Reserved, {held.reserved_tokens:,} each", held.reserved),
        (f"Paged, {held.paged_tokens:,} each", held.paged),
    ]
    others = [engine for engine in get_args(Engine) if engine not in ("exact", scenario.engine)]
    return (*rows, *((f"{one}, paged", paging(resolve(scenario.change(engine=one))).paged) for one in others))
