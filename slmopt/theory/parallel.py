"""One model over several devices: what a pass moves in all of them together, and what it sends over their links.

The terms are totals over N devices, set against N times the bandwidth and N times the rates.

* **tensor**: every matrix is split, so weights count once. KV heads are split while there are enough: a device holds
  max(1, ⌈heads/N⌉) of them, so N devices read N·max(1, ⌈heads/N⌉)/heads of the cache. A latent and an indexer's key
  belong to all heads and are on every device; recurrent states are split by heads. Each block of a layer (mixer,
  feed-forward) ends in an all-reduce of the fed tokens' hidden values in 16 bits: 2·(N − 1)/N of these bytes over each
  link, and one message.
* **expert**: whole experts, E/N on each device; all else as tensor. A layer with experts spends its second all-reduce
  on the way to them and back: after attention the sum is scattered and later gathered (one all-reduce together), and
  each device sends its tokens/N to min(k·(N − 1)/N, N − 1) other devices and takes as much back, in two messages.
  The ceiling leaves that out: a token's experts may be where it is.
* **pipeline**: a stage of layers on each device. A pass is cut into as many micro-batches as there are stages, or
  sequences (in the ceiling: fed tokens, since a prompt may come in chunks), so that each stage works while others do;
  every one of them reads the weights. One stream takes the sum of the stages and N − 1 hops of hidden values in 16 bits.

Ignored: norms and routers on every device, gathering logits (vocabulary·2 bytes a position), the share of a pipeline's
embedding and head. Switches that add on the way (NVLink SHARP) send as little as half of an all-reduce.

Sources: M. Shoeybi et al., "Megatron-LM" (2019), for the split; R. Thakur et al., "Optimization of collective
communication operations in MPICH" (2005), for the all-reduce; D. Lepikhin et al., "GShard" (2020), for the all-to-all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import LayerGroup, Model
from slmopt.specs.scenario import Parallel
from slmopt.theory.engine_layers import heads_on_one
from slmopt.theory.forward import Group, Kind, Numbers
from slmopt.theory.terms import Term, merge, operator_terms

HIDDEN_BYTES = 2.0
"""Bytes of a hidden value on its way to another device: engines send 16 bits."""


@lru_cache(maxsize=512)
def split_terms(
    model: Model,
    weights: WeightFormat,
    cache_k: CacheFormat,
    cache_v: CacheFormat,
    parallel: Parallel,
    devices: int,
) -> tuple[Term, ...]:
    """The merged terms of a pass over ``devices``, link included."""
    return merge(split_operators(model, weights, cache_k, cache_v, parallel, devices))


@lru_cache(maxsize=512)
def split_operators(
    model: Model,
    weights: WeightFormat,
    cache_k: CacheFormat,
    cache_v: CacheFormat,
    parallel: Parallel,
    devices: int,
) -> tuple[Term, ...]:
    """One term for each operator of each layer group over ``devices``, and one for the link."""
    terms = operator_terms(model, weights, cache_k, cache_v)
    if devices == 1:
        return terms
    if parallel == "pipeline":
        hops = devices - 1.0
        return (*terms, Term("link", link_bytes=hops * HIDDEN_BYTES * model.hidden, messages=hops))
    return (
        *(_shared_out(term, model, parallel, devices) for term in terms),
        _collectives(model, parallel, devices),
    )


def _shared_out(term: Term, model: Model, parallel: Parallel, devices: int) -> Term:
    """An operator's totals over devices that split its heads, or its experts whole."""
    if term.operator == "experts" and parallel == "expert":
        return replace(term, spread=devices)
    if not (term.cache_bytes or term.reread_bytes or term.index_bytes):
        return term
    copies = _copies(term, model, devices)
    return replace(
        term,
        cache_bytes=term.cache_bytes * copies,
        reread_bytes=term.reread_bytes * copies,
        entry_bytes=term.entry_bytes * copies,
        index_bytes=term.index_bytes * devices,
    )


def _copies(term: Term, model: Model, devices: int) -> float:
    """How often N devices together hold a layer's cache."""
    if term.group is None:
        return devices * heads_on_one(model.kv_heads, devices) / model.kv_heads
    attention = model.groups[term.group].attention
    assert attention is not None
    if attention.latent is not None:
        return float(devices)
    return devices * heads_on_one(attention.kv_heads, devices) / attention.kv_heads


def _collectives(model: Model, parallel: Parallel, devices: int) -> Term:
    """Bytes over each link for every fed token, and messages, of all layers."""
    hidden = HIDDEN_BYTES * model.hidden
    share = (devices - 1) / devices
    reduces = 2.0 * model.layers if model.by_count else 0.0
    sent = routes = 0.0
    for group in model.groups:
        blocks = _blocks(group)
        if group.moe is not None and parallel == "expert":
            blocks = 1
            routes += 2.0 * group.count
            sent += 2.0 * group.count * min(group.moe.active * share, devices - 1.0) / devices
        reduces += blocks * group.count
    return Term(
        "link",
        link_bytes=reduces * 2.0 * share * hidden,
        routed_bytes=sent * hidden,
        messages=reduces + routes,
    )


def _blocks(group: LayerGroup) -> int:
    """Blocks of a layer that end in a sum over devices: its mixer, and its feed-forward part."""
    mixer = group.attention is not None or group.state is not None
    feed = group.mlp is not None or group.moe is not None
    return max(1, int(mixer) + int(feed))


def micro_batches(groups: Sequence[Group], stages: int, kind: Kind) -> tuple[list[Group], Numbers, Numbers]:
    """The mean micro-batch of a pass through ``stages``, how many there are, and the fewest that read the weights.

    A prompt in chunks is bound by as many micro-batches as it has tokens, and may still be fed as one.
    """
    sequences: Numbers = 0.0
    tokens: Numbers = 0.0
    for group in groups:
        sequences = sequences + np.asarray(group.batch, dtype=np.float64)
        tokens = tokens + np.asarray(group.batch) * group.new
    readings = np.clip(sequences, 1.0, float(stages))
    count = np.clip(tokens, 1.0, float(stages)) if kind == "ceiling" else readings
    return [replace(group, batch=group.batch / count) for group in groups], count, readings
