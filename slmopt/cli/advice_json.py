"""Advice as the contract's JSON, and more keys beside the contract's."""

from __future__ import annotations

import math
from typing import Any

from slmopt.advice.diagnosis import METRICS, Diagnosis
from slmopt.advice.goals import Goal, meets
from slmopt.advice.nearest import smallest_changes
from slmopt.advice.order import Stack, stack
from slmopt.advice.plan import Trial
from slmopt.advice.quality import Scores, best_format, formats_compared
from slmopt.serving.played import Played
from slmopt.specs.scenario import Scenario
from slmopt.theory.evaluation import Evaluation
from slmopt.words import diagnosis as diagnosis_words
from slmopt.words import goals as goal_words
from slmopt.words import plan as plan_words
from slmopt.words import played as played_words
from slmopt.words import quality as quality_words


def advice_json(
    e: Evaluation, found: Diagnosis, trials: tuple[Trial, ...], judged: tuple[Goal, ...]
) -> dict[str, Any]:
    """The contract's keys, and more beside them."""
    s = e.setup.scenario
    return {
        "bottleneck": {metric: found[metric].part for metric in METRICS},
        "without": {metric: dict(found[metric].gains) for metric in METRICS},
        "diagnosis": {metric: plain(diagnosis_words.sentence(e, found, metric)) for metric in METRICS},
        "techniques": [_technique_json(e, found, trial) for trial in trials],
        "targets": [
            {
                "name": target.name,
                "target": target.target,
                "value": target.typical if target.typical is not None else target.ceiling,
                "met": target.verdict == "met",
                "verdict": target.verdict,
                "ceiling": target.ceiling,
                "unit": target.unit,
                "p95": target.p95,
            }
            for target in judged
        ],
        "changes": [
            {"target": goal.name, "change": plain(goal_words.way(way)), "factor": way.factor}
            for goal, ways in smallest_changes(s)
            for way in ways
        ],
        "order": {
            "articles": _order_json(stack(s, "reply", "articles")),
            "best": _order_json(stack(s, "reply", "best")),
        },
    }


def plain(markdown: str) -> str:
    """Markdown as the terminal shows it."""
    return markdown.replace("**", "").replace("\u00a0", " ")


def _technique_json(e: Evaluation, found: Diagnosis, trial: Trial) -> dict[str, Any]:
    gain = trial.gain
    idle = plan_words.idle_reason(e, trial) if gain is not None else ""
    return {
        "id": trial.technique.id,
        "name": trial.technique.name,
        "step": trial.technique.step,
        "pile": trial.technique.pile,
        "applies": bool(trial.helps),
        "why": plain(" ".join(part for part in (plan_words.here(trial), idle) if part)),
        "change": trial.change.what,
        "assumed": trial.change.assumed,
        "ttft_gain": None if gain is None else gain.ttft,
        "tpot_gain": None if gain is None else gain.tpot,
        "throughput_gain": None if gain is None else gain.throughput,
        "capacity_gain": None if gain is None else gain.capacity,
        "memory_gain": None if gain is None else gain.memory,
        "stall_gain": None if gain is None else gain.gap,
        "in_the_estimate": trial.change.standing,
        "cost": trial.technique.cost,
        "stops": plain(plan_words.stops(e, trial, found)),
    }


def _order_json(found: Stack) -> list[dict[str, Any]]:
    return [
        {
            "id": step.technique.id,
            "factor": step.factor,
            "reply_s": step.after,
            "assumed": step.change.assumed,
        }
        for step in found.steps
    ]


def quality_json(made: Scenario, scores: Scores) -> dict[str, Any]:
    """Each format with its score and speed; ``best`` is null until one has passed."""
    rows = formats_compared(made, scores)
    best = best_format(rows)
    told = ("id", "bits", "file_bytes", "tpot_s", "ttft_s", "fits", "score", "validity", "passes")
    return {
        "formats": [{name: getattr(row, name) for name in told} for row in rows],
        "best": None if best is None else best.id,
        "verdict": plain(quality_words.verdict(rows, best, scores)),
    }


def with_played(targets: list[dict[str, Any]], run: Played) -> list[dict[str, Any]]:
    """Targets with what the played requests reached; null for measures that no queue concerns."""
    told = []
    for target in targets:
        value = played_words.value_of(run, target["name"])
        known = value is not None and math.isfinite(value)
        met = None if value is None or math.isnan(value) else meets(target["name"], value, target["target"])
        told.append({**target, "simulated": value if known else None, "simulated_met": met})
    return told
