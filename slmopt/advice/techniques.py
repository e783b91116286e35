"""Techniques as functions from scenario to scenario, so that they compose and no gain is asserted.

Each says which bottleneck it attacks, in which phase, and which of the three piles it belongs to: move fewer bytes per
token, get more tokens per byte moved, free capacity for a larger batch. Prefill stands outside the piles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.evaluation import evaluate
from slmopt.theory.memory import sequences_that_fit
from slmopt.words import numbers as n

Pile = Literal["fewer_bytes", "more_tokens", "capacity", "prefill"]
Phase = Literal["decode", "prefill", "capacity"]

# What the articles work with where traffic has not been measured yet.
ASSUMED_ACCEPTANCE = 0.7
ASSUMED_DRAFT = 4
ASSUMED_DRAFT_COST = 0.1
ASSUMED_SHARED = 0.8
FEWEST_BITS = 4.9


@dataclass(frozen=True, slots=True)
class Change:
    """A technique applied: the new scenario and what was changed, or why it cannot be (then ``after`` is None)."""

    after: Scenario | None
    what: str
    assumed: str = ""


@dataclass(frozen=True, slots=True)
class Technique:
    """``step`` is its place in the articles' order of operations; ``cost`` what it asks in return."""

    id: str
    name: str
    step: int
    pile: Pile
    phase: Phase
    attacks: str
    cost: str
    apply: Callable[[Scenario], Change]


def _bits(bits: float) -> str:
    return n.trimmed(n.figures(bits))


def quantise_weights(s: Scenario) -> Change:
    """Weights at about 4.5 bits: the lowest precision that usually survives an evaluation."""
    setup = resolve(s)
    bits = bits_per_weight(setup.weights, setup.model)
    if bits <= FEWEST_BITS:
        return Change(None, f"the weights are at {_bits(bits)} bits already")
    if setup.model.by_count or setup.weights.recipe is None:
        return Change(
            s.change(weights=WeightFormat.model_validate({"bits": 4.5}), weight_bits=None), "4.5-bit weights"
        )
    if bits_per_weight(library().weights["q4_k_m"], setup.model) >= bits:
        return Change(
            None, f"the weights are at {_bits(bits)} bits already: this model's narrow rows allow no fewer"
        )
    return Change(s.change(weights="q4_k_m", weight_bits=None), "Q4_K_M weights")


def quantise_cache(s: Scenario) -> Change:
    """Keys and values in 8 bits, scales included."""
    setup = resolve(s)
    if min(setup.cache_k.bits, setup.cache_v.bits) <= 9:
        return Change(None, f"the cache is at {_bits(setup.cache_k.bits)} bits already")
    eight = library().caches["q8_0"] if s.engine == "llama.cpp" else library().caches["8-bit"]
    return Change(s.change(cache_k=eight.id, cache_v=None), f"{eight.name} cache")


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
        return Change(s.change(model=_renamed(model, {"kv_heads": fewer}, fewer)), f"{fewer} KV heads")
    plain = [g.attention for g in model.groups if g.attention is not None and g.attention.latent is None]
    if (
        not plain
        or max(a.kv_heads for a in plain) <= 8
        or any(a.heads % max(1, a.kv_heads // 4) for a in plain)
    ):
        return Change(None, "the heads are grouped, latent or absent already")
    fewer = max(1, max(a.kv_heads for a in plain) // 4)
    groups = []
    for group in model.groups:
        a = group.attention
        if a is not None and a.latent is None:
            a = a.model_copy(update={"kv_heads": max(1, a.kv_heads // 4)})
        groups.append(group.model_copy(update={"attention": a}))
    return Change(s.change(model=_renamed(model, {"groups": tuple(groups)}, fewer)), f"{fewer} KV heads")


def _renamed(model: Model, update: dict[str, object], kv_heads: int) -> Model:
    values = {name: getattr(model, name) for name in type(model).model_fields} | update
    return Model.model_validate(
        {**values, "id": f"{model.id}-gqa", "name": f"{model.name}, {kv_heads} KV heads"}
    )


def cache_prefix(s: Scenario) -> Change:
    """The shared prefix processed once and kept."""
    if s.shared_prefix:
        hit = min(s.shared_prefix, s.prompt - 1)
        assumed = ""
    else:
        hit = min(int(ASSUMED_SHARED * s.prompt), s.prompt - 1)
        assumed = f"if {n.percent(ASSUMED_SHARED)} of the prompt is shared"
    if hit <= s.prefix_hit:
        return Change(
            None, "the shared part is cached already" if s.prefix_hit else "the prompt is too short to share"
        )
    # Decode may be looked at below the prompt's length: no more can be shared there than is cached.
    shared = min(max(s.shared_prefix, hit), s.depth)
    return Change(
        s.change(prefix_hit=hit, shared_prefix=shared),
        f"{hit:,} of {s.prompt:,} prompt tokens cached",
        assumed,
    )


def speculate(s: Scenario) -> Change:
    """Draft at the length that is best here; with the articles' figures where none are given."""
    acceptance = ASSUMED_ACCEPTANCE if s.acceptance is None else s.acceptance
    has_cost = s.draft_cost is not None or s.draft_model is not None
    cost = s.draft_cost if has_cost else ASSUMED_DRAFT_COST
    if s.draft_tokens:
        return Change(None, f"{s.draft_tokens} tokens are drafted already")
    tried = s.change(acceptance=acceptance, draft_cost=cost, draft_tokens=ASSUMED_DRAFT)
    found = evaluate(tried).typical.speculation
    best = 0 if found is None else found.best_draft_tokens
    assumed = []
    if s.acceptance is None:
        assumed.append(f"acceptance {acceptance:g}")
    if not has_cost:
        assumed.append(f"a drafted token at {ASSUMED_DRAFT_COST:g} of a step")
    if best == 0:
        return Change(None, f"no draft length gains at acceptance {acceptance:g} and this batch")
    return Change(
        tried.change(draft_tokens=best),
        f"{best} tokens drafted",
        "if " + ", ".join(assumed) if assumed else "",
    )


def fill_batch(s: Scenario) -> Change:
    """As many sequences as memory holds while the time per token stays within its target."""
    evaluation = evaluate(s)
    most = evaluation.capacity.max_sequences
    if most is None:
        return Change(None, "memory is not known, so neither is the largest batch")
    most = min(most, 100_000)
    if most <= s.batch:
        return Change(None, f"memory holds {most:,} such sequences and {s.batch:,} run already")
    best = _within_target(s, most)
    if best <= s.batch:
        return Change(None, f"the time per token is at its target of {s.target_tpot_ms:g} ms already")
    return Change(s.change(batch=best), f"{best:,} sequences at once")


def _within_target(s: Scenario, most: int) -> int:
    if s.target_tpot_ms is None:
        return most

    def meets(batch: int) -> bool:
        step = evaluate(s.change(batch=batch)).typical.latency.tpot_s
        return not float(step) > (s.target_tpot_ms or 0.0) / 1e3

    if meets(most):
        return most
    low, high = s.batch, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


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


TECHNIQUES: tuple[Technique, ...] = (
    Technique(
        "quantise_weights",
        "Quantise the weights",
        3,
        "fewer_bytes",
        "decode",
        "weight bytes each step reads",
        "quality to be evaluated again at each precision",
        quantise_weights,
    ),
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
        "cache bytes each step reads and memory holds",
        "quality at long context to be evaluated",
        quantise_cache,
    ),
    Technique(
        "group_heads",
        "Group the KV heads",
        4,
        "fewer_bytes",
        "decode",
        "cache bytes each step reads and memory holds",
        "another model, trained with grouped heads",
        group_heads,
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
    Technique(
        "cache_prefix",
        "Cache the shared prefix",
        5,
        "prefill",
        "prefill",
        "prompt tokens computed again for every request",
        "memory for the prefix, and requests routed to where it is",
        cache_prefix,
    ),
    Technique(
        "speculate",
        "Speculate",
        6,
        "more_tokens",
        "decode",
        "one token for each reading of the weights",
        "a draft that shares the vocabulary; acceptance measured on real traffic",
        speculate,
    ),
    Technique(
        "fill_batch",
        "Batch",
        7,
        "more_tokens",
        "decode",
        "one sequence for each reading of the weights",
        "each user's tokens come slower",
        fill_batch,
    ),
)
