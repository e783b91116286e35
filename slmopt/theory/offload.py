"""Partial offload as llama.cpp does it: some layers on the card, the rest on the host, one after the other.

``-ngl n`` puts the last n of (layers + 1) slots on the card, and the slot behind the last layer is the head: n = 1 is the
head alone, n = layers + 1 or more everything. (Versions up to 2025 took layers first, and the head only with n > layers.)
``--n-cpu-moe m`` keeps the routed experts of the first m layers on the host; without ``-ngl`` all layers are on the card.
The input embedding is looked up on the host; a tied one is held by both. A cache lies with its layer.

A model known by its count alone has no head of its own: n of its layers take n/layers of weights and cache.

Layers of a group count alike: where a mixed format gives some of them more bits, the group's mean.

Source: ggml-org/llama.cpp, src/llama-model.cpp (``load_tensors``) and common/arg.cpp, as of 2026; gpustack/gguf-parser-go
issue 42 for the head's slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import EXPERT_ROLES, LOOKUP_ROLES, Model
from slmopt.specs.setup import Setup
from slmopt.specs.weights import tensor_bits
from slmopt.theory.forward import Group, Kind, PassCost, forward
from slmopt.theory.terms import Term, merge, operator_terms, scaled, with_kernels


@dataclass(frozen=True, slots=True)
class Placed:
    """What is on the card: layers of each group, those of them whose experts are there too, and whether the head is.

    ``counts`` are all layers of each group. A model known by its count alone is one group.
    """

    layers: tuple[int, ...]
    experts: tuple[int, ...]
    counts: tuple[int, ...]
    head: bool

    def share(self, group: int | None, *, experts: bool = False) -> float:
        """The share of a group's layers that is on the card; of what stands outside the layers, the head's."""
        if group is None:
            return float(self.head)
        return (self.experts if experts else self.layers)[group] / self.counts[group]

    @property
    def rest(self) -> tuple[int, ...]:
        """Layers of each group that are on the host."""
        return tuple(count - here for count, here in zip(self.counts, self.layers, strict=True))


@lru_cache(maxsize=512)
def placed(model: Model, gpu_layers: int | None, cpu_moe_layers: int | None) -> Placed:
    """Where llama.cpp puts the model's layers; None: all on the card, no experts kept back."""
    count = model.layer_count
    if model.by_count:
        here = count if gpu_layers is None else min(gpu_layers, count)
        return Placed((here,), (here,), (count,), here == count)
    first, kept = 0 if gpu_layers is None else count + 1 - gpu_layers, cpu_moe_layers or 0
    head = gpu_layers is None or gpu_layers > 0
    layers = [sum(place >= first for place in places) for places in model.positions]
    experts = [sum(place >= max(first, kept) for place in places) for places in model.positions]
    return Placed(tuple(layers), tuple(experts), tuple(g.count for g in model.groups), head)


def placed_of(setup: Setup) -> Placed:
    """Where the scenario puts its layers."""
    return placed(setup.model, setup.scenario.gpu_layers, setup.scenario.cpu_moe_layers)


def card_terms(setup: Setup) -> tuple[Term, ...]:
    """The merged terms of what is on the card."""
    return _placed_terms(setup, card=True)


def host_terms(setup: Setup) -> tuple[Term, ...]:
    """The merged terms of what is on the host; none where everything is on the card."""
    return _placed_terms(setup, card=False)


def _placed_terms(setup: Setup, *, card: bool) -> tuple[Term, ...]:
    terms = _merged(setup.model, setup.weights, *setup.cache, placed_of(setup), card)
    return with_kernels(terms, unfused=setup.scenario.unfused)


@lru_cache(maxsize=512)
def _merged(
    model: Model, weights: WeightFormat, k: CacheFormat, v: CacheFormat, where: Placed, card: bool
) -> tuple[Term, ...]:
    return merge(part_operators(model, weights, k, v, where, card=card))


def part_operators(
    model: Model, weights: WeightFormat, k: CacheFormat, v: CacheFormat, where: Placed, *, card: bool
) -> tuple[Term, ...]:
    """The operators that are on the card, or on the host."""
    found = []
    for term in operator_terms(model, weights, k, v):
        here = _here(term, where, model)
        share = here if card else 1.0 - here
        if share > 0.0:
            found.append(scaled(term, share))
    return tuple(found)


def costs_at(setup: Setup, wheres: Sequence[Placed], group: Group, kind: Kind) -> tuple[PassCost, PassCost]:
    """What a pass costs the card and the host for each way to place the layers, as arrays in that order.

    An operator's cost grows with its layers, so each is counted once and shared out.
    """
    card, host = np.zeros((4, len(wheres))), np.zeros((4, len(wheres)))
    terms = operator_terms(setup.model, setup.weights, *setup.cache)
    for term in with_kernels(terms, unfused=setup.scenario.unfused):
        cost = forward([term], [group], kind)
        all_of_it = np.array(
            [[cost.weight_bytes], [cost.cache_bytes], [cost.matmul_flops], [cost.attention_flops]]
        )
        here = np.array([_here(term, where, setup.model) for where in wheres])
        card, host = card + all_of_it * here, host + all_of_it * (1.0 - here)
    return PassCost(*card), PassCost(*host)


def _here(term: Term, where: Placed, model: Model) -> float:
    """The share of an operator that is on the card."""
    # A model known by its count alone has one group, and its terms name none.
    return where.share(0 if model.by_count else term.group, experts=term.operator == "experts")


@lru_cache(maxsize=512)
def held_bytes(model: Model, weights: WeightFormat, where: Placed) -> tuple[float, float]:
    """Bytes of weights that the card and the host hold; towers with the head, a tied table on both."""
    bits = tensor_bits(weights, model)
    if model.by_count:
        whole = model.total_params * bits[0] / 8
        return whole * where.share(0), whole * (1.0 - where.share(0))
    card = host = 0.0
    for tensor, b in zip(model.tensors, bits, strict=True):
        size = tensor.params * b / 8
        if tensor.role in LOOKUP_ROLES:
            host += size
            card += size * (tensor.role == "token_embd" and model.tied and where.head)
            continue
        here = where.share(tensor.group, experts=tensor.role in EXPERT_ROLES)
        card, host = card + size * here, host + size * (1.0 - here)
    return card, host
