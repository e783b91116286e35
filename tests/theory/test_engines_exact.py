"""What engines hold, against their rules played slot by slot (``allocators``), over every kind of layer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slmopt.specs.formats import CacheFormat
from slmopt.specs.model import Attention, Indexer, Latent, LayerGroup, Model, State
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engine_sglang import pool_bytes
from slmopt.theory.engine_vllm import (
    layout,
    needed_bytes,
    pool_pages,
    printed_concurrency,
    printed_tokens,
    request_pages,
)
from slmopt.theory.engines import Part, Rule, most_sequences, reserved, rules, total_bytes
from slmopt.theory.engines import cache_of as cache_by_scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.holders import holders
from tests.theory.allocators import Asked, index_key, llama, own, padded, sglang, stack, vllm

dims = st.sampled_from([1, 3, 8, 64])
heads = st.integers(1, 5)


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    """An attention of every kind of cache, with lengths that end inside and at blocks."""
    kind = draw(st.sampled_from(["full", "window", "window", "chunk", "latent", "compressed"]))
    count = draw(heads)
    values = {"heads": count, "kv_heads": count, "head_dim": draw(dims), "v_head_dim": draw(st.none() | dims)}
    indexer = draw(st.none() | st.builds(Indexer, heads=st.just(1), head_dim=st.sampled_from([7, 128, 129]), top_k=st.just(9), shared=st.booleans()))  # fmt: skip
    if kind == "latent":
        latent = Latent(kv_rank=draw(dims), nope_dim=draw(dims), rope_dim=draw(st.integers(0, 5)), v_dim=draw(dims))  # fmt: skip
        return Attention(**values, latent=latent, indexer=indexer)
    if kind == "compressed":
        one = {**values, "kv_heads": 1, "window": draw(st.integers(1, 60)), "single_kv": draw(st.booleans())}
        return Attention(**one, compress=draw(st.integers(2, 9)), indexer=indexer)
    if kind != "full":
        return Attention(**values, **{kind: draw(st.integers(1, 60) | st.sampled_from([300, 512]))})
    return Attention(**values, owns_cache=draw(st.sampled_from([True, True, True, False])))


recurrent = st.builds(
    State,
    kind=st.just("mamba2"),
    state_elements=st.sampled_from([0, 16, 4000]),
    conv_elements=st.sampled_from([0, 24]),
    state_bits=st.sampled_from([None, 16, 32]),
)


@st.composite
def questions(draw: st.DrawFn, states: bool = True) -> Asked:
    """A stack of up to three kinds of layer, and how it is asked to be held."""
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        only = not states or draw(st.sampled_from([True, True, False]))
        mixer = {"attention": draw(attentions())} if only else {"state": draw(recurrent)}
        groups.append(LayerGroup(count=draw(st.integers(1, 7)), **mixer))
    tokens = draw(st.integers(0, 700))
    return Asked(
        model=Model(id="m", name="m", hidden=8, vocab=9, groups=tuple(groups)),
        k=Fraction(16),
        v=draw(st.sampled_from([Fraction(16), Fraction(17, 2)])),
        sequences=draw(st.integers(1, 5)),
        tokens=tokens,
        block=draw(st.sampled_from([1, 5, 16, 32])),
        paged=draw(st.booleans()),
        shared=draw(st.integers(0, tokens)) * draw(st.integers(0, 1)),
        devices=draw(st.sampled_from([1, 1, 2, 4])),
        micro_batch=draw(st.sampled_from([1, 100, 512])),
        full_windows=draw(st.sampled_from([False, False, True])),
        layout=draw(st.sampled_from(["latent", "transposed", "expanded"])),
    )


def cache_of(asked: Asked) -> Cache:
    k, v = (CacheFormat.model_validate({"bits": float(bits)}) for bits in (asked.k, asked.v))
    return Cache(
        asked.model,
        k,
        v,
        block=asked.block,
        paged=asked.paged,
        shared=float(asked.shared),
        devices=asked.devices,
        micro_batch=asked.micro_batch,
        full_windows=asked.full_windows,
        latent=asked.layout,
    )


def held(engine: str, asked: Asked) -> dict[str, float]:
    """Bytes reserved by what is kept."""
    found: dict[str, float] = {}
    for part in reserved(engine, cache_of(asked), float(asked.sequences), float(asked.tokens)):
        found[part.kept.what] = found.get(part.kept.what, 0.0) + float(part.bytes)
    return found


def by_what(asked: Asked, counted) -> dict[str, float]:
    found: dict[str, Fraction] = {}
    for layer in stack(asked):
        found[layer.what] = found.get(layer.what, Fraction(0)) + counted(layer, asked)
    return {what: float(size) for what, size in found.items()}


@given(questions())
def test_the_own_need_is_every_distinct_block(asked):
    assert held("exact", asked) == pytest.approx(by_what(asked, own), rel=1e-12)


@given(questions())
def test_llama_reserves_cell_by_cell(asked):
    assert held("llama.cpp", asked) == pytest.approx(by_what(asked, llama), rel=1e-12)


@given(questions())
def test_vllm_pages_group_by_group(asked):
    found, counted = held("vllm", asked), {what: float(size) for what, size in vllm(asked).items()}
    if asked.full_windows:
        # Which of the layers alike pay for a group's padding makes no difference to the whole.
        assert sum(found.values()) == pytest.approx(sum(counted.values()), rel=1e-12)
    else:
        assert found == pytest.approx(counted, rel=1e-12)


def pooled(asked: Asked) -> tuple[float, float, float]:
    """Bytes of SGLang's pools: full, window, states."""
    full = window = states = 0.0
    for part in reserved("sglang", cache_of(asked), float(asked.sequences), float(asked.tokens)):
        if part.kept.what == "state":
            states += float(part.bytes)
        elif part.kept.every == 1 and (part.kept.limit is None or asked.full_windows):
            full += float(part.bytes)
        elif part.kept.every == 1:
            window += float(part.bytes)
        else:
            assert float(part.bytes) == float(part.own)
    return full, window, states


@given(questions(states=False))
def test_sglangs_token_pools_are_the_smallest_that_keep_the_ratio(asked):
    need = sglang(asked)
    full, window, states = pooled(asked)
    assert states == 0
    page = asked.block
    tokens = [full / need.full_token - page if need.full_token else None]
    tokens.append(window / need.window_token - page if need.window_token else None)
    slack = 1e-9 * (need.full + need.window + page)
    if None in tokens:
        # A pool without a partner holds what it must.
        for there, needed in zip(tokens, (need.full, need.window), strict=True):
            assert there is None or there == pytest.approx(needed, abs=slack)
        return
    assert tokens[1] == pytest.approx(0.8 * tokens[0], abs=slack)
    assert tokens[0] >= need.full - slack
    assert tokens[1] >= need.window - slack
    assert min(tokens[0] - need.full, tokens[1] - need.window) <= slack, "one of them is full"


@settings(max_examples=60)
@given(questions(states=False), recurrent, st.integers(1, 5))
def test_sglangs_states_and_tokens_share_memory_at_nine_to_ten(asked, state, count):
    groups = (*asked.model.groups, LayerGroup(count=count, state=state))
    asked = replace(asked, model=asked.model.model_copy(update={"groups": groups}))
    need = sglang(asked)
    full, window, states = pooled(asked)
    assume(need.states and full + window)
    plain = tuple(group for group in asked.model.groups if group.state is None)
    alone = pooled(replace(asked, model=asked.model.model_copy(update={"groups": plain})))
    assert states == pytest.approx(0.9 * (full + window))
    assert states >= float(need.states) * (1 - 1e-12)
    assert full + window >= sum(alone) * (1 - 1e-12)
    assert full * alone[1] == pytest.approx(window * alone[0]), "both token pools grow alike"
    tight = states / float(need.states), (full + window) / sum(alone)
    assert min(tight) == pytest.approx(1.0), "one of them is full"


@given(questions(states=False))
def test_sglangs_rules_one_after_the_other(asked):
    need, page = sglang(asked), asked.block
    for part in reserved("sglang", cache_of(asked), float(asked.sequences), float(asked.tokens)):
        kept, told = part.kept, dict(part.steps)
        if kept.every > 1:
            continue
        one = kept.layers * (index_key(kept.index_dim) if kept.what == "index" else kept.token_bytes)
        if kept.what == "index":
            # A byte and a share of a scale take the place of two bytes, for what the model itself needs.
            ratio = index_key(kept.index_dim) / (2 * kept.index_dim)
            assert told["index_fp8"] == pytest.approx(float(part.own) * ratio)
        if kept.limit is None or asked.full_windows:
            rule, tokens = ("pool_page" if kept.limit is None else "windows_in_full"), need.full
        else:
            each = min(padded(asked.tokens, page), padded(kept.limit, page) + page)
            rule, tokens = "window_pages", asked.sequences * each
        assert told[rule] == pytest.approx((tokens + page) * one, rel=1e-12)
        assert list(told)[-2:] == [rule, "pool_split"]


@given(questions())
def test_llama_tells_what_unshared_prefixes_take(asked):
    alone: dict[str, float] = {}
    for part in reserved("llama.cpp", cache_of(asked), float(asked.sequences), float(asked.tokens)):
        told = dict(part.steps)
        if "prefix_not_shared" in told:
            alone[part.kept.what] = alone.get(part.kept.what, 0.0) + float(told["prefix_not_shared"])
    apart = by_what(replace(asked, shared=0), own)
    seen = {"full", "index", "entries"} if asked.shared else set()
    assert alone == pytest.approx({what: size for what, size in apart.items() if what in seen}, rel=1e-12)


@settings(max_examples=20)
@given(questions())
def test_states_alone_take_their_slots(asked):
    groups = tuple(group for group in asked.model.groups if group.state is not None)
    assume(groups)
    only = replace(asked, model=asked.model.model_copy(update={"groups": groups}))
    assert pooled(only) == (0.0, 0.0, pytest.approx(float(sglang(only).states)))


@pytest.mark.parametrize("engine", ["llama.cpp", "vllm", "sglang"])
@settings(max_examples=30)
@given(questions(), st.integers(0, 9), st.floats(0, 1))
def test_the_most_sequences_are_found_by_counting_up(engine, asked, near, between):
    cache, tokens = cache_of(asked), float(asked.tokens)
    sizes = np.asarray(total_bytes(engine, cache, np.arange(40.0), tokens)).tolist()
    assume(sizes[near + 1] > 0)
    for room in (sizes[near], sizes[near] + between * (sizes[near + 1] - sizes[near]), 0.0, -1.0):
        counted = max((n for n, size in enumerate(sizes) if size <= room), default=0)
        found = float(most_sequences(engine, cache, room, tokens))
        if counted == 39:
            assert found >= 39
        else:
            assert found == counted


def test_many_lengths_at_once_are_each_their_own():
    attention = Attention(heads=4, kv_heads=4, head_dim=64)
    model = Model(id="m", name="m", hidden=8, vocab=9, groups=(LayerGroup(count=3, attention=attention),))
    asked = Asked(model, Fraction(16), Fraction(16), 1, 1)
    cache, room = cache_of(asked), 3 * 1024 * 5000.0
    lengths = np.array([[0.0, 1.0, 16.0], [17.0, 1000.0, 4999.0]])
    for engine in ("llama.cpp", "vllm"):
        found = most_sequences(engine, cache, room, lengths)
        assert found.shape == (2, 3)
        for at in np.ndindex(2, 3):
            assert found[at] == float(most_sequences(engine, cache, room, lengths[at]))
    # Nothing is held of sequences without tokens, so any number fits.
    assert found[0, 0] == np.inf


def test_sglangs_pools_hold_their_tokens_and_a_page_each():
    near = Attention(heads=4, kv_heads=4, head_dim=64, window=512)
    far = near.model_copy(update={"window": None})
    groups = (LayerGroup(count=10, attention=near), LayerGroup(count=2, attention=far))
    cache = cache_of(Asked(Model(id="m", name="m", hidden=8, vocab=9, groups=groups), Fraction(16), Fraction(16), 1, 1))  # fmt: skip
    token = 2 * 4 * 64 * 2
    assert pool_bytes(cache, 1000.0, 800.0) == (1016 * 2 * token, 816 * 10 * token)
    assert pool_bytes(cache, 1000.0) == (1016 * 2 * token, 16 * 10 * token)


def stacked(*groups: LayerGroup, **more: object) -> Asked:
    model = Model(id="m", name="m", hidden=8, vocab=9, groups=groups)
    values = {"k": Fraction(16), "v": Fraction(16), "sequences": 3, "tokens": 333}
    return Asked(model, **{**values, **more})


def attends(count: int, **more: object) -> LayerGroup:
    return LayerGroup(count=count, attention=Attention(heads=4, kv_heads=4, head_dim=64, **more))


def keeps(count: int, state: int, conv: int, bits: int | None) -> LayerGroup:
    kept = State(kind="mamba2", state_elements=state, conv_elements=conv, state_bits=bits)
    return LayerGroup(count=count, state=kept)


@pytest.mark.parametrize("bits", [None, 16, 32])
@pytest.mark.parametrize("order", [1, -1])
def test_vllm_makes_pages_as_large_as_the_largest_of_several_states(bits, order):
    groups = [keeps(3, 70_000, 24, bits), keeps(2, 30_000, 500, None), attends(4), attends(2, window=40)]
    asked = stacked(*groups[::order])
    assert held("vllm", asked) == pytest.approx({what: float(size) for what, size in vllm(asked).items()})


@pytest.mark.parametrize(("near", "size"), [(5, 5), (6, 4), (7, 4)])
def test_vllm_makes_groups_of_the_rarest_kind_from_half_as_common_again_on(near, size):
    # Four full layers: five windows are nearly as common and make one group each, six are 1.5 times as common.
    asked = stacked(attends(4), attends(near, window=40))
    assert layout(cache_of(asked)).group_size == size
    assert held("vllm", asked) == pytest.approx({what: float(held_) for what, held_ in vllm(asked).items()})


@pytest.mark.parametrize("others", [(), (attends(3),)])
@pytest.mark.parametrize("bits", [None, 16, 32])
def test_vllm_tells_what_states_of_32_bits_take(bits, others):
    asked = stacked(keeps(5, 1000, 30, bits), *others)
    (state,) = (p for p in reserved("vllm", cache_of(asked), 3.0, 333.0) if p.kept.what == "state")
    told = dict(state.steps)
    if bits == 32:
        assert told["state_f32"] == 3 * 5 * (1000 * 4 + 30 * 2)
    else:
        assert "state_f32" not in told
    assert float(state.own) == 3 * 5 * (1000 + 30) * 2
    assert "state_pages" in told


@pytest.mark.parametrize("paged", [True, False])
def test_vllm_tells_what_keys_in_fp8_spare_before_they_fill_blocks(paged):
    attention = {"indexer": Indexer(heads=1, head_dim=128, top_k=9)}
    asked = stacked(attends(3, **attention), tokens=100, paged=paged)
    (key,) = (p for p in reserved("vllm", cache_of(asked), 3.0, 100.0) if p.kept.what == "index")
    told = dict(key.steps)
    # 132 bytes and not 256 for each of 112 tokens in blocks, or of 100.
    assert told["index_fp8"] == 3 * 3 * (112 if paged else 100) * 132
    assert told["blocks"] == told["page_padding"] == 3 * 3 * 112 * 132


TOKEN = 2 * 4 * 64 * 2


def test_a_request_is_charged_with_the_tokens_of_a_pass():
    chunked, near = cache_of(stacked(attends(2), attends(2, chunk=64))), cache_of(stacked(attends(2), attends(2, window=17)))  # fmt: skip
    # 1,000 tokens are 63 blocks; of a chunk's 64 tokens and the two of a pass 5, and of 64 and one 4.
    assert request_pages(chunked, 1000, 2) == 63 + 5
    assert request_pages(chunked, 1000, 1) == 63 + 4
    # 16 tokens before the pass's 2,048 are 129 blocks, and they may begin in the middle of one.
    pages = 625 + 129 + 1
    assert request_pages(near, 10_000, 2048) == pages
    assert needed_bytes(near, 10_000) == pages * 2 * 16 * TOKEN
    pool = 5000 * 2 * 16 * TOKEN
    assert pool_pages(near, pool + 1000) == 5000
    assert printed_concurrency(near, pool, 10_000) == 5000 / pages
    assert printed_tokens(near, pool, 10_000) == 5000 * 10_000 // pages
    # Without a longest request: half of the pages for each group.
    assert printed_tokens(near, pool) == 2500 * 16


def test_where_layers_have_pages_of_their_own_the_kind_with_most_decides():
    picked = stacked(attends(3, window=40, indexer=Indexer(heads=1, head_dim=128, top_k=9)))
    # Keys are kept for all of 1,000 tokens, 63 blocks; the window spans three and touches one more.
    assert request_pages(cache_of(picked), 1000, 1) == 63
    none = LayerGroup(count=2, attention=Attention(heads=1, kv_heads=1, head_dim=1, owns_cache=False))
    assert request_pages(cache_of(stacked(none)), 1000, 1) == 0


def test_what_vllm_keeps_for_itself_is_what_logs_show():
    device = {"bandwidth_gbs": 100, "peak_tflops": 1, "capacity_gb": 80}
    model = {"params": 1e9, "layers": 4, "kv_heads": 1, "head_dim": 32}
    s = scenario({"model": model, "device": device, "weights": {"bits": 16}, "cache_k": {"bits": 16}, "engine": "vllm", "context": 1000})  # fmt: skip
    (holder,) = holders(resolve(s))
    assert holder.reserve() / 2**30 == pytest.approx(0.4)
    assert holder.reserve(most=True) / 2**30 == pytest.approx(10.7)
    # 63 blocks of 16 tokens of 512 bytes beside 2 GB of weights.
    held = evaluate(s).capacity
    for kept, fit in ((0.4, held.max_sequences), (10.7, held.fewest_sequences)):
        assert fit == (0.92 * 80e9 - 2e9 - kept * 2**30) // (63 * 16 * 512)


def test_layers_of_one_kind_print_a_block_of_tokens_for_each_page():
    alike = cache_of(stacked(attends(3)))
    assert printed_tokens(alike, 100 * 3 * 16 * TOKEN + 5) == 100 * 16


def test_a_rule_is_told_from_half_a_byte_on():
    kept = cache_of(stacked(attends(1))).kept[0]
    parts = tuple(Part(kept, 8.0, ((name, 8.0 + extra),)) for name, extra in (("a", 0.5), ("b", 0.25), ("c", -0.5), ("d", 1.0)))  # fmt: skip
    assert rules(parts) == (Rule("a", 0.5), Rule("c", -0.5), Rule("d", 1.0))


@pytest.mark.parametrize(("way", "devices"), [("tensor", 4), ("expert", 4), ("pipeline", 1)])
def test_the_layers_of_a_stage_keep_all_heads(way, devices):
    s = scenario({"model": "qwen3-30b-a3b", "device": "rtx-4090", "devices": 4, "parallel": way})
    assert cache_by_scenario(resolve(s)).devices == devices
