"""The forward pass: bytes moved and operations done. Every other figure of the product follows from it.

A pass is a list of :class:`Group`: ``batch`` sequences, each feeding ``new`` tokens on top of ``past`` cached ones and
wanting logits at ``logits`` of its positions. All groups share one reading of the weights.

Bytes of the ceiling: every weight once, except look-ups; the head only if some group wants logits; of the experts the
fewest that the pass can touch; each distinct cached byte once (a prefix shared by sequences once for all).
Operations: 2 a weight and token in the matrix products; 2·heads·(d_qk + d_v) a layer for each visible (query, key)
pair, pairs counted causally. MLA may run absorbed or expanded: the cheaper counts. Sparse attention reads and attends to
top-k keys that an indexer picks after reading every key of its own. A layer that compresses keeps, beside the tokens of
its window, one entry for every ``compress`` tokens; it reads and attends to all entries, or to the top-k of its indexer.
A layer without a cache of its own reads another's: no distinct byte, so nothing in the ceiling.

Kernels that are not fused write a score for each head and visible pair and read it again, and after the softmax a
probability: four trips of one value (T. Dao et al., "FlashAttention" (2022), section 3.1). An estimate counts them where
the scenario says so; a bound never does, since they need not leave the chip.

Ignored, and how large it is: norms, rotary embedding, softmax and sampling (below 1 % of the operations of a layer wider
than 512); activations that leave the chip (within the achievable fraction of an estimate); the tokens that a compressing
layer gathers for its next entry (at most ``compress`` of them, whatever the context).

Source: S. Williams, A. Waterman, D. Patterson, "Roofline" (2009), for the bound; N. Shazeer, "Fast Transformer Decoding"
(2019), for the cache's part; DeepSeek-AI, "DeepSeek-V2" (2024), section 2.1, for the latent cache, "DeepSeek-V3.2-Exp"
(2025), section 2, for the indexer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from slmopt.theory.terms import Term

Numbers = float | npt.NDArray[np.float64]
Kind = Literal["ceiling", "estimate"]

SCORE_BYTES = 2.0
SCORE_TRIPS = 4.0


@dataclass(frozen=True, slots=True)
class Group:
    """Sequences of one shape in a pass. Any field may be an array; they broadcast. Counts are tokens or sequences.

    ``shared`` of the ``past`` tokens are one prefix that all sequences of the group have in common.
    """

    batch: Numbers = 1.0
    new: Numbers = 1.0
    past: Numbers = 0.0
    logits: Numbers = 1.0
    shared: Numbers = 0.0


@dataclass(frozen=True, slots=True)
class PassCost:
    """Bytes moved and operations done, by what they are for. All have the shape that the groups broadcast to.

    ``tokens`` are those that the pass feeds, of all sequences. ``score_bytes``, a part of ``cache_bytes``, are attention's
    scores where they leave the chip; a plain zero where they do not. ``link_bytes`` go over the link of each of several devices,
    in ``messages`` one after the other; plain zeros without.
    """

    weight_bytes: Numbers
    cache_bytes: Numbers
    matmul_flops: Numbers
    attention_flops: Numbers
    link_bytes: Numbers = 0.0
    messages: Numbers = 0.0
    tokens: Numbers = 1.0
    score_bytes: Numbers = 0.0

    @property
    def bytes(self) -> Numbers:
        """All bytes moved between memory and chip."""
        return self.weight_bytes + self.cache_bytes

    @property
    def flops(self) -> Numbers:
        """All operations."""
        return self.matmul_flops + self.attention_flops

    @property
    def intensity(self) -> Numbers:
        """Operations per byte moved."""
        return self.flops / self.bytes


def forward(terms: Sequence[Term], groups: Sequence[Group], kind: Kind = "ceiling") -> PassCost:
    """Cost of one pass over ``groups``.

    ``kind`` "ceiling" counts the least that any implementation must move; "estimate" the expected number of distinct
    experts, E·(1 − (1 − k/E)^T) for T tokens under even routing, a shared prefix once per sequence, a cache once for
    each layer that reads it, the cache entries written, and what attention's scores move where its kernels are not fused.
    """
    tokens = _sum([_f(g.batch) * _f(g.new) for g in groups])
    wanted = _sum([_f(g.batch) * _f(g.logits) for g in groups])
    weight: Numbers = 0.0
    cache: Numbers = 0.0
    scores: Numbers = 0.0
    matmul: Numbers = 0.0
    attention: Numbers = 0.0
    link: Numbers = 0.0
    messages = 0.0
    for term in terms:
        if term.messages or term.link_bytes:
            routed = term.routed_bytes if kind == "estimate" else 0.0
            link, messages = link + (term.link_bytes + routed) * tokens, messages + term.messages
        if term.head:
            weight = weight + np.where(wanted > 0, term.weight_bytes, 0.0)
            matmul = matmul + term.token_flops * wanted
            continue
        weight = weight + term.weight_bytes
        if term.token_flops:
            matmul = matmul + term.token_flops * tokens
        if term.expert_bytes:
            weight = weight + term.expert_bytes * distinct_experts(term, tokens, kind)
        if not (term.cache_bytes or term.reread_bytes or term.pair_flops or term.state_bytes):
            continue
        for group in groups:
            read, done, pairs = _attend(term, group, kind)
            if term.unfused and kind == "estimate":
                moved = SCORE_TRIPS * SCORE_BYTES * term.score_pairs * pairs
                scores, read = scores + moved, read + moved
            cache = cache + read
            attention = attention + done
    given = (x for g in groups for x in (g.batch, g.new, g.past, g.logits, g.shared))
    shape = np.broadcast_shapes(*map(np.shape, given))
    return PassCost(
        weight_bytes=_shaped(weight, shape),
        cache_bytes=_shaped(cache, shape),
        matmul_flops=_shaped(matmul, shape),
        attention_flops=_shaped(attention, shape),
        link_bytes=link,
        messages=messages,
        tokens=_shaped(tokens, shape),
        score_bytes=_shaped(scores, shape) if any(term.unfused for term in terms) else 0.0,
    )


def distinct_experts(term: Term, tokens: Numbers, kind: Kind) -> Numbers:
    """Experts of a layer that a pass of ``tokens`` reads: the fewest possible, or the number expected.

    Where ``spread`` devices hold whole ones it counts those of the busiest for each: no fewer than one token's experts
    make it at the best spread, and the rest spread evenly.
    """
    if term.spread > 1:
        fewest = float(term.spread * -(-term.active // term.spread))
        even = distinct_experts(replace(term, spread=1), tokens, kind)
        return np.where(np.asarray(tokens) > 0, np.maximum(even, fewest), 0.0)
    if kind == "ceiling":
        return np.where(np.asarray(tokens) > 0, float(term.active), 0.0)
    share = term.active / term.experts
    if share >= 1:
        return np.where(np.asarray(tokens) > 0, float(term.experts), 0.0)
    expected: Numbers = -term.experts * np.expm1(tokens * np.log1p(-share))
    return expected


def visible_pairs(past: Numbers, new: Numbers, window: float = np.inf, chunk: int = 0) -> Numbers:
    """Visible (query, key) pairs of one sequence: Σ over i = 1 … new of min(past + i, window), or within its chunk."""
    if chunk:
        return _chunk_pairs(past + new, chunk) - _chunk_pairs(past, chunk)
    if not np.isfinite(window):
        return new * (past + 0.5 * (new + 1.0))
    rising = np.clip(window - past, 0.0, new)
    return rising * (past + 0.5 * (rising + 1.0)) + (new - rising) * window


def _chunk_pairs(tokens: Numbers, chunk: int) -> Numbers:
    whole, rest = _whole(tokens, chunk)
    return whole * (0.5 * chunk * (chunk + 1.0)) + 0.5 * rest * (rest + 1.0)


def visible_cached(past: Numbers, window: float = np.inf, chunk: int = 0, top_k: float = np.inf) -> Numbers:
    """Cached tokens of a sequence that its next token reads."""
    if chunk:
        return _whole(past, chunk)[1]
    limit = min(window - 1.0, top_k)
    return past if not np.isfinite(limit) else np.minimum(past, limit)


def _whole(tokens: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Whole groups of ``size`` tokens, and the tokens left over; exact for whole numbers."""
    whole = np.floor(tokens / size)
    return whole, tokens - size * whole


def completed_pairs(past: Numbers, new: Numbers, every: int, top_k: float = np.inf) -> Numbers:
    """(query, entry) pairs of one sequence: Σ over i = 1 … new of min(⌊(past + i)/every⌋, top_k)."""
    return _entry_pairs(past + new, every, top_k) - _entry_pairs(past, every, top_k)


def _entry_pairs(tokens: Numbers, every: int, top_k: float) -> Numbers:
    """Σ over t = 1 … tokens of min(⌊t/every⌋, top_k)."""
    rising = tokens if not np.isfinite(top_k) else np.minimum(tokens, every * top_k - 1.0)
    whole, rest = _whole(rising, every)
    pairs = every * (0.5 * whole * (whole - 1.0)) + whole * (rest + 1.0)
    return pairs if not np.isfinite(top_k) else pairs + top_k * (tokens - rising)


def _attend(term: Term, group: Group, kind: Kind) -> tuple[Numbers, Numbers, Numbers]:
    """Bytes of cache read (and, in an estimate, written), operations of attention and states, and visible pairs."""
    batch, new, past = _f(group.batch), _f(group.new), _f(group.past)
    shared = _in_common(group, kind)
    read: Numbers = 0.0
    done: Numbers = 0.0
    pairs: Numbers = 0.0
    top_k = np.inf if term.compress else term.top_k
    held = past
    if kind == "estimate" and term.cache_step > 1:
        held = np.ceil((past + new) / term.cache_step) * term.cache_step - new
    seen = visible_cached(held, term.window, term.chunk, top_k)
    if term.cache_bytes:
        read = read + term.cache_bytes * _distinct(seen, batch, past, shared, np.isfinite(top_k))
    if kind == "estimate":
        index = 0.0 if term.compress else term.index_bytes
        read = read + (term.cache_bytes + index) * batch * new + term.reread_bytes * batch * seen
    if term.pair_flops:
        pairs = visible_pairs(held, new, min(term.window, top_k), term.chunk)
        if term.compress:
            pairs = pairs + completed_pairs(past, new, term.compress, term.top_k)
        if term.latent_pair_flops:
            expanded = term.latent_pair_flops * pairs + term.latent_expand_flops * seen
            done = done + batch * np.minimum(term.pair_flops * pairs, expanded)
        else:
            done = done + (term.pair_flops * batch) * pairs
    if term.compress:
        entries, scored = _compressed(term, batch, new, past, shared, kind)
        read, done = read + entries, done + scored
    elif term.index_bytes or term.index_pair_flops:
        read = read + term.index_bytes * _distinct(past, batch, past, shared)
        done = done + term.index_pair_flops * batch * visible_pairs(past, new)
    if term.state_bytes:
        read = read + term.state_bytes * batch * np.where(past > 0, 2.0, 1.0)
    return read, done, batch * pairs


def _compressed(
    term: Term, batch: Numbers, new: Numbers, past: Numbers, shared: Numbers | None, kind: Kind
) -> tuple[Numbers, Numbers]:
    """Bytes of compressed entries and of their indexer keys, and the operations of scoring them."""
    entries = np.floor(past / term.compress)
    common = None if shared is None else np.floor(shared / term.compress)
    chosen = bool(np.isfinite(term.top_k))
    seen = np.minimum(entries, term.top_k) if chosen else entries
    read = term.entry_bytes * _distinct(seen, batch, entries, common, chosen)
    read = read + term.index_bytes * _distinct(entries, batch, entries, common)
    if kind == "estimate":
        made = np.floor((past + new) / term.compress) - entries
        read = read + (term.entry_bytes + term.index_bytes) * batch * made + term.reread_bytes * batch * seen
    return read, term.index_pair_flops * batch * completed_pairs(past, new, term.compress)


def _in_common(group: Group, kind: Kind) -> Numbers | None:
    """Cached tokens that all sequences of the group share; None where each reads its own."""
    if kind == "estimate" or (isinstance(group.shared, int | float) and not group.shared):
        return None
    return np.minimum(_f(group.shared), _f(group.past))


def _distinct(
    seen: Numbers, batch: Numbers, past: Numbers, shared: Numbers | None, chosen: bool = False
) -> Numbers:
    """Cache entries read where each sequence reads ``seen`` of its ``past`` ones, the shared ones once.

    Those are the latest ones; where the model chooses them (``chosen``), the fewest are read when it takes shared ones.
    """
    if shared is None:
        return batch * seen
    private = np.maximum(seen - shared, 0.0) if chosen else np.minimum(seen, past - shared)
    return batch * private + (np.asarray(batch) > 0) * (seen - private)


def _f(value: Numbers) -> Numbers:
    return float(value) if isinstance(value, int | float) else np.asarray(value, dtype=np.float64)


def _sum(values: list[Numbers]) -> Numbers:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _shaped(value: Numbers, shape: tuple[int, ...]) -> Numbers:
    return float(value) if shape == () else np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
