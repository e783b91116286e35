"""Nesting, towers, assumptions, formats, and files that are not what they seem."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmopt.readers import read_config, read_config_format
from slmopt.readers.hf_families import FAMILIES
from slmopt.readers.hf_format import FORMATS
from slmopt.specs.base import SpecError
from slmopt.specs.library import library
from tests.readers.configs import LLAMA, family, llama

VISION = {
    "model_type": "qwen3_vl",
    "depth": 2,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_heads": 2,
    "patch_size": 2,
    "temporal_patch_size": 2,
    "in_channels": 3,
    "num_position_embeddings": 9,
    "spatial_merge_size": 2,
    "out_hidden_size": 64,
    "deepstack_visual_indexes": [0],
}


def test_a_nested_text_config_with_its_tower():
    text = {k: v for k, v in family("qwen3_vl_text").items() if k != "tie_word_embeddings"}
    config = {
        "model_type": "qwen3_vl",
        "tie_word_embeddings": True,
        "text_config": text,
        "vision_config": VISION,
    }
    model = read_config(config)
    plain = read_config(family("qwen3", tie_word_embeddings=True))
    block = 4 * 64 + 4 * 8 + 2 * 8 * 12 + 12 + 8 + 32
    merger = 32 * 32 + 32 + 32 * 64 + 64
    assert model.tower_params == 24 * 8 + 8 + 72 + 2 * block + (16 + merger) + (64 + merger)
    assert model.total_params == plain.total_params + model.tower_params
    assert model.active_params == plain.active_params


def test_an_unknown_tower_is_named():
    model = read_config(
        {"model_type": "some_vl", "text_config": llama(), "vision_config": {"model_type": "some_eye"}}
    )
    assert model.tower_params == 0
    assert any("some_eye" in phrase for phrase in model.assumed)


def test_images_only_layers_count_with_the_tower():
    vision = {"hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_global_layers": 1, "patch_size": 2,
              "image_size": 4, "num_channels": 3, "max_num_tiles": 2, "vision_output_dim": 16}  # fmt: skip
    text = family("mllama_text_model", cross_attention_layers=[1])
    model = read_config({"model_type": "mllama", "text_config": text, "vision_config": vision})
    assert model.layer_count == 2
    assert any("cross-attention" in phrase for phrase in model.assumed)
    assert model.tower_params > 64 * 64


def test_what_is_missing_is_said():
    silent = {
        k: v for k, v in LLAMA.items() if k not in {"num_key_value_heads", "head_dim", "tie_word_embeddings"}
    }
    model = read_config(silent)
    assert "num_key_value_heads = heads = 4 (not in the file)" in model.assumed
    assert "head_dim = hidden/heads = 16 (not in the file)" in model.assumed
    tied = read_config({**silent, "model_type": "gemma", "num_attention_heads": 16})
    assert "tie_word_embeddings = true (the default of gemma; not in the file)" in tied.assumed
    assert tied.tied
    assert read_config(llama()).assumed == ()


def test_an_unknown_architecture_is_read_as_far_as_it_goes():
    model = read_config(llama(model_type="brandnew", hyper_width=7, extra_layers=[1, 2]))
    assert model.total_params == read_config(llama()).total_params
    assert any("brandnew is unknown" in phrase for phrase in model.assumed)
    assert any("hyper_width, extra_layers" in phrase for phrase in model.assumed)
    states = read_config(
        llama(model_type="brandnew", layer_types=["full_attention", "mamba", "full_attention"])
    )
    assert any("mamba layers" in phrase for phrase in states.assumed)


def test_names_and_ids():
    model = read_config(llama(_name_or_path="some/Path-7B"), name="My Model")
    assert (model.id, model.name) == ("my-model", "My Model")
    assert read_config(llama(), id="x").id == "x"
    assert read_config(llama(_name_or_path="some/Path-7B")).id == "path-7b"


def test_bytes_text_and_mapping_agree():
    text = json.dumps(LLAMA)
    assert read_config(text) == read_config(text.encode()) == read_config(LLAMA)
    assert read_config(b"\xef\xbb\xbf" + text.encode()) == read_config(LLAMA)


@pytest.mark.parametrize("kind", ["t5", "whisper", "bart"])
def test_encoder_decoders_are_refused(kind):
    with pytest.raises(SpecError, match="encoder-decoder"):
        read_config(family(kind))
    with pytest.raises(SpecError, match="encoder-decoder"):
        read_config(llama(is_encoder_decoder=True))


@pytest.mark.parametrize("kind", ["bert", "zamba2"])
def test_what_groups_do_not_describe_is_refused(kind):
    with pytest.raises(SpecError, match=kind):
        read_config(family(kind))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[1, 2]", "list"),
        (b"null", "null"),
        (b"{", "line 1"),
        (b"", "JSON"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 90 + b"1" + b"}" * 90, "nested"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "digits"),
        (b" " * (5 * 2**20), "bytes"),
        (json.dumps(llama(hidden_size=10**30)), "hidden_size"),
        (json.dumps(llama(num_hidden_layers=10**9)), "num_hidden_layers"),
        (json.dumps(llama(hidden_size="wide")), "hidden_size"),
        (json.dumps(llama(hidden_size=-1)), "hidden_size"),
        (json.dumps(llama(hidden_size=True)), "hidden_size"),
        (json.dumps(llama(hidden_size=64.5)), "hidden_size"),
        (json.dumps(llama(vocab_size=None)), "vocab_size"),
        ('{"model_type": "llama", "hidden_size": NaN}', "hidden_size"),
        ('{"model_type": "llama", "hidden_size": Infinity}', "hidden_size"),
        (json.dumps(llama(num_key_value_heads=3)), "num_key_value_heads"),
        (json.dumps(llama(tie_word_embeddings="yes")), "tie_word_embeddings"),
        (json.dumps(llama(layer_types="full")), "layer_types"),
        (json.dumps({"text_config": [1]}), "text_config"),
        (json.dumps(llama(layer_types=[{}, {}, {}])), "layer_types"),
        (json.dumps(llama(model_type=["llama"], layer_types=["x"] * 10_000)), "layer_types"),
        (json.dumps(family("mixtral", num_local_experts=4, num_experts_per_tok=5)), "num_experts_per_tok"),
        (json.dumps(family("nemotron_h", hybrid_override_pattern="MX")), "hybrid_override_pattern"),
        ("{}", "hidden_size"),
    ],
)
def test_hostile_files_end_in_one_sentence_and_soon(data, word):
    start = time.perf_counter()
    with pytest.raises(SpecError) as error:
        read_config(data)
    assert time.perf_counter() - start < 1
    message = str(error.value)
    assert word in message
    assert len(message) < 300
    assert "\n" not in message


def test_the_deepest_stack_that_is_read_is_quick():
    start = time.perf_counter()
    model = read_config(family("gemma2", num_hidden_layers=4096, sliding_window=32))
    assert model.layer_count == 4096
    assert model.total_params > 0
    assert time.perf_counter() - start < 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 200) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    *LLAMA, "num_experts", "num_experts_per_tok", "moe_layer_freq", "kv_lora_rank", "layer_types", "vision_config",
    "text_config", "sliding_window", "linear_attn_config", "quantization_config", "mlp_layer_types", "cross_attention_layers",
    "num_nextn_predict_layers", "architectures", "id2label", "head_dim", "sparse_attention_config", "attention_types",
]  # fmt: skip


@given(st.sampled_from(sorted(FAMILIES)), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_any_values_give_a_model_or_a_sentence(model_type, changes):
    try:
        model = read_config({**family(model_type), **changes})
    except SpecError as error:
        told = str(error)
        assert "\n" not in told
    else:
        assert model.total_params > 0
        assert model.active_params <= model.total_params


@pytest.mark.parametrize(
    ("quantisation", "expected"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq-4-g128"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8-channel"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True}, "awq-4-g64"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4-double"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8-channel"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
        ({"quant_method": "fp8", "weight_block_size": None}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": "NVFP4"}}}, "nvfp4"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {
            "num_bits": 4, "type": "int", "group_size": 128, "symmetric": True}}}}, "int4-g128"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {
            "num_bits": 4, "type": "int", "group_size": 128, "symmetric": False}}}}, "int4-g128-zero"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {
            "num_bits": 8, "type": "float", "strategy": "channel"}}}}, "fp8"),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {
            "num_bits": 8, "type": "int", "strategy": "channel"}}}}, "int8-channel"),
        ({"quant_method": "unheard-of"}, None),
        ({"quant_method": "gptq", "bits": "four"}, None),
    ],
)  # fmt: skip
def test_the_format_of_quantised_weights(quantisation, expected):
    assert read_config_format(llama(quantization_config=quantisation)) == expected
    nested = {"model_type": "kimi_k25", "text_config": llama(quantization_config=quantisation)}
    assert read_config_format(nested) == expected


def test_the_format_of_plain_weights():
    assert read_config_format(llama(torch_dtype="bfloat16")) == "bf16"
    assert read_config_format(llama(dtype="float16")) == "f16"
    assert read_config_format(llama(quantization={"group_size": 64, "bits": 4})) == "mlx-4-g64"
    assert read_config_format(llama()) is None


def test_every_format_named_is_a_preset():
    assert set(library().weights) >= FORMATS
