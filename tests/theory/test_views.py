"""Curves and marks of the pages, by hand: a model of 7·10⁹ parameters in 16 bits on 2 TB/s and 400 TFLOP/s.

One step reads 14 GB of weights in 7 ms and does 14·10⁹ operations a sequence; a cached token has 524,288 bytes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from slmopt.specs.library import library
from slmopt.specs.model import Attention, Latent, LayerGroup, Mlp, Model, State
from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import Setup, resolve
from slmopt.theory import batching, first_token, roofline_points, speculation
from slmopt.theory.batch_points import batching_view
from slmopt.theory.cache_growth import CacheGrowth, cache_growth
from slmopt.theory.context_curve import context_curve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.offload_curve import layers_curve
from slmopt.theory.roofline import ceiling_roof
from slmopt.theory.speculation_curves import speculation_curves

WEIGHTS, TOKEN, FLOPS, BANDWIDTH, PEAK = 14e9, 524_288, 14e9, 2e12, 400e12
CARD = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}
COUNTED = {"params": 7e9, "layers": 32, "kv_heads": 32, "head_dim": 128}
F16 = library().caches["f16"]


def asked(**more: object) -> Scenario:
    return scenario({"model": COUNTED, "device": CARD, "weights": {"bits": 16}, "cache_k": "f16", **more})


def step_s(batch: float, context: float, peak: float = PEAK) -> float:
    """Seconds of a decode step."""
    return max((WEIGHTS + batch * context * TOKEN) / BANDWIDTH, batch * FLOPS / peak)


def test_marks_and_curves_of_batching():
    view = batching_view(evaluate(asked(batch=4, context=4000, target_tpot_ms=20)))
    assert view.fit == math.floor((80e9 - WEIGHTS) / (4000 * TOKEN)) == 31
    assert (view.reach, view.linear, view.known, view.compute_first) == (31, True, True, False)
    for mark, batch in ((view.first, 1), (view.now, 4), (view.largest, 31)):
        assert mark is not None
        assert mark.batch == batch
        assert mark.step_s == pytest.approx(step_s(batch, 4000), rel=1e-12)
        assert mark.user_tokens_per_s == pytest.approx(1 / step_s(batch, 4000), rel=1e-12)
        assert mark.device_tokens_per_s == pytest.approx(batch / step_s(batch, 4000), rel=1e-12)
    assert view.near.batch.tolist() == list(range(1, 32))
    assert view.near.user == pytest.approx([1 / step_s(b, 4000) for b in range(1, 32)], rel=1e-12)
    assert view.near.device == pytest.approx([b / step_s(b, 4000) for b in range(1, 32)], rel=1e-12)
    assert view.near.weight_s == pytest.approx(np.full(31, 7e-3))
    assert view.near.cache_s == pytest.approx([b * 4000 * TOKEN / BANDWIDTH for b in range(1, 32)])
    assert view.near.compute_s == pytest.approx([b * FLOPS / PEAK for b in range(1, 32)])
    assert view.outgrown == 7  # the first batch with 6.68 · 2.1 GB and more
    assert view.holds["ceiling"] == 12  # (0.02 · 2e12 − 14e9) / 2.097e9 = 12.4
    assert 0 <= view.holds["slow"] <= 12
    assert view.target_s == pytest.approx(0.02)
    assert view.crossing is None


def test_wide_curves_hold_every_mark_and_what_weights_alone_allow():
    view = batching_view(evaluate(asked(batch=4, context=100)))
    assert view.crossing is not None
    assert view.crossing.batch == pytest.approx(796.8, rel=1e-3)
    assert view.crossing_weights_only == pytest.approx((200.0, 200 / 7e-3))
    assert (view.wide.batch[0], view.wide.batch[-1], view.top) == (1.0, 1e4, 1e4)
    assert {4.0, float(view.fit or 0), view.crossing.batch} <= set(view.wide.batch.tolist())
    expected = [b / max(7e-3, b * FLOPS / PEAK) for b in view.wide.batch]
    assert view.weights_only == pytest.approx(expected, rel=1e-12)
    assert not view.linear
    assert view.reach == view.fit
    assert view.near.batch[-1] == view.fit
    assert view.target_s is None
    assert view.holds == {}


def test_without_a_memory_four_times_the_batch_is_shown():
    card = {"bandwidth_gbs": 2000, "peak_tflops": 400}
    assert batching_view(evaluate(asked(device=card, batch=4, context=4000))).reach == 64
    assert batching_view(evaluate(asked(device=card, batch=50, context=4000))).reach == 200
    # 64 and no more are shown on a linear axis.
    assert batching_view(evaluate(asked(device=card, batch=16, context=4000))).linear
    held = batching_view(evaluate(asked(context=1936)))
    assert (held.fit, held.linear) == (65, False)
    assert batching_view(evaluate(asked(device=card, batch=30_000, context=4000))).reach == 100_000
    small = {**CARD, "capacity_gb": 15}
    assert batching_view(evaluate(asked(device=small, context=4000))).reach == 4
    view = batching_view(evaluate(asked(batch=31, context=4000)))
    assert view.largest_within(1e6) is None
    assert batching_view(evaluate(asked(context=4000))).largest_within(31) is not None
    assert batching_view(evaluate(asked(context=4000))).largest_within(30.5) is None


@pytest.mark.parametrize(("tflops", "first"), [(3, False), (1, True)])
def test_whether_one_sequence_alone_is_held_by_arithmetic(tflops, first):
    # 7 ms of reading; 14e9 operations take 4.7 ms at 3 TFLOP/s, where two sequences take longer than reading.
    view = batching_view(evaluate(asked(device={**CARD, "peak_tflops": tflops}, context=0)))
    assert view.compute_first is first


def mixed() -> Model:
    see = Attention(heads=4, kv_heads=2, head_dim=16)
    near = Attention(heads=4, kv_heads=2, head_dim=16, window=64)
    latent = Attention(
        heads=4, kv_heads=4, head_dim=16, latent=Latent(kv_rank=32, nope_dim=8, rope_dim=8, v_dim=8)
    )
    kept = State(kind="mamba2", state_elements=1000, conv_elements=24)
    groups = [
        LayerGroup(count=2, attention=see, mlp=Mlp(width=64)),
        LayerGroup(count=3, attention=near, mlp=Mlp(width=64)),
        LayerGroup(count=4, attention=latent, mlp=Mlp(width=64)),
        LayerGroup(count=5, state=kept, mlp=Mlp(width=64)),
    ]
    return Model(id="m", name="m", hidden=64, vocab=100, groups=tuple(groups))


def grown(now: float = 1000.0, model: Model | None = None) -> CacheGrowth:
    return cache_growth(model or mixed(), F16, F16, now)


def test_a_cache_grows_by_its_kinds():
    found = grown()
    kinds = {one.kind: one for one in found.kinds}
    assert set(kinds) == {"full", "window", "latent", "state"}
    full, window, latent, state = (kinds[name] for name in ("full", "window", "latent", "state"))
    # A token that has begun is held whole.
    t = np.ceil(found.context)
    a_token = 2 * 2 * 16 * 2  # keys and values of 2 heads of 16 in 2 bytes
    assert [one.layers for one in (full, window, latent, state)] == [2, 3, 4, 5]
    assert full.bytes == pytest.approx(2 * a_token * t)
    assert window.bytes == pytest.approx(3 * a_token * np.minimum(t, 64))
    assert latent.bytes == pytest.approx(4 * (32 + 8) * 2 * t)
    assert state.bytes == pytest.approx(np.full_like(t, state.bytes[0]))
    assert [one.token_bytes for one in (full, window, latent, state)] == [2 * a_token, 3 * a_token, 320, 0]
    assert [one.limit for one in (full, window, latent)] == [None, 64, None]
    assert full.now == 2 * a_token * 1000
    assert window.now == 3 * a_token * 64
    assert found.now == pytest.approx(sum(one.now for one in found.kinds))
    assert found.total == pytest.approx(sum(one.bytes for one in found.kinds))
    assert found.growing == 5 * a_token + 320
    assert found.unlimited == found.token_bytes_at(64) == 2 * a_token + 320
    assert found.token_bytes_at(63) == found.growing
    assert found.limits == (64,)


def test_the_kinds_that_keep_most_come_first():
    last = [float(one.bytes[-1]) for one in grown().kinds]
    assert last == sorted(last, reverse=True)


@pytest.mark.parametrize(
    ("now", "low", "high"), [(1000.0, 16.0, 131_072.0), (100_000.0, 16.0, 200_000.0), (4.0, 4.0, 131_072.0)]
)
def test_contexts_reach_from_a_quarter_of_the_window_to_twice_the_present(now, low, high):
    context = grown(now).context
    assert (context[0], context[-1]) == (pytest.approx(low), pytest.approx(high))
    assert 64.0 in context
    assert (np.diff(context) > 0).all()
    assert len(context) in (121, 122)


def test_a_model_s_own_limit_and_window_widen_the_contexts():
    wide = mixed().model_copy(update={"context_limit": 1_000_000})
    assert grown(model=wide).context[-1] == pytest.approx(1e6)
    plain = Model.model_validate({"id": "m", "name": "m", **COUNTED})
    assert grown(model=plain).context[0] == pytest.approx(128.0)
    assert [one.kind for one in grown(model=plain).kinds] == ["full"]
    groups = (
        mixed()
        .groups[1]
        .model_copy(update={"attention": Attention(heads=1, kv_heads=1, head_dim=1, window=1)}),
    )
    two = (
        mixed()
        .groups[1]
        .model_copy(update={"attention": Attention(heads=1, kv_heads=1, head_dim=1, window=2)}),
    )
    assert grown(model=mixed().model_copy(update={"groups": two})).growing == 3 * 4
    fixed = grown(model=mixed().model_copy(update={"groups": groups}))
    assert fixed.growing == 0


def prefill_s(new: float) -> float:
    """Seconds of a prompt of so many tokens: weights once, two operations a weight and token."""
    return max(WEIGHTS / BANDWIDTH, new * FLOPS / PEAK)


def setup(**more: object) -> Setup:
    return resolve(asked(**more))


def test_first_tokens_against_the_prompt():
    curve = first_token.prompt_curve(setup(prompt=2000, prefix_hit=500))
    assert (len(curve.x), curve.x[0], curve.x[-1]) == (97, pytest.approx(16), pytest.approx(131_072))
    new = curve.x * 0.75
    compute, reading = new * FLOPS / PEAK, WEIGHTS / BANDWIDTH
    assert (curve.ceiling >= np.maximum(compute, reading) * (1 - 1e-12)).all()
    # 67 of its tokens are cached, and reading them takes half a token's time more.
    assert curve.compute_from == 268
    decides = curve.x >= curve.compute_from
    assert decides.any()
    assert curve.ceiling[decides] == pytest.approx(compute[decides])
    assert set(curve.estimate) == {"slow", "typical", "fast"}
    assert first_token.prompt_curve(setup(prompt=8)).x[0] == pytest.approx(8)
    assert first_token.prompt_curve(setup(prompt=100_000)).x[-1] == pytest.approx(200_000)


def test_first_tokens_against_what_is_cached():
    curve = first_token.hit_curve(setup(prompt=2000))
    assert (len(curve.x), curve.x[0], curve.x[-1]) == (51, 0.0, 1999.0)
    compute = (2000 - curve.x) * FLOPS / PEAK
    assert curve.ceiling[:25] == pytest.approx(compute[:25])
    assert (curve.ceiling >= compute * (1 - 1e-12)).all()
    assert curve.compute_from is None


@pytest.mark.parametrize(("milliseconds", "tokens"), [(7.0005, 200), (70, 2000), (6.9, 0), (7.036, 201)])
def test_the_longest_prompt_within_a_target(milliseconds, tokens):
    # A prompt of n tokens takes 35 µs a token, and no less than the 7 ms of reading.
    assert first_token.longest_prompt(setup(), milliseconds / 1e3) == tokens


def test_every_prompt_is_in_time_where_the_target_is_far():
    assert first_token.longest_prompt(setup(), 1e9) is None
    far = first_token.longest_prompt(setup(), 7e8 * FLOPS / PEAK)
    assert far == pytest.approx(7e8, rel=1e-6)
    slow = first_token.longest_prompt(setup(), 70e-3, "slow")
    assert slow is not None
    assert slow < 2000


def test_the_shortest_prompt_that_arithmetic_decides():
    # 200 tokens take just as long as reading.
    assert first_token.compute_bound_from(setup()) == 201
    assert first_token.compute_bound_from(setup(device={"bandwidth_gbs": 2000})) is None


def test_points_on_the_roofline():
    view = roofline_points.roofline_view(evaluate(asked(batch=4, context=4000)))
    for spot, batch in ((view.first, 1), (view.now, 4), (view.largest, 31)):
        assert spot is not None
        assert spot.batch == batch
        assert spot.intensity == pytest.approx(batch * FLOPS / (WEIGHTS + batch * 4000 * TOKEN), rel=1e-12)
        assert spot.flops_per_s == pytest.approx(batch * FLOPS / step_s(batch, 4000), rel=1e-12)
        assert spot.seconds == pytest.approx(step_s(batch, 4000), rel=1e-12)
        assert spot.bound == "memory"
    assert view.limit == pytest.approx(FLOPS / (4000 * TOKEN))
    assert (view.path.batch[0], view.path.batch[-1]) == (1.0, 31.0)
    band = view.decode_band
    assert band.slow <= band.typical <= band.fast
    assert view.known
    assert not view.fits_none
    assert roofline_points.intensity_limit(setup(), 0.0) == math.inf


def test_the_top_of_the_batches_is_a_power_of_ten_beyond_all_that_tells():
    top = roofline_points.curve_top
    assert top(evaluate(asked(batch=4, context=4000))) == 1000.0
    assert top(evaluate(asked(batch=1000, context=4000))) == 1000.0
    assert top(evaluate(asked(batch=1001, context=4000))) == 10_000.0
    # The crossover at 797 sequences times 1.3 is beyond 1000.
    assert top(evaluate(asked(batch=4, context=100, device={**CARD, "capacity_gb": 20}))) == 10_000.0


@pytest.mark.parametrize(
    ("context", "contexts"),
    # Beyond 133.5 cached tokens there is no crossover, so that 134 tells; the third lies between or beyond.
    [
        (100, (0, 100, 134, 1000)),
        (4000, (0, 134, 1000, 4000)),
        (0, (0, 134, 1000)),
        (134, (0, 134, 1000)),
        (1072, (0, 134, 1072, 10_000)),
        (1073, (0, 134, 500, 1073)),
    ],
)
def test_telling_contexts(context, contexts):
    assert roofline_points.telling_contexts(evaluate(asked(context=context))) == contexts


def test_telling_contexts_where_no_crossover_ends():
    windowed = evaluate(scenario({"model": mixed(), "device": {"bandwidth_gbs": 2000}, "context": 1600}))
    assert roofline_points.telling_contexts(windowed) == (0, 200, 1600, 10_000)
    for context, contexts in (
        (799, (0, 799, 5000)),
        (800, (0, 100, 800, 5000)),
        (50, (0, 50, 1000)),
        (2600, (0, 500, 2600, 20_000)),
    ):
        few = evaluate(scenario({"model": mixed(), "device": {"bandwidth_gbs": 2000}, "context": context}))
        assert roofline_points.telling_contexts(few) == contexts


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(0.2, 1), (1, 1), (1.4, 1), (1.5, 2), (3.1, 2), (3.2, 5), (7, 5), (7.2, 10), (1100, 1000)],
)
def test_round_numbers(value, rounded):
    assert roofline_points.round_number(value) == rounded


def test_curves_of_drafting():
    s = setup(acceptance=0.7, draft_tokens=4, draft_cost=0.1, context=0, batch=8)
    roof = ceiling_roof(s, "decode")
    found = speculation_curves(s, roof, 100.0)
    assert (found.acceptance[0], found.acceptance[-1], len(found.acceptance)) == (0.0, 1.0, 61)
    assert sorted(found.by_acceptance) == [1, 2, 4, 8, 16]
    for drafts, line in found.by_acceptance.items():
        told = [float(speculation.speedup(s, roof, a, float(drafts))) for a in found.acceptance]
        assert line == pytest.approx(told)
    assert found.lengths.tolist() == list(range(speculation.LONGEST_DRAFT + 1))
    assert found.by_length[0] == pytest.approx(1.0)
    assert found.expected[4] == pytest.approx((1 - 0.7**5) / 0.3)
    assert (found.batch[0], found.batch[-1]) == (1.0, pytest.approx(100.0))
    assert speculation_curves(s, roof, 1.0).batch[-1] == pytest.approx(64.0)
    many = setup(acceptance=0.7, draft_tokens=4, draft_cost=0.1, context=0, batch=50)
    assert speculation_curves(many, roof, 1.0).batch[-1] == pytest.approx(100.0)
    none = speculation_curves(setup(acceptance=0.0, draft_tokens=4, draft_cost=0.1, context=0), roof, 100.0)
    assert none.expected == pytest.approx(np.ones_like(none.lengths))
    assert found.by_batch[0] == pytest.approx(float(speculation.speedup(s, roof, 0.7, 4.0, 1.0)))


def test_where_a_line_through_two_gaps_meets_zero():
    points = np.array([10.0, 20.0])
    assert batching._root(points, np.array([3.0, -1.0])) == pytest.approx(17.5)
    # It stays above: the second point.
    assert batching._root(points, np.array([0.3, 0.1])) == 20.0
    assert batching._root(points, np.array([0.3, 0.0])) == pytest.approx(20.0)


def test_sequences_that_fit_against_context():
    curve = context_curve(setup(context=4000))
    assert (len(curve.context), curve.context[0], curve.context[-1]) == (
        97,
        pytest.approx(250),
        pytest.approx(131_072),
    )
    assert curve.now == (4000.0, 31.0)
    assert curve.doubled == 15.0
    assert context_curve(setup(context=100)).context[0] == pytest.approx(100)
    assert context_curve(setup(context=100_000)).context[-1] == pytest.approx(200_000)
    assert context_curve(setup(context=0, prompt=1, output=1)).now[0] == 1.0


def test_what_a_card_holds_at_each_number_of_layers():
    card = {**CARD, "capacity_gb": 10}
    host = {"bandwidth_gbs": 50, "peak_tflops": 1, "capacity_gb": 64}
    found = layers_curve(
        asked(device=card, host=host, engine="llama.cpp", gpu_layers=8, context=1024, buffers_gb=1.0)
    )
    assert found.layers.tolist() == list(range(33))
    assert (found.now, found.whole, found.memory_known) == (8, 32, True)
    each = (WEIGHTS + 1024 * TOKEN) / 32
    assert found.card_bytes == pytest.approx(1e9 + found.layers * each)
    assert found.fit == math.floor((10e9 - 1e9) / each)
    assert found.speed(32) == pytest.approx(float(found.ceiling[-1]))
    assert found.speed(99) == found.speed(32)
