"""What drafts takes memory: a draft model's weights and cache, and heads built in. By hand."""

import pytest

from slmopt.advice.draft_techniques import heads_gb
from slmopt.advice.plan import plan
from slmopt.specs.scenario import Scenario, scenario
from slmopt.theory.evaluation import evaluate
from slmopt.theory.holders import holders
from slmopt.theory.memory import longest_context
from slmopt.words import memory as words

# 14 GB of weights, and 2·10·10·100·2 bytes = 40 kB a token; a draft of 2 GB and 4 kB a token.
BIG = {
    "model": {"params": 7e9, "layers": 10, "kv_heads": 10, "head_dim": 100},
    "device": {"bandwidth_gbs": 1000.0, "peak_tflops": 100.0, "capacity_gb": 24.0},
    "weights": {"bits": 16},
    "cache_k": {"bits": 16},
    "context": 1000,
    "prompt": 900,
    "output": 100,
    "block_tokens": 1,
}
SMALL = {"params": 1e9, "layers": 10, "kv_heads": 1, "head_dim": 100}
DRAFTS = {"draft_tokens": 4, "acceptance": 0.7, "draft_model": SMALL}


def made(**values: object) -> Scenario:
    return scenario({**BIG, **values})


def test_a_draft_model_takes_its_weights_and_a_cache_for_every_sequence():
    plain, held = evaluate(made()).capacity, evaluate(made(**DRAFTS)).capacity
    assert plain.max_sequences == 250, "10 GB / 40 MB"
    assert held.max_sequences == 181, "8 GB / 44 MB"
    assert (held.weight_bytes, held.draft_bytes) == (14e9, 2e9)
    assert held.bytes_per_sequence == pytest.approx(44e6)
    assert held.draft_bytes_per_sequence == pytest.approx(4e6)
    assert held.held_now == pytest.approx(16e9 + 44e6)
    assert held.bytes_per_token == pytest.approx(44_000)
    assert longest_context(evaluate(made(**DRAFTS)).setup, 1) == 181_818


def test_what_does_not_draft_here_takes_nothing():
    for values in (
        {"draft_model": SMALL, "acceptance": 0.7},
        {**DRAFTS, "draft_device": "rtx-4090"},
        {"draft_tokens": 4, "acceptance": 0.7, "draft_cost": 0.1},
        {"draft_heads_gb": 3.0},
    ):
        assert evaluate(made(**values)).capacity == evaluate(made()).capacity


def test_built_in_heads_take_their_weights():
    held = evaluate(made(draft_tokens=2, acceptance=0.8, draft_cost=0.03, draft_heads_gb=0.5)).capacity
    assert held.max_sequences == 237, "9.5 GB / 40 MB"
    assert (held.draft_bytes, held.draft_bytes_per_sequence) == (0.5e9, 0.0)


def test_a_draft_that_takes_the_last_room_does_not_fit():
    large = {**DRAFTS, "draft_model": {**SMALL, "params": 6e9}}
    e = evaluate(made(**large))
    assert e.capacity.fits is False
    assert e.capacity.max_sequences == 0
    assert "12.0" in words.answer(e)
    assert evaluate(made()).capacity.fits


@pytest.mark.parametrize(
    ("more", "places"),
    [
        ({"devices": 2}, {"device": (7e9 + 1e9, 1e9)}),
        ({"devices": 2, "parallel": "pipeline"}, {"stage": (7e9 + 2e9, 2e9)}),
        ({"gpu_layers": 5}, {"card": (7e9 + 2e9, 2e9), "host": (7e9, 0.0)}),
    ],
)
def test_over_several_memories_it_lies_where_it_runs(more, places):
    found = {
        one.place: (one.weight_bytes, one.draft_bytes)
        for one in holders(evaluate(made(**DRAFTS, **more)).setup)
    }
    assert found == {place: pytest.approx(sizes) for place, sizes in places.items()}


def test_engines_hold_the_drafts_cache_too():
    for engine in ("llama.cpp", "vllm", "sglang"):
        plain = evaluate(made(engine=engine, block_tokens=16)).capacity
        held = evaluate(made(engine=engine, block_tokens=16, **DRAFTS)).capacity
        assert held.draft_bytes == 2e9
        assert held.max_sequences < plain.max_sequences
        assert held.bytes_per_sequence == pytest.approx(plain.bytes_per_sequence * 1.1, rel=0.01)


def test_the_techniques_count_what_their_drafts_take():
    trials = {t.technique.id: t for t in plan(scenario({"model": "llama-3.1-8b", "device": "rtx-4090"}))}
    heads, grams = trials["speculate_heads"], trials["speculate_ngram"]
    assert heads.gain.memory < 1.0 <= grams.gain.memory
    assert heads.gain.capacity < grams.gain.capacity
    assert "heads of" in heads.change.assumed
    # One layer of 32; a model that is stored with prediction layers needs no more.
    size = evaluate(scenario({"model": "llama-3.1-8b"})).setup.weight_bytes
    assert heads_gb(scenario({"model": "llama-3.1-8b"})) == pytest.approx(size / 32 / 1e9)
    assert heads_gb(scenario({"model": "deepseek-v3"})) == 0.0
    assert heads_gb(scenario({"model": "deepseek-v3", "draft_heads_gb": 2.0})) == 2.0
