"""Rows of the replay cases that hand arithmetic settles (RC18 to RC23): real models on the articles' devices.

Each row names a wrong answer that other tools gave; the right one is computed here once more, number by number, from
the model's published shape. RC16 and RC24 to RC26 stand with the worked examples.
"""

from __future__ import annotations

import pytest

from slmopt import evaluate, scenario
from slmopt.theory.evaluation import Evaluation

# https://huggingface.co/meta-llama/Llama-2-7b-hf, config.json: 6,738,415,616 weights, 131,072,000 of them embedding.
LLAMA_2_7B = {
    "hidden": 4096,
    "vocab": 32000,
    "final_norm_params": 4096,
    "groups": [
        {
            "count": 32,
            "attention": {"heads": 32, "kv_heads": 32, "head_dim": 128},
            "mlp": {"width": 11008},
            "norm_params": 8192,
        }
    ],
}
# https://huggingface.co/meta-llama/Llama-3.2-1B, config.json: 1,235,814,400 weights, embedding and head tied.
LLAMA_32_1B = {
    "hidden": 2048,
    "vocab": 128256,
    "tied": True,
    "final_norm_params": 2048,
    "groups": [
        {
            "count": 16,
            "attention": {"heads": 32, "kv_heads": 8, "head_dim": 64},
            "mlp": {"width": 8192},
            "norm_params": 4096,
        }
    ],
}
CARD = {"bandwidth_gbs": 2000, "peak_tflops": 400, "capacity_gb": 80}
SMALL = {"bandwidth_gbs": 50, "peak_tflops": 4}

MODEL, EMBEDDING = 6_738_415_616, 131_072_000
NORMS = 65 * 4096
STREAMED = MODEL - EMBEDDING
LAYERS = STREAMED - EMBEDDING - NORMS  # in matrix products, without the head
PAIR = 32 * 4 * 32 * 128  # operations for a (query, key) pair in all layers

both = pytest.mark.parametrize("model", [LLAMA_2_7B, "llama-2-7b"], ids=["described", "preset"])


def llama(model: object, **more: object) -> Evaluation:
    return evaluate(scenario({"model": model, "device": CARD, "weights": {"bits": 16}, **more}))


@both
def test_the_model_has_the_published_size(model):
    assert llama(model).setup.model.total_params == MODEL
    assert llama(model).setup.model.active_params == MODEL
    assert llama(model).capacity.weight_bytes == 2 * MODEL


@both
def test_rc18_decode_does_not_stream_the_input_embedding(model):
    step = llama(model, context=1).ceiling.decode
    assert step.cost.bytes == 2 * STREAMED + 524_288
    assert step.seconds == pytest.approx(6.608e-3, abs=5e-7)
    assert step.seconds == pytest.approx((2 * STREAMED + 524_288) / 2e12, rel=1e-12)


@both
@pytest.mark.parametrize(("batch", "tokens_per_s"), [(1, 150), (16, 2083), (64, 5870), (200, 9985)])
def test_rc19_cache_reads_slow_a_batch_down(model, batch, tokens_per_s):
    assert llama(model, context=256, batch=batch).ceiling.device_tokens_per_s == pytest.approx(
        tokens_per_s, abs=0.5
    )


@both
def test_rc20_prefill_counts_causal_pairs_and_one_position_of_logits(model):
    first = llama(model, prompt=2000).ceiling.prefill
    flops = 2 * LAYERS * 2000 + 2 * EMBEDDING + PAIR * 2000 * 2001 // 2
    assert first.cost.flops == pytest.approx(flops, rel=1e-12)
    assert first.seconds == pytest.approx(67.4e-3, abs=5e-5)


@pytest.mark.parametrize("model", [LLAMA_32_1B, "llama-3.2-1b"], ids=["described", "preset"])
def test_rc21_a_tied_embedding_is_stored_and_read_once(model):
    result = evaluate(scenario({"model": model, "device": SMALL, "weights": {"bits": 4.5}, "context": 4096}))
    assert result.setup.model.total_params == 1_235_814_400
    assert result.capacity.weight_bytes == result.ceiling.decode.cost.weight_bytes == 695_145_600
    assert result.ceiling.decode.cost.cache_bytes == 134_217_728
    assert result.ceiling.decode.seconds == pytest.approx(16.59e-3, abs=5e-6)


@both
def test_rc22_attention_shows_in_a_long_prefill(model):
    first = llama(model, prompt=8000).ceiling.prefill
    assert first.seconds == pytest.approx(300.99e-3, abs=5e-6)
    assert first.cost.matmul_flops == pytest.approx(2 * LAYERS * 8000 + 2 * EMBEDDING, rel=1e-12)
    assert first.cost.attention_flops == pytest.approx(PAIR * 8000 * 8001 // 2, rel=1e-12)


@both
def test_rc23_new_tokens_still_attend_to_the_cached_ones(model):
    first = llama(model, prompt=2000, prefix_hit=1500).ceiling.prefill
    flops = 2 * LAYERS * 500 + 2 * EMBEDDING + PAIR * (500 * 1500 + 500 * 501 // 2)
    assert first.cost.flops == pytest.approx(flops, rel=1e-12)
    assert first.seconds == pytest.approx(17.338e-3, abs=5e-7)
    assert first.cost.cache_bytes == 1500 * 524_288
