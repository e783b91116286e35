"""What a change of scenario gains: ratios of estimates, computed by the same pass on both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation, evaluate
from slmopt.theory.unknown import bracket


@dataclass(frozen=True, slots=True)
class Headline:
    """What users and operators feel, estimated: seconds, tokens/s of the device, sequences that fit.

    TPOT and throughput include drafting where the scenario drafts. ``sequences`` is None where memory is unknown. Where the
    matrix rate is, ``ttft_s`` holds the first token at the fastest and at the slowest rate that the device is known to
    have; else the estimate, twice.
    """

    ttft_s: tuple[float, float]
    tpot_s: float
    device_tokens_per_s: float
    sequences: float | None


@dataclass(frozen=True, slots=True)
class Gain:
    """Factors: 2.0 is twice as good, 1.0 nothing, below 1 worse; None where it cannot be said."""

    ttft: float | None
    tpot: float | None
    throughput: float | None
    capacity: float | None


def headline(evaluation: Evaluation) -> Headline:
    """The typical estimate's figures."""
    typical = evaluation.typical
    drafting = typical.speculation
    faster = drafting.speedup if drafting is not None and drafting.draft_tokens else 1.0
    step = float(typical.decode.seconds) / faster
    tpot = float(typical.latency.tpot_s)
    most = evaluation.capacity.max_sequences
    return Headline(
        ttft_s=_first_token(evaluation),
        tpot_s=(float(typical.decode.seconds) if np.isnan(tpot) else tpot) / faster,
        device_tokens_per_s=evaluation.setup.scenario.batch / step,
        sequences=None if most is None else float(most),
    )


def _first_token(evaluation: Evaluation) -> tuple[float, float]:
    if evaluation.setup.prefill.estimate is not None:
        unknown = np.isnan(float(evaluation.typical.prefill.compute_s))
        estimate = float("nan") if unknown else float(evaluation.typical.latency.ttft_s)
        return estimate, estimate
    found = bracket(evaluation.ceiling.prefill, evaluation.setup.prefill)
    return (float("nan"), float("nan")) if found is None else (found.fast_s, found.slow_s)


def gain(before: Scenario, after: Scenario) -> Gain:
    """How much better ``after`` is.

    Under an unknown matrix rate the first token's factor is the smaller of those at both ends of the known rates: between
    them the ratio of two passes runs one way, so the true factor is no smaller.
    """
    old, new = headline(evaluate(before)), headline(evaluate(after))
    return Gain(
        ttft=_least([_ratio(a, b) for a, b in zip(old.ttft_s, new.ttft_s, strict=True)]),
        tpot=_ratio(old.tpot_s, new.tpot_s),
        throughput=_ratio(new.device_tokens_per_s, old.device_tokens_per_s),
        capacity=_ratio(new.sequences, old.sequences),
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
