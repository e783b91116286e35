"""Titles, names and picture descriptions of the figures of the page Your model."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.specs.model import Model
from slmopt.theory.cache_growth import CacheGrowth
from slmopt.theory.model_shape import LayerWeights, RoleParams
from slmopt.words import numbers as n
from slmopt.words.model import ROLES, grown_name, layers, params


def layers_title(model: Model, strip: Sequence[LayerWeights]) -> str:
    """Finding of the strip of layers."""
    if not strip:
        return "Only the parameter count is known, not the layers"
    count = len(strip)
    expert = sum(layer.used_experts + layer.other_experts for layer in strip)
    whole = sum(layer.total for layer in strip)
    if expert > whole / 2:
        idle = sum(layer.other_experts for layer in strip)
        return f"{n.percent(idle / whole)} of the layers' bytes are experts that a token leaves out"
    windows = _looking_back(model)
    if windows is not None:
        return windows
    states = sum(g.count for g in model.groups if g.state is not None)
    if states:
        return f"{states:,} of {count:,} layers keep a state that does not grow"
    sizes = {round(layer.total) for layer in strip}
    each = n.bytes_(strip[0].total)
    if len(sizes) == 1:
        return f"The layer holds {each}" if count == 1 else f"All {count:,} layers hold {each} each"
    low, high = min(layer.total for layer in strip), max(layer.total for layer in strip)
    if n.bytes_(low) == n.bytes_(high):
        return f"All {count:,} layers hold {n.bytes_(low)} each"
    return f"{count:,} layers hold {n.bytes_(low)} to {n.bytes_(high)} each"


def _looking_back(model: Model) -> str | None:
    limited = {
        limit: 0
        for g in model.groups
        if g.attention is not None and (limit := g.attention.window or g.attention.chunk)
    }
    for g in model.groups:
        if g.attention is not None and (limit := g.attention.window or g.attention.chunk):
            limited[limit] += g.count
    if not limited:
        return None
    return f"{sum(limited.values()):,} of {model.layer_count:,} layers see at most {max(limited):,} tokens"


def layers_alt(title: str, strip: Sequence[LayerWeights], model: Model) -> str:
    """The strip without the picture."""
    if not strip:
        return f"{title}. One bar for all weights."
    low, high = min(layer.total for layer in strip), max(layer.total for layer in strip)
    return (
        f"{title}. A bar for each of {layers(model)}, in the order of the stack, {n.bytes_(low)} to {n.bytes_(high)} high, "
        "coloured by kind."
    )


def growth_title(growth: CacheGrowth) -> str:
    """Finding of the cache against context."""
    if not growth.kinds:
        return "No layer keeps a cache"
    end = growth.context[-1]
    last = f"{n.bytes_(float(growth.total[-1]))} at {end:,.0f} tokens"
    if not growth.growing:
        return f"{n.bytes_(growth.now)} a sequence at any context"
    if not growth.unlimited:
        return f"The cache stops at {n.bytes_(float(growth.total[-1]))} and {growth.limits[-1]:,} tokens"
    stopped = sum(float(one.bytes[-1]) for one in growth.kinds if one.limit is not None)
    if stopped:
        return f"Windows stop at {n.bytes_(stopped)}; the rest reaches {last}"
    states = sum(float(one.bytes[-1]) for one in growth.kinds if one.kind == "state")
    if states:
        return f"States stay at {n.bytes_(states)}; the rest reaches {last}"
    return f"The cache grows evenly: {last}"


def growth_alt(growth: CacheGrowth) -> str:
    """The curves without the picture."""
    told = "; ".join(f"{grown_name(one)} {n.bytes_(float(one.bytes[-1]))}" for one in growth.kinds)
    return (
        f"{growth_title(growth)}. One sequence's cache from {growth.context[0]:,.0f} to {growth.context[-1]:,.0f} tokens, "
        f"both axes logarithmic; at the right end: {told or 'nothing'}."
    )


def roles_title(roles: Sequence[RoleParams]) -> str:
    """Finding of parameters by role."""
    whole = sum(role.params for role in roles)
    most = max(roles, key=lambda role: role.params)
    if most.role == "all":
        return "The count does not say what the parameters do"
    return f"{ROLES[most.role]}: {n.percent(most.params / whole)} of {params(whole)} parameters"


def roles_alt(roles: Sequence[RoleParams]) -> str:
    """The bars without the picture."""
    told = ", ".join(f"{ROLES[role.role].lower()} {params(role.params)}" for role in roles)
    return f"{roles_title(roles)}. Parameters by role: {told}."
