"""How one sequence's cache grows with its context, kind of layer by kind of layer: the model's own need, token by token.

bytes(t) = layers · bytes a token · t for layers that see all, · min(t, limit) where they forget beyond ``limit`` tokens,
· ⌊t / every⌋ where so many tokens leave one entry; a state is the same whatever t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Model
from slmopt.theory.engine_layers import Cache, Kept, kept_layers, own_bytes

Kind = Literal["full", "latent", "window", "chunk", "entries", "index", "state"]

SHORTEST = 128.0
LONGEST = 131_072.0


@dataclass(frozen=True, slots=True)
class Grown:
    """What ``layers`` layers of one kind keep of each context of a curve, and of the scenario's (``now``). Bytes.

    ``token_bytes`` is what one more token adds to all of them while they grow. ``limit`` is where they stop.
    """

    kind: Kind
    layers: int
    limit: int | None
    token_bytes: float
    bytes: npt.NDArray[np.float64]
    now: float


@dataclass(frozen=True, slots=True)
class CacheGrowth:
    """Bytes of one sequence against context, in tokens; the kinds that keep most at the longest context first."""

    context: npt.NDArray[np.float64]
    kinds: tuple[Grown, ...]
    context_now: float

    @property
    def now(self) -> float:
        """Bytes at the scenario's context."""
        return sum(one.now for one in self.kinds)

    @property
    def total(self) -> npt.NDArray[np.float64]:
        """Bytes of all kinds at each context."""
        return np.asarray(sum((one.bytes for one in self.kinds), np.zeros_like(self.context)))

    @property
    def growing(self) -> float:
        """Bytes that one more token adds to a short sequence, whose windows are not full yet."""
        return sum(one.token_bytes for one in self.kinds)

    @property
    def unlimited(self) -> float:
        """Bytes that one more token adds once every window is full."""
        return sum(one.token_bytes for one in self.kinds if one.limit is None)

    def token_bytes_at(self, tokens: float) -> float:
        """Bytes that one more token adds to a sequence of so many."""
        return sum(one.token_bytes for one in self.kinds if one.limit is None or tokens < one.limit)

    @property
    def limits(self) -> tuple[int, ...]:
        """Tokens at which layers stop growing, the smallest first."""
        return tuple(sorted({one.limit for one in self.kinds if one.limit is not None}))


def cache_growth(
    model: Model, cache_k: CacheFormat, cache_v: CacheFormat, now: float, points: int = 121
) -> CacheGrowth:
    """Growth from 128 tokens to 131,072, or as far as ``now``, the longest window and the model's own limit go."""
    found: dict[tuple[Kind, int | None], list[Kept]] = {}
    for kept in kept_layers(model, cache_k, cache_v):
        # A window of one token holds a fixed entry: nothing of it grows.
        found.setdefault((_kind(kept, model), kept.limit), []).append(kept)
    limits = [limit for _, limit in found if limit is not None]
    high = max([LONGEST, 2 * now, float(model.context_limit or 0), *(4.0 * limit for limit in limits)])
    low = max(1.0, min([SHORTEST, now or 1.0, *(limit / 4 for limit in limits)]))
    # The bends themselves, so that they are sharp.
    context = np.unique(np.concatenate([np.geomspace(low, high, points), np.asarray(limits, dtype=float)]))
    cache = Cache(model, cache_k, cache_v, block=1)
    kinds = [
        Grown(
            kind,
            sum(kept.layers for kept in same),
            limit,
            sum(_per_token(kept) for kept in same),
            np.asarray(sum(np.asarray(own_bytes(kept, cache, 1.0, context)) for kept in same)),
            sum(float(own_bytes(kept, cache, 1.0, now)) for kept in same),
        )
        for (kind, limit), same in found.items()
    ]
    kinds.sort(key=lambda one: -float(one.bytes[-1]))
    return CacheGrowth(context, tuple(kinds), now)


def _kind(kept: Kept, model: Model) -> Kind:
    if kept.what != "full":
        return kept.what
    attention = None if model.by_count else model.groups[kept.group].attention
    return "latent" if attention is not None and attention.latent is not None else "full"


def _per_token(kept: Kept) -> float:
    """Bytes that one more token adds while the layers grow."""
    if kept.what == "state" or (kept.limit is not None and kept.limit <= 1):
        return 0.0
    return kept.layers * kept.token_bytes / kept.every
