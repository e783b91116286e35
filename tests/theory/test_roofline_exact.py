"""How bytes, operations, links and a host's part join to the time of a pass: each case by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from slmopt.specs.setup import resolve
from slmopt.theory.forward import Group, PassCost, forward
from slmopt.theory.latency import decode_group, decode_step
from slmopt.theory.offload import card_terms, host_terms
from slmopt.theory.roof import PassTime, Roof, pass_time
from slmopt.theory.roofline import (
    ceiling_roof,
    estimate_roof,
    offloaded_time,
    pass_cost,
    run,
    run_beside,
    setup_terms,
    spread_time,
    stages_of,
    turns_time,
)
from tests.theory.test_parallel import HIDDEN, question

GIGA, TERA = 1e9, 1e12


def roof(**more: object) -> Roof:
    """1 GB/s, 1 TFLOP/s, attention at half of it, nothing fixed."""
    given = {"bandwidth": GIGA, "peak": TERA, "attention_peak": TERA / 2, "fixed_s": 0.0, "kind": "estimate"}
    return Roof(**{**given, "source": "", **more})  # type: ignore[arg-type]


def cost(weights: float, cache: float, products: float, attention: float, **more: float) -> PassCost:
    """A pass whose parts take so many seconds under ``roof``."""
    return PassCost(weights * GIGA, cache * GIGA, products * TERA, attention * TERA / 2, **more)


PARTS = [(2.0, 1.0, 5.0, 4.0), (2.0, 7.0, 5.0, 1.0), (9.0, 3.0, 1.0, 4.0), (1.0, 0.5, 0.0, 3.0)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("tokens", [1.0, 2.0, 3.0, 8.0])
@pytest.mark.parametrize("overlap", [None, "products", "single", "none"])
def test_how_reading_products_and_attention_join(parts, tokens, overlap):
    weights, cache, products, attention = parts
    several = tokens > 1
    # Several tokens read at 0.8 GB/s.
    reading = (weights + cache) / (0.8 if several else 1.0)
    follows = overlap == "none" or (overlap == "single" and several)
    if overlap is None:
        expected = max(reading, products + attention)
    elif follows:
        expected = reading + products + attention
    else:
        expected = max(reading, products) + attention
    found = pass_time(
        cost(*parts, tokens=tokens), roof(batched_bandwidth=0.8 * GIGA, overlap=overlap, fixed_s=0.25)
    )
    assert float(found.seconds) == pytest.approx(expected + 0.25)
    assert float(found.busy_s) == pytest.approx(expected)
    assert float(found.serial_s) == pytest.approx(expected - max(reading, products + attention))
    assert bool(found.joined) is follows
    assert float(found.memory_s) == pytest.approx(reading)
    assert float(found.compute_s) == pytest.approx(products + attention)
    assert found.link_s == 0.0


def test_what_no_fit_found_comes_on_top_of_nothing():
    found = pass_time(cost(1, 1, 1, 1), roof())
    assert (found.serial_s, found.link_s, found.overlap) == (0.0, 0.0, None)
    bare = PassTime(found.cost, 1.0, 1.0, 1.0, 1.0, 0.0, 2.0, 0.5, "ceiling", "")
    assert (bare.serial_s, bare.seconds) == (0.0, 2.5)
    assert (roof().link_bandwidth, roof().link_latency_s) == (math.inf, 0.0)


@pytest.mark.parametrize("overlap", ["products", "single", "none"])
def test_where_no_rate_is_known_nothing_comes_on_top_of_reading(overlap):
    found = pass_time(
        cost(2, 1, 5, 4, tokens=4.0), roof(peak=math.nan, attention_peak=math.nan, overlap=overlap)
    )
    assert (float(found.serial_s), float(found.seconds)) == (0.0, 3.0)


@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
@pytest.mark.parametrize(
    ("sent", "messages", "link", "bound"),
    # Half a second a byte, half a second a message, beside 3 s of reading and 2 s of arithmetic.
    [(1.0, 2.0, 2.0, "memory"), (2.0, 2.0, 3.0, "memory"), (0.5, 6.0, 3.5, "link"), (8.0, 1.0, 8.5, "link")],
)
def test_a_link_is_a_third_side_of_a_bound_and_comes_on_top_of_an_estimate(kind, sent, messages, link, bound):
    found = pass_time(
        cost(2, 1, 1, 1, link_bytes=2 * sent, messages=messages),
        roof(kind=kind, link_bandwidth=2.0, link_latency_s=0.5),
    )
    assert float(found.link_s) == link
    assert float(found.seconds) == (max(3.0, link) if kind == "ceiling" else 3.0 + link)
    assert found.bound == bound
    assert bool(found.compute_bound) is False


@pytest.mark.parametrize(
    ("products", "link", "bound"),
    [(3.0, 0.0, "memory"), (4.0, 0.0, "compute"), (4.0, 4.0, "compute"), (4.0, 4.5, "link")],
)
def test_at_equal_sides_memory_is_named_before_arithmetic_and_that_before_the_link(products, link, bound):
    found = pass_time(cost(2, 1, products, 0, link_bytes=link, messages=1.0), roof(link_bandwidth=1.0))
    assert found.bound == bound
    assert bool(found.compute_bound) is (bound == "compute")
    assert bool(found.link_bound) is (bound == "link")


def test_the_link_is_set_against_reading_where_no_rate_is_known():
    for sent, bound in ((2.0, "memory"), (4.0, "link")):
        found = pass_time(
            cost(2, 1, 1, 1, link_bytes=sent, messages=1.0),
            roof(peak=math.nan, attention_peak=math.nan, link_bandwidth=1.0),
        )
        assert found.bound == bound


def test_the_roof_itself():
    one = roof(batched_bandwidth=0.8 * GIGA, link_bandwidth=5.0, link_latency_s=0.1)
    assert one.ridge == 1000
    assert (one.attainable(10.0), one.attainable(1000.0), one.attainable(4000.0)) == (10 * GIGA, TERA, TERA)
    assert roof(peak=math.nan).attainable(4000.0) == 4000 * GIGA
    four = one.times(4)
    assert (four.bandwidth, four.peak, four.attention_peak) == (4 * GIGA, 4 * TERA, 2 * TERA)
    assert four.batched_bandwidth == 3.2 * GIGA
    # Each device has its own link.
    assert (four.link_bandwidth, four.link_latency_s) == (5.0, 0.1)
    assert roof().times(3).batched_bandwidth is None


HOST = roof(bandwidth=0.1 * GIGA, peak=0.02 * TERA, attention_peak=0.01 * TERA)
ON_CARD, KEPT = cost(3, 1, 1, 1), cost(1, 0.5, 0.25, 0.25)


def beside(tokens: float, kind: str, link_gbs: float = math.inf, host: Roof = HOST) -> PassTime:
    own = replace(host, kind=kind)
    return turns_time(ON_CARD, KEPT, tokens, roof(kind=kind, link_bandwidth=link_gbs * GIGA, host=own))


@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
@pytest.mark.parametrize("tokens", [1.0, 31.0, 32.0, 500.0])
@pytest.mark.parametrize("link_gbs", [math.inf, 0.02, 0.05, 0.09, 0.5])
def test_what_the_host_keeps_is_done_there_or_sent(kind, tokens, link_gbs):
    # The card's own 4 s; on the host 15 s of reading are hidden by 25 s of arithmetic. Sent: the link's pace or the host's memory's,
    # and in an estimate the card's half a second after it, from 32 tokens on.
    sent = math.inf
    if math.isfinite(link_gbs):
        copied = 1.5 / min(link_gbs, 0.1)
        sent = copied if kind == "ceiling" else copied + 0.5
    may = kind == "ceiling" or tokens >= 32
    found = beside(tokens, kind, link_gbs)
    goes = may and sent < 25.0
    assert float(found.seconds) == pytest.approx(4.0 + (sent if goes else 25.0))
    assert float(found.compute_s) == pytest.approx(2.0 + (0.5 if goes else 25.0))
    assert float(found.memory_s) == pytest.approx(4.0 + (1.5 / min(link_gbs, 0.1) if goes else 15.0))


@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
@pytest.mark.parametrize("link_gbs", [math.inf, 0.05])
@pytest.mark.parametrize("tokens", [1.0, 31.0, 32.0])
def test_a_host_whose_rate_is_unknown(kind, link_gbs, tokens):
    dark = replace(HOST, peak=math.nan, attention_peak=math.nan)
    found = beside(tokens, kind, link_gbs, dark)
    prompt = kind == "estimate" and tokens >= 32
    sent = 1.5 / 0.05 + 0.5
    if prompt and math.isfinite(link_gbs):
        # Sent, though the link takes longer than the host's memory alone.
        assert (float(found.compute_s), float(found.seconds)) == (pytest.approx(2.5), pytest.approx(4 + sent))
    elif prompt:
        assert math.isnan(float(found.compute_s))
    else:
        # A single token waits for memory; a bound leaves out what is not known.
        assert (float(found.compute_s), float(found.seconds)) == (pytest.approx(2.0), pytest.approx(19.0))


def test_costs_of_both_memories_add_up():
    on_card = replace(ON_CARD, score_bytes=7.0)
    kept = replace(KEPT, score_bytes=11.0)
    found = turns_time(on_card, kept, 1.0, roof(host=HOST)).cost
    assert found.weight_bytes == 4 * GIGA
    assert found.cache_bytes == 1.5 * GIGA
    assert found.matmul_flops == 1.25 * TERA
    assert found.attention_flops == 1.25 * TERA / 2
    assert found.score_bytes == 18.0
    # The fixed time is the pass's, once.
    slow = replace(HOST, fixed_s=5.0)
    assert turns_time(on_card, kept, 1.0, roof(fixed_s=0.5, host=slow)).seconds == pytest.approx(29.5)


def test_many_passes_at_once_are_each_their_own():
    tokens = np.array([1.0, 31.0, 32.0, 100.0])
    shared = roof(link_bandwidth=0.5 * GIGA, host=HOST)
    wide = replace(KEPT, weight_bytes=np.full(4, KEPT.weight_bytes))
    many = turns_time(ON_CARD, wide, tokens, shared)
    each = [turns_time(ON_CARD, KEPT, float(t), shared) for t in tokens]
    for name in ("seconds", "memory_s", "compute_s"):
        got = np.broadcast_to(getattr(many, name), 4)
        assert got == pytest.approx([float(getattr(one, name)) for one in each])
    assert each[1].seconds > each[2].seconds


OFFLOADED = {
    "gpu_layers": 2,
    "host": {"bandwidth_gbs": 80, "peak_tflops": 2, "capacity_gb": 4},
    "link_gbs": 30,
    "link_latency_us": 0,
    "bandwidth_fraction": 1.0,
    "compute_fraction": 1.0,
}


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("more", [{}, {"devices": 4}, {"devices": 4, "parallel": "pipeline"}, OFFLOADED])
def test_a_file_that_is_larger_than_its_format_says_reads_longer(ratio, more):
    setup = resolve(question(**more))
    groups = [Group(1.0, 1.0, 10.0)]
    found = ceiling_roof(setup, "decode")
    if found.host is None:
        terms, stages = setup_terms(setup), stages_of(setup)
        time = spread_time(terms, groups, found, "ceiling", stages, ratio)
        plain = spread_time(terms, groups, found, "ceiling", stages)
    else:
        time = offloaded_time(setup, groups, found, "ceiling", ratio)
        plain = offloaded_time(setup, groups, found, "ceiling")
    assert float(time.weight_s) == pytest.approx(ratio * float(plain.weight_s))
    assert float(time.cost.weight_bytes) == pytest.approx(ratio * float(plain.cost.weight_bytes))
    assert float(time.cache_s) == float(plain.cache_s)
    assert float(plain.seconds) == pytest.approx(float(run(setup, groups, found).seconds))


@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
def test_all_groups_of_a_pass_count_as_tokens_fed_beside_a_host(kind):
    # A decoding crowd of 20 and a chunk of 12 are 32 tokens, a chunk of 11 is one too few to send the weights.
    setup = resolve(question(**OFFLOADED))
    own = ceiling_roof(setup, "prefill") if kind == "ceiling" else estimate_roof(setup, "prefill", "typical")
    for chunk in (11.0, 12.0):
        groups = [Group(20.0, 1.0, 50.0), Group(1.0, chunk, 0.0)]
        card, host = (forward(terms(setup), groups, kind) for terms in (card_terms, host_terms))
        expected = turns_time(card, host, 20.0 + chunk, own)
        assert float(run(setup, groups, own).seconds) == pytest.approx(float(expected.seconds), rel=1e-12)
        four = [Group(2.0, 8.0, 0.0), Group(2.0, chunk - 4.0, 0.0)]
        card, host = (forward(terms(setup), four, kind) for terms in (card_terms, host_terms))
        expected = turns_time(card, host, 16.0 + 2 * (chunk - 4.0), own)
        assert float(run(setup, four, own).seconds) == pytest.approx(float(expected.seconds), rel=1e-12)


def test_a_pass_through_stages_counts_every_micro_batch():
    # Six sequences in three micro-batches: weights three times; all else once for each sequence.
    one = resolve(question(attention_kernels="unfused"))
    three = resolve(question(devices=3, parallel="pipeline", attention_kernels="unfused"))
    groups = [Group(6.0, 1.0, 100.0)]
    for kind in ("ceiling", "estimate"):
        plain, staged = pass_cost(one, groups, kind), pass_cost(three, groups, kind)
        assert staged.weight_bytes == pytest.approx(3 * float(plain.weight_bytes))
        for name in ("cache_bytes", "matmul_flops", "attention_flops", "tokens", "score_bytes"):
            assert getattr(staged, name) == pytest.approx(getattr(plain, name))
        assert staged.link_bytes == pytest.approx(6 * 2 * 2 * HIDDEN)
        assert staged.messages == 2
        through = run(three, groups, ceiling_roof(three, "decode"), kind).cost
        assert through.bytes == pytest.approx(float(staged.bytes))
        assert (through.tokens, through.messages) == (6.0, 2)


@pytest.mark.parametrize(
    ("devices", "parallel", "stages"), [(1, "pipeline", 1), (2, "pipeline", 2), (2, "tensor", 1)]
)
def test_stages(devices, parallel, stages):
    setup = resolve(question(devices=devices, parallel=parallel))
    assert stages_of(setup) == stages
    groups = [Group(2.0, 1.0, 100.0)]
    assert float(pass_cost(setup, groups).weight_bytes) == stages * float(
        pass_cost(resolve(question()), groups).weight_bytes
    )


@pytest.mark.parametrize("kind", ["ceiling", "estimate"])
@pytest.mark.parametrize("more", [{}, {"devices": 3}, {"devices": 2, "parallel": "pipeline"}])
def test_the_target_s_own_twin_takes_as_long_beside_it(kind, more):
    setup = resolve(question(batch=4, attention_kernels="unfused", **more))
    own = ceiling_roof(setup, "decode") if kind == "ceiling" else estimate_roof(setup, "decode", "typical")
    twin = run_beside(setup, setup.model, [decode_group(setup)], own)
    assert float(twin.seconds) == pytest.approx(float(decode_step(setup, own).seconds), rel=1e-12)


def test_a_draft_is_whole_on_the_card():
    setup = resolve(question(**OFFLOADED))
    alone = resolve(question())
    found = run_beside(setup, setup.model, [decode_group(setup)], ceiling_roof(setup, "decode"))
    assert float(found.seconds) == pytest.approx(
        float(decode_step(alone, ceiling_roof(alone, "decode")).seconds), rel=1e-12
    )


def test_roofs_without_a_link_wait_for_no_message():
    setup = resolve(question())
    for found in (ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")):
        assert (found.link_bandwidth, found.link_latency_s) == (math.inf, 0.0)


def test_roofs_of_card_and_host():
    given = {**OFFLOADED, "fixed_ms": 4.0, "bandwidth_fraction": 0.5, "compute_fraction": 0.25}
    setup = resolve(question(**given))
    best, usual = ceiling_roof(setup, "decode"), estimate_roof(setup, "decode", "typical")
    assert (best.bandwidth, best.peak, best.attention_peak, best.fixed_s) == (1e12, 1e14, 1e14, 0.0)
    assert best.host is not None
    assert (best.host.bandwidth, best.host.peak, best.host.attention_peak, best.host.fixed_s) == (
        80e9,
        2e12,
        2e12,
        0.0,
    )
    assert (usual.bandwidth, usual.peak, usual.fixed_s) == (0.5e12, 0.25e14, pytest.approx(4e-3))
    assert usual.host is not None
    assert usual.host.fixed_s == 0.0
    for at, level in enumerate(("slow", "typical", "fast")):
        host = estimate_roof(setup, "prefill", level).host  # type: ignore[arg-type]
        assert host is not None
        assert setup.host is not None
        assert host.bandwidth == pytest.approx(80e9 * setup.host.factors.bandwidth[at])
        assert host.peak == pytest.approx(2e12 * setup.host.factors.compute[at])


@pytest.mark.parametrize(("told", "rate"), [(None, 0.25e14), (10.0, 1e13), (1e6, 1e14)])
def test_attention_s_own_rate_is_never_above_the_published_one(told, rate):
    s = question(compute_fraction=0.25, attention_tflops=told)
    assert estimate_roof(resolve(s), "prefill", "typical").attention_peak == pytest.approx(rate)


def test_attention_s_own_rate_stands_where_no_rate_is_published():
    s = question(device={"bandwidth_gbs": 1000}, attention_tflops=3.0)
    found = estimate_roof(resolve(s), "decode", "typical")
    assert math.isnan(found.peak)
    assert found.attention_peak == 3e12


def test_a_scenario_s_own_attention_rate_stands_beside_a_fit():
    fit = {"bandwidth_gbs": 60, "matrix_tflops": 4, "attention_tflops": 2}
    for phase in ("decode", "prefill"):
        found = estimate_roof(resolve(question(calibration=fit, attention_tflops=7.0)), phase, "typical")
        assert (found.peak, found.attention_peak) == (4e12, 7e12)


def test_lengths_come_in_the_steps_that_a_fit_found_and_else_one_by_one():
    fit = {"bandwidth_gbs": 60, "cache_step": 2}
    assert {term.cache_step for term in setup_terms(resolve(question(calibration=fit)))} == {2}
    assert {term.cache_step for term in setup_terms(resolve(question()))} == {1}


@pytest.mark.parametrize(("devices", "batch"), [(2, 2.0), (2, 4.0), (3, 6.0), (4, 3.0)])
def test_a_micro_batch_takes_as_long_as_on_one_device_with_all_layers(devices, batch):
    # So many are under way at once as there are stages or sequences.
    alone = resolve(question(link_gbs=None, link_latency_us=None))
    staged = resolve(question(devices=devices, parallel="pipeline", link_gbs=None, link_latency_us=None))
    each = batch / min(devices, batch)
    expected = decode_step(alone, ceiling_roof(alone, "decode"), each)
    assert float(decode_step(staged, ceiling_roof(staged, "decode"), batch).seconds) == pytest.approx(
        float(expected.seconds), rel=1e-12
    )


def test_each_phase_runs_at_its_own_unit_s_rate():
    units = [{"name": "npu", "peak_tflops": {"any": 40}}, {"name": "cpu", "peak_tflops": {"any": 3}}]
    device = {"bandwidth_gbs": 50, "units": units}
    setup = resolve(question(device=device, prefill_unit="npu", decode_unit="cpu", compute_fraction=0.5))
    for phase, rate in (("decode", 3e12), ("prefill", 40e12)):
        assert ceiling_roof(setup, phase).peak == rate  # type: ignore[arg-type]
        assert estimate_roof(setup, phase, "typical").peak == rate / 2  # type: ignore[arg-type]


def test_a_draft_on_the_card_sends_nothing():
    setup = resolve(question(**{**OFFLOADED, "link_latency_us": 1e6, "fixed_ms": 0.0}))
    own = estimate_roof(setup, "decode", "typical")
    found = run_beside(setup, setup.model, [decode_group(setup)], own)
    assert (found.link_s, found.cost.messages) == (0.0, 0.0)
    assert float(found.seconds) < 1.0


def test_what_takes_as_long_either_way_stays_on_the_host():
    # A bound: 15 s of reading there, 15 s over a link as fast as the host's memory.
    own = replace(HOST, peak=0.1 * TERA, attention_peak=0.05 * TERA, kind="ceiling")
    found = turns_time(ON_CARD, KEPT, 1.0, roof(kind="ceiling", link_bandwidth=0.1 * GIGA, host=own))
    assert (float(found.seconds), float(found.compute_s)) == (pytest.approx(19.0), pytest.approx(2.0 + 5.0))
