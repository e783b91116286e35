"""Chunks, release, residency and fused attention as changes of the scenario: they compose, and the pass counts them."""

import pytest

from slmopt.advice.gains import gain, headline
from slmopt.advice.order import candidates, stack
from slmopt.advice.plan import plan
from slmopt.figures import plan as figures
from slmopt.figures import theme
from slmopt.reports.pictures.plan import matrix, waterfall
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import order as order_words
from slmopt.words import plan as words

# Long prompts, many users, a model that is loaded for each, kernels of another age, and fixed groups.
WORST = {
    "model": "llama-2-7b",
    "device": "rtx-4090",
    "weights": "q4_k_m",
    "prompt": 3000,
    "output": 200,
    "batch": 8,
    "batching": "static",
    "residency": "cold",
    "storage_gbs": 3.0,
    "bandwidth_gbs": 300.0,
    "peak_tflops": 1000.0,
    "compute_fraction": 0.8,
    "attention_kernels": "unfused",
}
USUAL = {"batching": "continuous", "residency": "resident", "attention_kernels": "fused"}
CHANGED = {"release": "batching", "keep_resident": "residency", "fuse_attention": "attention_kernels"}


def trials(**values):
    return {t.technique.id: t for t in plan(scenario({**WORST, **values}))}


@pytest.mark.parametrize(("technique", "field"), CHANGED.items())
def test_each_changes_one_field_and_nothing_else(technique, field):
    trial = trials()[technique]
    assert trial.change.after == scenario({**WORST, field: USUAL[field]})
    assert trial.gain == gain(scenario(WORST), trial.change.after)


@pytest.mark.parametrize(("technique", "field"), CHANGED.items())
def test_where_it_stands_already_what_would_be_lost_is_told_by_the_same_pass(technique, field):
    trial = trials(**USUAL)[technique]
    assert trial.change.after is None
    assert trial.change.standing
    usual = scenario({**WORST, **USUAL})
    assert trial.change.worth == gain(usual.change(**{field: WORST[field]}), usual)


def test_by_hand_what_each_gives():
    found = trials()
    lost = sum(1 / k for k in range(1, 9))
    assert found["release"].gain.throughput == pytest.approx(lost)
    assert found["release"].gain.ttft == pytest.approx(1.0)
    e = evaluate(scenario(WORST))
    load = e.setup.weight_bytes / 3e9
    first = float(e.typical.prefill.seconds)
    assert found["keep_resident"].gain.ttft == pytest.approx((load + first) / first)
    assert found["keep_resident"].gain.tpot == pytest.approx(1.0)
    # Arithmetic hides a part of the scores' 36.9 GB.
    scores = 32 * 32 * (3000 * 3001 / 2) * 8 / (300e9 * e.setup.factors.bandwidth[1])
    fused = evaluate(scenario({**WORST, "attention_kernels": "fused"})).typical.prefill
    assert first == pytest.approx(fused.memory_s + scores + fused.fixed_s)
    assert found["fuse_attention"].gain.ttft == pytest.approx((load + first) / (load + float(fused.seconds)))


def test_a_chunk_shortens_the_stall_and_lengthens_the_first_token():
    found = trials(**USUAL, peak_tflops=None, bandwidth_gbs=None)["chunk_prefill"]
    assert found.change.after.prefill_chunk_tokens == 512
    assert found.gain.gap > 2.0
    assert found.gain.ttft < 1.0
    assert "gap" in found.helps
    assert "stall of the others" in words.here(found)
    again = trials(**USUAL, prefill_chunk_tokens=512)["chunk_prefill"]
    assert again.change.after is None
    assert "already" in again.change.what
    assert "fixed group" in trials()["chunk_prefill"].change.what
    assert trials(**USUAL, batch=1)["chunk_prefill"].change.after is None


def test_they_compose_in_the_waterfall():
    start = scenario(WORST)
    found = {step.technique.id: step for step in stack(start, "ttft", "best").steps}
    assert {"keep_resident", "fuse_attention"} <= set(found)
    assert "release" in {step.technique.id for step in stack(start, "throughput", "articles").steps}
    stall = stack(scenario({**WORST, **USUAL}), "gap", "best")
    assert "chunk_prefill" in {step.technique.id for step in stall.steps}
    assert stall.scenario.prefill_chunk_tokens == 512
    assert stall.end == pytest.approx(headline(evaluate(stall.scenario)).stall_s)
    assert {"release", "keep_resident", "fuse_attention", "chunk_prefill"} <= {t.id for t in candidates()}


def test_all_together_is_the_usual_scenario():
    at = scenario(WORST)
    for ident in CHANGED:
        technique = next(t.technique for t in plan(at) if t.technique.id == ident)
        at = technique.change(at).after
    assert at == scenario({**WORST, **USUAL})
    one_by_one = gain(scenario(WORST), at)
    assert one_by_one.ttft > trials()["keep_resident"].gain.ttft


@pytest.mark.parametrize(
    "values",
    [WORST, {**WORST, **USUAL}, {**WORST, **USUAL, "batch": 1}, {"device": "snapdragon-8-elite", "batch": 3}],
)
def test_matrix_and_waterfall_draw_with_a_stall_and_without(values):
    s = scenario(values)
    shown = plan(s)
    theme.checked(matrix(shown).figure)
    several = ("gap" in words.metrics(shown)) == any(
        t.gain is not None and t.gain.gap is not None for t in shown
    )
    assert several
    assert len(figures.matrix(shown).layout.shapes) == len(shown) * len(words.metrics(shown))
    for order in ("best", "articles"):
        found = stack(s, "gap", order)
        theme.checked(waterfall(found).figure)
        assert order_words.title(found)
