"""What memory holds: weights, buffers and a cache for each sequence, and how many sequences that leaves room for.

Sequences = ⌊(usable − weights − buffers − what is held once) / bytes a sequence⌋ for the model's own need; an engine holds
more, in steps (:mod:`slmopt.theory.engines`), and its usable memory may be a share. Of several memories
(:mod:`slmopt.theory.holders`) the one that fills first decides, and its bytes are told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Model
from slmopt.specs.scenario import Allocation
from slmopt.specs.setup import Setup
from slmopt.theory.engine_layers import Cache, Kept, kept_layers
from slmopt.theory.engines import (
    Part,
    Rule,
    cache_of,
    most_sequences,
    reserved,
    rules,
    tokens_held,
    total_bytes,
)
from slmopt.theory.forward import Numbers
from slmopt.theory.holders import Holder, Place, holders
from slmopt.theory.search import first_whole

# A context that still fits here fits whatever its length.
FARTHEST = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes held, and sequences that fit. ``usable`` is None where memory is unknown.

    ``max_sequences`` is None there, too, and where a sequence holds nothing, so that memory sets no limit.
    ``lacking`` is what the next sequence would need on top of what is left. ``shared_bytes`` are held once, whatever the
    number of sequences, and ``bytes_per_sequence`` for each: exactly so for the model's own need, and for an engine the
    straight line between the scenario's sequences and the most that fit.
    ``weight_bytes`` are the model's own; ``draft_bytes`` those of a draft model and of heads that draft beside it, whose
    cache is in ``bytes_per_sequence``, and of it ``draft_bytes_per_sequence``.
    ``rules`` are the engine's that made the difference to the model's own need, with the scenario's sequences. Where it
    keeps an unstated part of its memory for itself, ``buffer_bytes`` holds the least that is known of, and
    ``fewest_sequences`` fit with the most. ``own_need`` names the kinds of layer for which no rule of the engine is known.
    ``place`` says whose memory this is, where there are several: the one that fills first.
    """

    usable: float | None
    weight_bytes: float
    buffer_bytes: float
    shared_bytes: float
    bytes_per_token: float
    bytes_per_sequence: float
    max_sequences: int | None
    now: int
    lacking: float | None
    rules: tuple[Rule, ...]
    fewest_sequences: int | None
    own_need: tuple[str, ...]
    place: Place
    draft_bytes: float
    draft_bytes_per_sequence: float

    @property
    def fixed_bytes(self) -> float:
        """Bytes held before the first sequence: all weights and buffers."""
        return self.weight_bytes + self.draft_bytes + self.buffer_bytes

    @property
    def held_now(self) -> float:
        """Bytes held with the scenario's sequences."""
        return self.fixed_bytes + self.shared_bytes + self.now * self.bytes_per_sequence

    @property
    def fits(self) -> bool | None:
        """Whether the scenario's sequences fit; None where memory is unknown."""
        if self.usable is None:
            return None
        return self.max_sequences is None or self.now <= self.max_sequences


def cache_bytes(
    model: Model, cache_k: CacheFormat, cache_v: CacheFormat, tokens: Numbers, block: int = 1
) -> Numbers:
    """Bytes that one sequence's cache needs at ``tokens`` (array or number), rounded up to whole blocks of tokens.

    Full layers hold every token, window and chunk layers at most their window, latent layers the latent, sparse ones
    the indexer's keys beside it, compressing ones an entry for every few tokens; recurrent layers one state whatever the
    length.
    """
    return total_bytes("exact", Cache(model, cache_k, cache_v, block), 1.0, tokens)


def bytes_per_token(model: Model, cache_k: CacheFormat, cache_v: CacheFormat) -> float:
    """Bytes that one more token adds to a short sequence, whose windows are not full yet.

    Compressed entries count with their mean: one for every so many tokens.
    """
    return _growth(kept_layers(model, cache_k, cache_v))


def _growth(layers: tuple[Kept, ...]) -> float:
    growing = [kept for kept in layers if kept.limit is None or kept.limit > 1]
    return sum(kept.layers * kept.token_bytes / kept.every for kept in growing)


def sequence_bytes(setup: Setup, tokens: Numbers, allocation: Allocation | None = None) -> Numbers:
    """Bytes reserved for one sequence of ``tokens`` alone, as the scenario's engine does it."""
    return total_bytes(setup.scenario.engine, cache_of(setup, allocation), 1.0, tokens)


def shared_bytes(setup: Setup, tokens: Numbers, allocation: Allocation | None = None) -> Numbers:
    """Bytes held once, whatever the number of sequences of ``tokens``: those of the prefix that all share.

    Window layers and recurrent states keep no prefix, so every sequence holds its own.
    """
    return total_bytes(setup.scenario.engine, cache_of(setup, allocation), 0.0, tokens)


def sequences_that_fit(
    setup: Setup, tokens: Numbers, allocation: Allocation | None = None, most_buffers: bool = False
) -> Numbers:
    """The most sequences of ``tokens`` that fit beside weights and buffers; never negative.

    NaN where memory is unknown; infinite where a sequence holds nothing. ``most_buffers``: with the most that the engine
    is known to keep for itself. Of several memories the one that holds fewest decides; unknown ones are left out.
    """
    fit: Numbers = np.full_like(np.asarray(tokens, dtype=np.float64), np.nan)
    for holder in holders(setup, allocation):
        fit = np.fmin(fit, holder_fits(setup, holder, tokens, most_buffers))
    return fit


def holder_fits(setup: Setup, holder: Holder, tokens: Numbers, most_buffers: bool = False) -> Numbers:
    """The most sequences whose part of the cache fits into one memory; NaN where its size is unknown."""
    if holder.usable is None:
        return np.full_like(np.asarray(tokens, dtype=np.float64), np.nan)
    room = holder.usable - holder.weight_bytes - holder.reserve(most=most_buffers)
    cache = holder.cache
    if setup.scenario.engine != "exact":
        return most_sequences(setup.scenario.engine, cache, room, tokens)
    once = total_bytes("exact", cache, 0.0, tokens)
    each = np.asarray(total_bytes("exact", cache, 1.0, tokens)) - once
    left = np.asarray(room - once)
    whole = np.floor(left / np.where(each > 0, each, np.nan))
    return np.where(left >= 0, np.where(np.isnan(whole), np.inf, whole), 0.0)


def capacity(setup: Setup) -> Capacity:
    """What the scenario holds at its context, and how many such sequences fit."""
    s = setup.scenario
    depth, now = float(s.depth), float(s.batch)
    holder = _fullest(setup, depth)
    cache, usable, buffers = holder.cache, holder.usable, holder.reserve()
    parts = reserved(s.engine, cache, now, depth)
    most = _whole(holder_fits(setup, holder, depth))
    once, each = _line(setup, cache, most)
    lacking = None
    if usable is not None and most is not None:
        more = float(total_bytes(s.engine, cache, most + 1.0, depth))
        lacking = holder.weight_bytes + buffers + more - usable
    fewest = None
    if holder.unstated is not None:
        fewest = _whole(sequences_that_fit(setup, depth, most_buffers=True))
    return Capacity(
        usable=usable,
        weight_bytes=holder.weight_bytes - holder.draft_bytes,
        draft_bytes=holder.draft_bytes,
        draft_bytes_per_sequence=0.0
        if cache.beside is None
        else each - _line(setup, replace(cache, beside=None), most)[1],
        buffer_bytes=buffers,
        shared_bytes=once,
        bytes_per_token=_growth(cache.kept),
        bytes_per_sequence=each,
        max_sequences=most,
        now=s.batch,
        lacking=lacking,
        rules=(*_memory_rules(holder), *rules(parts)),
        fewest_sequences=fewest,
        own_need=tuple(dict.fromkeys(part.kept.what for part in parts if _unruled(part))),
        place=holder.place,
    )


def _fullest(setup: Setup, depth: float) -> Holder:
    """The memory that holds fewest sequences; of equal ones that with the least room left."""

    def room(holder: Holder) -> tuple[float, float]:
        if holder.usable is None:
            return math.inf, math.inf
        return float(holder_fits(setup, holder, depth)), holder.usable - holder.weight_bytes

    return min(holders(setup), key=room)


def _line(setup: Setup, cache: Cache, most: int | None) -> tuple[float, float]:
    """Bytes held once, and for each sequence: exact at the scenario's sequences, and at the most that fit."""
    s = setup.scenario

    def held(sequences: float) -> float:
        return float(total_bytes(s.engine, cache, sequences, float(s.depth)))

    if s.engine == "exact":
        once = held(0.0)
        return once, held(1.0) - once
    now = float(s.batch)
    other = float(most) if most is not None and most != now else now + 1.0
    slope = (held(other) - held(now)) / (other - now)
    once = min(max(0.0, held(now) - now * slope), held(now))
    return once, (held(now) - once) / now


def _whole(fit: Numbers) -> int | None:
    return int(fit) if math.isfinite(float(fit)) else None


def _unruled(part: Part) -> bool:
    return any(name == "own_need" for name, _ in part.steps)


def _memory_rules(holder: Holder) -> tuple[Rule, ...]:
    """What the engine leaves free, and the least that it keeps for itself."""
    found = []
    if holder.capacity is not None and holder.share != 1:
        found.append(Rule("memory_share", holder.capacity * (1 - holder.share)))
    if holder.unstated is not None:
        found.append(Rule("activations", holder.unstated[0]))
    return tuple(found)


@lru_cache(maxsize=64)
def longest_context(setup: Setup, sequences: int) -> int | None:
    """The most cached tokens a sequence at which ``sequences`` fit; None where memory is unknown or never fills."""
    if all(holder.usable is None for holder in holders(setup)):
        return None
    over = first_whole(lambda tokens: not _hold(setup, sequences, float(tokens)), FARTHEST)
    return None if over is None else over - 1


def _hold(setup: Setup, sequences: int, tokens: float) -> bool:
    """Whether ``sequences`` of ``tokens`` fit; an engine's stair is only looked up, not searched."""
    engine = setup.scenario.engine
    return all(
        holder.weight_bytes
        + holder.reserve()
        + float(total_bytes(engine, holder.cache, float(sequences), tokens))
        <= holder.usable
        for holder in holders(setup)
        if holder.usable is not None
    )


@dataclass(frozen=True, slots=True)
class Paging:
    """Requests of prompt + output tokens held: in blocks as they are, or each reserving the scenario's context."""

    paged: float
    reserved: float
    paged_tokens: int
    reserved_tokens: int


def paging(setup: Setup) -> Paging:
    """Paged against reserved. Reserving means the longest length, which is the scenario's context."""
    s = setup.scenario
    needed = s.prompt + s.output
    longest = max(s.depth, needed)
    return Paging(
        paged=float(sequences_that_fit(setup, float(needed), "paged")),
        reserved=float(sequences_that_fit(setup, float(longest), "reserved")),
        paged_tokens=tokens_held(s.engine, needed, s.block_tokens, "paged"),
        reserved_tokens=tokens_held(s.engine, longest, s.block_tokens, "reserved"),
    )
