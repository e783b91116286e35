"""What memory holds, by cache layout and allocation, and how many sequences that leaves room for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import Scenario, evaluate, scenario
from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Model
from slmopt.specs.setup import resolve
from slmopt.theory.memory import (
    bytes_per_token,
    cache_bytes,
    capacity,
    longest_context,
    sequence_bytes,
    sequences_that_fit,
)
from tests.strategies import few, layered_models, scenarios

F16 = CacheFormat(id="f16", name="f16", bits=16)
Q8 = CacheFormat(id="q8", name="q8", bits=8.5)


def held_one_by_one(model: Model, k: float, v: float, tokens: int) -> float:
    """Every cached entry of every layer, one by one."""
    total = 0.0
    for group in model.groups:
        for _layer in range(group.count):
            if group.state is not None:
                total += 2 * (group.state.state_elements + group.state.conv_elements)
            a = group.attention
            if a is None or not a.owns_cache:
                continue
            for place in range(tokens):
                age = tokens - place
                if a.window is not None and age > a.window:
                    continue
                if a.chunk is not None and age > a.chunk:
                    continue
                if a.latent is not None:
                    total += (a.latent.kv_rank + a.latent.rope_dim) * k / 8
                else:
                    total += a.kv_heads * (a.head_dim * k + (a.v_head_dim or a.head_dim) * v) / 8
            if a.indexer is not None:
                total += tokens * a.indexer.head_dim * k / 8
    return total


@given(layered_models(), st.integers(0, 40))
def test_cache_held_is_the_sum_of_its_entries(model, tokens):
    assert cache_bytes(model, F16, Q8, tokens) == pytest.approx(
        held_one_by_one(model, 16, 8.5, tokens), rel=1e-12
    )
    assert bytes_per_token(model, F16, Q8) == pytest.approx(
        held_one_by_one(model, 16, 8.5, 2) - held_one_by_one(model, 16, 8.5, 1), rel=1e-12, abs=1e-9
    )


@given(layered_models(), st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(1, 20))
def test_blocks_round_up_and_arrays_equal_single_calls(model, tokens, block):
    many = cache_bytes(model, F16, F16, np.array(tokens), block)
    for n, held in zip(tokens, many, strict=True):
        assert held == cache_bytes(model, F16, F16, n, block)
        assert held >= cache_bytes(model, F16, F16, n) - 1e-9
        assert held <= cache_bytes(model, F16, F16, n + block - 1, block) + 1e-9
        assert held == cache_bytes(model, F16, F16, math.ceil(n / block) * block, block)


@few
@given(scenarios())
def test_as_many_fit_as_memory_holds_and_one_more_does_not(s):
    # Engines hold in steps: their version of this stands in test_engines.py.
    s = s.change(engine="exact")
    held = evaluate(s).capacity
    if held.usable < held.weight_bytes + held.buffer_bytes + held.shared_bytes:
        assert held.max_sequences == 0
        assert held.fits is False
        return
    if held.max_sequences is None:
        assert held.bytes_per_sequence == 0
        assert held.fits is True
        return
    fixed = held.weight_bytes + held.buffer_bytes + held.shared_bytes
    assert fixed + held.max_sequences * held.bytes_per_sequence <= held.usable * (1 + 1e-12)
    assert fixed + (held.max_sequences + 1) * held.bytes_per_sequence > held.usable * (1 - 1e-12)
    assert held.lacking == pytest.approx(
        fixed + (held.max_sequences + 1) * held.bytes_per_sequence - held.usable,
        rel=1e-9,
        abs=1e-3 + 1e-12 * held.usable,
    )
    assert held.fits == (s.batch <= held.max_sequences)
    if held.fits:
        assert held.held_now <= held.usable * (1 + 1e-12)


@few
@given(scenarios(), st.integers(1, 100))
def test_longest_context_inverts_the_sequences_that_fit(s, sequences):
    setup = resolve(s)
    longest = longest_context(setup, sequences)
    if longest is None:
        assert sequences_that_fit(setup, 2.0**39) >= sequences
        return
    assert sequences_that_fit(setup, longest + 1.0) < sequences
    if longest:
        assert sequences_that_fit(setup, float(longest)) >= sequences


@few
@given(scenarios(), st.lists(st.integers(1, 100_000), min_size=1, max_size=6))
def test_fewer_sequences_fit_the_longer_they_are(s, tokens):
    setup = resolve(s)
    for how in ("paged", "reserved"):
        fit = sequences_that_fit(setup, np.sort(np.array(tokens, dtype=float)), how)
        assert np.all(fit[1:] <= fit[:-1])
        assert fit.tolist() == [float(sequences_that_fit(setup, float(n), how)) for n in sorted(tokens)]


ARTICLE = {
    "model": {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128},
    "device": {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80},
    "weights": {"bits": 16},
    "context": 4000,
}


def article(**more: object) -> Scenario:
    return scenario({**ARTICLE, **more})


def test_an_8_bit_cache_and_fewer_heads_multiply_what_fits():
    fits = {
        bits: evaluate(article(cache_k={"bits": bits})).capacity.max_sequences for bits in (16, 8.5, 8, 4)
    }
    assert fits == {16: 31, 8.5: 59, 8: 62, 4: 125}
    # K and V may be kept differently: 16 and 8 bits take three quarters.
    mixed = evaluate(article(cache_k={"bits": 16}, cache_v={"bits": 8})).capacity
    assert mixed.bytes_per_sequence == 0.75 * 2_097_152_000


def test_decimal_and_binary_gigabytes_are_never_mixed():
    device = {"bandwidth_gbs": 2000, "peak_tflops": 400}
    decimal = evaluate(article(device={**device, "capacity_gb": 80})).capacity
    binary = evaluate(article(device={**device, "capacity_gib": 80})).capacity
    assert decimal.usable == 80e9
    assert binary.usable == 80 * 2**30
    assert (decimal.max_sequences, binary.max_sequences) == (31, 34)


def test_paged_blocks_and_reserved_lengths():
    # 4,001 tokens take 251 blocks of 16, so 15 tokens are empty; reserved takes what was asked for.
    paged, reserved = (resolve(article(context=4001, allocation=how)) for how in ("paged", "reserved"))
    assert sequence_bytes(paged, 4001.0) == 251 * 16 * 524_288
    assert sequence_bytes(reserved, 4001.0) == 4001 * 524_288
    assert sequence_bytes(reserved, 4001.0, "paged") == 251 * 16 * 524_288
    assert sequence_bytes(resolve(article(block_tokens=1024)), 4001.0) == 4096 * 524_288


def test_buffers_take_room_from_sequences():
    assert evaluate(article(buffers_gb=2)).capacity.max_sequences == 30
    assert evaluate(article(buffers_gb=70)).capacity.max_sequences == 0


def test_a_shared_prefix_is_held_once():
    held = evaluate(article(shared_prefix=2000, batch=10)).capacity
    assert held.shared_bytes == 2000 * 524_288
    assert held.bytes_per_sequence == 2000 * 524_288
    assert held.max_sequences == math.floor((66e9 - 2000 * 524_288) / (2000 * 524_288)) == 61
    assert held.held_now == 14e9 + 11 * 2000 * 524_288


def test_only_whole_blocks_of_a_prefix_are_shared_when_paged():
    assert evaluate(article(shared_prefix=2001)).capacity.shared_bytes == 2000 * 524_288
    assert (
        evaluate(article(shared_prefix=2001, allocation="reserved")).capacity.shared_bytes == 2001 * 524_288
    )
    asked_otherwise = sequences_that_fit(resolve(article(shared_prefix=2001)), 4000.0, "reserved")
    assert asked_otherwise == math.floor((66e9 - 2001 * 524_288) / (1999 * 524_288))


def test_sequences_shorter_than_the_shared_prefix_share_what_they_have():
    setup = resolve(article(shared_prefix=3200))
    fit = sequences_that_fit(setup, np.array([1600.0, 3200.0, 3216.0]))
    assert fit.tolist() == [math.inf, math.inf, math.floor((66e9 - 3200 * 524_288) / (16 * 524_288))]


def test_window_layers_hold_their_window_and_share_no_prefix():
    heads = {"heads": 8, "kv_heads": 4, "head_dim": 64}
    local = {"count": 5, "attention": {**heads, "window": 512}, "mlp": {"width": 64}}
    full = {"count": 1, "attention": heads, "mlp": {"width": 64}}
    model = {"hidden": 512, "vocab": 1000, "groups": [local, full]}
    held = evaluate(article(model=model, context=4096, shared_prefix=1024)).capacity
    a_layer = 4 * 64 * 2 * 2
    assert held.shared_bytes == 1024 * a_layer
    assert held.bytes_per_sequence == (5 * 512 + 4096 - 1024) * a_layer
    assert held.bytes_per_token == 6 * a_layer


def test_a_recurrent_state_is_held_whatever_the_length():
    state = {"kind": "mamba2", "state_elements": 1000, "conv_elements": 24}
    model = {"hidden": 64, "vocab": 100, "groups": [{"count": 3, "state": state}]}
    for context in (0, 1, 100_000):
        held = evaluate(article(model=model, context=context)).capacity
        assert held.bytes_per_sequence == 3 * 1024 * 2
        assert held.bytes_per_token == 0
    assert longest_context(resolve(article(model=model)), 10) is None


def test_a_model_larger_than_memory_is_an_answer():
    held = evaluate(article(model={**ARTICLE["model"], "params": 50e9})).capacity
    assert (held.max_sequences, held.fits) == (0, False)
    assert held.lacking == pytest.approx(100e9 + 2_097_152_000 - 80e9)
    assert longest_context(resolve(article(model={**ARTICLE["model"], "params": 50e9})), 1) == 0


def test_unknown_memory_is_unknown_and_not_endless():
    setup = resolve(article(device={"bandwidth_gbs": 2000, "peak_tflops": 400}))
    held = capacity(setup)
    assert (held.usable, held.max_sequences, held.fits, held.lacking) == (None, None, None, None)
    assert np.isnan(sequences_that_fit(setup, np.array([1.0, 2.0]))).all()
    assert longest_context(setup, 1) is None
    assert evaluate(setup.scenario.change(capacity_gb=80)).capacity.max_sequences == 31


def test_where_a_sequence_holds_nothing_any_number_fits_beside_the_weights():
    free = evaluate(article(model={"params": 7e9}))
    assert (free.capacity.max_sequences, free.capacity.fits) == (None, True)
    assert evaluate(article(model={"params": 50e9})).capacity.fits is False


def test_usable_memory_is_the_smallest_on_sale_less_what_the_system_keeps():
    device = {"bandwidth_gbs": 100, "peak_tflops": 4, "capacity_gb": [8, 16], "usable_fraction": 0.75}
    assert evaluate(article(device=device)).capacity.usable == 6e9
    assert evaluate(article(device=device, capacity_gb=16)).capacity.usable == 16e9
