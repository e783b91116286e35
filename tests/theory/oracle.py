"""The cost of a pass, counted one by one in exact fractions: no NumPy, no closed form, nothing taken from the product.

Written from the definitions of the design page ("The one idea", "Bytes", "Operations"): loops over layers, sequences,
tokens and (query, key) pairs, with sets of cached entries where bytes are distinct. Slow on purpose, for small models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from slmopt.specs.model import Attention, LayerGroup, Model

STATE_BYTES = 2


@dataclass(frozen=True)
class Shape:
    """A group of a pass: sequences, fed tokens, cached tokens, positions with logits, cached tokens in common."""

    batch: int
    new: int
    past: int
    logits: int = 1
    shared: int = 0


@dataclass(frozen=True)
class Bits:
    weights: Fraction
    k: Fraction
    v: Fraction


@dataclass(frozen=True)
class Cost:
    weight_bytes: Fraction
    cache_bytes: Fraction
    flops: Fraction


def count_pass(model: Model, bits: Bits, shapes: list[Shape], estimate: bool = False) -> Cost:
    """Bytes and operations of one pass over ``shapes``."""
    if model.params is not None:
        return _by_count(model, bits, shapes, estimate)
    tokens = sum(shape.batch * shape.new for shape in shapes)
    positions = sum(shape.batch * shape.logits for shape in shapes)
    weights = Fraction(_shared_weights(model))
    cache = flops = Fraction(0)
    flops += 2 * tokens * sum(m.rows * m.cols * m.copies for m in model.matrices)
    if positions:
        weights += model.hidden * model.vocab + (model.vocab if model.output_bias else 0)
        flops += 2 * positions * model.hidden * model.vocab
    for layer in _layers(model):
        dense = list(_matrices(layer, model.hidden))
        weights += sum(rows * cols for rows, cols in dense) + _vectors(layer, model.hidden)
        flops += 2 * tokens * sum(rows * cols for rows, cols in dense)
        if layer.moe is not None:
            one = _expert(layer, model.hidden)
            weights += _experts_read(layer, tokens, estimate) * (one + _expert_bias(layer, model.hidden))
            flops += 2 * tokens * layer.moe.active * one
        if layer.state is not None:
            flops += tokens * layer.state.scan_flops
            elements = layer.state.state_elements + layer.state.conv_elements
            for shape in shapes:
                # The state is written after the pass, and read before it where there is one.
                touched = 2 if shape.past else 1
                cache += shape.batch * touched * elements * STATE_BYTES
        if layer.attention is not None:
            for shape in shapes:
                cache += _cached_bytes(layer.attention, bits, shape, estimate)
                flops += _attention_flops(layer.attention, shape)
    return Cost(weights * bits.weights / 8, cache, flops)


def _by_count(model: Model, bits: Bits, shapes: list[Shape], estimate: bool) -> Cost:
    params = Fraction(model.params)
    flops = cache = Fraction(0)
    entry = (bits.k + bits.v) * model.layers * model.kv_heads * model.head_dim / 8
    for shape in shapes:
        for _sequence in range(shape.batch):
            for _token in range(shape.new):
                flops += 2 * params
        cache += entry * len(_entries(shape, range(shape.past), estimate))
        cache += entry * shape.batch * shape.new * estimate
    return Cost(params * bits.weights / 8, cache, flops)


def _layers(model: Model) -> Iterator[LayerGroup]:
    for group in model.groups:
        for _ in range(group.count):
            yield group


def _shared_weights(model: Model) -> int:
    """What every pass reads once, outside the layers: no look-ups, no towers, no unused prediction layers, no head."""
    return model.final_norm_params + sum(m.rows * m.cols * m.copies for m in model.matrices)


def _matrices(layer: LayerGroup, hidden: int) -> Iterator[tuple[int, int]]:
    """(outputs, inputs) of every matrix that each token goes through, routed experts aside."""
    extra = (*layer.matrices, *(layer.state.matrices if layer.state is not None else ()))
    yield from ((m.rows, m.cols) for m in extra for _ in range(m.copies))
    if layer.attention is not None:
        yield from _projections(layer.attention, hidden)
    if layer.mlp is not None:
        yield from _mlp(layer.mlp.width, hidden, layer.mlp.gated)
    if layer.moe is not None:
        yield (layer.moe.experts, hidden)
        if layer.moe.latent is not None:
            yield (layer.moe.latent, hidden)
            yield (hidden, layer.moe.latent)
        if layer.moe.shared_width:
            yield from _mlp(layer.moe.shared_width, hidden, layer.moe.gated)
            if layer.moe.shared_gate:
                yield (1, hidden)


def _projections(a: Attention, hidden: int) -> Iterator[tuple[int, int]]:
    value = a.v_head_dim or a.head_dim
    if a.latent is None:
        if a.q_rank is None:
            yield (a.heads * a.head_dim, hidden)
            if a.output_gate:
                yield (a.heads * a.head_dim, hidden)
        else:
            yield (a.q_rank, hidden)
            yield (a.heads * a.head_dim, a.q_rank)
        if a.owns_cache:
            yield (a.kv_heads * a.head_dim, hidden)
            if not a.value_is_key and not a.single_kv:
                yield (a.kv_heads * value, hidden)
        if a.o_rank is None:
            yield (hidden, a.heads * value)
        else:
            yield from [(a.o_rank, a.heads * value // a.o_groups)] * a.o_groups
            yield (hidden, a.o_groups * a.o_rank)
        return
    c = a.latent
    queries = a.heads * (c.nope_dim + c.rope_dim)
    if c.q_rank is None:
        yield (queries, hidden)
    else:
        yield (c.q_rank, hidden)
        yield (queries, c.q_rank)
    yield (c.kv_rank + c.rope_dim, hidden)
    yield (a.heads * c.nope_dim, c.kv_rank)
    yield (a.heads * c.v_dim, c.kv_rank)
    yield (hidden, a.heads * c.v_dim)
    if a.indexer is not None and not a.indexer.shared:
        yield (a.indexer.heads * a.indexer.head_dim, c.q_rank or hidden)
        yield (a.indexer.head_dim, hidden)
        yield (a.indexer.heads, hidden)


def _mlp(width: int, hidden: int, gated: bool) -> Iterator[tuple[int, int]]:
    yield (width, hidden)
    if gated:
        yield (width, hidden)
    yield (hidden, width)


def _vectors(layer: LayerGroup, hidden: int) -> int:
    """Norms, biases and the like: read, but no matrix products."""
    total = layer.norm_params + layer.vector_params
    total += layer.state.vector_params if layer.state is not None else 0
    a = layer.attention
    if a is not None and a.latent is None:
        q, k, v = a.heads * a.head_dim, a.kv_heads * a.head_dim, a.kv_heads * (a.v_head_dim or a.head_dim)
        v = 0 if a.value_is_key or a.single_kv else v
        total += (q + (k + v if a.owns_cache else 0)) if a.bias_qkv else 0
        total += hidden if a.bias_o else 0
        if a.qk_norm == "per_head":
            total += a.head_dim * (2 if a.owns_cache else 1)
        if a.qk_norm == "full":
            total += q + (k if a.owns_cache else 0)
        total += a.heads if a.sinks else 0
    if a is not None and a.latent is not None:
        total += a.latent.kv_rank + (a.latent.q_rank or 0)
        total += 2 * a.indexer.head_dim if a.indexer is not None and not a.indexer.shared else 0
    if layer.mlp is not None and layer.mlp.bias:
        total += layer.mlp.width * (2 if layer.mlp.gated else 1) + hidden
    if layer.moe is not None and layer.moe.router_bias:
        total += layer.moe.experts
    return total


def _expert(layer: LayerGroup, hidden: int) -> int:
    """Weights of one routed expert's matrices."""
    assert layer.moe is not None
    width = layer.moe.latent or hidden
    return sum(rows * cols for rows, cols in _mlp(layer.moe.width, width, layer.moe.gated))


def _expert_bias(layer: LayerGroup, hidden: int) -> int:
    assert layer.moe is not None
    moe = layer.moe
    return (moe.width * (2 if moe.gated else 1) + (moe.latent or hidden)) if moe.bias else 0


def _experts_read(layer: LayerGroup, tokens: int, estimate: bool) -> Fraction:
    """The fewest experts that the pass can touch, or the number expected under even routing."""
    assert layer.moe is not None
    if not estimate:
        return Fraction(layer.moe.active if tokens else 0)
    missed = Fraction(1)
    for _token in range(tokens):
        missed *= 1 - Fraction(layer.moe.active, layer.moe.experts)
    return layer.moe.experts * (1 - missed)


def _sees(a: Attention, query: int, key: int) -> bool:
    """Whether the token at position ``query`` may attend to the one at ``key``, both counted from 0."""
    if key > query:
        return False
    if a.window is not None and key <= query - a.window:
        return False
    return a.chunk is None or key // a.chunk == query // a.chunk


def _picks_tokens(a: Attention) -> bool:
    """Whether an indexer picks among tokens; where a layer compresses, it picks among entries instead."""
    return a.indexer is not None and a.compress is None


def _keys_read(a: Attention, shape: Shape) -> set[int]:
    """Cached positions that some query of the pass needs; with sparse attention the fewest, shared ones first."""
    if _picks_tokens(a):
        return set(range(min(shape.past, a.indexer.top_k)))
    queries = range(shape.past, shape.past + shape.new)
    return {key for key in range(shape.past) for query in queries if _sees(a, query, key)}


def _entries(shape: Shape, keys: set[int] | range, estimate: bool, every: int = 1) -> set[tuple[object, int]]:
    """Distinct cache entries behind ``keys``: one for all sequences where the prefix is shared.

    An entry stands for ``every`` tokens and is shared where all of them are.
    """
    found: set[tuple[object, int]] = set()
    for sequence in range(shape.batch):
        for key in keys:
            in_common = (key + 1) * every <= shape.shared and not estimate
            found.add(("shared" if in_common else sequence, key))
    return found


def _complete(a: Attention, tokens: int) -> list[int]:
    """The compressed entries that ``tokens`` tokens leave: one for every full group of ``compress``."""
    assert a.compress is not None
    return [place // a.compress for place in range(tokens) if (place + 1) % a.compress == 0]


def _token_bytes(a: Attention, bits: Bits) -> Fraction:
    """What a layer with a cache of this kind keeps for a token, or for a compressed entry."""
    if a.latent is not None:
        return (a.latent.kv_rank + a.latent.rope_dim) * bits.k / 8
    values = 0 if a.single_kv else (a.v_head_dim or a.head_dim)
    return a.kv_heads * (a.head_dim * bits.k + values * bits.v) / 8


def _cached_bytes(a: Attention, bits: Bits, shape: Shape, estimate: bool) -> Fraction:
    one = _token_bytes(a, bits)
    tokens = _entries(shape, _keys_read(a, shape), estimate)
    picked: set[tuple[object, int]] = set()
    if a.compress is not None:
        there = _complete(a, shape.past)
        most = len(there) if a.indexer is None else min(len(there), a.indexer.top_k)
        picked = _entries(shape, set(there[:most]), estimate, a.compress)
    if not a.owns_cache:
        # The layer that owns the cache reads these very bytes; only an estimate lets the next one read them again.
        return one * (len(tokens) + len(picked)) if estimate else Fraction(0)
    total = one * (len(tokens) + len(picked))
    if a.indexer is not None and not a.indexer.shared:
        key = a.indexer.head_dim * bits.k / 8
        every = a.compress or 1
        scored = range(shape.past) if a.compress is None else set(_complete(a, shape.past))
        total += key * len(_entries(shape, scored, estimate, every))
        if estimate:
            total += key * shape.batch * _made(a, shape)
    if estimate:
        total += one * shape.batch * (shape.new + (_made(a, shape) if a.compress is not None else 0))
    return total


def _made(a: Attention, shape: Shape) -> int:
    """Keys or entries that the pass adds to a sequence."""
    if a.compress is None:
        return shape.new
    return len(_complete(a, shape.past + shape.new)) - len(_complete(a, shape.past))


def count_scores(model: Model, shapes: list[Shape]) -> Fraction:
    """Bytes of attention's scores in one pass where they leave the chip.

    Each head writes a 2-byte score for every key that a query attends to and reads it, then a probability likewise.
    """
    moved = 0
    for layer in _layers(model):
        for shape in shapes if layer.attention is not None else ():
            pairs, _scored = _attended(layer.attention, shape)
            for _head in range(layer.attention.heads):
                moved += shape.batch * pairs * (2 + 2 + 2 + 2)
    return Fraction(moved)


def pieces(shape: Shape, chunk: int) -> list[Shape]:
    """A prompt fed in pieces of ``chunk`` tokens: a pass each, with logits in the last."""
    found, done = [], 0
    while done < shape.new:
        new = min(chunk, shape.new - done)
        found.append(Shape(shape.batch, new, shape.past + done, int(done + new == shape.new)))
        done += new
    return found


def _attended(a: Attention, shape: Shape) -> tuple[int, int]:
    """(query, key) pairs of one sequence that attention scores, and those that an indexer does."""
    pairs = scored = 0
    for query in range(shape.past, shape.past + shape.new):
        visible = sum(_sees(a, query, key) for key in range(query + 1))
        keys = visible if a.compress is None else len(_complete(a, query + 1))
        scored += keys
        picked = keys if a.indexer is None else min(keys, a.indexer.top_k)
        pairs += picked if a.compress is None else visible + picked
    return pairs, scored


def _attention_flops(a: Attention, shape: Shape) -> Fraction:
    pairs, scored = _attended(a, shape)
    if a.latent is None:
        one = 2 * pairs * a.heads * (a.head_dim + (a.v_head_dim or a.head_dim))
    else:
        c = a.latent
        absorbed = 2 * pairs * a.heads * (c.kv_rank + c.rope_dim + c.kv_rank)
        expanded = 2 * pairs * a.heads * (c.nope_dim + c.rope_dim + c.v_dim)
        for _key in _keys_read(a, shape):
            expanded += 2 * c.kv_rank * a.heads * (c.nope_dim + c.v_dim)
        one = min(absorbed, expanded)
    if a.indexer is not None and not a.indexer.shared:
        one += 2 * scored * a.indexer.heads * a.indexer.head_dim
    return Fraction(one * shape.batch)
