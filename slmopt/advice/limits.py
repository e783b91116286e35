"""How far a technique could take a metric, however far it is taken: what the other side of the pass then leaves."""

from __future__ import annotations

import math
from functools import lru_cache

from slmopt.advice.diagnosis import Diagnosis, Metric, without
from slmopt.advice.plan import Trial
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.forward import Group
from slmopt.theory.latency import decode_group, prefill
from slmopt.theory.roof import PassTime
from slmopt.theory.roofline import estimate_roof, run
from slmopt.theory.speculation import best_length

WHOLE = frozenset({"release", "keep_resident", "fuse_attention", "page_cache"})
"""Techniques that are taken whole or not at all."""


def limit(e: Evaluation, trial: Trial, found: Diagnosis) -> tuple[str, float] | None:
    """(Metric, the largest factor of it); None where that cannot be said, infinite where nothing else would be left.

    Metrics are those of a :class:`~slmopt.advice.technique.Gain`; factors are ratios of the typical estimate.
    """
    of = trial.technique
    if trial.gain is None or of.id in WHOLE:
        return None
    part = _part(of.id, of.pile)
    if part is not None:
        metric, name = part
        factor = found[metric].gains.get(name)  # type: ignore[call-overload]
        return None if factor is None else (metric, factor)
    if of.id in ("cache_prefix", "trim_prompt"):
        return _prompt_gone(e)
    if of.id.startswith("speculate"):
        return _all_accepted(trial)
    if of.id == "chunk_prefill":
        return _one_token_chunks(e)
    if of.id == "more_bandwidth":
        return "tpot", _left(e.typical.decode, "weights", "cache")
    if of.id == "more_devices":
        return "tpot", _left(e.typical.decode, "weights", "cache", "compute", "attention")
    return None


def _part(ident: str, pile: str) -> tuple[Metric, str] | None:
    """The part of the pass that the technique makes smaller."""
    if ident.startswith("quantise_weights"):
        return "tpot", "weights"
    if ident in ("fill_batch", "more_arithmetic", "fix_software"):
        return {
            "fill_batch": ("throughput", "capacity"),
            "more_arithmetic": ("ttft", "compute"),
            "fix_software": ("tpot", "software"),
        }[ident]  # type: ignore[return-value]
    return ("tpot", "cache") if pile == "fewer_bytes" or ident == "cap_context" else None


def _left(time: PassTime, *gone: str) -> float:
    left = without(time, *gone)  # type: ignore[arg-type]
    return float(time.seconds) / left if left > 0 else math.inf


def _prompt_gone(e: Evaluation) -> tuple[str, float] | None:
    """The first token where all of the prompt but its last token is cached, or left out."""
    typical, s = e.typical, e.setup.scenario
    if math.isnan(float(typical.prefill.compute_s)):
        return None
    least = float(prefill(e.setup, typical.prefill_roof, float(s.prompt), s.prompt - 1.0).seconds)
    return "ttft", float(typical.latency.ttft_s) / (typical.latency.load_s + least)


def _all_accepted(trial: Trial) -> tuple[str, float] | None:
    """The time per token where every drafted token is accepted, at the length that is best then."""
    after = trial.change.after
    return None if after is None else ("tpot", _best_accepted(after))


@lru_cache(maxsize=256)
def _best_accepted(scenario: Scenario) -> float:
    setup = resolve(scenario)
    return best_length(setup, estimate_roof(setup, "decode", "typical"), 1.0)[1]


def _one_token_chunks(e: Evaluation) -> tuple[str, float]:
    """The longest stall where a prompt comes in token by token."""
    s, typical = e.setup.scenario, e.typical
    last = Group(1.0, 1.0, s.prompt - 1.0, 1.0)
    least = float(run(e.setup, [decode_group(e.setup), last], typical.prefill_roof).seconds)
    return "gap", typical.stall_s / least
