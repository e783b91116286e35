"""What a change of scenario gains: ratios of estimates, computed by the same pass on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from slmopt.advice.technique import Gain
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import Evaluation, Phases, evaluate
from slmopt.theory.residency import load_seconds
from slmopt.theory.speculation import speedup
from slmopt.theory.unknown import bracket


@dataclass(frozen=True, slots=True)
class Headline:
    """What users and operators feel, estimated: seconds, tokens/s of the device, sequences that fit.

    TPOT and throughput include drafting where the scenario drafts. ``sequences`` is None where memory is unknown. Where the
    matrix rate is, ``ttft_s`` holds the first token at the fastest and at the slowest rate that the device is known to
    have; else the estimate, twice. ``stall_s`` is the longest wait between two tokens of the others while a prompt arrives, NaN
    where none decode beside it or the matrix rate is not known.
    """

    ttft_s: tuple[float, float]
    tpot_s: float
    device_tokens_per_s: float
    sequences: float | None
    held_bytes: float
    stall_s: float


def headline(evaluation: Evaluation) -> Headline:
    """The typical estimate's figures."""
    return _headline(evaluation.setup.scenario)


@lru_cache(maxsize=512)
def _headline(scenario: Scenario) -> Headline:
    evaluation = evaluate(scenario)
    typical = evaluation.typical
    faster = drafting_speedup(typical)
    tpot = float(typical.latency.tpot_s)
    most = evaluation.capacity.max_sequences
    return Headline(
        ttft_s=_first_token(evaluation),
        tpot_s=(float(typical.decode.seconds) if np.isnan(tpot) else tpot) / faster,
        device_tokens_per_s=typical.device_tokens_per_s * faster,
        sequences=None if most is None else float(most),
        held_bytes=evaluation.capacity.held_now,
        stall_s=float("nan") if np.isnan(float(typical.prefill.compute_s)) else typical.stall_s,
    )


def drafting_speedup(phases: Phases) -> float:
    """How much faster drafting makes decode; 1 where the scenario does not draft or lacks what it needs."""
    s = phases.setup.scenario
    if not s.draft_tokens or s.acceptance is None:
        return 1.0
    found = float(speedup(phases.setup, phases.decode_roof, s.acceptance, s.draft_tokens))
    return 1.0 if np.isnan(found) else found


def _first_token(evaluation: Evaluation) -> tuple[float, float]:
    if evaluation.setup.prefill.estimate is not None:
        unknown = np.isnan(float(evaluation.typical.prefill.compute_s))
        estimate = float("nan") if unknown else float(evaluation.typical.latency.ttft_s)
        return estimate, estimate
    found = bracket(evaluation.ceiling.prefill, evaluation.setup.prefill)
    load = load_seconds(evaluation.setup, "estimate")
    return (float("nan"), float("nan")) if found is None else (load + found.fast_s, load + found.slow_s)


def comparable(before: Scenario, after: Scenario) -> Scenario:
    """``after`` with the share of the matrix rate and the fixed time that ``before`` reaches.

    Reference measurements of 16-bit and of quantised weights are of other machines and engines, so these two differ
    between them for reasons that quantising does not change: a gain would count them. What bandwidth reaches is kept
    apart, since 16-bit weights reach more of the same chip.
    """
    same = before.weights == after.weights and before.weight_bits == after.weight_bits
    # A fit has the machine's own rates, whatever the format.
    if same or after.fit is not None:
        return after
    own, then = resolve(before).factors, resolve(after).factors
    values: dict[str, object] = {}
    if after.compute_fraction is None and own.compute != then.compute:
        values["compute_fraction"] = own.compute[1]
    if after.fixed_ms is None and own.fixed_s != then.fixed_s:
        values["fixed_ms"] = own.fixed_s * 1e3
    return after.change(**values) if values else after


def gain(before: Scenario, after: Scenario) -> Gain:
    """How much better ``after`` is, what software reaches being equal (:func:`comparable`).

    Where the scenario's fit does not apply to ``after``, both sides rest on reference measurements.

    Under an unknown matrix rate the first token's factor is the smaller of those at both ends of the known rates: between
    them the ratio of two passes runs one way, so the true factor is no smaller.
    """
    if before.fit is not None and after.fit is None:
        before = before.change(calibration=None)
    old, new = headline(evaluate(before)), headline(evaluate(comparable(before, after)))
    return Gain(
        ttft=_least([_ratio(a, b) for a, b in zip(old.ttft_s, new.ttft_s, strict=True)]),
        tpot=_ratio(old.tpot_s, new.tpot_s),
        throughput=_ratio(new.device_tokens_per_s, old.device_tokens_per_s),
        capacity=_ratio(new.sequences, old.sequences),
        memory=_ratio(old.held_bytes, new.held_bytes),
        gap=_ratio(old.stall_s, new.stall_s),
    )


def _least(ratios: list[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if len(known) == len(ratios) else None


def _ratio(above: float | None, below: float | None) -> float | None:
    if above is None or below is None or np.isnan(above) or np.isnan(below):
        return None
    if below == 0:
        return None if above == 0 else float("inf")
    return above / below
