"""Which memories hold a model, and what of it each: one device's, each of several, or a card's and its host's.

* One device, or several that split every matrix: 1/N of the weights, and of the cache what one device keeps.
* Experts spread whole: of each layer's the ⌈E/N⌉ of the fullest device, and 1/N of all else.
* A pipeline: the fullest stage decides. Layers are dealt out evenly, the odd ones to the stages before the last, as vLLM
  does; the first stage has the embedding (and towers), the last the head (and prediction layers), a tied table both.
* Partial offload: card and host (:mod:`slmopt.theory.offload`), the host's memory with nothing reserved.
* What drafts (a draft model with its own cache, heads built in): 1/N on each of several devices, whole on the card, and on
  the last stage of a pipeline, whose hidden values it needs.

Source: vllm-project/vllm, vllm/distributed/utils.py (``get_pp_indices``, 2026).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from slmopt.specs.base import SpecError
from slmopt.specs.formats import WeightFormat
from slmopt.specs.model import EXPERT_ROLES, LOOKUP_ROLES, Model
from slmopt.specs.scenario import Allocation
from slmopt.specs.setup import Setup
from slmopt.specs.weights import tensor_bits
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engines import cache_of, memory_share, unstated
from slmopt.theory.offload import held_bytes, placed_of

Place = Literal["device", "stage", "card", "host"]


@dataclass(frozen=True)
class Holder:
    """One memory. Bytes; ``capacity`` is None where unknown, ``share`` the part of it that the engine may fill.

    ``weight_bytes`` are all weights, ``draft_bytes`` those of them that only draft. ``unstated`` is what the engine keeps for itself beside the ``buffers`` that were entered, as (least, most).
    """

    place: Place
    capacity: float | None
    share: float
    weight_bytes: float
    buffers: float
    unstated: tuple[float, float] | None
    cache: Cache
    draft_bytes: float = 0.0

    @property
    def usable(self) -> float | None:
        """What may be filled."""
        return None if self.capacity is None else self.capacity * self.share

    def reserve(self, *, most: bool = False) -> float:
        """Buffers: those entered, and the least (the most) that the engine is known to keep for itself."""
        least, largest = self.unstated or (0.0, 0.0)
        return self.buffers + (largest if most else least)


def only(setup: Setup, what: str) -> Holder:
    """The one memory of a scenario without further devices or a host.

    Raises SpecError, in words that begin with ``what``, where there are more.
    """
    if setup.scenario.devices > 1 or setup.host is not None:
        raise SpecError(
            f"{what} with one device and all layers on it; this scenario has more memories than one."
        )
    return holders(setup)[0]


def holders(setup: Setup, allocation: Allocation | None = None) -> tuple[Holder, ...]:
    """Every memory that may be the one that fills first."""
    s = setup.scenario
    one = Holder(
        place="device",
        capacity=setup.capacity,
        share=memory_share(setup),
        weight_bytes=setup.weight_bytes + setup.draft_bytes,
        draft_bytes=setup.draft_bytes,
        buffers=setup.buffers,
        unstated=unstated(setup),
        cache=cache_of(setup, allocation),
    )
    if setup.host is not None:
        return tuple(_card_and_host(setup, one))
    if s.devices == 1:
        return (one,)
    if s.parallel == "pipeline":
        return tuple(_stages(setup, one))
    spread = s.parallel == "expert"
    own = _split_bytes(setup.model, setup.weights, s.devices, spread, setup.weight_bytes)
    draft = setup.draft_bytes / s.devices
    return (replace(one, weight_bytes=own + draft, draft_bytes=draft),)


def _card_and_host(setup: Setup, one: Holder) -> Iterator[Holder]:
    host = setup.host
    assert host is not None
    where = placed_of(setup)
    card, rest = held_bytes(setup.model, setup.weights, where)
    here = replace(one.cache, counts=where.layers)
    yield replace(one, place="card", weight_bytes=card + setup.draft_bytes, cache=here)
    there = replace(one.cache, counts=where.rest, beside=None)
    yield Holder("host", host.capacity, 1.0, rest, 0.0, None, there)


def _split_bytes(
    model: Model, weights: WeightFormat, devices: int, whole_experts: bool, whole: float
) -> float:
    """Weights on the fullest of several devices."""
    experts = _expert_bytes(model, weights) if whole_experts else {}
    rest = whole - sum(experts.values())
    for group, size in experts.items():
        moe = model.groups[group].moe
        assert moe is not None
        rest += size * (math.ceil(moe.experts / devices) / moe.experts) * devices
    return rest / devices


@lru_cache(maxsize=256)
def _expert_bytes(model: Model, weights: WeightFormat) -> dict[int, float]:
    found: dict[int, float] = {}
    for tensor, bits in zip(model.tensors, tensor_bits(weights, model), strict=True):
        if tensor.role in EXPERT_ROLES and tensor.group is not None:
            found[tensor.group] = found.get(tensor.group, 0.0) + tensor.params * bits / 8
    return found


def _stages(setup: Setup, one: Holder) -> Iterator[Holder]:
    """The stages of a pipeline; alike ones once."""
    model, seen = setup.model, set()
    sizes = stage_sizes(model.layer_count, setup.scenario.devices)
    start = 0
    for at, size in enumerate(sizes):
        first, last = at == 0, at == len(sizes) - 1
        counts = _counts(model, start, start + size)
        start += size
        if (counts, first, last) not in seen:
            seen.add((counts, first, last))
            held = _stage_bytes(model, setup.weights, counts, first, last)
            draft = setup.draft_bytes if last else 0.0
            cache = replace(one.cache, counts=counts, beside=one.cache.beside if last else None)
            yield replace(one, place="stage", weight_bytes=held + draft, draft_bytes=draft, cache=cache)


def stage_sizes(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage: evenly, the odd ones to the stages before the last."""
    sizes = [layers // stages] * stages
    for odd in range(layers % stages):
        sizes[-2 - odd] += 1
    return tuple(sizes)


def _counts(model: Model, start: int, end: int) -> tuple[int, ...]:
    if model.by_count:
        return (end - start,)
    return tuple(sum(start <= place < end for place in places) for places in model.positions)


@lru_cache(maxsize=1024)
def _stage_bytes(
    model: Model, weights: WeightFormat, counts: tuple[int, ...], first: bool, last: bool
) -> float:
    bits = tensor_bits(weights, model)
    if model.by_count:
        return model.total_params * bits[0] / 8 * counts[0] / model.layers
    held = 0.0
    for tensor, b in zip(model.tensors, bits, strict=True):
        if tensor.group is not None:
            share = counts[tensor.group] / model.groups[tensor.group].count
        elif tensor.role == "token_embd":
            share = float(first or (last and model.tied))
        else:
            share = float(first if tensor.role in LOOKUP_ROLES or tensor.role == "tower" else last)
        held += tensor.params * b / 8 * share
    return held
