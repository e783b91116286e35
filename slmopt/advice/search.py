"""Devices × weight formats × techniques for those that meet the targets.

Thousands of scenarios share one model in few formats, so a combination is counted once (:func:`slmopt.theory.forward`)
and its times on all devices follow as arrays, by the same ``pass_time`` as everywhere: a device is a row of rates. Memory
follows from bytes held by the model's own need, or as the scenario's engine holds it.

Price is per hour where the device or the scenario gives one; power is the device's, in watts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from slmopt.advice.cache_techniques import quantise_cache
from slmopt.advice.draft_techniques import speculate
from slmopt.advice.prompt_techniques import cache_prefix
from slmopt.advice.quality import Scores
from slmopt.advice.weight_techniques import RUNGS, format_of
from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.scenario import Scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.specs.weights import bits_per_weight
from slmopt.theory.forward import PassCost, forward
from slmopt.theory.holders import holders
from slmopt.theory.latency import decode_group, prefill, prefill_group
from slmopt.theory.memory import capacity, sequences_that_fit
from slmopt.theory.residency import load_seconds
from slmopt.theory.roof import Roof, pass_time
from slmopt.theory.roofline import estimate_roof, setup_terms
from slmopt.theory.speculation import speedup
from slmopt.theory.static_groups import steps_per_token

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Targets that a combination must meet (seconds, sequences, tokens/s, bytes); None is no condition."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    users: float | None = None
    tokens_per_s: float | None = None
    memory: float | None = None

    @classmethod
    def of(cls, s: Scenario) -> Wanted:
        """The scenario's own targets."""
        return cls(
            ttft_s=s.target_ttft_s,
            tpot_s=s.target_tpot_s,
            users=None if s.target_users is None else float(s.target_users),
            tokens_per_s=s.target_tokens_per_s,
            memory=None if s.target_memory_gb is None else s.target_memory_gb * 1e9,
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the scenario on whatever device: a format and what is changed beside it."""

    scenario: Scenario
    weights: str
    weights_id: str
    techniques: str
    bits: float


@lru_cache(maxsize=16)
def variants(s: Scenario) -> tuple[Variant, ...]:
    """The scenario's own format and each precision, each as it is, with an 8-bit cache, then the prefix cached too, then drafting.

    A draft has the length that is best on the scenario's own device.
    """
    setup = resolve(s)
    formats: dict[str, WeightFormat] = {}
    sixteen = (
        WeightFormat.model_validate({"bits": 16.0}) if setup.model.by_count else library().weights["f16"]
    )
    for found in (setup.weights, sixteen, *(format_of(setup, rung) for rung in RUNGS)):
        if found is not None:
            formats.setdefault(found.id, found)
    rows = []
    for ident, found in formats.items():
        value: str | WeightFormat = ident if ident in library().weights else found
        own = ident == setup.weights.id
        base = s if own else s.change(weights=value, weight_bits=None)
        bits = bits_per_weight(found, setup.model)
        rows.append(Variant(base, found.name, ident, "", bits))
        cached = quantise_cache(base)
        smaller = base if cached.after is None else cached.after
        if cached.after is not None:
            rows.append(Variant(smaller, found.name, ident, cached.what, bits))
        told = [cached.what] if cached.after is not None else []
        if s.shared_prefix > s.prefix_hit:
            prefix = cache_prefix(smaller)
            if prefix.after is not None:
                smaller, told = prefix.after, [*told, prefix.what]
                rows.append(Variant(smaller, found.name, ident, ", ".join(told), bits))
        drafted = speculate(smaller)
        if drafted.after is not None:
            words = " ".join((", ".join([*told, drafted.what]), drafted.assumed)).strip()
            rows.append(Variant(drafted.after, found.name, ident, words, bits))
    return tuple(rows)


@lru_cache(maxsize=4)
def search(s: Scenario) -> pd.DataFrame:
    """One row for each preset device and variant, typical estimate; times NaN where a rate is not known, sequences where memory is.

    All devices stand at what such devices reach; a fit of one machine says nothing of the others.

    Columns: device, device_name, device_class, weights, weights_id, bits, techniques, ttft_s, tpot_s, tokens_per_s,
    sequences, held_bytes, usable_bytes, fits, power_w, price_per_hour, joules_per_token, price_per_million.
    """
    plain = {
        "devices": 1,
        "gpu_layers": None,
        "cpu_moe_layers": None,
        "bandwidth_gbs": None,
        "peak_tflops": None,
        "capacity_gb": None,
        "prefill_unit": None,
        "calibration": None,
    }
    clean = s.change(**plain, decode_unit=None, power_w=None, price_per_hour=s.price_per_hour)
    frames = [_on_all_devices(variant) for variant in variants(clean)]
    return pd.concat(frames, ignore_index=True)


def _on_all_devices(variant: Variant) -> pd.DataFrame:
    devices = list(library().devices.values())
    setups = [resolve(variant.scenario.change(device=device.id)) for device in devices]
    s, first = variant.scenario, setups[0]
    decode = forward(setup_terms(first), [decode_group(first)], "estimate")
    middle = float(s.prompt) + max(0, s.output - 2) / 2.0
    step = forward(setup_terms(first), [decode_group(first, context=middle)], "estimate")
    prompt = forward(setup_terms(first), [prefill_group(first)], "estimate")
    decode_roofs = [estimate_roof(setup, "decode", "typical") for setup in setups]
    prefill_roofs = [estimate_roof(setup, "prefill", "typical") for setup in setups]
    first_token = _times(prompt, prefill_roofs)
    if s.prefill_chunk_tokens is not None:
        passes = (prefill(setup, roof) for setup, roof in zip(setups, prefill_roofs, strict=True))
        first_token = np.array([float(taken.seconds) for taken in passes])
    first_token = first_token + np.array([load_seconds(setup, "estimate") for setup in setups])
    ttft = np.where(np.isnan([roof.peak for roof in prefill_roofs]), np.nan, first_token)
    each = _times(decode, decode_roofs)
    # What is held follows from model, formats and engine; how many fit from the device's memory, too.
    held = capacity(first).held_now
    usable = np.array([np.nan if (room := holders(setup)[0].usable) is None else room for setup in setups])
    fit = np.array([float(sequences_that_fit(setup, float(s.depth))) for setup in setups])
    power = np.array([np.nan if setup.power_w is None else setup.power_w for setup in setups])
    price = np.array([np.nan if setup.price_per_hour is None else setup.price_per_hour for setup in setups])
    faster = _drafting(s, setups, decode_roofs)
    rate = faster * s.batch / each / float(steps_per_token(s, "estimate"))
    return pd.DataFrame(
        {
            "device": [device.id for device in devices],
            "device_name": [device.name for device in devices],
            "device_class": [device.device_class for device in devices],
            "weights": variant.weights,
            "weights_id": variant.weights_id,
            "bits": variant.bits,
            "techniques": variant.techniques,
            "ttft_s": ttft,
            "tpot_s": _times(step, decode_roofs) / faster if s.output > 1 else np.nan,
            "tokens_per_s": rate,
            "sequences": fit,
            "held_bytes": held,
            "usable_bytes": usable,
            "fits": np.isnan(fit) | (fit >= s.batch),
            "power_w": power,
            "price_per_hour": price,
            "joules_per_token": power / rate,
            "price_per_million": price / 3600.0 / rate * 1e6,
        }
    )


def _drafting(s: Scenario, setups: list[Setup], roofs: list[Roof]) -> Floats:
    """How much faster drafting makes decode on each device; 1 where the scenario does not draft or lacks what it needs."""
    if not s.draft_tokens or s.acceptance is None:
        return np.ones(len(setups))
    gains = (
        float(speedup(setup, roof, s.acceptance, s.draft_tokens))
        for setup, roof in zip(setups, roofs, strict=True)
    )
    return np.array([1.0 if np.isnan(gain) else gain for gain in gains])


def _times(cost: PassCost, roofs: list[Roof]) -> Floats:
    """Seconds of one pass on each device: the devices' rates as arrays in one roof."""
    rates: dict[str, Any] = {
        name: np.array([getattr(roof, name) for roof in roofs])
        for name in ("bandwidth", "peak", "attention_peak", "fixed_s")
    }
    return np.asarray(pass_time(cost, replace(roofs[0], **rates)).seconds)


def meeting(found: pd.DataFrame, wanted: Wanted, scores: Scores | None = None) -> pd.DataFrame:
    """Rows that fit and meet every target; without a score for its format a row is kept and marked ``passes`` missing.

    Rows whose format failed the user's own evaluation are left out. Where a target is set, a value that is not known does
    not meet it.
    """
    keep = found["fits"].to_numpy(copy=True)
    limits = (("ttft_s", wanted.ttft_s), ("tpot_s", wanted.tpot_s), ("held_bytes", wanted.memory))
    for column, most in limits:
        if most is not None:
            keep &= (found[column] <= most).to_numpy()
    for column, least in (("sequences", wanted.users), ("tokens_per_s", wanted.tokens_per_s)):
        if least is not None:
            keep &= (found[column] >= least).to_numpy()
    rows = found[keep]
    passes = [None if scores is None else scores.passes(ident) for ident in rows["weights_id"]]
    kept = [verdict is not False for verdict in passes]
    return rows.assign(passes=pd.Series(passes, index=rows.index, dtype=object))[kept]


def pareto(rows: pd.DataFrame, less: tuple[str, str]) -> npt.NDArray[np.bool_]:
    """Which rows no other beats on both columns, of which less is better; rows with a missing value never count."""
    values = rows[list(less)].to_numpy(dtype=np.float64)
    known = ~np.isnan(values).any(axis=1)
    order = np.lexsort((values[:, 1], values[:, 0]))
    front = np.zeros(len(rows), dtype=bool)
    best = np.inf
    for at in order:
        if known[at] and values[at, 1] < best:
            front[at] = True
            best = values[at, 1]
    return front
