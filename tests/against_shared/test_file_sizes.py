"""GGUF file types against published file sizes and what llama-bench printed."""

import csv
import json

import pytest

from slmopt.specs.formats import WeightFormat
from slmopt.specs.library import library
from slmopt.specs.model import STORED_ROLES, Attention, LayerGroup, Mlp, Model, Moe
from slmopt.specs.weights import bits_per_weight, stored_bytes, tensor_bits
from tests.shared import SHARED


def model(layers, hidden, heads, kv_heads, head_dim, width, vocab, *, tied=False, moe=None, **extra):
    attention = Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, **extra)
    group = LayerGroup(
        count=layers,
        attention=attention,
        mlp=None if moe else Mlp(width=width),
        moe=moe,
        norm_params=2 * hidden,
    )
    return Model(
        id="m", name="m", hidden=hidden, vocab=vocab, tied=tied, groups=(group,), final_norm_params=hidden
    )


QWEN_7B = model(28, 3584, 28, 4, 128, 18944, 152064, bias_qkv=True)
LLAMA_7B = model(32, 4096, 32, 32, 128, 11008, 32000)
LLAMA_13B = model(40, 5120, 40, 40, 128, 13824, 32000)
QWEN_235B = model(
    94, 4096, 64, 4, 128, 0, 151936, qk_norm="per_head", moe=Moe(experts=128, active=8, width=1536)
)
MODELS = {
    "Llama-3.1-8B": model(32, 4096, 32, 8, 128, 14336, 128256),
    "Llama-3-70B": model(80, 8192, 64, 8, 128, 28672, 128256),
    "Llama-3.2-1B": model(16, 2048, 32, 8, 64, 8192, 128256, tied=True),
    "Llama-3.2-3B": model(28, 3072, 24, 8, 128, 8192, 128256, tied=True),
    "TinyLlama-1.1B": model(22, 2048, 32, 4, 64, 5632, 32000),
    "LLaMA-7B": LLAMA_7B,
    "llama-2-7b.Q4_0": LLAMA_7B,
    "LLaMA-13B": LLAMA_13B,
    "LLaMA v2": LLAMA_13B,
    "Mistral-7B": model(32, 4096, 32, 8, 128, 14336, 32000),
    "SOLAR-10.7B": model(48, 4096, 32, 8, 128, 14336, 32000),
    "Qwen2.5-1.5B": model(28, 1536, 12, 2, 128, 8960, 151936, tied=True, bias_qkv=True),
    "Qwen2.5-7B": QWEN_7B,
    "Qwen2.5-Coder-7B": QWEN_7B,
    "Qwen2.5-14B": model(48, 5120, 40, 8, 128, 13824, 152064, bias_qkv=True),
    "Qwen3-14B": model(40, 5120, 40, 8, 128, 17408, 151936, qk_norm="per_head"),
    "Qwen3-Coder-30B-A3B": model(
        48, 2048, 32, 4, 128, 0, 151936, qk_norm="per_head", moe=Moe(experts=128, active=8, width=768)
    ),
    "Qwen3 235B A22B": QWEN_235B,
    "Qwen3-235B-A22B-128K": QWEN_235B,
    "gpt-oss-20b": model(
        24,
        2880,
        64,
        8,
        64,
        0,
        201088,
        bias_qkv=True,
        bias_o=True,
        sinks=True,
        moe=Moe(experts=32, active=4, width=2880, bias=True, router_bias=True),
    ),
}
# These two were made with an importance matrix; the others of that list come out alike with and without.
WITH_MATRIX = {("Llama-3-70B", "iq4_xs"), ("Llama-3-70B", "iq4_nl")}
LABELS = {"q4_k_-_medium": "q4_k_m", "mxfp4": "mxfp4_moe"}


def _rows():
    with (SHARED / "measured/file_sizes.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            label = row["quant_label"].lower().replace(" ", "_")
            label = LABELS.get(label, label)
            if (row["model"], label) in WITH_MATRIX:
                label += "_imatrix"
            plain = label.startswith(("q", "iq", "f16", "mxfp4_moe")) and "pure" not in label
            own = any(part in label for part in ("_ks", "_kt", "_kl", "_k_r4", "smol", "_bn"))
            if row["model"] in MODELS and plain and not own:
                yield pytest.param(row, label, id=f"{row['row_id']}-{row['model']}-{label}")


ROWS = list(_rows())


def gguf(recipe):
    return WeightFormat(id=recipe, name=recipe, recipe=recipe)


def test_enough_rows_are_compared():
    assert len(ROWS) >= 55


@pytest.mark.parametrize(("row", "label"), ROWS)
def test_size_and_bits_within_half_a_percent(row, label):
    spec = MODELS[row["model"]]
    assert stored_bytes(gguf(label), spec) / 2**30 == pytest.approx(float(row["size_GiB"]), rel=0.005)
    bits = float(row["reported_bpw"] or row["computed_bpw"])
    assert bits_per_weight(gguf(label), spec) == pytest.approx(bits, rel=0.005)


@pytest.mark.parametrize(
    ("ident", "recipe", "row_id"),
    [
        ("deepseek-v3", "q4_k_m", "S4-0194"),
        ("deepseek-r1", "q8_0", "S4-0055"),
        ("gpt-oss-120b", "mxfp4_moe", "S4-0158"),
        ("kimi-k2", "q8_0", "S4-0123"),
    ],
)
def test_sizes_of_preset_models(ident, recipe, row_id):
    with (SHARED / "measured/file_sizes.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["row_id"] == row_id)
    spec = library().models[ident]
    parts = zip(spec.tensors, tensor_bits(gguf(recipe), spec), strict=True)
    size = sum(tensor.params * bits for tensor, bits in parts if tensor.role not in STORED_ROLES) / 8
    assert size / 2**30 == pytest.approx(float(row["size_GiB"]), rel=0.005)


SWEEP = {
    "135m": model(30, 576, 9, 3, 64, 1536, 49152, tied=True),
    "360m": model(32, 960, 15, 5, 64, 2560, 49152, tied=True),
    "1b": MODELS["Llama-3.2-1B"],
    "moe": model(24, 1024, 16, 8, 64, 0, 49152, tied=True, moe=Moe(experts=32, active=8, width=512)),
}


# The shape of the 28M draft model is stated nowhere.
FILES = [
    file
    for file in sorted((SHARED / "measured/this_machine").glob("llama-bench_*.jsonl"))
    if file.stem.split("_")[1] in SWEEP
]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_tensor_bytes_equal_llama_benchs_model_size(file):
    spec = SWEEP[file.stem.split("_")[1]]
    recipe = file.stem.split("_", 2)[2].lower()
    recipe = next(r for r in ("q4_k_m", "q8_0", "q4_0", "f16") if recipe.startswith(r))
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert spec.total_params == row["model_n_params"]
        assert stored_bytes(gguf(recipe), spec) == pytest.approx(row["model_size"], abs=0.5)
