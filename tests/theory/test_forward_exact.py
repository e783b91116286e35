"""A pass's parts counted one by one over whole grids of small cases, to the last digit."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from slmopt.theory.forward import (
    Group,
    PassCost,
    completed_pairs,
    distinct_experts,
    forward,
    visible_cached,
    visible_pairs,
)
from slmopt.theory.terms import Term

SMALL = range(13)


@pytest.mark.parametrize("every", [1, 2, 3, 5])
@pytest.mark.parametrize("top_k", [1, 2, 3, math.inf])
def test_pairs_with_entries_are_counted_query_by_query(every, top_k):
    for past, new in product(SMALL, range(1, 8)):
        exact = sum(min((past + i) // every, top_k) for i in range(1, new + 1))
        assert completed_pairs(float(past), float(new), every, top_k) == exact


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 40])
def test_visible_pairs_are_counted_query_by_query(size):
    for past, new in product(SMALL, range(8)):
        reach = range(past + 1, past + new + 1)
        assert visible_pairs(float(past), float(new)) == sum(reach)
        assert visible_pairs(float(past), float(new), float(size)) == sum(min(i, size) for i in reach)
        assert visible_pairs(float(past), float(new), chunk=size) == sum((i - 1) % size + 1 for i in reach)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 40])
def test_visible_cached_tokens_are_those_that_the_next_one_sees(size):
    for past in SMALL:
        assert visible_cached(float(past)) == past
        assert visible_cached(float(past), float(size)) == sum(key > past - size for key in range(past))
        assert visible_cached(float(past), chunk=size) == sum(
            key // size == past // size for key in range(past)
        )
        assert visible_cached(float(past), top_k=float(size)) == min(past, size)
        # The window and what is picked of it: the smaller.
        assert visible_cached(float(past), 4.0, top_k=float(size)) == min(past, 3, size)


def test_a_cost_sends_nothing_and_feeds_a_token_unless_told():
    bare = PassCost(1.0, 2.0, 3.0, 4.0)
    assert (bare.link_bytes, bare.messages, bare.tokens, bare.score_bytes) == (0.0, 0.0, 1.0, 0.0)
    assert (bare.bytes, bare.flops, bare.intensity) == (3.0, 7.0, 7 / 3)


def cost_of(term: Term, *groups: Group, kind: str = "ceiling") -> PassCost:
    return forward([term], groups, kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("unfused", [False, True])
def test_lengths_count_in_steps_and_what_is_written_does_not(step, unfused):
    # 8 bytes and 6 operations a cached token, 5 scores each of 8 bytes where they leave the chip.
    term = Term(
        "attention", cache_bytes=8.0, pair_flops=6.0, score_pairs=5.0, cache_step=step, unfused=unfused
    )
    for past, new, batch in product((0, 1, 2, 3, 4, 7, 8), (1, 2, 3, 5), (1.0, 3.0)):
        # The last query sees the next multiple of the step, each one before it one token less.
        last = step * math.ceil((past + new) / step)
        pairs = sum(last - i for i in range(new))
        scores = batch * 8 * 5 * pairs * unfused
        found = cost_of(term, Group(batch, float(new), float(past)), kind="estimate")
        assert found.cache_bytes == batch * 8 * (last - new + new) + scores
        assert found.attention_flops == batch * 6 * pairs
        assert found.score_bytes == scores
        plain = cost_of(term, Group(batch, float(new), float(past)))
        assert plain.cache_bytes == batch * 8 * past
        assert plain.attention_flops == batch * 6 * sum(past + i for i in range(1, new + 1))
        assert plain.score_bytes == 0.0


def test_lengths_between_whole_tokens_stay_where_they_come_one_by_one():
    # The mean of several steps may lie between two of them.
    term = Term("attention", cache_bytes=8.0, pair_flops=6.0)
    found = cost_of(term, Group(1.0, 1.0, 3.5), kind="estimate")
    assert (found.cache_bytes, found.attention_flops) == (8 * 4.5, 6 * 4.5)


def test_arrays_come_out_as_arrays_and_numbers_as_numbers():
    terms = [
        Term("mlp", weight_bytes=5.0, token_flops=2.0),
        Term("attention", cache_bytes=8.0, pair_flops=6.0),
    ]
    one = forward(terms, [Group(2.0, 1.0, 3.0)])
    many = forward(terms, [Group(np.array([1.0, 2.0]), 1.0, np.array([[3.0], [4.0]]))])
    for name in ("weight_bytes", "cache_bytes", "matmul_flops", "attention_flops", "tokens"):
        assert isinstance(getattr(one, name), float)
        assert np.shape(getattr(many, name)) == (2, 2)
        assert getattr(many, name)[0, 1] == getattr(one, name)


def test_an_indexer_without_keys_of_its_own_scores_all_the_same():
    # It ranks the keys that another layer keeps.
    term = Term("attention", reread_bytes=1.0, pair_flops=2.0, top_k=3.0, index_pair_flops=50.0)
    found = cost_of(term, Group(2.0, 2.0, 7.0))
    assert (found.cache_bytes, found.attention_flops) == (0.0, 2 * (2 * (3 + 3) + 50 * (8 + 9)))


def test_scores_of_several_groups_add_up():
    term = Term("attention", cache_bytes=1.0, pair_flops=1.0, score_pairs=2.0, unfused=True)
    found = cost_of(term, Group(2.0, 1.0, 3.0), Group(1.0, 2.0, 0.0), kind="estimate")
    assert found.score_bytes == 8 * 2 * (2 * 4 + 3)
    # Bytes read, and one written for each fed token, beside them.
    assert found.cache_bytes == found.score_bytes + (2 * 3 + 0) + (2 * 1 + 2)
    assert found.tokens == 4.0
    fused = forward([Term("attention", cache_bytes=1.0)], [Group(2.0, 1.0, 3.0)], "estimate")
    assert fused.score_bytes == 0.0


def test_what_a_pass_sends_by_hand():
    link = Term("link", link_bytes=10.0, routed_bytes=3.0, messages=5.0)
    more = Term("link", link_bytes=1.0, messages=2.0)
    silent = Term("link", messages=1.0)
    groups = [Group(2.0, 3.0), Group(4.0, 1.0)]
    best, usual = (forward([link, more, silent], groups, kind) for kind in ("ceiling", "estimate"))
    assert (best.link_bytes, usual.link_bytes) == (11 * 10, 14 * 10)
    assert best.messages == usual.messages == 8
    assert best.tokens == 10
    nothing = forward([Term("mlp", weight_bytes=1.0)], groups)
    assert (nothing.link_bytes, nothing.messages) == (0.0, 0.0)
    assert (best.weight_bytes, best.cache_bytes, best.flops) == (0.0, 0.0, 0.0)


def test_weights_are_read_once_and_the_head_where_somebody_wants_it():
    weights = Term("mlp", weight_bytes=100.0, token_flops=7.0)
    head = Term("head", head=True, weight_bytes=40.0, token_flops=2.0)
    groups = [Group(2.0, 3.0, logits=0.0), Group(4.0, 1.0, logits=1.0)]
    found = forward([weights, head], groups)
    assert (found.weight_bytes, found.matmul_flops, found.attention_flops) == (140.0, 7 * 10 + 2 * 4, 0.0)
    chunk = forward([weights, head], groups[:1])
    assert (chunk.weight_bytes, chunk.matmul_flops) == (100.0, 7 * 6)
    assert (found.bytes, found.flops, found.intensity) == (140.0, 78.0, 78 / 140)
    # One of its positions is enough.
    few = forward([head], [Group(1.0, 3.0, logits=1.0)])
    assert (few.weight_bytes, few.matmul_flops) == (40.0, 2.0)


def test_a_group_is_one_token_of_one_sequence_unless_told():
    term = Term("attention", weight_bytes=1.0, token_flops=1.0, cache_bytes=8.0, pair_flops=6.0)
    head = Term("head", head=True, weight_bytes=10.0, token_flops=100.0)
    assert forward([term, head], [Group()]) == forward([term, head], [Group(1.0, 1.0, 0.0, 1.0, 0.0)])
    found = forward([term, head], [Group()])
    assert (found.weight_bytes, found.matmul_flops, found.attention_flops) == (11.0, 101.0, 6.0)
    assert (found.cache_bytes, found.tokens) == (0.0, 1.0)
    assert forward([term], [Group(3.0, past=4.0)]).cache_bytes == 3 * 4 * 8, "nothing is shared"


@pytest.mark.parametrize("spread", [1, 2, 3, 4])
@pytest.mark.parametrize("active", [1, 2, 3, 5, 8])
def test_experts_of_the_busiest_device_for_each(spread, active):
    term = Term("experts", experts=8, active=active, spread=spread, expert_bytes=1.0)
    for tokens in (0, 1, 2, 5, 40):
        expected = 8 * (1 - (1 - active / 8) ** tokens)
        fewest = active if spread == 1 else spread * math.ceil(active / spread)
        best, usual = (float(distinct_experts(term, float(tokens), kind)) for kind in ("ceiling", "estimate"))
        assert best == (max(active, fewest) if tokens else 0)
        least = fewest if tokens and spread > 1 else 0
        assert usual == pytest.approx(max(expected, least), rel=1e-12)
    arrays = distinct_experts(term, np.array([0.0, 3.0]), "estimate")
    assert arrays[0] == 0.0
    assert arrays[1] == pytest.approx(float(distinct_experts(term, 3.0, "estimate")))


def test_experts_are_read_beside_what_all_tokens_share():
    term = Term("experts", weight_bytes=100.0, experts=4, active=2, expert_bytes=10.0, token_flops=3.0)
    best, usual = (cost_of(term, Group(2.0, 1.0), kind=kind) for kind in ("ceiling", "estimate"))
    # Two tokens of two experts each: two at the fewest, three of the four on average.
    assert (best.weight_bytes, usual.weight_bytes) == (120.0, pytest.approx(130.0))
    assert best.flops == usual.flops == 6.0
    assert cost_of(term, Group(0.0, 1.0)).weight_bytes == 100.0


def seen_by(past: int, window: float) -> set[int]:
    return {key for key in range(past) if key > past - window}


@pytest.mark.parametrize("window", [math.inf, 3.0, 5.0])
@pytest.mark.parametrize("top_k", [math.inf, 2.0, 4.0])
def test_entries_read_are_distinct(window, top_k):
    # Keys and values of one byte; where an indexer picks, it takes the first ones, which are shared first.
    term = Term("attention", cache_bytes=1.0, window=window, top_k=top_k)
    for past, batch in product(range(9), (0, 1, 2, 3)):
        for shared in range(past + 3):
            if top_k < math.inf:
                keys = set(range(min(past, int(top_k), int(min(window - 1, past)))))
            else:
                keys = seen_by(past, window)
            common = min(shared, past)
            read = {("all" if key < common else one, key) for one in range(batch) for key in keys}
            found = cost_of(term, Group(float(batch), 1.0, float(past), shared=float(shared)))
            assert found.cache_bytes == len(read)
            usual = cost_of(
                term, Group(float(batch), 1.0, float(past), shared=float(shared)), kind="estimate"
            )
            assert usual.cache_bytes == batch * (len(keys) + 1)
            as_array = cost_of(term, Group(float(batch), 1.0, float(past), shared=np.array(float(shared))))
            assert as_array.cache_bytes == len(read)


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("top_k", [math.inf, 2.0])
def test_compressed_entries_by_counting(every, top_k):
    term = Term(
        "attention", window=3.0, top_k=top_k, compress=every,
        cache_bytes=1.0, entry_bytes=10.0, index_bytes=100.0, pair_flops=2.0, index_pair_flops=50.0,
    )  # fmt: skip
    for past, new, batch in product(range(9), (1, 2, 4), (1, 3)):
        for shared in (0, 1, past // 2, past):
            entries = past // every
            picked = range(min(entries, int(min(top_k, entries))))
            common = min(shared, past)

            def distinct(keys, size, batch=batch, common=common):
                return len(
                    {
                        ("all" if (key + 1) * size <= common else one, key)
                        for one in range(batch)
                        for key in keys
                    }
                )

            near = distinct(seen_by(past, 3.0), 1)
            exact = near + 10 * distinct(picked, every) + 100 * distinct(range(entries), every)
            group = Group(float(batch), float(new), float(past), shared=float(shared))
            found = cost_of(term, group)
            assert found.cache_bytes == exact
            queries = range(past + 1, past + new + 1)
            pairs = sum(min(i, 3) + min(i // every, top_k) for i in queries)
            assert found.attention_flops == batch * (2 * pairs + 50 * sum(i // every for i in queries))
            usual = cost_of(term, group, kind="estimate")
            made = (past + new) // every - entries
            whole = len(seen_by(past, 3.0)) + 10 * len(picked) + 100 * entries
            assert usual.cache_bytes == batch * (whole + new + 110 * made)


def test_another_layer_s_entries_are_read_again_in_an_estimate():
    term = Term("attention", window=3.0, top_k=2.0, compress=2, reread_bytes=1.0, pair_flops=2.0)
    group = Group(3.0, 2.0, 9.0)
    assert cost_of(term, group).cache_bytes == 0.0
    # Two tokens of the window and two of four entries.
    assert cost_of(term, group, kind="estimate").cache_bytes == 3 * (2 + 2)
    # Two queries, each with three tokens and two entries.
    assert cost_of(term, group).attention_flops == 3 * 2 * (3 + 2) * 2
    plain = Term("attention", reread_bytes=1.0)
    assert cost_of(plain, group, kind="estimate").cache_bytes == 3 * 9


@pytest.mark.parametrize("past", [0.0, 1.0, 2.0, 9.0])
def test_a_state_is_written_and_read_where_there_is_one(past):
    term = Term("state", state_bytes=5.0, token_flops=3.0)
    found = cost_of(term, Group(2.0, 4.0, past))
    assert found.cache_bytes == 2 * 5 * (2 if past else 1)
    assert found.matmul_flops == 3 * 8


def test_the_cheaper_way_of_a_latent_layer_is_each_group_s_own():
    # Absorbed 10 a pair; expanded 2 a pair and 30 for each cached token.
    term = Term(
        "attention", cache_bytes=1.0, pair_flops=10.0, latent_pair_flops=2.0, latent_expand_flops=30.0
    )
    for past, new, batch in product((0, 1, 5), (1, 2, 6, 20), (1, 3)):
        pairs = sum(past + i for i in range(1, new + 1))
        exact = batch * min(10 * pairs, 2 * pairs + 30 * past)
        assert cost_of(term, Group(float(batch), float(new), float(past))).attention_flops == exact


def test_an_indexer_scores_every_key():
    term = Term(
        "attention", cache_bytes=1.0, pair_flops=2.0, top_k=3.0, index_bytes=100.0, index_pair_flops=50.0
    )
    for past, new, batch, shared in product((0, 2, 7), (1, 3), (1, 2), (0, 1, 5)):
        group = Group(float(batch), float(new), float(past), shared=float(shared))
        common = min(shared, past)
        keys = batch * (past - common) + common
        picked = min(past, 3)
        tokens = batch * max(0, picked - common) + min(picked, common)
        found = cost_of(term, group)
        assert found.cache_bytes == tokens + 100 * keys
        queries = range(past + 1, past + new + 1)
        assert found.attention_flops == batch * sum(2 * min(i, 3) + 50 * i for i in queries)
        usual = cost_of(term, group, kind="estimate")
        assert usual.cache_bytes == batch * (picked + 100 * past + 101 * new)
