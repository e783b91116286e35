"""Load against the exact distribution of an M/D/1 queue, and against the balance of arrivals and steps worked by hand."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import pytest

from slmopt.specs.scenario import Scenario, scenario
from slmopt.specs.setup import resolve
from slmopt.theory.latency import prefill
from slmopt.theory.queueing import Load, under_load, wait_mean, wait_p95
from slmopt.theory.roofline import ceiling_roof
from slmopt.theory.static_groups import group_left, harmonic
from tests.theory.test_static_groups_exact import mean_left, share_above

# 1e9 weights in 16 bits at 100 GB/s: a step reads for 20 ms; 2 GFLOP a token at 10 TFLOP/s: 0.2 ms, 0.2 s a prompt.
STEP, TOKEN, PROMPT = 0.020, 2e-4, 0.2
PLAIN = {
    "model": {"params": 1e9, "layers": 10, "kv_heads": 10, "head_dim": 10},
    "device": {"bandwidth_gbs": 100.0, "peak_tflops": 10.0, "capacity_gb": 24.0},
    "weights": {"bits": 16},
    "prompt": 1000,
    "output": 101,
}
NO_CACHE = {"cache_k": {"bits": 1e-6}}
# 10 layers with keys and values of 100 elements in 16 bits: 40 µs of reading for a thousand cached tokens.
CACHED_S = 2 * 10 * 100 * 2 / 100e9


def asked(**more: object) -> Scenario:
    return scenario({**PLAIN, **more})


def loaded(s: Scenario, rate: float, most: float | None = None) -> Load:
    setup = resolve(s)
    return under_load(setup, ceiling_roof(setup, "decode"), ceiling_roof(setup, "prefill"), rate, most)


def exact_share(load: float, wait: float) -> float:
    """P(W ≤ t) of an M/D/1 queue with a service of 1 s (C. D. Crommelin, 1932), in 50 digits since its terms cancel."""
    with localcontext(prec=50):
        rho, t = Decimal(load), Decimal(wait)
        total = Decimal(0)
        for k in range(math.floor(wait) + 1):
            x = rho * (t - k)
            total += (-x) ** k / math.factorial(k) * x.exp()
        return float((1 - rho) * total)


@pytest.mark.parametrize(
    ("load", "shorter", "longer"),
    [
        (0.06, 1e-9, 1e-9),
        (0.2, 1e-9, 1e-9),
        (0.28, 1e-9, 1e-9),
        (0.288, 0.0, 0.09),
        (0.35, 0.011, 0.0),
        (0.4, 0.011, 0.0),
        (0.5, 0.0, 0.003),
        (0.6, 0.0, 6e-4),
        (0.7, 3e-5, 0.0),
        (0.75, 0.0, 1e-6),
        (0.9, 1e-11, 1e-11),
        (0.95, 1e-11, 1e-11),
    ],
)
def test_the_95th_percentile_is_as_close_to_the_exact_one_as_is_said(load, shorter, longer):
    found = wait_p95(load, 1.0)
    assert exact_share(load, found / (1 + longer)) <= 0.95 * (1 + 1e-13)
    assert exact_share(load, found / (1 - shorter)) >= 0.95 * (1 - 1e-13)
    # In units of the service: half of it takes half as long at twice the rate.
    assert wait_p95(2 * load, 0.5) == pytest.approx(found / 2, rel=1e-12)


def test_one_service_and_no_more_is_waited_for_the_one_before():
    # Up to there Erlang's form is exact; beyond, the tail's slowest term is 9 % longer.
    low, high = 0.2, 0.4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.log(0.95 / (1 - middle)) <= middle else (low, middle)
    assert wait_p95(low, 1.0) == pytest.approx(1.0, rel=1e-12)
    assert wait_p95(low + 1e-12, 1.0) > 1.08


@pytest.mark.parametrize("load", [0.0, 0.01, 0.049, 0.05])
def test_up_to_a_load_of_five_percent_19_of_20_wait_for_nothing(load):
    assert wait_p95(load, 1.0) == pytest.approx(0.0, abs=1e-12)


def test_the_mean_wait_by_hand():
    # λ·S²/2 of work found in service, over the idle share.
    for rate, service in ((0.1, 2.0), (3.0, 0.3), (0.0, 5.0)):
        assert wait_mean(rate, service) == pytest.approx(rate * service**2 / 2 / (1 - rate * service))
    assert wait_mean(0.5, 2.0) == wait_p95(0.5, 2.0) == math.inf


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.45, 0.5, 1.0, 2.0, 3.0])
def test_sequences_at_once_by_hand(rate):
    # Up to 100 sequences a step takes 20 ms of reading, stretched by the share that prompts take.
    found = loaded(asked(**NO_CACHE), rate)
    free = 1 - rate * PROMPT
    count = rate * 100 * STEP / free
    assert found.prefill_share == pytest.approx(rate * PROMPT)
    assert found.sequences == pytest.approx(count, rel=1e-6)
    assert (found.tpot_s, found.tpot_p95_s) == pytest.approx((STEP / free, STEP / free))
    assert found.wait_s == pytest.approx(wait_mean(rate, PROMPT))
    assert found.ttft_s == pytest.approx(PROMPT + wait_mean(rate, PROMPT))
    assert found.ttft_p95_s == pytest.approx(PROMPT + wait_p95(rate, PROMPT))
    assert (found.rate, found.saturated) == (rate, None)


def test_a_crowd_that_computes_takes_longer_than_the_mean():
    # A prompt of 100 tokens takes 20 ms, and 1,000 tokens follow it.
    s = asked(**NO_CACHE, prompt=100, output=1001)
    found = loaded(s, 4.5)
    # Share 4.5 · 20 ms = 0.09; N = 4.5 · 1000 · 20 ms / 0.91 = 98.9, and 98.9 + 1.6449 · √98.9 = 115.3 compute.
    count = 4.5 * 1000 * STEP / 0.91
    assert found.sequences == pytest.approx(count, rel=1e-6)
    crowd = count + 1.6449 * math.sqrt(count)
    assert found.tpot_p95_s == pytest.approx(crowd * TOKEN / 0.91)
    assert loaded(s, 4.5, 110.0).tpot_p95_s == pytest.approx(110 * TOKEN / 0.91)
    assert loaded(s, 4.5, 1000.0) == found
    # Memory that holds just as many is enough; a little less is not.
    assert loaded(s, 4.5, found.sequences).saturated is None
    less = loaded(s, 4.5, found.sequences * 0.999)
    assert (less.saturated, less.sequences) == ("memory", found.sequences)
    assert less.prefill_share == pytest.approx(0.09)


@pytest.mark.parametrize("rate", [0.5, 2.0, 2.2])
def test_sequences_whose_caches_lengthen_the_step(rate):
    # N = a · (20 ms + N·c) with c the mean reading of 1,000 … 1,099 cached tokens: N = a·20 ms / (1 − a·c).
    found = loaded(asked(), rate)
    arrivals = rate * 100 / (1 - rate * PROMPT)
    cached = CACHED_S * (1000 + 99 / 2)
    count = arrivals * STEP / (1 - arrivals * cached)
    if count >= 1:
        assert found.sequences == pytest.approx(count, rel=1e-6)
    else:
        assert found.sequences == pytest.approx(arrivals * (STEP + cached))
    assert found.tpot_s == pytest.approx((STEP + max(1.0, count) * cached) / (1 - rate * PROMPT), rel=1e-6)


def test_what_saturates_by_hand():
    # Five prompts a second fill the device to the last moment.
    full = loaded(asked(**NO_CACHE), 5.0)
    assert (full.saturated, full.prefill_share, full.sequences) == ("prefill", 1.0, math.inf)
    assert math.isinf(full.tpot_s)
    # Any number of sequences decodes 5,000 tokens a second: 4.9 · 0.2 s leave 2 % of them, 100 a second.
    late = loaded(asked(**NO_CACHE), 4.9)
    assert (late.saturated, late.prefill_share) == ("decode", pytest.approx(0.98))


@pytest.mark.parametrize("output", [1, 2])
def test_replies_of_one_token_and_of_two(output):
    found = loaded(asked(**NO_CACHE, output=output), 2.0)
    # At two tokens one step follows, of a reply alone: 20 ms stretched to 33.
    assert found.sequences == pytest.approx((output - 1) * 2.0 * STEP / 0.6)
    assert found.ttft_s == pytest.approx(PROMPT + wait_mean(2.0, PROMPT))
    assert found.ttft_p95_s == pytest.approx(PROMPT + wait_p95(2.0, PROMPT))
    if output == 1:
        assert math.isnan(found.tpot_s)
        assert math.isnan(found.tpot_p95_s)
        # Chunks make no difference where nobody decodes.
        same = loaded(asked(**NO_CACHE, output=1, prefill_chunk_tokens=1000), 2.0)
        assert (same.ttft_s, same.wait_s, same.sequences) == (found.ttft_s, found.wait_s, 0.0)
    else:
        assert found.tpot_s == pytest.approx(STEP / 0.6)


def chunked_by_hand(chunk: int, sequences: float, output: int) -> tuple[float, int]:
    """Seconds of a prompt of 1,000 in chunks, everybody's tokens beside it at the middle of their replies; its passes."""
    depth = 1000 + (output - 2) / 2
    total, passes = 0.0, 0
    for done in range(0, 1000, chunk):
        fed = min(chunk, 1000 - done)
        reading = STEP + CACHED_S * (done + sequences * depth)
        total += max(reading, (fed + sequences) * TOKEN)
        passes += 1
    return total, passes


@pytest.mark.parametrize(
    ("chunk", "output", "rate"),
    [(500, 2, 1.0), (500, 101, 1.0), (300, 101, 2.0), (64, 11, 0.3), (1000, 51, 0.01), (64, 8001, 0.05)],
)
def test_chunks_bring_everybody_s_tokens_along_by_hand(chunk, output, rate):
    found = loaded(asked(output=output, prefill_chunk_tokens=chunk), rate)

    def step(sequences: float) -> float:
        taken, passes = chunked_by_hand(chunk, sequences, output)
        share = rate * taken
        plain = STEP + max(1.0, sequences) * CACHED_S * (1000 + (output - 2) / 2)
        return 1 / (share / (taken / passes) + (1 - share) / plain)

    count = found.sequences
    balance = step(max(1.0, count))
    assert count == pytest.approx(rate * (output - 1) * balance, rel=1e-6)
    taken, _ = chunked_by_hand(chunk, count, output)
    assert found.prefill_share == pytest.approx(rate * taken)
    assert found.wait_s == pytest.approx(wait_mean(rate, taken))
    assert found.ttft_s == pytest.approx(taken + wait_mean(rate, taken))
    assert found.ttft_p95_s == pytest.approx(taken + wait_p95(rate, taken))
    assert found.tpot_s == pytest.approx(step(count))
    crowd = count + 1.6449 * math.sqrt(count)
    assert found.tpot_p95_s == pytest.approx(step(crowd))
    # Where memory holds no more than the mean, it is the crowd; with a little less the load does not fit.
    s = asked(output=output, prefill_chunk_tokens=chunk)
    assert loaded(s, rate, count).tpot_p95_s == pytest.approx(step(count))
    assert loaded(s, rate, crowd + 9) == found
    less = loaded(s, rate, count * 0.999)
    assert (less.saturated, less.sequences) == ("memory", count)
    assert less.prefill_share == pytest.approx(found.prefill_share)


def test_what_saturates_in_chunks():
    # Chunks of 20 tokens read the weights 50 times: a second a prompt.
    s = asked(**NO_CACHE, prefill_chunk_tokens=20)
    over = loaded(s, 1.5)
    assert over.saturated == "prefill"
    # A prompt of 0.2 s in one chunk each second leaves room for 100 steps of 20 ms.
    one = asked(**NO_CACHE, prefill_chunk_tokens=1000)
    assert loaded(one, 1.0).saturated is None
    # 0.9 s of each second for prompts; 1,000 tokens a reply then ask for ten times what the rest can give.
    long = loaded(asked(**NO_CACHE, prefill_chunk_tokens=1000, output=1101), 4.5)
    assert (long.saturated, long.prefill_share) == ("decode", pytest.approx(0.9))
    # Prompts take more than the whole time: everybody's tokens come with their passes alone, N = 6 · 100 · (1,000 + N) ·
    # 0.2 ms = 136, and a prompt takes 0.227 s.
    crowded = loaded(one, 6.0)
    assert (crowded.saturated, crowded.prefill_share) == ("prefill", pytest.approx(6 * 0.2 / 0.88))
    # A prompt that takes the whole second fills the device.
    full = loaded(asked(**NO_CACHE, prefill_chunk_tokens=1000, output=100_001), 5.0)
    assert (full.saturated, full.prefill_share) == ("prefill", 1.0)


def group_by_hand(size: float, spread: float, output: int = 101) -> tuple[float, float, float]:
    """Seconds of a group's prefill, of its mean reply, and of the longest; without caches, up to 100 sequences."""
    first = max(STEP, size * PROMPT)
    reply = (output - 1) * max(STEP, size * TOKEN)
    longest = 1 - spread + spread * float(harmonic(size))
    return first, reply, first + longest * reply


@pytest.mark.parametrize("spread", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.6, 1.2])
def test_fixed_groups_by_hand(rate, spread):
    s = asked(**NO_CACHE, batching="static", output_spread=spread)
    found = loaded(s, rate)
    size = found.sequences
    first, reply, whole = group_by_hand(size, spread)
    if size == 1.0:
        # A single request does not lag behind, so groups are of one.
        assert rate * whole <= 1 + 1e-9
        assert found.wait_s == pytest.approx(
            rate * whole * mean_left(first + reply * (1 - spread), reply * spread, 1), rel=1e-5
        )
        late = found.ttft_p95_s - first
        if rate * whole <= 0.05:
            assert late == 0.0
        elif spread:
            met = rate * whole * share_above(late, first + reply * (1 - spread), reply * spread, 1)
            assert met == pytest.approx(0.05, rel=1e-4)
    else:
        assert size == pytest.approx(rate * whole, rel=1e-5)
        left = group_left(first + reply * (1 - spread), reply * spread, size, 0.05)
        assert (found.wait_s, found.ttft_p95_s - first) == pytest.approx(left, rel=1e-5)
    assert found.prefill_share == pytest.approx(rate * first / size)
    assert found.ttft_s == pytest.approx(first + found.wait_s)
    assert found.tpot_s == pytest.approx(STEP)


def test_fixed_groups_and_what_memory_holds():
    s = asked(**NO_CACHE, batching="static", output_spread=0.0, output=1001, prompt=100)
    # A prompt takes 20 ms, a reply 20 s: n = 4·(0.02·n + 20) = 80 / 0.92 = 87, and a crowd of 102 computes.
    found = loaded(s, 4.0)
    count = 80 / 0.92
    assert found.sequences == pytest.approx(count, rel=1e-6)
    crowd = count + 1.6449 * math.sqrt(count)
    assert found.tpot_p95_s == pytest.approx(crowd * TOKEN)
    assert loaded(s, 4.0, 101.0).tpot_p95_s == pytest.approx(101 * TOKEN)
    assert loaded(s, 4.0, 1000.0) == found
    assert loaded(s, 4.0, found.sequences).saturated is None
    less = loaded(s, 4.0, found.sequences * 0.999)
    assert (less.saturated, less.sequences) == ("memory", found.sequences)
    assert less.prefill_share == pytest.approx(4.0 * 0.02)
    # A memory that holds less than one holds no group; one that holds one holds groups of one.
    assert loaded(s, 0.01, 0.5).saturated == "memory"
    assert loaded(s, 0.01, 1.0).tpot_p95_s == pytest.approx(STEP)
    # 200 requests a second: their prompts alone take four seconds.
    over = loaded(s, 200.0)
    assert (over.saturated, over.prefill_share) == ("decode", pytest.approx(200 * 0.02))


def test_fixed_groups_of_replies_of_one_token():
    # Prefill alone: 0.2 s, met by 40 of 100 at 2 a second, half of it left on average; a twentieth wait for 7/8 of it.
    found = loaded(asked(**NO_CACHE, batching="static", output=1), 2.0)
    assert (found.sequences, found.prefill_share) == (1.0, pytest.approx(0.4))
    assert found.ttft_s == pytest.approx(PROMPT + 0.4 * 0.1)
    assert found.ttft_p95_s == pytest.approx(PROMPT + 0.2 * (1 - 0.05 / 0.4))
    assert math.isnan(found.tpot_s)
    assert math.isnan(found.tpot_p95_s)


def test_a_fixed_group_is_prefilled_without_what_is_cached_and_wants_one_position_each():
    layers = {"attention": {"heads": 4, "kv_heads": 2, "head_dim": 16}, "mlp": {"width": 256}, "count": 3}
    model = {"hidden": 64, "vocab": 50_000, "groups": [layers]}
    # So much bandwidth that arithmetic decides, and a second row of logits would show.
    device = {"bandwidth_gbs": 1e6, "peak_tflops": 10.0}
    s = asked(model=model, device=device, batching="static", prefix_hit=300, prompt=900)
    setup = resolve(s)
    alone = float(prefill(setup, ceiling_roof(setup, "prefill")).seconds)
    found = loaded(s, 1e-3)
    assert found.ttft_s - found.wait_s == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("way", [{}, {"prefill_chunk_tokens": 200}, {"batching": "static"}])
def test_nothing_gets_shorter_under_more_load(way):
    s = asked(**way)
    found = [loaded(s, rate) for rate in (0.05, 0.2, 0.5, 1.0, 1.5)]
    for less, more in pairwise(found):
        for name in ("sequences", "wait_s", "ttft_s", "ttft_p95_s", "tpot_s", "tpot_p95_s"):
            assert getattr(more, name) >= getattr(less, name) * (1 - 1e-9)
