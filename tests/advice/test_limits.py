"""How far a technique can go: no gain is beyond its limit, and the limit is what the pass leaves."""

import pytest

from slmopt.advice.diagnosis import diagnose
from slmopt.advice.limits import WHOLE, limit
from slmopt.advice.plan import plan
from slmopt.specs.scenario import scenario
from slmopt.theory.evaluation import evaluate
from slmopt.words import plan as words

PHONE = {"model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000, "output": 100}
SERVER = {"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "f16", "batch": 16, "prompt": 4000}
LAPTOP = {"model": "qwen3-30b-a3b", "device": "apple-m4-max-40c", "prompt": 6000, "batch": 2}
COLD = {**SERVER, "residency": "cold", "batching": "static", "attention_kernels": "unfused"}
EVEN = {"bandwidth_fraction": 0.6, "compute_fraction": 0.6, "fixed_ms": 0.1}


@pytest.mark.parametrize("values", [PHONE, SERVER, LAPTOP, COLD, {**SERVER, **EVEN}])
def test_no_technique_gains_more_than_its_limit(values):
    s = scenario(values)
    e, found = evaluate(s), diagnose(s)
    for trial in plan(s):
        told = limit(e, trial, found)
        said = words.stops(e, trial, found)
        if trial.gain is None:
            assert told is None
            continue
        assert (told is not None) != (trial.technique.id in WHOLE) or told is None
        if trial.technique.id in WHOLE:
            assert "no more to take" in said
            continue
        assert told is not None or e.setup.prefill.estimate is None, trial.technique.id
        if told is None:
            continue
        metric, most = told
        gained = getattr(trial.gain, metric)
        if gained is None:
            continue
        # The middle step stands for all of a reply, and experts come in whole numbers.
        assert gained <= most * 1.02, trial.technique.id
        assert words.metric_name(metric).lower() in said or said == "no limit"


def test_limits_by_hand():
    s = scenario(
        {
            "model": {"params": 1e9},
            "device": {"bandwidth_gbs": 100, "peak_tflops": 10},
            "weights": {"bits": 16},
            "prompt": 1000,
            "output": 100,
            "bandwidth_fraction": 1.0,
            "compute_fraction": 1.0,
            "fixed_ms": 0.0,
        }
    )
    e, found = evaluate(s), diagnose(s)
    told = {t.technique.id: limit(e, t, found) for t in plan(s) if t.gain is not None}
    # 200 ms of prefill against the 20 ms in which the weights are read for one token.
    assert told["cache_prefix"] == ("ttft", pytest.approx(10.0))
    # A step reads 2 GB in 20 ms and computes for 0.2 ms.
    assert told["quantise_weights"] == ("tpot", pytest.approx(100.0))
    assert told["more_bandwidth"] == ("tpot", pytest.approx(100.0))
    assert told["more_arithmetic"] == ("ttft", pytest.approx(10.0))


def test_the_price_of_each_is_one_sentence_with_its_pile_and_its_end():
    s = scenario(SERVER)
    e, found = evaluate(s), diagnose(s)
    for trial in plan(s):
        if trial.gain is None:
            continue
        said = words.price(e, trial, found)
        assert words.PILES[trial.technique.pile] in said
        assert trial.technique.cost in said
        assert said.endswith(".")
