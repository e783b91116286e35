"""Several devices and partial offload against exact counting: device by device, layer by layer, in fractions.

Nothing is taken from the product: what is on each device or card is walked through with loops over ``oracle``'s parts.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slmopt.specs.formats import CacheFormat, WeightFormat
from slmopt.specs.model import LayerGroup, Model
from slmopt.theory.forward import Group, forward
from slmopt.theory.offload import part_operators, placed
from slmopt.theory.parallel import micro_batches, split_operators, split_terms
from slmopt.theory.terms import merge
from tests.strategies import bits as any_bits
from tests.strategies import layered_models, passes, sparse_models
from tests.theory import oracle
from tests.theory.oracle import Bits, Cost, Shape, count_pass

MANY = settings(max_examples=150)
small_models = st.one_of(layered_models(), sparse_models())


def formats(bits: Bits) -> tuple[WeightFormat, CacheFormat, CacheFormat]:
    k, v = (CacheFormat(id="c", name="c", bits=float(b)) for b in (bits.k, bits.v))
    return WeightFormat(id="w", name="w", bits=float(bits.weights)), k, v


def groups_of(shapes: list[Shape]) -> list[Group]:
    return [Group(s.batch, s.new, s.past, s.logits, s.shared) for s in shapes]


def close(got: object, exact: Fraction) -> bool:
    return got == pytest.approx(float(exact), rel=1e-12, abs=1e-12)


def layers_of(model: Model) -> list[LayerGroup]:
    return [group for group in model.groups for _ in range(group.count)]


def alone(model: Model, layer: LayerGroup) -> Model:
    """The layer by itself: no head, nothing outside it."""
    return model.model_copy(
        update={"groups": (layer.model_copy(update={"count": 1}),), "final_norm_params": 0, "matrices": ()}
    )


def without_logits(shapes: list[Shape]) -> list[Shape]:
    return [Shape(s.batch, s.new, s.past, 0, s.shared) for s in shapes]


def added(*costs: Cost) -> Cost:
    return Cost(
        sum((c.weight_bytes for c in costs), Fraction(0)),
        sum((c.cache_bytes for c in costs), Fraction(0)),
        sum((c.flops for c in costs), Fraction(0)),
    )


def key_bytes(layer: LayerGroup, bits: Bits, shapes: list[Shape], estimate: bool) -> Fraction:
    """The part of a layer's cache bytes that an indexer's own keys make."""
    a = layer.attention
    if a is None or a.indexer is None:
        return Fraction(0)
    taken = a.model_copy(update={"indexer": a.indexer.model_copy(update={"shared": True})})
    return sum(
        (
            oracle._cached_bytes(a, bits, s, estimate) - oracle._cached_bytes(taken, bits, s, estimate)
            for s in shapes
        ),
        Fraction(0),
    )


def routed(model: Model, layer: LayerGroup, bits: Bits, tokens: int, estimate: bool) -> Cost:
    """What the routed experts of a layer cost."""
    if layer.moe is None:
        return Cost(Fraction(0), Fraction(0), Fraction(0))
    one, bias = oracle._expert(layer, model.hidden), oracle._expert_bias(layer, model.hidden)
    read = oracle._experts_read(layer, tokens, estimate)
    return Cost(
        read * (one + bias) * bits.weights / 8, Fraction(0), Fraction(2 * tokens * layer.moe.active * one)
    )


@MANY
@given(
    small_models,
    any_bits,
    passes(),
    st.booleans(),
    st.integers(2, 5),
    st.sampled_from(["tensor", "expert"]),
    st.booleans(),
)
def test_devices_that_split_every_layer(model, bits, shapes, estimate, devices, parallel, merged):
    tokens = sum(s.batch * s.new for s in shapes)
    if parallel == "expert":
        assume(
            any(g.moe for g in model.groups)
            and all(g.moe is None or g.moe.experts >= devices for g in model.groups)
        )
    whole = count_pass(model, bits, shapes, estimate)
    cache, weights, link, messages = Fraction(0), whole.weight_bytes, Fraction(0), 0
    reduce = Fraction(2 * (devices - 1), devices) * 2 * model.hidden
    for layer in layers_of(model):
        one = count_pass(alone(model, layer), bits, without_logits(shapes), estimate).cache_bytes
        a = layer.attention
        if a is not None:
            kept = sum((oracle._cached_bytes(a, bits, s, estimate) for s in shapes), Fraction(0))
            keys = key_bytes(layer, bits, shapes, estimate)
            on_each = (
                Fraction(1)
                if a.latent
                else Fraction(max(1, math.ceil(Fraction(a.kv_heads, devices))), a.kv_heads)
            )
            cache += one - kept
            for _device in range(devices):
                cache += (kept - keys) * on_each + keys
        else:
            cache += one
        blocks = (a is not None or layer.state is not None) + (layer.mlp is not None or layer.moe is not None)
        blocks = max(1, blocks)
        if layer.moe is not None and parallel == "expert":
            blocks = max(1, blocks - 1)
            messages += 2
            if estimate:
                away = min(Fraction(layer.moe.active * (devices - 1), devices), Fraction(devices - 1))
                link += 2 * Fraction(tokens, devices) * away * 2 * model.hidden
            own = routed(model, layer, bits, tokens, estimate).weight_bytes
            read = oracle._experts_read(layer, tokens, estimate)
            fewest = devices * math.ceil(Fraction(layer.moe.active, devices))
            if tokens and read:
                weights += own * (max(read, Fraction(fewest)) / read - 1)
        messages += blocks
        link += blocks * tokens * reduce
    made = split_terms if merged else split_operators
    cost = forward(
        made(model, *formats(bits), parallel, devices),
        groups_of(shapes),
        "estimate" if estimate else "ceiling",
    )
    assert close(cost.weight_bytes, weights)
    assert close(cost.cache_bytes, cache)
    assert close(cost.flops, whole.flops)
    assert close(cost.link_bytes, link)
    assert cost.messages == messages


@MANY
@given(small_models, any_bits, passes(), st.booleans(), st.integers(0, 12), st.integers(0, 9), st.booleans())
def test_card_and_host(model, bits, shapes, estimate, gpu_layers, cpu_moe_layers, merged):
    layers, tokens = layers_of(model), sum(s.batch * s.new for s in shapes)
    # Slots from the back: the head, then the last layer, and so on.
    head = gpu_layers >= 1
    on_card = [place >= len(layers) + 1 - gpu_layers for place in range(len(layers))]
    card: list[Cost] = []
    host: list[Cost] = []
    for place, layer in enumerate(layers):
        whole = count_pass(alone(model, layer), bits, without_logits(shapes), estimate)
        experts = routed(model, layer, bits, tokens, estimate)
        rest = Cost(whole.weight_bytes - experts.weight_bytes, whole.cache_bytes, whole.flops - experts.flops)
        (card if on_card[place] else host).append(rest)
        (card if on_card[place] and place >= cpu_moe_layers else host).append(experts)
    outside = model.model_copy(update={"groups": ()})
    (card if head else host).append(count_pass(outside, bits, shapes, estimate))
    where = placed(model, gpu_layers, cpu_moe_layers)
    for exact, is_card in ((added(*card), True), (added(*host), False)):
        terms = part_operators(model, *formats(bits), where, card=is_card)
        cost = forward(
            merge(terms) if merged else terms, groups_of(shapes), "estimate" if estimate else "ceiling"
        )
        assert close(cost.weight_bytes, exact.weight_bytes)
        assert close(cost.cache_bytes, exact.cache_bytes)
        assert close(cost.flops, exact.flops)


@MANY
@given(
    layered_models(),
    any_bits,
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 14),
    st.integers(2, 4),
    st.booleans(),
)
def test_a_pipeline_reads_the_weights_for_every_micro_batch(model, bits, each, new, past, stages, estimate):
    """A batch that the stages divide: each micro-batch is a pass of its own, counted one by one."""
    batch = each * stages
    kind = "estimate" if estimate else "ceiling"
    parts, count, readings = micro_batches([Group(batch, new, past)], stages, kind)
    assert count == readings == stages
    cost = forward(split_terms(model, *formats(bits), "pipeline", stages), parts, kind)
    exact = added(*(count_pass(model, bits, [Shape(each, new, past)], estimate) for _ in range(stages)))
    assert close(cost.weight_bytes * readings, exact.weight_bytes)
    assert close(cost.cache_bytes * count, exact.cache_bytes)
    assert close(cost.flops * count, exact.flops)
    assert close(cost.link_bytes * count, Fraction(2 * model.hidden * (stages - 1) * batch * new))
    assert cost.messages == stages - 1


@pytest.mark.parametrize(
    ("batch", "new", "stages", "kind", "count", "readings"),
    [
        (1, 1, 4, "ceiling", 1, 1),
        (1, 100, 4, "ceiling", 4, 1),
        (1, 100, 4, "estimate", 1, 1),
        (2, 1, 4, "ceiling", 2, 2),
        (2, 3, 4, "ceiling", 4, 2),
        (9, 1, 4, "estimate", 4, 4),
        (0, 1, 4, "estimate", 1, 1),
    ],
)
def test_micro_batches_by_hand(batch, new, stages, kind, count, readings):
    parts, made, read = micro_batches([Group(batch, new)], stages, kind)
    assert (made, read) == (count, readings)
    assert parts[0].batch == batch / count
