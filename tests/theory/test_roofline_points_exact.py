"""Points, paths and curves of the roofline by hand: 7·10⁹ parameters in 16 bits on 2 TB/s and 400 TFLOP/s."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slmopt.specs.setup import resolve
from slmopt.theory import roofline_points as points
from slmopt.theory.evaluation import evaluate
from slmopt.theory.latency import decode_step
from tests.theory.test_parallel import EIGHT, model, question
from tests.theory.test_views import BANDWIDTH, CARD, FLOPS, PEAK, TOKEN, WEIGHTS, asked, step_s

NO_MEMORY = {"bandwidth_gbs": 2000, "peak_tflops": 400}


def intensity(batch: float, context: float) -> float:
    return batch * FLOPS / (WEIGHTS + batch * context * TOKEN)


def test_prefill_and_bands_by_hand():
    factors = {"bandwidth_fraction": 0.5, "compute_fraction": 0.25, "fixed_ms": 2.0}
    view = points.roofline_view(evaluate(asked(batch=4, context=1000, prompt=2000, **factors)))
    # 2,000 tokens: 70 ms of arithmetic, in one sequence.
    assert view.prefill.batch == 1
    assert view.prefill.seconds == pytest.approx(0.07)
    assert view.prefill.flops_per_s == pytest.approx(PEAK)
    assert view.prefill.intensity == pytest.approx(2000 * FLOPS / WEIGHTS)
    assert view.prefill.bound == "compute"
    # The estimate writes what it caches: 2,000 tokens, at a quarter of the rate and 2 ms more.
    assert view.prefill_band.intensity == pytest.approx(2000 * FLOPS / (WEIGHTS + 2000 * TOKEN))
    assert view.prefill_band.typical == pytest.approx(2000 * FLOPS / (0.28 + 2e-3))
    decode = (WEIGHTS + 4 * 1001 * TOKEN) / (BANDWIDTH / 2) + 2e-3
    assert view.decode_band.intensity == pytest.approx(4 * FLOPS / (WEIGHTS + 4 * 1001 * TOKEN))
    assert view.decode_band.slow == view.decode_band.fast == pytest.approx(4 * FLOPS / decode)
    assert view.context_limit == pytest.approx((FLOPS / PEAK) / (TOKEN / BANDWIDTH))
    assert (view.roof.bandwidth, view.prefill_roof.peak) == (BANDWIDTH, PEAK)


def test_levels_of_a_band_are_the_estimates_own():
    result = evaluate(asked(batch=4))
    view = points.roofline_view(result)
    for phase, band in (("decode", view.decode_band), ("prefill", view.prefill_band)):
        for level in ("slow", "typical", "fast"):
            time = getattr(result.estimate[level], phase)
            assert getattr(band, level) == pytest.approx(float(time.cost.flops) / float(time.seconds))


def test_a_path_goes_through_whole_batches_evenly_in_their_logarithm():
    setup = resolve(asked(context=100))
    roof = evaluate(asked(context=100)).ceiling.decode_roof
    path = points.decode_path(setup, roof, 5000.0)
    assert (path.batch[0], path.batch[-1]) == (1.0, 5000.0)
    assert np.array_equal(path.batch, np.rint(path.batch))
    steps = np.diff(np.log(path.batch[path.batch > 40]))
    assert steps.max() < 1.15 * steps.min()
    assert path.intensity == pytest.approx([intensity(b, 100) for b in path.batch])
    assert path.flops_per_s == pytest.approx([b * FLOPS / step_s(b, 100) for b in path.batch])
    assert points.decode_path(setup, roof, 0.0).batch.tolist() == [1.0]


@pytest.mark.parametrize(
    ("device", "batch", "last"),
    # What fits, or where no memory is known a thousand or the present batch.
    [(CARD, 4, 31.0), (NO_MEMORY, 4, 1000.0), (NO_MEMORY, 3000, 3000.0)],
)
def test_where_the_path_ends(device, batch, last):
    view = points.roofline_view(evaluate(asked(device=device, batch=batch, context=4000)))
    assert view.path.batch[-1] == last
    assert (view.largest is None) is (device is NO_MEMORY)
    assert not view.fits_none


def test_a_memory_that_holds_no_sequence_has_no_largest_batch():
    view = points.roofline_view(evaluate(asked(device={**CARD, "capacity_gb": 15}, context=4000)))
    assert view.fits_none
    assert view.largest is None
    assert view.path.batch[-1] == 1000.0


def test_other_rates_stand_for_an_unknown_one():
    device = {"bandwidth_gbs": 100, "peak_tflops": {"int8": 2, "fp8": 1}}
    view = points.roofline_view(evaluate(asked(device=device, context=0)))
    assert (view.known, view.now.bound) == (False, None)
    assert view.other_ridges == pytest.approx((10, 20))
    bare = points.roofline_view(evaluate(asked(device={"bandwidth_gbs": 100}, context=0)))
    assert not bare.known
    assert (bare.other_ridges, bare.now.bound, bare.prefill.bound) == ((), None, None)
    assert bare.now.flops_per_s == pytest.approx(FLOPS / (WEIGHTS / 100e9))


@pytest.mark.parametrize("context", [0.0, 1.0, 1000.0, 100_000.0])
def test_large_batches_approach_what_a_sequence_does_and_reads(context):
    setup = resolve(asked())
    found = points.intensity_limit(setup, context)
    assert found == (pytest.approx(FLOPS / (context * TOKEN)) if context else math.inf)
    if context:
        far = decode_step(setup, evaluate(asked()).ceiling.decode_roof, 1e12, context)
        assert float(far.cost.intensity) == pytest.approx(found, rel=1e-6)
    # An estimate writes the token too.
    assert points.intensity_limit(setup, context, "estimate") == pytest.approx(
        FLOPS / ((context + 1) * TOKEN)
    )


@pytest.mark.parametrize("more", [{"devices": 4}, {"devices": 4, "parallel": "pipeline"}, {"gpu_layers": 2}])
@pytest.mark.parametrize("shared", [0, 1000])
def test_where_a_sequence_adds_no_byte_there_is_no_limit(more, shared):
    # Experts are all read long before, and a prefix that all share is read once.
    s = question(model=model(moe=EIGHT), context=shared, shared_prefix=shared, **more)
    assert math.isinf(points.intensity_limit(resolve(s), float(shared)))


def test_a_curve_of_intensity_by_hand():
    curve = points.intensity_curve(resolve(asked()), 500, 1000.0)
    assert (curve.batch[0], curve.batch[-1]) == (1.0, pytest.approx(1000.0))
    assert np.diff(np.log(curve.batch)) == pytest.approx(np.log(1000) / (len(curve.batch) - 1))
    assert curve.intensity == pytest.approx([intensity(b, 500) for b in curve.batch])
    assert (curve.context, curve.present) == (500, False)


def test_curves_apart_from_the_present_one_are_told():
    curves = points.telling_curves(evaluate(asked(context=4000, batch=4)))
    assert [(c.context, c.present) for c in curves] == [(0, False), (134, False), (1000, False), (4000, True)]
    near = points.telling_curves(evaluate(asked(context=0, batch=4, device=NO_MEMORY)))
    assert [c.context for c in near if c.present] == [0]


@pytest.mark.parametrize(("bits", "apart"), [(0.70, False), (0.85, True)])
def test_lines_closer_than_three_percent_are_one(bits, apart):
    # 1,000 sequences with one cached token each of 262,144 elements: a 16th of 0.524 MB a bit.
    s = asked(context=1, cache_k={"bits": bits * 16}, device={**NO_MEMORY})
    gap = math.log(1 + 1000 * bits * TOKEN / WEIGHTS)
    assert (gap > 0.03) is apart
    found = points.telling_curves(evaluate(s))
    top = points.curve_top(evaluate(s))
    assert top == 1000.0
    assert (0 in [c.context for c in found]) is apart


@pytest.mark.parametrize(
    ("fit", "top"),
    # 1.3 times what fits has room.
    # A hundred thousand and more are too many to show.
    [(760, 1e3), (780, 1e4), (7600, 1e4), (7800, 1e5), (76_000, 1e5), (99_999, 1e6), (100_000, 1e3)],
)
def test_the_top_leaves_room_for_what_fits(fit, top):
    # No context limit in sight: a card that holds so many sequences of 16 tokens, a block each.
    device = {"bandwidth_gbs": 2000, "capacity_gb": 14 + 1e-9 * TOKEN * 16 * (fit + 0.5)}
    found = evaluate(asked(device=device, context=16))
    assert found.capacity.max_sequences == fit
    assert points.curve_top(found) == top


def test_what_is_too_far_away_to_show_does_not_raise_the_top():
    far = {"bandwidth_gbs": 2, "peak_tflops": 1000}
    found = evaluate(asked(device=far, context=0))
    assert found.ceiling.crossover.batch == pytest.approx(500_000)
    assert points.curve_top(found) == 1000.0
    near = evaluate(asked(device={"bandwidth_gbs": 10, "peak_tflops": 999}, context=0))
    assert near.ceiling.crossover.batch == pytest.approx(99_900)
    assert points.curve_top(near) == 1e6


def test_no_curve_is_for_a_context_beyond_every_model_s():
    # The slower the arithmetic, the longer the context that still has a crossover.
    slow = {"bandwidth_gbs": 2000, "peak_tflops": 0.02}
    found = evaluate(asked(device=slow, context=50))
    assert found.ceiling.crossover.context_limit == pytest.approx(FLOPS / 0.02e12 / (TOKEN / BANDWIDTH))
    assert found.ceiling.crossover.context_limit > 2**21
    assert points.telling_contexts(found) == (0, 50, 1000)
    within = evaluate(asked(device={**slow, "peak_tflops": 0.03}, context=50))
    edge = math.floor(FLOPS / 0.03e12 / (TOKEN / BANDWIDTH)) + 1
    assert points.telling_contexts(within) == (0, 50, 10_000, edge)


def test_where_no_context_has_a_crossover():
    # Reading one cached token takes longer than a token's arithmetic, so that a single one is beyond the limit.
    quick = {"bandwidth_gbs": 2, "peak_tflops": 400}
    found = evaluate(asked(device=quick, context=50))
    assert found.ceiling.crossover.context_limit < 1
    assert points.telling_contexts(found) == (0, 50, 500)


@pytest.mark.parametrize(
    ("gbs", "context", "contexts"),
    [
        # Reading of one cached token takes 26.2 µs at 20 GB/s; of 35 µs of arithmetic the second one is too many.
        (20, 50, (0, 2, 10, 50)),
        # A crossover up to 133 tokens; eight times 168 is nearer to 1,000 than to 2,000.
        (2000, 168, (0, 134, 168, 1000)),
    ],
)
def test_contexts_around_the_first_without_a_crossover(gbs, context, contexts):
    found = evaluate(asked(device={"bandwidth_gbs": gbs, "peak_tflops": 400}, context=context))
    assert points.telling_contexts(found) == contexts
