"""Show the arithmetic of the page Your model, and where its numbers are from."""

from __future__ import annotations

from collections.abc import Sequence

from slmopt.readers.file_model import FileModel
from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import Model
from slmopt.specs.weights import bits_per_weight, stored_bytes
from slmopt.theory.cache_growth import CacheGrowth, Grown
from slmopt.theory.model_shape import RoleParams
from slmopt.words import numbers as n
from slmopt.words.measured_rows import marked
from slmopt.words.model import ROLES, grown_name, growth_context, params
from slmopt.words.sources import record_line


def arithmetic(
    model: Model,
    weights: WeightFormat,
    growth: CacheGrowth,
    roles: Sequence[RoleParams],
    found: FileModel | None,
) -> list[str]:
    """How the numbers came about."""
    lines = [
        "**Parameters**: "
        + " + ".join(f"{ROLES[role.role].lower()} {params(role.params)}" for role in roles)
        + f" = {params(model.stored_params)} stored"
        + (f", {params(model.mtp_params)} of them to predict ahead" if model.mtp_params else "")
    ]
    if model.active_params != model.total_params:
        lines.append(
            "**Active**: "
            + " + ".join(f"{ROLES[role.role].lower()} {params(role.used)}" for role in roles if role.used)
            + f" = {params(model.active_params)}"
        )
    lines += [_kind_line(one, growth) for one in growth.kinds]
    bits = bits_per_weight(weights, model)
    lines.append(
        f"**Weights**: {params(model.stored_params)} × {n.figures(bits)} bits / 8 = "
        f"{n.bytes_(stored_bytes(weights, model))} ({marked(weights.name)})"
    )
    if found is not None and found.types:
        held = ", ".join(
            f"{marked(t.type)} {t.tensors:,} tensors {n.bytes_(float(t.size_bytes))}" for t in found.types[:8]
        )
        lines.append(f"**The file holds**: {held}")
    return lines


def _kind_line(one: Grown, growth: CacheGrowth) -> str:
    at = f"at {growth_context(growth)} tokens {n.bytes_(one.now)}"
    name = grown_name(one)
    if one.kind == "state":
        return f"**Cache, {name}**: a fixed {n.bytes_(one.now)} a sequence"
    if one.limit is not None:
        return f"**Cache, {name}**: {n.bytes_(one.token_bytes)} a token until {one.limit:,} tokens, then no more; {at}"
    return f"**Cache, {name}**: {n.bytes_(one.token_bytes)} a token, without end; {at}"


def sources(model: Model, weights: WeightFormat, cache: CacheFormat) -> list[str]:
    """Where the page's numbers are from."""
    return [record_line("Model", model), record_line("Weights", weights), record_line("Cache", cache)]
