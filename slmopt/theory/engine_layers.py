"""What layers keep in memory, kind by kind: the input of every engine's rule, and the model's own need.

Bytes of ``n`` sequences of ``t`` tokens, by what a layer keeps:

* full, latent: t entries of every sequence, those of a shared prefix once;
* window, chunk: at most ``limit`` of them, nothing shared;
* index: one key a token (or a compressed entry) of an indexer;
* entries: ⌊t / every⌋ compressed ones beside the window;
* state: a fixed size whatever t.

Ignored: the tokens that a compressing layer gathers for its next entry (at most ``every`` of them), and what a runtime
keeps to find its blocks (a few bytes a block).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Attention, LayerGroup, Model
from slmopt.theory.forward import Numbers
from slmopt.theory.terms import STATE_BYTES

What = Literal["full", "window", "chunk", "index", "entries", "state"]
LatentLayout = Literal["latent", "transposed", "expanded"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What ``layers`` layers of one group keep of one kind.

    ``token_bytes`` are a layer's for one token, or for the one entry that ``every`` tokens leave; beyond ``limit`` tokens
    the oldest are forgotten. States have elements instead. ``index_dim`` is the width of an indexer's key.
    """

    group: int
    what: What
    layers: int
    token_bytes: float = 0.0
    every: int = 1
    limit: int | None = None
    index_dim: int = 0
    state_elements: float = 0.0
    conv_elements: float = 0.0
    state_bits: int | None = None

    def entries(self, tokens: Numbers) -> Numbers:
        """Entries that ``tokens`` tokens leave."""
        return tokens if self.every == 1 else np.floor(tokens / self.every)


@dataclass(frozen=True)
class Cache:
    """A model's cache as an engine is asked to hold it.

    ``block`` and ``shared`` are tokens. ``paged``: blocks as sequences grow, else each its longest length. ``devices``
    split KV heads and states, never a latent or an indexer's key. ``micro_batch`` and ``full_windows`` as in the
    scenario. ``latent``: how llama.cpp and its forks keep latent attention: the latent alone, with a transposed copy for
    the values, or expanded to every head's keys and values (files and builds without latent attention). ``counts`` are
    the layers of each group that lie in this memory; None where all do. ``beside``: a draft model whose cache lies in this
    memory, too, for the same sequences.
    """

    model: Model
    k: CacheFormat
    v: CacheFormat
    block: int = 16
    paged: bool = True
    shared: float = 0.0
    devices: int = 1
    micro_batch: int = 512
    full_windows: bool = False
    latent: LatentLayout = "latent"
    counts: tuple[int, ...] | None = None
    beside: Model | None = None

    @property
    def own_block(self) -> int:
        """Tokens that the model's own need is rounded up to."""
        return self.block if self.paged else 1

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        """What the model's layers in this memory, and a draft's, keep on one of the devices."""
        counts, found = self.counts, self.whole
        if counts is not None:
            found = tuple(replace(one, layers=counts[one.group]) for one in found if counts[one.group])
        if self.beside is None:
            return found
        return found + kept_layers(self.beside, self.k, self.v, self.devices, self.latent)

    @property
    def whole(self) -> tuple[Kept, ...]:
        """The same for all layers, wherever they lie."""
        return kept_layers(self.model, self.k, self.v, self.devices, self.latent)

    def unshared(self) -> Cache:
        """The same with a prefix of its own for each sequence."""
        return replace(self, shared=0.0)


@lru_cache(maxsize=512)
def kept_layers(
    model: Model, k: CacheFormat, v: CacheFormat, devices: int = 1, latent: LatentLayout = "latent"
) -> tuple[Kept, ...]:
    """What a model's layers keep on one of ``devices``, group by group."""
    if model.by_count:
        heads = heads_on_one(model.kv_heads, devices) if model.kv_heads else 0
        one = heads * model.head_dim * (k.bits + v.bits) / 8
        return (Kept(0, "full", model.layers, one),) if model.layers * one else ()
    return tuple(
        kept
        for at, group in enumerate(model.groups)
        for kept in _group_kept(at, group, k, v, devices, latent)
    )


def _group_kept(
    at: int, group: LayerGroup, k: CacheFormat, v: CacheFormat, devices: int, latent: LatentLayout
) -> Iterator[Kept]:
    a = group.attention
    if a is not None and a.owns_cache:
        one = _token_bytes(a, k, v, devices, latent)
        what: What = "window" if a.window is not None else "chunk" if a.chunk is not None else "full"
        yield Kept(at, what, group.count, one, limit=a.window or a.chunk)
        every = a.compress or 1
        if a.compress is not None:
            yield Kept(at, "entries", group.count, one, every)
        if a.cached_index:
            width = a.cached_index
            yield Kept(at, "index", group.count, width * k.bits / 8, every, index_dim=width)
    state = group.state
    if state is not None and state.state_elements + state.conv_elements:
        elements, conv = state.state_elements / devices, state.conv_elements / devices
        yield Kept(
            at,
            "state",
            group.count,
            state_elements=elements,
            conv_elements=conv,
            state_bits=state.state_bits,
        )


def heads_on_one(heads: int, devices: int) -> int:
    """Heads on one device: max(1, heads/devices), rounded up."""
    return max(1, -(-heads // devices))


def _token_bytes(a: Attention, k: CacheFormat, v: CacheFormat, devices: int, layout: LatentLayout) -> float:
    latent = a.latent
    if latent is not None and layout == "expanded":
        heads = heads_on_one(a.heads, devices)
        return heads * ((latent.nope_dim + latent.rope_dim) * k.bits + latent.v_dim * v.bits) / 8
    if latent is not None:
        copy = latent.kv_rank * v.bits / 8 if layout == "transposed" else 0.0
        return a.cached_k * k.bits / 8 + copy
    share = heads_on_one(a.kv_heads, devices) / a.kv_heads
    return share * (a.cached_k * k.bits + a.cached_v * v.bits) / 8


def round_up(tokens: Numbers, block: float) -> Numbers:
    """The next whole multiple of ``block``."""
    return np.ceil(np.asarray(tokens, dtype=np.float64) / block) * block


def state_bytes(kept: Kept, state: float = STATE_BYTES, conv: float = STATE_BYTES) -> float:
    """Bytes of one layer's state at these bytes an element."""
    return kept.state_elements * state + kept.conv_elements * conv


def own_bytes(kept: Kept, cache: Cache, sequences: Numbers, tokens: Numbers) -> Numbers:
    """The model's own need: n·(entries(t) − entries(prefix)) + entries(prefix), in blocks when paged."""
    if kept.what == "state":
        return sequences * np.full(np.shape(tokens), kept.layers * state_bytes(kept))
    block = cache.own_block
    held = round_up(tokens, block)
    one = kept.layers * kept.token_bytes
    if kept.limit is not None:
        return sequences * np.minimum(held, round_up(kept.limit, block)) * one
    prefix = kept.entries(np.minimum(cache.shared // block * block, held))
    return (prefix + sequences * (kept.entries(held) - prefix)) * one
