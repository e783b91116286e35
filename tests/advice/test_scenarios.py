"""Advice on scenarios whose answer a specialist knows; many of them where the popular advice is wrong.

Each test's name is the sentence; the numbers are those that it rests on.
"""

import pytest

from slmopt.advice.diagnosis import diagnose
from slmopt.advice.goals import goals
from slmopt.advice.plan import Trial, plan
from slmopt.advice.solve import solve
from slmopt.specs.scenario import scenario
from slmopt.specs.setup import resolve
from slmopt.theory.evaluation import evaluate
from slmopt.theory.roofline import estimate_roof
from slmopt.theory.speculation import speedup
from slmopt.words import plan as words

ARTICLE = {"model": "article-7b", "device": "article-80gb", "weights": "16-bit", "cache_k": "16-bit"}
EVEN = {"bandwidth_fraction": 0.6, "compute_fraction": 0.6, "fixed_ms": 0.0}


def tried(values: dict[str, object]) -> dict[str, Trial]:
    return {trial.technique.id: trial for trial in plan(scenario(values))}


def gain(trial: Trial, metric: str) -> float:
    return words.value(trial, metric)


def drafting(values: dict[str, object], acceptance: float, length: int) -> float:
    setup = resolve(scenario(values))
    return float(speedup(setup, estimate_roof(setup, "decode", "typical"), acceptance, length))


def test_quantising_does_nothing_for_a_compute_bound_first_token():
    found = tried(
        {"model": "llama-3.1-8b", "device": "article-80gb", "weights": "f16", "prompt": 4000, **EVEN}
    )
    assert gain(found["quantise_weights"], "ttft") == pytest.approx(1.0, abs=0.01)
    assert gain(found["quantise_weights"], "tpot") > 2.5


def test_nor_does_it_where_other_machines_reached_less_with_16_bits():
    # Reference rows of 16-bit weights on such cards reach half the matrix rate of quantised ones: other engines' rows.
    found = tried({"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "f16", "prompt": 4000})
    assert gain(found["quantise_weights"], "ttft") == pytest.approx(1.0, abs=0.01)


def test_fewer_bits_gain_less_than_the_bits_say_once_the_cache_is_read():
    short, long = (
        tried({**ARTICLE, **EVEN, "prompt": tokens, "batch": 8})["quantise_weights"] for tokens in (100, 8000)
    )
    assert gain(short, "tpot") > 3.0
    assert gain(long, "tpot") < 1.3


def test_four_bits_hardly_help_a_tiny_model_that_waits_for_launches():
    found = tried({"model": "smollm2-135m", "device": "h100-sxm-80gb", "weights": "f16", "prompt": 100})
    assert gain(found["quantise_weights"], "tpot") < 1.05
    assert (
        diagnose(scenario({"model": "smollm2-135m", "device": "h100-sxm-80gb", "weights": "f16"}))[
            "tpot"
        ].part
        == "fixed_time"
    )


def test_a_faster_memory_does_not_shorten_that_models_step_either():
    found = tried({"model": "smollm2-135m", "device": "h100-sxm-80gb", "weights": "f16", "prompt": 100})
    assert gain(found["more_bandwidth"], "tpot") < 1.05


def test_twice_the_tflops_do_nothing_for_streaming():
    found = tried({"model": "llama-3.1-8b", "device": "rtx-4090", "prompt": 2000})["more_arithmetic"]
    assert gain(found, "tpot") == pytest.approx(1.0)
    assert gain(found, "ttft") == pytest.approx(2.0, rel=0.02)


def test_twice_the_bandwidth_does_nothing_for_a_long_prompt():
    found = tried({"model": "llama-3.1-8b", "device": "rtx-4090", "prompt": 2000})["more_bandwidth"]
    assert gain(found, "ttft") == pytest.approx(1.0)
    assert gain(found, "tpot") > 1.7


def test_prefix_caching_does_nothing_for_streaming():
    found = tried({**ARTICLE, **EVEN, "prompt": 2000, "shared_prefix": 1500})["cache_prefix"]
    assert gain(found, "tpot") == pytest.approx(1.0)
    assert "leaves streaming" in words.idle_reason(evaluate(scenario({**ARTICLE, **EVEN})), found)


def test_a_hit_of_three_quarters_gains_less_than_four_when_the_rest_attends_to_a_document():
    values = {
        "model": "llama-3.1-8b",
        "device": "h100-sxm-80gb",
        "prompt": 60_000,
        "shared_prefix": 45_000,
        **EVEN,
    }
    found = tried(values)["cache_prefix"]
    assert 1.5 < gain(found, "ttft") < 3.6


def test_a_smaller_cache_does_nothing_for_a_short_context():
    values = {
        "model": "llama-3.1-70b",
        "device": "h200-sxm-141gb",
        "weights": "fp8",
        "prompt": 100,
        "output": 50,
    }
    found = tried(values)["quantise_cache"]
    assert "tpot" not in found.helps
    assert "capacity" in found.helps


def test_a_smaller_cache_is_what_helps_a_long_one():
    found = tried({"model": "llama-2-7b", "device": "h100-sxm-80gb", "weights": "q4_k_m", "prompt": 32_000})
    assert gain(found["quantise_cache"], "tpot") > 1.5 > gain(found["quantise_weights_3"], "tpot")


def test_grouping_heads_again_is_no_advice_for_a_grouped_model():
    found = tried({"model": "llama-3.1-8b", "device": "rtx-4090"})["group_heads"]
    assert found.gain is None
    assert "already" in found.change.what


def test_a_state_space_model_has_no_heads_to_group_and_no_windows_to_cut():
    found = tried({"model": "mamba-2.8b", "device": "rtx-4090", "weights": "f16"})
    assert found["group_heads"].gain is None
    assert found["window_layers"].gain is None


def test_the_articles_200_users_are_31_and_grouped_heads_make_125():
    values = {**ARTICLE, "batch": 16, "context": 4000, "target_users": 200}
    (users,) = [goal for goal in goals(evaluate(scenario(values))) if goal.name == "users"]
    assert (users.verdict, users.ceiling) == ("missed", 31.0)
    assert gain(tried(values)["group_heads"], "capacity") == pytest.approx(125 / 31)


def test_batching_costs_each_user_once_caches_are_read():
    found = tried({**ARTICLE, "prompt": 2000, "output": 200, "batch": 1})["fill_batch"]
    assert gain(found, "throughput") > 5
    assert gain(found, "tpot") < 0.6


def test_batching_is_no_advice_where_the_target_is_reached_already():
    found = tried({**ARTICLE, "prompt": 2000, "output": 200, "batch": 16, "target_tpot_ms": 20.0})[
        "fill_batch"
    ]
    assert found.gain is None
    assert "at its target" in found.change.what


def test_drafting_pays_for_one_user_on_a_card_with_16_bit_weights():
    found = tried({"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "f16"})["speculate"]
    assert gain(found, "tpot") > 1.5


def test_drafting_loses_past_the_ridge():
    counted = {
        "model": {"params": 7e9},
        "device": "article-80gb",
        "weights": "16-bit",
        "prompt": 1,
        "output": 2,
    }
    cost = {"draft_cost": 0.1, "acceptance": 0.7, "draft_tokens": 4, **EVEN}
    assert drafting({**counted, **cost, "batch": 1}, 0.7, 4) > 1.9
    assert drafting({**counted, **cost, "batch": 400}, 0.7, 4) < 0.7
    assert "no draft length gains" in tried({**counted, "batch": 400})["speculate"].change.what


def test_drafting_gains_less_on_a_mixture_since_checking_touches_more_experts():
    cost = {"draft_cost": 0.05, "acceptance": 0.7, "draft_tokens": 4, **EVEN, "device": "h100-sxm-80gb"}
    dense = drafting({**cost, "model": "llama-3.1-8b", "weights": "f16"}, 0.7, 4)
    mixture = drafting({**cost, "model": "qwen3-30b-a3b", "weights": "f16"}, 0.7, 4)
    assert mixture < 1.25
    assert dense > 2.2


def test_drafting_on_a_mixture_loses_on_a_laptop():
    values = {"model": "qwen3-30b-a3b", "device": "apple-m4-max-40c", "acceptance": 0.6, "draft_cost": 0.1}
    found = tried(values)["speculate"]
    assert found.gain is None
    assert "no draft length gains" in found.change.what


def test_n_grams_lose_on_a_processor_though_the_draft_is_free():
    found = tried({"model": "llama-3.2-1b", "device": "cpu-ddr4-2666-dual"})["speculate_ngram"]
    assert found.gain is None
    assert "0.39" in found.change.what


def test_a_draft_of_a_third_of_the_target_never_pays():
    values = {"model": "llama-3.2-3b", "draft_model": "llama-3.2-1b", "device": "rtx-4090", "acceptance": 0.6}
    assert drafting({**values, "draft_tokens": 4, "verify_cost": 0.13}, 0.6, 4) < 1


def test_a_draft_on_another_device_costs_that_devices_step():
    base = {
        "model": "llama-3.1-70b",
        "device": "h200-sxm-141gb",
        "weights": "fp8",
        "draft_model": "llama-3.2-1b",
    }
    here = drafting({**base, "acceptance": 0.7, "draft_tokens": 4}, 0.7, 4)
    beside = drafting(
        {**base, "acceptance": 0.7, "draft_tokens": 4, "draft_device": "raspberry-pi-5"}, 0.7, 4
    )
    assert here > 1.5
    assert beside < 0.5


def test_a_tree_helps_where_checking_is_cheap_and_hurts_where_it_is_not():
    base = {"model": "llama-3.1-8b", "device": "h100-sxm-80gb", "weights": "f16", "draft_cost": 0.02}
    for verify_cost, better in ((0.0, True), (0.3, False)):
        chain = drafting({**base, "verify_cost": verify_cost}, 0.5, 4)
        tree = drafting({**base, "verify_cost": verify_cost, "draft_width": 3}, 0.5, 4)
        assert (tree > chain) is better


def test_chunks_spare_the_streams_and_cost_the_newcomer():
    found = tried({**ARTICLE, "prompt": 4000, "batch": 16})["chunk_prefill"]
    assert found.gain is not None
    assert found.gain.gap is not None
    assert found.gain.gap > 3
    assert found.gain.ttft is not None
    assert found.gain.ttft < 1
    assert "gap" in found.helps
    assert tried({**ARTICLE, "prompt": 4000, "batch": 1})["chunk_prefill"].gain is None


def test_what_the_estimate_assumes_is_said_with_its_worth_and_not_sold_again():
    found = tried({"model": "llama-3.1-8b", "device": "rtx-4090", "batch": 16})
    for ident in ("fuse_attention", "release", "keep_resident"):
        assert found[ident].gain is None
        assert found[ident].change.standing
        assert found[ident].change.worth is not None
        assert "in the estimate already" in found[ident].change.what
    assert found["release"].change.worth.throughput == pytest.approx(sum(1 / k for k in range(1, 17)))
    load = evaluate(scenario({"model": "llama-3.1-8b", "device": "rtx-4090"})).setup.weight_bytes / 2e9
    first = float(evaluate(scenario({"model": "llama-3.1-8b", "device": "rtx-4090"})).typical.prefill.seconds)
    assert found["keep_resident"].change.worth.ttft == pytest.approx((load + first) / first)


def test_software_comes_first_where_little_is_reached():
    slow = {"model": "llama-3.2-1b", "device": "cpu-ddr4-2666-dual", "bandwidth_fraction": 0.2}
    found = tried(slow)["fix_software"]
    assert gain(found, "tpot") > 2.5
    assert tried({**slow, "bandwidth_fraction": 0.6})["fix_software"].gain is None


def test_the_phones_stream_meets_40_ms_and_its_first_token_cannot_be_promised():
    phone = {"model": "llama-3.2-1b", "device": "snapdragon-8-elite", "prompt": 1000, "output": 200}
    found = {
        goal.name: goal.verdict
        for goal in goals(evaluate(scenario({**phone, "target_ttft_ms": 500.0, "target_tpot_ms": 40.0})))
    }
    assert found == {"ttft": "unknown", "tpot": "met"}
    late = goals(evaluate(scenario({**phone, "target_ttft_ms": 20.0})))
    assert late[0].verdict == "missed", "at every rate that the chip is known to have"


def test_trimming_a_cached_prefix_gains_nothing_more():
    values = {**ARTICLE, **EVEN, "prompt": 2000, "shared_prefix": 1990, "prefix_hit": 1990}
    found = tried(values)["trim_prompt"]
    assert found.change.after is not None
    assert found.change.after.prompt == 1998


def test_no_bandwidth_meets_a_first_token_that_arithmetic_sets():
    s = scenario({**ARTICLE, **EVEN, "prompt": 4000})
    assert not solve(s, "bandwidth_gbs", "ttft_ms", 50).reachable
    assert solve(s, "peak_tflops", "ttft_ms", 50).reachable


def test_a_loaded_server_misses_at_p95_what_it_meets_alone():
    values = {"model": "llama-3.1-8b", "device": "rtx-4090", "prompt": 1000, "target_ttft_ms": 1000.0}
    (alone,) = goals(evaluate(scenario(values)))
    (busy,) = goals(evaluate(scenario({**values, "request_rate": 5.0})))
    assert alone.verdict == "met"
    assert busy.verdict != "met"
    assert busy.p95
