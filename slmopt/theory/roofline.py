"""The roofline: what a pass costs in time on a device, and which side decides.

Several devices are one roof with the sum of their rates (:mod:`slmopt.theory.parallel`), beside which the link is a third
side: in a ceiling all three run at once and the longest decides, in an estimate the link comes on top. Two memories,
card and host (:mod:`slmopt.theory.offload`), take their turns: the pass is the sum of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.specs.model import Model
from slmopt.specs.rates import Factors, PhasePeak
from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, Kind, Numbers, PassCost, forward
from slmopt.theory.offload import card_terms, host_terms
from slmopt.theory.parallel import micro_batches, split_terms
from slmopt.theory.terms import Term, pass_terms

Phase = Literal["decode", "prefill"]
Level = Literal["slow", "typical", "fast"]
LEVELS: tuple[Level, Level, Level] = ("slow", "typical", "fast")

STREAMED_TOKENS = 32
"""Tokens of a pass from which llama.cpp sends the host's weights to the card (ggml-cuda, "op offload")."""


@dataclass(frozen=True, slots=True)
class Roof:
    """Bytes/s and FLOP/s of all devices together, as published (ceiling) or as achieved (estimate).

    ``peak`` is NaN where no rate is known: compute time is then NaN and memory alone bounds the pass.
    ``fixed_s`` is the time of a pass that neither bytes nor operations explain. The link is infinite where there is
    none, or none is known. ``host`` is the roof of the memory beside a card's, where part of the model may stay.
    """

    bandwidth: float
    peak: float
    attention_peak: float
    fixed_s: float
    kind: Kind
    source: str
    link_bandwidth: float = float("inf")
    link_latency_s: float = 0.0
    host: Roof | None = None

    @property
    def ridge(self) -> float:
        """Operations per byte at which both sides take the same time."""
        return self.peak / self.bandwidth

    def times(self, devices: float) -> Roof:
        """The roof of so many of them together (a share of them, below 1)."""
        return replace(
            self,
            bandwidth=self.bandwidth * devices,
            peak=self.peak * devices,
            attention_peak=self.attention_peak * devices,
        )


@dataclass(frozen=True, slots=True)
class PassTime:
    """Time of a pass in seconds, with its cost, its kind and where its rates are from.

    ``busy_s`` is the time without the fixed one: of one memory the longer side (and in an estimate the link), of two
    the sum of both. ``link_s`` is a plain zero without a link.
    """

    cost: PassCost
    weight_s: Numbers
    cache_s: Numbers
    matmul_s: Numbers
    attention_s: Numbers
    link_s: Numbers
    busy_s: Numbers
    fixed_s: float
    kind: Kind
    source: str

    @property
    def memory_s(self) -> Numbers:
        """Time to move all bytes."""
        return self.weight_s + self.cache_s

    @property
    def compute_s(self) -> Numbers:
        """Time to do all operations; NaN where a rate is unknown."""
        return self.matmul_s + self.attention_s

    @property
    def seconds(self) -> Numbers:
        """The time of the pass; by memory alone where the compute time is unknown."""
        return self.busy_s + self.fixed_s

    @property
    def link_bound(self) -> npt.NDArray[np.bool_]:
        """Whether the link takes longer than memory and than arithmetic."""
        return np.asarray(self.link_s > np.fmax(self.memory_s, self.compute_s))

    @property
    def compute_bound(self) -> npt.NDArray[np.bool_]:
        """Whether arithmetic decides; at the ridge memory is named."""
        return np.asarray(self.compute_s > self.memory_s) & ~self.link_bound

    @property
    def bound(self) -> Literal["memory", "compute", "link"]:
        """Which side decides, for a single pass."""
        if bool(self.link_bound):
            return "link"
        return "compute" if bool(self.compute_bound) else "memory"


def pass_time(cost: PassCost, roof: Roof) -> PassTime:
    """max(bytes/bandwidth, operations/peak), operations of attention at a rate of their own where one is given.

    A ceiling takes the link as a third side; an estimate adds it.
    """
    weight, cache = cost.weight_bytes / roof.bandwidth, cost.cache_bytes / roof.bandwidth
    matmul, attention = cost.matmul_flops / roof.peak, cost.attention_flops / roof.attention_peak
    busy: Numbers = np.fmax(weight + cache, matmul + attention)
    link: Numbers = 0.0
    if np.any(cost.messages):
        link = cost.link_bytes / roof.link_bandwidth + cost.messages * roof.link_latency_s
        busy = np.maximum(busy, link) if roof.kind == "ceiling" else busy + link
    return PassTime(cost, weight, cache, matmul, attention, link, busy, roof.fixed_s, roof.kind, roof.source)


def setup_terms(setup: Setup) -> tuple[Term, ...]:
    """The terms of the scenario's model in its formats, over all its devices and memories."""
    s = setup.scenario
    return split_terms(setup.model, setup.weights, *setup.cache, s.parallel, s.devices)


def ceiling_roof(setup: Setup, phase: Phase) -> Roof:
    """Published bandwidth and the fastest rate for these operands; of several devices the sum."""
    peak = _peak(setup, phase).ceiling
    rate = float("nan") if peak is None else peak
    roof = Roof(setup.bandwidth, rate, rate, 0.0, "ceiling", setup.device.source, *_link(setup))
    if setup.host is not None:
        host = setup.host
        known = getattr(host, phase).ceiling
        beside = float("nan") if known is None else known
        roof = replace(roof, host=Roof(host.bandwidth, beside, beside, 0.0, "ceiling", host.device.source))
    return roof.times(setup.scenario.devices)


def estimate_roof(setup: Setup, phase: Phase, level: Level) -> Roof:
    """Achievable rates: fractions of bandwidth and of the engine's own rate, and the fixed time of a pass."""
    roof = _reached(setup.bandwidth, _peak(setup, phase).estimate, setup.factors, level)
    bandwidth, latency = _link(setup)
    roof = replace(roof, link_bandwidth=bandwidth, link_latency_s=latency)
    if setup.host is not None:
        beside = _reached(
            setup.host.bandwidth, getattr(setup.host, phase).estimate, setup.host.factors, level
        )
        roof = replace(roof, host=replace(beside, fixed_s=0.0))
    return roof.times(setup.scenario.devices)


def _reached(bandwidth: float, peak: float | None, factors: Factors, level: Level) -> Roof:
    at = LEVELS.index(level)
    rate = float("nan") if peak is None else peak * factors.compute[at]
    attention = rate if factors.attention_rate is None else min(factors.attention_rate, _or_inf(peak))
    return Roof(
        bandwidth * factors.bandwidth[at], rate, attention, factors.fixed_s, "estimate", factors.origin
    )


def _link(setup: Setup) -> tuple[float, float]:
    """Bytes/s and seconds a message; what is not known costs nothing."""
    wire = setup.wire
    if wire is None:
        return float("inf"), 0.0
    return _or_inf(wire.bandwidth), wire.latency_s or 0.0


def _or_inf(rate: float | None) -> float:
    return float("inf") if rate is None else rate


def _peak(setup: Setup, phase: Phase) -> PhasePeak:
    return setup.decode if phase == "decode" else setup.prefill


def roofs(setup: Setup, phase: Phase) -> dict[str, Roof]:
    """The ceiling and the three levels of the estimate."""
    return {"ceiling": ceiling_roof(setup, phase), **{lv: estimate_roof(setup, phase, lv) for lv in LEVELS}}


def run(setup: Setup, groups: Sequence[Group], roof: Roof, counted: Kind | None = None) -> PassTime:
    """Time of a pass over ``groups`` under ``roof``, counted as its kind counts unless another is given."""
    kind = counted or roof.kind
    if roof.host is not None:
        return _in_turns(setup, groups, roof, kind)
    return _spread(setup, setup_terms(setup), groups, roof, kind)


def run_beside(setup: Setup, model: Model, groups: Sequence[Group], roof: Roof) -> PassTime:
    """Time of a pass of another model (a draft) on the scenario's devices, in its formats; a whole one on the card."""
    s = setup.scenario
    if roof.host is not None:
        return pass_time(forward(pass_terms(model, setup.weights, *setup.cache), groups, roof.kind), roof)
    terms = split_terms(model, setup.weights, *setup.cache, s.parallel, s.devices)
    return _spread(setup, terms, groups, roof, roof.kind)


def pass_cost(setup: Setup, groups: Sequence[Group], kind: Kind = "ceiling") -> PassCost:
    """Bytes and operations of a pass over all devices and memories of the scenario."""
    if stages_of(setup) == 1:
        return forward(setup_terms(setup), groups, kind)
    parts, count, readings = micro_batches(groups, stages_of(setup), kind)
    return _repeated(forward(setup_terms(setup), parts, kind), count, readings)


def stages_of(setup: Setup) -> int:
    """Stages of a pipeline; 1 without one."""
    return setup.scenario.devices if setup.scenario.parallel == "pipeline" else 1


def _spread(
    setup: Setup, terms: tuple[Term, ...], groups: Sequence[Group], roof: Roof, kind: Kind
) -> PassTime:
    stages = stages_of(setup)
    if stages == 1:
        return pass_time(forward(terms, groups, kind), roof)
    # Each stage holds a share of the layers, so a micro-batch takes what one device with all of them would.
    parts, count, readings = micro_batches(groups, stages, kind)
    time = pass_time(forward(terms, parts, kind), roof.times(1.0 / stages))
    return replace(time, cost=_repeated(time.cost, count, readings))


def _repeated(cost: PassCost, count: Numbers, readings: Numbers) -> PassCost:
    return PassCost(
        cost.weight_bytes * readings,
        cost.cache_bytes * count,
        cost.matmul_flops * count,
        cost.attention_flops * count,
        cost.link_bytes * count,
        cost.messages,
    )


def _in_turns(setup: Setup, groups: Sequence[Group], roof: Roof, kind: Kind) -> PassTime:
    """The card's layers, then the host's."""
    card, kept = forward(card_terms(setup), groups, kind), host_terms(setup)
    if not kept:
        return pass_time(card, roof)
    tokens = np.asarray(sum(np.asarray(g.batch) * g.new for g in groups))
    return turns_time(card, forward(kept, groups, kind), tokens, roof)


def turns_time(on_card: PassCost, kept: PassCost, tokens: Numbers, roof: Roof) -> PassTime:
    """Time of what is on the card, then of what the host keeps: done there, or sent to the card where that is faster.

    ``tokens`` are those that the pass feeds; ``roof`` has a host's. Costs and tokens broadcast.
    """
    host = roof.host
    assert host is not None
    card, beside = pass_time(on_card, roof), pass_time(kept, host)
    prompt = np.asarray(tokens >= STREAMED_TOKENS) & (roof.kind == "estimate")
    wins, sent = np.zeros_like(prompt), beside
    if np.isfinite(roof.link_bandwidth):
        sent = pass_time(kept, replace(roof, bandwidth=min(roof.link_bandwidth, host.bandwidth)))
        if roof.kind == "estimate":
            # llama.cpp copies, then computes.
            sent = replace(sent, busy_s=np.fmax(sent.memory_s, sent.memory_s + sent.compute_s))
        wins = np.asarray(sent.busy_s < beside.busy_s)
        wins = prompt & (wins | np.isnan(beside.compute_s)) if roof.kind == "estimate" else wins
    if np.isnan(host.peak):
        # A bound may leave out what is not known, and a single token waits for memory; a prompt's time stays open.
        unknown = np.where(prompt, np.nan, 0.0)
        beside = replace(beside, matmul_s=unknown, attention_s=unknown)
    return _sum(card, _either(wins, sent, beside) if wins.any() else beside)


_TIMES = ("weight_s", "cache_s", "matmul_s", "attention_s", "busy_s")


def _sum(first: PassTime, then: PassTime) -> PassTime:
    a, b = first.cost, then.cost
    cost = PassCost(
        a.weight_bytes + b.weight_bytes,
        a.cache_bytes + b.cache_bytes,
        a.matmul_flops + b.matmul_flops,
        a.attention_flops + b.attention_flops,
    )
    return replace(first, cost=cost, **{name: getattr(first, name) + getattr(then, name) for name in _TIMES})


def _either(wins: npt.NDArray[np.bool_], one: PassTime, other: PassTime) -> PassTime:
    chosen = {name: np.where(wins, getattr(one, name), getattr(other, name)) for name in _TIMES}
    return replace(other, **chosen)
