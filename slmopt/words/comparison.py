"""What a scenario is, and in what it differs from another, in a few words."""

from __future__ import annotations

from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import UNITS, Scenario
from slmopt.specs.setup import resolve
from slmopt.words import numbers as n
from slmopt.words import pace
from slmopt.words.scenario_line import sequences

# What a scenario is named by: the rest counts as a change of it.
_NAMED = ("model", "device", "weights", "cache_k", "cache_v", "draft_model")
_SAID = {
    "prompt": "prompt",
    "output": "output",
    "context": "context",
    "bandwidth_gbs": "bandwidth",
    "peak_tflops": "matrix rate",
    "weight_bits": "weights at",
    "capacity_gb": "memory",
    "capacity_gib": "memory",
    "prefix_hit": "cached",
    "shared_prefix": "shared prefix",
    "target_ttft_ms": "first token target",
    "target_users": "users",
    "draft_tokens": "draft",
    "bandwidth_fraction": "bandwidth reached",
    "compute_fraction": "matrix rate reached",
    "fixed_ms": "fixed time",
    "prefill_chunk_tokens": "prompt chunks of",
    "output_spread": "replies spread by",
    "storage_gbs": "storage",
    "draft_heads_gb": "built-in heads",
    "calibration": "rates reached",
}


def about(scenario: Scenario) -> str:
    """A scenario in a few words: model, weights, device, lengths, sequences."""
    setup = resolve(scenario)
    return (
        f"{setup.model.name}, {setup.weights.name}, {setup.device.name}, "
        f"{scenario.prompt:,} + {scenario.output:,} tokens, {sequences(scenario.batch)}"
    )


def differences(first: Scenario, other: Scenario) -> str:
    """What the other has that the first has not, in plain words; "the same" where nothing differs."""
    one, two = resolve(first), resolve(other)
    said = [
        getattr(two, name).name for name in ("model", "device") if getattr(one, name) != getattr(two, name)
    ]
    if one.weights != two.weights:
        said.append(f"{two.weights.name} weights")
    if one.cache != two.cache:
        kinds = dict.fromkeys((two.cache_k.name, two.cache_v.name))
        said.append(f"{'/'.join(kinds)} cache")
    for name in Scenario.model_fields:
        held = getattr(other, name)
        if name not in _NAMED and held != getattr(first, name):
            said.append(_change(name, held))
    return ", ".join(said) or "the same"


def _change(name: str, value: object) -> str:
    if name == "batch" and isinstance(value, int):
        return sequences(value)
    if isinstance(value, Calibration):
        return "estimates fitted to rows"
    if name == "target_tpot_ms":
        aim = "as the preset" if not isinstance(value, int | float) else n.trimmed(pace.shown(value / 1e3))
        return f"{pace.inner()} target {aim}"
    word = _SAID.get(name, name.replace("_", " "))
    if value is None:
        return f"{word} as the preset"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{word} {value}"
    number = f"{value:,}" if isinstance(value, int) else n.trimmed(n.figures(value))
    unit = UNITS.get(name, "")
    return f"{word} {number}{n.NBSP}{unit}" if unit else f"{word} {number}"
