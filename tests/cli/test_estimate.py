"""``estimate``: the articles' worked examples, the contract's keys, and answers that are no errors."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import CARD, MODEL_1B, MODEL_7B, SMALL, call, estimate

DECODE = {
    "weight_bytes",
    "kv_bytes",
    "flops",
    "memory_s",
    "compute_s",
    "step_s",
    "bound",
    "intensity",
    "tokens_per_s",
    "tokens_per_s_per_sequence",
}
PREFILL = {
    "weight_bytes",
    "kv_bytes",
    "flops",
    "memory_s",
    "compute_s",
    "seconds",
    "bound",
    "intensity",
    "tokens_per_s",
}
BATCHING = {
    "crossover_batch",
    "crossover_batch_weights_only",
    "crossover_context_limit",
    "throughput_limit_tokens_per_s",
}
SPECULATION = {"expected_tokens_per_pass", "speedup", "best_draft_tokens", "break_even_acceptance"}
CAPACITY = {"weight_bytes", "kv_bytes_per_token", "kv_bytes_per_sequence", "max_sequences", "fits"}


def test_keys_are_those_of_the_contract():
    found = estimate(MODEL_7B, CARD, "--weights", "16", "--context", "4000")
    assert {"ceiling", "estimate", "sources", "roofline", "capacity"} <= set(found)
    for phases in (found["ceiling"], found["estimate"], *found["range"].values()):
        assert set(phases) == {"decode", "prefill", "latency", "batching", "speculation"}
        assert set(phases["decode"]) == DECODE
        assert set(phases["prefill"]) == PREFILL
        assert set(phases["latency"]) == {"ttft_s", "tpot_s", "reply_s"}
        assert set(phases["batching"]) == BATCHING
        assert set(phases["speculation"]) == SPECULATION
    assert set(found["roofline"]) == {"ridge", "bandwidth", "peak_flops"}
    assert set(found["capacity"]) == CAPACITY
    assert isinstance(found["sources"], list)


def test_serving_article():
    """ "LLM Inference Optimization": 7B at 16 bits on 2 TB/s, 400 TFLOPS, 80 GB."""
    found = estimate(MODEL_7B, CARD, "--weights", "16", "--context", "4000", "--prompt", "2000")
    held = found["capacity"]
    assert held["weight_bytes"] == 14e9
    assert held["kv_bytes_per_token"] == 524_288
    assert held["kv_bytes_per_sequence"] == 2_097_152_000
    assert held["max_sequences"] == 31
    assert held["fits"] is True
    assert found["ceiling"]["batching"]["crossover_batch_weights_only"] == pytest.approx(200)
    assert found["ceiling"]["batching"]["crossover_batch"] is None
    assert found["ceiling"]["prefill"]["memory_s"] == pytest.approx(7e-3)
    assert found["ceiling"]["prefill"]["seconds"] == pytest.approx(70e-3)
    assert found["ceiling"]["prefill"]["bound"] == "compute"
    assert found["roofline"] == {"ridge": 200.0, "bandwidth": 2e12, "peak_flops": 400e12}


@pytest.mark.parametrize(
    ("batch", "compute_ms", "tokens_per_s"),
    [(1, 0.035, 142.857), (16, 0.56, 2285.714), (64, 2.24, 9142.857), (200, 7.0, 28571.43)],
)
def test_batch_table_without_cache_reads(batch: int, compute_ms: float, tokens_per_s: float):
    found = estimate(MODEL_7B, CARD, "--weights", "16", "--context", "0", "--batch", str(batch))
    decode = found["ceiling"]["decode"]
    assert decode["memory_s"] == pytest.approx(7e-3)
    assert decode["compute_s"] == pytest.approx(compute_ms * 1e-3)
    assert decode["tokens_per_s"] == pytest.approx(tokens_per_s, rel=1e-5)
    assert decode["tokens_per_s_per_sequence"] == pytest.approx(tokens_per_s / batch, rel=1e-5)


@pytest.mark.parametrize(
    ("weights", "context", "tokens_per_s"),
    [("16", "0", 25.0), ("4.5", "0", 88.88888888888889), ("4.5", "4096", 71.76507499461819)],
)
def test_small_model_article(weights: str, context: str, tokens_per_s: float):
    """ "SLM Inference Optimization, in depth": 1B on 50 GB/s, 4 TFLOPS."""
    found = estimate(MODEL_1B, SMALL, "--weights", weights, "--context", context, "--prompt", "1000")
    assert found["ceiling"]["decode"]["tokens_per_s"] == pytest.approx(tokens_per_s, rel=1e-12)
    assert found["ceiling"]["prefill"]["seconds"] == pytest.approx(0.5)
    assert found["roofline"]["ridge"] == pytest.approx(80)


def test_grouped_heads_and_narrow_cache():
    gqa = MODEL_7B.replace('"kv_heads": 32', '"kv_heads": 8')
    found = estimate(gqa, CARD, "--weights", "16", "--context", "4000")["capacity"]
    assert (found["kv_bytes_per_token"], found["max_sequences"]) == (131_072, 125)
    split = estimate(gqa, CARD, "--weights", "16", "--kv", "8", "--kv-v", "4", "--context", "4000")[
        "capacity"
    ]
    assert split["kv_bytes_per_token"] == pytest.approx(131_072 * 12 / 32)


def test_expected_tokens_need_no_draft_cost_and_a_speedup_does():
    found = estimate(MODEL_1B, SMALL, "--acceptance", "0.7", "--draft-tokens", "4")["ceiling"]["speculation"]
    assert found["expected_tokens_per_pass"] == pytest.approx(2.7731)
    assert found["speedup"] is None
    costed = ("--acceptance", "0.7", "--draft-tokens", "4", "--draft-cost", "0.1")
    found = estimate(MODEL_1B, SMALL, "--weights", "16", *costed)["estimate"]["speculation"]
    assert found["speedup"] > 1
    assert found["best_draft_tokens"] >= 1
    assert 0 < found["break_even_acceptance"] < 0.7


def test_estimate_is_never_faster_than_the_ceiling():
    found = estimate("llama-3.2-1b", "rtx-4090", "--batch", "8")
    for phases in (found["estimate"], *found["range"].values()):
        assert phases["decode"]["step_s"] >= found["ceiling"]["decode"]["step_s"]
        assert phases["latency"]["ttft_s"] >= found["ceiling"]["latency"]["ttft_s"]
    slow, fast = (found["range"][level]["decode"]["step_s"] for level in ("slow", "fast"))
    assert slow >= found["estimate"]["decode"]["step_s"] >= fast


def test_given_factors_make_the_estimate():
    own = ("--bandwidth-fraction", "0.5", "--compute-fraction", "0.25", "--fixed-ms", "2")
    found = estimate(MODEL_1B, SMALL, "--weights", "16", "--context", "0", "--prompt", "1000", *own)
    assert found["estimate"]["decode"]["step_s"] == pytest.approx(2 * 0.04 + 0.002, rel=1e-3)
    assert found["estimate"]["prefill"]["seconds"] == pytest.approx(4 * 0.5 + 0.002, rel=1e-3)
    assert "entered" in found["sources"][0]


def test_unknown_compute_rate_leaves_the_bound_open():
    found = estimate(MODEL_1B, '{"bandwidth_gbs": 50}', "--weights", "16", "--context", "0")["ceiling"]
    assert found["decode"]["compute_s"] is None
    assert found["decode"]["bound"] is None
    assert found["decode"]["tokens_per_s"] == pytest.approx(25)
    assert found["batching"]["crossover_batch"] is None
    assert found["prefill"]["seconds"] == pytest.approx(0.04)


def test_unknown_compute_rate_estimates_no_prefill():
    """Memory alone bounds a prompt, but it estimates none."""
    device = '{"bandwidth_gbs": 50}'
    found = estimate(MODEL_1B, device, "--weights", "16")["estimate"]
    assert found["prefill"]["seconds"] is None
    assert found["latency"]["ttft_s"] is None
    assert found["latency"]["tpot_s"] > 0.02
    text = call("estimate", "--model", MODEL_1B, "--device", device, "--weights", "16").out
    assert "No matrix rate is known" in text


def test_too_large_a_model_is_an_answer():
    tiny = '{"bandwidth_gbs": 50, "peak_tflops": 4, "capacity_gb": 0.5}'
    held = estimate(MODEL_1B, tiny, "--weights", "16")["capacity"]
    assert held["fits"] is False
    assert held["max_sequences"] == 0
    text = call("estimate", "--model", MODEL_1B, "--device", tiny, "--weights", "16")
    assert text.code == 0
    assert "does not fit" in text.out


def test_memory_unknown_or_cache_unknown():
    assert estimate(MODEL_1B, SMALL)["capacity"]["fits"] is None
    bare = estimate('{"params": 1e9}', CARD, "--weights", "16")["capacity"]
    assert bare["max_sequences"] is None
    assert bare["fits"] is True


def test_one_token_reply_has_no_time_per_token():
    found = estimate(MODEL_1B, SMALL, "--output", "1")["ceiling"]["latency"]
    assert found["tpot_s"] is None
    assert found["reply_s"] == found["ttft_s"]


def test_context_beyond_the_model_is_a_warning():
    answer = call("estimate", "--model", "llama-3.2-1b", "--device", CARD, "--context", "1000000")
    assert answer.code == 0
    assert answer.err.startswith("warning: ")
    assert answer.err.count("\n") == 1


def test_what_is_assumed_is_said():
    found = estimate(MODEL_1B, SMALL)
    assert any("--weights" in note for note in found["assumed"])
    assert estimate(MODEL_1B, SMALL, "--weights", "16", "--kv", "16")["assumed"] == []


def test_files_and_names_stand_for_the_same(tmp_path):
    device = tmp_path / "card.json"
    device.write_text(CARD)
    model = tmp_path / "model.json"
    model.write_text(MODEL_7B)
    weights = tmp_path / "w.json"
    weights.write_text('{"bits": 16}')
    from_files = estimate(str(model), str(device), "--weights", str(weights), "--kv", '{"bits": 16}')
    inline = estimate(MODEL_7B, CARD, "--weights", "16", "--kv", "f16")
    assert from_files["ceiling"] == inline["ceiling"]
    assert from_files["capacity"] == inline["capacity"]


def test_a_config_json_is_a_model(tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 128256,
        "tie_word_embeddings": True,
    }
    folder = tmp_path / "Llama-3.2-1B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    preset = estimate("llama-3.2-1b", CARD, "--weights", "16")
    for place in (folder, folder / "config.json"):
        assert estimate(str(place), CARD, "--weights", "16")["ceiling"] == preset["ceiling"]


def test_text_says_the_kind_of_every_number():
    text = call("estimate", "--model", MODEL_7B, "--device", CARD, "--weights", "16", "--context", "4000").out
    assert "Decode is limited by memory: at most 124 tokens/s." in text
    assert "at least 8.05 ms" in text
    assert "about " in text
    assert "sequences that fit" in text
    assert "31" in text
    assert "\u00a0" not in text


@pytest.mark.parametrize("written", ["4096", "4,096", "4096.0", "4.096e3"])
def test_counts_may_be_written_as_people_do(written: str):
    found = estimate(MODEL_1B, SMALL, "--context", written)
    assert found["ceiling"]["decode"]["kv_bytes"] == 4096 * 32768
