"""A prompt fed in chunks, each in a pass of its own: (1, chunk, done, 0 or 1), and beside it what decodes meanwhile.

Every pass reads the weights again, so no chunking makes a prompt faster; the others wait for a chunk and not for a prompt
(A. Agrawal et al., "SARATHI: Efficient LLM Inference by Piggybacking Decodes with Chunked Prefills" (2023)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from slmopt.specs.setup import Setup
from slmopt.theory.forward import Group, PassCost
from slmopt.theory.roof import PassTime, Roof
from slmopt.theory.roofline import run

# Finer chunks than this many steps would not show; the step count bounds the work, whatever the prompt.
MOST_CHUNKS = 100_000
_MOST_PASSES = 400_000

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """The passes of prompts, the last axis in order; ``there`` is false beyond a prompt's end."""

    time: PassTime
    there: npt.NDArray[np.bool_]

    @property
    def seconds(self) -> Array:
        """Seconds of each pass; 0 beyond a prompt's end."""
        return np.where(self.there, self.time.seconds, 0.0)


def chunk_passes(setup: Setup, roof: Roof, whole: Group, chunk: int, beside: Group | None) -> Chunks:
    """The passes of ``whole`` prefills (fields of one shape) in pieces of ``chunk`` tokens, ``beside`` joining each.

    Raises ValueError for a chunk below 1 token.
    """
    if chunk < 1:
        raise ValueError(f"chunk = {chunk} tokens: it must be at least 1")
    fed, hit = np.broadcast_arrays(np.asarray(whole.new, float), np.asarray(whole.past, float))
    most = min(MOST_CHUNKS, -(-_MOST_PASSES // fed.size))
    size = np.maximum(float(chunk), np.ceil(fed / most))[..., None]
    start = size * np.arange(np.ceil(fed / size[..., 0]).max())
    left = fed[..., None] - start
    new = np.clip(left, 0.0, size)
    pieces = Group(1.0, new, hit[..., None] + start, (left <= size).astype(np.float64))
    groups = [pieces] if beside is None else [beside, pieces]
    return Chunks(run(setup, groups, roof), left > 0)


def together(chunks: Chunks) -> PassTime:
    """All passes of each prompt as one: their costs and times added up."""
    time, there = chunks.time, chunks.there

    def total(values: object) -> float | Array:
        added = np.where(there, np.asarray(values, dtype=np.float64), 0.0).sum(axis=-1)
        return float(added) if added.shape == () else added

    cost = PassCost(**{name: total(getattr(time.cost, name)) for name in PassCost.__dataclass_fields__})
    parts: dict[str, Any] = {name: total(getattr(time, name)) for name in _TIMES}
    return replace(time, cost=cost, **parts)


_TIMES = ("weight_s", "cache_s", "matmul_s", "attention_s", "link_s", "busy_s", "fixed_s", "serial_s")
