"""A phase evaluation as the contract's JSON: stable keys, seconds, bytes, tokens/s, null where nothing applies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup
from slmopt.theory.evaluation import Evaluation, Phases
from slmopt.theory.holders import Holder, holders
from slmopt.theory.memory import holder_fits
from slmopt.theory.offload import placed_of
from slmopt.theory.offload_curve import layers_curve
from slmopt.theory.roof import PassTime
from slmopt.theory.speculation import expected_tokens


def phases_json(phases: Phases, scenario: Scenario) -> dict[str, Any]:
    """PHASES of the contract."""
    fed = scenario.prompt - scenario.prefix_hit
    first = prefill_seconds(phases)
    decode = _pass_json(phases.decode, "step_s")
    decode["tokens_per_s"] = phases.device_tokens_per_s
    decode["tokens_per_s_per_sequence"] = phases.user_tokens_per_s
    prefill = {**_pass_json(phases.prefill, "seconds"), "seconds": first}
    prefill["tokens_per_s"] = fed / first if first > 0 else None
    known = math.isfinite(first)
    cross = phases.crossover
    return {
        "decode": decode,
        "prefill": prefill,
        "latency": {
            "ttft_s": phases.latency.ttft_s if known else None,
            "tpot_s": phases.latency.tpot_s,
            "reply_s": phases.latency.reply_s if known else None,
        },
        "batching": {
            "crossover_batch": cross.batch,
            "crossover_batch_weights_only": cross.weights_only,
            "crossover_context_limit": cross.context_limit,
            "throughput_limit_tokens_per_s": cross.throughput_limit,
        },
        "speculation": _speculation_json(phases, scenario),
    }


def prefill_seconds(phases: Phases) -> float:
    """Time of the prefill; NaN for an estimate without a matrix rate, since memory alone estimates no prompt.

    As a ceiling memory alone still bounds it.
    """
    unknown = math.isnan(float(phases.prefill.compute_s))
    return math.nan if unknown and phases.prefill.kind == "estimate" else float(phases.prefill.seconds)


def _pass_json(step: PassTime, seconds: str) -> dict[str, Any]:
    known = not math.isnan(float(step.compute_s))
    return {
        "weight_bytes": step.cost.weight_bytes,
        "kv_bytes": step.cost.cache_bytes - step.cost.score_bytes,
        "flops": step.cost.flops,
        "memory_s": step.memory_s,
        "compute_s": step.compute_s,
        seconds: step.seconds,
        "bound": step.bound if known else None,
        "intensity": step.cost.intensity,
        **({"score_bytes": step.cost.score_bytes} if np.any(step.cost.score_bytes) else {}),
    }


def _speculation_json(phases: Phases, scenario: Scenario) -> dict[str, Any]:
    found = phases.speculation
    expected = None
    if scenario.acceptance is not None:
        expected = expected_tokens(scenario.acceptance, scenario.draft_tokens)
    return {
        "expected_tokens_per_pass": expected,
        "speedup": None if found is None else found.speedup,
        "best_draft_tokens": None if found is None else found.best_draft_tokens,
        "break_even_acceptance": None if found is None else found.break_even,
    }


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole answer of ``estimate``."""
    setup, scenario = evaluation.setup, evaluation.setup.scenario
    roof = evaluation.ceiling.decode_roof
    held = evaluation.capacity
    return {
        "ceiling": phases_json(evaluation.ceiling, scenario),
        "estimate": phases_json(evaluation.typical, scenario),
        "range": {level: phases_json(evaluation.estimate[level], scenario) for level in ("slow", "fast")},
        "sources": sources(evaluation),
        "roofline": {"ridge": roof.ridge, "bandwidth": roof.bandwidth, "peak_flops": roof.peak},
        "capacity": {
            "weight_bytes": held.weight_bytes,
            "kv_bytes_per_token": held.bytes_per_token,
            "kv_bytes_per_sequence": held.bytes_per_sequence,
            "max_sequences": held.max_sequences,
            "fits": fits(evaluation),
        },
        "serving": _serving_json(evaluation),
        "link": _link_json(evaluation),
        "memories": [_memory_json(setup, holder) for holder in holders(setup)],
        "offload": _offload_json(setup),
        "warnings": list(setup.warnings),
    }


def _serving_json(evaluation: Evaluation) -> dict[str, Any]:
    """How the scenario serves, and what that costs: loading, the longest stall of the others, room for what drafts.

    ``stall_s`` is null where nobody decodes beside a prompt, or its time is not known.
    """
    s, held = evaluation.setup.scenario, evaluation.capacity
    costs = {
        name: {
            "load_s": phases.latency.load_s,
            "stall_s": phases.stall_s if math.isfinite(prefill_seconds(phases)) else None,
        }
        for name, phases in (("ceiling", evaluation.ceiling), ("estimate", evaluation.typical))
    }
    return {
        "prefill_chunk_tokens": s.prefill_chunk_tokens,
        "batching": s.batching,
        "residency": s.residency,
        "attention_kernels": s.attention_kernels,
        **costs,
        "draft_weight_bytes": held.draft_bytes,
        "draft_kv_bytes_per_sequence": held.draft_bytes_per_sequence,
    }


def _link_json(evaluation: Evaluation) -> dict[str, Any] | None:
    """The link of several devices: rates (null where nobody states them), and what it takes of both passes."""
    setup, best, usual = evaluation.setup, evaluation.ceiling, evaluation.typical
    wire = setup.wire
    if wire is None or setup.scenario.devices == 1:
        return None
    return {
        "name": wire.name,
        "bandwidth": wire.bandwidth,
        "latency_s": wire.latency_s,
        "decode_s": usual.decode.link_s,
        "decode_s_at_least": best.decode.link_s,
        "prefill_s": usual.prefill.link_s,
        "prefill_s_at_least": best.prefill.link_s,
    }


def _memory_json(setup: Setup, holder: Holder) -> dict[str, Any]:
    """One memory: of several devices that hold alike, one of them; of a pipeline, a stage."""
    fit = float(holder_fits(setup, holder, float(setup.scenario.depth)))
    return {
        "place": holder.place,
        "usable_bytes": holder.usable,
        "weight_bytes": holder.weight_bytes,
        "max_sequences": int(fit) if math.isfinite(fit) else None,
    }


def _offload_json(setup: Setup) -> dict[str, Any] | None:
    if setup.host is None:
        return None
    where = placed_of(setup)
    return {
        "host": setup.host.device.id,
        "layers_on_device": sum(where.layers),
        "head_on_device": where.head,
        "layers_with_experts_on_device": sum(where.experts),
        "gpu_layers_that_fit": layers_curve(setup.scenario).fit,
    }


def fits(evaluation: Evaluation) -> bool | None:
    """Whether the scenario's sequences fit; None where memory is unknown.

    A model whose cache is not described holds any number of sequences as far as is known; then its weights decide.
    """
    held = evaluation.capacity
    if held.fits is not None or held.usable is None:
        return held.fits
    return held.held_now <= held.usable


def sources(evaluation: Evaluation) -> list[str]:
    """Where the factors and the facts are from."""
    setup = evaluation.setup
    notes = [
        f"estimate: {setup.factors.origin}",
        f"compute type {setup.decode.estimate_type}: {setup.decode.reason}",
    ]
    if setup.host is not None:
        notes.append(f"estimate of the host: {setup.host.factors.origin}")
    records = (
        ("model", setup.model),
        ("device", setup.device),
        ("weights", setup.weights),
        ("cache", setup.cache_k),
        *(() if setup.host is None else (("host", setup.host.device),)),
    )
    for what, record in records:
        if record.source:
            unsure = " (not confirmed)" if record.unconfirmed else ""
            notes.append(f"{what} {record.id}: {record.source}{unsure}")
    return notes
