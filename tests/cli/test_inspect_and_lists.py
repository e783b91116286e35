"""``inspect``, ``models``, ``devices``, ``formats``."""

from __future__ import annotations

import json

import pytest

from slmopt.specs.library import library
from tests.cli.command import call

CONFIG = {
    "model_type": "mixtral",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "tie_word_embeddings": False,
    "sliding_window": None,
}
KEYS = {
    "name",
    "params",
    "active_params",
    "layers",
    "kv_bytes_per_token",
    "kv_bytes_at",
    "weight_bytes",
    "bits_per_weight",
    "assumed",
    "slmopt_model",
}


def inspected(tmp_path, **more):
    folder = tmp_path / "tiny"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **more}))
    answer = call("inspect", str(folder / "config.json"), "--json")
    assert answer.code == 0, answer.err
    return answer.json


def test_inspect_counts_a_mixture_by_hand(tmp_path):
    found = inspected(tmp_path)
    assert set(found) == KEYS
    attention = 64 * 64 * 2 + 2 * (2 * 8 * 64)
    expert = 3 * 64 * 128
    layer = attention + 4 * expert + 4 * 64 + 2 * 64
    assert found["params"] == 2 * 1000 * 64 + 64 + 2 * layer
    assert found["active_params"] == found["params"] - 2 * 2 * expert
    assert found["layers"] == 2
    # Keys and values of 2 heads of 8 in 16 bits, in 2 layers.
    assert found["kv_bytes_per_token"] == 2 * 2 * 2 * 8 * 2
    assert found["kv_bytes_at"] == {"4096": 4096 * 128, "32768": 32768 * 128}
    assert found["name"] == "tiny"


def test_inspect_takes_stored_bits_from_the_config_only_where_it_names_one_type(tmp_path):
    assert inspected(tmp_path)["weight_bytes"] is None
    plain = inspected(tmp_path, torch_dtype="bfloat16")
    assert plain["bits_per_weight"] == 16
    assert plain["weight_bytes"] == 2 * plain["params"]
    strange = {"quant_method": "unheard-of", "bits": 4}
    quantised = inspected(tmp_path, torch_dtype="bfloat16", quantization_config=strange)
    assert quantised["weight_bytes"] is None


def test_inspect_text(tmp_path):
    inspected(tmp_path)
    answer = call("inspect", str(tmp_path / "tiny"))
    assert answer.code == 0
    assert "cache of 32,768 tokens" in answer.out


@pytest.mark.parametrize("name", ["models", "devices"])
def test_lists_hold_every_preset(name: str):
    found = call(name, "--json").json
    presets = getattr(library(), name)
    assert [record["id"] for record in found] == list(presets)
    assert all(record["source"] or record["confidence"] for record in found)
    text = call(name)
    assert text.code == 0
    assert all(ident in text.out for ident in presets)


def test_unconfirmed_records_are_marked():
    unsure = [d for d in library().devices.values() if d.unconfirmed]
    lines = call("devices").out.splitlines()
    for device in unsure:
        line = next(line for line in lines if line.split()[0] == device.id)
        assert line.endswith("not confirmed")


def test_formats_tell_weights_from_caches():
    found = call("formats", "--json").json
    presets = library()
    assert [f["id"] for f in found if f["kind"] == "weights"] == list(presets.weights)
    assert [f["id"] for f in found if f["kind"] == "cache"] == list(presets.caches)
    assert "--kv" in call("formats").out


def test_a_config_s_quantisation_names_its_weights(tmp_path):
    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    found = inspected(tmp_path, quantization_config=gptq)
    assert any("quantisation names" in line for line in found["assumed"])
    assert 4 < found["bits_per_weight"] < 16
    path = str(tmp_path / "tiny")
    answer = call("estimate", "--model", path, "--device", "rtx-4090", "--json")
    assert answer.json["capacity"]["weight_bytes"] == found["weight_bytes"]
    assert any("gptq-4-g128 is taken" in line for line in answer.json["assumed"])
    own = call("estimate", "--model", path, "--device", "rtx-4090", "--weights", "8", "--json").json
    assert not any("is taken" in line for line in own["assumed"])
    strange = inspected(tmp_path, quantization_config={"quant_method": "unheard-of"})
    assert strange["weight_bytes"] is None
    assert any("not known here" in line for line in strange["assumed"])
