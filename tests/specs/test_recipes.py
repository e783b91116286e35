"""GGUF file types applied to models: bytes that llama-bench printed, bits that llama.cpp's README lists."""

import pytest

from slmopt.specs.blocks import BLOCKS, block_bits, fitting_block
from slmopt.specs.formats import WeightFormat
from slmopt.specs.mixes import MIXES
from slmopt.specs.model import Attention, LayerGroup, Mlp, Model, Moe, State
from slmopt.specs.recipes import nominal_bits, recipe_bits
from slmopt.specs.weights import bits_per_weight, stored_bytes


def dense(layers, hidden, heads, kv_heads, head_dim, width, vocab, tied, *, bias=False, model_type="llama"):
    group = LayerGroup(
        count=layers,
        attention=Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, bias_qkv=bias),
        mlp=Mlp(width=width),
        norm_params=2 * hidden,
    )
    return Model(
        id="m",
        name="m",
        model_type=model_type,
        hidden=hidden,
        vocab=vocab,
        tied=tied,
        groups=(group,),
        final_norm_params=hidden,
    )


def experts(count, layers=32):
    group = LayerGroup(
        count=layers,
        attention=Attention(heads=32, kv_heads=8, head_dim=128),
        moe=Moe(experts=count, active=2, width=14336),
        norm_params=8192,
    )
    return Model(id="m", name="m", hidden=4096, vocab=32000, groups=(group,), final_norm_params=4096)


LLAMA_8B = dense(32, 4096, 32, 8, 128, 14336, 128256, False)
LLAMA_70B = dense(80, 8192, 64, 8, 128, 28672, 128256, False)
LLAMA_1B = dense(16, 2048, 32, 8, 64, 8192, 128256, True)
SMOL_135M = dense(30, 576, 9, 3, 64, 1536, 49152, True)
QWEN_HALF_B = dense(24, 896, 14, 2, 64, 4864, 151936, True, bias=True, model_type="qwen2")


def gguf(recipe):
    return WeightFormat(id=recipe, name=recipe, recipe=recipe)


def by_role(recipe, model):
    return {t.role: bits for t, bits in zip(model.tensors, recipe_bits(recipe, model), strict=True)}


@pytest.mark.parametrize(
    ("model", "recipe", "size"),
    [
        (SMOL_135M, "f16", 269_100_288),
        (SMOL_135M, "q8_0", 143_025_408),
        (SMOL_135M, "q4_k_m", 103_668_480),
        (SMOL_135M, "q4_0", 89_941_248),
        (LLAMA_1B, "f16", 2_471_763_968),
        (LLAMA_1B, "q8_0", 1_313_251_328),
        (LLAMA_1B, "q4_k_m", 799_862_784),
        (LLAMA_1B, "q4_0", 763_097_088),
    ],
)
def test_bytes_equal_what_llama_bench_printed(model, recipe, size):
    assert stored_bytes(gguf(recipe), model) == pytest.approx(size, abs=0.5)


# ggml-org/llama.cpp tools/quantize/README.md at 311c2c9f, Llama-3.1-8B.
README_8B = {
    "iq1_s": 2.0042,
    "iq1_m": 2.1460,
    "iq2_xxs": 2.3824,
    "iq2_xs": 2.5882,
    "iq2_s": 2.7403,
    "iq2_m": 2.9294,
    "iq3_xxs": 3.2548,
    "iq3_xs": 3.4977,
    "iq3_s": 3.6606,
    "iq3_m": 3.7628,
    "iq4_xs": 4.4597,
    "iq4_nl": 4.6818,
    "q2_k_s": 2.9697,
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q3_k_l": 4.2979,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_k_s": 5.5704,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
    "f16": 16.0005,
}


@pytest.mark.parametrize(("recipe", "bits"), README_8B.items())
def test_bits_of_8b_equal_the_readme(recipe, bits):
    assert bits_per_weight(gguf(recipe), LLAMA_8B) == pytest.approx(bits, abs=1e-4)


def test_q4_k_m_is_not_one_number():
    assert bits_per_weight(gguf("q4_k_m"), LLAMA_1B) == pytest.approx(5.18, abs=0.005)
    assert bits_per_weight(gguf("q4_k_m"), SMOL_135M) == pytest.approx(6.1655, abs=1e-4)
    assert bits_per_weight(gguf("q4_k_m"), QWEN_HALF_B) == pytest.approx(6.3455, abs=1e-4)


def test_narrow_rows_fall_back():
    bits = by_role("q4_k_m", SMOL_135M)
    assert bits["attn_q"] == block_bits("Q5_0")
    assert bits["token_embd"] == block_bits("Q8_0")
    assert fitting_block("Q4_K", 576) == "Q5_0"
    assert fitting_block("Q4_K", 100) == "F16"
    assert fitting_block("IQ2_XS", 96) == "IQ4_NL"
    assert fitting_block("Q8_0", 100) == "F16"


def test_a_tied_embedding_takes_the_type_of_the_head():
    assert by_role("q4_0", LLAMA_1B)["token_embd"] == block_bits("Q6_K")
    untied = by_role("q4_0", LLAMA_8B)
    assert (untied["token_embd"], untied["output"]) == (block_bits("Q4_0"), block_bits("Q6_K"))


def test_vectors_and_routers_stay_fp32_in_every_type():
    for recipe in MIXES:
        bits = by_role(recipe, experts(8))
        assert bits["norm"] == bits["ffn_gate_inp"] == 32


def test_values_of_the_80_layer_class_get_larger_blocks():
    assert by_role("q4_k_m", LLAMA_70B)["attn_v"] > by_role("q4_k_m", LLAMA_8B)["attn_v"]
    assert by_role("q4_0", LLAMA_70B)["attn_v"] == block_bits("Q4_0")


def test_eight_experts_get_larger_attention():
    eight, more = by_role("q4_k_m", experts(8)), by_role("q4_k_m", experts(16))
    assert eight["attn_v"] == eight["attn_k"] == block_bits("Q8_0")
    assert eight["attn_output"] == block_bits("Q5_K")
    assert more["attn_k"] == more["attn_output"] == block_bits("Q4_K")
    low = by_role("iq2_xs", experts(8))
    assert (low["attn_k"], low["attn_output"]) == (block_bits("Q4_K"), block_bits("Q5_K"))


def test_only_experts_are_mxfp4():
    bits = by_role("mxfp4_moe", experts(32))
    assert bits["ffn_up_exps"] == 4.25
    assert bits["attn_q"] == bits["output"] == 8.5
    assert nominal_bits("mxfp4_moe") == 4.25


def test_layers_are_counted_where_the_tensor_is():
    """In a hybrid every fourth layer attends: its values are the first, second … of eight, not of 32."""
    attending = LayerGroup(
        count=8,
        attention=Attention(heads=32, kv_heads=8, head_dim=128),
        mlp=Mlp(width=14336),
        norm_params=8192,
    )
    other = LayerGroup(count=24, state=State(kind="state"), mlp=Mlp(width=14336), norm_params=8192)
    model = Model(
        id="m",
        name="m",
        hidden=4096,
        vocab=128256,
        groups=(attending, other),
        order=((1, 3), (0, 1)) * 8,
        final_norm_params=4096,
    )
    values = [
        b for t, b in zip(model.tensors, recipe_bits("q4_k_m", model), strict=True) if t.role == "attn_v"
    ]
    # of eight: the first, the last, and every third between
    larger = [0, 3, 6, 7]
    mean = (len(larger) * block_bits("Q6_K") + (8 - len(larger)) * block_bits("Q4_K")) / 8
    assert values == [pytest.approx(mean)]


def test_an_importance_matrix_moves_the_first_layers():
    assert bits_per_weight(gguf("iq4_xs_imatrix"), LLAMA_70B) < bits_per_weight(gguf("iq4_xs"), LLAMA_70B)
    assert bits_per_weight(gguf("q4_0_imatrix"), LLAMA_8B) > bits_per_weight(gguf("q4_0"), LLAMA_8B)


def test_falcon_has_rules_of_its_own():
    falcon = dense(60, 8192, 128, 8, 64, 32768, 65024, True, model_type="falcon")
    assert by_role("q4_k_m", falcon)["token_embd"] == block_bits("Q8_0")
    assert by_role("q3_k_m", falcon)["attn_output"] == block_bits("Q3_K")


@pytest.mark.parametrize("model", [SMOL_135M, QWEN_HALF_B, LLAMA_8B, LLAMA_70B, experts(8), experts(128)])
def test_every_type_resolves_for_every_shape(model):
    for recipe in MIXES:
        bits = recipe_bits(recipe, model)
        assert len(bits) == len(model.tensors)
        assert min(bits) >= min(8 * size / weights for weights, size in BLOCKS.values())
        assert nominal_bits(recipe) <= bits_per_weight(gguf(recipe), model) * 1.06


def test_names_are_forgiving_and_unknown_ones_named():
    assert recipe_bits("Q4_K_M", SMOL_135M) == recipe_bits("q4-k-m", SMOL_135M)
    with pytest.raises(ValueError, match="q9_z"):
        nominal_bits("q9_z")
