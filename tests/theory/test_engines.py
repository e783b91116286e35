"""What runtimes reserve: their rules by hand arithmetic, and against what they printed in public logs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt import Scenario, evaluate, scenario
from slmopt.specs.base import SpecError
from slmopt.specs.formats import CacheFormat
from slmopt.specs.library import library
from slmopt.specs.model import Model
from slmopt.specs.setup import resolve
from slmopt.theory import engine_sglang, engine_vllm
from slmopt.theory.context_curve import context_curve
from slmopt.theory.engine_layers import Cache
from slmopt.theory.engine_llama import cells
from slmopt.theory.engines import Part, cache_of, memory_share, reserved, rules, total_bytes
from slmopt.theory.holders import holders
from slmopt.theory.memory import (
    cache_bytes,
    longest_context,
    paging,
    sequences_that_fit,
)
from slmopt.words.engines import OWN_NEED, RULE_SENTENCES, rule_lines, sequences_words
from tests.strategies import few, layered_models, scenarios

MIB, GIB = 2.0**20, 2.0**30
FORMATS = {bits: CacheFormat.model_validate({"bits": bits}) for bits in (16, 8.5, 8)}
ENGINES = ("exact", "llama.cpp", "vllm", "sglang")


def layers(*groups: tuple[int, dict[str, object]]) -> Model:
    """A model of attention layers alone: (how many, their attention)."""
    made = [{"count": count, "attention": attention} for count, attention in groups]
    return Model.model_validate({"id": "m", "name": "m", "hidden": 64, "vocab": 100, "groups": made})


def heads(kv: int, dim: int, **more: object) -> dict[str, object]:
    return {"heads": kv, "kv_heads": kv, "head_dim": dim, **more}


def preset(ident: str, bits: float = 16, **more: object) -> Cache:
    return Cache(library().models[ident], FORMATS[bits], FORMATS[bits], **more)


def held(engine: str, cache: Cache, tokens: float, sequences: float = 1, what: str = "") -> float:
    parts = reserved(engine, cache, sequences, tokens)
    return sum(float(part.bytes) for part in parts if part.kept.what == what or not what)


FULL = layers((10, heads(4, 64)))
LOCAL = layers((10, heads(4, 64, window=512)), (2, heads(4, 64)))
TOKEN = 2 * 4 * 64 * 2  # keys and values of 4 heads of 64 in 16 bits


def cache(model: Model, **more: object) -> Cache:
    return Cache(model, FORMATS[16], FORMATS[16], **more)


# llama.cpp


def test_llama_pads_the_context_to_256_cells():
    assert held("llama.cpp", cache(FULL), 1000) == 10 * 1024 * TOKEN
    # One cache for all is padded once, one for each every time: 3 · 1,000 tokens take 3,072 cells either way only here.
    assert cells(cache(FULL), 3.0, 35_000.0) == 105_216
    assert cells(cache(FULL, paged=False), 3.0, 35_000.0) == 3 * 35_072


def test_llama_keeps_a_ring_of_window_and_micro_batch():
    # 128 + 512 = 640, padded to 768; unified with four sequences 4 · 128 + 512 = 1,024; no more than the context.
    oss = preset("gpt-oss-20b")
    assert held("llama.cpp", oss, 131_072, what="window") == 18 * MIB
    assert held("llama.cpp", oss, 32_768, 4, "window") == 24 * MIB
    assert held("llama.cpp", replace(oss, paged=False), 32_768, 4, "window") == 4 * 18 * MIB
    assert held("llama.cpp", replace(oss, micro_batch=2048), 131_072, what="window") == 18 / 768 * 2304 * MIB
    assert held("llama.cpp", oss, 256, what="window") == 18 / 768 * 256 * MIB


@pytest.mark.parametrize(
    ("tokens", "gigabytes"), [(4096, 0.40), (8192, 0.48), (32768, 0.99), (131_072, 3.00)]
)
def test_llama_holds_gemma_4_in_three_gigabytes_where_full_windows_take_56(tokens, gigabytes):
    # RC13: 25 ring layers of 8 heads of 256 with 1,024 + 512 cells, 5 global layers of 2 heads of 512.
    gemma = preset("gemma-4-26b-a4b")
    ring, whole = 25 * 2 * 8 * 256 * 2, 5 * 2 * 2 * 512 * 2
    assert held("llama.cpp", gemma, tokens) == 1536 * ring + tokens * whole
    assert held("llama.cpp", gemma, tokens) / 1e9 == pytest.approx(gigabytes, abs=0.005)
    assert held("llama.cpp", replace(gemma, full_windows=True), tokens) == tokens * (ring + whole)


def test_llama_knows_no_window_where_every_layer_has_one():
    everywhere = layers((10, heads(4, 64, window=512)))
    assert held("llama.cpp", cache(everywhere), 4096) == 10 * 4096 * TOKEN
    assert held("exact", cache(everywhere), 4096) == 10 * 512 * TOKEN
    # Compressing layers have windows only, and their entries see everything.
    v4 = {"window": 128, "single_kv": True, "compress": 128}
    assert held("llama.cpp", cache(layers((1, heads(1, 512, **v4)))), 4096) == (768 + 32) * 512 * 2


def test_llama_keeps_chunks_as_windows():
    scout = layers((3, heads(4, 64, chunk=8192)), (1, heads(4, 64)))
    assert held("llama.cpp", cache(scout), 100_000) == (3 * 8704 + 100_096) * TOKEN


def test_llama_keeps_states_in_32_bits_for_each_sequence():
    qwen = preset("qwen3.5-27b")
    state = 48 * (786_432 + 30_720)
    assert held("llama.cpp", qwen, 262_144, 3, "state") == 3 * state * 4
    assert held("exact", qwen, 262_144, 3, "state") == 3 * state * 2
    assert held("llama.cpp", qwen, 262_144, what="full") == 16_384 * MIB


def test_llama_holds_a_shared_prefix_for_each_sequence():
    shared = cache(FULL, shared=512.0)
    assert held("exact", shared, 1024, 4) == (512 + 4 * 512) * 10 * TOKEN
    assert held("llama.cpp", shared, 1024, 4) == 4 * 1024 * 10 * TOKEN
    found = rules(reserved("llama.cpp", shared, 4.0, 1000.0))
    assert {rule.id: rule.extra_bytes for rule in found} == {
        "prefix_not_shared": 3 * 512 * 10 * TOKEN,
        # 4 · 1,000 tokens are 4 · 1,008 in blocks of 16 and 4,096 cells.
        "context_padding": (4096 - 4 * 1008) * 10 * TOKEN,
    }


def test_llama_keeps_a_latent_alone_or_with_a_copy_or_expanded():
    latent = preset("deepseek-r1")
    assert held("llama.cpp", latent, 32_768) == 2196 * MIB
    assert held("llama.cpp", replace(latent, latent="transposed"), 16_384) == 2074 * MIB
    assert held("llama.cpp", replace(latent, latent="expanded"), 512) == 2440 * MIB


def test_an_indexers_keys_go_with_every_token():
    dsa = preset("deepseek-v3.2")
    assert held("llama.cpp", dsa, 4096, what="index") == 61 * 128 * 2 * 4096


# vLLM


def test_vllm_gives_out_whole_blocks_however_sequences_are_allocated():
    for paged in (True, False):
        assert held("vllm", cache(FULL, paged=paged), 4001) == 251 * 16 * 10 * TOKEN
    assert held("vllm", cache(FULL, block=128), 4001) == 32 * 128 * 10 * TOKEN


def test_vllm_pages_windows_in_groups_of_the_rarest_kind():
    # Two full layers: groups of two, five of windows. A window of 512 spans 32 blocks and touches one more.
    assert engine_vllm.layout(cache(LOCAL)).group_size == 2
    assert held("vllm", cache(LOCAL), 4096, what="window") == 10 * 33 * 16 * TOKEN
    assert held("vllm", cache(LOCAL), 4096, what="full") == 2 * 4096 * TOKEN
    assert held("vllm", cache(LOCAL), 100, what="window") == 10 * 112 * TOKEN
    assert held("vllm", cache(LOCAL, full_windows=True), 4096) == 12 * 4096 * TOKEN


def test_vllm_fills_up_the_last_group():
    # Gemma 3 27B: 52 window layers in groups of 10 take six groups, eight layers of which do not exist.
    gemma = preset("gemma-3-27b")
    plan = engine_vllm.layout(gemma)
    assert plan.group_size == 10
    assert [(spec.kept.layers, spec.groups * 10) for spec in plan.specs] == [(52, 60), (10, 10)]
    page = 16 * 2 * 16 * 128 * 2
    assert held("vllm", gemma, 8192, what="window") == 60 * 65 * page
    found = {rule.id: rule.extra_bytes for rule in rules(reserved("vllm", gemma, 1.0, 8192.0))}
    assert found == {"window_pages": 52 * page, "group_padding": 8 * 65 * page}
    # Kinds that are nearly as common make one group each, of the commonest's size.
    near = cache(layers((12, heads(4, 64, window=512)), (13, heads(4, 64))))
    assert engine_vllm.layout(near).group_size == 13
    assert held("vllm", near, 4096) == 13 * (33 + 256) * 16 * TOKEN


def test_vllm_makes_pages_of_all_kinds_equally_large():
    # Window layers of 8 heads of 256 and full ones of 1 head of 512: four times the tokens to a page.
    model = cache(layers((5, heads(8, 256, window=1024)), (1, heads(1, 512))))
    assert [spec.block for spec in engine_vllm.layout(model).specs] == [16, 64]
    assert held("vllm", model, 65, what="full") == 128 * 2 * 512 * 2
    # Where sizes do not divide, the rest of a page is lost: two blocks of 16 with 768 of 1,792 bytes a token.
    odd = cache(layers((4, heads(7, 64, window=1024)), (1, heads(3, 64))))
    assert [spec.block for spec in engine_vllm.layout(odd).specs] == [16, 32]
    found = {rule.id: rule.extra_bytes for rule in rules(reserved("vllm", odd, 1.0, 32.0))}
    assert found == {"page_padding": 16 * 1792 - 32 * 768}


def test_vllm_keeps_a_window_where_all_layers_have_the_same():
    everywhere = cache(layers((10, heads(4, 64, window=4096))))
    assert held("vllm", everywhere, 32_768) == 257 * 16 * 10 * TOKEN


@pytest.mark.parametrize(
    ("model", "block", "padding"),
    [
        ("qwen3-next-80b-a3b", 544, 0.0149),
        ("qwen3.5-9b", 528, 0.0076),
        ("qwen3.5-27b", 784, None),
        ("nemotron-nano-9b-v2", 672, None),
    ],
)
def test_vllm_grows_attention_blocks_to_a_states_size_as_it_prints(model, block, padding):
    # "Setting attention block size to 544 tokens", "Padding mamba page size by 1.49%": vllm-project/vllm pull request
    # 37467 and issues 24280, 40691.
    plan = engine_vllm.layout(preset(model))
    state = next(spec for spec in plan.specs if spec.kept.what == "state")
    assert {spec.block for spec in plan.specs if spec.kept.what == "full"} == {block}
    assert state.page >= engine_vllm.page_of_state(state.kept)
    if padding is not None:
        assert state.page / engine_vllm.page_of_state(state.kept) - 1 == pytest.approx(padding, abs=5e-5)


def test_vllm_prints_tokens_and_concurrency_of_a_hybrid():
    # vllm-project/vllm#40691 (0.19): Qwen3.5-27B, 32,768 tokens a request: 290,864 tokens, 33.04x.
    qwen = preset("qwen3.5-27b")
    page = 784 * 4096 * 16
    assert engine_vllm.printed_tokens(qwen, 1487 * page) == 290_864
    assert engine_vllm.request_pages(qwen, 32_768, 16_384) == 42 + 3
    assert engine_vllm.printed_concurrency(qwen, 1487 * page, 32_768) == pytest.approx(33.04, abs=0.005)
    # Since 0.21 the tokens are the concurrency times the longest request.
    assert engine_vllm.printed_tokens(qwen, 1487 * page, 32_768) == math.floor(1487 / 45 * 32_768)


def test_vllm_prints_tokens_and_concurrency_with_windows():
    # vllm-project/vllm#39866 (0.19): Gemma 4 26B, FP8 cache, 16,384 tokens a pass: 78,256 tokens, 2.15x at 262,144.
    gemma = preset("gemma-4-26b-a4b", bits=8)
    page = 5 * 16 * 4096
    assert engine_vllm.request_pages(gemma, 262_144, 16_384) == 8192 + 5 * (1088 + 1)
    for pages in (29_346, 29_351):
        assert engine_vllm.printed_tokens(gemma, pages * page) == 78_256
        found = engine_vllm.printed_concurrency(gemma, pages * page, 262_144, 16_384)
        assert found == pytest.approx(2.15, abs=0.005)


@pytest.mark.parametrize(
    ("model", "gib", "tokens"), [("gpt-oss-120b", 5.38, 78_384), ("gemma-4-31b", 24.54, 26_800)]
)
def test_vllm_prints_the_tokens_of_public_logs(model, gib, tokens):
    # alvarobartt/hf-mem#60 and #61 (2026): "Available KV cache memory" is rounded to two digits.
    low, high = (engine_vllm.printed_tokens(preset(model), (gib + e) * GIB) for e in (-0.005, 0.005))
    assert low <= tokens <= high
    assert high - low <= 160


def test_vllm_charges_a_request_with_the_tokens_of_one_pass_in_chunks_and_windows():
    scout = cache(layers((3, heads(4, 64, chunk=8192)), (1, heads(4, 64))))
    assert engine_vllm.request_pages(scout, 100_000, 2048) == 6250 + 3 * (10_240 / 16)
    assert engine_vllm.request_pages(cache(LOCAL), 100_000, 2048) == 6250 + 5 * (160 + 1)
    assert held("vllm", scout, 100_000, what="chunk") == 3 * 8192 * TOKEN


def test_vllm_says_what_one_request_needs():
    # kv_capacity S3-0159 to S3-0163: "KV cache is needed (1.1 GiB)".
    for model, tokens, bits, gib in (
        ("qwen2.5-3b", 32_000, 16, 1.1),
        ("qwen3-0.6b", 40_960, 16, 4.38),
        ("qwen2.5-32b", 16_384, 16, 4.0),
        ("qwen3-30b-a3b", 221_000, 8, 10.12),
    ):
        needed = engine_vllm.needed_bytes(preset(model, bits), tokens) / GIB
        assert needed == pytest.approx(gib, abs=0.005)
    local = engine_vllm.needed_bytes(cache(LOCAL), 100_000)
    assert local == 2 * 16 * TOKEN * (6250 + 5 * 161)


def test_vllm_splits_heads_over_devices_and_copies_latents():
    # 4 KV heads on 8 devices are one on each; 94 layers, as S3-0153 with 4 devices.
    shared = preset("qwen3-235b-a22b", devices=8)
    assert held("vllm", shared, 16) == 94 * 16 * 2 * 128 * 2
    assert held("vllm", replace(shared, devices=4), 16) == 94 * 16 * 2 * 128 * 2
    assert held("vllm", replace(shared, devices=2), 16) == 94 * 16 * 2 * 2 * 128 * 2
    latent = preset("deepseek-r1", devices=8)
    assert held("vllm", latent, 16) == 61 * 16 * 576 * 2


def test_vllm_and_sglang_keep_an_indexers_keys_in_fp8():
    # sgl-project/sglang#11309: 975,424 tokens of DeepSeek-V3.2 in FP8 take 43.67 GB, which are GiB: 656 + 132 a layer.
    model = library().models["deepseek-v3.2"]
    fp8 = CacheFormat.model_validate({"bits": 656 * 8 / 576})
    dsa = Cache(model, fp8, fp8, block=64)
    assert engine_sglang.token_bytes(dsa) == (pytest.approx(61 * (656 + 132)), 0)
    assert engine_sglang.pool_bytes(dsa, 975_424)[0] / GIB == pytest.approx(43.67, abs=0.005)
    assert held("vllm", dsa, 64) == pytest.approx(64 * 61 * (656 + 132))
    assert "index_fp8" in {rule.id for rule in rules(reserved("vllm", preset("deepseek-v3.2"), 1.0, 64.0))}


def test_vllm_shares_whole_blocks_of_a_prefix_in_full_layers():
    assert held("vllm", cache(LOCAL, shared=1000.0), 4096, 3, "full") == (992 + 3 * (4096 - 992)) * 2 * TOKEN
    assert held("vllm", cache(LOCAL, shared=1000.0), 4096, 3, "window") == 3 * 33 * 16 * 10 * TOKEN


def test_a_state_alone_takes_its_own_size():
    mamba = preset("mamba-2.8b")
    state = sum(g.count * (g.state.state_elements + g.state.conv_elements) for g in mamba.model.groups)
    for tokens in (0.0, 1e6):
        assert held("vllm", mamba, tokens, 2) == 2 * state * 2
        assert held("llama.cpp", mamba, tokens, 2) == 2 * state * 4


# SGLang


def test_sglang_holds_a_page_more_than_its_tokens():
    assert held("sglang", cache(FULL, block=1), 1000, 3) == 3001 * 10 * TOKEN
    assert held("sglang", cache(FULL, block=64), 1000, 3) == (3 * 1024 + 64) * 10 * TOKEN
    assert held("sglang", cache(FULL, block=64, shared=100.0), 1000, 3) == (64 + 3 * 960 + 64) * 10 * TOKEN


def test_sglang_sizes_the_window_pool_by_the_full_one():
    # 4,096 tokens in the full pool are 3,276.8 in the other, of which a sequence needs 512 and a page.
    local = cache(LOCAL, block=16)
    assert held("sglang", local, 4096, what="full") == (4096 + 16) * 2 * TOKEN
    assert held("sglang", local, 4096, what="window") == (0.8 * 4096 + 16) * 10 * TOKEN
    found = {rule.id: rule.extra_bytes for rule in rules(reserved("sglang", local, 1.0, 4096.0))}
    assert found == {
        "pool_page": 16 * 2 * TOKEN,
        "window_pages": 2 * 16 * 10 * TOKEN,
        "pool_split": pytest.approx((0.8 * 4096 - 528) * 10 * TOKEN),
    }
    # Short sequences need the window pool more, and it makes the full one larger.
    assert held("sglang", local, 320, what="full") == (400 + 16) * 2 * TOKEN
    assert held("sglang", local, 320, what="window") == (320 + 16) * 10 * TOKEN
    assert held("sglang", replace(local, full_windows=True), 4096) == (4096 + 16) * 12 * TOKEN


def test_sglang_splits_memory_between_states_and_tokens():
    state = {"kind": "mamba2", "state_elements": 1000, "conv_elements": 50}
    groups = [{"count": 4, "state": state}, {"count": 1, "attention": heads(4, 64)}]
    model = Model.model_validate({"id": "m", "name": "m", "hidden": 64, "vocab": 9, "groups": groups})
    slots = 3 * 4 * (1000 * 4 + 50 * 2)
    hybrid = cache(model, block=1)
    # Long sequences: the tokens decide, and the state pool is 0.9 of theirs.
    assert held("sglang", hybrid, 99_999, what="full") == 100_000 * TOKEN
    assert held("sglang", hybrid, 99_999, what="state") == pytest.approx(0.9 * 100_000 * TOKEN)
    # Short ones: the states decide.
    assert held("sglang", hybrid, 1, 10, "state") == 10 * slots
    assert held("sglang", hybrid, 1, 10, "full") == pytest.approx(10 * slots / 0.9)


# Every engine


@given(layered_models(), st.sampled_from(ENGINES), st.integers(1, 5), st.integers(0, 9000), st.data())
def test_rules_add_up_to_the_whole_difference(model, engine, sequences, tokens, data):
    made = Cache(
        model,
        FORMATS[16],
        FORMATS[8.5],
        block=data.draw(st.sampled_from([1, 16, 64])),
        paged=data.draw(st.booleans()),
        shared=float(data.draw(st.integers(0, tokens))),
        devices=data.draw(st.integers(1, 3)),
        full_windows=data.draw(st.booleans()),
    )
    parts = reserved(engine, made, float(sequences), float(tokens))
    own = sum(float(part.own) for part in parts)
    extra = sum(rule.extra_bytes for rule in rules(parts))
    whole = float(total_bytes(engine, made, float(sequences), float(tokens)))
    # A rule below half a byte is not told.
    assert own + extra == pytest.approx(whole, rel=1e-9, abs=len(RULE_SENTENCES))
    assert {rule.id for rule in rules(parts)} <= set(RULE_SENTENCES)
    if engine == "exact":
        assert not rules(parts)
        assert own == whole


@given(layered_models(), st.sampled_from(ENGINES), st.booleans())
def test_more_sequences_and_longer_ones_never_hold_less(model, engine, paged):
    made = Cache(model, FORMATS[16], FORMATS[16], paged=paged)
    sequences, tokens = np.arange(0.0, 6.0)[:, None], np.array([0.0, 1, 15, 16, 300, 5000])[None, :]
    grid = np.asarray(total_bytes(engine, made, sequences, tokens))
    assert grid.shape == (6, 6)
    slack = 1e-9 * grid.max() + 1e-9
    assert np.all(np.diff(grid, axis=0) >= -slack)
    assert np.all(np.diff(grid, axis=1) >= -slack)
    one = float(total_bytes(engine, made, 3.0, 300.0))
    assert grid[3, 4] == pytest.approx(one, rel=1e-12)


@few
@given(scenarios())
def test_as_many_fit_as_the_engine_has_room_for(s):
    setup, found = resolve(s), evaluate(s).capacity
    (held,) = holders(setup)
    room = held.usable - held.weight_bytes - held.reserve()
    made = cache_of(setup)

    def bytes_of(sequences: float) -> float:
        return float(total_bytes(s.engine, made, sequences, float(s.depth)))

    most = found.max_sequences
    if most is None:
        assert bytes_of(1e9) <= room
        return
    slack = abs(room) * 1e-9
    if most:
        assert bytes_of(most) <= room + slack
    assert bytes_of(most + 1.0) > room - slack
    assert found.lacking == pytest.approx(bytes_of(most + 1.0) - room, rel=1e-9, abs=slack)
    fixed = found.weight_bytes + found.buffer_bytes
    assert found.held_now == pytest.approx(fixed + bytes_of(s.batch), rel=1e-12)
    if found.fewest_sequences is not None:
        assert found.fewest_sequences <= most


ARTICLE = {
    "model": {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128},
    "device": {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80},
    "weights": {"bits": 16},
    "context": 4000,
}
ONE = 32 * 32 * 128 * 2 * 2


def article(**more: object) -> Scenario:
    return scenario({**ARTICLE, **more})


def test_the_articles_card_holds_31_sequences_by_need_and_fewer_by_engine():
    for how in ("paged", "reserved"):
        assert evaluate(article(allocation=how)).capacity.max_sequences == 31
    found = {engine: evaluate(article(engine=engine)).capacity for engine in ENGINES}
    # 31 sequences of 4,000 tokens are 124,000, which pad to 124,160 cells and still fit; 31 · 4,096 do not.
    assert found["llama.cpp"].max_sequences == 31
    assert evaluate(article(engine="llama.cpp", allocation="reserved")).capacity.max_sequences == 30
    room = 0.92 * 80e9 - 14e9
    assert found["vllm"].max_sequences == (room - 0.4 * GIB) // (4000 * ONE) == 28
    assert found["vllm"].fewest_sequences == (room - 10.7 * GIB) // (4000 * ONE) == 22
    assert found["sglang"].max_sequences == (0.9 * 80e9 - 14e9 - 16 * ONE) // (4000 * ONE) == 27


def test_the_share_of_memory_and_what_is_kept_aside_are_rules_too():
    told = evaluate(article(engine="vllm")).capacity
    assert told.usable == 0.92 * 80e9
    assert told.buffer_bytes == 0.4 * GIB
    assert {rule.id: rule.extra_bytes for rule in told.rules} == {
        "memory_share": pytest.approx(6.4e9),
        "activations": 0.4 * GIB,
    }
    # Buffers that are entered leave nothing unstated, and a share that is entered replaces the engine's.
    entered = evaluate(article(engine="vllm", buffers_gb=2, gpu_memory_utilization=1)).capacity
    assert (entered.usable, entered.buffer_bytes, entered.fewest_sequences) == (80e9, 2e9, None)
    assert entered.rules == ()
    assert evaluate(article(gpu_memory_utilization=0.5)).capacity.usable == 40e9
    assert memory_share(resolve(article(engine="llama.cpp"))) == 1
    unknown = {"bandwidth_gbs": 2000, "peak_tflops": 400}
    blind = evaluate(article(engine="vllm", device=unknown)).capacity
    assert (blind.usable, blind.max_sequences) == (None, None)
    assert [rule.id for rule in blind.rules] == ["activations"]


def test_engine_parameters_of_the_scenario_reach_the_rules():
    local = {"model": "gpt-oss-20b", "engine": "llama.cpp", "context": 32_768, "batch": 4}
    ring = {n: evaluate(article(**local, micro_batch=n)).capacity.held_now for n in (None, 512, 2048)}
    assert ring[None] == ring[512]
    assert ring[2048] - ring[512] == 1536 * 12 * 2 * 8 * 64 * 2
    whole = evaluate(article(**local, full_windows=True)).capacity
    assert {rule.id for rule in whole.rules} == {"windows_in_full"}
    for wrong in ({"micro_batch": 0}, {"gpu_memory_utilization": 1.5}, {"gpu_memory_utilization": 0}):
        with pytest.raises(SpecError, match=next(iter(wrong))):
            article(**wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_context_and_sequences_agree_under_every_engine(engine):
    setup = resolve(article(model="gemma-3-27b", engine=engine))
    longest = longest_context(setup, 3)
    assert longest is not None
    assert sequences_that_fit(setup, float(longest)) >= 3 > sequences_that_fit(setup, longest + 1.0)
    curve = context_curve(setup, points=9)
    assert np.all(np.diff(curve.sequences) <= 0)
    assert paging(setup).paged >= 1


def test_paged_and_reserved_requests_hold_the_tokens_of_their_engine():
    for engine, tokens in {
        "exact": (2208, 4000),
        "llama.cpp": (2200, 4096),
        "vllm": (2208, 4000),
        "sglang": (2208, 4000),
    }.items():
        found = paging(resolve(article(engine=engine, prompt=2000, output=200)))
        assert (found.paged_tokens, found.reserved_tokens) == tokens


def test_bytes_read_follow_the_model_whatever_the_engine():
    costs = {evaluate(article(model="gemma-3-27b", engine=e)).ceiling.decode.cost for e in ENGINES}
    assert len(costs) == 1
    assert {evaluate(article(engine=e)).capacity.bytes_per_token for e in ENGINES} == {ONE}


def test_compressed_entries_are_held_as_needed_and_said_to_be():
    v4 = preset("deepseek-v4-flash")
    window, heavy, light = 43 * 128 * 512, 20 * 512, 21 * (512 + 128)
    assert cache_bytes(v4.model, v4.k, v4.v, 32_768) == 2 * (window + 256 * heavy + 8192 * light)
    for engine in ENGINES:
        told = evaluate(article(model="deepseek-v4-flash", engine=engine)).capacity
        assert told.own_need == (("entries", "index") if engine in ("vllm", "sglang") else ())
        assert (OWN_NEED in rule_lines(told)) == bool(told.own_need)


def test_words_tell_every_rule_with_its_bytes():
    told = evaluate(article(model="gemma-3-27b", engine="vllm", context=8192)).capacity
    lines = rule_lines(told)
    assert len(lines) == len(told.rules) == 4
    assert lines[0].startswith(RULE_SENTENCES["memory_share"])
    assert lines[0].endswith("6.40\u00a0GB more.")
    assert sequences_words(told) == f"{told.fewest_sequences} to {told.max_sequences}"
    assert sequences_words(evaluate(article()).capacity) == "31"
    less = rule_lines(evaluate(article(model="glm-5", engine="sglang", context=8192)).capacity)
    assert any(line.startswith(RULE_SENTENCES["index_fp8"]) and line.endswith("less.") for line in less)


def test_a_part_without_rules_is_the_own_need():
    part = reserved("exact", cache(FULL), 2.0, 100.0)[0]
    assert part == Part(part.kept, part.own, ())
    assert part.bytes == part.own == 2 * 112 * 10 * TOKEN
