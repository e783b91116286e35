"""Results as tables: one row a fact, the kind of number in a column of its own, the unit in each column's name."""

from __future__ import annotations

import pandas as pd

from slmopt.advice.targets import targets as judged
from slmopt.theory.evaluation import Evaluation
from slmopt.theory.roof import PassTime
from slmopt.theory.roofline import LEVELS


def passes(evaluation: Evaluation) -> pd.DataFrame:
    """Both phases under the ceiling and the three levels of the estimate."""
    rows = []
    for label, phases in (
        ("ceiling", evaluation.ceiling),
        *((f"estimate, {lv}", evaluation.estimate[lv]) for lv in LEVELS),
    ):
        rows += [_pass_row(label, "decode", phases.decode), _pass_row(label, "prefill", phases.prefill)]
    return pd.DataFrame(rows)


def _pass_row(kind: str, phase: str, time: PassTime) -> dict[str, object]:
    return {
        "kind": kind,
        "phase": phase,
        "weights_gb": float(time.cost.weight_bytes) / 1e9,
        "cache_gb": float(time.cost.cache_bytes) / 1e9,
        "matmul_gflop": float(time.cost.matmul_flops) / 1e9,
        "attention_gflop": float(time.cost.attention_flops) / 1e9,
        "memory_ms": float(time.memory_s) * 1e3,
        "compute_ms": float(time.compute_s) * 1e3,
        "fixed_ms": time.fixed_s * 1e3,
        "pass_ms": float(time.seconds) * 1e3,
        "bound": time.bound,
        "intensity_flop_per_byte": float(time.cost.intensity),
        "source": time.source,
    }


def targets(evaluation: Evaluation) -> pd.DataFrame:
    """Targets with what ceiling and estimate say. Times in ms, users in sequences."""
    rows = []
    for target in judged(evaluation):
        scale = 1.0 if target.name == "users" else 1e3
        values = {
            "target": target.target,
            "ceiling": target.ceiling,
            "fast": target.fast,
            "typical": target.typical,
            "slow": target.slow,
        }
        unit = "sequences" if target.name == "users" else "ms"
        scaled = {name: None if value is None else value * scale for name, value in values.items()}
        rows.append({"name": target.name, "unit": unit, **scaled, "verdict": target.verdict})
    return pd.DataFrame(rows)


def memory(evaluation: Evaluation) -> pd.DataFrame:
    """What memory holds now and at most. Sizes in GB (10^9 bytes)."""
    c = evaluation.capacity
    return pd.DataFrame(
        {
            "what": [
                "weights",
                "buffers",
                "shared prefix",
                "one sequence",
                "sequences now",
                "held now",
                "usable",
                "sequences that fit",
            ],
            "gb": [
                c.weight_bytes / 1e9,
                c.buffer_bytes / 1e9,
                c.shared_bytes / 1e9,
                c.bytes_per_sequence / 1e9,
                c.now * c.bytes_per_sequence / 1e9,
                c.held_now / 1e9,
                None if c.usable is None else c.usable / 1e9,
                None if c.max_sequences is None else c.max_sequences * c.bytes_per_sequence / 1e9,
            ],
            "count": [None, None, None, 1, c.now, c.now, None, c.max_sequences],
        }
    )
