"""The roofline: what a pass costs in time on a device, and which side decides.

Several devices are one roof with the sum of their rates (:mod:`slmopt.theory.parallel`), beside which the link is a third
side: in a ceiling all three run at once and the longest decides, in an estimate the link comes on top. Two memories,
card and host (:mod:`slmopt.theory.offload`), take their turns: the pass is the sum of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.specs.calibration import Calibration
from slmopt.specs.model import Model
from slmopt.specs.rates import Factors, PhasePeak
from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, Kind, Numbers, PassCost, forward
from slmopt.theory.offload import card_terms, host_terms
from slmopt.theory.parallel import micro_batches, split_terms
from slmopt.theory.roof import PassTime, Roof, pass_time
from slmopt.theory.terms import Term, with_kernels

Phase = Literal["decode", "prefill"]
Level = Literal["slow", "typical", "fast"]
LEVELS: tuple[Level, Level, Level] = ("slow", "typical", "fast")

STREAMED_TOKENS = 32
"""Tokens of a pass from which llama.cpp sends the host's weights to the card (ggml-cuda, "op offload")."""


def setup_terms(setup: Setup) -> tuple[Term, ...]:
    """The terms of the scenario's model in its formats, over all its devices and memories.

    Cached tokens count as the scenario's fit found them, and attention's scores as its kernels treat them.
    """
    s = setup.scenario
    terms = split_terms(setup.model, setup.weights, *setup.cache, s.parallel, s.devices)
    if s.fit is not None and s.fit.cache_step != 1:
        terms = tuple(replace(term, cache_step=s.fit.cache_step) for term in terms)
    return with_kernels(terms, unfused=s.unfused)


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
    fit = setup.scenario.fit
    if fit is not None:
        return calibrated_roof(setup, phase, roof, fit)
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


def calibrated_roof(setup: Setup, phase: Phase, roof: Roof, fit: Calibration) -> Roof:
    """``roof`` with the rates of a fit, none above its ceiling; what the scenario itself says of a factor stands."""
    s = setup.scenario
    most = _or_inf(_peak(setup, phase).ceiling)
    bandwidth, batched = roof.bandwidth, None
    if s.bandwidth_fraction is None:
        bandwidth = min(fit.bandwidth_gbs * 1e9, setup.bandwidth)
        batched = None if fit.batched_gbs is None else min(fit.batched_gbs * 1e9, setup.bandwidth)
    peak = roof.peak
    if fit.matrix_tflops is not None and s.compute_fraction is None:
        peak = min(fit.matrix_tflops * 1e12, most)
    attention = peak if s.attention_tflops is None else roof.attention_peak
    if fit.attention_tflops is not None and s.attention_tflops is None and phase == "decode":
        attention = min(fit.attention_tflops * 1e12, most)
    fixed = fit.fixed_ms / 1e3 if s.fixed_ms is None else roof.fixed_s
    return replace(
        roof,
        bandwidth=bandwidth,
        batched_bandwidth=batched,
        peak=peak,
        attention_peak=attention,
        fixed_s=fixed,
        overlap=fit.overlap,
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
        return offloaded_time(setup, groups, roof, kind)
    return spread_time(setup_terms(setup), groups, roof, kind, stages_of(setup))


def run_beside(setup: Setup, model: Model, groups: Sequence[Group], roof: Roof) -> PassTime:
    """Time of a pass of another model (a draft) on the scenario's devices, in its formats; a whole one on the card."""
    s = setup.scenario
    devices = s.devices if roof.host is None else 1
    terms = split_terms(model, setup.weights, *setup.cache, s.parallel, devices)
    terms = with_kernels(terms, unfused=s.unfused)
    if roof.host is not None:
        return pass_time(forward(terms, groups, roof.kind), roof)
    return spread_time(terms, groups, roof, roof.kind, stages_of(setup))


def pass_cost(setup: Setup, groups: Sequence[Group], kind: Kind = "ceiling") -> PassCost:
    """Bytes and operations of a pass over all devices and memories of the scenario."""
    if stages_of(setup) == 1:
        return forward(setup_terms(setup), groups, kind)
    parts, count, readings = micro_batches(groups, stages_of(setup), kind)
    return _repeated(forward(setup_terms(setup), parts, kind), count, readings)


def stages_of(setup: Setup) -> int:
    """Stages of a pipeline; 1 without one."""
    return setup.scenario.devices if setup.scenario.parallel == "pipeline" else 1


def spread_time(
    terms: Sequence[Term],
    groups: Sequence[Group],
    roof: Roof,
    kind: Kind,
    stages: int,
    weight_ratio: Numbers = 1.0,
) -> PassTime:
    """Time of a pass under the roof of all devices, through so many stages of layers.

    ``weight_ratio``: weight bytes over those of the format, where a file's own size is known.
    """
    if stages == 1:
        return pass_time(_heavier(forward(terms, groups, kind), weight_ratio), roof)
    # Each stage holds a share of the layers, so a micro-batch takes what one device with all of them would.
    parts, count, readings = micro_batches(groups, stages, kind)
    time = pass_time(_heavier(forward(terms, parts, kind), weight_ratio), roof.times(1.0 / stages))
    return replace(time, cost=_repeated(time.cost, count, readings))


def offloaded_time(
    setup: Setup, groups: Sequence[Group], roof: Roof, kind: Kind, weight_ratio: Numbers = 1.0
) -> PassTime:
    """Time of a pass whose layers lie partly on the host: the card's, then the host's; ``weight_ratio`` as above."""
    card, kept = forward(card_terms(setup), groups, kind), host_terms(setup)
    if not kept:
        return pass_time(_heavier(card, weight_ratio), roof)
    tokens = np.asarray(sum(np.asarray(g.batch) * g.new for g in groups))
    beside = forward(kept, groups, kind)
    return turns_time(_heavier(card, weight_ratio), _heavier(beside, weight_ratio), tokens, roof)


def _heavier(cost: PassCost, ratio: Numbers) -> PassCost:
    return replace(cost, weight_bytes=cost.weight_bytes * ratio)


def _repeated(cost: PassCost, count: Numbers, readings: Numbers) -> PassCost:
    return PassCost(
        cost.weight_bytes * readings,
        cost.cache_bytes * count,
        cost.matmul_flops * count,
        cost.attention_flops * count,
        cost.link_bytes * count,
        cost.messages,
        cost.tokens * count,
        cost.score_bytes * count,
    )


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
        score_bytes=a.score_bytes + b.score_bytes,
    )
    return replace(first, cost=cost, **{name: getattr(first, name) + getattr(then, name) for name in _TIMES})


def _either(wins: npt.NDArray[np.bool_], one: PassTime, other: PassTime) -> PassTime:
    chosen = {name: np.where(wins, getattr(one, name), getattr(other, name)) for name in _TIMES}
    return replace(other, **chosen)
