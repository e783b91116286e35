"""Capacity, contexts and cache growth at their edges: single bytes, exact fills, coinciding points, every length tried."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slmopt.specs.library import library
from slmopt.specs.model import Attention, LayerGroup, Matrix, Mlp, Model, Moe, State
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.context_curve import context_curve
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engines import cache_of, reserved, rules, total_bytes
from slmopt.theory.evaluation import evaluate
from slmopt.theory.holders import holders
from slmopt.theory.latency import decode_group, prefill_group
from slmopt.theory.memory import (
    bytes_per_token,
    cache_bytes,
    longest_context,
    sequence_bytes,
    sequences_that_fit,
    shared_bytes,
)
from slmopt.theory.model_shape import layer_weights, params_by_role, role_of

F16 = library().caches["f16"]
W8 = library().weights["bf16"].model_copy(update={"bits": 8.0})
ENGINES = ("exact", "llama.cpp", "vllm", "sglang")
# 2 GB of weights; a cached token is 4 · 32 · 2 · 2 = 512 bytes.
COUNTED = {"params": 1e9, "layers": 4, "kv_heads": 1, "head_dim": 32}
TOKEN = 512


def asked(spare: float, **more: object) -> Scenario:
    """The model on a device with so many bytes beside its weights."""
    device = {"bandwidth_gbs": 100, "peak_tflops": 1, "capacity_gb": (2e9 + spare) / 1e9}
    values = {"model": COUNTED, "device": device, "weights": {"bits": 16}, "cache_k": {"bits": 16}}
    return scenario({**values, "engine": "exact", "block_tokens": 1, **more})


def test_a_sequence_of_one_byte_and_of_less():
    # One layer with a head of one value: a token is one byte at 4 bits, and half a byte at 2.
    tiny = {"params": 1e9, "layers": 1, "kv_heads": 1, "head_dim": 1}
    for bits, fit in ((4, 1000), (2, 2000)):
        s = asked(1000.0, model=tiny, cache_k={"bits": bits}, context=1)
        assert evaluate(s).capacity.max_sequences == fit


@pytest.mark.parametrize(("spare", "fit"), [(0, 0), (512_000, 1), (1_023_999, 1), (1_024_000, 2), (-1, 0)])
def test_memory_is_filled_to_the_last_byte(spare, fit):
    s = asked(float(spare), context=1000)
    assert evaluate(s).capacity.max_sequences == fit
    assert longest_context(resolve(s), 1) == max(0, spare // TOKEN)


def test_a_batch_that_fills_memory_fits_and_buffers_take_their_room():
    # And a byte for rounding.
    full = asked(2 * 512_000 + 7e6 + 1, context=1000, batch=2, buffers_gb=0.007)
    held = evaluate(full).capacity
    assert (held.max_sequences, held.fits, held.lacking) == (2, True, pytest.approx(512_000 - 1, abs=0.1))
    assert held.fixed_bytes == 2e9 + 7e6
    assert held.held_now == 2e9 + 7e6 + 2 * 512_000
    assert evaluate(full.change(batch=3)).capacity.fits is False


def test_of_two_memories_the_one_that_holds_fewest_decides():
    # Half of the layers each: 1 GB of weights and 256 bytes a token.
    host = {"bandwidth_gbs": 50, "peak_tflops": 1, "capacity_gb": 1 + 0.003}
    for spare, fit in ((5e6, 11), (2e6, 7)):
        setup = resolve(asked(spare - 1e9, host=host, gpu_layers=2, context=1000))
        assert float(sequences_that_fit(setup, 1000.0)) == min(spare // 256_000, 3e6 // 256_000) == fit


def test_a_prefix_that_all_share_leaves_room_for_none_or_for_any():
    # 1,000 tokens are held once, whatever the sequences.
    s = asked(1000.0 * TOKEN, context=1000, shared_prefix=1000)
    assert evaluate(s).capacity.max_sequences is None
    assert evaluate(asked(1000.0 * TOKEN - 1, context=1000, shared_prefix=1000)).capacity.max_sequences == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sequences", [1, 2, 3, 7])
def test_the_longest_context_is_the_last_of_all_that_fit(engine, sequences):
    # Room for 4,000 tokens beside a gigabyte of buffers.
    s = asked(1e9 + 4000 * TOKEN, engine=engine, gpu_memory_utilization=1.0, buffers_gb=1, block_tokens=16)
    setup = resolve(s)
    (holder,) = holders(setup)
    room = holder.usable - holder.weight_bytes - 1e9
    held = np.asarray(total_bytes(engine, holder.cache, float(sequences), np.arange(4100.0)))
    assert longest_context(setup, sequences) == np.flatnonzero(held <= room)[-1] <= 4000


def test_a_context_beyond_all_is_no_limit():
    # 10¹² tokens would take 512 TB.
    assert longest_context(resolve(asked(500e12)), 1) == math.floor(500e12 / TOKEN)
    assert longest_context(resolve(asked(513e12)), 1) is None


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm", "sglang"])
@pytest.mark.parametrize(
    ("batch", "spare"), [(1, 1e6), (3, 1e6), (3, 400e3), (5, 100e3), (40, 1e6), (2, 153_600)]
)
@pytest.mark.parametrize("context", [100, 200, 300, 1000])
def test_an_engines_line_is_exact_at_the_present_batch_and_at_the_most_that_fit(engine, batch, spare, context):  # fmt: skip
    s = asked(spare, engine=engine, batch=batch, context=context, gpu_memory_utilization=1.0, buffers_gb=0)
    found = evaluate(s).capacity
    cache = cache_of(resolve(s))

    def held(sequences: float) -> float:
        return float(total_bytes(engine, cache, sequences, float(context)))

    most = found.max_sequences
    assert most is not None
    assert found.held_now == pytest.approx(2e9 + held(batch), rel=1e-15)
    # Where the two coincide, the next sequence gives the slope.
    other = batch + 1 if most == batch else most
    once, each = found.shared_bytes, found.bytes_per_sequence
    assert 0 <= once <= held(batch)
    assert each >= 0
    straight = held(batch) - batch * (held(other) - held(batch)) / (other - batch)
    assert once == pytest.approx(max(0.0, straight), abs=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_of_one_sequence_and_of_none(engine):
    setup = resolve(asked(1e6, engine=engine, context=400, shared_prefix=100, block_tokens=4))
    cache = cache_of(setup)
    assert float(sequence_bytes(setup, 400.0)) == float(total_bytes(engine, cache, 1.0, 400.0))
    assert float(shared_bytes(setup, 400.0)) == float(total_bytes(engine, cache, 0.0, 400.0))
    if engine == "exact":
        assert float(shared_bytes(setup, 400.0)) == 100 * TOKEN
        assert float(sequence_bytes(setup, 400.0)) == 400 * TOKEN


def test_a_prefix_of_one_token_is_told_among_llamas_rules():
    cache = Cache(resolve(asked(0)).model, F16, F16, block=1, shared=1.0)
    found = {rule.id: rule.extra_bytes for rule in rules(reserved("llama.cpp", cache, 5.0, 256.0))}
    # Five sequences hold the one token five times and not once; 1,280 cells are whole pads.
    assert found == {"prefix_not_shared": 4 * TOKEN}


def test_a_counted_model_without_heads_keeps_nothing_and_one_of_few_heads_one_on_each_device():
    plain = Model.model_validate({"id": "m", "name": "m", **COUNTED})
    assert cache_bytes(plain, F16, F16, 10.0) == 10 * TOKEN
    assert bytes_per_token(plain, F16, F16) == TOKEN
    headless = plain.model_copy(update={"kv_heads": 0})
    assert float(np.sum(cache_bytes(headless, F16, F16, 10.0))) == 0
    for heads, devices, share in ((1, 4, 1.0), (8, 4, 0.25), (6, 4, 2 / 6)):
        some = plain.model_copy(update={"kv_heads": heads})
        whole, part = (Cache(some, F16, F16, block=1, devices=n) for n in (1, devices))
        split = float(total_bytes("exact", part, 3.0, 7.0)) / float(total_bytes("exact", whole, 3.0, 7.0))
        assert split == pytest.approx(share)


@pytest.mark.parametrize(("depth", "first", "last"), [(0, 1, 131_072), (100, 100, 131_072), (4000, 250, 131_072), (100_000, 250, 200_000)])  # fmt: skip
def test_contexts_of_the_curve_and_the_sequences_of_each(depth, first, last):
    setup = resolve(asked(1e9, context=depth, prompt=1, output=1))
    curve = context_curve(setup)
    assert (len(curve.context), curve.context[0]) == (97, pytest.approx(first, rel=1e-12))
    assert curve.context[-1] == pytest.approx(last, rel=1e-12)
    for context, fit in zip(curve.context[::8], curve.sequences[::8], strict=True):
        assert fit == float(sequences_that_fit(setup, float(context)))
    now = max(1, depth)
    assert curve.now == (now, 1e9 // (now * TOKEN))
    assert curve.doubled == 1e9 // (2 * now * TOKEN)


# How a cache grows


def stack(*groups: LayerGroup, **more: object) -> Model:
    return Model(id="m", name="m", hidden=8, vocab=10, groups=groups, **more)


ONE = Attention(heads=1, kv_heads=1, head_dim=1)


def windows(size: int) -> LayerGroup:
    return LayerGroup(count=1, attention=ONE.model_copy(update={"window": size}))


@pytest.mark.parametrize(
    ("now", "groups", "low", "high"),
    [
        (0, (LayerGroup(count=1, attention=ONE),), 1, 131_072),
        (1000, (LayerGroup(count=1, attention=ONE),), 128, 131_072),
        (100, (LayerGroup(count=1, attention=ONE),), 100, 131_072),
        (1000, (windows(2),), 1, 131_072),
        (1000, (windows(100),), 25, 131_072),
        (1000, (windows(100_000),), 128, 400_000),
    ],
)
def test_contexts_begin_at_one_token_at_the_least(now, groups, low, high):
    found = cache_growth(stack(*groups), F16, F16, float(now))
    assert found.context[0] == pytest.approx(low, rel=1e-12)
    assert found.context[-1] == pytest.approx(high, rel=1e-12)
    # The same bytes as where nothing is told by kind.
    for at in range(0, len(found.context), 12):
        whole = cache_bytes(stack(*groups), F16, F16, float(found.context[at]))
        assert found.total[at] == pytest.approx(float(whole), rel=1e-12)


@pytest.mark.parametrize(("elements", "first"), [(0.97, "full"), (1.03, "state")])
def test_the_longest_context_decides_which_kind_comes_first(elements, first):
    # 4 bytes a token against a state of about as much as 131,072 of them, which the last but one does not reach.
    kept = State(kind="mamba2", state_elements=int(2 * 131_072 * elements))
    model = stack(LayerGroup(count=1, state=kept), LayerGroup(count=1, attention=ONE))
    assert cache_growth(model, F16, F16, 10.0).kinds[0].kind == first


def test_a_window_of_one_token_does_not_grow():
    found = cache_growth(stack(windows(1), LayerGroup(count=3, attention=ONE)), F16, F16, 10.0)
    assert (found.growing, found.unlimited, found.token_bytes_at(0)) == (12, 12, 12)
    assert bytes_per_token(stack(windows(1)), F16, F16) == 0
    assert bytes_per_token(stack(windows(2)), F16, F16) == 4
    compressed = ONE.model_copy(update={"window": 8, "compress": 4})
    # Beside its window's token a quarter of an entry.
    assert cache_growth(stack(LayerGroup(count=2, attention=compressed)), F16, F16, 10.0).growing == 2 * 5
    assert bytes_per_token(stack(LayerGroup(count=2, attention=compressed)), F16, F16) == 2 * 5


# What a model is made of


def test_roles_of_a_stack_with_everything():
    group = LayerGroup(
        count=3, attention=ONE.model_copy(update={"sinks": True}), state=State(kind="x", matrices=(Matrix(role="ssm_in", rows=2, cols=5),)),
        moe=Moe(experts=4, active=1, width=6, bias=True), norm_params=16, matrices=(Matrix(role="gate", rows=3, cols=4),),
    )  # fmt: skip
    dense = LayerGroup(count=2, mlp=Mlp(width=7), matrices=(Matrix(role="ffn_up_exps", rows=9, cols=2),))
    model = stack(
        group, dense, learned_positions=4, tower_params=30, mtp_params=50, final_norm_params=8,
        lookups=(Matrix(role="per_layer_token_embd", rows=5, cols=2),), output_bias=True,
    )  # fmt: skip
    found = {one.role: one for one in params_by_role(model)}
    params = {tensor.role: float(tensor.params) for tensor in model.tensors if tensor.group is None}
    assert found["embedding"].params == params["token_embd"] + params["position_embd"] + 10
    # Of the per-layer table a token reads a row, which is left out.
    assert found["embedding"].used == params["token_embd"] + params["position_embd"]
    assert found["head"].params == found["head"].used == 80 + 10
    assert (found["towers"].params, found["towers"].used) == (30, 0)
    assert (found["prediction"].params, found["prediction"].used) == (50, 0)
    routed = 3 * 4 * (3 * 8 * 6 + 6 * 2 + 8)
    # What is called an expert's but routed nowhere is used by all.
    assert found["experts"].params == routed + 2 * 18
    assert found["experts"].used == routed / 4 + 2 * 18
    assert found["state"].params == found["state"].used == 3 * 10
    assert found["other"].params >= 3 * (16 + 12) + 8
    assert sum(one.params for one in found.values()) == model.stored_params
    assert all(one.params for one in found.values())
    for layer in layer_weights(model, W8):
        assert layer.total == pytest.approx(
            sum(t.params / len(t.layers) for t in model.tensors if t.group == layer.group)
        )
    assert {role_of(tensor, model) for tensor in model.tensors} == set(found)


# Groups of a pass


def test_a_step_feeds_one_token_of_every_sequence_and_a_prompt_what_is_not_cached():
    setup = resolve(asked(1e9, batch=3, context=70, shared_prefix=20, prompt=60, prefix_hit=25))
    step, first = decode_group(setup), prefill_group(setup)
    assert (step.batch, step.new, step.past, step.logits, step.shared) == (3, 1, 70, 1, 20)
    assert (first.batch, first.new, first.past, first.logits) == (1, 35, 25, 1)
