"""A pass by its operators: attention, MLP, experts, head and state of each layer group, under the ceiling.

Each has its own bytes and operations, so a place of its own on the roofline. A pass takes as long as the side that decides
it, and an operator's share of that time is its share of that side: of the bytes where memory decides, of the operations
where arithmetic does. Shares add up to the whole pass. On two memories each has its own deciding side.

Not counted: what passes over a link; sending a host's weights to the card.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from slmopt.specs.setup import Setup
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.latency import decode_group, prefill_group
from slmopt.theory.offload import part_operators, placed_of
from slmopt.theory.parallel import micro_batches, split_operators
from slmopt.theory.roof import PassTime, Roof, pass_time
from slmopt.theory.roofline import stages_of
from slmopt.theory.terms import Term

OperatorKind = Literal["attention", "state", "mlp", "experts", "head", "other", "weights"]

KINDS: Final[dict[str, OperatorKind]] = {
    "attention": "attention",
    "projections": "attention",
    "state": "state",
    "state projections": "state",
    "mlp": "mlp",
    "experts": "experts",
    "head": "head",
    "other": "other",
    "weights": "weights",
}
"""The operator that a term belongs to; ``weights`` are those of a model known by its count alone."""

_ORDER: Final = tuple(dict.fromkeys(KINDS.values()))


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of one layer group in a pass; ``group`` is None outside the layers.

    ``weight_bytes``, ``cache_bytes`` and ``flops`` are those of the whole pass. ``seconds`` is its part of the pass, and
    ``share`` that part of the whole (0 to 1). ``compute_first`` says that it alone would wait for arithmetic.
    """

    kind: OperatorKind
    group: int | None
    layers: int
    layer_kind: str
    weight_bytes: float
    cache_bytes: float
    flops: float
    seconds: float
    share: float
    compute_first: bool

    @property
    def bytes(self) -> float:
        """All bytes moved."""
        return self.weight_bytes + self.cache_bytes

    @property
    def intensity(self) -> float:
        """Operations per byte moved; infinite where it moves none."""
        return self.flops / self.bytes if self.bytes else math.inf


@dataclass(frozen=True, slots=True)
class OperatorsView:
    """The operators of both phases, in the order of the layer groups."""

    decode: tuple[Operator, ...]
    prefill: tuple[Operator, ...]


def operators_view(evaluation: Evaluation) -> OperatorsView:
    """A decode step and a prefill of the scenario, operator by operator."""
    setup, best = evaluation.setup, evaluation.ceiling
    return OperatorsView(
        decode=operators(setup, [decode_group(setup)], best.decode_roof),
        prefill=operators(setup, [prefill_group(setup)], best.prefill_roof),
    )


def operators(setup: Setup, groups: Sequence[Group], roof: Roof) -> tuple[Operator, ...]:
    """The operators of a pass over ``groups`` (one pass: no arrays) under a ceiling."""
    stages = stages_of(setup)
    parts, count, readings = micro_batches(groups, stages, roof.kind)
    one = roof.times(1.0 / stages)
    found: dict[tuple[int | None, OperatorKind], list[tuple[PassTime, float]]] = {}
    for terms, under in _parts(setup, one):
        times = [(term, pass_time(forward([term], parts, roof.kind), under)) for term in terms]
        memory = sum(float(time.memory_s) for _, time in times)
        compute = sum(float(time.compute_s) for _, time in times)
        for term, time in times:
            decides = time.compute_s if compute > memory else time.memory_s
            held = found.setdefault((term.group, KINDS[term.operator]), [])
            held.append((time, float(decides)))
    whole = sum(seconds for held in found.values() for _, seconds in held)
    made = [_operator(setup, key, held, whole, float(count), float(readings)) for key, held in found.items()]
    return tuple(sorted(made, key=_place))


def _parts(setup: Setup, roof: Roof) -> list[tuple[tuple[Term, ...], Roof]]:
    """What runs under which roof: everything under one, or the card's part and the host's."""
    s = setup.scenario
    if roof.host is None:
        terms = split_operators(setup.model, setup.weights, *setup.cache, s.parallel, s.devices)
        return [(tuple(term for term in terms if term.operator in KINDS), roof)]
    where = placed_of(setup)
    card, host = (
        part_operators(setup.model, setup.weights, *setup.cache, where, card=card) for card in (True, False)
    )
    return [(card, roof), (host, roof.host)]


def _operator(
    setup: Setup,
    key: tuple[int | None, OperatorKind],
    held: list[tuple[PassTime, float]],
    whole: float,
    count: float,
    readings: float,
) -> Operator:
    group, kind = key
    costs: list[PassCost] = [time.cost for time, _ in held]
    seconds = sum(seconds for _, seconds in held)
    model = setup.model
    return Operator(
        kind=kind,
        group=group,
        layers=model.layer_count if group is None else model.groups[group].count,
        layer_kind="" if group is None else model.groups[group].kind,
        weight_bytes=sum(float(cost.weight_bytes) for cost in costs) * readings,
        cache_bytes=sum(float(cost.cache_bytes) for cost in costs) * count,
        flops=sum(float(cost.flops) for cost in costs) * count,
        seconds=seconds,
        share=seconds / whole,
        compute_first=sum(float(t.compute_s) for t, _ in held) > sum(float(t.memory_s) for t, _ in held),
    )


def _place(one: Operator) -> tuple[float, int]:
    return (math.inf if one.group is None else one.group), _ORDER.index(one.kind)
