"""What memory holds: weights, buffers and a cache for each sequence, and how many sequences that leaves room for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import LayerGroup, Model
from slmopt.specs.scenario import Allocation
from slmopt.specs.setup import Setup
from slmopt.theory.forward import Numbers
from slmopt.theory.terms import STATE_BYTES


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes held, and sequences that fit. ``usable`` is None where memory is unknown.

    ``max_sequences`` is None there, too, and where a sequence holds nothing, so that memory sets no limit.
    ``lacking`` is what the next sequence would need on top of what is left.
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

    @property
    def held_now(self) -> float:
        """Bytes held with the scenario's sequences."""
        return self.weight_bytes + self.buffer_bytes + self.shared_bytes + self.now * self.bytes_per_sequence

    @property
    def fits(self) -> bool | None:
        """Whether the scenario's sequences fit; None where memory is unknown."""
        if self.usable is None:
            return None
        return self.max_sequences is None or self.now <= self.max_sequences


def cache_bytes(
    model: Model, cache_k: CacheFormat, cache_v: CacheFormat, tokens: Numbers, block: int = 1
) -> Numbers:
    """Bytes that one sequence's cache holds at ``tokens`` (array or number), rounded up to whole blocks of tokens.

    Full layers hold every token, window and chunk layers at most their window, latent layers the latent, sparse ones
    the indexer's keys beside it; recurrent layers one state whatever the length.
    """
    held = np.ceil(np.asarray(tokens, dtype=np.float64) / block) * block
    if model.by_count:
        elements = model.layers * model.kv_heads * model.head_dim
        return held * (elements * (cache_k.bits + cache_v.bits) / 8)
    total = np.zeros_like(held)
    for group in model.groups:
        total = total + _group_bytes(group, cache_k, cache_v, held, block)
    return total


def _group_bytes(group: LayerGroup, k: CacheFormat, v: CacheFormat, held: Numbers, block: int) -> Numbers:
    total: Numbers = 0.0
    if group.attention is not None:
        a = group.attention
        limit = a.window or a.chunk
        kept = held if limit is None else np.minimum(held, math.ceil(limit / block) * block)
        total = total + group.count * (a.cached_k * k.bits + a.cached_v * v.bits) / 8 * kept
        total = total + group.count * a.cached_index * k.bits / 8 * held
    if group.state is not None:
        total = total + group.count * (group.state.state_elements + group.state.conv_elements) * STATE_BYTES
    return total


def bytes_per_token(model: Model, cache_k: CacheFormat, cache_v: CacheFormat) -> float:
    """Bytes that one more token adds to a short sequence, whose windows are not full yet."""
    held = np.asarray(cache_bytes(model, cache_k, cache_v, np.array([1.0, 2.0])))
    return float(held[1] - held[0])


def sequence_bytes(setup: Setup, tokens: Numbers, allocation: Allocation | None = None) -> Numbers:
    """Bytes reserved for a sequence of ``tokens``: whole blocks when paged, the exact length when reserved."""
    how = allocation or setup.scenario.allocation
    block = setup.scenario.block_tokens if how == "paged" else 1
    return cache_bytes(setup.model, *setup.cache, tokens, block)


def sequences_that_fit(setup: Setup, tokens: Numbers, allocation: Allocation | None = None) -> Numbers:
    """floor((usable − weights − buffers − shared prefix) / bytes a sequence); never negative.

    NaN where memory is unknown; infinite where a sequence holds nothing.
    """
    if setup.capacity is None:
        return np.full_like(np.asarray(tokens, dtype=np.float64), np.nan)
    shared = shared_bytes(setup, tokens, allocation)
    room = setup.capacity - setup.weight_bytes - setup.buffers - shared
    each = np.asarray(sequence_bytes(setup, tokens, allocation)) - shared
    fit = np.where(each > 0, np.floor(np.maximum(0.0, room) / np.where(each > 0, each, 1.0)), np.inf)
    return np.where(room >= 0, fit, 0.0)


def shared_bytes(setup: Setup, tokens: Numbers, allocation: Allocation | None = None) -> Numbers:
    """Bytes of the prefix that all sequences of ``tokens`` share, held once: whole blocks of it when paged.

    Window layers and recurrent states keep no prefix, so every sequence holds its own.
    """
    how = allocation or setup.scenario.allocation
    block = setup.scenario.block_tokens if how == "paged" else 1
    held = np.ceil(np.asarray(tokens, dtype=np.float64) / block) * block
    whole = np.minimum(setup.scenario.shared_prefix // block * block, held)
    model, formats = setup.model, setup.cache
    if model.by_count:
        return cache_bytes(model, *formats, whole)
    full = [g for g in model.groups if g.attention and not (g.attention.window or g.attention.chunk)]
    total: Numbers = np.zeros_like(whole)
    for group in full:
        total = total + _group_bytes(_stateless(group), *formats, whole, 1)
    return total


def _stateless(group: LayerGroup) -> LayerGroup:
    return group.model_copy(update={"state": None})


def capacity(setup: Setup) -> Capacity:
    """What the scenario holds at its context, and how many such sequences fit."""
    depth = float(setup.scenario.depth)
    shared = float(shared_bytes(setup, depth))
    each = float(sequence_bytes(setup, depth)) - shared
    fit = float(sequences_that_fit(setup, depth))
    known = setup.capacity is not None
    most = int(fit) if known and math.isfinite(fit) else None
    lacking = None
    if setup.capacity is not None and most is not None:
        held = setup.weight_bytes + setup.buffers + shared + (most + 1) * each
        lacking = held - setup.capacity
    return Capacity(
        usable=setup.capacity,
        weight_bytes=setup.weight_bytes,
        buffer_bytes=setup.buffers,
        shared_bytes=shared,
        bytes_per_token=bytes_per_token(setup.model, *setup.cache),
        bytes_per_sequence=each,
        max_sequences=most,
        now=setup.scenario.batch,
        lacking=lacking,
    )


def longest_context(setup: Setup, sequences: int) -> int | None:
    """The most cached tokens a sequence at which ``sequences`` fit; None where memory is unknown or never fills."""
    if setup.capacity is None:
        return None
    high = 1
    while float(sequences_that_fit(setup, float(high))) >= sequences:
        high *= 2
        if high > 2**40:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if float(sequences_that_fit(setup, float(middle))) >= sequences:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class ContextCurve:
    """Sequences that fit at each context (tokens); ``now`` is (context, sequences), ``doubled`` at twice that."""

    context: npt.NDArray[np.float64]
    sequences: npt.NDArray[np.float64]
    now: tuple[float, float]
    doubled: float


def context_curve(setup: Setup, points: int = 97) -> ContextCurve:
    """Sequences that fit from a quarter of a thousand tokens to 128 thousand, or as far as the scenario goes."""
    depth = float(max(1, setup.scenario.depth))
    context = np.geomspace(min(250.0, depth), max(131_072.0, 2 * depth), points)
    fit = np.asarray(sequences_that_fit(setup, np.append(context, [depth, 2 * depth])), dtype=np.float64)
    return ContextCurve(context, fit[:points], (depth, float(fit[points])), float(fit[points + 1]))


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
    block = s.block_tokens
    return Paging(
        paged=float(sequences_that_fit(setup, float(needed), "paged")),
        reserved=float(sequences_that_fit(setup, float(max(s.depth, needed)), "reserved")),
        paged_tokens=math.ceil(needed / block) * block,
        reserved_tokens=max(s.depth, needed),
    )
