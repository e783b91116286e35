"""The simulation against a slow one, against queueing theory, and against what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from slmopt.serving.costs import costs
from slmopt.serving.outcome import goodput, outcome
from slmopt.serving.policy import Policy
from slmopt.serving.simulate import Cancelled, simulate
from slmopt.serving.traffic import Lengths, Traffic
from slmopt.specs.base import SpecError
from slmopt.specs.calibration import Calibration
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.forward import Group, PassCost
from slmopt.theory.interference import chunked, whole
from slmopt.theory.latency import latency, prefill
from slmopt.theory.roof import pass_time
from slmopt.theory.roofline import roofs, run, run_beside
from tests.serving.cases import ARTICLE, given, tiny
from tests.serving.oracle import simulate_groups, simulate_slowly

MODELS = {
    "full": {},
    "grouped": {"model": "llama-3.2-1b", "weights": "q4_k_m"},
    "experts": {"model": "qwen3-30b-a3b", "weights": "fp8"},
    "windows": {"model": "gemma-3-4b"},
    "latent": {"model": "deepseek-v3", "weights": "fp8", "capacity_gb": 2000.0},
    "state": {"model": "mamba-2.8b"},
}


def fitted(overlap, **more):
    """The article's server with another bandwidth for batches, a slow attention, and cached tokens in steps."""
    fit = Calibration(
        overlap=overlap,
        bandwidth_gbs=1500,
        batched_gbs=900,
        matrix_tflops=30,
        attention_tflops=0.05,
        fixed_ms=0.7,
        cache_step=8,
    )
    own = {"bandwidth_fraction": None, "compute_fraction": None, "fixed_ms": None}
    return ARTICLE.change(**own, calibration=fit, **more)


def random_requests(seed: int, count: int, rate: float, most: int = 60):
    rng = np.random.default_rng(seed)
    rows = zip(
        np.cumsum(rng.exponential(1 / rate, count)),
        rng.integers(1, most, count),
        rng.integers(1, most, count),
        strict=True,
    )
    return given(*rows)


def same(scenario_, requests, policy):
    found, slow = simulate(scenario_, requests, policy), simulate_slowly(scenario_, requests, policy)
    np.testing.assert_allclose(found.first, [job.stamps[0] for job in slow], rtol=1e-9)
    np.testing.assert_allclose(found.end, [job.stamps[-1] for job in slow], rtol=1e-9)
    waits = outcome(found).gap
    all_gaps = np.sort(np.concatenate([np.diff(job.stamps) for job in slow]))
    assert waits.weights.sum() == len(all_gaps)
    np.testing.assert_allclose(np.repeat(waits.values, waits.weights.astype(int)), all_gaps, atol=1e-9)
    return found


@pytest.mark.parametrize("admission", ["continuous", "chunked"])
@pytest.mark.parametrize("model", MODELS)
def test_every_time_is_that_of_pass_by_pass(model, admission):
    policy = Policy(admission=admission, slots=6, token_budget=16)
    same(ARTICLE.change(**MODELS[model]), random_requests(3, 30, 30.0), policy)


@pytest.mark.parametrize("admission", ["continuous", "chunked"])
def test_a_cached_prefix_is_that_of_pass_by_pass(admission):
    policy = Policy(admission=admission, slots=6, token_budget=16)
    same(ARTICLE.change(prefix_hit=25, model="gemma-3-4b"), random_requests(5, 30, 30.0), policy)


@pytest.mark.parametrize("model", MODELS)
def test_static_groups_are_those_of_pass_by_pass(model):
    s, requests = ARTICLE.change(**MODELS[model], prefix_hit=9), random_requests(6, 40, 30.0)
    policy = Policy(admission="static", slots=6)
    found, slow = simulate(s, requests, policy), simulate_groups(s, requests, policy)
    np.testing.assert_allclose(found.first, [job.stamps[0] for job in slow], rtol=1e-9)
    np.testing.assert_allclose(found.end, [job.stamps[-1] for job in slow], rtol=1e-9)


@pytest.mark.parametrize("admission", ["continuous", "chunked"])
@pytest.mark.parametrize("seed", range(4))
def test_preemption_is_that_of_pass_by_pass(admission, seed):
    policy = Policy(admission=admission, slots=12, token_budget=40)
    found = same(tiny(18), random_requests(seed, 40, 200.0, most=120), policy)
    assert found.preempted, "the case is made so that memory runs out"
    assert found.peak_bytes <= found.room.size


@pytest.mark.parametrize("seed", range(2))
def test_no_rate_known_leaves_memory_to_decide(seed):
    phone = scenario({"model": "llama-3.2-1b", "device": "snapdragon-8-elite"})
    same(phone, random_requests(seed, 12, 2.0), Policy(slots=4))


def test_long_runs_put_finished_steps_away():
    """More steps than are kept ahead at once."""
    requests = given(*((0.01 * i, 5, 4000) for i in range(9)))
    found = simulate(ARTICLE, requests, Policy(slots=2))
    assert len(found.step_end) > 3 * 8192 / 2
    slow = simulate_slowly(ARTICLE, given(*((0.01 * i, 5, 4000) for i in range(3))), Policy(slots=2))
    np.testing.assert_allclose(found.end[:2], [job.stamps[-1] for job in slow[:2]], rtol=1e-9)
    assert (np.diff(found.step_end) > 0).all()


def test_light_load_is_the_closed_formulas():
    setup = resolve(ARTICLE.change(prompt=2000, output=200))
    found = outcome(simulate(ARTICLE, Traffic(kind="even", rate=0.01, requests=20).draw(), Policy()))
    closed = latency(setup, roofs(setup, "decode")["typical"], roofs(setup, "prefill")["typical"])
    assert found.ttft.percentile(99) == pytest.approx(closed.ttft_s, rel=1e-9)
    assert found.tpot.percentile(50) == pytest.approx(closed.tpot_s, rel=1e-9)
    assert found.e2e.worst == pytest.approx(closed.reply_s, rel=1e-9)
    assert found.mean_batch == 1
    assert found.slot_utilisation == 1
    assert not found.saturated


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_slot_and_equal_requests_wait_as_in_m_d_1(load):
    """Mean wait = load·D / (2·(1 − load)), with D the time of one request."""
    traffic = Traffic(requests=40_000, prompt=Lengths(mean=200), output=Lengths(mean=5))
    alone = simulate(ARTICLE, traffic.model_copy(update={"requests": 1}).draw(), Policy(slots=1))
    service = float(alone.end[0] - alone.arrival[0])
    runs = [
        simulate(ARTICLE, traffic.model_copy(update={"rate": load / service}).draw(seed), Policy(slots=1))
        for seed in range(3)
    ]
    waits = np.array([(run.admitted - run.arrival).mean() for run in runs])
    assert waits.mean() == pytest.approx(load * service / (2 * (1 - load)), rel=0.06)
    assert not any(outcome(run).saturated for run in runs)


@pytest.mark.parametrize("kind", ["uniform", "geometric", "lognormal"])
def test_a_static_batch_uses_mean_output_over_mean_longest(kind):
    lengths = Lengths(kind=kind, mean=60, spread=0.6)
    requests = Traffic(kind="at_once", requests=2048, prompt=Lengths(mean=20), output=lengths).draw(5)
    static = outcome(simulate(ARTICLE, requests, Policy(admission="static", slots=16)))
    longest = requests.output.reshape(-1, 16).max(axis=1)
    assert static.slot_utilisation == pytest.approx(requests.output.mean() / longest.mean(), rel=1e-3)
    continuous = outcome(simulate(ARTICLE, requests, Policy(slots=16)))
    assert continuous.slot_utilisation > 0.99
    assert continuous.output_tokens_per_s > static.output_tokens_per_s


def test_the_worst_gap_is_the_closed_form_whole_and_in_chunks():
    """A model whose state does not grow, so that the closed form's one context stands for all."""
    s = scenario({"model": "mamba-2.8b", "device": "article-80gb", "prompt": 3000, "batch": 5, "output": 400})
    setup = resolve(s)
    decode, first = roofs(setup, "decode")["typical"], roofs(setup, "prefill")["typical"]
    others = [(0.0, 10, 400)] * 5
    # It wants one token, so that the step after its prompt is everyone else's.
    requests = given(*others, (0.5, 3000, 1))
    worst = outcome(simulate(s, requests, Policy(slots=8))).gap.worst
    closed = whole(setup, decode, first)
    assert worst == pytest.approx(closed.gap_s, rel=1e-9)
    for chunk in (64, 256, 1000):
        policy = Policy(admission="chunked", slots=8, token_budget=chunk + 5)
        found = simulate(s, requests, policy)
        closed = chunked(setup, first, chunk)
        opening = outcome(simulate(s, given(*others), policy))
        assert outcome(found).gap.worst == pytest.approx(max(closed.gap_s, opening.gap.worst), rel=1e-9)
        assert found.first[-1] - found.admitted[-1] == pytest.approx(closed.ttft_s, rel=1e-9)


def test_the_article_s_stall_of_70_ms():
    """One 2,000-token prompt among those who decode: 70 ms of arithmetic and a step."""
    others = [(0.0, 1, 200)] * 4
    found = outcome(simulate(ARTICLE, given(*others, (0.2, 2000, 2)), Policy(slots=32)))
    assert 0.0770 < found.gap.worst < 0.0795
    pieces = Policy(admission="chunked", slots=32, token_budget=256)
    assert outcome(simulate(ARTICLE, given(*others, (0.2, 2000, 2)), pieces)).gap.worst < 0.02


POLICIES = st.builds(
    Policy,
    admission=st.sampled_from(["continuous", "static", "chunked"]),
    memory=st.sampled_from(["paged", "reserved"]),
    slots=st.integers(1, 9),
    token_budget=st.integers(80, 200),
)
ROWS = st.lists(
    st.tuples(st.floats(-0.5, 3.0), st.integers(0, 200), st.integers(0, 80)), min_size=1, max_size=40
)


@settings(max_examples=60)
@examples(rows=ROWS, policy=POLICIES, blocks=st.integers(3, 40), draft=st.booleans(), hit=st.integers(0, 40))
def test_nothing_is_lost_doubled_or_held_beyond_memory(rows, policy, blocks, draft, hit):
    drafting = {"draft_tokens": 3, "acceptance": 0.6, "draft_cost": 0.1} if draft else {}
    s = tiny(blocks, prompt=200, prefix_hit=hit, **drafting)
    requests = given(*sorted(rows))
    run = simulate(s, requests, policy)
    assert len(run.arrival) + sum(run.rejected.values()) == len(rows)
    assert np.isfinite(run.end).all()
    assert (run.first >= run.arrival).all()
    assert (run.end >= run.first).all()
    assert run.peak_bytes <= run.room.size * (1 + 1e-12) or not len(run.arrival)
    assert (run.step_count <= policy.slots).all()
    # Every stay's own tokens add up to the reply: no token twice.
    if not draft:
        given_ = np.isfinite(run.stay_first)
        tokens = np.bincount(run.stay_request[given_], 1 + run.stay_steps[given_], len(run.output))
        np.testing.assert_array_equal(tokens, run.output)
        assert run.step_count.sum() == run.output.sum() - given_.sum()
    # A slot has one holder at a time.
    for slot in range(policy.slots):
        mine = run.stay_slot == slot
        begin, end = run.stay_admitted[mine], run.stay_released[mine]
        assert (end[:-1] <= begin[1:] + 1e-12).all()
    found = outcome(run)
    if len(run.arrival):
        assert 0 < found.slot_utilisation <= 1


def test_the_same_seed_gives_the_same_run():
    traffic = Traffic(rate=3, requests=300, output=Lengths(kind="geometric", mean=50))
    drafting = ARTICLE.change(draft_tokens=4, acceptance=0.7, draft_cost=0.05)
    one, two = (simulate(drafting, traffic.draw(9), Policy(slots=8), seed=9) for _ in range(2))
    np.testing.assert_array_equal(one.end, two.end)
    other = simulate(drafting, traffic.draw(10), Policy(slots=8), seed=10)
    assert (other.end != one.end).any()


def test_drafting_gives_the_expected_tokens_a_pass():
    traffic = Traffic(kind="even", rate=0.05, requests=60, prompt=Lengths(mean=100), output=Lengths(mean=400))
    plain = outcome(simulate(ARTICLE, traffic.draw(), Policy(slots=1)))
    drafting = ARTICLE.change(draft_tokens=4, acceptance=0.7, draft_cost=0.0)
    found = simulate(drafting, traffic.draw(), Policy(slots=1))
    passes = found.stay_steps.sum()
    assert (found.output - 1).sum() / passes == pytest.approx(2.7731, rel=0.02)
    assert plain.tpot.mean / outcome(found).tpot.mean == pytest.approx(2.77, rel=0.03)


def test_a_cached_prefix_shortens_the_first_token_and_is_held_once():
    traffic = Traffic(kind="even", rate=0.5, requests=20, hit_rate=1.0)
    cold = simulate(ARTICLE, traffic.draw(), Policy())
    warm = simulate(ARTICLE.change(prefix_hit=1600), traffic.draw(), Policy())
    setup = resolve(ARTICLE)
    expected = float(prefill(setup, roofs(setup, "prefill")["typical"], 2000.0, 1600.0).seconds)
    assert outcome(warm).ttft.percentile(50) == pytest.approx(expected, rel=1e-9)
    assert warm.room.shared == 1600 * 524_288
    assert outcome(cold).ttft.percentile(50) > 4 * expected
    half = traffic.model_copy(update={"hit_rate": 0.5, "requests": 400})
    hits = simulate(ARTICLE.change(prefix_hit=1600), half.draw(1), Policy()).hit > 0
    assert 0.4 < hits.mean() < 0.6


def test_overload_is_said_and_light_load_is_not_called_so():
    def run(rate: float, count: int = 2000, kind: str = "poisson"):
        traffic = Traffic(
            kind=kind, rate=rate, requests=count, prompt=Lengths(mean=512), output=Lengths(mean=128)
        )
        return outcome(simulate(ARTICLE, traffic.draw(2), Policy(slots=64)))

    most = run(1e6, kind="at_once").completed / run(1e6, kind="at_once").makespan_s
    assert run(2.0 * most).saturated
    assert run(1.3 * most).saturated
    assert not run(0.7 * most).saturated
    assert not run(0.5 * most, kind="bursts").saturated
    over = run(2.0 * most)
    assert over.queue_growth_per_s == pytest.approx(most, rel=0.15)


def test_what_no_server_could_take_is_refused_by_name():
    rows = [(-1.0, 10, 10), (0.0, 10, 0), (0.0, 0, 5), (0.1, 10, 10), (0.2, 400, 10), (float("nan"), 5, 5)]
    run = simulate(tiny(20), given(*rows), Policy())
    assert run.rejected == {
        "negative_time": 1,
        "no_output": 1,
        "no_prompt": 1,
        "larger_than_memory": 1,
        "no_time": 1,
    }
    assert run.served.tolist() == [3]
    nothing = outcome(simulate(tiny(20), given((0.0, 4000, 10)), Policy(memory="reserved")))
    assert nothing.completed == 0
    assert np.isnan(nothing.ttft.percentile(50))


def test_a_model_beyond_the_memory_serves_nobody():
    run = simulate(ARTICLE.change(capacity_gb=10.0), given((0.0, 10, 10)), Policy())
    assert run.rejected == {"larger_than_memory": 1}
    assert not len(run.arrival)


def test_a_run_can_be_watched_and_stopped():
    seen: list[float] = []

    def watch(share: float) -> bool:
        seen.append(share)
        return len(seen) < 3

    traffic = Traffic(rate=100, requests=10_000, prompt=Lengths(mean=20), output=Lengths(mean=5))
    with pytest.raises(Cancelled):
        simulate(ARTICLE, traffic.draw(), Policy(), progress=watch)
    assert len(seen) == 3
    assert seen == sorted(seen)


def test_goodput_counts_only_who_met_both_targets():
    found = outcome(simulate(ARTICLE, given((0.0, 2000, 2), (0.0, 2000, 2), (9.0, 4000, 1)), Policy()))
    both = goodput(found, 0.1, None)
    assert both.share == pytest.approx(1 / 3)
    assert goodput(found, 0.145, 0.01).requests_per_s == pytest.approx(2 / found.makespan_s, rel=0.6)
    assert goodput(found, None, None).share == 1


def test_the_budget_of_a_chunk_must_leave_room():
    with pytest.raises(ValueError, match="above slots"):
        Policy(admission="chunked", slots=64, token_budget=64)
    drafting = ARTICLE.change(draft_tokens=4, acceptance=0.7, draft_cost=0.0)
    with pytest.raises(SpecError, match="above 320"):
        simulate(drafting, given((0.0, 10, 10)), Policy(admission="chunked", slots=64, token_budget=300))


@pytest.mark.parametrize("level", ["ceiling", "slow", "fast"])
@pytest.mark.parametrize("overlap", [None, "products", "single", "none"])
def test_a_single_pass_is_priced_as_arrays_of_passes_are(level, overlap):
    """The quick way for one pass against the roofline's own, with rates of its own for attention, batches and a fit."""
    fit = None
    if overlap is not None:
        fit = Calibration(overlap=overlap, bandwidth_gbs=700, batched_gbs=450, matrix_tflops=60, fixed_ms=0.3)
    own = {"bandwidth_fraction": None, "compute_fraction": None, "fixed_ms": 0.4 if fit is None else None}
    setup = resolve(
        ARTICLE.change(**own, attention_tflops=20.0, batch=7, model="llama-3.1-8b", calibration=fit)
    )
    table = costs(setup, Policy(slots=9, rates=level), 300)
    rng = np.random.default_rng(1)
    moved, matmul, attention, tokens = (
        rng.uniform(1e6, 1e11, 50),
        rng.uniform(1e6, 1e13, 50),
        rng.uniform(1e6, 1e11, 50),
        rng.integers(1, 4, 50).astype(float),
    )
    quick = [table.decode.seconds(*one) for one in zip(moved, matmul, attention, tokens, strict=True)]
    own = pass_time(PassCost(moved, 0.0, matmul, attention, tokens=tokens), table.decode_roof).seconds
    np.testing.assert_allclose(quick, own, rtol=1e-12)


@pytest.mark.parametrize("admission", ["continuous", "chunked"])
@pytest.mark.parametrize("overlap", ["products", "single", "none"])
def test_a_fitted_server_is_that_of_pass_by_pass(overlap, admission):
    """A fit's rates depend on the tokens of a pass, and on how its times join."""
    policy = Policy(admission=admission, slots=6, token_budget=16)
    same(fitted(overlap), random_requests(3, 30, 30.0), policy)


@pytest.mark.parametrize("overlap", ["products", "single", "none"])
def test_fitted_static_groups_are_those_of_pass_by_pass(overlap):
    s, requests = fitted(overlap, prefix_hit=9), random_requests(6, 40, 30.0)
    policy = Policy(admission="static", slots=6)
    found, slow = simulate(s, requests, policy), simulate_groups(s, requests, policy)
    np.testing.assert_allclose(found.first, [job.stamps[0] for job in slow], rtol=1e-9)
    np.testing.assert_allclose(found.end, [job.stamps[-1] for job in slow], rtol=1e-9)


def test_a_fitted_server_that_drafts_feeds_what_it_drafts():
    """Every draft is refused, so each check feeds four tokens and gives one, after three steps of the small model."""
    s = fitted("single", draft_tokens=3, acceptance=0.0, draft_model="llama-3.2-1b")
    setup = resolve(s)
    found = simulate(s, given((0.0, 60, 12)), Policy(slots=4))
    step = roofs(setup, "decode")["typical"]
    past = 60.0 + np.arange(11)
    check = run(setup, [Group(1.0, 4.0, past, 4.0)], step).seconds
    drafted = run_beside(setup, setup.draft, [Group(1.0, 1.0, past, 1.0)], step).seconds
    assert float((found.end - found.first)[0]) == pytest.approx(float(np.sum(check + 3 * drafted)), rel=1e-9)
