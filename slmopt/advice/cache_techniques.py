"""A smaller cache: capped, quantised, grouped, windowed, paged."""

from __future__ import annotations

from functools import lru_cache

from slmopt.advice.technique import Change, Technique
from slmopt.specs.layers import LayerGroup
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.memory import sequences_that_fit
from slmopt.words import numbers as n

WINDOW = 1024
"""Tokens of a window in models of today that have them (Gemma 3: 1,024, in five layers of six)."""
_LOCAL, _OF = 5, 6


def quantise_cache(s: Scenario) -> Change:
    """Keys and values in 8 bits, scales included."""
    return _cache_to(s, 9.0, "q8_0", "8-bit")


def quantise_cache_4(s: Scenario) -> Change:
    """Keys and values in 4 bits, scales included."""
    return _cache_to(s, 5.0, "q4_0", "4-bit")


def _cache_to(s: Scenario, most: float, gguf: str, other: str) -> Change:
    setup = resolve(s)
    bits = min(setup.cache_k.bits, setup.cache_v.bits)
    if bits <= most:
        return Change(None, f"the cache is at {n.trimmed(n.figures(bits))} bits already")
    chosen = library().caches[gguf if s.engine == "llama.cpp" else other]
    return Change(s.change(cache_k=chosen.id, cache_v=None), f"{chosen.name} cache")


def cap_context(s: Scenario) -> Change:
    """The longest context cut to what this request needs."""
    needed = s.prompt + s.output
    if s.depth <= needed:
        return Change(None, f"the context is no longer than the request's {needed:,} tokens")
    return Change(
        s.change(context=None, shared_prefix=min(s.shared_prefix, needed)),
        f"context capped at {needed:,} tokens",
    )


def group_heads(s: Scenario) -> Change:
    """A model of the same shape whose query heads share a quarter of the KV heads."""
    model = resolve(s).model
    if model.by_count:
        if model.kv_heads <= 8:
            return Change(None, f"the model has {model.kv_heads} KV heads already")
        fewer = max(1, model.kv_heads // 4)
        grouped = _another(model, {"kv_heads": fewer}, "gqa", f"{fewer} KV heads")
        return Change(s.change(model=grouped), f"{fewer} KV heads")
    plain = [g.attention for g in model.groups if g.attention is not None and g.attention.latent is None]
    if (
        not plain
        or max(a.kv_heads for a in plain) <= 8
        or any(a.heads % max(1, a.kv_heads // 4) for a in plain)
    ):
        return Change(None, "the heads are grouped, latent or absent already")
    fewer = max(1, max(a.kv_heads for a in plain) // 4)
    return Change(s.change(model=_grouped(model, fewer)), f"{fewer} KV heads")


@lru_cache(maxsize=64)
def _grouped(model: Model, fewer: int) -> Model:
    groups = []
    for group in model.groups:
        a = group.attention
        if a is not None and a.latent is None:
            a = a.model_copy(update={"kv_heads": max(1, a.kv_heads // 4)})
        groups.append(group.model_copy(update={"attention": a}))
    return _another(model, {"groups": tuple(groups)}, "gqa", f"{fewer} KV heads")


def window_layers(s: Scenario) -> Change:
    """A model of the same shape, five of six of its full-attention layers with a window."""
    model = resolve(s).model
    if model.by_count:
        return Change(None, "the model is given as a parameter count: its layers are not known")
    if s.depth <= WINDOW:
        return Change(None, f"the context of {s.depth:,} tokens is within a window of {WINDOW:,}")
    windowed, layers = _windowed(model)
    if windowed is None:
        return Change(None, "the layers have windows, latents or states already")
    return Change(s.change(model=windowed), f"windows of {WINDOW:,} tokens in {layers} layers")


@lru_cache(maxsize=64)
def _windowed(model: Model) -> tuple[Model | None, int]:
    """The model with windows, and in how many layers; None where no layer could have one more."""
    groups: list[LayerGroup] = []
    found = 0
    for group in model.groups:
        a = group.attention
        local = group.count * _LOCAL // _OF
        full = (
            a is not None
            and a.window is None
            and a.chunk is None
            and a.latent is None
            and a.compress is None
            and a.indexer is None
            and a.owns_cache
        )
        if not full or a is None or not local:
            groups.append(group)
            continue
        found += local
        narrow = a.model_copy(update={"window": WINDOW})
        groups.append(group.model_copy(update={"count": local, "attention": narrow}))
        groups.append(group.model_copy(update={"count": group.count - local}))
    if not found or any(g.attention is not None and g.attention.window for g in model.groups):
        return None, 0
    return _another(model, {"groups": tuple(groups), "order": ()}, "swa", f"windows of {WINDOW:,}"), found


def _another(model: Model, update: dict[str, object], mark: str, words: str) -> Model:
    values = {name: getattr(model, name) for name in type(model).model_fields} | update
    return Model.model_validate({**values, "id": f"{model.id}-{mark}", "name": f"{model.name}, {words}"})


def page_cache(s: Scenario) -> Change:
    """The cache given out in blocks as a sequence grows, in place of its longest length."""
    setup = resolve(s)
    if setup.capacity is None:
        return Change(None, "memory is not known")
    needed = s.prompt + s.output
    if s.allocation == "paged" and s.depth <= needed:
        return Change(
            None, f"the cache is paged already and no sequence reserves more than its {needed:,} tokens"
        )
    reserved = float(sequences_that_fit(setup, float(s.depth), "reserved"))
    paged = float(sequences_that_fit(setup, float(needed), "paged"))
    if paged <= reserved:
        return Change(None, "sequences are as long as what would be reserved for them")
    after = s.change(allocation="paged", context=None, shared_prefix=min(s.shared_prefix, needed))
    return Change(after, f"{needed:,} tokens held in place of {s.depth:,} reserved")


_READ_AND_HELD = "cache bytes each step reads and memory holds"

CACHE = (
    Technique(
        "cap_context",
        "Cap the context",
        4,
        "capacity",
        "capacity",
        "cache that is reserved and never used",
        "longer requests are refused or cut",
        cap_context,
    ),
    Technique(
        "quantise_cache",
        "Quantise the cache",
        4,
        "fewer_bytes",
        "decode",
        _READ_AND_HELD,
        "quality at long context to be evaluated",
        quantise_cache,
        evaluate_quality=True,
    ),
    Technique(
        "quantise_cache_4",
        "Cache in 4 bits",
        4,
        "fewer_bytes",
        "decode",
        _READ_AND_HELD,
        "losses at long context are usual: evaluate there",
        quantise_cache_4,
        rung_of="quantise_cache",
        evaluate_quality=True,
    ),
    Technique(
        "group_heads",
        "Group the KV heads",
        4,
        "fewer_bytes",
        "decode",
        _READ_AND_HELD,
        "another model, trained with grouped heads",
        group_heads,
        evaluate_quality=True,
    ),
    Technique(
        "window_layers",
        "Window most layers",
        4,
        "fewer_bytes",
        "decode",
        _READ_AND_HELD,
        "another model, trained with windows; recall over long contexts to be evaluated",
        window_layers,
        evaluate_quality=True,
    ),
    Technique(
        "page_cache",
        "Page the cache",
        4,
        "capacity",
        "capacity",
        "memory reserved for the longest sequence",
        "an engine with paged attention",
        page_cache,
    ),
)
