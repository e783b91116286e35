"""What holds back the first token, the time per token, throughput and capacity; and what each part would give if removed.

A pass takes the longer of two sides and a fixed time. The side that decides is split into what it is made of: memory into
weights and cache, arithmetic into matrix products and attention. The part that takes most of the time is the bottleneck;
the factor says how much faster the same pass would be without it, which the other side may limit to little.

Scores that attention's kernels write and read again count as attention, and the wait for a model that is not loaded as
time of the pass that neither bytes nor operations explain.

Software is named where less is reached than the slowest tenth of such devices reach: in the user's measurements where
there are any, else in the fractions entered. Its factor is what the best tenth (for measurements: the median) would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from slmopt.advice.observed import Observed
from slmopt.advice.usual import best_roof, slower_than_usual, usual_factors
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup
from slmopt.theory.batching import crossover
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.latency import decode_step, prefill
from slmopt.theory.queueing import Load, under_load
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.unknown import bracket

Metric = Literal["ttft", "tpot", "throughput", "capacity"]
Part = Literal[
    "weights",
    "cache",
    "compute",
    "attention",
    "capacity",
    "fixed_time",
    "software",
    "queueing",
    "link",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
PARTS: tuple[Part, ...] = get_args(Part)

MOSTLY_WEIGHTS = 2.0 / 3.0
"""Share of memory above which halving the weights makes more room than halving each cache does."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric. ``part`` is None where it cannot be said (``why`` says so, as a code).

    ``share`` is the part's share of the time (of the memory held, for capacity); ``gains`` the factor by which the metric
    would be better without each part, computed by the same pass; infinite where nothing else would be left.
    ``next_part`` takes over once the part is gone.
    """

    metric: Metric
    part: Part | None
    share: float
    gains: Mapping[Part, float]
    next_part: Part | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings of all metrics, and the load they were made at where requests arrive at a rate."""

    findings: Mapping[Metric, Finding]
    load: Load | None

    def __getitem__(self, metric: Metric) -> Finding:
        return self.findings[metric]


@lru_cache(maxsize=256)
def diagnose(scenario: Scenario, observed: Observed | None = None) -> Diagnosis:
    """The bottleneck of each metric, from the scenario and, where given, from judged measurements."""
    evaluation = evaluate(scenario)
    load = load_of(evaluation)
    found = {
        "ttft": _first_token(evaluation, load, observed),
        "tpot": _time_per_token(evaluation, observed),
        "throughput": _throughput(evaluation, observed),
        "capacity": _capacity(evaluation),
    }
    return Diagnosis(MappingProxyType(dict(zip(METRICS, found.values(), strict=True))), load)


def load_of(evaluation: Evaluation) -> Load | None:
    """Waiting at the scenario's request rate, typical estimate; None without a rate, or where prefill is unknown."""
    s = evaluation.setup.scenario
    if s.request_rate is None or np.isnan(float(evaluation.typical.prefill.compute_s)):
        return None
    most = evaluation.capacity.max_sequences
    typical = evaluation.typical
    limit = None if most is None else float(most)
    return under_load(evaluation.setup, typical.decode_roof, typical.prefill_roof, s.request_rate, limit)


def components(time: PassTime) -> dict[Part, float]:
    """Seconds of the deciding side's parts, of the link and of the fixed time: what adds up to the pass.

    Where two memories take turns, each with a side of its own, the parts of the side that is longer over both stand for
    the whole.
    """
    side, _, added = _sides(time)
    shown = sum(side.values())
    busy = float(time.busy_s) - float(time.link_s) - sum(added.values())
    scale = busy / shown if shown > 0 else 0.0
    parts = {part: seconds * scale for part, seconds in side.items()} | added
    link: dict[Part, float] = {"link": float(time.link_s)} if float(time.link_s) else {}
    return {**parts, **link, "fixed_time": float(time.fixed_s)}


def _sides(time: PassTime) -> tuple[dict[Part, float], float, dict[Part, float]]:
    """The parts of the longer side, the time of the other, and what a fit found to come on top of both."""
    memory = _memory(time)
    compute: dict[Part, float] = {"compute": float(time.matmul_s), "attention": float(time.attention_s)}
    added: dict[Part, float] = {}
    if time.overlap is not None and not np.isnan(float(time.compute_s)):
        added["attention"] = compute.pop("attention")
        if bool(time.joined):
            return {**memory, **compute}, 0.0, added
    other = sum(compute.values())
    if other > float(time.memory_s):
        return compute, float(time.memory_s), added
    return memory, float(np.nan_to_num(other)), added


def _memory(time: PassTime) -> dict[Part, float]:
    """Seconds of what is moved; scores apart where they leave the chip and no fit has a time of attention's own."""
    weights, cache = float(time.weight_s), float(time.cache_s)
    scores = float(time.cost.score_bytes)
    if not scores or time.overlap is not None:
        return {"weights": weights, "cache": cache}
    moved = cache * scores / float(time.cost.cache_bytes)
    return {"weights": weights, "cache": cache - moved, "attention": moved}


def without(time: PassTime, *gone: Part) -> float:
    """Seconds of the same pass without these parts; what the other side takes is left."""
    parts = components(time)
    longer, other, _ = _sides(time)
    if "attention" in gone and time.overlap is None:
        # Its arithmetic stands on one side, its scores on the other.
        other -= float(time.attention_s) if "weights" in longer else _memory(time).get("attention", 0.0)
        other = max(0.0, float(np.nan_to_num(other)))
    apart = sum(seconds for name, seconds in parts.items() if name not in longer)
    side = sum(parts[name] for name in longer)
    removed = sum(parts[part] for part in gone if part in longer)
    left = max(min(other, side), side - removed)
    return left + apart - sum(parts.get(part, 0.0) for part in gone if part not in longer)


_OF_A_PASS: tuple[Part, ...] = ("weights", "cache", "compute", "attention", "link", "fixed_time")


def _pass(
    metric: Metric, setup: Setup, time: PassTime, again: Callable[[Roof], PassTime], roof: Roof
) -> Finding:
    """The finding from one pass alone; ``again`` is the same pass under another roof."""
    parts = components(time)
    total = float(time.seconds)
    gains: dict[Part, float] = {}
    for part in _OF_A_PASS:
        if part == "link" and part not in parts:
            continue
        left = without(time, part)
        gains[part] = total / left if left > 0 else float("inf")
    usual = usual_factors(setup)
    gains["software"] = total / float(again(best_roof(setup, roof, usual)).seconds)
    part = max(parts, key=lambda name: parts[name])
    finding = Finding(metric, part, parts[part] / total, MappingProxyType(gains), _after(time, part))
    side = "compute" if float(time.compute_s) > float(time.memory_s) else "bandwidth"
    if slower_than_usual(setup.factors, usual, side):
        return replace(finding, part="software", share=1.0 - 1.0 / gains["software"], next_part=part)
    return finding


def _after(time: PassTime, gone: Part) -> Part | None:
    """What takes most of the time once a part is gone: the rest of its side, or the other side's larger part."""
    parts = components(time)
    side, other, _ = _sides(time)
    rest = {part: seconds for part, seconds in parts.items() if part != gone}
    if sum(seconds for part, seconds in side.items() if part != gone) < other and gone in side:
        rest = {part: seconds for part, seconds in rest.items() if part not in side}
        opposite: dict[Part, float] = (
            _memory(time)
            if "compute" in side
            else {"compute": float(time.matmul_s), "attention": float(time.attention_s)}
        )
        rest.update(opposite)
    largest = max(rest, key=lambda name: rest[name])
    return largest if rest[largest] > 0 else None


def _seen(finding: Finding, phase: str, observed: Observed | None) -> Finding:
    """The finding with the user's own measurements in it: slower than usual means software first."""
    seen = None if observed is None else observed.phase(phase)
    if seen is None or not seen.slow:
        return finding
    gains = MappingProxyType({**finding.gains, "software": seen.to_median})
    part = finding.part if finding.part != "software" else finding.next_part
    return replace(finding, part="software", share=1.0 - 1.0 / seen.to_median, gains=gains, next_part=part)


def _first_token(e: Evaluation, load: Load | None, observed: Observed | None) -> Finding:
    typical = e.typical
    if np.isnan(float(typical.prefill.compute_s)):
        found = bracket(e.ceiling.prefill, e.setup.prefill)
        bound = None if found is None else found.bound
        if bound is None:
            return Finding("ttft", None, float("nan"), MappingProxyType({}), why="no_rate")
        part: Part = "compute" if bound == "compute" else "weights"
        return Finding("ttft", part, float("nan"), MappingProxyType({}), why="rate_bracketed")
    finding = _pass(
        "ttft", e.setup, typical.prefill, lambda roof: prefill(e.setup, roof), typical.prefill_roof
    )
    finding = _seen(finding, "prefill", observed)
    if typical.latency.load_s:
        finding = _loading(finding, typical.prefill, typical.latency.load_s)
    if load is None:
        return finding
    first = float(typical.prefill.seconds)
    gain = load.ttft_s / first
    gains = MappingProxyType({**finding.gains, "queueing": gain})
    if load.saturated or load.wait_s > first:
        return replace(finding, part="queueing", share=1.0 - 1.0 / gain, gains=gains, next_part=finding.part)
    return replace(finding, gains=gains)


def _loading(finding: Finding, time: PassTime, load_s: float) -> Finding:
    """The finding with the wait for the model's file before the pass, as part of its fixed time."""
    first = float(time.seconds)
    total = load_s + first
    gains = {part: total / (load_s + first / gain) for part, gain in finding.gains.items()}
    left = without(time, "fixed_time")
    gains["fixed_time"] = total / left if left > 0 else float("inf")
    held = MappingProxyType(gains)
    share = (load_s + float(time.fixed_s)) / total
    if finding.part == "fixed_time" or load_s > finding.share * first:
        after = finding.next_part if finding.part == "fixed_time" else finding.part
        return replace(finding, part="fixed_time", share=share, gains=held, next_part=after)
    return replace(finding, share=finding.share * first / total, gains=held, next_part="fixed_time")


def _time_per_token(e: Evaluation, observed: Observed | None) -> Finding:
    s, roof = e.setup.scenario, e.typical.decode_roof
    # A step's time is piecewise linear in the cached tokens, so the middle step stands for the mean.
    middle = float(s.prompt) + max(0, s.output - 2) / 2.0
    step = decode_step(e.setup, roof, context=middle)
    return _seen(
        _pass("tpot", e.setup, step, lambda other: decode_step(e.setup, other, context=middle), roof),
        "decode",
        observed,
    )


def _throughput(e: Evaluation, observed: Observed | None) -> Finding:
    """A step at the scenario's context; where it mostly reads weights and memory holds no more sequences: capacity."""
    typical, held = e.typical, e.capacity
    finding = _pass(
        "throughput", e.setup, typical.decode, lambda roof: decode_step(e.setup, roof), typical.decode_roof
    )
    limit = crossover(e.setup, typical.decode_roof).throughput_limit
    most = held.max_sequences
    if limit is not None:
        gains = MappingProxyType({**finding.gains, "capacity": limit / typical.device_tokens_per_s})
        finding = replace(finding, gains=gains)
    finding = _seen(finding, "decode", observed)
    full = most is not None and held.now >= most
    over = most is not None and held.now > most
    if over or (full and finding.part in ("weights", "fixed_time")):
        return replace(finding, part="capacity", next_part=finding.part)
    return finding


def _capacity(e: Evaluation) -> Finding:
    """Weights where halving them makes more room than halving each cache; else the cache."""
    held = e.capacity
    if held.usable is None or not held.usable > 0:
        return Finding("capacity", None, float("nan"), MappingProxyType({}), why="no_memory")
    weights = held.fixed_bytes / held.usable
    if held.max_sequences is None:
        return Finding("capacity", None, weights, MappingProxyType({}), why="no_cache")
    room = held.usable - held.fixed_bytes - held.shared_bytes
    freed = (held.usable - held.shared_bytes) / room if room > 0 else float("inf")
    gains: dict[Part, float] = {"weights": freed, "cache": float("inf") if room > 0 else 1.0}
    if weights > MOSTLY_WEIGHTS:
        return Finding("capacity", "weights", min(1.0, weights), MappingProxyType(gains), "cache")
    share = held.max_sequences * held.bytes_per_sequence / held.usable
    return Finding("capacity", "cache", float(np.clip(share, 0, 1)), MappingProxyType(gains), "weights")
