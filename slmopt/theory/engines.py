"""What a runtime reserves for the caches of its sequences, and which of its rules made the difference.

``exact`` is the model's own need (:mod:`engine_layers`). The others are :mod:`engine_llama`, :mod:`engine_vllm` and
:mod:`engine_sglang`; each turns the own need of a kind of layer, rule by rule, into what it holds, so that the rules'
extra bytes add up to the whole difference. Bytes read follow the model, whatever the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from slmopt.specs.scenario import Allocation, Engine
from slmopt.specs.setup import Setup
from slmopt.theory import engine_llama, engine_sglang, engine_vllm
from slmopt.theory.engine_layers import Cache, Kept, own_bytes
from slmopt.theory.forward import Numbers

Steps = Callable[[Kept, Cache, Numbers, Numbers], Iterator[tuple[str, Numbers]]]

STEPS: dict[Engine, Steps] = {
    "llama.cpp": engine_llama.steps,
    "vllm": engine_vllm.steps,
    "sglang": engine_sglang.steps,
}
MEMORY_SHARE: dict[Engine, float] = {
    "vllm": engine_vllm.MEMORY_SHARE,
    "sglang": engine_sglang.MEMORY_SHARE,
}
FAR = 2.0**40
UNSTATED: dict[Engine, tuple[float, float]] = {"vllm": engine_vllm.UNSTATED}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of an engine, and the bytes that it holds beyond the model's own need (below 0: it holds less)."""

    id: str
    extra_bytes: float


@dataclass(frozen=True, slots=True)
class Part:
    """What is held for one kind of layer: the model's own need, then its value after each rule."""

    kept: Kept
    own: Numbers
    steps: tuple[tuple[str, Numbers], ...]

    @property
    def bytes(self) -> Numbers:
        """Bytes reserved."""
        return self.steps[-1][1] if self.steps else self.own


def cache_of(setup: Setup, allocation: Allocation | None = None) -> Cache:
    """The scenario's cache as its engine is asked to hold it."""
    s = setup.scenario
    return Cache(
        model=setup.model,
        k=setup.cache_k,
        v=setup.cache_v,
        block=s.block_tokens,
        paged=(allocation or s.allocation) == "paged",
        shared=float(s.shared_prefix),
        devices=1 if s.parallel == "pipeline" else s.devices,
        micro_batch=engine_llama.MICRO_BATCH if s.micro_batch is None else s.micro_batch,
        full_windows=bool(s.full_windows),
        beside=setup.draft_here,
    )


def reserved(engine: Engine, cache: Cache, sequences: Numbers, tokens: Numbers) -> tuple[Part, ...]:
    """What ``engine`` holds for ``sequences`` of ``tokens``, kind by kind; arrays broadcast."""
    rule = STEPS.get(engine)
    return tuple(
        Part(
            kept,
            own_bytes(kept, cache, sequences, tokens),
            () if rule is None else tuple(rule(kept, cache, sequences, tokens)),
        )
        for kept in cache.kept
    )


def total_bytes(engine: Engine, cache: Cache, sequences: Numbers, tokens: Numbers) -> Numbers:
    """Bytes that ``engine`` reserves for the caches of ``sequences`` of ``tokens``."""
    total: Numbers = np.zeros(np.broadcast_shapes(np.shape(sequences), np.shape(tokens)))
    for part in reserved(engine, cache, sequences, tokens):
        total = total + part.bytes
    return total


def rules(parts: tuple[Part, ...]) -> tuple[Rule, ...]:
    """The rules that made a difference, in the order in which they apply; for scalar parts."""
    extra: dict[str, float] = {}
    for part in parts:
        before = float(part.own)
        for name, value in part.steps:
            extra[name] = extra.get(name, 0.0) + float(value) - before
            before = float(value)
    return tuple(Rule(name, value) for name, value in extra.items() if abs(value) >= 0.5)


def tokens_held(engine: Engine, tokens: int, block: int, allocation: Allocation) -> int:
    """Tokens that layers which keep everything hold for a sequence of ``tokens``, blocks and pads included."""
    whole = {"llama.cpp": (1, engine_llama.PAD), "exact": (block, 1)}.get(engine, (block, block))
    size = whole[0] if allocation == "paged" else whole[1]
    return -(-tokens // size) * size


def memory_share(setup: Setup) -> float:
    """The share of the device's memory that the engine may fill: as given, or the engine's default."""
    s = setup.scenario
    given = s.gpu_memory_utilization
    return MEMORY_SHARE.get(s.engine, 1.0) if given is None else given


def unstated(setup: Setup) -> tuple[float, float] | None:
    """Bytes that the engine keeps for itself inside its share, as (least, most); None where none, or where given."""
    s = setup.scenario
    return None if s.buffers_gb is not None else UNSTATED.get(s.engine)


def most_sequences(engine: Engine, cache: Cache, room: float, tokens: Numbers) -> Numbers:
    """The most sequences of ``tokens`` whose caches fit in ``room`` bytes; infinite where they hold nothing.

    Searched by halving, since pads and pools make the bytes a stair in the number of sequences.
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    low, high = np.zeros_like(tokens), np.ones_like(tokens)
    fits = total_bytes(engine, cache, high, tokens) <= room
    while np.any(fits) and high.max(initial=0.0) < FAR:
        low, high = np.where(fits, high, low), np.where(fits, 2 * high, high)
        fits = total_bytes(engine, cache, high, tokens) <= room
    endless = fits
    high = np.where(endless, low, high)
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        fits = total_bytes(engine, cache, middle, tokens) <= room
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(endless, np.inf, low)
