"""safetensors: exact bytes and counts from headers, the shape from a config.json, parts and indexes."""

import json
import math

import pytest

from slmopt.readers.files import read_model_file
from slmopt.readers.hf_config import read_config
from slmopt.readers.safetensors_file import read_safetensors
from slmopt.specs.base import SpecError
from slmopt.specs.scenario import scenario
from slmopt.specs.weights import stored_bytes, tensor_bits
from slmopt.theory.evaluation import evaluate
from tests.readers.configs import DEEPSEEK, LATENT, LLAMA, family, llama

SIZES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "I8": 1, "U8": 1, "I32": 4, "U32": 4, "I64": 8}


def shapes(layers=3, kind="BF16", *, head=True):
    """Tensors of the small Llama as transformers writes them: name to dtype and shape."""
    tensors = {"model.embed_tokens.weight": ("BF16", [100, 64]), "model.norm.weight": ("BF16", [64])}
    if head:
        tensors["lm_head.weight"] = ("BF16", [100, 64])
    for n in range(layers):
        p = f"model.layers.{n}."
        tensors |= {
            f"{p}input_layernorm.weight": ("BF16", [64]),
            f"{p}post_attention_layernorm.weight": ("BF16", [64]),
            f"{p}self_attn.q_proj.weight": (kind, [64, 64]),
            f"{p}self_attn.k_proj.weight": (kind, [32, 64]),
            f"{p}self_attn.v_proj.weight": (kind, [32, 64]),
            f"{p}self_attn.o_proj.weight": (kind, [64, 64]),
            f"{p}mlp.gate_proj.weight": (kind, [96, 64]),
            f"{p}mlp.up_proj.weight": (kind, [96, 64]),
            f"{p}mlp.down_proj.weight": (kind, [64, 96]),
        }
    return tensors


def header(tensors, *, data=False, pad=False):
    """A safetensors file, with its data or without."""
    entries, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (kind, shape) in tensors.items():
        size = math.prod(shape) * SIZES[kind]
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(entries).encode()
    if pad:
        text = text.ljust(-(-len(text) // 8) * 8)
    return len(text).to_bytes(8, "little") + text + bytes(at if data else 0)


def bytes_of(tensors):
    return sum(math.prod(shape) * SIZES[kind] for kind, shape in tensors.values())


def save(folder, tensors, name="model.safetensors", config=LLAMA):
    path = folder / name
    path.write_bytes(header(tensors, data=True))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return path


def by_role(found):
    return {
        t.role: bits
        for t, bits in zip(found.model.tensors, tensor_bits(found.weights, found.model), strict=True)
    }


def test_the_shape_comes_from_the_config_beside_it(tmp_path):
    found = read_model_file(save(tmp_path, shapes()))
    assert found.kind == "safetensors"
    assert found.model.groups == read_config(LLAMA).groups
    assert found.model.assumed == ()
    assert (
        found.size_bytes
        == bytes_of(shapes())
        == stored_bytes(found.weights, found.model)
        == 2 * found.model.total_params
    )
    assert set(by_role(found).values()) == {16}
    assert found.weights.multiplied_as == "fp16"
    assert found.model.name == tmp_path.name
    result = evaluate(scenario({"model": found.model, "weights": found.weights}))
    assert result.setup.weight_bytes == found.size_bytes


def test_a_config_may_be_given_with_the_first_bytes():
    data = header(shapes())
    found = read_model_file(data, "some", config=json.dumps(LLAMA).encode())
    assert found.model.groups == read_config(LLAMA).groups
    assert found.size_bytes == bytes_of(shapes())


def test_quantised_layers_beside_plain_embeddings(tmp_path):
    tensors = shapes(kind="F8_E4M3")
    for name in [n for n in tensors if "_proj" in n]:
        tensors[f"{name}_scale_inv"] = ("F32", [1, 1])
    config = llama(quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]})
    found = read_model_file(save(tmp_path, tensors, config=config))
    bits = by_role(found)
    assert bits["token_embd"] == bits["output"] == bits["norm"] == 16
    assert bits["attn_q"] == pytest.approx(8 + 4 * 32 / (2 * 64 * 64 + 2 * 32 * 64))
    assert bits["ffn_up"] == pytest.approx(8 + 32 / (96 * 64))
    assert stored_bytes(found.weights, found.model) == bytes_of(tensors)
    assert found.weights.name == "FP8, blocks of 128 × 128 (file)"
    assert found.weights.multiplied_as == "fp8"


def test_packed_integers_with_scales_and_zeros(tmp_path):
    tensors = {}
    for name, (kind, shape) in shapes().items():
        if "_proj" not in name:
            tensors[name] = (kind, shape)
            continue
        stem, (rows, cols) = name.removesuffix("weight"), shape
        tensors |= {f"{stem}qweight": ("I32", [cols // 8, rows]), f"{stem}scales": ("F16", [1, rows]),
                    f"{stem}qzeros": ("I32", [1, rows // 8]), f"{stem}g_idx": ("I32", [cols])}  # fmt: skip
    config = llama(quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 128})
    found = read_model_file(save(tmp_path, tensors, config=config))
    assert found.model.total_params == read_config(LLAMA).total_params
    assert stored_bytes(found.weights, found.model) == bytes_of(tensors)
    bits = by_role(found)
    assert bits["norm"] == 16
    assert 4 < bits["attn_q"] < 6
    assert found.weights.multiplied_as == "int4"


def test_experts_towers_and_prediction_layers(tmp_path):
    config = family("deepseek_v3", num_hidden_layers=2, num_nextn_predict_layers=1, **LATENT, **DEEPSEEK)
    model = read_config(config)
    tensors = {
        "model.embed_tokens.weight": ("BF16", [100, 64]),
        "model.norm.weight": ("BF16", [64]),
        "lm_head.weight": ("BF16", [100, 64]),
    }
    attention = {
        "q_a_proj": [24, 64],
        "q_b_proj": [96, 24],
        "kv_a_proj_with_mqa": [40, 64],
        "kv_b_proj": [112, 32],
        "o_proj": [64, 48],
    }
    for n in range(3):
        p = f"model.layers.{n}."
        tensors |= {f"{p}self_attn.{name}.weight": ("BF16", shape) for name, shape in attention.items()}
        tensors |= {f"{p}self_attn.q_a_layernorm.weight": ("BF16", [24]), f"{p}self_attn.kv_a_layernorm.weight": ("BF16", [32]),
                    f"{p}input_layernorm.weight": ("BF16", [64]), f"{p}post_attention_layernorm.weight": ("BF16", [64])}  # fmt: skip
        if n == 0:
            tensors |= {f"{p}mlp.{name}_proj.weight": ("BF16", [96, 64]) for name in ("gate", "up", "down")}
            continue
        tensors |= {f"{p}mlp.gate.weight": ("F32", [8, 64])}
        for name in ("gate", "up", "down"):
            tensors |= {f"{p}mlp.experts.{e}.{name}_proj.weight": ("I8", [20, 64]) for e in range(8)}
            tensors |= {f"{p}mlp.shared_experts.{name}_proj.weight": ("BF16", [20, 64])}
    tensors |= {"model.layers.2.eh_proj.weight": ("BF16", [64, 128]), "model.layers.2.enorm.weight": ("BF16", [64]), "model.layers.2.hnorm.weight": ("BF16", [64]),
                "visual.blocks.0.attn.qkv.weight": ("BF16", [10, 10])}  # fmt: skip
    found = read_model_file(save(tmp_path, tensors, config=config))
    assert stored_bytes(found.weights, found.model) == bytes_of(tensors)
    bits = by_role(found)
    assert bits["ffn_up_exps"] == 8
    assert bits["attn_kv_b"] == 16
    held = {t.role: t for t in found.weights.stored}
    assert held["tower"].size_bytes == 200
    assert held["mtp"].size_bytes == sum(bytes_of({n: t}) for n, t in tensors.items() if ".layers.2." in n)
    assert found.model.tower_params == 100
    assert found.model.mtp_params == model.mtp_params


def test_a_copy_of_a_tied_head_is_held_once(tmp_path):
    found = read_model_file(save(tmp_path, shapes(), config=llama(tie_word_embeddings=True)))
    assert found.model.tied
    assert stored_bytes(found.weights, found.model) == found.size_bytes - 2 * 100 * 64
    assert any("memory holds it once" in phrase for phrase in found.model.assumed)
    found = read_model_file(save(tmp_path, shapes(head=False)))
    assert found.model.tied
    assert stored_bytes(found.weights, found.model) == found.size_bytes


def test_a_count_that_differs_from_the_configs_is_said(tmp_path):
    found = read_model_file(save(tmp_path, shapes(layers=2)))
    assert any("the config describes" in phrase for phrase in found.model.assumed)
    assert stored_bytes(found.weights, found.model) == found.size_bytes


def test_names_of_another_library_still_add_up(tmp_path):
    tensors = {
        name.replace("self_attn", "mix").replace("mlp", "block").replace("_proj", ""): t
        for name, t in shapes().items()
    }
    found = read_model_file(save(tmp_path, tensors))
    assert stored_bytes(found.weights, found.model) == found.size_bytes == bytes_of(tensors)
    assert set(by_role(found).values()) == {16}


def test_without_a_config_only_the_count_is_known(tmp_path):
    found = read_model_file(save(tmp_path, shapes(), config=None))
    assert found.model.by_count
    assert found.model.params == read_config(LLAMA).total_params
    assert found.model.layers == 3
    assert found.model.kv_heads * found.model.head_dim == 32
    assert stored_bytes(found.weights, found.model) == found.size_bytes
    assert any("no config.json" in phrase for phrase in found.model.assumed)


def test_packed_weights_without_a_config_are_a_guess_that_is_named(tmp_path):
    tensors = {
        "model.layers.0.mlp.up_proj.qweight": ("I32", [8, 96]),
        "model.layers.0.mlp.up_proj.scales": ("F16", [1, 96]),
    }
    found = read_model_file(save(tmp_path, tensors, config=None))
    assert found.model.params == 8 * 8 * 96
    assert "packed tensors are counted as 4-bit weights" in found.model.assumed
    assert found.weights.multiplied_as == "int4"


def split(folder, tensors, parts=3, config=LLAMA):
    names = list(tensors)
    for n in range(parts):
        some = {name: tensors[name] for name in names[n::parts]}
        save(folder, some, f"model-{n + 1:05d}-of-{parts:05d}.safetensors", config)
    index = {"metadata": {"total_size": bytes_of(tensors)},
             "weight_map": {name: f"model-{i % parts + 1:05d}-of-{parts:05d}.safetensors" for i, name in enumerate(names)}}  # fmt: skip
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    return path


def test_parts_and_their_index_are_the_whole_file(tmp_path):
    whole = read_model_file(save(tmp_path, shapes()))
    parts = tmp_path / "parts"
    parts.mkdir()
    index = split(parts, shapes())
    by_index = read_model_file(index, whole.model.name)
    by_part = read_model_file(parts / "model-00002-of-00003.safetensors", whole.model.name)
    assert by_index == by_part == whole
    (parts / "model-00003-of-00003.safetensors").unlink()
    for path in (index, parts / "model-00001-of-00003.safetensors"):
        with pytest.raises(SpecError, match=r"model-00003-of-00003\.safetensors' is missing"):
            read_model_file(path)


def test_an_index_alone_gives_its_totals(tmp_path):
    index = split(tmp_path, shapes())
    for part in tmp_path.glob("*.safetensors"):
        part.unlink()
    with_config = read_model_file(index)
    assert with_config.model.groups == read_config(LLAMA).groups
    assert stored_bytes(with_config.weights, with_config.model) == bytes_of(shapes())
    (tmp_path / "config.json").unlink()
    alone = read_model_file(index)
    assert alone.model.by_count
    assert alone.model.layers == 3
    assert alone.model.params == bytes_of(shapes()) // 2
    assert stored_bytes(alone.weights, alone.model) == bytes_of(shapes())
    assert "16 bits a weight" in alone.model.assumed
    assert read_model_file(index.read_bytes()).model.params == alone.model.params
    counted = json.loads(index.read_text())
    counted["metadata"]["total_parameters"] = 12345
    assert read_model_file(json.dumps(counted).encode()).model.params == 12345


def test_one_part_of_several_as_bytes_is_refused():
    with pytest.raises(SpecError, match="part 2 of 3"):
        read_model_file(header(shapes()), "model-00002-of-00003.safetensors")


def test_what_the_config_beside_it_lacks_is_its_fault(tmp_path):
    with pytest.raises(SpecError, match=r"The config\.json beside it: hidden_size"):
        read_model_file(save(tmp_path, shapes(), config=llama(hidden_size="wide")))
    with pytest.raises(SpecError, match="encoder-decoder"):
        read_model_file(save(tmp_path, shapes(), config=family("t5")))


def entry(kind="F32", shape=(2, 2), offsets=(0, 16)):
    return {"dtype": kind, "shape": list(shape), "data_offsets": list(offsets)}


def raw(value):
    text = json.dumps(value).encode()
    return len(text).to_bytes(8, "little") + text


HOSTILE = {
    "a length of 2^60": (2**60).to_bytes(8, "little") + b"{}",
    "a length of 2^40": (2**40).to_bytes(8, "little") + b"{}",
    "deep nesting": raw({"a": "x"})[:8] + b'{"a":' * 100_000,
    "deep nesting within the length": (500_000).to_bytes(8, "little") + b'{"a":' * 100_000,
    "no UTF-8": (10).to_bytes(8, "little") + b'{"\xff\xfe": 1} ',
    "no object": (4).to_bytes(8, "little") + b"{]}]",
    "no tensors": raw({"__metadata__": {}}),
    "a tensor that is no object": raw({"a": 1}),
    "an unknown dtype": raw({"a": entry("F99")}),
    "a dtype that is no text": raw({"a": entry(kind=[1])}),
    "a negative side": raw({"a": entry(shape=(-2, 2))}),
    "2^120 elements": raw({"a": entry(shape=(2**60, 2**60))}),
    "sides beyond 64 bits": raw({"a": entry(shape=(2**70,))}),
    "a hundred sides": raw({"a": entry(shape=(1,) * 100)}),
    "a shape that is no list": raw({"a": {**entry(), "shape": "wide"}}),
    "negative offsets": raw({"a": entry(offsets=(-16, 0))}),
    "offsets backwards": raw({"a": entry(offsets=(16, 0))}),
    "three offsets": raw({"a": entry(offsets=(0, 8, 16))}),
    "offsets of another size": raw({"a": entry(offsets=(0, 17))}),
    "huge offsets": raw({"a": entry(offsets=(2**80, 2**80 + 16))}),
    "true as an offset": raw({"a": entry(offsets=(True, 17))}),
    "overlapping tensors": raw({"a": entry(), "b": entry(offsets=(8, 24))}),
    "a tensor twice": (102).to_bytes(8, "little")
    + b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}'.ljust(
        102
    ),
    "a number of thousands of digits": raw({"a": entry()})
    .replace(b"16", b"9" * 5000)[8:]
    .join([(5100).to_bytes(8, "little"), b" " * 6000]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers_end_in_one_sentence(case):
    with pytest.raises(SpecError) as error:
        read_safetensors(HOSTILE[case], "x")
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


def test_a_file_that_is_cut_off_says_so(tmp_path):
    data = header(shapes(), data=True)
    path = tmp_path / "model.safetensors"
    for cut in (9, 100, len(header(shapes())) - 1, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(SpecError, match="cut off; download it again"):
            read_model_file(path)


@pytest.mark.parametrize(
    ("index", "word"),
    [
        ({"weight_map": {}}, "weight_map"),
        ({"weight_map": {"a": 1}}, "weight_map"),
        ({"weight_map": {"a": "../../etc/passwd"}}, "own folder"),
        ({"weight_map": {"a": "/etc/passwd"}}, "own folder"),
        ({"weight_map": {"a": ""}}, "own folder"),
        ({"weight_map": {"a": ".."}}, "own folder"),
        ({"weight_map": {str(n): f"{n}.safetensors" for n in range(3000)}}, "parts"),
        ({"weight_map": {"a": "a.safetensors"}, "metadata": {"total_size": -1}}, "total_size"),
        ({"weight_map": {"a": "a.safetensors"}, "metadata": {"total_size": 1e300}}, "total_size"),
        ({"weight_map": {"a": "a.safetensors"}, "metadata": {"total_size": "big"}}, "total_size"),
        ({"weight_map": {"a": "a.safetensors"}}, "no total_size"),
    ],
)
def test_hostile_indexes(tmp_path, index, word):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    with pytest.raises(SpecError, match=word):
        read_model_file(path)
