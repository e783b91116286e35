"""Every config.json of the reference data: its count to the last weight, its cache, its shape; and the presets."""

import json

import pytest

from slmopt.readers import read_config, read_config_format
from slmopt.specs.library import library
from tests.shared import SHARED

FACTS = SHARED / "facts"
INDEX = json.loads((FACTS / "configs" / "INDEX.json").read_text(encoding="utf-8"))
COUNTED = [row for row in INDEX if row.get("expected_params_total_meta")]
RECORDS = json.loads((FACTS / "models.json").read_text(encoding="utf-8"))
PRESETS = {model.name: model for model in library().models.values()}
KINDS = {"gated_deltanet": "gated_delta", "shortconv": "short_conv", "kda": "kimi_delta"}


def read(row):
    return read_config((FACTS / row["file"]).read_bytes())


def caches(model):
    attended = [g for g in model.groups if g.attention is not None]
    return sum((g.attention.cached_k + g.attention.cached_v) * g.count for g in attended)


def test_there_are_configs_to_read():
    assert len(COUNTED) >= 130


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: row["name"])
def test_the_count_is_exact(row):
    model = read(row)
    assert model.total_params == row["expected_params_total_meta"]
    # Layers that only images use are part of the library's language model, and of our tower.
    if "Vision" not in row["name"]:
        assert model.total_params - model.tower_params == row["expected_params_language_model"]


@pytest.mark.parametrize("row", [row for row in INDEX if row not in COUNTED], ids=lambda row: row["name"])
def test_the_rest_is_read_too(row):
    model = read(row)
    assert model.total_params > 1e9
    assert not any("architecture" in phrase and "is unknown: read as" in phrase for phrase in model.assumed)


@pytest.mark.parametrize("row", [row for row in COUNTED if row.get("expected")], ids=lambda row: row["name"])
def test_the_shape_is_right(row):
    model, expected = read(row), row["expected"]
    assert model.hidden == expected["hidden_size"]
    assert model.vocab == expected["vocab_size"]
    assert row["name"].startswith(("e5-", "Skywork")) or model.tied == expected["tie_word_embeddings"]
    attention = next(g.attention for g in model.groups if g.attention is not None)
    assert attention.heads == expected["num_attention_heads"]
    if expected["mla"] is None:
        assert attention.kv_heads == expected["num_key_value_heads"]
        assert attention.head_dim == expected["head_dim"]
    state = next((g.state for g in model.groups if g.state is not None), None)
    if expected["ssm"]:
        assert state.state_elements == expected["ssm"]["state_elements_per_layer"]
        assert state.conv_elements == expected["ssm"]["conv_state_elements_per_layer"]
    moe = next((g.moe for g in model.groups if g.moe is not None), None)
    if expected["moe"]:
        assert moe.experts == expected["moe"]["n_experts"]
        assert moe.active == expected["moe"]["n_experts_per_tok"]
        assert sum(g.count for g in model.groups if g.moe) == expected["moe"]["moe_layers"]


def text_of(config):
    return next((config[key] for key in ("text_config", "language_config") if key in config), config)


def field(config, *names):
    return next((name for name in names if name in text_of(config)), None)


def growing():
    """Configs that one number makes a layer longer: none that list their layers, or whose last layers share caches."""
    for row in INDEX:
        config = json.loads((FACTS / row["file"]).read_text(encoding="utf-8"))
        text = text_of(config)
        name = field(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
        told = name is None or any(isinstance(v, list) and len(v) >= text[name] for v in text.values())
        if not told and "num_kv_shared_layers" not in text and "hybrid_override_pattern" not in text:
            yield pytest.param(config, name, id=row["name"])


@pytest.mark.parametrize(("config", "name"), list(growing()))
def test_one_more_layer_adds_one_layer(config, name):
    """Counting, not looking up: a stack one layer longer is larger by that layer."""
    longer = json.loads(json.dumps(config))
    text_of(longer)[name] += 1
    before, after = read_config(config), read_config(longer)
    last = max(range(len(after.groups)), key=lambda i: after.positions[i][-1])
    one = sum(t.params / len(t.layers) for t in after.tensors if t.group == last)
    assert after.total_params - before.total_params == one


@pytest.mark.parametrize("row", INDEX, ids=lambda row: row["name"])
def test_one_more_token_adds_a_row_of_embedding_and_head(row):
    config = json.loads((FACTS / row["file"]).read_text(encoding="utf-8"))
    before = read_config(config)
    text_of(config)[field(config, "vocab_size", "padded_vocab_size") or "vocab_size"] = before.vocab + 1
    rows = before.hidden * (1 if before.tied else 2) + before.output_bias
    assert read_config(config).total_params - before.total_params == rows


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_the_presets_hold_what_the_facts_say(record):
    model = PRESETS[record["name"]]
    expected = record["n_params_total"]
    if record["name"].startswith("Llama-4"):
        # Published with a larger tower than the library's default for a file without one.
        expected = record["published_count"]
    assert model.total_params == expected
    assert model.context_limit == record["max_position_embeddings"]


@pytest.mark.parametrize(
    "record",
    [r for r in RECORDS if isinstance(r.get("layer_kinds_rle"), list) and r.get("kv_cache")],
    ids=lambda record: record["name"],
)
def test_the_presets_cache_what_the_facts_say(record):
    model, kv = PRESETS[record["name"]], record["kv_cache"]
    assert caches(model) == kv["elements_per_token_full"] + kv["elements_per_token_windowed"]
    states = [g for g in model.groups if g.state is not None]
    assert sum(g.state.state_elements * g.count for g in states) == kv["state_elements"]
    assert sum(g.state.conv_elements * g.count for g in states) == kv["conv_state_elements"]
    counts = {KINDS.get(kind, kind): n for kind, n in record["layer_counts"].items()}
    for kind in ("gated_delta", "short_conv", "kimi_delta", "mamba1", "mamba2"):
        if kind in counts:
            assert sum(g.count for g in states if g.state.kind == kind) == counts[kind]


@pytest.mark.parametrize(
    ("name", "cached"),
    [
        ("Gemma-3n-E2B", 20 * 1024),
        ("Gemma-3n-E4B", 20 * 1024),
        ("Gemma-4-E2B", 12 * 512 + 3 * 1024),
        ("Gemma-4-E4B", 20 * 1024 + 4 * 2048),
        ("Gemma-4-26B-A4B", 25 * 4096 + 5 * 2048),
        ("Gemma-4-31B", 50 * 8192 + 10 * 4096),
        ("OpenELM-270M", 8064),
        ("SantaCoder-1.1B (gpt_bigcode)", 6144),
    ],
)
def test_caches_told_in_words(name, cached):
    assert caches(PRESETS[name]) == cached


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Llama-2-7b-GPTQ", "gptq-4-g128"),
        ("Llama-2-7b-AWQ", "awq-4-g128"),
        ("Llama-3-8B-Instruct-bnb-nf4", "nf4-double"),
        ("DeepSeek-V3", "fp8-block"),
        ("Llama-3.1-8B-Instruct-compressed-tensors-FP8", "fp8"),
        ("GLM-5.1-NVFP4", "nvfp4"),
        ("gpt-oss-20b", "mxfp4"),
        ("Kimi-K2.5", "int4-g32"),
        ("Qwen3-8B", "bf16"),
    ],
)
def test_formats(name, expected):
    row = next(row for row in INDEX if row["name"] == name)
    assert read_config_format((FACTS / row["file"]).read_bytes()) == expected
